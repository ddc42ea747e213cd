//! What a provider says it has given back.
//!
//! It is taken by running total: a provider that tells each refund by its own id is added up, each id once. What was
//! told of before its payment waits for it.

use account::EntryKind;
use money::Amount;

use crate::case::{ANSWERED, Case};
use crate::receipt::minor;
use crate::told::{Effect, Told, names_another_payment};
use crate::{
    AlertAction, AlertKind, AskedStatus, Funds, Notice, ProviderKind, ReceiptKey, ReceiptRefund, Refund,
    RefundOutcome, RefundSum, ReportedAmount,
};

impl Case<'_> {
    pub(crate) fn receive_refund(&mut self, told_of: Told<'_>, refund: &Refund) -> Effect {
        let status = |case: &Self| case.asked_by_us(refund).map(|asked| asked.status);
        let asked = status(self);
        self.end_asked(refund);
        let effect = self.book_refund(told_of, refund, asked);
        match (effect, status(self)) {
            (Effect::None, now) if now == asked => Effect::None,
            (Effect::None, Some(AskedStatus::Succeeded)) => Effect::RefundConfirmed,
            (Effect::None, Some(AskedStatus::Failed)) => Effect::RefundFailed,
            (effect, _) => effect,
        }
    }

    /// Books what a provider says of a refund. `asked` is how far it was, if the provider was asked for it.
    fn book_refund(&mut self, told_of: Told<'_>, refund: &Refund, asked: Option<AskedStatus>) -> Effect {
        let stuck = stuck_cause(told_of.provider, refund);
        if refund.outcome != RefundOutcome::Abnormal {
            self.end_stuck(stuck.as_deref());
        }
        if refund.outcome == RefundOutcome::Closed {
            return self.receive_failed_refund(told_of, refund, asked);
        }
        let payment_no = refund.payment_no.as_deref();
        let mut receipt = self.receipt_for(told_of.provider, payment_no, &refund.payment_id);
        let reported = refund.sum.amount();
        if let RefundSum::One(_) = refund.sum {
            let key = (self.client_id, told_of.provider, refund_id(refund, told_of.notice));
            match self.refund(&key) {
                Some(counted) if tells_the_same(refund, counted) => return Effect::None,
                Some(counted) => {
                    let detail = told_otherwise(counted);
                    let kind = AlertKind::RefundMismatched;
                    return self.ask_beside(told_of, receipt, kind, reported, Some(detail));
                }
                None => {}
            }
        }
        if refund.outcome == RefundOutcome::Abnormal {
            // A callback, an answer and the next answer all say so of one refund: a person is asked once.
            if stuck.as_deref().is_some_and(|cause| self.alert_of(cause).is_some()) {
                return Effect::None;
            }
            let detail = "a refund is stuck at the provider; it has to be ended there".to_owned();
            let cause = stuck.unwrap_or_else(|| told_of.cause());
            let kind = AlertKind::RefundAttention;
            return self.ask_beside_for(cause, receipt, kind, reported, Some(detail));
        }
        let misnamed = names_another_payment(&receipt, payment_no);
        let (Some(amount), false) = (reported.exact(), misnamed) else {
            return self.ask_beside(told_of, receipt, AlertKind::RefundMismatched, reported, None);
        };
        let funds = receipt.funds.unwrap_or(Funds::nothing(amount.currency()));
        let told = match &refund.sum {
            RefundSum::RunningTotal(_) => Some(amount),
            RefundSum::One(_) => funds.refund_told.checked_add(amount).ok(),
            RefundSum::OneOfTotal { total, .. } => {
                let total = total.as_ref().and_then(ReportedAmount::exact);
                let total = total.filter(|total| total.currency() == amount.currency()).map_or(0, minor);
                let back = self.told_at_least(&receipt.key()).max(minor(funds.refund_told)).max(total);
                Amount::from_minor_units(back.unsigned_abs(), amount.currency()).ok()
            }
        };
        let Some(told) = told.filter(|told| fits(*told, &funds)) else {
            return self.ask_beside(told_of, receipt, AlertKind::RefundMismatched, reported, None);
        };
        // Less than was told of before is older.
        if minor(told) <= minor(funds.refund_told) {
            return Effect::None;
        }
        receipt.funds = Some(Funds { refund_told: told, ..funds });
        if let RefundSum::One(_) = refund.sum {
            self.note_refund(ReceiptRefund {
                client_id: self.client_id,
                provider: told_of.provider,
                provider_payment_id: refund.payment_id.clone(),
                provider_refund_id: refund_id(refund, told_of.notice),
                amount,
                created_at: self.now,
            });
        }
        let key = receipt.key();
        self.set_receipt(receipt);
        if self.book_told_refunds(&key) { Effect::Refunded } else { Effect::RefundParked }
    }

    /// A refund has failed. The money is where it was, unless the refund counts already: nothing turns back by itself, neither
    /// the order nor a running total, so then a person is asked, once however often it is told of. `asked` is how far the
    /// refund was, if the provider was asked for it.
    fn receive_failed_refund(
        &mut self,
        told_of: Told<'_>,
        refund: &Refund,
        asked: Option<AskedStatus>,
    ) -> Effect {
        let key = (self.client_id, told_of.provider, refund.payment_id.clone());
        let Some(receipt) = self.receipt(&key).cloned() else { return Effect::RefundFailed };
        let is_asked_about = matches!(asked, Some(AskedStatus::Pending | AskedStatus::Unknown));
        let counts = asked == Some(AskedStatus::Succeeded)
            || match refund.sum {
                RefundSum::One(_) => {
                    let key = (self.client_id, told_of.provider, refund_id(refund, told_of.notice));
                    self.refund(&key).is_some()
                }
                // It was in the total, as far as that can be known.
                RefundSum::RunningTotal(_) | RefundSum::OneOfTotal { .. } => {
                    receipt.funds.is_some_and(|funds| !funds.refund_told.is_zero())
                }
            };
        let kind = AlertKind::RefundAttention;
        let cause = failure_cause(told_of.provider, refund).unwrap_or_else(|| told_of.cause());
        if !counts || is_asked_about || self.alert_of(&cause).is_some() {
            // Of one that nobody asked for here nothing is kept but that it was told of.
            return if asked.is_none() && !counts { Effect::RefundFailed } else { Effect::None };
        }
        let name = refund.refund_id.as_ref().or(refund.refund_no.as_ref()).map_or("a refund", String::as_str);
        let detail = format!(
            "the provider says that {name} has failed, and it counts as given back: if the payer does not have the \
             money, give it back at the provider"
        );
        self.ask_beside_for(cause, receipt, kind, refund.sum.amount(), Some(detail))
    }

    /// The refund is over, one way or the other: whoever was asked to end it at the provider is asked no more.
    fn end_stuck(&mut self, cause: Option<&str>) {
        if let Some(id) = cause.and_then(|cause| self.alert_of(cause)).map(|alert| alert.id) {
            self.end_alert(id, AlertAction::Superseded, "service", ANSWERED.to_owned());
        }
    }

    /// Books what the provider has told of as given back and what is not booked yet, as far as money was received:
    /// first from what is owed back, then from what has paid the order, and the rest from what has paid nothing.
    pub(crate) fn book_told_refunds(&mut self, key: &ReceiptKey) -> bool {
        let Some(mut receipt) = self.receipt(key).cloned() else { return false };
        let Some(mut funds) = receipt.funds else { return false };
        let due = minor(funds.refund_told).min(minor(funds.received)) - minor(funds.refunded);
        if due <= 0 {
            return false;
        }
        let currency = funds.currency();
        let part = |units: i128| {
            Amount::from_minor_units(units.unsigned_abs(), currency).expect("a part of an amount")
        };
        let from_owed = due.min(minor(funds.owed));
        let from_applied = (due - from_owed).min(minor(funds.applied));
        let (owed, applied) = (part(from_owed), part(from_applied));
        let unapplied = part(due - from_owed - from_applied);
        self.book(&receipt, EntryKind::OwedRefunded, owed);
        self.book(&receipt, EntryKind::PaymentRefunded, applied);
        self.book(&receipt, EntryKind::UnappliedRefunded, unapplied);
        funds.refunded = part(minor(funds.refunded) + due);
        funds.owed = part(minor(funds.owed) - from_owed);
        funds.applied = part(minor(funds.applied) - from_applied);
        receipt.funds = Some(funds);
        if from_applied > 0
            && let Some(Ok(order)) = self.order().map(|order| order.refunded_at_provider(applied, self.now))
        {
            self.advance_order(order);
        }
        // Nothing is left to ask about.
        if receipt.state.is_open() && funds.unapplied_minor_units() == 0 && !funds.received.is_zero() {
            self.supersede(&mut receipt);
        }
        self.set_receipt(receipt);
        true
    }
}

