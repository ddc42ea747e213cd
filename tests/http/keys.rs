//! The header `Idempotency-Key`: its syntax, its aliases, and what is no key.

use onefold_tests::http::{ALICE, Exchange, TestServer, order_body};
use onefold_tests::raw_http;

use crate::expect;

/// Sends one order with these lines among its headers, as they are.
async fn order_with(server: &TestServer, lines: &[&[u8]]) -> anyhow::Result<Exchange> {
    let body = order_body(ALICE, "A", "1.00").to_string();
    raw_http::exchange(&server.url(), &raw_http::post("/v1/orders", lines, body.as_bytes())).await
}

fn line(name: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b": ", value].concat()
}

#[tokio::test]
async fn a_bare_token_and_a_quoted_string_of_one_value_are_one_key() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let longest = "k".repeat(255);
    let quoted_longest = format!("\"{longest}\"");
    let backslashes = format!("\"{}\"", "\\\\".repeat(255));
    for (number, spellings) in [
        vec!["8e03978e-40d5-43dd-bc93-6894a57f9324", "\"8e03978e-40d5-43dd-bc93-6894a57f9324\""],
        vec!["order:2024/1", "\"order:2024/1\"", "  order:2024/1  "],
        vec!["!#$%&'*+-.^_`|~", "\"!#$%&'*+-.^_`|~\""],
        vec!["\"with a blank\"", "  \"with a blank\"\t"],
        vec![r#""a \"quote\" and a \\""#],
        vec![r#""a, b""#],
        vec!["K", "\"K\""],
        vec!["k", "\"k\""],
        vec!["\" \""],
        vec![&longest, &quoted_longest],
        vec![&backslashes],
        vec!["0"],
    ]
    .into_iter()
    .enumerate()
    {
        let body = order_body(ALICE, &format!("A-{number}"), "1.00").to_string();
        for (again, spelling) in spellings.into_iter().enumerate() {
            let request = raw_http::post(
                "/v1/orders",
                &[&line("idempotency-key", spelling.as_bytes())],
                body.as_bytes(),
            );
            let answer = raw_http::exchange(&server.url(), &request).await?;
            expect::created(&answer);
            assert_eq!(answer.replayed(), again > 0, "{spelling}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn keys_that_differ_in_case_or_in_a_blank_are_two_keys() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for (number, key) in ["key", "Key", "\"key \"", "\" key\"", "\"\\\"key\\\"\""].into_iter().enumerate() {
        let body = order_body(ALICE, &format!("A-{number}"), "1.00").to_string();
        let request =
            raw_http::post("/v1/orders", &[&line("idempotency-key", key.as_bytes())], body.as_bytes());
        let answer = raw_http::exchange(&server.url(), &request).await?;
        expect::created(&answer);
        assert!(!answer.replayed(), "{key}");
    }
    Ok(())
}

#[tokio::test]
async fn a_key_that_cannot_be_read_is_400_malformed_before_the_database() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let too_long = "k".repeat(256);
    let quoted_too_long = format!("\"{}\"", "\\\"".repeat(256));
    let ten_thousand = "k".repeat(10_000);
    for value in [
        &b""[..],
        b"   ",
        b"\"\"",
        too_long.as_bytes(),
        quoted_too_long.as_bytes(),
        ten_thousand.as_bytes(),
        b"\"open",
        b"open\"",
        b"\"",
        b"\"a\\\"",
        b"\"a\\n\"",
        b"\"a\"b",
        b"\"a\" \"b\"",
        b"\"a\", \"b\"",
        b"\"a\";p=1",
        b"a b",
        b"a, b",
        b"a,b",
        b"a\"b",
        b"a\\b",
        b"a\tb",
        b"\"a\tb\"",
        b"caf\xC3\xA9",
        b"\"caf\xC3\xA9\"",
        b"caf\xE9",
        b"\xFF",
        b"\xE5\xAF\x86\xE9\x92\xA5",
    ] {
        let refused = order_with(&server, &[&line("idempotency-key", value)]).await?;
        expect::problem(&refused, 400, "idempotency-key-malformed");
    }
    Ok(())
}

#[tokio::test]
async fn a_key_with_a_nul_or_another_control_character_is_400() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for byte in (0..=0x1F_u8).filter(|byte| !b"\t\r\n".contains(byte)).chain([0x7F]) {
        for value in [vec![b'a', byte, b'b'], vec![b'"', b'a', byte, b'"']] {
            // HTTP itself forbids these bytes in any header (RFC 9110, 5.5), so its parser may speak first.
            let refused = order_with(&server, &[&line("idempotency-key", &value)]).await?;
            let slug = refused.slug();
            assert!(
                matches!(slug.as_deref(), Some("idempotency-key-malformed" | "malformed-request")),
                "{byte:#x}: {slug:?}"
            );
            expect::problem(&refused, 400, slug.as_deref().unwrap_or_default());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_request_without_a_key_is_400_missing() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = serde_json::json!({"amount": "1.00", "currency": "CNY", "reference": "R"}).to_string();
    for path in [
        "/v1/accounts".to_owned(),
        format!("/v1/accounts/{ALICE}/deposits"),
        format!("/v1/accounts/{ALICE}/withdrawals"),
        format!("/v1/accounts/{ALICE}/close"),
        "/v1/transfers".to_owned(),
        "/v1/orders".to_owned(),
    ] {
        let refused = raw_http::exchange(&server.url(), &raw_http::post(&path, &[], body.as_bytes())).await?;
        expect::problem(&refused, 400, "idempotency-key-missing");
    }
    Ok(())
}

#[tokio::test]
async fn the_aliases_name_the_same_key_and_must_agree() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let first = order_with(&server, &[b"X-Idempotency-Key: k"]).await?;
    expect::created(&first);
    for lines in [
        vec![&b"Idempotency-Key: k"[..]],
        vec![b"X-Idempotent-Key: k"],
        vec![b"IDEMPOTENCY-KEY: \"k\""],
        vec![b"Idempotency-Key: k", b"X-Idempotency-Key: k"],
        vec![b"Idempotency-Key: k", b"X-Idempotency-Key: \"k\"", b"X-Idempotent-Key: k"],
    ] {
        let again = order_with(&server, &lines).await?;
        assert!(again.replayed(), "{lines:?}");
        expect::same(&first, &again);
    }
    for lines in [
        vec![&b"Idempotency-Key: k"[..], b"X-Idempotency-Key: l"],
        vec![b"X-Idempotency-Key: k", b"X-Idempotent-Key: K"],
        vec![b"Idempotency-Key: k", b"X-Idempotent-Key: "],
        vec![b"Idempotency-Key: k", b"X-Idempotency-Key: \"k"],
    ] {
        expect::problem(&order_with(&server, &lines).await?, 400, "idempotency-key-malformed");
    }
    Ok(())
}

#[tokio::test]
async fn the_header_twice_is_400_even_if_both_agree() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for lines in [
        [&b"Idempotency-Key: k"[..], b"Idempotency-Key: l"],
        [b"Idempotency-Key: k", b"Idempotency-Key: k"],
        [b"X-Idempotency-Key: k", b"x-idempotency-key: k"],
    ] {
        expect::problem(&order_with(&server, &lines).await?, 400, "idempotency-key-malformed");
    }
    Ok(())
}
