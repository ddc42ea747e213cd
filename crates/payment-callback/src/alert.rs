//! Alerts: what a person has to decide about a payment.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use uuid::Uuid;

use crate::{ProviderKind, ReceiptId, ReceiptKey};

/// Identifies an alert: UUID version 7, made by the service.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct AlertId(pub Uuid);

/// What an alert is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AlertKind {
    /// What was received is not what the payment asked for, or its amount changed after it had paid.
    Mismatched,
    /// It was received for a payment that had expired or was closed.
    Late,
    /// It was received for a payment that was paid already, or from another provider.
    Excess,
    /// It was received under a number that no payment has.
    Unmatched,
    /// A delivery came again with another content.
    DeliveryConflict,
    /// A refund does not fit what was received.
    RefundMismatched,
    /// A refund is stuck at the provider.
    RefundAttention,
    /// The payer's bank disputes the payment.
    Disputed,
    /// A line of a provider's statement cannot be read, or not all of it.
    UnreadableLine,
    /// A line of a provider's statement repeats one before it.
    DuplicateLine,
    /// A provider's statement has what the books do not.
    MissingHere,
    /// The books have what a provider's statement of that time does not.
    MissingThere,
    /// A provider's statement has another currency than the books.
    CurrencyDiffers,
    /// A provider's statement has another amount than the books.
    AmountDiffers,
    /// A provider's statement has it for another payment than the books.
    PaymentNoDiffers,
}

impl AlertKind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Mismatched,
        Self::Late,
        Self::Excess,
        Self::Unmatched,
        Self::DeliveryConflict,
        Self::RefundMismatched,
        Self::RefundAttention,
        Self::Disputed,
        Self::UnreadableLine,
        Self::DuplicateLine,
        Self::MissingHere,
        Self::MissingThere,
        Self::CurrencyDiffers,
        Self::AmountDiffers,
        Self::PaymentNoDiffers,
    ];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mismatched => "mismatched",
            Self::Late => "late",
            Self::Excess => "excess",
            Self::Unmatched => "unmatched",
            Self::DeliveryConflict => "delivery_conflict",
            Self::RefundMismatched => "refund_mismatched",
            Self::RefundAttention => "refund_attention",
            Self::Disputed => "disputed",
            Self::UnreadableLine => "unreadable_line",
            Self::DuplicateLine => "duplicate_line",
            Self::MissingHere => "missing_here",
            Self::MissingThere => "missing_there",
            Self::CurrencyDiffers => "currency_differs",
            Self::AmountDiffers => "amount_differs",
            Self::PaymentNoDiffers => "payment_no_differs",
        }
    }

    /// The kind of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What ended an alert.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AlertAction {
    /// The money was taken as it is, and paid the order.
    Accept,
    /// The money is owed back.
    Refund,
    /// Nothing follows.
    Dismiss,
    /// What came later from the provider answered it.
    Superseded,
}

impl AlertAction {
    /// Every action.
    pub const ALL: [Self; 4] = [Self::Accept, Self::Refund, Self::Dismiss, Self::Superseded];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Refund => "refund",
            Self::Dismiss => "dismiss",
            Self::Superseded => "superseded",
        }
    }

    /// The action of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

/// How an alert ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolution {
    /// What ended it.
    pub action: AlertAction,
    /// Who: `client`, for whoever holds the client's API key; `service`, for a later callback.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why, in the words of whoever ended it.
    pub note: String,
}

/// An alert. Each cause raises one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alert {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: AlertId,
    /// What it is about.
    pub kind: AlertKind,
    /// What raised it, unique per client and kind.
    pub cause: String,
    /// Our number of the payment.
    pub payment_no: Option<String>,
    /// The provider.
    pub provider: ProviderKind,
    /// The money's identity at the provider.
    pub provider_payment_id: Option<String>,
    /// The receipt.
    pub receipt_id: Option<ReceiptId>,
    /// What was asked for.
    pub expected: Option<Amount>,
    /// What the provider told of.
    pub received: Option<Amount>,
    /// More about it, for people to read.
    pub detail: Option<String>,
    /// How it ended; nothing while it is open.
    pub resolution: Option<Resolution>,
    /// How many changes it has seen, its raising the first.
    pub version: i64,
    /// When it was raised.
    pub created_at: DateTime<Utc>,
}

/// What raised an alert, and of which kind: each raises one.
pub type AlertCause = (ClientId, AlertKind, String);

impl Alert {
    /// What raised it.
    pub fn cause(&self) -> AlertCause {
        (self.client_id, self.kind, self.cause.clone())
    }

    /// What the receipt that it is about is known by.
    pub fn receipt_key(&self) -> Option<ReceiptKey> {
        self.receipt_id?;
        Some((self.client_id, self.provider, self.provider_payment_id.clone()?))
    }

    /// `open` or `resolved`: the word for its state in the database and in the API.
    pub fn status(&self) -> &'static str {
        match self.resolution {
            None => "open",
            Some(_) => "resolved",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_action_has_a_word_of_its_own() {
        for kind in AlertKind::ALL {
            assert_eq!(AlertKind::from_word(kind.as_str()), Some(kind));
        }
        for action in AlertAction::ALL {
            assert_eq!(AlertAction::from_word(action.as_str()), Some(action));
        }
    }
}
