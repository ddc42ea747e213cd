//! Whether what was received pays its order, and how it is booked.
//!
//! State only moves forward, and no money is ever unbooked: what the provider says it received is in its clearing
//! account from the receipt on, against revenue if it paid its order, against `unapplied_receipts` if it did not.

use std::cmp::Ordering;

use account::EntryKind;
use money::Amount;

use crate::case::{Case, Raised};
use crate::receipt::minor;
use crate::told::{Effect, Told};
use crate::{AlertKind, Funds, PaymentStatus, Receipt, ReceiptState, ReportedAmount};

impl Case<'_> {
    /// Judges a receipt whose funds have changed, and books the change.
    ///
    /// `before` is where its money stood. The difference to what it has received now goes through
    /// `unapplied_receipts`, unless all of it is new and settles at once.
    pub(crate) fn judge(&mut self, receipt: &mut Receipt, before: Option<Funds>) -> Effect {
        let Some(funds) = receipt.funds else { return Effect::None };
        let verdict = self.judged(receipt);
        if verdict == ReceiptState::Settled && receipt.state.is_open() {
            self.settle(receipt, before);
            return Effect::Settled;
        }
        self.book_difference(receipt, before, funds);
        receipt.state = verdict;
        let kind = match verdict {
            // It has gone back already.
            open if open.is_open() && funds.unapplied_minor_units() == 0 && !funds.received.is_zero() => {
                self.supersede(receipt);
                return Effect::None;
            }
            // It is asked about after a while; a question that was asked then is asked anew, about what there is now.
            ReceiptState::Unmatched if receipt.payment_no.is_some() && !self.asks_as_unmatched(receipt) => {
                self.supersede(receipt);
                return Effect::Parked;
            }
            ReceiptState::Unmatched => AlertKind::Unmatched,
            ReceiptState::Late => AlertKind::Late,
            ReceiptState::Excess => AlertKind::Excess,
            ReceiptState::Settled | ReceiptState::Accepted if funds.unapplied_minor_units() == 0 => {
                self.supersede(receipt);
                return Effect::None;
            }
            // A person, or an order that is paid, has decided about another amount than this.
            ReceiptState::Mismatched
            | ReceiptState::Settled
            | ReceiptState::Accepted
            | ReceiptState::RefundOwed
            | ReceiptState::Dismissed => AlertKind::Mismatched,
        };
        self.ask_about(receipt, kind, Some(funds.received), None);
        Effect::Held
    }

    fn asks_as_unmatched(&self, receipt: &Receipt) -> bool {
        let open = receipt.open_alert.and_then(|id| self.alert(id));
        open.is_some_and(|alert| alert.kind == AlertKind::Unmatched)
    }

    /// Asks about a receipt whose provider last wrote what is no amount of its currency, and books nothing.
    pub(crate) fn hold_unreadable(&mut self, receipt: &mut Receipt, reported: Option<Amount>) {
        receipt.state = self.judged(receipt);
        let kind = question_of(receipt.state);
        let written = receipt.unreadable.as_deref().unwrap_or_default();
        let detail = format!("the provider reports {written}");
        self.ask_about(receipt, kind, reported, Some(detail));
    }

    /// Asks about a receipt whose amount has changed while its provider named another payment, and books the change.
    pub(crate) fn hold_misnamed(&mut self, receipt: &mut Receipt, before: Funds, detail: String) {
        let Some(funds) = receipt.funds else { return };
        self.book_difference(receipt, Some(before), funds);
        receipt.unreadable = None;
        if receipt.state == ReceiptState::Dismissed {
            receipt.state = ReceiptState::Unmatched;
        }
        if receipt.state.is_open() {
            receipt.state = match self.verdict(receipt) {
                // It would be the right amount, if it were for this payment.
                ReceiptState::Settled => ReceiptState::Mismatched,
                verdict => verdict,
            };
        }
        self.ask_about(receipt, question_of(receipt.state), Some(funds.received), Some(detail));
    }

    /// Whether a receipt that has paid nothing would pay its order now.
    pub(crate) fn would_settle(&self, receipt: &Receipt) -> bool {
        receipt.state.is_open() && self.verdict(receipt) == ReceiptState::Settled
    }

    /// The state of a receipt, as things stand: what somebody has decided, or has paid an order, stays so.
    fn judged(&self, receipt: &Receipt) -> ReceiptState {
        if receipt.state.is_open() { self.verdict(receipt) } else { receipt.state }
    }

    /// What becomes of a receipt's money. What the provider says now counts, and where that is no amount, none is right.
    fn verdict(&self, receipt: &Receipt) -> ReceiptState {
        let received = receipt.funds.map(|funds| funds.received).filter(|_| receipt.unreadable.is_none());
        let Some((payment, request)) = self.payment().and_then(|payment| Some((payment, payment.request?)))
        else {
            return ReceiptState::Unmatched;
        };
        if receipt.payment_no.as_ref() != Some(&payment.payment_no) {
            return ReceiptState::Unmatched;
        }
        match payment.at(self.now) {
            _ if request.provider != receipt.provider => ReceiptState::Excess,
            PaymentStatus::Settled => ReceiptState::Excess,
            PaymentStatus::Expired | PaymentStatus::Closed => ReceiptState::Late,
            PaymentStatus::Parked => ReceiptState::Unmatched,
            PaymentStatus::Pending if received != Some(request.amount) => ReceiptState::Mismatched,
            PaymentStatus::Pending => ReceiptState::Settled,
        }
    }

    /// The receipt pays its order.
    fn settle(&mut self, receipt: &mut Receipt, before: Option<Funds>) {
        let Some(funds) = receipt.funds else { return };
        match before {
            None => self.book(receipt, EntryKind::PaymentSettled, funds.received),
            Some(_) => {
                self.book_difference(receipt, before, funds);
                if let Some(unapplied) = funds.unapplied() {
                    self.book(receipt, EntryKind::PaymentApplied, unapplied);
                }
            }
        }
        self.supersede(receipt);
        receipt.state = ReceiptState::Settled;
        self.pay_order(receipt, funds);
    }

    /// The order is paid with all that was received; what the provider had given back before counts as refunded.
    pub(crate) fn pay_order(&mut self, receipt: &mut Receipt, funds: Funds) {
        let applied = funds.unapplied().unwrap_or(Amount::zero(funds.currency()));
        receipt.funds = Some(Funds { applied, ..funds });
        self.set_payment_status(PaymentStatus::Settled);
        let paid = self.order().map(|order| order.paid_at_provider(funds.received, self.now));
        let Some(Ok(paid)) = paid else { return };
        self.advance_order(paid.clone());
        if !funds.refunded.is_zero()
            && let Ok(refunded) = paid.refunded_at_provider(funds.refunded, self.now)
        {
            self.advance_order(refunded);
        }
    }

    fn book_difference(&mut self, receipt: &Receipt, before: Option<Funds>, funds: Funds) {
        let received_before = before.map_or(Amount::zero(funds.currency()), |before| before.received);
        let difference = minor(funds.received) - minor(received_before);
        let amount = Amount::from_minor_units(difference.unsigned_abs(), funds.currency())
            .expect("a difference of two amounts is in range");
        let kind = match difference.cmp(&0) {
            Ordering::Less => EntryKind::PaymentReversed,
            Ordering::Equal | Ordering::Greater => EntryKind::PaymentUnapplied,
        };
        self.book(receipt, kind, amount);
    }

    /// Asks a person about a receipt as it now is. The question takes the place of the one before.
    pub(crate) fn ask_about(
        &mut self,
        receipt: &mut Receipt,
        kind: AlertKind,
        received: Option<Amount>,
        detail: Option<String>,
    ) {
        // A receipt changes with each question, so it is asked about once in each of its versions: in the one that it
        // shall have, since the first question may be asked when it is made.
        let cause = format!("receipt:{}:{}", receipt.id, self.next_version(receipt));
        let expected = self.expected();
        self.raise(Raised { kind, cause, receipt, expected, received, detail });
    }

    /// Asks a person about a delivery, beside what is asked about its receipt.
    pub(crate) fn ask_beside(
        &mut self,
        told: Told<'_>,
        receipt: Receipt,
        kind: AlertKind,
        reported: &ReportedAmount,
        detail: Option<String>,
    ) -> Effect {
        self.ask_beside_for(told.cause(), receipt, kind, reported, detail)
    }

    /// The same for another cause than the delivery.
    pub(crate) fn ask_beside_for(
        &mut self,
        cause: String,
        mut receipt: Receipt,
        kind: AlertKind,
        reported: &ReportedAmount,
        detail: Option<String>,
    ) -> Effect {
        let own = receipt.open_alert.take();
        let (expected, received) = (self.expected(), reported.exact());
        self.raise(Raised { kind, cause, receipt: &mut receipt, expected, received, detail });
        receipt.open_alert = own;
        self.set_receipt(receipt);
        Effect::Held
    }

    fn expected(&self) -> Option<Amount> {
        self.payment().and_then(|payment| payment.request).map(|request| request.amount)
    }

    pub(crate) fn expire_order(&mut self) {
        if let Some(Ok(expired)) = self.order().map(|order| order.expired_at_provider(self.now)) {
            self.advance_order(expired);
        }
    }

    /// Expires the payment, and its order, if its time is over. Answers whether it was.
    pub fn expire_if_due(&mut self) -> bool {
        let due = self.payment().is_some_and(|payment| {
            payment.status == PaymentStatus::Pending && payment.at(self.now) == PaymentStatus::Expired
        });
        if due {
            self.set_payment_status(PaymentStatus::Expired);
            self.expire_order();
        }
        due
    }
}

/// What is asked about a receipt that cannot be right, whatever it turns out to be for.
fn question_of(state: ReceiptState) -> AlertKind {
    match state {
        ReceiptState::Late => AlertKind::Late,
        ReceiptState::Excess => AlertKind::Excess,
        ReceiptState::Unmatched
        | ReceiptState::Mismatched
        | ReceiptState::Settled
        | ReceiptState::Accepted
        | ReceiptState::RefundOwed
        | ReceiptState::Dismissed => AlertKind::Mismatched,
    }
}
