//! Bodies: JSON in UTF-8, 64 KiB at most, and just the fields of the schema.

use onefold_tests::http::{ALICE, BOB, Caller, Exchange, TestServer, order_body};
use onefold_tests::raw_http;
use serde_json::json;

use crate::expect;

/// The largest body, in bytes.
const BYTES_MAX: usize = 64 * 1024;

/// An order that is good but for white space, which fills it up to that many bytes.
fn order_of_size(number: &str, bytes: usize) -> String {
    let mut body = order_body(ALICE, number, "1.00").to_string();
    body.push_str(&" ".repeat(bytes - body.len()));
    body
}

async fn post_as(
    demo: &Caller,
    key: &str,
    content_type: Option<&str>,
    body: &str,
) -> anyhow::Result<Exchange> {
    let mut request = demo.request("POST", "/v1/orders").header("idempotency-key", key).body(body.to_owned());
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    demo.send(request).await
}

#[tokio::test]
async fn a_body_is_application_json_and_any_other_media_type_is_415() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let good = [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
    ];
    for (number, content_type) in good.into_iter().enumerate() {
        let name = format!("good-{number}");
        let body = order_body(ALICE, &name, "1.00").to_string();
        expect::created(&post_as(&server.demo, &name, Some(content_type), &body).await?);
    }
    let body = order_body(ALICE, "bad", "1.00").to_string();
    for content_type in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/problem+json"),
        Some("application/jsonp"),
        Some("application/json; charset=iso-8859-1"),
        Some("json"),
    ] {
        let exchange = post_as(&server.demo, "bad", content_type, &body).await?;
        expect::problem(&exchange, 415, "unsupported-media-type");
    }
    Ok(())
}

#[tokio::test]
async fn a_body_with_a_content_encoding_is_415_which_names_the_header() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = order_body(ALICE, "coded", "1.00").to_string();
    let with = |lines: &[&[u8]]| {
        raw_http::post("/v1/orders", &[&[&b"idempotency-key: coded"[..]], lines].concat(), body.as_bytes())
    };
    for lines in [
        &[&b"content-encoding: gzip"[..]][..],
        &[b"Content-Encoding: br"],
        &[b"content-encoding: identity, gzip"],
        &[b"content-encoding: identity", b"content-encoding: deflate"],
        &[b"content-encoding: "],
        &[b"content-encoding: \xE9"],
    ] {
        let refused = raw_http::exchange(&server.url(), &with(lines)).await?;
        let document = expect::problem(&refused, 415, "unsupported-media-type");
        assert!(document["detail"].as_str().is_some_and(|detail| detail.contains("Content-Encoding")));
    }
    let plain = raw_http::exchange(&server.url(), &with(&[b"content-encoding: Identity"])).await?;
    expect::created(&plain);
    Ok(())
}

#[tokio::test]
async fn a_body_of_exactly_64_kib_is_taken_and_one_byte_more_is_413() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let taken = server.demo.post_text("/v1/orders", "largest", &order_of_size("largest", BYTES_MAX)).await?;
    expect::created(&taken);
    for bytes in [BYTES_MAX + 1, 2 * BYTES_MAX] {
        let body = order_of_size("too-large", bytes);
        let refused = server.demo.post_text("/v1/orders", "too-large", &body).await?;
        expect::problem(&refused, 413, "content-too-large");
    }
    Ok(())
}

#[tokio::test]
async fn the_limit_of_a_body_holds_without_a_content_length_too() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let chunked = |body: &str| {
        let mut request = b"POST /v1/orders HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
            authorization: Bearer demo-key\r\ncontent-type: application/json\r\nidempotency-key: chunked\r\n\
            transfer-encoding: chunked\r\n\r\n"
            .to_vec();
        for chunk in body.as_bytes().chunks(8_000) {
            request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            request.extend_from_slice(chunk);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        request
    };
    let too_large = chunked(&order_of_size("chunked", BYTES_MAX + 1));
    expect::problem(&raw_http::exchange(&server.url(), &too_large).await?, 413, "content-too-large");
    let largest = chunked(&order_of_size("chunked", BYTES_MAX));
    expect::created(&raw_http::exchange(&server.url(), &largest).await?);
    Ok(())
}

