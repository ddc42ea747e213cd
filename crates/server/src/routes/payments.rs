//! Payments at providers: `/v1/payments/{payment_no}`.

pub mod get;

use account::store::journal::JournalLine;
use payment_callback::store::deliveries::DeliveryLine;
use payment_callback::{AskedRefund, Payment, Receipt};
use serde::Serialize;
use utoipa::ToSchema;

use super::accounts::time;

/// A payment at a provider, with all that was told of it.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({
    "payment_no": "P-1001", "order_id": "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e61", "provider": "stripe",
    "amount": "88.80", "currency": "USD", "status": "settled", "expires_at": "2026-01-31T10:00:00.000000Z",
    "failed_at": null, "version": 2, "created_at": "2026-01-31T09:30:00.123456Z",
    "updated_at": "2026-01-31T09:31:00.123456Z",
    "receipts": [{
        "provider": "stripe", "provider_payment_id": "pi_1", "state": "settled", "amount": "88.80", "currency": "USD",
        "refunded_amount": "0.00", "reported": null, "created_at": "2026-01-31T09:31:00.123456Z",
        "updated_at": "2026-01-31T09:31:00.123456Z"
    }],
    "refunds": [],
    "deliveries": [{
        "endpoint": "stripe", "event_id": "evt_1", "event_type": "payment_intent.succeeded",
        "decision": "apply_payment", "verdict": "settled", "received_at": "2026-01-31T09:31:00.123456Z"
    }],
    "journal": [{
        "id": "0193e1c6-7d3a-7b52-8a34-5f1d2c9b7e62", "kind": "payment_settled", "amount": "88.80", "currency": "USD",
        "debit_account": "clearing:stripe", "credit_account": "revenue", "created_at": "2026-01-31T09:31:00.123456Z"
    }]
}))]
pub struct PaymentDetailsBody {
    /// Its number, by which the provider knows it.
    payment_no: String,
    /// The order that it pays.
    #[schema(format = "uuid")]
    order_id: String,
    /// The provider.
    provider: &'static str,
    /// What was asked for.
    amount: String,
    /// In which currency (ISO 4217).
    currency: &'static str,
    /// Where it is in its life.
    status: &'static str,
    /// From when on it is too late.
    #[schema(format = "date-time")]
    expires_at: String,
    /// When the provider last told that an attempt to pay failed.
    #[schema(required, format = "date-time")]
    failed_at: Option<String>,
    /// How many changes it has seen.
    version: i64,
    /// When it was made.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
    /// What the provider says was received, and what became of it; oldest first.
    receipts: Vec<ReceiptBody>,
    /// The refunds that the provider is asked for, of its order or of what is owed back; oldest first.
    refunds: Vec<AskedRefundBody>,
    /// The deliveries that spoke of it, the newest first: the last 100, the last 100 that had an effect, and every one that
    /// booked something.
    deliveries: Vec<DeliveryBody>,
    /// What was booked for it, oldest first.
    journal: Vec<PaymentEntryBody>,
}

/// What a provider says was received under one of its payment ids.
#[derive(Serialize, ToSchema, Debug)]
pub struct ReceiptBody {
    /// The provider.
    provider: &'static str,
    /// The money's identity at the provider.
    provider_payment_id: String,
    /// What became of the money.
    state: &'static str,
    /// How much was received; null if no amount is known.
    #[schema(required)]
    amount: Option<String>,
    /// In which currency.
    #[schema(required)]
    currency: Option<&'static str>,
    /// How much of it the provider has given back.
    #[schema(required)]
    refunded_amount: Option<String>,
    /// What the provider wrote where it should have written an amount.
    #[schema(required)]
    reported: Option<String>,
    /// When it was first told of.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
}

