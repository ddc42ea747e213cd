//! What a verified delivery means, in words that all providers share.

use money::{Amount, Currency};

/// A delivery that its provider has signed, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// What the provider calls this delivery, the same when it is repeated: Stripe's event `id`, Alipay's `notify_id`,
    /// WeChat Pay's `id`, `webhook-id`. 1 to 255 visible ASCII characters.
    pub delivery_key: String,
    /// The provider's word for what happened, for people to read: at most 64 visible ASCII characters. What counts is
    /// [`Notice::event`].
    pub event_type: String,
    /// What happened.
    pub event: Event,
    /// The id of the configured key that the signature was made with, so that an old one can be dropped once it is no
    /// longer used. No part of the meaning.
    pub key_id: String,
    /// What was bought, where the provider says it: for people to read, at most 256 characters, no part of the meaning.
    pub subject: Option<String>,
}

/// What a provider says has happened.
///
/// `payment_no` is our own number, as the provider gives it back: `None` where it gives none, or something that is no
/// number of ours (it has 1 to 64 visible ASCII characters). `payment_id` is the identity of the *money* at the provider,
/// whatever kind of event tells of it: Stripe's PaymentIntent, Alipay's `trade_no`, WeChat Pay's `transaction_id`. Ids
/// have 1 to 255 visible ASCII characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Money was paid.
    PaymentSucceeded {
        /// Our number of the payment.
        payment_no: Option<String>,
        /// The money's identity at the provider.
        payment_id: String,
        /// How much the provider says was paid.
        amount: ReportedAmount,
    },
    /// An attempt to pay failed; the payer may try again.
    PaymentFailed {
        /// Our number of the payment.
        payment_no: Option<String>,
        /// The money's identity at the provider, if it has one already.
        payment_id: Option<String>,
    },
    /// The provider will take no more money under this id, and has taken none.
    PaymentClosed {
        /// Our number of the payment.
        payment_no: Option<String>,
        /// The money's identity at the provider, if it has one.
        payment_id: Option<String>,
        /// Whether the payment may still be paid under another id: at Stripe one number may have several PaymentIntents,
        /// and one of them is called off as soon as the payer begins anew.
        has_others: bool,
    },
    /// Money that was paid is given back, or was to be.
    Refunded(Refund),
    /// The payer's bank disputes the payment, or a dispute moved on. Nothing is booked; somebody should look.
    Disputed {
        /// The disputed money's identity at the provider, where it is told.
        payment_id: Option<String>,
        /// The dispute's own id, where it is told: for finding it again, no part of the meaning.
        dispute_id: Option<String>,
        /// How much is disputed: for people to read, no part of the meaning.
        amount: ReportedAmount,
    },
    /// An event of a known kind that moves no money and changes no state: waiting for the payer, unpaid, still
    /// processing.
    Noted {
        /// Our number of the payment.
        payment_no: Option<String>,
    },
    /// Rightly signed, and for somebody else: another app, seller, merchant or account, or test data where live data is
    /// expected.
    OtherAccount {
        /// The provider's field that names somebody else.
        field: &'static str,
    },
    /// A kind of event that the adapter does not handle.
    UnknownType,
    /// The delivery only says *that* something happened to an object, which has to be fetched to learn what.
    ToBeFetched {
        /// The object's id at the provider.
        object_id: String,
        /// What it is, in the provider's word.
        object_type: String,
    },
}

/// Money given back to the payer, or that was to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refund {
    /// Our number of the payment.
    pub payment_no: Option<String>,
    /// The identity, at the provider, of the money that was paid.
    pub payment_id: String,
    /// The provider's id of this refund, where refunds have one (not at Alipay; not in Stripe's `charge.refunded`).
    pub refund_id: Option<String>,
    /// Our number of this refund, where the provider gives it back (Alipay's `out_biz_no`, WeChat Pay's
    /// `out_refund_no`).
    pub refund_no: Option<String>,
    /// How much.
    pub sum: RefundSum,
    /// What became of it.
    pub outcome: RefundOutcome,
    /// What the provider says was paid in all, where it repeats it beside the refund.
    pub paid: Option<ReportedAmount>,
}

