//! What came of a command.

use std::sync::Arc;

use account::movement::TransferRefusal;
use account::{
    Account, AccountId, CloseRefusal, CreditRefusal, DebitRefusal, Movement, MovementId, MovementKind,
};
use idempotency::Answer;
use money::{Amount, Currency};
use order::{Order, OrderId, PlaceRefusal};
use payment_callback::{Alert, AlertAction, AlertId, DeliveryId, DeliveryRecord, Payment, ResolveRefusal};

/// What came of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The account is open.
    AccountOpened(Account),
    /// The money has moved.
    Moved(Movement),
    /// The account is closed.
    AccountClosed(Account),
    /// The order is placed.
    OrderPlaced {
        /// The order.
        order: Order,
        /// Its payment, if a provider's payment shall pay it.
        payment: Option<Payment>,
    },
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
    /// There was nothing to do any more.
    NothingDue,
    /// A business rule said no.
    Refused(Refusal),
}

/// A business "no". It is remembered under the name, like a success.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The client has no such account.
    #[error("the client has no account {0}")]
    AccountNotFound(AccountId),
    /// Another order of the client has this number.
    #[error("the order number is taken by the order {0}")]
    DuplicateOrderNo(OrderId),
    /// Another payment of the client has this number.
    #[error("the payment number {payment_no} is taken by the order {existing}")]
    DuplicatePaymentNo {
        /// The number.
        payment_no: String,
        /// The order that its payment pays.
        existing: OrderId,
    },
    /// The client has no such alert.
    #[error("the client has no payment alert {0}")]
    AlertNotFound(AlertId),
    /// The alert was resolved before.
    #[error("the alert was resolved before, by {}", .0.as_str())]
    AlertResolved(AlertAction),
    /// The alert cannot be resolved so.
    #[error("the alert cannot be resolved so: {0}")]
    AlertNotAcceptable(&'static str),
    /// Another movement of the kind has this reference.
    #[error("the reference is taken by the {} {existing}", .kind.as_str())]
    DuplicateReference {
        /// The kind of movement.
        kind: MovementKind,
        /// The movement that has it.
        existing: MovementId,
    },
    /// The account holds another currency.
    #[error("the account holds {account_currency}, not {given}")]
    CurrencyMismatch {
        /// What the account holds.
        account_currency: Currency,
        /// What the request names.
        given: Currency,
    },
    /// The account is closed.
    #[error("the account {0} is closed")]
    AccountClosed(AccountId),
    /// There is money on the account.
    #[error("the account still has {available} available and {held} held")]
    AccountNotEmpty {
        /// What can be spent.
        available: Amount,
        /// What is frozen.
        held: Amount,
    },
    /// There is not enough to spend.
    #[error("{required} is required and {available} is available")]
    InsufficientFunds {
        /// What can be spent.
        available: Amount,
        /// What was to go out.
        required: Amount,
    },
    /// A sum would leave the range of amounts.
    #[error("the sum would leave the range that an amount can represent")]
    AmountOutOfRange,
}

impl From<DebitRefusal> for Refusal {
    fn from(refusal: DebitRefusal) -> Self {
        match refusal {
            DebitRefusal::CurrencyMismatch { account_currency, given } => {
                Self::CurrencyMismatch { account_currency, given }
            }
            DebitRefusal::Closed(account) => Self::AccountClosed(account),
            DebitRefusal::InsufficientFunds { available, required } => {
                Self::InsufficientFunds { available, required }
            }
        }
    }
}

impl From<CreditRefusal> for Refusal {
    fn from(refusal: CreditRefusal) -> Self {
        match refusal {
            CreditRefusal::CurrencyMismatch { account_currency, given } => {
                Self::CurrencyMismatch { account_currency, given }
            }
            CreditRefusal::Closed(account) => Self::AccountClosed(account),
            CreditRefusal::OutOfRange => Self::AmountOutOfRange,
        }
    }
}

impl From<TransferRefusal> for Refusal {
    fn from(refusal: TransferRefusal) -> Self {
        match refusal {
            TransferRefusal::Debit(refusal) => refusal.into(),
            TransferRefusal::Credit(refusal) => refusal.into(),
        }
    }
}

impl From<CloseRefusal> for Refusal {
    fn from(refusal: CloseRefusal) -> Self {
        match refusal {
            CloseRefusal::Closed(account) => Self::AccountClosed(account),
            CloseRefusal::NotEmpty { available, held } => Self::AccountNotEmpty { available, held },
        }
    }
}

impl From<ResolveRefusal> for Refusal {
    fn from(refusal: ResolveRefusal) -> Self {
        match refusal {
            ResolveRefusal::Resolved(action) => Self::AlertResolved(action),
            ResolveRefusal::NotAcceptable(why) => Self::AlertNotAcceptable(why),
        }
    }
}

impl From<PlaceRefusal> for Refusal {
    fn from(refusal: PlaceRefusal) -> Self {
        match refusal {
            PlaceRefusal::Debit(refusal) => refusal.into(),
        }
    }
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
