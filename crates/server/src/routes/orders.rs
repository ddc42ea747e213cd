//! Orders: `/v1/orders` and below.

pub mod get;
pub mod history;
pub mod list;
pub mod place;

use std::collections::HashMap;

use order::{Order, OrderId, PaymentMethod};
use payment_callback::Payment;
use payment_callback::store::payments;
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::accounts::time;

/// An order. `refunded_amount` ≤ `captured_amount` ≤ `amount`; of an order paid at a provider more may have been captured
/// than its amount, if somebody has accepted that.
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
    /// `balance`: from what the account has available, at once. `provider`: by a payment at a provider.
    method: &'static str,
    /// The number that the provider knows the payment by. This and what follows: of a payment at a provider only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payment_no: Option<String>,
    /// The provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    provider: Option<&'static str>,
    /// What is to be paid there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    amount: Option<String>,
    /// Where the payment is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<&'static str>,
    /// From when on it is too late to pay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "date-time")]
    expires_at: Option<String>,
}

impl PaymentBody {
    fn of(method: PaymentMethod, payment: Option<&Payment>) -> Self {
        let request = payment.and_then(|payment| payment.request);
        Self {
            method: method.as_str(),
            payment_no: payment.map(|payment| payment.payment_no.clone()),
            provider: request.map(|request| request.provider.word()),
            amount: request.map(|request| request.amount.to_string()),
            status: payment.map(|payment| payment.status.as_str()),
            expires_at: request.map(|request| time(request.expires_at)),
        }
    }
}

/// The orders of a client with their payments at providers, as they are read.
///
/// # Errors
///
/// Those of the database.
pub async fn with_payments(pool: &PgPool, orders: Vec<Order>) -> sqlx::Result<Vec<(Order, Option<Payment>)>> {
    let numbers: Vec<String> = orders.iter().filter_map(|order| order.payment_no.clone()).collect();
    let found = match orders.first() {
        Some(order) if !numbers.is_empty() => payments::numbered(pool, order.client_id, &numbers).await?,
        _ => Vec::new(),
    };
    let mut by_order: HashMap<OrderId, Payment> =
        found.into_iter().filter_map(|payment| Some((payment.request?.order_id, payment))).collect();
    Ok(orders
        .into_iter()
        .map(|order| {
            let payment = by_order.remove(&order.id);
            (order, payment)
        })
        .collect())
}

impl From<(Order, Option<Payment>)> for OrderBody {
    fn from((order, payment): (Order, Option<Payment>)) -> Self {
        Self::of(&order, payment.as_ref())
    }
}

impl OrderBody {
    /// The body of an order, and of its payment if a provider's payment pays it.
    pub fn of(order: &Order, payment: Option<&Payment>) -> Self {
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
            payment: PaymentBody::of(order.payment_method, payment),
            version: order.version,
            created_at: time(order.created_at),
            updated_at: time(order.updated_at),
        }
    }

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
            payment: PaymentBody::of(PaymentMethod::Balance, None),
            version: 1,
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
            updated_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}
