//! Orders: `/v1/orders` and below.

pub mod cancel;
pub mod capture;
pub mod get;
pub mod history;
pub mod list;
pub mod place;

use std::collections::HashMap;

use client::ClientId;
use idempotency::fingerprint::Meaning;
use inventory::{SkuCode, TOTAL_MAX};
use order::{ItemWanted, Order, OrderId};
use payment_callback::Payment;
use payment_callback::store::payments;
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::accounts::time;
use crate::app::AppState;
use crate::body::{Fields, words};
use crate::look_up::look_up;
use crate::problem::Problem;

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
    /// What was ordered, item by item; empty, if the client did not say.
    items: Vec<PricedItemBody>,
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

/// So many pieces of a sku.
#[derive(Serialize, ToSchema, Debug)]
pub struct OrderItemBody {
    /// Of what: the sku's name.
    #[schema(min_length = 1, max_length = 64)]
    sku: String,
    /// How many of it.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_u64)]
    quantity: u64,
}

impl OrderItemBody {
    /// So many pieces of a sku.
    pub fn new(sku: &SkuCode, quantity: u64) -> Self {
        Self { sku: sku.0.clone(), quantity }
    }

    /// So many pieces of tea.
    pub fn example(quantity: u64) -> Self {
        Self { sku: "TEA-1".to_owned(), quantity }
    }
}

/// An item of an order that was placed.
#[derive(Serialize, ToSchema, Debug)]
pub struct PricedItemBody {
    /// Of what: the sku's name.
    sku: String,
    /// How many of it.
    #[schema(minimum = 1)]
    quantity: u64,
    /// What a piece cost when the order was placed, in the order's currency.
    price: String,
    /// How many of it refunds have given back to the stock.
    #[schema(minimum = 0)]
    returned: u64,
}

/// How many items an order or a refund may have.
const ITEMS_MAX: usize = 100;

/// Takes the field `items`: no sku twice.
pub fn items(fields: &mut Fields<'_>) -> Option<Vec<ItemWanted>> {
    let items = fields.objects("items", ITEMS_MAX, |item| {
        let sku = item.required("sku", words::printable);
        let quantity = item.required("quantity", |json| words::whole_number(json, 1..=TOTAL_MAX));
        Some(ItemWanted { sku: SkuCode(sku?), quantity: quantity? })
    })?;
    let repeated = items
        .iter()
        .enumerate()
        .find(|(index, item)| items[..*index].iter().any(|earlier| earlier.sku == item.sku));
    if let Some((_, item)) = repeated {
        let detail = format!("names {} twice; give the sum as its quantity", item.sku);
        fields.fault("items", detail);
        return None;
    }
    Some(items)
}

/// Says what the items are. None at all and no list mean the same.
pub fn with_items(meaning: Meaning, items: &[ItemWanted]) -> Meaning {
    if items.is_empty() {
        return meaning;
    }
    meaning.list("items", items, |fields, item| {
        fields.field("sku", &item.sku.0).field("quantity", &item.quantity.to_string())
    })
}

/// The order as it is, for what never changes of it: its account and its currency.
pub async fn find(state: &AppState, client: ClientId, id: OrderId) -> Result<Option<Order>, Problem> {
    let pool = state.database.pool();
    look_up(pool, || order::store::find(pool, client, id)).await
}

/// How an order is paid.
#[derive(Serialize, ToSchema, Debug)]
pub struct PaymentBody {
    /// `balance`: from what the account has available, at once. `hold`: from what is frozen on it, by a capture.
    /// `provider`: by a payment at a provider.
    method: &'static str,
    /// The number that the provider knows the payment by.
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
    /// From when on it is too late to pay or capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "date-time")]
    expires_at: Option<String>,
}

impl PaymentBody {
    fn of(order: &Order, payment: Option<&Payment>) -> Self {
        let request = payment.and_then(|payment| payment.request);
        Self {
            method: order.payment_method.as_str(),
            payment_no: payment.map(|payment| payment.payment_no.clone()),
            provider: request.map(|request| request.provider.word()),
            amount: request.map(|request| request.amount.to_string()),
            status: payment.map(|payment| payment.status.as_str()),
            expires_at: order.expires_at.map(time),
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
            items: order
                .items
                .iter()
                .map(|item| PricedItemBody {
                    sku: item.sku.0.clone(),
                    quantity: item.quantity,
                    price: item.price.to_string(),
                    returned: item.given_back,
                })
                .collect(),
            payment: PaymentBody::of(order, payment),
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
            items: vec![PricedItemBody {
                sku: "TEA-1".to_owned(),
                quantity: 2,
                price: "64.00".to_owned(),
                returned: 0,
            }],
            payment: PaymentBody {
                method: "balance",
                payment_no: None,
                provider: None,
                amount: None,
                status: None,
                expires_at: None,
            },
            version: 1,
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
            updated_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}
