//! What a callback does to a payment.
//!
//! State only moves forward, and no money is ever unbooked: what the provider says it received is in its clearing
//! account from the receipt on, against revenue if it paid its order, against `unapplied_receipts` if it did not.

use std::cmp::Ordering;

use account::EntryKind;
use money::Amount;

use crate::case::{Case, Raised};
use crate::receipt::minor;
use crate::refund::unfit_refund;
use crate::{
    AlertKind, Event, Funds, Notice, Payment, PaymentStatus, ProviderKind, Receipt, ReceiptId, ReceiptState,
    ReportedAmount,
};

/// What a delivery did to the books.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Nothing: it said nothing new, or nothing that books are kept of.
    None,
    /// The payment, and its order, are paid.
    Settled,
    /// Money was received that has paid nothing; an alert asks a person.
    Held,
    /// Money was received under a number that no payment has yet.
    Parked,
    /// Money was given back.
    Refunded,
    /// A refund was told of before its payment, and waits for it.
    RefundParked,
    /// A failed attempt was noted.
    FailureNoted,
    /// The payment is closed, and its order expired.
    Closed,
}

impl Effect {
    /// Every effect.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Settled,
        Self::Held,
        Self::Parked,
        Self::Refunded,
        Self::RefundParked,
        Self::FailureNoted,
        Self::Closed,
    ];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Settled => "settled",
            Self::Held => "held",
            Self::Parked => "parked",
            Self::Refunded => "refunded",
            Self::RefundParked => "refund_parked",
            Self::FailureNoted => "failure_noted",
            Self::Closed => "closed",
        }
    }

    /// The effect of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == word)
    }

    /// Whether a person has to look at the delivery, so that its bytes are kept for a while.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Held | Self::Parked)
    }
}

/// What a delivery told of, and where it came in.
#[derive(Clone, Copy, Debug)]
pub struct Told<'n> {
    /// The endpoint that it came to.
    pub endpoint: &'n str,
    /// Whose words these are.
    pub provider: ProviderKind,
    /// The words.
    pub notice: &'n Notice,
}

impl Told<'_> {
    /// The cause of an alert that is about this delivery and no state of a receipt: a delivery raises one.
    pub(crate) fn cause(&self) -> String {
        format!("delivery:{}:{}", self.endpoint, self.notice.delivery_key)
    }
}