/// Whoever goes by the length sees a second request in the rest of such a body. A proxy that does would take the answer to
/// it for the answer to somebody else's request, if there were one.
#[tokio::test]
async fn a_body_with_two_framings_is_chunked_and_the_last_of_its_connection() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let framings = [
        ("length-first", "content-length: 4\r\ntransfer-encoding: chunked\r\n"),
        ("chunked-first", "transfer-encoding: chunked\r\ncontent-length: 4\r\n"),
    ];
    for (name, framing) in framings {
        let body = order_body(ALICE, name, "1.00").to_string();
        let request = format!(
            "POST /v1/orders HTTP/1.1\r\nhost: test\r\nauthorization: Bearer demo-key\r\n\
             content-type: application/json\r\nidempotency-key: {name}\r\n{framing}\r\n\
             {:x}\r\n{body}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: test\r\n\r\n",
            body.len()
        );
        // The second answer would stand behind the first one's JSON, and the connection would not end.
        expect::created(&raw_http::exchange(&server.url(), request.as_bytes()).await?);
    }
    Ok(())
}

#[tokio::test]
async fn what_is_not_json_is_400_malformed_json() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let good = order_body(ALICE, "x", "1.00").to_string();
    let trailing = [good.clone() + "x", good.clone() + "{}", good.clone() + ",", format!("\u{feff}{good}")];
    let nested = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let texts = [
        "",
        " ",
        "{",
        "{\"a\":1,}",
        "{'a':1}",
        "{a:1}",
        "NaN",
        "nul",
        "01",
        "\"\\ud800\"",
        "amount=1",
        &nested,
    ];
    for body in texts.into_iter().map(str::to_owned).chain(trailing) {
        let refused = server.demo.post_text("/v1/orders", "malformed", &body).await?;
        expect::problem(&refused, 400, "malformed-json");
    }
    let mut latin1 = good.into_bytes();
    let at = latin1.iter().position(|&byte| byte == b'x').expect("the number");
    latin1[at] = 0xE9;
    let request = raw_http::post("/v1/orders", &[b"idempotency-key: malformed"], &latin1);
    expect::problem(&raw_http::exchange(&server.url(), &request).await?, 400, "malformed-json");
    Ok(())
}

#[tokio::test]
async fn json_that_is_no_object_does_not_fit_the_schema() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for body in ["null", "true", "1", "1e400", "\"x\"", "[]", "[{}]"] {
        let refused = server.demo.post_text("/v1/orders", "shape", body).await?;
        assert_eq!(expect::faults(&refused), [""], "{body}");
    }
    Ok(())
}

#[tokio::test]
async fn every_fault_of_an_order_is_told_at_once_with_its_pointer() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let table: &[(&str, &[&str])] = &[
        ("{}", &["/account_id", "/amount", "/client_order_no", "/currency", "/payment"]),
        (
            r#"{"account_id": 1, "client_order_no": null, "currency": [], "amount": 12.30, "payment": "balance"}"#,
            &["/account_id", "/amount", "/client_order_no", "/currency", "/payment"],
        ),
        (
            r#"{"account_id": "x", "client_order_no": "", "currency": "cny", "amount": "-1", "payment": {}, "a/b~c": 1}"#,
            &["/account_id", "/amount", "/a~1b~0c", "/client_order_no", "/currency", "/payment/method"],
        ),
        (
            r#"{"account_id": "01900000-0000-7000-8000-00000000000a", "client_order_no": "A", "currency": "CNY",
                "amount": "1.00", "amount": "2.00", "payment": {"method": "balance", "method": "balance"}}"#,
            &["/amount", "/payment/method"],
        ),
        (
            r#"{"account_id": "01900000-0000-7000-8000-00000000000a", "client_order_no": "A", "currency": "CNY",
                "amount": "1.00", "tip": "1.00", "payment": {"method": "cash", "till": 3}}"#,
            &["/payment/method", "/payment/till", "/tip"],
        ),
    ];
    for (body, pointers) in table {
        let refused = server.demo.post_text("/v1/orders", "faults", body).await?;
        assert_eq!(expect::faults(&refused), *pointers, "{body}");
    }
    Ok(())
}

