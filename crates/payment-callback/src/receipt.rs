//! What a provider says was received, and what became of that money.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::{Amount, Currency};
use uuid::Uuid;

use crate::{AlertId, ProviderKind};

/// Identifies a receipt: UUID version 7, made by the service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display)]
pub struct ReceiptId(pub Uuid);

/// What became of received money.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceiptState {
    /// It paid its order, exactly.
    Settled,
    /// It is not what its payment asked for.
    Mismatched,
    /// It came for a payment that had expired or was closed.
    Late,
    /// Its payment was paid already, or is another provider's.
    Excess,
    /// No payment has its number (yet).
    Unmatched,
    /// A person took it as it is, and it paid its order.
    Accepted,
    /// A person decided that it is owed back.
    RefundOwed,
    /// A person decided that nothing follows from it.
    Dismissed,
}

impl ReceiptState {
    /// Every state.
    pub const ALL: [Self; 8] = [
        Self::Settled,
        Self::Mismatched,
        Self::Late,
        Self::Excess,
        Self::Unmatched,
        Self::Accepted,
        Self::RefundOwed,
        Self::Dismissed,
    ];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Mismatched => "mismatched",
            Self::Late => "late",
            Self::Excess => "excess",
            Self::Unmatched => "unmatched",
            Self::Accepted => "accepted",
            Self::RefundOwed => "refund_owed",
            Self::Dismissed => "dismissed",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether the rules still judge it: what a person has decided, and what has paid an order, they leave alone.
    pub fn is_open(self) -> bool {
        match self {
            Self::Mismatched | Self::Late | Self::Excess | Self::Unmatched => true,
            Self::Settled | Self::Accepted | Self::RefundOwed | Self::Dismissed => false,
        }
    }
}

/// Where received money stands, all in one currency.
///
/// The provider has `received - refunded` of it for us (the clearing account), and that is `applied` + `owed` + what is
/// [unapplied](Self::unapplied_minor_units), always.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Funds {
    /// What the provider says was paid.
    pub received: Amount,
    /// What the provider says it has given back, and is booked.
    pub refunded: Amount,
    /// What has paid an order and was not given back: it stands in revenue.
    pub applied: Amount,
    /// What is owed back and was not given back yet.
    pub owed: Amount,
    /// What the provider says it has given back, booked or not: a refund may be told of before its payment.
    pub refund_told: Amount,
}

impl Funds {
    /// Nothing, of this currency.
    pub fn nothing(currency: Currency) -> Self {
        let nothing = Amount::zero(currency);
        Self { received: nothing, refunded: nothing, applied: nothing, owed: nothing, refund_told: nothing }
    }

    /// Its currency.
    pub fn currency(&self) -> Currency {
        self.received.currency()
    }

    /// Whether anything stands anywhere: of a refund that was told of before its payment, nothing does.
    pub fn are_booked(&self) -> bool {
        [self.received, self.refunded, self.applied, self.owed].iter().any(|amount| !amount.is_zero())
    }

    /// What is neither applied nor owed, in minor units. Below zero when the provider takes back, by a smaller amount
    /// under the same id, what has paid an order.
    pub fn unapplied_minor_units(&self) -> i128 {
        minor(self.received) - minor(self.refunded) - minor(self.applied) - minor(self.owed)
    }

    /// What is neither applied nor owed, if that is more than nothing.
    pub fn unapplied(&self) -> Option<Amount> {
        let minor_units = u128::try_from(self.unapplied_minor_units()).ok().filter(|units| *units > 0)?;
        Amount::from_minor_units(minor_units, self.currency()).ok()
    }
}

/// An amount with a sign to subtract by.
pub(crate) fn minor(amount: Amount) -> i128 {
    i128::try_from(amount.minor_units()).expect("an amount has 22 digits at most")
}

/// What a provider says was received under one of its payment ids. There is one for ever per client, provider and id:
/// that is what keeps money that is told of twice from being booked twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity in the journal.
    pub id: ReceiptId,
    /// The provider.
    pub provider: ProviderKind,
    /// The money's identity at the provider.
    pub provider_payment_id: String,
    /// Our number of the payment, as the provider gives it back.
    pub payment_no: Option<String>,
    /// What became of it.
    pub state: ReceiptState,
    /// Where the money stands; nothing as long as no amount is known.
    pub funds: Option<Funds>,
    /// What the provider wrote where it should have written an amount, for people to read.
    pub unreadable: Option<String>,
    /// The alert that asks a person about it.
    pub open_alert: Option<AlertId>,
    /// How many changes it has seen, its making the first.
    pub version: i64,
    /// When it was first told of.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl Receipt {
    /// What it is known by.
    pub fn key(&self) -> ReceiptKey {
        (self.client_id, self.provider, self.provider_payment_id.clone())
    }

    /// Whether anything of it stands in the books: of a refund that was told of before its payment, nothing does.
    pub fn has_money(&self) -> bool {
        self.funds.is_some_and(|funds| funds.are_booked())
    }
}

/// What a receipt is known by: client, provider, and the provider's payment id.
pub type ReceiptKey = (ClientId, ProviderKind, String);

/// A refund that a provider has told of by its own id, so that it counts once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptRefund {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// The provider.
    pub provider: ProviderKind,
    /// The identity of the money that was given back.
    pub provider_payment_id: String,
    /// The refund's identity at the provider.
    pub provider_refund_id: String,
    /// How much.
    pub amount: Amount,
    /// When it was first told of.
    pub created_at: DateTime<Utc>,
}

impl ReceiptRefund {
    /// What it is known by.
    pub fn key(&self) -> ReceiptRefundKey {
        (self.client_id, self.provider, self.provider_refund_id.clone())
    }
}

/// What a refund is known by: client, provider, and the provider's refund id.
pub type ReceiptRefundKey = (ClientId, ProviderKind, String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_word_of_its_own() {
        for state in ReceiptState::ALL {
            assert_eq!(ReceiptState::from_word(state.as_str()), Some(state));
        }
    }

    #[test]
    fn what_is_unapplied_is_what_remains_and_may_be_below_nothing() {
        let cny = Currency::from_code("CNY").unwrap();
        let amount = |text| Amount::parse(text, cny).unwrap();
        let funds = Funds { received: amount("88.80"), refunded: amount("10.00"), ..Funds::nothing(cny) };
        assert_eq!(funds.unapplied(), Some(amount("78.80")));
        let taken_back = Funds { applied: amount("88.80"), ..funds };
        assert_eq!(taken_back.unapplied_minor_units(), -1_000);
        assert_eq!(taken_back.unapplied(), None);
    }
}
