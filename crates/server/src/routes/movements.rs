//! Movements: deposits, withdrawals and transfers, each at `/v1/movements/{id}`.

pub mod get;

use account::{Movement, Parties};
use serde::Serialize;
use utoipa::ToSchema;

use super::accounts::time;

/// A movement of money. A deposit or a withdrawal names its account; a transfer names both.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(MovementBody::example()))]
pub struct MovementBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// `deposit`, `withdrawal` or `transfer`.
    kind: &'static str,
    /// The account of a deposit or a withdrawal.
    #[schema(format = "uuid")]
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<String>,
    /// The account that pays a transfer.
    #[schema(format = "uuid")]
    #[serde(skip_serializing_if = "Option::is_none")]
    from_account_id: Option<String>,
    /// The account that receives a transfer.
    #[schema(format = "uuid")]
    #[serde(skip_serializing_if = "Option::is_none")]
    to_account_id: Option<String>,
    /// How much moved.
    amount: String,
    /// Its currency (ISO 4217).
    currency: &'static str,
    /// The client's own name for it.
    reference: String,
    /// When it was decided.
    #[schema(format = "date-time")]
    created_at: String,
}

impl From<&Movement> for MovementBody {
    fn from(movement: &Movement) -> Self {
        let (account, from, to) = match movement.parties {
            Parties::Deposit { to: account } | Parties::Withdrawal { from: account } => {
                (Some(account), None, None)
            }
            Parties::Transfer { from, to } => (None, Some(from), Some(to)),
        };
        Self {
            id: movement.id.to_string(),
            kind: movement.parties.kind().as_str(),
            account_id: account.map(|id| id.to_string()),
            from_account_id: from.map(|id| id.to_string()),
            to_account_id: to.map(|id| id.to_string()),
            amount: movement.amount.to_string(),
            currency: movement.amount.currency().code(),
            reference: movement.reference.clone(),
            created_at: time(movement.created_at),
        }
    }
}

impl MovementBody {
    fn example() -> Self {
        Self {
            id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e63".to_owned(),
            kind: "deposit",
            account_id: Some("01900000-0000-7000-8000-00000000000a".to_owned()),
            from_account_id: None,
            to_account_id: None,
            amount: "100.00".to_owned(),
            currency: "CNY",
            reference: "D-1001".to_owned(),
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}