#[tokio::test]
async fn every_fault_of_the_other_bodies_is_told_at_once_with_its_pointer() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let deposits = format!("/v1/accounts/{ALICE}/deposits");
    let withdrawals = format!("/v1/accounts/{ALICE}/withdrawals");
    let close = format!("/v1/accounts/{BOB}/close");
    let table = [
        ("/v1/accounts", json!({}), vec!["/currency", "/owner"]),
        (
            "/v1/accounts",
            json!({"owner": "", "currency": "XXX", "id": 1}),
            vec!["/currency", "/id", "/owner"],
        ),
        ("/v1/accounts", json!({"owner": "x".repeat(65), "currency": "usd"}), vec!["/currency", "/owner"]),
        (&deposits, json!({}), vec!["/amount", "/currency", "/reference"]),
        (
            &deposits,
            json!({"amount": 1, "currency": 2, "reference": 3}),
            vec!["/amount", "/currency", "/reference"],
        ),
        (&withdrawals, json!({"x": 1}), vec!["/amount", "/currency", "/reference", "/x"]),
        (
            "/v1/transfers",
            json!({}),
            vec!["/amount", "/currency", "/from_account_id", "/reference", "/to_account_id"],
        ),
        (
            "/v1/transfers",
            json!({"from_account_id": ALICE.to_uppercase(), "to_account_id": "b", "amount": "0", "currency": "CNY", "reference": "\u{0}"}),
            vec!["/amount", "/from_account_id", "/reference", "/to_account_id"],
        ),
        (&close, json!({"force": true}), vec!["/force"]),
    ];
    for (path, body, pointers) in table {
        let refused = server.demo.post(path, "faults", &body).await?;
        assert_eq!(expect::faults(&refused), pointers, "{path} {body}");
    }
    Ok(())
}

#[tokio::test]
async fn a_name_has_1_to_64_characters_and_can_be_printed() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let long = "é".repeat(64);
    for (number, name) in ["A", "汉字 1", "a\"b\\c/d", &long].into_iter().enumerate() {
        let order = server
            .demo
            .post("/v1/orders", &format!("good-{number}"), &order_body(ALICE, name, "1.00"))
            .await?;
        assert_eq!(expect::created(&order)["client_order_no"], name);
        let deposit = json!({"amount": "1.00", "currency": "CNY", "reference": name});
        let path = format!("/v1/accounts/{ALICE}/deposits");
        let deposit = server.demo.post(&path, &format!("deposit-{number}"), &deposit).await?;
        assert_eq!(expect::created(&deposit)["reference"], name);
        let opening = json!({"owner": name, "currency": "CNY"});
        let opened = server.demo.post("/v1/accounts", &format!("open-{number}"), &opening).await?;
        assert_eq!(expect::created(&opened)["owner"], name);
    }
    let long = "é".repeat(65);
    for name in ["", "a\nb", "a\u{0}b", "\u{7f}", &long] {
        let order = server.demo.post("/v1/orders", "bad", &order_body(ALICE, name, "1.00")).await?;
        assert_eq!(expect::faults(&order), ["/client_order_no"], "{name:?}");
        let deposit = json!({"amount": "1.00", "currency": "CNY", "reference": name});
        let deposit = server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "bad", &deposit).await?;
        assert_eq!(expect::faults(&deposit), ["/reference"], "{name:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_id_in_a_body_has_one_spelling_and_any_other_does_not_fit_the_schema() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for id in [
        "01900000-0000-7000-8000-00000000000A",
        "0190000000007000800000000000000a",
        "{01900000-0000-7000-8000-00000000000a}",
        "urn:uuid:01900000-0000-7000-8000-00000000000a",
        " 01900000-0000-7000-8000-00000000000a",
        "01900000-0000-4000-8000-00000000000a",
        "00000000-0000-0000-0000-000000000000",
        "alice",
        "1",
        "",
    ] {
        let refused = server.demo.post("/v1/orders", "id", &order_body(id, "A", "1.00")).await?;
        assert_eq!(expect::faults(&refused), ["/account_id"], "{id}");
    }
    Ok(())
}
