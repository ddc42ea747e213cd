//! What a provider tells of, and which rule it goes to.

use account::EntryKind;

use crate::case::Case;
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
    /// Money was received that has paid nothing, or what was told is a question; an alert asks a person.
    Held,
    /// Money was received under a number that no payment has yet.
    Parked,
    /// Money was given back.
    Refunded,
    /// A refund was told of before its payment, and waits for it.
    RefundParked,
    /// A refund that was asked for is done, and its money was counted before.
    RefundConfirmed,
    /// A refund has failed that was asked for, or that nobody has counted.
    RefundFailed,
    /// A failed attempt was noted.
    FailureNoted,
    /// The payment is closed, and its order expired.
    Closed,
}

impl Effect {
    /// Every effect.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::Settled,
        Self::Held,
        Self::Parked,
        Self::Refunded,
        Self::RefundParked,
        Self::RefundConfirmed,
        Self::RefundFailed,
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
            Self::RefundConfirmed => "refund_confirmed",
            Self::RefundFailed => "refund_failed",
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
    /// What it is recorded as there: the provider's name for it, or one of ours if that is another content's.
    pub recorded_as: &'n str,
    /// Whose words these are.
    pub provider: ProviderKind,
    /// The words.
    pub notice: &'n Notice,
}

impl Told<'_> {
    /// The cause of an alert that is about this delivery and no state of a receipt: a delivery raises one.
    pub(crate) fn cause(&self) -> String {
        format!("delivery:{}:{}", self.endpoint, self.recorded_as)
    }
}

impl Case<'_> {
    /// Takes in what a verified delivery says. The case is the one of the number that [`case_number`] answers with, and a
    /// refund that has an id of its own is given only the first time.
    pub fn receive(&mut self, told: Told<'_>) -> Effect {
        self.expire_if_due();
        match &told.notice.event {
            Event::PaymentSucceeded { payment_no, payment_id, amount } => {
                self.receive_money(told, payment_no.as_deref(), payment_id, amount)
            }
            // Who begins anew elsewhere has only given up one attempt.
            Event::PaymentFailed { .. } | Event::PaymentClosed { has_others: true, .. } => {
                self.note_failure(told.provider)
            }
            Event::PaymentClosed { has_others: false, .. } => self.close_payment(told.provider),
            Event::Refunded(refund) => self.receive_refund(told, refund),
            Event::Disputed { payment_id, amount, .. } => {
                self.receive_dispute(told, payment_id.as_deref(), amount)
            }
            Event::Noted { .. }
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
        let known = self.receipt(&key).cloned();
        let mut receipt = self.receipt_for(told.provider, payment_no, payment_id);
        let mut unfit = None;
        if names_another_payment(&receipt, payment_no) {
            if receipt.has_money() {
                return self.receive_misnamed(told, receipt, payment_no.unwrap_or_default(), amount);
            }
            // No money says yet which payment it is for, so its own word counts; what a refund under the other number
            // said of it does not fit it.
            receipt.payment_no = payment_no.map(str::to_owned);
            unfit = receipt.funds.take().map(|funds| funds.refund_told).filter(|told| !told.is_zero());
        }
        if known.is_some_and(|known| known.payment_no == receipt.payment_no && self.is_known(&known, amount))
        {
            return Effect::None;
        }
        // It was dismissed as it was then.
        if receipt.state == ReceiptState::Dismissed {
            receipt.state = ReceiptState::Unmatched;
        }
        self.take_back_another_currency(&mut receipt, amount);
        // A refund that overtook its payment has made a receipt of nothing.
        let before = receipt.funds.filter(Funds::are_booked);
        if before.is_none() {
            unfit = unfit.or(unfit_refund(receipt.funds, amount.exact()));
        }
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
                receipt.funds = Some(Funds { received: *amount, ..funds });
                receipt.unreadable = None;
                self.judge(&mut receipt, before)
            }
            // Another currency than that of money which has gone on is no difference that could be booked, and neither is
            // what is no amount at all.
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

    /// Whether a provider only repeats itself, and nothing follows from that now either.
    fn is_known(&self, receipt: &Receipt, reported: &ReportedAmount) -> bool {
        let is_repeated = match (reported, &receipt.unreadable) {
            (ReportedAmount::Exact(amount), None) => {
                let known = receipt.funds.filter(|_| receipt.has_money() || is_dismissed(receipt));
                known.is_some_and(|funds| funds.received == *amount)
            }
            // What is still asked about is asked about as it was written last.
            (reported, Some(unreadable)) => is_dismissed(receipt) && *unreadable == as_written(reported),
            (_, None) => false,
        };
        is_repeated && !self.would_settle(receipt)
    }

    /// Takes back what was booked in another currency than the provider now says it was, if nothing has followed from it:
    /// it was never there, and what is there instead is judged as if it were the first.
    fn take_back_another_currency(&mut self, receipt: &mut Receipt, reported: &ReportedAmount) {
        let (Some(funds), Some(amount)) = (receipt.funds, reported.exact()) else { return };
        let has_gone_on = [funds.refunded, funds.applied, funds.owed].iter().any(|part| !part.is_zero());
        let is_of_another = funds.currency() != amount.currency();
        if !is_of_another || !funds.are_booked() || has_gone_on || !receipt.state.is_open() {
            return;
        }
        self.book(receipt, EntryKind::PaymentReversed, funds.received);
        receipt.funds = None;
    }

    /// Takes in that money which is in the books under one number is another payment's. It pays neither by itself: what it
    /// has grown or shrunk by is booked, and a person says whose it is.
    fn receive_misnamed(
        &mut self,
        told: Told<'_>,
        mut receipt: Receipt,
        payment_no: &str,
        reported: &ReportedAmount,
    ) -> Effect {
        let detail = format!("the provider names another payment: {payment_no}");
        match (receipt.funds, reported.exact()) {
            (Some(before), Some(received))
                if before.currency() == received.currency() && before.received != received =>
            {
                receipt.funds = Some(Funds { received, ..before });
                self.hold_misnamed(&mut receipt, before, detail);
                let key = receipt.key();
                self.set_receipt(receipt);
                self.book_told_refunds(&key);
                Effect::Held
            }
            _ => self.ask_beside(told, receipt, AlertKind::Mismatched, reported, Some(detail)),
        }
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
}

/// Under which number the payment is that a delivery has to do with: the one that its money is booked under, and else the
/// one that it names.
pub fn case_number<'n>(event: &'n Event, receipt: Option<&'n Receipt>) -> Option<&'n str> {
    let own = receipt.and_then(|receipt| receipt.payment_no.as_deref());
    match event {
        Event::PaymentSucceeded { payment_no: Some(named), .. }
            if !receipt.is_some_and(Receipt::has_money) =>
        {
            Some(named)
        }
        event => own.or(event.payment_no()),
    }
}

fn is_dismissed(receipt: &Receipt) -> bool {
    receipt.state == ReceiptState::Dismissed
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
