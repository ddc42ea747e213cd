//! The business "no", from the refusals of every crate's rules to one.

use account::hold::{CaptureRefusal, ExpiryRefusal, HoldNotActive};
use account::movement::TransferRefusal;
use account::{AccountId, CloseRefusal, CreditRefusal, DebitRefusal, HoldId, HoldStatus};
use inventory::{OutOfStock, SkuCode, StockCommitted};
use money::{Amount, Currency};
use order::{
    EndRefusal, OrderCaptureRefusal, OrderId, OrderStatus, PlaceRefusal, PricingRefusal, RefundRefusal,
    StateConflict,
};
use payment_callback::{AlertAction, AlertId, ResolveRefusal};
use uuid::Uuid;

/// A business "no". It is remembered under the name, like a success.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The client has no such account.
    #[error("the client has no account {0}")]
    AccountNotFound(AccountId),
    /// The client has no such hold.
    #[error("the client has no hold {0}")]
    HoldNotFound(HoldId),
    /// The client has no such order.
    #[error("the client has no order {0}")]
    OrderNotFound(OrderId),
    /// The client has no such sku.
    #[error("the client has no sku {0}")]
    SkuNotFound(SkuCode),
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
    /// Something else of the kind has this reference.
    #[error("the reference is taken by the {kind} {existing}")]
    DuplicateReference {
        /// The kind: a kind of movement, a hold, a capture or a refund.
        kind: &'static str,
        /// What has it.
        existing: Uuid,
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
    /// The hold has ended; or it is active, and was taken for due.
    #[error("the hold {hold_id} is {}", .status.as_str())]
    HoldNotActive {
        /// The hold.
        hold_id: HoldId,
        /// How it ended.
        status: HoldStatus,
    },
    /// The hold is an order's, which alone can move it.
    #[error("the hold belongs to the order {0}, which alone can move it")]
    HoldOfOrder(OrderId),
    /// More was to be taken than is left of the hold.
    #[error("{required} is to be taken and {left} is left of the hold")]
    CaptureExceedsHold {
        /// What is left.
        left: Amount,
        /// What was to be taken.
        required: Amount,
    },
    /// The order is not in a state that allows it.
    #[error("the order is {}", .0.as_str())]
    OrderStateConflict(OrderStatus),
    /// More was to be given back than is left of what was paid.
    #[error("{required} is to be given back and {refundable} is left of what was paid")]
    RefundExceedsPaid {
        /// What is left.
        refundable: Amount,
        /// What was to be given back.
        required: Amount,
    },
    /// More items were to come back than the order bought and still has.
    #[error("{requested} of {sku} are to come back and the order has {left}")]
    RefundExceedsItems {
        /// Of what.
        sku: SkuCode,
        /// How many the order has.
        left: u64,
        /// How many were to come back.
        requested: u64,
    },
    /// The order was paid at a provider, through which its money goes back.
    #[error("the order was paid at a provider, through which its money goes back")]
    RefundAtProvider,
    /// The items cost something else than the order says.
    #[error("the items cost {expected}, not {given}")]
    AmountMismatch {
        /// What they cost.
        expected: Amount,
        /// What the order says.
        given: Amount,
    },
    /// An item is sold in another currency.
    #[error("{sku} is priced in {price_currency}, and the order is in {order_currency}")]
    PriceCurrencyMismatch {
        /// Which item.
        sku: SkuCode,
        /// What it is priced in.
        price_currency: Currency,
        /// What the order is in.
        order_currency: Currency,
    },
    /// There are fewer pieces than asked for.
    #[error(transparent)]
    OutOfStock(#[from] OutOfStock),
    /// The total would fall below what is promised.
    #[error(transparent)]
    StockCommitted(#[from] StockCommitted),
    /// The sku is not what it was to be for the change.
    #[error("{sku} is not in the version that the request expects")]
    VersionMismatch {
        /// Which one.
        sku: SkuCode,
        /// The version it has; none, if it is not there.
        version: Option<i64>,
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

impl From<HoldNotActive> for Refusal {
    fn from(HoldNotActive { hold_id, status }: HoldNotActive) -> Self {
        Self::HoldNotActive { hold_id, status }
    }
}

impl From<CaptureRefusal> for Refusal {
    fn from(refusal: CaptureRefusal) -> Self {
        match refusal {
            CaptureRefusal::NotActive(refusal) => refusal.into(),
            CaptureRefusal::CurrencyMismatch { hold_currency, given } => {
                Self::CurrencyMismatch { account_currency: hold_currency, given }
            }
            CaptureRefusal::ExceedsHold { left, required } => Self::CaptureExceedsHold { left, required },
        }
    }
}

impl From<ExpiryRefusal> for Refusal {
    fn from(refusal: ExpiryRefusal) -> Self {
        match refusal {
            ExpiryRefusal::NotActive(refusal) => refusal.into(),
            ExpiryRefusal::NotDue(hold_id) => Self::HoldNotActive { hold_id, status: HoldStatus::Active },
        }
    }
}

impl From<StateConflict> for Refusal {
    fn from(StateConflict(status): StateConflict) -> Self {
        Self::OrderStateConflict(status)
    }
}

impl From<OrderCaptureRefusal> for Refusal {
    fn from(refusal: OrderCaptureRefusal) -> Self {
        match refusal {
            OrderCaptureRefusal::State(refusal) => refusal.into(),
            OrderCaptureRefusal::Hold(refusal) => refusal.into(),
        }
    }
}

impl From<EndRefusal> for Refusal {
    fn from(refusal: EndRefusal) -> Self {
        match refusal {
            EndRefusal::State(refusal) => refusal.into(),
            EndRefusal::Hold(refusal) => refusal.into(),
            EndRefusal::NotDue(status) => Self::OrderStateConflict(status),
        }
    }
}

impl From<RefundRefusal> for Refusal {
    fn from(refusal: RefundRefusal) -> Self {
        match refusal {
            RefundRefusal::State(refusal) => refusal.into(),
            RefundRefusal::PaidAtProvider => Self::RefundAtProvider,
            RefundRefusal::CurrencyMismatch { order_currency, given } => {
                Self::CurrencyMismatch { account_currency: order_currency, given }
            }
            RefundRefusal::ExceedsPaid { refundable, required } => {
                Self::RefundExceedsPaid { refundable, required }
            }
            RefundRefusal::ItemsExceedOrder { sku, left, requested } => {
                Self::RefundExceedsItems { sku, left, requested }
            }
            RefundRefusal::Credit(refusal) => refusal.into(),
        }
    }
}

impl From<PricingRefusal> for Refusal {
    fn from(refusal: PricingRefusal) -> Self {
        match refusal {
            PricingRefusal::UnknownSku(sku) => Self::SkuNotFound(sku),
            PricingRefusal::CurrencyMismatch { sku, price_currency, order_currency } => {
                Self::PriceCurrencyMismatch { sku, price_currency, order_currency }
            }
            PricingRefusal::AmountMismatch { expected, given } => Self::AmountMismatch { expected, given },
            PricingRefusal::OutOfRange => Self::AmountOutOfRange,
        }
    }
}
