//! What a key is good for, how soon it is good for nothing, and who guesses.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use client::{ApiKey, Scope, Scopes};
use desk::Clock;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, Caller, Exchange, TestServer, send};
use serde_json::json;
use server::serve::ServerSettings;
use sqlx::PgPool;

use crate::expect;

/// One more key of the demo client.
async fn key_for(server: &TestServer, scopes: &[Scope]) -> anyhow::Result<Caller> {
    let pool = PgPool::connect_with(server.database.clone()).await?;
    let key = ApiKey::generate();
    let scopes = Scopes::named(scopes.iter().copied());
    let now = desk::SystemClock.now();
    let demo = client::store::find_client(&pool, "demo").await?.expect("the demo client");
    client::store::insert_api_key(&pool, demo, key.hash(), false, &scopes, now).await?;
    pool.close().await;
    Ok(Caller::new(&server.url(), key.reveal()))
}

#[tokio::test]
async fn a_key_is_good_for_its_scopes_and_is_told_which_one_it_lacks() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let reader = key_for(&server, &[Scope::OrdersRead, Scope::AccountsRead]).await?;
    expect::ok(&reader.get("/v1/orders").await?);
    expect::ok(&reader.get(&format!("/v1/accounts/{ALICE}")).await?);
    assert_eq!(reader.send(reader.request("HEAD", "/v1/orders")).await?.status, 200);

    for (refused, scope) in [
        (reader.order("k", "1.00").await?, "orders:write"),
        (reader.get("/v1/payment-alerts").await?, "alerts:read"),
        (reader.post("/v1/idempotency-keys", "k", &json!({})).await?, "keys:write"),
        (reader.get("/v1/idempotency-keys/k").await?, "keys:read"),
        // Whether there is such an account is not told to a key that may not move its money.
        (reader.post("/v1/accounts/none/deposits", "k", &json!({})).await?, "accounts:write"),
    ] {
        let document = expect::problem(&refused, 403, "insufficient-scope");
        assert_eq!(document["scope"], scope);
        let challenge = format!("Bearer realm=\"onefold\", error=\"insufficient_scope\", scope=\"{scope}\"");
        assert_eq!(refused.header("www-authenticate"), Some(challenge.as_str()));
    }
    // The key stayed free, and it is the client's: another key of the same client may use it.
    let placed = server.demo.order("k", "1.00").await?;
    expect::created(&placed);
    assert!(!placed.replayed());
    let writer = key_for(&server, &[Scope::OrdersWrite]).await?;
    expect::same(&placed, &writer.order("k", "1.00").await?);
    Ok(())
}

#[tokio::test]
async fn what_was_answered_is_told_to_a_key_that_could_have_had_the_answer() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let placed = server.demo.order("k", "1.00").await?;
    expect::created(&placed);
    let path = "/v1/idempotency-keys/k";
    for scopes in [&[Scope::KeysRead, Scope::OrdersWrite][..], &[]] {
        let told = expect::ok(&key_for(&server, scopes).await?.get(path).await?);
        assert_eq!(told["response"]["body"], placed.json(), "{scopes:?}");
        assert!(told["resource"].as_str().is_some_and(|path| path.starts_with("/v1/orders/")), "{told}");
    }
    for scopes in [&[Scope::KeysRead][..], &[Scope::KeysRead, Scope::AccountsWrite, Scope::OrdersRead]] {
        let told = expect::ok(&key_for(&server, scopes).await?.get(path).await?);
        assert_eq!((&told["status"], &told["operation"]), (&json!("completed"), &json!("POST /v1/orders")));
        assert_eq!(told["response"], json!({ "status": 201, "body": null }), "{scopes:?}");
        assert_eq!(told["resource"], json!(null));
    }
    Ok(())
}

#[tokio::test]
async fn a_key_that_is_revoked_is_refused_a_second_later_at_every_server() -> anyhow::Result<()> {
    // Not every one of so many refusals shall count as a guess.
    let set = |settings: &mut ServerSettings| settings.http.wrong_keys_per_minute = None;
    let one = TestServer::start_with(new_database().await?, set).await?;
    let other = TestServer::start_with(one.database.clone(), set).await?;
    let callers = {
        let first = one.another_client().await?;
        [first.at(&other.url()), first]
    };
    for caller in &callers {
        expect::ok(&caller.get("/v1/accounts").await?);
    }
    let pool = PgPool::connect_with(one.database.clone()).await?;
    sqlx::query("UPDATE api_keys SET revoked_at = now() WHERE NOT demo").execute(&pool).await?;
    let revoked = Instant::now();
    let mut refused_late = 0;
    // Asked all the time, so that what is remembered would be remembered for longer if asking could do that.
    while refused_late < 40 {
        for caller in &callers {
            let late = revoked.elapsed() >= Duration::from_secs(1);
            let answer = caller.get("/v1/accounts").await?;
            if late {
                expect::problem(&answer, 401, "unauthorized");
                refused_late += 1;
            }
        }
    }
    pool.close().await;
    Ok(())
}

