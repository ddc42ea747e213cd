//! Accounts: `/v1/accounts` and below.

pub mod close;
pub mod deposit;
pub mod entries;
pub mod get;
pub mod list;
pub mod open;
pub mod withdraw;

use account::Account;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use utoipa::ToSchema;

/// An account, which holds money of one currency for one owner. `available` + `held` = `balance`; none is ever negative.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(AccountBody::example()))]
pub struct AccountBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// The client's own name for the holder.
    owner: String,
    /// The currency it holds (ISO 4217).
    currency: &'static str,
    /// What can be spent.
    available: String,
    /// What is frozen.
    held: String,
    /// What it has in all.
    balance: String,
    /// How many changes it has seen: every row of its statement is one, and so is closing it.
    #[schema(minimum = 0)]
    version: i64,
    /// Whether money may still come and go.
    status: &'static str,
    /// When it was opened.
    #[schema(format = "date-time")]
    created_at: String,
}

impl From<&Account> for AccountBody {
    fn from(account: &Account) -> Self {
        Self {
            id: account.id.to_string(),
            owner: account.owner.clone(),
            currency: account.currency.code(),
            available: account.available.to_string(),
            held: account.held.to_string(),
            balance: account.balance().to_string(),
            version: account.version,
            status: account.status.as_str(),
            created_at: time(account.created_at),
        }
    }
}

impl From<Account> for AccountBody {
    fn from(account: Account) -> Self {
        Self::from(&account)
    }
}

impl AccountBody {
    fn example() -> Self {
        Self {
            id: "01900000-0000-7000-8000-00000000000a".to_owned(),
            owner: "alice".to_owned(),
            currency: "CNY",
            available: "10000.00".to_owned(),
            held: "0.00".to_owned(),
            balance: "10000.00".to_owned(),
            version: 1,
            status: "open",
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}

/// A time as the API writes it: RFC 3339, in UTC, with the microseconds that the database keeps. Always of one length, so
/// that the answer to a `POST` and a later `GET` agree in every byte.
pub fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}
