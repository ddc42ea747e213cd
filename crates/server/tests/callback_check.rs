//! `onefold callback check`, as its users run it.

#[path = "command_line/program.rs"]
#[allow(dead_code, reason = "other tests start servers with it")]
mod program;

use program::{Ended, Home};
use serde_json::{Value, json};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../payment-callback/tests/vectors");

fn vectors(provider: &str) -> String {
    format!("{VECTORS}/{provider}.json")
}

/// The vector of that name, alone.
fn vector(id: &str) -> Value {
    let provider = id.split('/').next().unwrap();
    let file: Value = serde_json::from_slice(&std::fs::read(vectors(provider)).unwrap()).unwrap();
    file["vectors"].as_array().unwrap().iter().find(|vector| vector["id"] == id).unwrap().clone()
}

fn lines(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn every_vector_comes_out_as_it_expects_on_a_line_of_its_own() {
    let files = ["stripe", "alipay", "wechatpay", "standardwebhooks"].map(vectors);
    let arguments: Vec<&str> =
        ["callback", "check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let ended = Home::new().run(&arguments).await;
    assert!(ended.success(), "{ended:?}");
    assert_eq!(ended.stderr, "");
    let lines = lines(&ended);
    assert!(lines.len() > 100, "{}", lines.len());
    let members = ["id", "verify", "reason", "decision", "http_status", "http_body", "normalized"];
    for line in lines {
        assert!(members.iter().all(|member| line.get(member).is_some()), "{line}");
        assert_eq!(line.as_object().unwrap().len(), members.len(), "{line}");
    }
}

#[tokio::test]
async fn a_single_capture_is_told_with_the_reason_it_is_refused_for() {
    let home = Home::new();
    let mut capture = vector("stripe/expired");
    capture.as_object_mut().unwrap().remove("expect");
    let file = home.write("capture.json", &capture.to_string());
    let ended = home.run(&["callback", "check", &file]).await;
    assert!(ended.success(), "{ended:?}");
    assert_eq!(lines(&ended)[0]["reason"], "timestamp_too_old");
    assert_eq!(lines(&ended)[0]["http_status"], 400);
    assert!(ended.sentence().starts_with("stripe/expired: timestamp_too_old: "), "{}", ended.sentence());
}

#[tokio::test]
async fn what_differs_is_named_and_the_command_fails() {
    let home = Home::new();
    let mut capture = vector("alipay/valid");
    capture["expect"] = json!({
        "verify": "ok",
        "decision": "hold_amount_mismatch",
        "http_body": "success",
        "normalized": { "amount": "88.81", "currency": "CNY" },
    });
    let file = home.write("capture.json", &json!([capture, vector("alipay/valid-finished")]).to_string());
    let ended = home.run(&["callback", "check", &file]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(lines(&ended).len(), 2, "the second is checked too");
    assert_eq!(
        ended.stderr.lines().collect::<Vec<_>>(),
        [
            r#"alipay/valid: decision is "apply_payment", where "hold_amount_mismatch" is expected"#,
            r#"alipay/valid: normalized.amount is "88.80", where "88.81" is expected"#,
        ]
    );
}

#[tokio::test]
async fn the_provider_may_stand_at_the_top_of_the_file() {
    let home = Home::new();
    let mut capture = vector("wechatpay/valid-public-key");
    capture["id"] = json!("mine");
    let file = home.write("top.json", &json!({ "provider": "wechatpay", "vectors": [capture] }).to_string());
    let ended = home.run(&["callback", "check", &file]).await;
    assert!(ended.success(), "{ended:?}");
    assert_eq!(lines(&ended)[0]["id"], "mine");
}

#[tokio::test]
async fn a_file_that_cannot_be_checked_is_named_and_so_is_the_trouble() {
    let home = Home::new();
    for (name, text, trouble) in [
        ("text.json", "not json".to_owned(), "not JSON"),
        ("empty.json", r#"{"vectors":[]}"#.to_owned(), "there is no capture in it"),
        ("number.json", "7".to_owned(), "neither an object nor a list"),
    ] {
        let file = home.write(name, &text);
        let ended = home.run(&["callback", "check", &vectors("stripe"), &file]).await;
        assert_eq!(ended.code, Some(2), "{name}: {ended:?}");
        assert_eq!(ended.stdout, "", "{name}");
        assert!(
            ended.sentence().contains(name) && ended.sentence().contains(trouble),
            "{name}: {}",
            ended.sentence()
        );
    }
    let ended = home.run(&["callback", "check", "nowhere.json"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.sentence().contains("cannot read nowhere.json"), "{}", ended.sentence());
}

#[tokio::test]
async fn a_capture_that_cannot_be_checked_is_named_and_the_others_are_checked() {
    let home = Home::new();
    let mut without_now = vector("stripe/valid");
    without_now.as_object_mut().unwrap().remove("now");
    let mut of_nobody = vector("stripe/valid");
    of_nobody["provider"] = json!("paypal");
    for (odd, trouble) in [
        (without_now, "stripe/valid: `now`"),
        (of_nobody, "stripe/valid: `provider` is none of stripe, alipay"),
        (json!({ "provider": "stripe" }), "capture 1: missing field `request`"),
    ] {
        let file = home.write("odd.json", &json!([odd, vector("stripe/valid")]).to_string());
        let ended = home.run(&["callback", "check", &file]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
        assert!(ended.stdout.contains(r#""verify":"ok""#), "{ended:?}");
        assert!(ended.sentence().contains("odd.json") && ended.sentence().contains(trouble), "{ended:?}");
    }
}