/// A refund that a provider is asked for.
#[derive(Serialize, ToSchema, Debug)]
pub struct AskedRefundBody {
    /// Its id; without the hyphens, its number at the provider.
    #[schema(format = "uuid")]
    id: String,
    /// The order whose refund it is; null where it gives back what has paid no order and is owed back.
    #[schema(required, format = "uuid")]
    order_id: Option<String>,
    /// The provider.
    provider: &'static str,
    /// The identity, there, of the money.
    provider_payment_id: String,
    /// How much.
    amount: String,
    /// In which currency (ISO 4217).
    currency: &'static str,
    /// How far it is, as of an order's refund.
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

/// A delivery that spoke of a payment. Neither signature nor body is kept with it.
#[derive(Serialize, ToSchema, Debug)]
pub struct DeliveryBody {
    /// The endpoint that it came to.
    endpoint: String,
    /// The provider's name for it.
    event_id: String,
    /// The provider's word for what happened.
    event_type: String,
    /// What it asked for, seen alone.
    decision: String,
    /// What it did to the books.
    verdict: String,
    /// When it was dealt with.
    #[schema(format = "date-time")]
    received_at: String,
}

/// A journal row of a payment.
#[derive(Serialize, ToSchema, Debug)]
pub struct PaymentEntryBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// What moved the money.
    kind: String,
    /// How much.
    amount: String,
    /// In which currency.
    currency: &'static str,
    /// Where it came from.
    debit_account: String,
    /// Where it went.
    credit_account: String,
    /// When.
    #[schema(format = "date-time")]
    created_at: String,
}

impl PaymentDetailsBody {
    /// The body of a payment that was asked for; none for one that was not.
    pub fn of(
        payment: Payment,
        receipts: Vec<Receipt>,
        mut refunds: Vec<AskedRefund>,
        deliveries: Vec<DeliveryLine>,
        journal: Vec<JournalLine>,
    ) -> Option<Self> {
        let request = payment.request?;
        refunds.sort_by_key(|refund| (refund.created_at, refund.id));
        Some(Self {
            payment_no: payment.payment_no,
            order_id: request.order_id.to_string(),
            provider: request.provider.word(),
            amount: request.amount.to_string(),
            currency: request.amount.currency().code(),
            status: payment.status.as_str(),
            expires_at: time(request.expires_at),
            failed_at: payment.failed_at.map(time),
            version: payment.version,
            created_at: time(payment.created_at),
            updated_at: time(payment.updated_at),
            receipts: receipts.into_iter().map(ReceiptBody::from).collect(),
            refunds: refunds.into_iter().map(AskedRefundBody::from).collect(),
            deliveries: deliveries.into_iter().map(DeliveryBody::from).collect(),
            journal: journal.into_iter().map(PaymentEntryBody::from).collect(),
        })
    }
}

impl From<Receipt> for ReceiptBody {
    fn from(receipt: Receipt) -> Self {
        let funds = receipt.funds;
        Self {
            provider: receipt.provider.word(),
            provider_payment_id: receipt.provider_payment_id,
            state: receipt.state.as_str(),
            amount: funds.map(|funds| funds.received.to_string()),
            currency: funds.map(|funds| funds.currency().code()),
            refunded_amount: funds.map(|funds| funds.refunded.to_string()),
            reported: receipt.unreadable,
            created_at: time(receipt.created_at),
            updated_at: time(receipt.updated_at),
        }
    }
}

impl From<AskedRefund> for AskedRefundBody {
    fn from(asked: AskedRefund) -> Self {
        Self {
            id: asked.id.to_string(),
            order_id: asked.order_id.map(|order| order.to_string()),
            provider: asked.provider.word(),
            provider_payment_id: asked.provider_payment_id,
            amount: asked.amount.to_string(),
            currency: asked.amount.currency().code(),
            status: asked.status.as_str(),
            failure: asked.failure,
            created_at: time(asked.created_at),
            updated_at: time(asked.updated_at),
        }
    }
}

impl From<DeliveryLine> for DeliveryBody {
    fn from(line: DeliveryLine) -> Self {
        Self {
            endpoint: line.endpoint,
            event_id: line.delivery_key,
            event_type: line.event_type,
            decision: line.decision,
            verdict: line.effect,
            received_at: time(line.received_at),
        }
    }
}

impl From<JournalLine> for PaymentEntryBody {
    fn from(line: JournalLine) -> Self {
        Self {
            id: line.entry_id.to_string(),
            kind: line.kind,
            amount: line.amount.to_string(),
            currency: line.amount.currency().code(),
            debit_account: line.debit_account,
            credit_account: line.credit_account,
            created_at: time(line.created_at),
        }
    }
}
