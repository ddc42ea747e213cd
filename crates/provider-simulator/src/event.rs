//! What happens to a payment at a provider, and what the provider says of it.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::amount::Amount;
use crate::provider::Provider;

/// Something that happened, which the provider notifies of until it is acknowledged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The key of its deliveries: every copy and every retry carries it.
    pub id: String,
    /// When it happened.
    pub at: DateTime<Utc>,
    /// The payment that it happened to.
    pub payment: Payment,
    /// What happened.
    pub what: What,
}

/// A payment as its provider knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payment {
    /// The receiver's own number for it.
    pub payment_no: String,
    /// The provider's id for it, which is the money's identity.
    pub provider_payment_id: String,
    /// How much was to be paid, and was.
    pub amount: Amount,
    /// ISO 4217, in capitals.
    pub currency: String,
}

/// What can happen to a payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// It was paid.
    Succeeded,
    /// An attempt to pay it failed; it can still be paid.
    Failed,
    /// It was closed without having been paid.
    Closed,
    /// Money went back, or was to go back.
    Refunded(Refund),
}

/// A refund as its provider knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refund {
    /// The receiver's own number for it (`out_request_no`, `out_refund_no`).
    pub refund_no: String,
    /// The provider's id for it.
    pub refund_id: String,
    /// How much this refund gives back.
    pub amount: Amount,
    /// How much all refunds of the payment have given back, this one included if it went through.
    pub refunded_total: Amount,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a refund.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The money is back.
    #[default]
    Done,
    /// It could not be given back as it came, and somebody must act (WeChat Pay's `ABNORMAL`).
    Abnormal,
    /// It was given up; nothing went back (WeChat Pay's `CLOSED`).
    Closed,
}

impl fmt::Display for What {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Succeeded => "payment succeeded",
            Self::Failed => "payment failed",
            Self::Closed => "payment closed",
            Self::Refunded(Refund { outcome: Outcome::Done, .. }) => "refund",
            Self::Refunded(Refund { outcome: Outcome::Abnormal, .. }) => "refund stuck",
            Self::Refunded(Refund { outcome: Outcome::Closed, .. }) => "refund given up",
        })
    }
}

/// Why a provider cannot notify of an event.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsayable {
    /// The provider sends nothing when this happens; whoever wants to know must ask.
    #[error("{provider} sends no callback about this: {what}")]
    Silent {
        /// Which provider.
        provider: Provider,
        /// What it is silent about.
        what: String,
    },
    /// The amount is no whole number of the units that the provider counts in.
    #[error("{provider} cannot say {amount} {currency}")]
    Inexact {
        /// Which provider.
        provider: Provider,
        /// The amount.
        amount: Amount,
        /// Its currency.
        currency: String,
    },
    /// The provider's messages have no place for the currency, or its units are disputed.
    #[error("{provider} does not take {currency}")]
    Currency {
        /// Which provider.
        provider: Provider,
        /// The currency.
        currency: String,
    },
}

impl Event {
    /// That `provider` says nothing when this happens.
    pub(crate) fn unsaid_by(&self, provider: Provider) -> Unsayable {
        Unsayable::Silent { provider, what: self.what.to_string() }
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub(crate) fn amount(text: &str) -> Amount {
        Amount::parse(text).unwrap()
    }

    /// 88.80 of `currency`, and what happens to it in Beijing at 07:59:58 on 29 November 2026.
    pub(crate) fn event(currency: &str, what: What) -> Event {
        Event {
            id: "event-1".to_owned(),
            at: at(),
            payment: Payment {
                payment_no: "P-1".to_owned(),
                provider_payment_id: "pi_1".to_owned(),
                amount: amount("88.80"),
                currency: currency.to_owned(),
            },
            what,
        }
    }

    pub(crate) fn at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_910_398, 0).unwrap()
    }

    /// A second refund: 15.00 of 25.00 so far.
    pub(crate) fn refunded(outcome: Outcome) -> What {
        What::Refunded(Refund {
            refund_no: "R-2".to_owned(),
            refund_id: "re_2".to_owned(),
            amount: amount("15"),
            refunded_total: amount("25"),
            outcome,
        })
    }

    /// What went back is all that was paid.
    pub(crate) fn refunded_in_full() -> What {
        What::Refunded(Refund {
            refund_no: "R-3".to_owned(),
            refund_id: "re_3".to_owned(),
            amount: amount("63.80"),
            refunded_total: amount("88.80"),
            outcome: Outcome::Done,
        })
    }
}
