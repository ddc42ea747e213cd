//! The payment of an order at a provider: what was asked for, and whether it was paid.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use order::OrderId;

use crate::ProviderKind;

/// The shortest and the longest number that a payment can be given, in characters: what every provider takes.
pub const PAYMENT_NO_LENGTH: std::ops::RangeInclusive<usize> = 6..=32;

/// Whether a payment can be given this number: 6 to 32 of `0-9 A-Z a-z _ -`, which is what the strictest provider takes.
pub fn is_payment_no(text: &str) -> bool {
    PAYMENT_NO_LENGTH.contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The state of a payment. What became of money that was received is told by its [receipt](crate::Receipt).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PaymentStatus {
    /// A provider has told of it, and no order has asked for it (yet). The row is where the two meet.
    Parked,
    /// It is awaited.
    Pending,
    /// It was paid.
    Settled,
    /// Its time was over before it was paid.
    Expired,
    /// It will not be paid: the order was called off, or the provider has closed it.
    Closed,
}

impl PaymentStatus {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Parked, Self::Pending, Self::Settled, Self::Expired, Self::Closed];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parked => "parked",
            Self::Pending => "pending",
            Self::Settled => "settled",
            Self::Expired => "expired",
            Self::Closed => "closed",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaymentRequest {
    /// The order that it pays.
    pub order_id: OrderId,
    /// The provider that shall tell of it.
    pub provider: ProviderKind,
    /// How much; more than zero.
    pub amount: Amount,
    /// From when on it is too late.
    pub expires_at: DateTime<Utc>,
}

/// A payment. It is also the one row that everything about its number contends for: whoever records money under the
/// number, or places the order that asks for it, changes this row's version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payment {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its number, unique per client for ever; the provider knows it by this.
    pub payment_no: String,
    /// Where it is in its life.
    pub status: PaymentStatus,
    /// What was asked for; nothing while it is parked.
    pub request: Option<PaymentRequest>,
    /// When the provider last told that an attempt to pay it failed.
    pub failed_at: Option<DateTime<Utc>>,
    /// How many changes it has seen, its making the first.
    pub version: i64,
    /// When the row was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl Payment {
    /// The row for a number that a provider has told of and no order has asked for.
    pub fn parked(client_id: ClientId, payment_no: String, now: DateTime<Utc>) -> Self {
        Self {
            client_id,
            payment_no,
            status: PaymentStatus::Parked,
            request: None,
            failed_at: None,
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// A payment that an order asks for.
    pub fn pending(
        client_id: ClientId,
        payment_no: String,
        request: PaymentRequest,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            status: PaymentStatus::Pending,
            request: Some(request),
            ..Self::parked(client_id, payment_no, now)
        }
    }

    /// The payment of an order that was called off: what is paid from now on is late.
    pub fn closed(&self, now: DateTime<Utc>) -> Self {
        Self { status: PaymentStatus::Closed, version: self.version + 1, updated_at: now, ..self.clone() }
    }

    /// Its state at a moment: a payment that is due has expired, also while the sweeper has not reached it yet.
    pub fn at(&self, now: DateTime<Utc>) -> PaymentStatus {
        match (self.status, self.request) {
            (PaymentStatus::Pending, Some(request)) if now >= request.expires_at => PaymentStatus::Expired,
            (status, _) => status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_the_strictest_provider_takes() {
        for good in ["P-0001", "TESTORD20261129000001", "a_b-cd", &"x".repeat(32)] {
            assert!(is_payment_no(good), "{good}");
        }
        for bad in ["", "P-001", &"x".repeat(33), "P 0001", "P.0001", "P*0001", "支付号12345", "P-0001\n"]
        {
            assert!(!is_payment_no(bad), "{bad}");
        }
    }

    #[test]
    fn every_state_has_a_word_of_its_own() {
        for status in PaymentStatus::ALL {
            assert_eq!(PaymentStatus::from_word(status.as_str()), Some(status));
        }
    }
}