/// How a provider counts refunds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefundSum {
    /// All that was ever given back of this payment, this refund included: what is to be booked is the difference to what
    /// was booked already, and a lower total is an older one.
    RunningTotal(ReportedAmount),
    /// This one refund, which [`Refund::refund_id`] names.
    One(ReportedAmount),
    /// This one refund, at a provider that else tells totals. Where we asked for it, under [`Refund::refund_no`], the totals
    /// are no less than what had been told of before it was asked for and what was asked for since and is back.
    OneOfTotal {
        /// The refund.
        one: ReportedAmount,
        /// The total at that time, where it is told with the refund.
        total: Option<ReportedAmount>,
    },
}

impl RefundSum {
    /// The amount, whichever way it is meant.
    pub fn amount(&self) -> &ReportedAmount {
        match self {
            Self::RunningTotal(amount) | Self::One(amount) | Self::OneOfTotal { one: amount, .. } => amount,
        }
    }
}

/// What became of a refund.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefundOutcome {
    /// The payer has the money.
    Succeeded,
    /// It was called off: the money was not given back.
    Closed,
    /// It is stuck (the payer's card is gone, say): not final, and a person must act at the provider.
    Abnormal,
}

impl RefundOutcome {
    fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Closed => "closed",
            Self::Abnormal => "abnormal",
        }
    }
}

/// An amount as a provider reports it: exact, or not usable at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReportedAmount {
    /// What was written, exactly.
    Exact(Amount),
    /// Missing, no plain number, negative, or finer than the currency's minor unit. It is not rounded.
    Malformed {
        /// The currency, where at least that could be read.
        currency: Option<Currency>,
        /// What was written instead, for people to read: at most 64 characters.
        written: String,
    },
    /// The currency is none that money can be held in here.
    UnknownCurrency {
        /// The provider's code for it: at most 64 characters.
        code: String,
        /// The amount as written: at most 64 characters.
        written: String,
    },
}

impl ReportedAmount {
    /// The amount, if it is one.
    pub fn exact(&self) -> Option<Amount> {
        match self {
            Self::Exact(amount) => Some(*amount),
            Self::Malformed { .. } | Self::UnknownCurrency { .. } => None,
        }
    }

    /// The currency, if it could be read.
    pub fn currency(&self) -> Option<Currency> {
        match self {
            Self::Exact(amount) => Some(amount.currency()),
            Self::Malformed { currency, .. } => *currency,
            Self::UnknownCurrency { .. } => None,
        }
    }
}

impl Notice {
    /// Bytes that are equal for two deliveries exactly when these mean the same, to be hashed and stored with the
    /// delivery key.
    ///
    /// A delivery that is repeated differs in what does not count (signature, time of the attempt) and is equal here; so
    /// a known key whose bytes differ is *not* a repetition, and must not be taken for one.
    pub fn meaning(&self) -> Vec<u8> {
        let mut meaning = Meaning(Vec::new());
        meaning.text(&self.event_type);
        meaning.event(&self.event);
        meaning.0
    }
}

impl Event {
    /// The word for the kind of event, in logs and in what `callback check` prints.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::PaymentSucceeded { .. } => "payment_succeeded",
            Self::PaymentFailed { .. } => "payment_failed",
            Self::PaymentClosed { .. } => "payment_closed",
            Self::Refunded(refund) => match refund.outcome {
                RefundOutcome::Succeeded => "refund_succeeded",
                RefundOutcome::Closed => "refund_closed",
                RefundOutcome::Abnormal => "refund_abnormal",
            },
            Self::Disputed { .. } => "disputed",
            Self::Noted { .. } => "noted",
            Self::OtherAccount { .. } => "other_account",
            Self::UnknownType => "unknown_type",
            Self::ToBeFetched { .. } => "to_be_fetched",
        }
    }

    /// Our number of the payment that the event speaks of, where it names one.
    pub fn payment_no(&self) -> Option<&str> {
        match self {
            Self::PaymentSucceeded { payment_no, .. }
            | Self::PaymentFailed { payment_no, .. }
            | Self::PaymentClosed { payment_no, .. }
            | Self::Noted { payment_no }
            | Self::Refunded(Refund { payment_no, .. }) => payment_no.as_deref(),
            Self::Disputed { .. }
            | Self::OtherAccount { .. }
            | Self::UnknownType
            | Self::ToBeFetched { .. } => None,
        }
    }

    /// The identity of the money at the provider, where the event names one.
    pub fn payment_id(&self) -> Option<&str> {
        match self {
            Self::PaymentSucceeded { payment_id, .. } | Self::Refunded(Refund { payment_id, .. }) => {
                Some(payment_id)
            }
            Self::PaymentFailed { payment_id, .. }
            | Self::PaymentClosed { payment_id, .. }
            | Self::Disputed { payment_id, .. } => payment_id.as_deref(),
            Self::Noted { .. } | Self::OtherAccount { .. } | Self::UnknownType | Self::ToBeFetched { .. } => {
                None
            }
        }
    }
}

