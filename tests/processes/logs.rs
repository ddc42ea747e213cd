//! What a process logs: each request, and no secret.

use idempotency::Key;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, Caller, order_body};
use onefold_tests::raw_http;
use serde_json::Value;

use crate::program::{Program, until, url_of};

/// The lines of the requests that a process has served.
fn request_lines(log: &str) -> Vec<Value> {
    let lines = log.lines().map(serde_json::from_str::<Value>);
    let lines =
        lines.map(|line| line.unwrap_or_else(|error| panic!("the log is not JSON lines: {error}\n{log}")));
    lines.filter(|line| line["target"] == "onefold::access").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_has_one_line_with_who_what_which_key_what_came_of_it_and_how_long() -> anyhow::Result<()>
{
    let program = Program::start(&url_of(&new_database().await?).await?).await?;
    let demo = program.demo();
    let url = demo.request("GET", "/").build()?.url().as_str().trim_end_matches('/').to_owned();
    let stranger = Caller::new(&url, "a-key-that-nobody-has");
    let as_sent = |id: &'static str, caller: &Caller, method: &str, path: &str, body: Option<Value>| {
        let request = caller.request(method, path).header("x-request-id", id);
        match body {
            Some(body) => request
                .header("idempotency-key", "SecretKey-77")
                .header("content-type", "application/json")
                .body(body.to_string()),
            None => request,
        }
    };
    let order = order_body(ALICE, "SecretNumber-88", "123.45");
    let mut bad = order.clone();
    bad["amount"] = "SecretAmount-99".into();
    let table = [
        ("r-1", "POST", "/v1/orders", Some(bad), "demo", "POST /v1/orders", 422, "validation-failed"),
        ("r-2", "POST", "/v1/orders", Some(order.clone()), "demo", "POST /v1/orders", 201, "ok"),
        ("r-3", "POST", "/v1/orders", Some(order.clone()), "demo", "POST /v1/orders", 201, "replayed"),
        ("r-4", "GET", "/v1/accounts/SecretPath-66", None, "demo", "GET /v1/accounts/{id}", 404, "not-found"),
        ("r-5", "GET", "/v1/SecretRoute-55?secret=SecretQuery-44", None, "", "unmatched", 404, "not-found"),
        ("r-6", "GET", "/healthz", None, "", "GET /healthz", 200, "ok"),
    ];
    for (id, method, path, body, _, _, status, _) in &table {
        let answer = demo.send(as_sent(id, &demo, method, path, body.clone())).await?;
        assert_eq!(answer.status, *status, "{id}");
    }
    // Alipay is told so with a 200, and the log must not take it for one.
    let forged = demo.request("POST", "/v1/callbacks/alipay").header("x-request-id", "r-8");
    let forged = demo.send(forged.body("out_trade_no=SecretTrade-22&sign=AAAA&sign_type=RSA2")).await?;
    assert_eq!((forged.status, forged.bytes.as_slice()), (200, b"failure".as_slice()));
    let refused = stranger.send(as_sent("r-7", &stranger, "POST", "/v1/orders", Some(order))).await?;
    assert_eq!(refused.status, 401);
    let malformed = raw_http::exchange(&url, b"SecretNonsense-33\r\n\r\n").await?;
    assert_eq!(malformed.status, 400);

    until("every request has its line", async || request_lines(&program.log()).len() >= table.len() + 3)
        .await;
    let log = program.log();
    let lines = request_lines(&log);
    assert_eq!(lines.len(), table.len() + 3, "{lines:#?}");
    let of_forged: Vec<_> = lines.iter().filter(|line| line["request_id"] == "r-8").collect();
    assert_eq!(
        (&of_forged[0]["outcome"], &of_forged[0]["endpoint"]),
        (&"bad_signature".into(), &"alipay".into())
    );
    let hash = Key::from_value("SecretKey-77").expect("a key").log_id();
    for (id, _, _, body, client, operation, status, outcome) in &table {
        let of_it: Vec<_> = lines.iter().filter(|line| line["request_id"] == *id).collect();
        let [line] = of_it.as_slice() else { panic!("{} lines for {id}", of_it.len()) };
        assert_eq!(line["operation"], *operation, "{line}");
        assert_eq!(line["status"], *status, "{line}");
        assert_eq!(line["outcome"], *outcome, "{line}");
        assert!(line["duration_us"].as_u64().is_some_and(|duration| duration > 0), "{line}");
        assert_eq!(line["client"].as_str().unwrap_or_default(), *client, "{line}");
        assert_eq!(line["key"].as_str(), body.as_ref().map(|_| hash.as_str()), "{line}");
    }
    for secret in [
        "demo-key",
        "a-key-that-nobody-has",
        "SecretKey",
        "SecretNumber",
        "SecretAmount",
        "SecretPath",
        "SecretRoute",
        "SecretQuery",
        "SecretNonsense",
        "SecretTrade",
        "123.45",
    ] {
        assert!(!log.contains(secret), "the log tells {secret}");
    }
    Ok(())
}