impl Case<'_> {
    /// Takes in what a verified delivery says. A refund that has an id of its own is given only the first time.
    pub fn receive(&mut self, told: Told<'_>) -> Effect {
        self.expire_if_due();
        match &told.notice.event {
            Event::PaymentSucceeded { payment_no, payment_id, amount } => {
                self.receive_money(told, payment_no.as_deref(), payment_id, amount)
            }
            Event::PaymentFailed { .. } => self.note_failure(told.provider),
            Event::PaymentClosed { .. } => self.close_payment(told.provider),
            Event::Refunded(refund) => self.receive_refund(told, refund),
            Event::Disputed { .. }
            | Event::Noted { .. }
            | Event::OtherAccount { .. }
            | Event::UnknownType
            | Event::ToBeFetched { .. } => Effect::None,
        }
    }

    fn receive_money(
        &mut self,
        told: Told<'_>,
        payment_no: Option<&str>,
        payment_id: &str,
        amount: &ReportedAmount,
    ) -> Effect {
        let key = (self.client_id, told.provider, payment_id.to_owned());
        let named_before = self.receipt(&key).and_then(|receipt| receipt.payment_no.clone());
        let mut receipt = self.receipt_for(told.provider, payment_no, payment_id);
        if names_another_payment(&receipt, payment_no) {
            let detail = format!("the provider names another payment: {}", payment_no.unwrap_or_default());
            return self.ask_beside(told, receipt, AlertKind::Mismatched, amount, Some(detail));
        }
        // A refund that overtook its payment has made a receipt of nothing.
        let before = receipt.funds.filter(Funds::are_booked);
        // What was dismissed then was no money, and says nothing about money that comes now.
        if before.is_none() && receipt.state == ReceiptState::Dismissed && receipt.unreadable.is_none() {
            receipt.state = ReceiptState::Unmatched;
        }
        let unfit = before.is_none().then(|| unfit_refund(receipt.funds, amount.exact())).flatten();
        let effect = match (amount, receipt.funds) {
            // The first money under this id says which currency it is in, whatever a refund has named before.
            (ReportedAmount::Exact(amount), funds)
                if before.is_none() && funds.is_none_or(|funds| funds.currency() != amount.currency()) =>
            {
                receipt.funds = Some(Funds { received: *amount, ..Funds::nothing(amount.currency()) });
                receipt.unreadable = None;
                self.judge(&mut receipt, before)
            }
            (ReportedAmount::Exact(amount), Some(funds)) if funds.currency() == amount.currency() => {
                let is_known = funds.received == *amount && before.is_some();
                if is_known && receipt.unreadable.is_none() && receipt.payment_no == named_before {
                    return Effect::None;
                }
                receipt.funds = Some(Funds { received: *amount, ..funds });
                receipt.unreadable = None;
                self.judge(&mut receipt, before)
            }
            // Another currency under the same id is no difference that could be booked, and neither is what is no
            // amount at all.
            (reported, _) => {
                receipt.unreadable = Some(as_written(reported));
                self.hold_unreadable(&mut receipt, reported.exact());
                Effect::Held
            }
        };
        self.set_receipt(receipt);
        self.book_told_refunds(&key);
        if let (Some(refund), Some(receipt)) = (unfit, self.receipt(&key).cloned()) {
            let detail = "a refund that was told of before its payment does not fit it".to_owned();
            let refund = ReportedAmount::Exact(refund);
            self.ask_beside(told, receipt, AlertKind::RefundMismatched, &refund, Some(detail));
        }
        effect
    }

    /// The receipt of a provider's payment id, made if it is new.
    pub(crate) fn receipt_for(
        &mut self,
        provider: ProviderKind,
        payment_no: Option<&str>,
        payment_id: &str,
    ) -> Receipt {
        let key = (self.client_id, provider, payment_id.to_owned());
        let mut receipt = self.receipt(&key).cloned().unwrap_or_else(|| Receipt {
            client_id: self.client_id,
            id: ReceiptId(self.new_id()),
            provider,
            provider_payment_id: payment_id.to_owned(),
            payment_no: None,
            state: ReceiptState::Unmatched,
            funds: None,
            unreadable: None,
            open_alert: None,
            version: 1,
            created_at: self.now,
            updated_at: self.now,
        });
        if receipt.payment_no.is_none() {
            receipt.payment_no = payment_no.map(str::to_owned);
        }
        receipt
    }

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
        let kind = match receipt.state {
            ReceiptState::Late => AlertKind::Late,
            ReceiptState::Excess => AlertKind::Excess,
            // Whatever it turns out to be for, it cannot be right.
            ReceiptState::Unmatched
            | ReceiptState::Mismatched
            | ReceiptState::Settled
            | ReceiptState::Accepted
            | ReceiptState::RefundOwed
            | ReceiptState::Dismissed => AlertKind::Mismatched,
        };
        let written = receipt.unreadable.as_deref().unwrap_or_default();
        let detail = format!("the provider reports {written}");
        self.ask_about(receipt, kind, reported, Some(detail));
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

    fn note_failure(&mut self, provider: ProviderKind) -> Effect {
        let now = self.now;
        match self.payment().cloned() {
            Some(payment) if awaits(&payment, provider) => {
                self.set_payment(Payment { failed_at: Some(now), ..payment });
                Effect::FailureNoted
            }
            _ => Effect::None,
        }
    }

    fn close_payment(&mut self, provider: ProviderKind) -> Effect {
        if !self.payment().is_some_and(|payment| awaits(payment, provider)) {
            return Effect::None;
        }
        self.set_payment_status(PaymentStatus::Closed);
        self.expire_order();
        Effect::Closed
    }

    fn expire_order(&mut self) {
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

fn awaits(payment: &Payment, provider: ProviderKind) -> bool {
    payment.status == PaymentStatus::Pending
        && payment.request.is_some_and(|request| request.provider == provider)
}

pub(crate) fn names_another_payment(receipt: &Receipt, payment_no: Option<&str>) -> bool {
    payment_no.is_some() && receipt.payment_no.as_deref() != payment_no
}

/// What a provider reports, for people to read: 130 characters at most.
fn as_written(reported: &ReportedAmount) -> String {
    match reported {
        ReportedAmount::Exact(amount) => format!("{amount} {}", amount.currency()),
        ReportedAmount::Malformed { currency: Some(currency), written } => format!("{written} {currency}"),
        ReportedAmount::Malformed { currency: None, written } => written.clone(),
        ReportedAmount::UnknownCurrency { code, written } => format!("{written} {code}"),
    }
}
