//! Lists: newest first, in pages that neither skip nor repeat.

use std::collections::HashSet;

use onefold_tests::http::{ALICE, BOB, Caller, TestServer};
use serde_json::{Value, json};

use crate::expect;

/// Reads a list to its end, so many rows a page, doing something between two pages.
async fn read_all(
    caller: &Caller,
    path: &str,
    limit: usize,
    mut between: impl AsyncFnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Value>> {
    let mut rows = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = expect::ok(&caller.get(&format!("{path}?limit={limit}{cursor}")).await?);
        let data = page["data"].as_array().expect("rows");
        assert!(data.len() <= limit, "{} rows for a limit of {limit}", data.len());
        rows.extend(data.iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else {
            assert!(page["next_cursor"].is_null());
            return Ok(rows);
        };
        assert_eq!(data.len(), limit, "a page that is not the last is full");
        cursor = format!("&cursor={next}");
        between().await?;
    }
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn a_page_has_20_rows_unless_asked_and_100_at_most() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for number in 0..22 {
        expect::created(&server.demo.order(&format!("o-{number}"), "1.00").await?);
    }
    for (query, rows) in [("", 20), ("?limit=1", 1), ("?limit=21", 21), ("?limit=22", 22), ("?limit=100", 22)]
    {
        let page = expect::ok(&server.demo.get(&format!("/v1/orders{query}")).await?);
        assert_eq!(page["data"].as_array().map(Vec::len), Some(rows), "{query}");
        assert_eq!(page["next_cursor"].is_null(), rows == 22, "{query}");
        assert_eq!(page.as_object().map(serde_json::Map::len), Some(2), "{query}");
        assert_eq!(page["data"][0]["client_order_no"], "o-21", "the newest comes first");
    }
    Ok(())
}

#[tokio::test]
async fn a_bad_limit_or_cursor_does_not_fit_the_schema() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for number in 0..3 {
        expect::created(&server.demo.order(&format!("o-{number}"), "1.00").await?);
    }
    let cursor_of = async |path: &str| -> anyhow::Result<String> {
        let page = expect::ok(&server.demo.get(&format!("{path}?limit=1")).await?);
        Ok(page["next_cursor"].as_str().expect("another page").to_owned())
    };
    let entries = format!("/v1/accounts/{ALICE}/entries");
    let cursors =
        [cursor_of("/v1/accounts").await?, cursor_of("/v1/orders").await?, cursor_of(&entries).await?];
    let paths = ["/v1/accounts", "/v1/orders", &entries];
    for (at, path) in paths.into_iter().enumerate() {
        for limit in
            ["0", "101", "-1", "+5", "05", "1.5", "x", "", "1e1", "18446744073709551617", "%31%00", "１"]
        {
            let refused = server.demo.get(&format!("{path}?limit={limit}")).await?;
            assert_eq!(expect::faults(&refused), ["/limit"], "{path} {limit}");
        }
        let changed = format!("{}A", &cursors[at][1..]);
        for cursor in [
            "",
            "x",
            "0",
            "%00",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            &changed,
            &cursors[(at + 1) % 3],
            &cursors[(at + 2) % 3],
        ] {
            let refused = server.demo.get(&format!("{path}?cursor={cursor}")).await?;
            assert_eq!(expect::faults(&refused), ["/cursor"], "{path} {cursor}");
        }
        let refused = server.demo.get(&format!("{path}?limit=0&cursor=x&page=2")).await?;
        assert_eq!(expect::faults(&refused), ["/cursor", "/limit", "/page"], "{path}");
        let refused = server.demo.get(&format!("{path}?limit=1&limit=1")).await?;
        assert_eq!(expect::faults(&refused), ["/limit"], "{path}");
    }
    let bobs = server.demo.get(&format!("/v1/accounts/{BOB}/entries?cursor={}", cursors[2])).await?;
    assert_eq!(expect::faults(&bobs), ["/cursor"], "a cursor of another account's statement");
    let stranger = server.another_client().await?;
    let strangers = stranger.get(&format!("/v1/orders?cursor={}", cursors[1])).await?;
    assert_eq!(expect::faults(&strangers), ["/cursor"], "a cursor of another client's");
    Ok(())
}

