//! The versions of an order: what each change of it was, and at whose word.

use account::Origin;
use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;

use crate::{Order, OrderId, OrderStatus};

/// What made a version of an order, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It was placed.
    Placed,
    /// It was paid: by a provider's payment, or because somebody accepted what was paid.
    Paid,
    /// Some of the frozen amount was taken.
    Captured,
    /// Something was given back.
    Refunded,
    /// Its provider is asked to give something back.
    RefundAsked,
    /// It was called off.
    Cancelled,
    /// Its time was over.
    Expired,
    /// A figure was put right: a provider tells of another amount than before.
    Corrected,
}

impl Change {
    /// Every word.
    pub const ALL: [Self; 8] = [
        Self::Placed,
        Self::Paid,
        Self::Captured,
        Self::Refunded,
        Self::RefundAsked,
        Self::Cancelled,
        Self::Expired,
        Self::Corrected,
    ];

    /// What leads from one version to the next; from none to the first.
    pub fn between(before: Option<&Order>, after: &Order) -> Self {
        let Some(before) = before else { return Self::Placed };
        let grew = |of: fn(&Order) -> Amount| of(after).minor_units() > of(before).minor_units();
        let figures = |order: &Order| (order.status, order.captured_amount, order.refunded_amount);
        match (before.status, after.status) {
            (was, OrderStatus::Cancelled) if was != OrderStatus::Cancelled => Self::Cancelled,
            (was, OrderStatus::Expired) if was != OrderStatus::Expired => Self::Expired,
            _ if grew(|order| order.refunded_amount) => Self::Refunded,
            (OrderStatus::Authorized, _) => Self::Captured,
            (OrderStatus::PendingPayment, OrderStatus::Paid) => Self::Paid,
            // Nothing of it moves before the provider has said so.
            _ if figures(before) == figures(after) => Self::RefundAsked,
            _ => Self::Corrected,
        }
    }

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Paid => "paid",
            Self::Captured => "captured",
            Self::Refunded => "refunded",
            Self::RefundAsked => "refund_asked",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Corrected => "corrected",
        }
    }

    /// The change of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.as_str() == word)
    }
}

/// A version of an order, as it was made. It is written once and never changed, unlike the order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderVersion {
    /// The client whose order it is.
    pub client_id: ClientId,
    /// The order.
    pub order_id: OrderId,
    /// Which version: 1 for its placing.
    pub version: i64,
    /// What made it.
    pub change: Change,
    /// The order's state from then on.
    pub status: OrderStatus,
    /// What had been taken by then.
    pub captured_amount: Amount,
    /// What had been given back by then.
    pub refunded_amount: Amount,
    /// At whose word.
    pub origin: Origin,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
}

impl OrderVersion {
    /// The version that `after` is, made from `before`.
    pub fn made(before: Option<&Order>, after: &Order, origin: &Origin) -> Self {
        Self {
            client_id: after.client_id,
            order_id: after.id,
            version: after.version,
            change: Change::between(before, after),
            status: after.status,
            captured_amount: after.captured_amount,
            refunded_amount: after.refunded_amount,
            origin: origin.clone(),
            created_at: after.updated_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use account::AccountId;
    use money::Currency;
    use uuid::Uuid;

    use super::*;
    use crate::PaymentMethod;

    fn order(version: i64, status: OrderStatus, captured: &str, refunded: &str) -> Order {
        let yen = |text| Amount::parse(text, Currency::from_code("JPY").unwrap()).unwrap();
        Order {
            client_id: ClientId(Uuid::nil()),
            id: OrderId(Uuid::nil()),
            client_order_no: "n".to_owned(),
            account_id: AccountId(Uuid::nil()),
            amount: yen("9"),
            captured_amount: yen(captured),
            refunded_amount: yen(refunded),
            items: Vec::new(),
            payment_method: PaymentMethod::Balance,
            payment_no: None,
            status,
            expires_at: None,
            version,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn each_change_has_its_word() {
        use OrderStatus as Is;
        for (before, after, change) in [
            ((Is::PendingPayment, "0", "0"), (Is::Paid, "9", "0"), "paid"),
            ((Is::PendingPayment, "0", "0"), (Is::Cancelled, "0", "0"), "cancelled"),
            ((Is::PendingPayment, "0", "0"), (Is::Expired, "0", "0"), "expired"),
            ((Is::Authorized, "0", "0"), (Is::Authorized, "4", "0"), "captured"),
            ((Is::Authorized, "4", "0"), (Is::Paid, "4", "0"), "captured"),
            ((Is::Authorized, "4", "0"), (Is::Expired, "4", "0"), "expired"),
            ((Is::Paid, "9", "0"), (Is::PartiallyRefunded, "9", "1"), "refunded"),
            ((Is::PartiallyRefunded, "9", "1"), (Is::Refunded, "9", "9"), "refunded"),
            ((Is::Paid, "9", "0"), (Is::Paid, "8", "0"), "corrected"),
        ] {
            let made = |version, (status, captured, refunded)| order(version, status, captured, refunded);
            let (before, after) = (made(1, before), made(2, after));
            assert_eq!(Change::between(Some(&before), &after).as_str(), change);
        }
        let first = order(1, Is::Paid, "9", "0");
        let version = OrderVersion::made(None, &first, &Origin::Service);
        assert_eq!((version.change, version.version, version.status), (Change::Placed, 1, Is::Paid));
    }

    #[test]
    fn a_word_leads_back_to_its_change() {
        for change in Change::ALL {
            assert_eq!(Change::from_word(change.as_str()), Some(change));
        }
        assert_eq!(Change::from_word("changed"), None);
    }
}
