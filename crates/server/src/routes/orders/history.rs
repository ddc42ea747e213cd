//! `GET /v1/orders/{id}/history`

use axum::extract::{Request, State};
use axum::response::Response;
use history::step::Place;
use history::{By, Line, Step, VersionLine};
use order::OrderId;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};
use crate::routes::accounts::time;

/// What one decision did to an order. Steps are never changed.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(StepBody::example()))]
pub struct StepBody {
    /// When it was decided.
    #[schema(format = "date-time")]
    at: String,
    /// At whose word; null of what was done before this was kept.
    #[schema(required)]
    by: Option<ByBody>,
    /// The versions of the order that it made: none if a provider told of nothing new, two if the order was paid as it was
    /// placed.
    changes: Vec<OrderChangeBody>,
    /// What was booked.
    journal: Vec<StepEntryBody>,
}

/// At whose word something was done.
#[derive(Serialize, ToSchema, Debug)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ByBody {
    /// A request of the client.
    Request {
        /// Its idempotency key.
        idempotency_key: String,
    },
    /// A callback of a payment provider, or its answer to the server's own question.
    Callback {
        /// The endpoint that it came to.
        endpoint: String,
        /// The provider's name for the delivery.
        event_id: String,
        /// The provider's word for what happened.
        event_type: String,
        /// What it did to the books.
        verdict: String,
    },
    /// The service: a time was over.
    Service,
}

/// A version of an order.
#[derive(Serialize, ToSchema, Debug)]
pub struct OrderChangeBody {
    /// What happened: `placed`, `paid`, `captured`, `refunded`, `cancelled`, `expired`; of a refund at a provider
    /// `refund_asked`, `refund_failed`, and `refund_confirmed` where its money was counted before, in the provider's total; or
    /// `corrected` where a provider told of another amount than before.
    change: &'static str,
    /// The order's version that it made.
    #[schema(minimum = 1)]
    version: i64,
    /// The order's state from then on.
    status: &'static str,
    /// What had been taken by then.
    captured_amount: String,
    /// What had been given back by then.
    refunded_amount: String,
    /// The refund that it is about; absent where a provider gave something back that nobody had asked for here, and where that
    /// was not yet kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    refund: Option<RefundOfChangeBody>,
}

/// The refund that a version of an order is about.
#[derive(Serialize, ToSchema, Debug)]
pub struct RefundOfChangeBody {
    /// Its id.
    #[schema(format = "uuid")]
    refund_id: String,
    /// The client's own name for it.
    reference: String,
    /// How much it is to give back, in the order's currency.
    amount: String,
    /// Why it failed, where it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    failure: Option<String>,
}

/// A journal row of an order.
#[derive(Serialize, ToSchema, Debug)]
pub struct StepEntryBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// What moved the money.
    kind: String,
    /// How much.
    amount: String,
    /// In which currency (ISO 4217).
    currency: &'static str,
    /// Where it came from: the id of a customer's account, the name of a collecting one, such as `revenue`, or `held` for
    /// what the account itself has frozen.
    debit_account: String,
    /// Where it went, likewise.
    credit_account: String,
    /// The client's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reference: Option<String>,
}

impl From<Step> for StepBody {
    fn from(step: Step) -> Self {
        Self {
            at: time(step.place.at),
            by: step.by.map(ByBody::from),
            changes: step.versions.into_iter().map(OrderChangeBody::from).collect(),
            journal: step.journal.into_iter().map(StepEntryBody::from).collect(),
        }
    }
}

impl From<By> for ByBody {
    fn from(by: By) -> Self {
        match by {
            By::Request { idempotency_key } => Self::Request { idempotency_key },
            By::Callback(callback) => Self::Callback {
                endpoint: callback.endpoint,
                event_id: callback.event_id,
                event_type: callback.event_type,
                verdict: callback.verdict,
            },
            By::Service => Self::Service,
        }
    }
}

impl From<VersionLine> for OrderChangeBody {
    fn from(line: VersionLine) -> Self {
        Self {
            change: line.change.as_str(),
            version: line.version,
            status: line.status.as_str(),
            captured_amount: line.captured_amount.to_string(),
            refunded_amount: line.refunded_amount.to_string(),
            refund: line.refund.map(|refund| RefundOfChangeBody {
                refund_id: refund.refund_id.to_string(),
                reference: refund.reference,
                amount: refund.amount.to_string(),
                failure: refund.failure,
            }),
        }
    }
}

impl From<Line> for StepEntryBody {
    fn from(line: Line) -> Self {
        Self {
            id: line.entry_id.to_string(),
            kind: line.kind,
            amount: line.amount.to_string(),
            currency: line.amount.currency().code(),
            debit_account: line.debit_account,
            credit_account: line.credit_account,
            reference: line.reference,
        }
    }
}

impl StepBody {
    fn example() -> Self {
        Self {
            at: "2026-01-31T09:30:00.123456Z".to_owned(),
            by: Some(ByBody::Request { idempotency_key: "8e03978e-40d5-43dd-bc93-6894a57f9324".to_owned() }),
            changes: vec![OrderChangeBody {
                change: "placed",
                version: 1,
                status: "paid",
                captured_amount: "128.00".to_owned(),
                refunded_amount: "0.00".to_owned(),
                refund: None,
            }],
            journal: vec![StepEntryBody {
                id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e62".to_owned(),
                kind: "order_payment".to_owned(),
                amount: "128.00".to_owned(),
                currency: "CNY",
                debit_account: "01900000-0000-7000-8000-00000000000a".to_owned(),
                credit_account: "revenue".to_owned(),
                reference: None,
            }],
        }
    }
}

/// Read what has become of an order
///
/// Step by step, oldest first: what happened, when, under which idempotency key or by which delivery of a provider, and what
/// was booked. Kept for ever, unlike the records of keys.
#[utoipa::path(
    get, path = "/v1/orders/{id}/history", tag = "orders",
    responses((status = 200, description = "A page of the history.", body = ListBody<StepBody>,
        example = json!({ "data": [StepBody::example()], "next_cursor": null })))
)]
pub async fn list_order_history(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    let Reading::<OrderId> { client_id, path: id, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "history", scope: id.0 }, &mut query);
    query.finish()?;
    let pool = state.database.pool();
    let order = look_up(pool, || order::store::find(pool, client_id, id)).await?.ok_or_else(not_found)?;
    let after = page.before.and_then(Place::from_number);
    let steps = look_up(pool, || history::store::steps(pool, &order, after, page.fetch())).await?;
    Ok(ok(&page.body::<_, StepBody>(steps, |step| step.place.to_number())))
}
