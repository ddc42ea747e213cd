//! The statement of an account between two times, as JSON and as CSV.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use desk::Clock;
use futures::{StreamExt, TryStreamExt};
use onefold_tests::clock::ManualClock;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, Exchange, TestServer};
use serde_json::{Value, json};

use crate::expect;

const HOUR: Duration = Duration::from_secs(3600);

const HEADINGS: &str = "created_at,account_version,kind,direction,amount,currency,counter_account,available_after,\
                        held_after,reference,order_id,hold_id,idempotency_key,id";

async fn start() -> anyhow::Result<(TestServer, ManualClock)> {
    let clock = ManualClock::at_present();
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.clock = Arc::new(clock.clone());
    })
    .await?;
    Ok((server, clock))
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

async fn deposit(server: &TestServer, key: &str, reference: &str) -> anyhow::Result<()> {
    let body = json!({ "amount": "1.00", "currency": "CNY", "reference": reference });
    expect::created(&server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), key, &body).await?);
    Ok(())
}

async fn csv(server: &TestServer, query: &str) -> anyhow::Result<Exchange> {
    let path = format!("/v1/accounts/{ALICE}/entries{query}");
    server.demo.send(server.demo.request("GET", &path).header("accept", "text/csv")).await
}

async fn versions(server: &TestServer, query: &str) -> anyhow::Result<Vec<i64>> {
    let page = expect::ok(&server.demo.get(&format!("/v1/accounts/{ALICE}/entries{query}")).await?);
    let rows = page["data"].as_array().expect("rows");
    Ok(rows.iter().filter_map(|row| row["account_version"].as_i64()).collect())
}

#[tokio::test]
async fn a_statement_between_two_times_has_the_rows_of_the_first_and_not_of_the_second() -> anyhow::Result<()>
{
    let (server, clock) = start().await?;
    let mut times = vec![clock.now()];
    for number in 0..40 {
        clock.advance(HOUR);
        times.push(clock.now());
        deposit(&server, &format!("k-{number}"), &format!("d-{number}")).await?;
    }
    // The opening made version 1, and the hour N made version N + 1.
    let between = |from: usize, to: usize| format!("?from={}&to={}", time(times[from]), time(times[to]));
    assert_eq!(versions(&server, &between(3, 6)).await?, [6, 5, 4]);
    assert_eq!(versions(&server, &between(39, 40)).await?, [40]);
    assert_eq!(versions(&server, &format!("?to={}", time(times[2]))).await?, [2, 1]);
    assert_eq!(versions(&server, &format!("?from={}", time(times[39]))).await?, [41, 40]);
    assert_eq!(versions(&server, "?from=2999-01-01T00:00:00Z").await?, [0; 0]);
    assert_eq!(versions(&server, "?to=1999-01-01T00:00:00Z").await?, [0; 0]);
    let page =
        server.demo.get(&format!("/v1/accounts/{ALICE}/entries{}&limit=2", between(3, 6))).await?.json();
    let cursor = page["next_cursor"].as_str().expect("another page");
    assert_eq!(versions(&server, &format!("{}&cursor={cursor}", between(3, 6))).await?, [4]);
    let with_offset = format!("?to={}", times[2].to_rfc3339().replace("+00:00", "%2B00:00"));
    assert_eq!(versions(&server, &with_offset).await?, [2, 1]);
    Ok(())
}

#[tokio::test]
async fn times_that_say_nothing_do_not_fit_the_schema() -> anyhow::Result<()> {
    let (server, _) = start().await?;
    for (query, faults) in [
        ("?from=yesterday", &["/from"][..]),
        ("?from=2026-01-31&to=2026-02-30T00:00:00Z", &["/from", "/to"]),
        ("?from=2026-01-31T00:00:00Z&to=2026-01-31T00:00:00Z", &["/to"]),
        ("?from=2026-01-31T00:00:00", &["/from"]),
    ] {
        let path = format!("/v1/accounts/{ALICE}/entries{query}");
        assert_eq!(expect::faults(&server.demo.get(&path).await?), faults, "{query}");
    }
    let refused = csv(&server, "?limit=5&cursor=x").await?;
    assert_eq!(expect::faults(&refused), ["/cursor", "/limit"], "a file has no pages");
    Ok(())
}

