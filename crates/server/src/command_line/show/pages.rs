//! An order, an account, a payment and a callback, as a person reads them: what it is, then what happened.

use serde_json::Value;

use super::table::{Align, lines};

/// A callback: what was made of it, and what it said.
pub fn callback(document: &Value) -> Vec<String> {
    let callback = &document["callback"];
    let mut page = vec![
        format!(
            "Callback {} of {} ({}), {}",
            word(callback, "event_id"),
            word(callback, "endpoint"),
            word(callback, "provider"),
            word(callback, "event_type"),
        ),
        format!(
            "{}: decision {}, verdict {}",
            time(word(callback, "received_at")),
            word(callback, "decision"),
            word(callback, "verdict"),
        ),
        format!(
            "payment {}, paid as {}",
            callback["payment_no"].as_str().unwrap_or(NOTHING),
            callback["provider_payment_id"].as_str().unwrap_or(NOTHING),
        ),
        String::new(),
    ];
    let body = &callback["body"];
    if body.is_null() {
        page.push(
            "Its bytes are not kept: only those that somebody has to look at are, and for a while."
                .to_owned(),
        );
        return page;
    }
    page.push(format!(
        "Its body, {} bytes, kept until {}. Its headers are not kept, and its signature with them: it was right.",
        body["bytes"],
        time(word(body, "delete_at")),
    ));
    page.push(String::new());
    match body["body_text"].as_str() {
        Some(text) => page.extend(text.lines().map(printable)),
        None => page.push(format!("in base64, for it is no UTF-8: {}", word(body, "body_base64"))),
    }
    page
}

/// A provider's line, without what would tell a terminal to do something.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// What stands where there is nothing.
const NOTHING: &str = "–";

/// An order and its steps: a line for each version, each delivery that changed nothing, and each journal row.
pub fn order(document: &Value) -> Vec<String> {
    let order = &document["order"];
    let mut page = vec![
        format!("Order {}, {}", word(order, "id"), word(order, "client_order_no")),
        format!(
            "{} {} of account {}, paid by {}: {}, version {}",
            word(order, "amount"),
            word(order, "currency"),
            word(order, "account_id"),
            word(&order["payment"], "method"),
            word(order, "status"),
            order["version"],
        ),
        format!("captured {}, refunded {}", word(order, "captured_amount"), word(order, "refunded_amount")),
        String::new(),
    ];
    let mut rows = Vec::new();
    for step in list(&document["history"]) {
        let (at, by) = (time(word(step, "at")), by(&step["by"]));
        let changes = list(&step["changes"]);
        let journal = list(&step["journal"]);
        for index in 0..changes.len().max(journal.len()).max(1) {
            let change = changes.get(index);
            let row = journal.get(index);
            rows.push([
                if index == 0 { at.clone() } else { String::new() },
                change.map_or_else(|| what_else(step, index), |change| word(change, "change").to_owned()),
                change.map(|change| word(change, "status").to_owned()).unwrap_or_default(),
                row.or(change.and_then(|change| change.get("refund")))
                    .map(|row| word(row, "amount").to_owned())
                    .unwrap_or_default(),
                row.map(booked).or(change.and_then(about)).unwrap_or_default(),
                if index == 0 { by.clone() } else { String::new() },
            ]);
        }
    }
    page.extend(lines(
        [
            ("TIME (UTC)", Align::Left),
            ("WHAT", Align::Left),
            ("STATUS", Align::Left),
            ("AMOUNT", Align::Right),
            ("BOOKED", Align::Left),
            ("AT THE WORD OF", Align::Left),
        ],
        &rows,
    ));
    page
}

/// The refund that a version is about which booked nothing.
fn about(change: &Value) -> Option<String> {
    let refund = change.get("refund")?;
    let name = format!("refund {}", word(refund, "reference"));
    Some(match refund["failure"].as_str() {
        Some(failure) => format!("{name}: {failure}"),
        None => name,
    })
}

/// A step that made no version: what a delivery did, if it is one.
fn what_else(step: &Value, index: usize) -> String {
    match step["by"]["verdict"].as_str() {
        Some(verdict) if index == 0 => verdict.to_owned(),
        _ => String::new(),
    }
}

/// An account and its statement, as a bank would print it.
pub fn account(document: &Value) -> Vec<String> {
    let account = &document["account"];
    let mut page = vec![
        format!("Account {}, {}, {}", word(account, "id"), word(account, "owner"), word(account, "currency")),
        format!(
            "available {}, held {}, balance {}: {}, version {}",
            word(account, "available"),
            word(account, "held"),
            word(account, "balance"),
            word(account, "status"),
            account["version"],
        ),
        String::new(),
    ];
    if document["earlier_rows_left_out"] == true {
        page.push("Earlier rows are left out: --limit shows more of them.".to_owned());
        page.push(String::new());
    }
    let rows: Vec<[String; 10]> = list(&document["entries"])
        .iter()
        .map(|row| {
            let amount = |direction: &str| match row["direction"] == direction {
                true => word(row, "amount").to_owned(),
                false => String::new(),
            };
            [
                row["account_version"].to_string(),
                time(word(row, "created_at")),
                word(row, "kind").to_owned(),
                ["reference", "order_id", "hold_id"]
                    .into_iter()
                    .find_map(|name| row[name].as_str())
                    .unwrap_or(NOTHING)
                    .to_owned(),
                word(row, "counter_account").to_owned(),
                amount("debit"),
                amount("credit"),
                word(row, "available_after").to_owned(),
                word(row, "held_after").to_owned(),
                row["idempotency_key"].as_str().unwrap_or(NOTHING).to_owned(),
            ]
        })
        .collect();
    page.extend(lines(
        [
            ("NO", Align::Right),
            ("TIME (UTC)", Align::Left),
            ("WHAT", Align::Left),
            ("REFERENCE", Align::Left),
            ("FROM OR TO", Align::Left),
            ("OUT", Align::Right),
            ("IN", Align::Right),
            ("AVAILABLE", Align::Right),
            ("HELD", Align::Right),
            ("KEY", Align::Left),
        ],
        &rows,
    ));
    page
}

