//! The history of an order, as a few lines of text.

use serde_json::Value;

use crate::http::Caller;

/// The history of an order, read in pages of so many steps, a line a step: at whose word, what changed by which
/// refund, what was booked.
///
/// # Errors
///
/// If it is not answered.
pub async fn story(caller: &Caller, order: &str, limit: usize) -> anyhow::Result<Vec<String>> {
    let path = format!("/v1/orders/{order}/history");
    let (mut lines, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = caller.get(&format!("{path}?limit={limit}{cursor}")).await?.json();
        lines.extend(page["data"].as_array().into_iter().flatten().map(line));
        let Some(next) = page["next_cursor"].as_str() else { return Ok(lines) };
        cursor = format!("&cursor={next}");
    }
}

fn line(step: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let by = &step["by"];
    let by = match by["kind"].as_str() {
        Some("request") => format!("request {}", word(&by["idempotency_key"])),
        Some("callback") => {
            format!("callback {} {} {}", word(&by["endpoint"]), word(&by["event_id"]), word(&by["verdict"]))
        }
        Some(kind) => kind.to_owned(),
        None => "unknown".to_owned(),
    };
    let told = |list: &Value, of: fn(&Value) -> String| -> String {
        let told: Vec<String> = list.as_array().into_iter().flatten().map(of).collect();
        told.join(", ")
    };
    let changes = told(&step["changes"], |change| {
        let refund = &change["refund"];
        let refund = match refund.is_object() {
            true => format!(", {} of {}", refund["reference"], refund["amount"]),
            false => String::new(),
        };
        format!("{} {} {}{refund}", change["version"], change["change"], change["status"]).replace('"', "")
    });
    let journal = told(&step["journal"], |row| {
        format!("{} {}: {} to {}", row["kind"], row["amount"], row["debit_account"], row["credit_account"])
            .replace('"', "")
    });
    format!("{by} | {changes} | {journal}")
}