#[tokio::test]
async fn each_row_names_the_key_that_it_was_booked_under() -> anyhow::Result<()> {
    let (server, _) = start().await?;
    deposit(&server, "of-the-deposit", "d").await?;
    expect::created(&server.demo.order("of-the-order", "2.00").await?);
    let page = expect::ok(&server.demo.get(&format!("/v1/accounts/{ALICE}/entries")).await?);
    let keys: Vec<&Value> =
        page["data"].as_array().expect("rows").iter().map(|row| &row["idempotency_key"]).collect();
    assert_eq!(keys, [&json!("of-the-order"), &json!("of-the-deposit"), &Value::Null]);
    Ok(())
}

#[tokio::test]
async fn a_csv_file_has_headings_exact_amounts_and_nothing_that_could_run() -> anyhow::Result<()> {
    let (server, _) = start().await?;
    deposit(&server, "=cmd|'/C'!A0", "-1+1, \"quoted\"").await?;
    let answer = csv(&server, "").await?;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let file = format!("attachment; filename=\"account-{ALICE}.csv\"");
    assert_eq!(answer.header("content-disposition"), Some(file.as_str()));
    let json = server.demo.get(&format!("/v1/accounts/{ALICE}/entries")).await?.json();
    let word = |row: usize, name: &str| json["data"][row][name].as_str().unwrap_or_default().to_owned();
    let line = |row: usize, version: i64, figures: &str, reference: &str, key: &str| {
        format!(
            "{},{version},deposit,credit,{figures},{reference},,,{key},{}\r\n",
            word(row, "created_at"),
            word(row, "id")
        )
    };
    let opening = word(1, "reference");
    let expected = format!("{HEADINGS}\r\n")
        + &line(0, 2, "1.00,CNY,outside,10001.00,0.00", "\"'-1+1, \"\"quoted\"\"\"", "\"'=cmd|'/C'!A0\"")
        + &line(1, 1, "10000.00,CNY,outside,10000.00,0.00", &opening, "");
    assert_eq!(String::from_utf8(answer.bytes)?, expected);
    Ok(())
}

#[tokio::test]
async fn a_csv_file_has_every_row_of_its_range_however_many_there_are() -> anyhow::Result<()> {
    let (server, clock) = start().await?;
    clock.advance(HOUR);
    let from = clock.now();
    // More than are read at a time.
    let deposits =
        futures::stream::iter(0..1_203).map(anyhow::Ok).try_for_each_concurrent(64, async |number| {
            deposit(&server, &format!("k-{number}"), &format!("d-{number}")).await
        });
    deposits.await?;
    let answer = csv(&server, &format!("?from={}", time(from))).await?;
    let text = String::from_utf8(answer.bytes)?;
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 1_204, "a line each, and the headings");
    for (line, version) in lines[1..].iter().zip((2..=1_204).rev()) {
        assert_eq!(line.split(',').nth(1), Some(version.to_string().as_str()));
    }
    let empty = csv(&server, "?to=1999-01-01T00:00:00Z").await?;
    assert_eq!(String::from_utf8(empty.bytes)?, format!("{HEADINGS}\r\n"));
    Ok(())
}

#[tokio::test]
async fn a_statement_is_its_clients_alone_in_every_form() -> anyhow::Result<()> {
    let (server, _) = start().await?;
    let stranger = server.another_client().await?;
    let path = format!("/v1/accounts/{ALICE}/entries");
    let refused = stranger.send(stranger.request("GET", &path).header("accept", "text/csv")).await?;
    expect::problem(&refused, 404, "not-found");
    let json =
        server.demo.send(server.demo.request("GET", &path).header("accept", "text/csv;q=0.1, */*")).await?;
    assert_eq!(json.header("content-type"), Some("application/json"));
    Ok(())
}