async fn show(server: &TestServer, key: &str) -> anyhow::Result<Exchange> {
    send(server.anonymous().request("GET", "/v1/accounts").bearer_auth(key)).await
}

#[tokio::test]
async fn an_address_that_guesses_keys_is_told_to_wait_and_a_key_that_was_good_beside_it_is_good()
-> anyhow::Result<()> {
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.http.wrong_keys_per_minute = NonZeroU32::new(3);
    })
    .await?;
    let newcomer = key_for(&server, &[]).await?;
    expect::ok(&server.demo.get("/v1/accounts").await?);
    for guess in ["a", "b", "c"] {
        expect::problem(&show(&server, guess).await?, 401, "unauthorized");
    }
    let told = show(&server, "d").await?;
    expect::problem(&told, 429, "rate-limited");
    assert_eq!(told.header("ratelimit-policy"), Some("\"wrong-keys\";q=3;w=60"));
    let wait: u64 = told.header("retry-after").expect("a time").parse()?;
    assert!((1..=20).contains(&wait), "{wait}");
    // A right guess is told what a wrong one is told; and who shows nothing guesses nothing.
    expect::problem(&newcomer.get("/v1/accounts").await?, 429, "rate-limited");
    expect::problem(&server.anonymous().get("/v1/accounts").await?, 401, "unauthorized");
    expect::ok(&server.demo.get("/v1/accounts").await?);
    Ok(())
}

#[tokio::test]
async fn behind_a_proxy_that_is_believed_each_of_its_callers_is_counted_alone() -> anyhow::Result<()> {
    let few = NonZeroU32::new(3);
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.http.wrong_keys_per_minute = few;
        settings.http.callbacks_per_second = few;
        settings.http.trusted_proxies.networks = vec!["127.0.0.1".parse().expect("an address")];
    })
    .await?;
    let asked = async |method: &str, path: &str, from: &str| {
        // Whatever a guesser writes there itself, the proxy adds the address that it sees.
        let request = server.anonymous().request(method, path).header("x-forwarded-for", from);
        anyhow::Ok(send(request.bearer_auth("wrong")).await?.status)
    };
    for (method, path) in [("GET", "/v1/accounts"), ("POST", "/v1/callbacks/stripe")] {
        let mut limited = false;
        for made_up in 0..50 {
            let from = format!("203.0.113.{made_up}, 198.51.100.1");
            limited |= asked(method, path, &from).await? == 429;
        }
        assert!(limited, "{path}: a made-up address was believed");
        assert_ne!(asked(method, path, "198.51.100.2").await?, 429, "{path}: everybody pays for one");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_left_of_each_limit_is_told_with_every_answer() -> anyhow::Result<()> {
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.http.requests_per_second = NonZeroU32::new(1_000);
        let once = NonZeroU32::new(1).expect("one is not zero");
        settings.http.requests_per_second_by_route.insert("GET /v1/orders".to_owned(), once);
    })
    .await?;
    let placed = server.demo.order("k", "1.00").await?;
    expect::created(&placed);
    assert_eq!(placed.header("ratelimit-policy"), Some("\"client\";q=1000;w=1"));
    let left = placed.header("ratelimit").expect("what is left");
    assert!(left.starts_with("\"client\";r=99") && left.ends_with(";t=1"), "{left}");
    let nothing = server.demo.get("/v1/orders/01900000-0000-7000-8000-0000000000ff").await?;
    expect::problem(&nothing, 404, "not-found");
    assert!(nothing.header("ratelimit").is_some());

    // A route's own limit refuses that route alone, and HEAD is the same route as GET.
    let limited = loop {
        let answer = server.demo.send(server.demo.request("HEAD", "/v1/orders")).await?;
        if answer.status == 429 {
            break answer;
        }
    };
    assert_eq!(limited.header("ratelimit-policy"), Some("\"client\";q=1000;w=1, \"route\";q=1;w=1"));
    assert!(limited.header("ratelimit").is_some_and(|left| left.contains("\"route\";r=0;t=1")));
    expect::ok(&server.demo.get("/v1/accounts").await?);
    // Where nothing is limited, nothing is told.
    let free = TestServer::start().await?;
    assert!(free.demo.get("/v1/accounts").await?.header("ratelimit").is_none());
    Ok(())
}
