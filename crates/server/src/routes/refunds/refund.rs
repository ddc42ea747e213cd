//! `POST /v1/orders/{id}/refunds`

use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use order::{ItemWanted, OrderId};
use utoipa::ToSchema;

use super::RefundBody;
use crate::app::AppState;
use crate::body::words::UnnamedAmount;
use crate::body::{Fields, RequestBody, words};
use crate::problem::Problem;
use crate::routes::holds::in_currency;
use crate::routes::orders::{OrderItemBody, find, items, with_items};
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/orders/{id}/refunds";

/// Money to be given back.
#[derive(ToSchema, Debug)]
#[schema(example = json!({
    "amount": "64.00", "reference": "R-1001", "items": [{ "sku": "TEA-1", "quantity": 1 }]
}))]
pub struct RefundOrderBody {
    /// How much, in plain decimal notation; more than zero, and with what was given back before no more than was paid.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: UnnamedAmount,
    /// The client's own name for the refund, unique among its refunds for ever.
    #[schema(min_length = 1, max_length = 64)]
    reference: String,
    /// The items that are back in stock; none, if nothing is said.
    #[schema(value_type = Option<Vec<OrderItemBody>>, nullable = false, max_items = 100)]
    items: Vec<ItemWanted>,
}

impl RequestBody for RefundOrderBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let amount = fields.required("amount", words::unnamed_amount);
        let reference = fields.required("reference", words::printable);
        let items = items(fields);
        Some(Self { amount: amount?, reference: reference?, items: items? })
    }
}

/// Give money of an order back
///
/// To the account that paid it, at once; or by the provider that it was paid at, which is asked for it: then the refund is
/// `pending`, and the order's figures move when the provider says that the money is back. The sum of an order's refunds,
/// those on their way with it, never passes what was paid.
#[utoipa::path(
    post, path = "/v1/orders/{id}/refunds", tag = "orders",
    request_body = RefundOrderBody,
    responses((status = 201, description = "The money is back, or the provider is asked for it.", body = RefundBody,
        headers(("Location" = String, description = "The refund's path."))))
)]
pub async fn refund_order(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let submission = Submission::<OrderId, RefundOrderBody>::read(&state, request).await?;
    let Submission { path: order_id, body, asker } = submission;
    let RefundOrderBody { amount, reference, items } = body;
    let meaning = Meaning::of(OPERATION)
        .path("id", &order_id.to_string())
        .field("amount", &amount.to_string())
        .field("reference", &reference);
    let meaning = with_items(meaning, &items);
    let (books, client_id) = (state.clone(), asker.client_id());
    let command = async move {
        let order = find(&books, client_id, order_id).await?;
        let in_its_currency = order.as_ref().map(|order| in_currency(amount, order.amount.currency()));
        Ok(Command::RefundOrder {
            order_id,
            account_id: order.as_ref().map(|order| order.account_id),
            amount: in_its_currency.transpose()?,
            reference,
            askable: books.endpoints.askable_of(client_id).collect(),
            items,
        })
    };
    asker.submit_looked_up(&state, OPERATION, meaning, command).await
}
