//! Holds: `/v1/holds` and below, and `/v1/accounts/{id}/holds`.

pub mod capture;
pub mod get;
pub mod list;
pub mod place;
pub mod release;

use account::store::holds;
use account::{Hold, HoldId, HoldPurpose};
use client::ClientId;
use desk::CaptureTerms;
use idempotency::fingerprint::Meaning;
use money::Currency;
use serde::Serialize;
use utoipa::ToSchema;

use super::accounts::time;
use crate::app::AppState;
use crate::body::words::UnnamedAmount;
use crate::body::{Fault, Fields, RequestBody, words};
use crate::look_up::look_up;
use crate::problem::Problem;

/// Money of an account that is or was frozen. While it is active, `held_amount` of it is frozen: what was not captured.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(HoldBody::example()))]
pub struct HoldBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// The account whose money it is.
    #[schema(format = "uuid")]
    account_id: String,
    /// The account's currency (ISO 4217).
    currency: &'static str,
    /// What was frozen.
    amount: String,
    /// What was taken of it.
    captured_amount: String,
    /// What is still frozen.
    held_amount: String,
    /// Whether it still holds, or how it ended.
    status: &'static str,
    /// The client's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// The order that is to be paid with it, which alone can move it.
    #[schema(format = "uuid")]
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<String>,
    /// From when on it is expired; null, if never.
    #[schema(required, format = "date-time")]
    expires_at: Option<String>,
    /// How many changes it has seen, its placing the first.
    version: i64,
    /// When it was placed.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
}

impl From<&Hold> for HoldBody {
    fn from(hold: &Hold) -> Self {
        let (reference, order_id) = match &hold.purpose {
            HoldPurpose::Client { reference } => (Some(reference.clone()), None),
            HoldPurpose::Order => (None, Some(hold.id.to_string())),
        };
        Self {
            id: hold.id.to_string(),
            account_id: hold.account_id.to_string(),
            currency: hold.amount.currency().code(),
            amount: hold.amount.to_string(),
            captured_amount: hold.captured.to_string(),
            held_amount: hold.left().to_string(),
            status: hold.status.as_str(),
            reference,
            order_id,
            expires_at: hold.expires_at.map(time),
            version: hold.version,
            created_at: time(hold.created_at),
            updated_at: time(hold.updated_at),
        }
    }
}

impl From<Hold> for HoldBody {
    fn from(hold: Hold) -> Self {
        Self::from(&hold)
    }
}

impl HoldBody {
    fn example() -> Self {
        Self {
            id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e65".to_owned(),
            account_id: "01900000-0000-7000-8000-00000000000a".to_owned(),
            currency: "CNY",
            amount: "100.00".to_owned(),
            captured_amount: "0.00".to_owned(),
            held_amount: "100.00".to_owned(),
            status: "active",
            reference: Some("H-1001".to_owned()),
            order_id: None,
            expires_at: Some("2026-02-07T09:30:00.123456Z".to_owned()),
            version: 1,
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
            updated_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}

/// What is to be taken of a hold, or of what is frozen for an order.
#[derive(ToSchema, Debug)]
#[schema(example = json!({ "amount": "40.00", "final": false, "reference": "C-1001" }))]
pub struct CaptureBody {
    /// How much, in plain decimal notation; more than zero. All that is left, if nothing is said.
    #[schema(value_type = Option<String>, nullable = false,
        pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Option<UnnamedAmount>,
    /// Whether it is the last capture: then the rest is given back. One that takes all that is left always is.
    #[schema(value_type = Option<bool>, nullable = false, default = true)]
    r#final: bool,
    /// The client's own name for the capture, unique among those of the hold for ever. Needed where `final` is false.
    #[schema(min_length = 1, max_length = 64, nullable = false)]
    reference: Option<String>,
}

impl RequestBody for CaptureBody {
    const OPTIONAL: bool = true;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let amount = fields.optional("amount", words::unnamed_amount);
        let last = fields.optional("final", words::flag);
        let reference = fields.optional("reference", words::printable);
        if (last, &reference) == (Some(Some(false)), &Some(None)) {
            fields.fault("reference", "is missing; a capture that is not final needs one");
            return None;
        }
        Some(Self { amount: amount?, r#final: last?.unwrap_or(true), reference: reference? })
    }
}

impl CaptureBody {
    /// Says all that the body says.
    pub fn describe(&self, meaning: Meaning) -> Meaning {
        let amount = self.amount.map(|amount| amount.to_string());
        meaning
            .maybe("amount", amount.as_deref())
            .field("final", if self.r#final { "true" } else { "false" })
            .maybe("reference", self.reference.as_deref())
    }

    /// The terms, in the currency of what is captured. Of what is not there, nobody need know how much was to be taken.
    ///
    /// # Errors
    ///
    /// `validation-failed` for an amount that is finer than the currency.
    pub fn terms(self, currency: Option<Currency>) -> Result<CaptureTerms, Problem> {
        let amount = self.amount.zip(currency).map(|(amount, currency)| in_currency(amount, currency));
        Ok(CaptureTerms { amount: amount.transpose()?, last: self.r#final, reference: self.reference })
    }
}

/// An amount of a body that does not name its currency.
///
/// # Errors
///
/// `validation-failed` for one that is finer than the currency.
pub fn in_currency(amount: UnnamedAmount, currency: Currency) -> Result<money::Amount, Problem> {
    amount
        .in_currency(currency)
        .map_err(|fault| Problem::validation_failed(vec![Fault::new("/amount", fault)]))
}

/// The hold as it is, for what never changes of it: its account and its currency.
async fn find(state: &AppState, client: ClientId, id: HoldId) -> Result<Option<Hold>, Problem> {
    let pool = state.database.pool();
    look_up(pool, || holds::find(pool, client, id)).await
}
