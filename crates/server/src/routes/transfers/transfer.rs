//! `POST /v1/transfers`

use account::{AccountId, Parties};
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use money::{Amount, Currency};
use utoipa::ToSchema;

use crate::app::AppState;
use crate::body::{Fields, RequestBody, words};
use crate::path::Nothing;
use crate::problem::Problem;
use crate::routes::movements::MovementBody;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/transfers";

/// Money that goes from one account of the client to another of the same currency.
#[derive(ToSchema, Debug)]
#[schema(example = json!({
    "from_account_id": "01900000-0000-7000-8000-00000000000a",
    "to_account_id": "01900000-0000-7000-8000-00000000000b",
    "amount": "25.00", "currency": "CNY", "reference": "T-1001"
}))]
pub struct TransferBody {
    /// The account that pays.
    #[schema(value_type = String, format = "uuid")]
    from_account_id: AccountId,
    /// The account that receives: another one.
    #[schema(value_type = String, format = "uuid")]
    to_account_id: AccountId,
    /// How much, in plain decimal notation; more than zero.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Amount,
    /// The currency of both accounts (ISO 4217).
    #[schema(value_type = String, pattern = "^[A-Z]{3}$")]
    currency: Currency,
    /// The client's own name for the transfer, unique among its transfers for ever.
    #[schema(min_length = 1, max_length = 64)]
    reference: String,
}

impl RequestBody for TransferBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let from = fields.required("from_account_id", words::id);
        let to = fields.required("to_account_id", words::id);
        if from.is_some() && from == to {
            fields.fault("to_account_id", "must be another account than from_account_id");
        }
        let amount = words::money(fields);
        let reference = fields.required("reference", words::printable);
        Some(Self {
            from_account_id: AccountId(from?),
            to_account_id: AccountId(to?),
            amount: amount?,
            currency: amount?.currency(),
            reference: reference?,
        })
    }
}

/// Move money between two accounts
#[utoipa::path(
    post, path = "/v1/transfers", tag = "movements",
    request_body = TransferBody,
    responses((status = 201, description = "The money has moved.", body = MovementBody,
        headers(("Location" = String, description = "The movement's path."))))
)]
pub async fn transfer(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Submission { path: Nothing, body, asker } = Submission::read(&state, request).await?;
    let TransferBody { from_account_id: from, to_account_id: to, amount, currency, reference } = body;
    let meaning = Meaning::of(OPERATION)
        .field("from_account_id", &from.to_string())
        .field("to_account_id", &to.to_string())
        .field("amount", &amount.to_string())
        .field("currency", currency.code())
        .field("reference", &reference);
    let command = Command::Move { parties: Parties::Transfer { from, to }, amount, reference };
    asker.submit(&state, OPERATION, meaning, command).await
}

#[cfg(test)]
mod tests {
    use crate::body::parse;

    use super::*;

    fn body(from: &str, to: &str) -> String {
        format!(
            r#"{{"from_account_id": "{from}", "to_account_id": "{to}", "amount": "1", "currency": "CNY", "reference": "T"}}"#
        )
    }

    #[test]
    fn a_transfer_needs_two_accounts() {
        let (alice, bob) = ("01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b");
        assert!(parse::<TransferBody>(body(alice, bob).as_bytes()).is_ok());
        let problem = parse::<TransferBody>(body(alice, alice).as_bytes()).unwrap_err();
        assert_eq!(problem.errors[0].pointer, "/to_account_id");
    }
}
