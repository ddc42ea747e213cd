//! What a person, or an order that is placed later, does to money that was received.

use account::EntryKind;

use crate::asked_refund::refusal_cause;
use crate::case::Case;
use crate::receipt::minor;
use crate::{
    Alert, AlertAction, AlertId, AlertKind, AskedRefund, AskedStatus, Funds, Payment, PaymentRequest,
    PaymentStatus, ProviderKind, Receipt, ReceiptState,
};

/// Why an alert is not resolved so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResolveRefusal {
    /// It was resolved before.
    #[error("the alert was resolved before, by {}", .0.as_str())]
    Resolved(AlertAction),
    /// The money cannot pay its order.
    #[error("what was received cannot pay an order: {0}")]
    NotAcceptable(&'static str),
}

impl Case<'_> {
    /// Resolves an alert. What is to be given back is asked for where its provider is one of the `askable`; elsewhere a
    /// person gives it back, and the provider tells of it.
    ///
    /// # Errors
    ///
    /// If it is resolved already, or the action cannot be taken with what it is about.
    ///
    /// # Panics
    ///
    /// If the alert was not read with the case.
    pub fn resolve(
        &mut self,
        id: AlertId,
        action: AlertAction,
        by: &str,
        note: String,
        askable: &[ProviderKind],
    ) -> Result<(), ResolveRefusal> {
        self.expire_if_due();
        let alert = self.alert(id).expect("a case about an alert has read it").clone();
        if let Some(resolution) = &alert.resolution {
            return Err(ResolveRefusal::Resolved(resolution.action));
        }
        let receipt = alert.receipt_id.and_then(|id| self.receipt_of(id)).cloned();
        match (action, receipt) {
            (AlertAction::Accept, receipt) => self.accept(&alert, receipt)?,
            (AlertAction::Refund, receipt) => self.owe_back(&alert, receipt, askable)?,
            (AlertAction::Dismiss | AlertAction::Superseded, Some(receipt)) => self.dismiss(id, receipt),
            (AlertAction::Dismiss | AlertAction::Superseded, None) => {}
        }
        self.end_alert(id, action, by, note);
        Ok(())
    }

    fn accept(&mut self, alert: &Alert, receipt: Option<Receipt>) -> Result<(), ResolveRefusal> {
        let no = |why| Err(ResolveRefusal::NotAcceptable(why));
        let Some(mut receipt) = receipt else { return no("the alert is about no receipt") };
        if !matches!(alert.kind, AlertKind::Mismatched | AlertKind::Excess) {
            return no("only what is mismatched or in excess can be accepted");
        }
        let request = self.payment().filter(|payment| payment.status == PaymentStatus::Pending);
        let Some(request) = request.and_then(|payment| payment.request) else {
            return no("its order is not awaiting payment");
        };
        let Some(funds) = receipt.funds.filter(|_| receipt.state.is_open()) else {
            return no("no amount of it is known, or it was decided about before");
        };
        if funds.currency() != request.amount.currency() {
            return no("it is of another currency than the order");
        }
        let Some(unapplied) = funds.unapplied() else { return no("nothing of it is left") };
        self.book(&receipt, EntryKind::PaymentApplied, unapplied);
        receipt.state = ReceiptState::Accepted;
        self.answer_own(alert, &mut receipt);
        self.pay_order(&mut receipt, funds);
        self.set_receipt(receipt);
        Ok(())
    }

    fn owe_back(
        &mut self,
        alert: &Alert,
        receipt: Option<Receipt>,
        askable: &[ProviderKind],
    ) -> Result<(), ResolveRefusal> {
        if let Some(failed) = self.failed_refund_of(alert) {
            return self.owe_back_anew(alert, receipt, &failed, askable);
        }
        let receipt = receipt.filter(|_| asks_about_money(alert.kind));
        let unapplied = receipt.and_then(|receipt| Some((receipt.funds?.unapplied()?, receipt)));
        let Some((unapplied, mut receipt)) = unapplied else {
            return Err(ResolveRefusal::NotAcceptable("nothing of it is left that could be given back"));
        };
        self.book(&receipt, EntryKind::RefundOwed, unapplied);
        let funds = receipt.funds.expect("what is unapplied is of funds");
        let owed = funds.owed.checked_add(unapplied).expect("no more than was received");
        receipt.funds = Some(Funds { owed, ..funds });
        if receipt.state.is_open() || receipt.state == ReceiptState::Dismissed {
            receipt.state = ReceiptState::RefundOwed;
        }
        self.answer_own(alert, &mut receipt);
        if askable.contains(&receipt.provider) {
            self.ask_owed_back(&receipt, unapplied);
        }
        self.set_receipt(receipt);
        Ok(())
    }

    /// The refund whose failure an alert is about.
    fn failed_refund_of(&self, alert: &Alert) -> Option<AskedRefund> {
        self.all_asked().find(|asked| refusal_cause(asked.id) == alert.cause).cloned()
    }

    /// Asks once more for what is owed back and was not given back, under a number of its own.
    fn owe_back_anew(
        &mut self,
        alert: &Alert,
        receipt: Option<Receipt>,
        failed: &AskedRefund,
        askable: &[ProviderKind],
    ) -> Result<(), ResolveRefusal> {
        let no = |why| Err(ResolveRefusal::NotAcceptable(why));
        if failed.order_id.is_some() {
            return no("it is an order's refund: ask for another one of the order");
        }
        if failed.status != AskedStatus::Failed {
            return no("the provider has given it back after all");
        }
        let Some(receipt) = receipt.filter(|receipt| askable.contains(&receipt.provider)) else {
            return no("its provider cannot be asked here: give it back there, and its callback is booked");
        };
        let owed = receipt.funds.map_or(0, |funds| minor(funds.owed));
        if minor(failed.amount) > owed - self.open_of_owed(&receipt.key()) {
            return no("so much is not owed back any more, or is on its way");
        }
        debug_assert_eq!(alert.kind, AlertKind::RefundAttention, "the cause is that of a refund");
        self.ask_owed_back(&receipt, failed.amount);
        Ok(())
    }

    /// What is decided about a receipt's money answers its own question too, where another one led to the decision.
    fn answer_own(&mut self, alert: &Alert, receipt: &mut Receipt) {
        if receipt.open_alert == Some(alert.id) {
            receipt.open_alert = None;
        } else {
            self.supersede(receipt);
        }
    }

    fn dismiss(&mut self, id: AlertId, mut receipt: Receipt) {
        if receipt.open_alert != Some(id) {
            return;
        }
        receipt.open_alert = None;
        if receipt.state.is_open() {
            receipt.state = ReceiptState::Dismissed;
        }
        self.set_receipt(receipt);
    }

    /// Asks for a payment under a number. Whatever a provider has told of under it before is judged now, in the order
    /// in which it came. The case's order must be the one that is placed.
    ///
    /// # Panics
    ///
    /// If the number's payment has request already: that was to be refused before.
    pub fn ask_for(&mut self, payment_no: &str, request: PaymentRequest) {
        let pending = Payment::pending(self.client_id, payment_no.to_owned(), request, self.now);
        let payment = match self.payment() {
            None => pending,
            Some(parked) => {
                assert_eq!(parked.status, PaymentStatus::Parked, "a payment is asked for once");
                let (version, created_at) = (parked.version, parked.created_at);
                Payment { version, created_at, ..pending }
            }
        };
        self.set_payment(payment);
        let mut keys = self.receipt_keys();
        keys.sort_by_key(|key| self.receipt(key).map(|receipt| (receipt.created_at, receipt.id)));
        for key in keys {
            let is_undecided = |receipt: &Receipt| {
                // It was dismissed while it had no order.
                receipt.state.is_open() || receipt.state == ReceiptState::Dismissed
            };
            let Some(mut receipt) = self.receipt(&key).cloned().filter(is_undecided) else { continue };
            if receipt.state == ReceiptState::Dismissed {
                receipt.state = ReceiptState::Unmatched;
            }
            match receipt.funds {
                _ if receipt.unreadable.is_some() => self.hold_unreadable(&mut receipt, None),
                // A refund that overtook its payment still waits for it, and so does one that is stuck.
                None => continue,
                Some(funds) if funds.received.is_zero() && !funds.refund_told.is_zero() => continue,
                before @ Some(_) => {
                    self.judge(&mut receipt, before);
                }
            }
            self.set_receipt(receipt);
            self.book_told_refunds(&key);
        }
    }

    /// Raises the alert about money that nobody has asked for in all this time, unless somebody has, or it is raised; and
    /// about refunds of money that was not told of in all this time.
    pub fn ask_about_unmatched(&mut self) {
        for key in self.receipt_keys() {
            let Some(mut receipt) = self.receipt(&key).cloned() else { continue };
            let waits = receipt.state == ReceiptState::Unmatched && receipt.open_alert.is_none();
            let Some(funds) = receipt.funds.filter(|_| waits) else { continue };
            if !funds.received.is_zero() {
                self.ask_about(&mut receipt, AlertKind::Unmatched, Some(funds.received), None);
            } else if !funds.refund_told.is_zero() {
                let detail = "the provider has told of the refund, and not of the payment".to_owned();
                let refund = Some(funds.refund_told);
                self.ask_about(&mut receipt, AlertKind::RefundMismatched, refund, Some(detail));
            }
            self.set_receipt(receipt);
        }
    }
}

/// Whether the alert asks what shall become of received money.
fn asks_about_money(kind: AlertKind) -> bool {
    match kind {
        AlertKind::Mismatched | AlertKind::Late | AlertKind::Excess | AlertKind::Unmatched => true,
        AlertKind::DeliveryConflict
        | AlertKind::RefundMismatched
        | AlertKind::RefundAttention
        // What becomes of it is decided at the provider.
        | AlertKind::Disputed => false,
        // Between a statement and the books it is open which of the two is right: no money follows from it.
        AlertKind::UnreadableLine
        | AlertKind::DuplicateLine
        | AlertKind::MissingHere
        | AlertKind::MissingThere
        | AlertKind::CurrencyDiffers
        | AlertKind::AmountDiffers
        | AlertKind::PaymentNoDiffers => false,
    }
}
