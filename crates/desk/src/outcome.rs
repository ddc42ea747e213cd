//! What came of a command.

use std::sync::Arc;

use account::{Account, Hold, Movement};
use chrono::NaiveDate;
use idempotency::Answer;
use inventory::Sku;
use order::{Order, Refund};
use payment_callback::{Alert, AskedRefund, DeliveryId, DeliveryRecord, Payment};
use uuid::Uuid;

use crate::Refusal;

/// What came of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The account is open.
    AccountOpened(Account),
    /// The money has moved.
    Moved(Movement),
    /// The account is closed.
    AccountClosed(Account),
    /// The money is frozen.
    HoldPlaced(Hold),
    /// Frozen money was taken.
    HoldCaptured(Hold),
    /// Frozen money was given back.
    HoldReleased(Hold),
    /// Frozen money was given back, because its time was over.
    HoldExpired(Hold),
    /// The order is placed.
    OrderPlaced {
        /// The order.
        order: Order,
        /// Its payment, if a provider's payment shall pay it.
        payment: Option<Payment>,
    },
    /// What was frozen for the order was taken, at least in part.
    OrderCaptured(Order),
    /// The order was called off.
    OrderCancelled {
        /// The order.
        order: Order,
        /// Its payment, if a provider's payment was to pay it.
        payment: Option<Payment>,
    },
    /// The order has ended, because its time was over.
    OrderExpired(Order),
    /// Money of the order was given back; the order is as it is then.
    OrderRefunded(Refund, Order),
    /// A provider is asked to give back money of the order; the order is as it is meanwhile.
    RefundAsked(Refund, Order),
    /// What came of asking a provider for a refund is noted.
    RefundNoted(AskedRefund),
    /// The sku was made or set.
    SkuSet(Sku),
    /// What a provider told of is dealt with.
    CallbackTaken(DeliveryRecord),
    /// What a provider told of was dealt with before, as this delivery.
    CallbackRepeated(DeliveryId),
    /// The alert is resolved.
    AlertResolved(Alert),
    /// A person is asked.
    AlertRaised(Alert),
    /// The payment's time is over.
    PaymentExpired(Payment),
    /// What an event tells of is counted to the totals of that day.
    EventCounted(NaiveDate),
    /// The totals of that day are what the books say.
    DayRebuilt(NaiveDate),
    /// Endpoints are to be told of that event.
    WebhooksDue(Uuid),
    /// There was nothing to do any more.
    NothingDue,
    /// The rules cannot tell yet: it depends on something that a provider has not said. Nothing happened, and nothing is
    /// remembered: the same command may be decided later.
    Undecided,
    /// A business rule said no.
    Refused(Refusal),
}

/// An outcome in the words of the API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rendered {
    /// The answer, as it is stored and sent.
    pub answer: Answer,
    /// The path of what was made or changed; none for a refusal.
    pub resource: Option<String>,
}

/// Puts an outcome into words, given the id of the request. It must answer the same for the same arguments, and
/// must not panic: it runs inside the transaction of the effect.
pub type Render = Arc<dyn Fn(&Outcome, &str) -> Rendered + Send + Sync>;