/// Whether a refund that counts already is only told of again. That it was stuck is older news than that it was done.
fn tells_the_same(refund: &Refund, counted: &ReceiptRefund) -> bool {
    refund.payment_id == counted.provider_payment_id
        && (refund.outcome == RefundOutcome::Abnormal || refund.sum.amount().exact() == Some(counted.amount))
}

fn told_otherwise(counted: &ReceiptRefund) -> String {
    format!(
        "the refund {} counts already, as {} {} of the money {}",
        counted.provider_refund_id,
        counted.amount,
        counted.amount.currency(),
        counted.provider_payment_id
    )
}

/// By what a refund of a provider that tells of each by itself is known: its own id, else our number of it, else the
/// delivery that told of it.
pub fn refund_id(refund: &Refund, notice: &Notice) -> String {
    let own = refund.refund_id.as_ref().or(refund.refund_no.as_ref());
    own.unwrap_or(&notice.delivery_key).clone()
}

/// What the alert about a refund that has failed is raised by, where the refund has a name: it is told of in several
/// deliveries (Stripe's `refund.failed`, `refund.updated` and `charge.refund.updated`), and asked about once.
pub fn failure_cause(provider: ProviderKind, refund: &Refund) -> Option<String> {
    let name = refund.refund_id.as_ref().or(refund.refund_no.as_ref())?;
    (refund.outcome == RefundOutcome::Closed).then(|| format!("failed-refund:{provider}:{name}"))
}

/// What raises the alert about a refund that is stuck, whichever way its provider tells of it; none, where the provider does
/// not name the refund.
pub fn stuck_cause(provider: ProviderKind, refund: &Refund) -> Option<String> {
    let id = refund.refund_id.as_ref().or(refund.refund_no.as_ref())?;
    Some(format!("stuck:{}:{id}", provider.word()))
}

/// Whether so much can have been given back: of the currency that was received, and no more than that; of money that
/// was not told of yet, anything.
fn fits(told: Amount, funds: &Funds) -> bool {
    match funds.received.is_zero() {
        true => told.currency() == funds.currency(),
        false => is_part_of(told, funds.received),
    }
}

/// The refund that was told of before its payment and cannot be one of so much money.
pub(crate) fn unfit_refund(before: Option<Funds>, received: Option<Amount>) -> Option<Amount> {
    let (told, received) = (before?.refund_told, received?);
    (!told.is_zero() && !is_part_of(told, received)).then_some(told)
}

fn is_part_of(told: Amount, received: Amount) -> bool {
    told.currency() == received.currency() && minor(told) <= minor(received)
}
