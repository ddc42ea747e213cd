//! Payment alerts: `/v1/payment-alerts` and below.

pub mod get;
pub mod list;
pub mod resolve;

use money::Amount;
use payment_callback::Alert;
use serde::Serialize;
use utoipa::ToSchema;

use super::accounts::time;

/// Something about a payment that a person has to decide.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(AlertBody::example()))]
pub struct AlertBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// What it is about.
    kind: &'static str,
    /// `open`, or `resolved`.
    status: &'static str,
    /// The number of the payment.
    #[schema(required)]
    payment_no: Option<String>,
    /// The provider.
    provider: &'static str,
    /// The money's identity at the provider.
    #[schema(required)]
    provider_payment_id: Option<String>,
    /// What was asked for; of an alert about a statement, what the books have.
    #[schema(required)]
    expected: Option<MoneyBody>,
    /// What the provider told of; of an alert about a statement, what that has.
    #[schema(required)]
    received: Option<MoneyBody>,
    /// More about it, for people to read.
    #[schema(required)]
    detail: Option<String>,
    /// What ended it: `superseded` is what came later from the provider.
    #[schema(required)]
    action: Option<String>,
    /// Who ended it: `client, key ID`, for whoever holds the client's API key of that id (`onefold client keys` lists
    /// them), or `client`, before ids were noted; `service`, for a later callback.
    #[schema(required)]
    resolved_by: Option<String>,
    /// When.
    #[schema(required, format = "date-time")]
    resolved_at: Option<String>,
    /// Why.
    #[schema(required)]
    note: Option<String>,
    /// When it was raised.
    #[schema(format = "date-time")]
    created_at: String,
}

/// An amount and its currency.
#[derive(Serialize, ToSchema, Debug)]
pub struct MoneyBody {
    /// How much.
    amount: String,
    /// In which currency (ISO 4217).
    currency: &'static str,
}

impl From<Amount> for MoneyBody {
    fn from(amount: Amount) -> Self {
        Self { amount: amount.to_string(), currency: amount.currency().code() }
    }
}

impl From<&Alert> for AlertBody {
    fn from(alert: &Alert) -> Self {
        let resolution = alert.resolution.as_ref();
        Self {
            id: alert.id.to_string(),
            kind: alert.kind.as_str(),
            status: alert.status(),
            payment_no: alert.payment_no.clone(),
            provider: alert.provider.word(),
            provider_payment_id: alert.provider_payment_id.clone(),
            expected: alert.expected.map(MoneyBody::from),
            received: alert.received.map(MoneyBody::from),
            detail: alert.detail.clone(),
            action: resolution.map(|resolution| resolution.action.as_str().to_owned()),
            resolved_by: resolution.map(|resolution| resolution.by.clone()),
            resolved_at: resolution.map(|resolution| time(resolution.at)),
            note: resolution.map(|resolution| resolution.note.clone()),
            created_at: time(alert.created_at),
        }
    }
}

impl From<Alert> for AlertBody {
    fn from(alert: Alert) -> Self {
        Self::from(&alert)
    }
}

impl AlertBody {
    fn example() -> Self {
        Self {
            id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e63".to_owned(),
            kind: "mismatched",
            status: "open",
            payment_no: Some("P-1001".to_owned()),
            provider: "stripe",
            provider_payment_id: Some("pi_1".to_owned()),
            expected: Some(MoneyBody { amount: "88.80".to_owned(), currency: "USD" }),
            received: Some(MoneyBody { amount: "80.00".to_owned(), currency: "USD" }),
            detail: None,
            action: None,
            resolved_by: None,
            resolved_at: None,
            note: None,
            created_at: "2026-01-31T09:31:00.123456Z".to_owned(),
        }
    }
}
