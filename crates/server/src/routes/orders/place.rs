//! `POST /v1/orders`

use account::AccountId;
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use money::{Amount, Currency};
use order::PaymentMethod;
use utoipa::ToSchema;

use super::{OrderBody, OrderItemBody};
use crate::app::AppState;
use crate::body::{Fields, Json, RequestBody, words};
use crate::path::Nothing;
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/orders";

/// An order to be placed.
#[derive(ToSchema, Debug)]
#[schema(example = json!({
    "account_id": "01900000-0000-7000-8000-00000000000a", "client_order_no": "A-1001",
    "currency": "CNY", "amount": "128.00", "payment": { "method": "balance" }
}))]
pub struct PlaceOrderBody {
    /// The account that it is for.
    #[schema(value_type = String, format = "uuid")]
    account_id: AccountId,
    /// The client's own name for it, unique among its orders for ever.
    #[schema(min_length = 1, max_length = 64)]
    client_order_no: String,
    /// The account's currency (ISO 4217).
    #[schema(value_type = String, pattern = "^[A-Z]{3}$")]
    currency: Currency,
    /// How much, in plain decimal notation; more than zero.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Amount,
    /// What is ordered, item by item. In this version empty or left out.
    #[schema(value_type = Option<Vec<OrderItemBody>>, max_items = 0, nullable = false)]
    items: NoItems,
    /// How it is paid.
    #[schema(value_type = PlacePaymentBody)]
    payment: PaymentMethod,
}

/// How an order to be placed is paid.
#[derive(ToSchema, Debug)]
#[expect(dead_code, reason = "it is read as a payment method; the fields are there for the schema")]
pub struct PlacePaymentBody {
    /// `balance`: from what the account has available, at once.
    method: String,
}

/// The items of an order, of which there are none yet. An empty list means the same as no list.
#[derive(Clone, Copy, Debug)]
struct NoItems;

impl RequestBody for PlaceOrderBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let account_id = fields.required("account_id", words::id);
        let client_order_no = fields.required("client_order_no", words::printable);
        let amount = words::money(fields);
        let items = fields.optional("items", no_items);
        let payment = fields.object("payment", payment_method);
        Some(Self {
            account_id: AccountId(account_id?),
            client_order_no: client_order_no?,
            currency: amount?.currency(),
            amount: amount?,
            items: items?.unwrap_or(NoItems),
            payment: payment?,
        })
    }
}

fn no_items(json: &Json) -> Result<NoItems, String> {
    match json {
        Json::List(items) if items.is_empty() => Ok(NoItems),
        Json::List(_) => Err("must be empty or left out: items are not available in this version".to_owned()),
        other => Err(format!("must be an array, not {}", other.kind())),
    }
}

fn payment_method(fields: &mut Fields<'_>) -> Option<PaymentMethod> {
    let method = fields.required("method", |json| match words::text(json)? {
        method @ ("hold" | "provider") => {
            Err(format!("the method {method} is not available in this version"))
        }
        method => PaymentMethod::from_word(method).ok_or_else(|| "is not a method; use balance".to_owned()),
    });
    // What belongs to a method that is not there yet is told as that, and not as a stranger.
    for name in ["provider", "payment_no"] {
        fields.optional(name, |_| Err::<(), _>("is not available in this version".to_owned()));
    }
    method
}

/// Place an order
///
/// Paid from the balance, the amount is taken from what the account has available, at once.
#[utoipa::path(
    post, path = "/v1/orders", tag = "orders",
    request_body = PlaceOrderBody,
    responses((status = 201, description = "The order is placed and paid.", body = OrderBody,
        headers(("Location" = String, description = "The order's path."))))
)]
pub async fn place_order(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Submission { path: Nothing, body, asker } = Submission::read(&state, request).await?;
    let PlaceOrderBody { account_id, client_order_no, currency, amount, items: NoItems, payment } = body;
    let meaning = Meaning::of(OPERATION)
        .field("account_id", &account_id.to_string())
        .field("client_order_no", &client_order_no)
        .field("currency", currency.code())
        .field("amount", &amount.to_string())
        .group("payment", |fields| fields.field("method", payment.as_str()));
    let command = Command::PlaceOrder { account_id, client_order_no, amount, payment_method: payment };
    asker.submit(&state, OPERATION, meaning, command).await
}

#[cfg(test)]
mod tests {
    use crate::body::parse;

    use super::*;

    fn with(rest: &str) -> String {
        format!(
            r#"{{"account_id": "01900000-0000-7000-8000-00000000000a", "client_order_no": "A", "currency": "CNY", "amount": "1"{rest}}}"#
        )
    }

    fn pointers(body: &str) -> Vec<String> {
        let problem = parse::<PlaceOrderBody>(body.as_bytes()).unwrap_err();
        problem.errors.into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn no_items_and_an_empty_list_are_the_same() {
        for body in [
            with(r#", "payment": {"method": "balance"}"#),
            with(r#", "items": [], "payment": {"method": "balance"}"#),
        ] {
            assert!(parse::<PlaceOrderBody>(body.as_bytes()).is_ok(), "{body}");
        }
    }

    #[test]
    fn what_is_not_available_is_refused_by_name() {
        assert_eq!(pointers(&with("")), ["/payment"]);
        assert_eq!(pointers(&with(r#", "payment": {}"#)), ["/payment/method"]);
        for method in ["hold", "provider", "cash", "BALANCE"] {
            assert_eq!(
                pointers(&with(&format!(r#", "payment": {{"method": "{method}"}}"#))),
                ["/payment/method"]
            );
        }
        assert_eq!(
            pointers(&with(
                r#", "items": [{"sku": "TEA-1", "quantity": 2}], "payment": {"method": "provider", "provider": "stripe"}"#
            )),
            ["/items", "/payment/method", "/payment/provider"]
        );
    }
}
