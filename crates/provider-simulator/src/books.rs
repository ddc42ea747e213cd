//! The books of the providers: what was paid to them, and what they gave back.
//!
//! They are a list of entries, each of which was possible when it was written. What a provider answers, and what stands in
//! its statement, follows from them. They know no clock and no file: the time comes in, and [`crate::journal`] keeps them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::amount::Amount;
use crate::event::{Outcome, Payment, Refund, Unsayable};
use crate::ids;
use crate::provider::Provider;
use crate::scenario::{Action, Impossible, RefundAsked, Scenario};

/// Something that happened, as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When.
    pub at: DateTime<Utc>,
    /// At which provider.
    pub provider: Provider,
    /// The receiver's number for the payment.
    pub payment_no: String,
    /// Which payment under this number.
    pub nth: u32,
    /// How much the payment is.
    pub amount: Amount,
    /// ISO 4217, in capitals.
    pub currency: String,
    /// What happened.
    pub happened: Happened,
}

/// What can be in the books.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Happened {
    /// It was paid.
    Paid,
    /// An attempt to pay it failed.
    Failed,
    /// It was closed unpaid.
    Closed,
    /// It was refunded, or was to be.
    Refunded {
        /// The receiver's number for the refund.
        refund_no: String,
        /// How much.
        amount: Amount,
        /// What became of it.
        outcome: Outcome,
    },
}

/// A payment in the books.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Booked {
    /// At which provider.
    pub provider: Provider,
    /// The payment.
    pub payment: Payment,
    /// Which payment under its number it is.
    pub nth: u32,
    /// Since when it is known.
    pub created_at: DateTime<Utc>,
    /// How far it has come.
    pub state: State,
    /// What was given back, or was to be, in the order in which it happened.
    pub refunds: Vec<BookedRefund>,
}

/// How far a payment has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// An attempt failed, and another may succeed.
    Unpaid,
    /// It was paid then.
    Paid(DateTime<Utc>),
    /// It was closed unpaid.
    Closed,
}

/// A refund in the books.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BookedRefund {
    /// The refund, with the total as it was then.
    pub refund: Refund,
    /// When.
    pub at: DateTime<Utc>,
}

impl Booked {
    /// How much has gone back.
    pub fn refunded(&self) -> Amount {
        self.refunds.last().map_or(Amount::ZERO, |last| last.refund.refunded_total)
    }

    /// The refund that the receiver calls `refund_no`.
    pub fn refund(&self, refund_no: &str) -> Option<&BookedRefund> {
        self.refunds.iter().find(|one| one.refund.refund_no == refund_no)
    }

    /// The refund of that number, if it is stuck.
    fn stuck(&self, refund_no: &str) -> Option<&Refund> {
        let refund = &self.refund(refund_no)?.refund;
        (refund.outcome == Outcome::Abnormal).then_some(refund)
    }

    /// When it was paid.
    pub fn paid_at(&self) -> Option<DateTime<Utc>> {
        match self.state {
            State::Paid(at) => Some(at),
            State::Unpaid | State::Closed => None,
        }
    }
}

/// Why something cannot happen.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotBooked {
    /// There is no such payment.
    #[error("there is no payment {0}")]
    Unknown(String),
    /// Nothing was paid that could go back.
    #[error("the payment is not paid")]
    NotPaid,
    /// What is paid cannot fail or be closed.
    #[error("the payment is paid")]
    AlreadyPaid,
    /// What is closed cannot be paid.
    #[error("the payment is closed")]
    AlreadyClosed,
    /// The same payment, or the same refund, was of another amount.
    #[error("the same was of {booked} before")]
    OtherAmount {
        /// How much it was.
        booked: String,
    },
    /// More would go back than was paid, or the provider cannot say the amount.
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

impl From<Unsayable> for NotBooked {
    fn from(unsayable: Unsayable) -> Self {
        Self::Impossible(unsayable.into())
    }
}

