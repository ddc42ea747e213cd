//! The states of an order, and what each event does in each of them.
//!
//! Transitions are one-way: nothing that arrives late turns a state back.

/// The state of an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OrderStatus {
    /// To be paid at a provider.
    PendingPayment,
    /// The amount is frozen on the account.
    Authorized,
    /// The amount, or the captured part of it, has been taken.
    Paid,
    /// A part of what was taken has been given back.
    PartiallyRefunded,
    /// All that was taken has been given back.
    Refunded,
    /// Called off before it was paid.
    Cancelled,
    /// Not paid or not captured in time.
    Expired,
}

/// What can happen to an order after it was placed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OrderEvent {
    /// A part of the frozen amount is taken, the rest stays frozen.
    CapturedInPart,
    /// The last part is taken, what is left is given back.
    CapturedFinally,
    /// The client calls the order off.
    Cancelled,
    /// Its time is over, or the provider reports the payment closed.
    Expired,
    /// The provider reports that the amount owed was paid.
    PaymentSucceeded,
    /// The provider reports that another amount or currency was paid.
    PaymentMismatched,
    /// The provider reports that an attempt to pay failed.
    PaymentFailed,
    /// A part of what was taken is given back.
    RefundedInPart,
    /// The rest of what was taken is given back.
    RefundedInFull,
}

impl OrderEvent {
    /// Every event.
    pub const ALL: [Self; 9] = [
        Self::CapturedInPart,
        Self::CapturedFinally,
        Self::Cancelled,
        Self::Expired,
        Self::PaymentSucceeded,
        Self::PaymentMismatched,
        Self::PaymentFailed,
        Self::RefundedInPart,
        Self::RefundedInFull,
    ];
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The order goes to this state (which may be the one it is in: a version more, all the same).
    To(OrderStatus),
    /// The order stays as it is; the event is recorded elsewhere.
    Stays,
}

/// The event is not allowed in the order's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the order is {}", .0.as_str())]
pub struct StateConflict(pub OrderStatus);

impl OrderStatus {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::PendingPayment,
        Self::Authorized,
        Self::Paid,
        Self::PartiallyRefunded,
        Self::Refunded,
        Self::Cancelled,
        Self::Expired,
    ];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingPayment => "pending_payment",
            Self::Authorized => "authorized",
            Self::Paid => "paid",
            Self::PartiallyRefunded => "partially_refunded",
            Self::Refunded => "refunded",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// What `event` does to an order in this state: the whole table, with no case left out.
    pub fn on(self, event: OrderEvent) -> Result<Step, StateConflict> {
        use OrderEvent as On;
        use OrderStatus as Is;
        match (self, event) {
            (Is::Authorized, On::CapturedInPart) => Ok(Step::To(Is::Authorized)),
            (Is::Authorized, On::CapturedFinally) => Ok(Step::To(Is::Paid)),
            (Is::Authorized | Is::PendingPayment, On::Cancelled) => Ok(Step::To(Is::Cancelled)),
            (Is::Authorized | Is::PendingPayment, On::Expired) => Ok(Step::To(Is::Expired)),

            (Is::PendingPayment, On::PaymentSucceeded) => Ok(Step::To(Is::Paid)),
            // Paid twice, or paid late: the money is in the books and owed back, the order is what it was.
            (
                Is::Paid | Is::PartiallyRefunded | Is::Refunded | Is::Cancelled | Is::Expired,
                On::PaymentSucceeded,
            ) => Ok(Step::Stays),
            // A failure is news only while payment is awaited, and even then the next attempt may succeed.
            (
                Is::PendingPayment
                | Is::Paid
                | Is::PartiallyRefunded
                | Is::Refunded
                | Is::Cancelled
                | Is::Expired,
                On::PaymentMismatched | On::PaymentFailed,
            ) => Ok(Step::Stays),

            (Is::Paid | Is::PartiallyRefunded, On::RefundedInPart) => Ok(Step::To(Is::PartiallyRefunded)),
            (Is::Paid | Is::PartiallyRefunded, On::RefundedInFull) => Ok(Step::To(Is::Refunded)),

            // No provider is asked to pay an order whose amount is frozen on an account.
            (Is::Authorized, On::PaymentSucceeded | On::PaymentMismatched | On::PaymentFailed)
            | (
                Is::PendingPayment
                | Is::Paid
                | Is::PartiallyRefunded
                | Is::Refunded
                | Is::Cancelled
                | Is::Expired,
                On::CapturedInPart | On::CapturedFinally,
            )
            | (
                Is::Paid | Is::PartiallyRefunded | Is::Refunded | Is::Cancelled | Is::Expired,
                On::Cancelled | On::Expired,
            )
            | (
                Is::PendingPayment | Is::Authorized | Is::Refunded | Is::Cancelled | Is::Expired,
                On::RefundedInPart | On::RefundedInFull,
            ) => Err(StateConflict(self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far along its life a state is.
    fn age(status: OrderStatus) -> u8 {
        match status {
            OrderStatus::PendingPayment | OrderStatus::Authorized => 0,
            OrderStatus::Paid => 1,
            OrderStatus::PartiallyRefunded => 2,
            OrderStatus::Refunded | OrderStatus::Cancelled | OrderStatus::Expired => 3,
        }
    }

    #[test]
    fn no_event_turns_a_state_back() {
        for status in OrderStatus::ALL {
            for event in OrderEvent::ALL {
                if let Ok(Step::To(next)) = status.on(event) {
                    assert!(age(next) >= age(status), "{status:?} went back to {next:?} on {event:?}");
                }
            }
        }
    }

    #[test]
    fn an_ended_order_never_moves_again() {
        for status in [OrderStatus::Refunded, OrderStatus::Cancelled, OrderStatus::Expired] {
            for event in OrderEvent::ALL {
                assert!(!matches!(status.on(event), Ok(Step::To(_))), "{status:?} moved on {event:?}");
            }
        }
    }

    #[test]
    fn a_late_failure_or_success_leaves_a_paid_order_paid() {
        for event in [OrderEvent::PaymentFailed, OrderEvent::PaymentSucceeded, OrderEvent::PaymentMismatched]
        {
            assert_eq!(OrderStatus::Paid.on(event), Ok(Step::Stays));
        }
    }

    #[test]
    fn every_state_has_a_word_of_its_own() {
        for status in OrderStatus::ALL {
            assert_eq!(OrderStatus::from_word(status.as_str()), Some(status));
        }
        assert_eq!(OrderStatus::from_word("PAID"), None);
    }
}
