//! The versions of an order: what each change of it was, and at whose word.

use account::Origin;
use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;

use crate::{Order, OrderId, OrderStatus, RefundId};

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
    /// Its provider says that a refund it was asked for is done, whose money was counted before: as a part of the total of
    /// all refunds. Its items are back from then on.
    RefundConfirmed,
    /// Its provider has not given back what it was asked for, and will not.
    RefundFailed,
    /// It was called off.
    Cancelled,
    /// Its time was over.
    Expired,
    /// A figure was put right: a provider tells of another amount than before.
    Corrected,
}

impl Change {
    /// Every word.
    pub const ALL: [Self; 10] = [
        Self::Placed,
        Self::Paid,
        Self::Captured,
        Self::Refunded,
        Self::RefundAsked,
        Self::RefundConfirmed,
        Self::RefundFailed,
        Self::Cancelled,
        Self::Expired,
        Self::Corrected,
    ];

    /// What leads from one version to the next; from none to the first. `refund` is how far a refund has come with it.
    pub fn between(before: Option<&Order>, after: &Order, refund: Option<RefundStep>) -> Self {
        let Some(before) = before else { return Self::Placed };
        let grew = |of: fn(&Order) -> Amount| of(after).minor_units() > of(before).minor_units();
        let figures = |order: &Order| (order.status, order.captured_amount, order.refunded_amount);
        match (before.status, after.status) {
            (was, OrderStatus::Cancelled) if was != OrderStatus::Cancelled => Self::Cancelled,
            (was, OrderStatus::Expired) if was != OrderStatus::Expired => Self::Expired,
            _ if grew(|order| order.refunded_amount) => Self::Refunded,
            (OrderStatus::Authorized, _) => Self::Captured,
            (OrderStatus::PendingPayment, OrderStatus::Paid) => Self::Paid,
            _ if figures(before) == figures(after) => match refund {
                Some(RefundStep::Asked) => Self::RefundAsked,
                Some(RefundStep::Done) => Self::RefundConfirmed,
                Some(RefundStep::Failed) => Self::RefundFailed,
                None => Self::Corrected,
            },
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
            Self::RefundConfirmed => "refund_confirmed",
            Self::RefundFailed => "refund_failed",
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

/// How far a refund has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefundStep {
    /// A provider is to be asked for it.
    Asked,
    /// The money is back.
    Done,
    /// It is not given back.
    Failed,
}

/// That a refund has made a version of its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VersionOfRefund {
    /// The client whose order it is.
    pub client_id: ClientId,
    /// The order.
    pub order_id: OrderId,
    /// Which of its versions.
    pub version: i64,
    /// The refund.
    pub refund_id: RefundId,
    /// How far it has come.
    pub step: RefundStep,
}

impl VersionOfRefund {
    /// That a refund has made this version.
    pub fn of(order: &Order, refund_id: RefundId, step: RefundStep) -> Self {
        Self { client_id: order.client_id, order_id: order.id, version: order.version, refund_id, step }
    }

    /// Whether it was this one.
    pub fn is_of(&self, order: &Order) -> bool {
        (self.client_id, self.order_id, self.version) == (order.client_id, order.id, order.version)
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
    /// The refund that made it, if one did that was asked for here.
    pub refund_id: Option<RefundId>,
    /// At whose word.
    pub origin: Origin,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
}

impl OrderVersion {
    /// The version that `after` is, made from `before`, by a refund if it is one's.
    pub fn made(
        before: Option<&Order>,
        after: &Order,
        refund: Option<&VersionOfRefund>,
        origin: &Origin,
    ) -> Self {
        Self {
            client_id: after.client_id,
            order_id: after.id,
            version: after.version,
            change: Change::between(before, after, refund.map(|refund| refund.step)),
            status: after.status,
            captured_amount: after.captured_amount,
            refunded_amount: after.refunded_amount,
            refund_id: refund.map(|refund| refund.refund_id),
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
            assert_eq!(Change::between(Some(&before), &after, None).as_str(), change);
        }
        let first = order(1, Is::Paid, "9", "0");
        let version = OrderVersion::made(None, &first, None, &Origin::Service);
        assert_eq!((version.change, version.version, version.status), (Change::Placed, 1, Is::Paid));
    }

    #[test]
    fn a_refund_that_moves_no_figure_is_told_by_how_far_it_is() {
        let (before, after) = (order(2, OrderStatus::Paid, "9", "0"), order(3, OrderStatus::Paid, "9", "0"));
        for (step, change) in [
            (RefundStep::Asked, "refund_asked"),
            (RefundStep::Done, "refund_confirmed"),
            (RefundStep::Failed, "refund_failed"),
        ] {
            let refund = VersionOfRefund::of(&after, RefundId(Uuid::max()), step);
            let made = OrderVersion::made(Some(&before), &after, Some(&refund), &Origin::Service);
            assert_eq!((made.change.as_str(), made.refund_id), (change, Some(refund.refund_id)));
        }
        let back = order(3, OrderStatus::PartiallyRefunded, "9", "1");
        assert_eq!(Change::between(Some(&before), &back, Some(RefundStep::Done)), Change::Refunded);
    }

    #[test]
    fn a_word_leads_back_to_its_change() {
        for change in Change::ALL {
            assert_eq!(Change::from_word(change.as_str()), Some(change));
        }
        assert_eq!(Change::from_word("changed"), None);
    }
}