/// The books of all four providers.
#[derive(Clone, Debug, Default)]
pub struct Books {
    payments: Vec<Booked>,
    by_number: HashMap<(Provider, String), Vec<usize>>,
    by_id: HashMap<(Provider, String), usize>,
    by_refund: HashMap<(Provider, String), usize>,
}

impl Books {
    /// The payments under a number, in the order in which they came.
    pub fn under_number(&self, provider: Provider, payment_no: &str) -> impl Iterator<Item = &Booked> {
        let found = self.by_number.get(&(provider, payment_no.to_owned()));
        found.into_iter().flatten().map(|index| &self.payments[*index])
    }

    /// The payment under a number that a provider speaks of: the paid one, or the last.
    pub fn of_number(&self, provider: Provider, payment_no: &str) -> Option<&Booked> {
        let paid = self.under_number(provider, payment_no).find(|one| one.paid_at().is_some());
        paid.or_else(|| self.under_number(provider, payment_no).last())
    }

    /// The payment with the provider's id.
    pub fn of_id(&self, provider: Provider, provider_payment_id: &str) -> Option<&Booked> {
        let index = self.by_id.get(&(provider, provider_payment_id.to_owned()))?;
        Some(&self.payments[*index])
    }

    /// The payment whose refund the receiver calls `refund_no`, and the refund.
    pub fn of_refund(&self, provider: Provider, refund_no: &str) -> Option<(&Booked, &BookedRefund)> {
        let booked = &self.payments[*self.by_refund.get(&(provider, refund_no.to_owned()))?];
        Some((booked, booked.refund(refund_no)?))
    }

    /// Every payment, in the order in which they came.
    pub fn payments(&self) -> &[Booked] {
        &self.payments
    }

    /// The entry that a scenario makes, if it happens at `at`; `None` when the same has happened before, which changes
    /// nothing. A refund that is stuck is ended by letting it happen again, with another outcome.
    ///
    /// # Errors
    ///
    /// When it cannot happen.
    pub fn entry_of(&self, scenario: &Scenario, at: DateTime<Utc>) -> Result<Option<Entry>, NotBooked> {
        let payment = scenario.payment();
        let booked = self.of_id(scenario.provider, &payment.provider_payment_id);
        let is_known_sum = booked.is_some_and(|one| {
            (one.payment.amount, &one.payment.currency) == (payment.amount, &payment.currency)
        });
        let happened = match &scenario.action {
            Action::Pay => match booked.map(|one| one.state) {
                Some(State::Paid(_)) if is_known_sum => return Ok(None),
                Some(State::Paid(_)) => return Err(other_amount(booked)),
                Some(State::Closed) => return Err(NotBooked::AlreadyClosed),
                Some(State::Unpaid) | None => Happened::Paid,
            },
            Action::Fail | Action::Close => match (booked.map(|one| one.state), &scenario.action) {
                (Some(State::Paid(_)), _) => return Err(NotBooked::AlreadyPaid),
                (Some(State::Closed), Action::Close) => return Ok(None),
                (Some(State::Closed), _) => return Err(NotBooked::AlreadyClosed),
                (_, Action::Close) => Happened::Closed,
                _ => Happened::Failed,
            },
            Action::Refund(asked) => {
                let booked = booked.ok_or_else(|| NotBooked::Unknown(scenario.payment_no.clone()))?;
                return match booked.stuck(&asked.refund_no) {
                    Some(stuck) if asked.outcome != Outcome::Abnormal => {
                        let asked =
                            RefundAsked { amount: asked.amount.or(Some(stuck.amount)), ..asked.clone() };
                        new_refund(booked, &asked, at).map(Some)
                    }
                    _ => self.refund_of(booked, asked, at),
                };
            }
        };
        Ok(Some(Entry {
            at,
            provider: scenario.provider,
            payment_no: scenario.payment_no.clone(),
            nth: scenario.nth,
            amount: scenario.amount,
            currency: scenario.currency.clone(),
            happened,
        }))
    }

