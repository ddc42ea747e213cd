//! Orders: `/v1/orders` and below.

pub mod get;
pub mod list;
pub mod place;

use order::Order;
use serde::Serialize;
use utoipa::ToSchema;

use super::accounts::time;

/// An order. `refunded_amount` ≤ `captured_amount` ≤ `amount`.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(OrderBody::example()))]
pub struct OrderBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// The client's own name for it.
    client_order_no: String,
    /// The account that it is for.
    #[schema(format = "uuid")]
    account_id: String,
    /// Its currency, which is the account's (ISO 4217).
    currency: &'static str,
    /// What was ordered.
    amount: String,
    /// What has been taken.
    captured_amount: String,
    /// What has been given back.
    refunded_amount: String,
    /// Where it is in its life.
    status: &'static str,
    /// What was ordered, item by item. Always empty in this version.
    items: [OrderItemBody; 0],
    /// How it is paid.
    payment: PaymentBody,
    /// How many changes it has seen, its placing the first.
    version: i64,
    /// When it was placed.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
}

/// An item of an order.
#[derive(Serialize, ToSchema, Debug)]
pub struct OrderItemBody {
    /// What is ordered.
    sku: String,
    /// How many of it.
    quantity: u32,
}

/// How an order is paid.
#[derive(Serialize, ToSchema, Debug)]
pub struct PaymentBody {
    /// `balance`: from what the account has available, at once.
    method: &'static str,
}

impl From<&Order> for OrderBody {
    fn from(order: &Order) -> Self {
        Self {
            id: order.id.to_string(),
            client_order_no: order.client_order_no.clone(),
            account_id: order.account_id.to_string(),
            currency: order.amount.currency().code(),
            amount: order.amount.to_string(),
            captured_amount: order.captured_amount.to_string(),
            refunded_amount: order.refunded_amount.to_string(),
            status: order.status.as_str(),
            items: [],
            payment: PaymentBody { method: order.payment_method.as_str() },
            version: order.version,
            created_at: time(order.created_at),
            updated_at: time(order.updated_at),
        }
    }
}

impl From<Order> for OrderBody {
    fn from(order: Order) -> Self {
        Self::from(&order)
    }
}

impl OrderBody {
    fn example() -> Self {
        Self {
            id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e61".to_owned(),
            client_order_no: "A-1001".to_owned(),
            account_id: "01900000-0000-7000-8000-00000000000a".to_owned(),
            currency: "CNY",
            amount: "128.00".to_owned(),
            captured_amount: "128.00".to_owned(),
            refunded_amount: "0.00".to_owned(),
            status: "paid",
            items: [],
            payment: PaymentBody { method: "balance" },
            version: 1,
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
            updated_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}
