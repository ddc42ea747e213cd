//! Refunds: `/v1/refunds/{id}` and `/v1/orders/{id}/refunds`.

pub mod get;
pub mod list;
pub mod refund;

use client::ClientId;
use order::{Refund, RefundStatus};
use payment_callback::AskedRefund;
use payment_callback::store::asked_refunds;
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::accounts::time;
use super::orders::OrderItemBody;

/// Money of an order that was given back, or that its provider is asked to give back.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(RefundBody::example()))]
pub struct RefundBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// The order whose money it was.
    #[schema(format = "uuid")]
    order_id: String,
    /// The order's account, to which it went back unless a provider is asked for it.
    #[schema(format = "uuid")]
    account_id: String,
    /// The client's own name for it.
    reference: String,
    /// How much.
    amount: String,
    /// The order's currency (ISO 4217).
    currency: &'static str,
    /// The items that come back to stock with it: where a provider is asked for it, once it has succeeded.
    items: Vec<OrderItemBody>,
    /// `pending`: on its way; `unknown`: the provider was asked and has not answered, and is asked again under the same
    /// number; `succeeded`; `failed`: it is not given back, and another may be asked for.
    status: &'static str,
    /// Why it failed.
    #[schema(required)]
    failure: Option<String>,
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
            failure: None,
            created_at: time(refund.created_at),
            updated_at: time(refund.updated_at),
        }
    }
}

impl From<(Refund, Option<AskedRefund>)> for RefundBody {
    fn from((refund, asked): (Refund, Option<AskedRefund>)) -> Self {
        match asked {
            None => Self::from(&refund),
            Some(asked) => Self {
                status: asked.status.as_str(),
                failure: asked.failure,
                updated_at: time(asked.updated_at),
                ..Self::from(&refund)
            },
        }
    }
}

/// A client's refunds, with what their providers were asked for.
pub async fn with_asked(
    pool: &PgPool,
    client: ClientId,
    refunds: Vec<Refund>,
) -> sqlx::Result<Vec<(Refund, Option<AskedRefund>)>> {
    let pending = refunds.iter().filter(|refund| refund.status == RefundStatus::Pending);
    let ids: Vec<_> = pending.map(|refund| refund.id.0).collect();
    let asked = match ids.is_empty() {
        true => Vec::new(),
        false => asked_refunds::found(pool, client, &ids).await?,
    };
    let of = |refund: &Refund| asked.iter().find(|asked| asked.id == refund.id).cloned();
    Ok(refunds
        .into_iter()
        .map(|refund| (of(&refund), refund))
        .map(|(asked, refund)| (refund, asked))
        .collect())
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
            failure: None,
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
            updated_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}