    /// The entry of a refund of `booked`. What went back before, the books know better than who asks.
    ///
    /// # Errors
    ///
    /// When nothing was paid, when more would go back than was, or when the same number was another refund.
    pub fn refund_of(
        &self,
        booked: &Booked,
        asked: &RefundAsked,
        at: DateTime<Utc>,
    ) -> Result<Option<Entry>, NotBooked> {
        if booked.paid_at().is_none() {
            return Err(NotBooked::NotPaid);
        }
        if let Some((other, known)) = self.of_refund(booked.provider, &asked.refund_no) {
            let is_the_same = other.payment.provider_payment_id == booked.payment.provider_payment_id
                && asked.amount.is_none_or(|amount| amount == known.refund.amount);
            let of = || format!("{} {}", known.refund.amount, other.payment.currency);
            return if is_the_same { Ok(None) } else { Err(NotBooked::OtherAmount { booked: of() }) };
        }
        new_refund(booked, asked, at).map(Some)
    }

    /// Writes an entry into the books.
    ///
    /// # Errors
    ///
    /// When it is a refund of what is not in them: such an entry was not made by [`Self::entry_of`] on these books.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), NotBooked> {
        let index = self.index_of(entry);
        let booked = &mut self.payments[index];
        match &entry.happened {
            Happened::Paid => {
                booked.payment.amount = entry.amount;
                booked.payment.currency.clone_from(&entry.currency);
                booked.state = State::Paid(entry.at);
            }
            Happened::Failed => booked.state = State::Unpaid,
            Happened::Closed => booked.state = State::Closed,
            Happened::Refunded { refund_no, amount, outcome } => {
                let asked = RefundAsked {
                    refund_no: refund_no.clone(),
                    amount: Some(*amount),
                    refunded_before: booked.refunded(),
                    outcome: *outcome,
                };
                let refund = asked.refund_of(&booked.payment, entry.provider)?;
                // One that was stuck and is ended by somebody happens when it is ended.
                booked.refunds.retain(|one| one.refund.refund_no != *refund_no);
                booked.refunds.push(BookedRefund { refund, at: entry.at });
                self.by_refund.insert((entry.provider, refund_no.clone()), index);
            }
        }
        Ok(())
    }

    /// Where the entry's payment stands; a new one is begun for one that is not known.
    fn index_of(&mut self, entry: &Entry) -> usize {
        let id = ids::payment(entry.provider, &entry.payment_no, entry.nth);
        if let Some(index) = self.by_id.get(&(entry.provider, id.clone())) {
            return *index;
        }
        let index = self.payments.len();
        self.payments.push(Booked {
            provider: entry.provider,
            payment: Payment {
                payment_no: entry.payment_no.clone(),
                provider_payment_id: id.clone(),
                amount: entry.amount,
                currency: entry.currency.clone(),
            },
            nth: entry.nth,
            created_at: entry.at,
            state: State::Unpaid,
            refunds: Vec::new(),
        });
        self.by_number.entry((entry.provider, entry.payment_no.clone())).or_default().push(index);
        self.by_id.insert((entry.provider, id), index);
        index
    }
}

/// The entry of a refund that is new, or ends a stuck one.
fn new_refund(booked: &Booked, asked: &RefundAsked, at: DateTime<Utc>) -> Result<Entry, NotBooked> {
    let asked = RefundAsked { refunded_before: booked.refunded(), ..asked.clone() };
    let refund = asked.refund_of(&booked.payment, booked.provider)?;
    Ok(Entry {
        at,
        provider: booked.provider,
        payment_no: booked.payment.payment_no.clone(),
        nth: booked.nth,
        amount: booked.payment.amount,
        currency: booked.payment.currency.clone(),
        happened: Happened::Refunded {
            refund_no: refund.refund_no,
            amount: refund.amount,
            outcome: refund.outcome,
        },
    })
}

fn other_amount(booked: Option<&Booked>) -> NotBooked {
    let booked =
        booked.map_or_else(String::new, |one| format!("{} {}", one.payment.amount, one.payment.currency));
    NotBooked::OtherAmount { booked }
}

#[cfg(test)]
mod tests;