/// A payment: what was received, what providers told, what was booked.
pub fn payment(document: &Value) -> Vec<String> {
    let payment = &document["payment"];
    let mut page = vec![
        format!("Payment {} at {}", word(payment, "payment_no"), word(payment, "provider")),
        format!(
            "{} {} for order {}: {}, due {}, version {}",
            word(payment, "amount"),
            word(payment, "currency"),
            word(payment, "order_id"),
            word(payment, "status"),
            time(word(payment, "expires_at")),
            payment["version"],
        ),
    ];
    let receipts: Vec<[String; 6]> = list(&payment["receipts"])
        .iter()
        .map(|row| {
            [
                time(word(row, "created_at")),
                word(row, "provider_payment_id").to_owned(),
                word(row, "state").to_owned(),
                row["amount"].as_str().or(row["reported"].as_str()).unwrap_or(NOTHING).to_owned(),
                row["currency"].as_str().unwrap_or(NOTHING).to_owned(),
                row["refunded_amount"].as_str().unwrap_or(NOTHING).to_owned(),
            ]
        })
        .collect();
    let columns = [
        ("RECEIVED (UTC)", Align::Left),
        ("PAYMENT ID", Align::Left),
        ("STATE", Align::Left),
        ("AMOUNT", Align::Right),
        ("CURRENCY", Align::Left),
        ("GIVEN BACK", Align::Right),
    ];
    section(&mut page, columns, &receipts);
    let refunds: Vec<[String; 5]> = list(&payment["refunds"])
        .iter()
        .map(|row| {
            [
                time(word(row, "created_at")),
                word(row, "id").to_owned(),
                word(row, "amount").to_owned(),
                word(row, "status").to_owned(),
                row["failure"].as_str().unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    let columns = [
        ("ASKED BACK (UTC)", Align::Left),
        ("REFUND", Align::Left),
        ("AMOUNT", Align::Right),
        ("STATUS", Align::Left),
        ("WHY NOT", Align::Left),
    ];
    section(&mut page, columns, &refunds);
    // The API answers the newest first; a page is read from above.
    let deliveries: Vec<[String; 5]> = list(&payment["deliveries"])
        .iter()
        .rev()
        .map(|row| {
            [
                time(word(row, "received_at")),
                word(row, "endpoint").to_owned(),
                word(row, "event_id").to_owned(),
                word(row, "event_type").to_owned(),
                word(row, "verdict").to_owned(),
            ]
        })
        .collect();
    let columns = [
        ("DELIVERED (UTC)", Align::Left),
        ("ENDPOINT", Align::Left),
        ("EVENT", Align::Left),
        ("TYPE", Align::Left),
        ("VERDICT", Align::Left),
    ];
    section(&mut page, columns, &deliveries);
    let journal: Vec<[String; 3]> = list(&payment["journal"])
        .iter()
        .map(|row| [time(word(row, "created_at")), word(row, "amount").to_owned(), booked(row)])
        .collect();
    let columns = [("BOOKED (UTC)", Align::Left), ("AMOUNT", Align::Right), ("FROM AND TO", Align::Left)];
    section(&mut page, columns, &journal);
    page
}

/// A table with its headings, if it has rows.
fn section<const N: usize>(page: &mut Vec<String>, columns: [(&str, Align); N], rows: &[[String; N]]) {
    if !rows.is_empty() {
        page.push(String::new());
        page.extend(lines(columns, rows));
    }
}

fn booked(row: &Value) -> String {
    format!("{}: {} → {}", word(row, "kind"), word(row, "debit_account"), word(row, "credit_account"))
}

fn by(by: &Value) -> String {
    match by["kind"].as_str() {
        Some("request") => format!("request, key {}", word(by, "idempotency_key")),
        Some("callback") => {
            format!("callback {} {} ({})", word(by, "endpoint"), word(by, "event_id"), word(by, "event_type"))
        }
        Some(other) => other.to_owned(),
        None => NOTHING.to_owned(),
    }
}

/// `2026-01-31 09:30:00.123456`: the heading says that it is UTC.
fn time(rfc_3339: &str) -> String {
    rfc_3339.trim_end_matches('Z').replacen('T', " ", 1)
}

fn word<'v>(of: &'v Value, name: &str) -> &'v str {
    of[name].as_str().unwrap_or(NOTHING)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
