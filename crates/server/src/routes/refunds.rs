//! Refunds: `/v1/refunds/{id}` and `/v1/orders/{id}/refunds`.

pub mod get;
pub mod list;
pub mod refund;

use order::Refund;
use serde::Serialize;
use utoipa::ToSchema;

use super::accounts::time;
use super::orders::OrderItemBody;

/// Money of an order that was given back.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(RefundBody::example()))]
pub struct RefundBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// The order whose money it was.
    #[schema(format = "uuid")]
    order_id: String,
    /// The account that it went back to.
    #[schema(format = "uuid")]
    account_id: String,
    /// The client's own name for it.
    reference: String,
    /// How much.
    amount: String,
    /// The order's currency (ISO 4217).
    currency: &'static str,
    /// The items that are back in stock with it.
    items: Vec<OrderItemBody>,
    /// Where it is in its life.
    status: &'static str,
    /// When it was made.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
}

impl From<&Refund> for RefundBody {
    fn from(refund: &Refund) -> Self {
        Self {
            id: refund.id.to_string(),
            order_id: refund.order_id.to_string(),
            account_id: refund.account_id.to_string(),
            reference: refund.reference.clone(),
            amount: refund.amount.to_string(),
            currency: refund.amount.currency().code(),
            items: refund.items.iter().map(|item| OrderItemBody::new(&item.sku, item.quantity)).collect(),
            status: refund.status.as_str(),
            created_at: time(refund.created_at),
            updated_at: time(refund.updated_at),
        }
    }
}

impl From<Refund> for RefundBody {
    fn from(refund: Refund) -> Self {
        Self::from(&refund)
    }
}

impl RefundBody {
    fn example() -> Self {
        Self {
            id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e66".to_owned(),
            order_id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e61".to_owned(),
            account_id: "01900000-0000-7000-8000-00000000000a".to_owned(),
            reference: "R-1001".to_owned(),
            amount: "64.00".to_owned(),
            currency: "CNY",
            items: vec![OrderItemBody::example(1)],
            status: "succeeded",
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
            updated_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}
