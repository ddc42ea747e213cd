//! An order that is paid at a provider: placed, paid by what the provider tells of, expired, refunded there.
//!
//! No customer's account takes part: the provider's money goes from clearing to revenue. The account is the one that the
//! order is for, and says which currency it is in.

use account::{Account, DebitRefusal};
use chrono::{DateTime, Utc};
use money::Amount;

use crate::place::new_order;
use crate::{Order, OrderEvent, OrderStatus, PaymentMethod, Placement, StateConflict, Step};

/// Places an order that the payment of this number, at a provider, shall pay.
///
/// # Errors
///
/// As for an order that the account itself pays, but for what it has available: the account must be open and of the
/// order's currency.
pub fn await_payment(
    account: &Account,
    placement: Placement,
    payment_no: String,
    expires_at: DateTime<Utc>,
) -> Result<Order, DebitRefusal> {
    account.pays_in(placement.amount.currency())?;
    Ok(Order {
        payment_no: Some(payment_no),
        expires_at: Some(expires_at),
        ..new_order(account, placement, PaymentMethod::Provider, OrderStatus::PendingPayment)
    })
}

impl Order {
    /// The order paid with what the provider received: the amount itself, or another that a person accepted.
    ///
    /// # Errors
    ///
    /// If it is not awaiting payment.
    pub fn paid_at_provider(&self, received: Amount, now: DateTime<Utc>) -> Result<Self, StateConflict> {
        Ok(Self { captured_amount: received, ..self.moved_by(OrderEvent::PaymentSucceeded, now)? })
    }

    /// The order expired: its time is over, or the provider has closed its payment.
    ///
    /// # Errors
    ///
    /// If it is not awaiting payment.
    pub fn expired_at_provider(&self, now: DateTime<Utc>) -> Result<Self, StateConflict> {
        self.moved_by(OrderEvent::Expired, now)
    }

    /// The order after the provider has given back so much more of what it paid.
    ///
    /// # Errors
    ///
    /// If it is not paid, or so much is not left of it.
    pub fn refunded_at_provider(&self, amount: Amount, now: DateTime<Utc>) -> Result<Self, StateConflict> {
        let refunded = self.refunded_amount.checked_add(amount).map_err(|_| StateConflict(self.status))?;
        let left = self.captured_amount.checked_sub(refunded).map_err(|_| StateConflict(self.status))?;
        let event = if left.is_zero() { OrderEvent::RefundedInFull } else { OrderEvent::RefundedInPart };
        Ok(Self { refunded_amount: refunded, ..self.moved_by(event, now)? })
    }

    /// The order after an event that has to move it: one that would leave it where it is comes too late.
    fn moved_by(&self, event: OrderEvent, now: DateTime<Utc>) -> Result<Self, StateConflict> {
        match self.status.on(event)? {
            Step::To(status) => Ok(self.in_status(status, now)),
            Step::Stays => Err(StateConflict(self.status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use account::AccountId;
    use chrono::TimeDelta;
    use client::ClientId;
    use money::Currency;
    use uuid::Uuid;

    use account::EntryId;

    use super::*;
    use crate::OrderId;

    fn cny(text: &str) -> Amount {
        Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
    }

    fn placed() -> Order {
        let now = DateTime::UNIX_EPOCH;
        let account = Account::open(
            ClientId(Uuid::nil()),
            AccountId(Uuid::nil()),
            "alice".to_owned(),
            cny("1").currency(),
            now,
        );
        let placement = Placement {
            order_id: OrderId(Uuid::nil()),
            entry_id: EntryId(Uuid::nil()),
            client_order_no: "A-1".to_owned(),
            amount: cny("88.80"),
            items: Vec::new(),
            now,
        };
        await_payment(&account, placement, "P-0001".to_owned(), now + TimeDelta::minutes(30)).unwrap()
    }

    #[test]
    fn an_order_is_paid_once_and_refunded_up_to_what_was_paid() {
        let now = DateTime::UNIX_EPOCH;
        let paid = placed().paid_at_provider(cny("88.80"), now).unwrap();
        assert_eq!((paid.status, paid.version), (OrderStatus::Paid, 2));
        assert_eq!(paid.paid_at_provider(cny("88.80"), now), Err(StateConflict(OrderStatus::Paid)));
        assert_eq!(paid.expired_at_provider(now), Err(StateConflict(OrderStatus::Paid)));
        let part = paid.refunded_at_provider(cny("10"), now).unwrap();
        assert_eq!((part.status, part.refunded_amount), (OrderStatus::PartiallyRefunded, cny("10")));
        assert!(part.refunded_at_provider(cny("78.81"), now).is_err(), "more than is left");
        let all = part.refunded_at_provider(cny("78.80"), now).unwrap();
        assert_eq!(all.status, OrderStatus::Refunded);
    }

    #[test]
    fn an_expired_order_is_not_paid_late() {
        let expired = placed().expired_at_provider(DateTime::UNIX_EPOCH).unwrap();
        let late = expired.paid_at_provider(cny("88.80"), DateTime::UNIX_EPOCH);
        assert_eq!(late, Err(StateConflict(OrderStatus::Expired)));
    }
}