/// Each text with its length before it, so that no two lists of texts give the same bytes.
struct Meaning(Vec<u8>);

impl Meaning {
    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(&(text.len() as u64).to_be_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn maybe(&mut self, text: Option<&str>) {
        self.text(if text.is_some() { "some" } else { "none" });
        self.text(text.unwrap_or_default());
    }

    fn amount(&mut self, amount: &ReportedAmount) {
        match amount {
            ReportedAmount::Exact(amount) => {
                self.text("exact");
                self.text(amount.currency().code());
                self.text(&amount.to_string());
            }
            ReportedAmount::Malformed { currency, written } => {
                self.text("malformed");
                self.maybe(currency.map(Currency::code));
                self.text(written);
            }
            ReportedAmount::UnknownCurrency { code, written } => {
                self.text("unknown_currency");
                self.text(code);
                self.text(written);
            }
        }
    }

    fn event(&mut self, event: &Event) {
        self.text(event.kind());
        self.maybe(event.payment_no());
        self.maybe(event.payment_id());
        match event {
            Event::PaymentSucceeded { amount, .. } => self.amount(amount),
            Event::Refunded(refund) => self.refund(refund),
            Event::OtherAccount { field } => self.text(field),
            Event::ToBeFetched { object_id, object_type } => {
                self.text(object_id);
                self.text(object_type);
            }
            Event::PaymentFailed { .. }
            | Event::PaymentClosed { .. }
            | Event::Disputed { .. }
            | Event::Noted { .. }
            | Event::UnknownType => {}
        }
    }

    fn refund(&mut self, refund: &Refund) {
        self.maybe(refund.refund_id.as_deref());
        self.maybe(refund.refund_no.as_deref());
        self.text(match refund.sum {
            RefundSum::RunningTotal(_) => "running_total",
            RefundSum::One(_) => "one",
            RefundSum::OneOfTotal { .. } => "one_of_total",
        });
        self.amount(refund.sum.amount());
        if let RefundSum::OneOfTotal { total: Some(total), .. } = &refund.sum {
            self.amount(total);
        }
        self.text(refund.outcome.word());
        match &refund.paid {
            Some(paid) => self.amount(paid),
            None => self.text("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paid(payment_no: Option<&str>, payment_id: &str, amount: &str) -> Notice {
        let cny = Currency::from_code("CNY").unwrap();
        Notice {
            delivery_key: "evt_1".to_owned(),
            event_type: "payment.succeeded".to_owned(),
            event: Event::PaymentSucceeded {
                payment_no: payment_no.map(str::to_owned),
                payment_id: payment_id.to_owned(),
                amount: ReportedAmount::Exact(Amount::parse(amount, cny).unwrap()),
            },
            key_id: "a".to_owned(),
            subject: None,
        }
    }

    #[test]
    fn the_key_that_signed_and_the_scale_of_an_amount_are_no_part_of_the_meaning() {
        let again = Notice {
            key_id: "b".to_owned(),
            subject: Some("tea".to_owned()),
            ..paid(Some("P-1"), "pi", "88.8")
        };
        assert_eq!(paid(Some("P-1"), "pi", "88.80").meaning(), again.meaning());
    }

    #[test]
    fn texts_that_only_run_together_mean_different_things() {
        assert_ne!(paid(Some("ab"), "c", "1").meaning(), paid(Some("a"), "bc", "1").meaning());
        assert_ne!(paid(Some(""), "c", "1").meaning(), paid(None, "c", "1").meaning());
    }

    #[test]
    fn another_amount_or_kind_is_another_meaning() {
        let first = paid(Some("P-1"), "pi", "88.80");
        assert_ne!(first.meaning(), paid(Some("P-1"), "pi", "88.81").meaning());
        let failed =
            Event::PaymentFailed { payment_no: Some("P-1".to_owned()), payment_id: Some("pi".to_owned()) };
        assert_ne!(first.meaning(), Notice { event: failed, ..first.clone() }.meaning());
    }
}
