//! Desks without HTTP. Any number may be opened on one database: to each other they are like other processes, for
//! nothing but the database is shared between two desks.

use std::sync::Arc;

use account::{AccountId, Parties};
use anyhow::Context;
use client::ClientId;
use desk::schema::Database;
use desk::{Answered, Clock, Command, Desk, Hooks, Metrics, Request, Settings, SystemClock};
use idempotency::fingerprint::Meaning;
use idempotency::{Key, Name};
use money::{Amount, Currency};
use order::PaymentTerms;
use uuid::Uuid;

/// Opens a desk.
pub fn open(database: &Database, settings: Settings, hooks: Hooks) -> Desk {
    open_at(database, settings, hooks, Arc::new(SystemClock))
}

/// Opens a desk with a clock of the test's.
pub fn open_at(database: &Database, settings: Settings, hooks: Hooks, clock: Arc<dyn Clock>) -> Desk {
    let render = Arc::new(server::render::render);
    Desk::open(database.clone(), settings, clock, render, hooks, Metrics::default())
}

/// An amount of Chinese yuan.
pub fn cny(text: &str) -> Amount {
    Amount::parse(text, currency("CNY")).expect("an amount in a test")
}

/// The currency of that code.
pub fn currency(code: &str) -> Currency {
    Currency::from_code(code).expect("a currency in a test")
}

/// A client that is nobody in particular.
pub fn client() -> ClientId {
    ClientId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_00c1))
}

/// A request of [`client()`].
pub fn request(key: &str, command: Command) -> Request {
    let operation = match command {
        Command::OpenAccount { .. } => "POST /v1/accounts",
        Command::Move { parties: Parties::Deposit { .. }, .. } => "POST /v1/accounts/{id}/deposits",
        Command::Move { parties: Parties::Withdrawal { .. }, .. } => "POST /v1/accounts/{id}/withdrawals",
        Command::Move { parties: Parties::Transfer { .. }, .. } => "POST /v1/transfers",
        Command::CloseAccount { .. } => "POST /v1/accounts/{id}/close",
        Command::PlaceHold { .. } => "POST /v1/accounts/{id}/holds",
        Command::CaptureHold { .. } => "POST /v1/holds/{id}/capture",
        Command::ReleaseHold { .. } => "POST /v1/holds/{id}/release",
        Command::ExpireHold { .. } => "expire hold",
        Command::PlaceOrder { .. } => "POST /v1/orders",
        Command::CaptureOrder { .. } => "POST /v1/orders/{id}/capture",
        Command::CancelOrder { .. } => "POST /v1/orders/{id}/cancel",
        Command::ExpireOrder { .. } => "expire order",
        Command::RefundOrder { .. } => "POST /v1/orders/{id}/refunds",
        Command::SetSku { .. } => "PUT /v1/skus/{sku}",
        Command::Payment(_) => "POST /v1/callbacks/{endpoint}",
        Command::Report(_) => "count event",
        Command::Notify(_) => "notify",
    };
    Request {
        name: name(key),
        fingerprint: Meaning::of(operation).field("command", &format!("{command:?}")).fingerprint(),
        operation,
        command,
        request_id: format!("request-{key}"),
    }
}

/// The name of a key of [`client()`].
pub fn name(key: &str) -> Name {
    Name { client_id: client(), key: Key::from_value(key).expect("a key in a test") }
}

/// An order of this amount, under this key, with the key as its number.
pub fn order(key: &str, account: AccountId, amount: &str) -> Request {
    order_numbered(key, account, amount, key)
}

/// An order of this amount and number, under this key.
pub fn order_numbered(key: &str, account: AccountId, amount: &str, number: &str) -> Request {
    request(
        key,
        Command::PlaceOrder {
            account_id: account,
            client_order_no: number.to_owned(),
            amount: cny(amount),
            items: Vec::new(),
            payment: PaymentTerms::Balance,
        },
    )
}

/// A deposit of this amount, under this key, with the key as its reference.
pub fn deposit(key: &str, account: AccountId, amount: &str) -> Request {
    let parties = Parties::Deposit { to: account };
    request(key, Command::Move { parties, amount: cny(amount), reference: key.to_owned() })
}

/// Opens an account through the desk and puts money on it.
pub async fn account_with(desk: &Desk, amount: &str) -> anyhow::Result<AccountId> {
    let key = Uuid::new_v4().to_string();
    let opening = Command::OpenAccount { owner: "alice".to_owned(), currency: currency("CNY") };
    let opened = desk.submit(request(&key, opening), None).await.answered;
    let body = body(&opened).context("the account is opened")?;
    let account = AccountId(body["id"].as_str().context("an id")?.parse()?);
    if amount != "0" {
        let deposited = desk.submit(deposit(&format!("{key}-money"), account, amount), None).await.answered;
        anyhow::ensure!(status(&deposited) == Some(201), "the deposit was answered {deposited:?}");
    }
    Ok(account)
}

/// The status of what was answered from the books: by running, or by replaying.
pub fn status(answered: &Answered) -> Option<u16> {
    match answered {
        Answered::Ran(answer) | Answered::Replayed(answer) => Some(answer.status),
        _ => None,
    }
}

/// The body of what was answered from the books.
pub fn body(answered: &Answered) -> Option<serde_json::Value> {
    match answered {
        Answered::Ran(answer) | Answered::Replayed(answer) => serde_json::from_slice(&answer.body).ok(),
        _ => None,
    }
}