#[tokio::test]
async fn paging_skips_and_repeats_nothing_whatever_the_size_of_a_page() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for number in 0..13 {
        expect::created(&server.demo.order(&format!("o-{number}"), "1.00").await?);
        let opening = json!({"owner": format!("o-{number}"), "currency": "EUR"});
        expect::created(&server.demo.post("/v1/accounts", &format!("a-{number}"), &opening).await?);
    }
    let entries = format!("/v1/accounts/{ALICE}/entries");
    for (path, count) in [("/v1/orders", 13), ("/v1/accounts", 16), (entries.as_str(), 14)] {
        let whole = read_all(&server.demo, path, 100, async || Ok(())).await?;
        assert_eq!(whole.len(), count, "{path}");
        for limit in [1, 2, 5, 13, 14] {
            let paged = read_all(&server.demo, path, limit, async || Ok(())).await?;
            assert_eq!(paged, whole, "{path} by {limit}");
        }
    }
    let numbers = read_all(&server.demo, "/v1/orders", 100, async || Ok(())).await?;
    let numbers: Vec<_> =
        numbers.iter().map(|order| order["client_order_no"].as_str().unwrap_or("")).collect();
    let newest_first: Vec<_> = (0..13).rev().map(|number| format!("o-{number}")).collect();
    assert_eq!(numbers, newest_first);
    Ok(())
}

#[tokio::test]
async fn paging_while_rows_are_being_added_skips_and_repeats_none_that_was_there() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for number in 0..12 {
        expect::created(&server.demo.order(&format!("old-{number}"), "1.00").await?);
        let opening = json!({"owner": "old", "currency": "EUR"});
        expect::created(&server.demo.post("/v1/accounts", &format!("old-account-{number}"), &opening).await?);
    }
    let entries = format!("/v1/accounts/{ALICE}/entries");
    let mut added = 0;
    for path in ["/v1/orders", "/v1/accounts", entries.as_str()] {
        let before = read_all(&server.demo, path, 100, async || Ok(())).await?;
        let read = read_all(&server.demo, path, 3, async || {
            // As many as a page has, all at once: a page counted from the start would repeat itself.
            let names: Vec<_> = (0..3).map(|number| format!("new-{added}-{number}")).collect();
            added += 1;
            let openings = names.iter().map(async |name| {
                let opening = json!({"owner": "new", "currency": "EUR"});
                server.demo.post("/v1/accounts", &format!("account-{name}"), &opening).await
            });
            let orders = names.iter().map(|name| server.demo.order(name, "1.00"));
            for made in futures::future::join_all(orders)
                .await
                .into_iter()
                .chain(futures::future::join_all(openings).await)
            {
                expect::created(&made?);
            }
            Ok(())
        })
        .await?;
        let distinct: HashSet<_> = ids(&read).into_iter().collect();
        assert_eq!(distinct.len(), read.len(), "{path} repeats a row");
        let old: Vec<_> = read.iter().filter(|row| before.contains(row)).cloned().collect();
        if path == "/v1/accounts" {
            // alice's account is another at each look, being paid from meanwhile.
            let there = ids(&before);
            let old: Vec<_> = ids(&read).into_iter().filter(|id| there.contains(id)).collect();
            assert_eq!(old, there, "{path} skips a row");
        } else {
            assert_eq!(old, before, "{path} skips a row");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_list_of_nothing_is_an_empty_page() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for path in ["/v1/orders", &format!("/v1/accounts/{BOB}/entries"), "/v1/orders?client_order_no=A"] {
        assert_eq!(expect::ok(&server.demo.get(path).await?), json!({"data": [], "next_cursor": null}));
    }
    Ok(())
}
