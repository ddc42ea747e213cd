//! A case: everything that is known of one payment, while one thing happens to it.
//!
//! The rules change the rows of a case in place and note what is to be booked; [`Case::close`] answers with what
//! changed. It does no I/O: time and ids are given.

use std::collections::{BTreeMap, BTreeSet};

use account::{Cause, Collecting, CollectingName, Entry, EntryId, EntryKind, Side};
use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use order::{Order, RefundId, RefundStep, VersionOfRefund};
use uuid::Uuid;

use crate::{
    Alert, AlertAction, AlertId, AlertKind, AskedRefund, Payment, PaymentStatus, ProviderKind, Receipt,
    ReceiptId, ReceiptKey, ReceiptRefund, ReceiptRefundKey, ReportedAmount, Resolution,
};

/// What was read of a payment.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Known {
    /// The payment, if its number has a row.
    pub payment: Option<Payment>,
    /// Its order, if it has one.
    pub order: Option<Order>,
    /// The receipts that it is about.
    pub receipts: Vec<Receipt>,
    /// Their open alerts, the one that it is about, and the one about the refund that it is told of.
    pub alerts: Vec<Alert>,
    /// Of the refunds that it is told of by an id of their own, those that count already.
    pub refunds: Vec<ReceiptRefund>,
    /// Every refund that was asked for of these receipts.
    pub asked: Vec<AskedRefund>,
    /// Those of them that are the order's, as it knows them.
    pub of_order: Vec<order::Refund>,
}

/// What came of a case: rows to be written, each new or the next version of what was read. An order may stand there
/// in several versions.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct CaseChanges {
    /// The payment.
    pub payments: Vec<Payment>,
    /// The order, version by version.
    pub orders: Vec<Order>,
    /// Which of its versions a refund has made.
    pub versions_of_refunds: Vec<VersionOfRefund>,
    /// Receipts.
    pub receipts: Vec<Receipt>,
    /// Refunds that count from now on.
    pub refunds: Vec<ReceiptRefund>,
    /// Alerts.
    pub alerts: Vec<Alert>,
    /// Refunds that the provider is asked for.
    pub asked: Vec<AskedRefund>,
    /// Journal rows.
    pub entries: Vec<Entry>,
}

/// A row as it was read, and as it shall be.
#[derive(Debug)]
struct Held<R> {
    before: Option<R>,
    now: R,
}

impl<R: Clone> Held<R> {
    fn read(row: R) -> Self {
        Self { before: Some(row.clone()), now: row }
    }

    fn made(row: R) -> Self {
        Self { before: None, now: row }
    }
}

/// The version that a row shall have: the next after the one that was read, or the first.
fn version_after(read: Option<i64>) -> i64 {
    read.map_or(1, |version| version + 1)
}

/// The note with which the service ends an alert by itself.
pub(crate) const ANSWERED: &str = "answered by what the provider told of later";

/// A case at work.
pub struct Case<'i> {
    pub(crate) client_id: ClientId,
    pub(crate) now: DateTime<Utc>,
    ids: &'i mut dyn FnMut() -> Uuid,
    payment: Option<Held<Payment>>,
    order: Option<Order>,
    receipts: BTreeMap<ReceiptKey, Held<Receipt>>,
    alerts: BTreeMap<AlertId, Held<Alert>>,
    refunds: Vec<ReceiptRefund>,
    asked: BTreeMap<RefundId, Held<AskedRefund>>,
    of_order: Vec<order::Refund>,
    /// How far a refund has come that the order's next version tells of.
    step: Option<(RefundId, RefundStep)>,
    made: CaseChanges,
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case")
            .field("payment", &self.payment)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

impl<'i> Case<'i> {
    /// Opens a case on what was read. `ids` gives as many ids as it takes, the same ones at every attempt.
    pub fn open(
        client_id: ClientId,
        known: Known,
        now: DateTime<Utc>,
        ids: &'i mut dyn FnMut() -> Uuid,
    ) -> Self {
        let Known { payment, order, receipts, alerts, refunds, asked, of_order } = known;
        Self {
            client_id,
            now,
            ids,
            payment: payment.map(Held::read),
            order,
            receipts: receipts.into_iter().map(|receipt| (receipt.key(), Held::read(receipt))).collect(),
            alerts: alerts.into_iter().map(|alert| (alert.id, Held::read(alert))).collect(),
            refunds,
            asked: asked.into_iter().map(|asked| (asked.id, Held::read(asked))).collect(),
            of_order,
            step: None,
            made: CaseChanges::default(),
        }
    }

    /// What changed. Whoever changed a refund that was asked for changed its receipt's version too, and whoever changed a
    /// receipt its payment's, so that all who have to do with one number meet in one row.
    pub fn close(mut self) -> CaseChanges {
        self.tell_step();
        let asked = self.asked.into_values().filter(|held| held.before.as_ref() != Some(&held.now));
        self.made.asked = asked
            .map(|Held { before, now }| AskedRefund {
                version: version_after(before.map(|before| before.version)),
                updated_at: self.now,
                ..now
            })
            .collect();
        let asked_of: BTreeSet<ReceiptKey> = self.made.asked.iter().map(AskedRefund::receipt_key).collect();
        let receipts = self
            .receipts
            .into_values()
            .filter(|held| held.before.as_ref() != Some(&held.now) || asked_of.contains(&held.now.key()));
        self.made.receipts = receipts
            .map(|Held { before, now }| Receipt {
                version: version_after(before.map(|before| before.version)),
                updated_at: self.now,
                ..now
            })
            .collect();
        let alerts = self.alerts.into_values().filter(|held| held.before.as_ref() != Some(&held.now));
        self.made.alerts = alerts
            .map(|Held { before, now }| Alert {
                version: version_after(before.map(|before| before.version)),
                ..now
            })
            .collect();
        if let Some(Held { before, now }) = self.payment
            && (before.as_ref() != Some(&now) || !self.made.receipts.is_empty())
        {
            self.made.payments.push(Payment {
                version: version_after(before.map(|before| before.version)),
                updated_at: self.now,
                ..now
            });
        }
        self.made
    }

    /// The payment as it is now.
    pub fn payment(&self) -> Option<&Payment> {
        self.payment.as_ref().map(|held| &held.now)
    }

    /// The order as it is now.
    pub fn order(&self) -> Option<&Order> {
        self.order.as_ref()
    }

    /// An alert as it is now.
    pub fn alert(&self, id: AlertId) -> Option<&Alert> {
        self.alerts.get(&id).map(|held| &held.now)
    }

    /// The alert that this cause has raised, open or not, if it was read with the case.
    pub(crate) fn alert_of(&self, cause: &str) -> Option<&Alert> {
        self.alerts.values().map(|held| &held.now).find(|alert| alert.cause == cause)
    }

    pub(crate) fn receipt(&self, key: &ReceiptKey) -> Option<&Receipt> {
        self.receipts.get(key).map(|held| &held.now)
    }

    pub(crate) fn receipt_of(&self, id: ReceiptId) -> Option<&Receipt> {
        self.receipts.values().map(|held| &held.now).find(|receipt| receipt.id == id)
    }

    /// The version in which a receipt will be written, if it changes.
    pub(crate) fn next_version(&self, receipt: &Receipt) -> i64 {
        let before = self.receipts.get(&receipt.key()).and_then(|held| held.before.as_ref());
        version_after(before.map(|before| before.version))
    }

    pub(crate) fn receipt_keys(&self) -> Vec<ReceiptKey> {
        self.receipts.keys().cloned().collect()
    }

    pub(crate) fn set_payment(&mut self, payment: Payment) {
        match &mut self.payment {
            Some(held) => held.now = payment,
            None => self.payment = Some(Held::made(payment)),
        }
    }

    pub(crate) fn set_payment_status(&mut self, status: PaymentStatus) {
        if let Some(held) = &mut self.payment {
            held.now.status = status;
        }
    }

    /// The order's next version. Each is written down, and told of, by itself.
    pub(crate) fn advance_order(&mut self, order: Order) {
        if let Some((refund, step)) = self.step.take() {
            self.made.versions_of_refunds.push(VersionOfRefund::of(&order, refund, step));
        }
        self.order = Some(order.clone());
        self.made.orders.push(order);
    }

    /// Notes that a refund of the order has come further: the order's next version tells of it, whatever else that is.
    pub(crate) fn note_step(&mut self, refund: RefundId, step: RefundStep) {
        let of_order = self.order.as_ref().map(|order| order.id);
        if of_order.is_some() && self.asked.get(&refund).and_then(|held| held.now.order_id) == of_order {
            self.tell_step();
            self.step = Some((refund, step));
        }
    }

    /// Makes the version of the order that tells how far a refund has come, unless there is one by now.
    pub(crate) fn tell_step(&mut self) {
        if let (Some(_), Some(order)) = (self.step, &self.order) {
            self.advance_order(order.told_of_refund(self.now));
        }
    }

    /// Counts the items of a refund as given back, in the order's next version; false if the order does not have them all
    /// any more.
    pub(crate) fn bring_items_back(&mut self, asked: &AskedRefund) -> bool {
        let Some(of_order) = asked.order_id else { return true };
        let refund = self.of_order.iter().find(|refund| refund.id == asked.id);
        let order = self.order.as_ref().filter(|order| order.id == of_order);
        let back = refund.zip(order).and_then(|(refund, order)| order.with_items_back(&refund.items));
        let are_back = back.is_some();
        self.order = back.or(self.order.take());
        are_back
    }

    /// Keeps a receipt, and the row of its number, where receipts and the order that asks for them meet.
    pub(crate) fn set_receipt(&mut self, receipt: Receipt) {
        if let (None, Some(payment_no)) = (&self.payment, &receipt.payment_no) {
            self.set_payment(Payment::parked(self.client_id, payment_no.clone(), self.now));
        }
        match self.receipts.get_mut(&receipt.key()) {
            Some(held) => held.now = receipt,
            None => {
                self.receipts.insert(receipt.key(), Held::made(receipt));
            }
        }
    }

    /// The refund of this key, if it counts already.
    pub(crate) fn refund(&self, key: &ReceiptRefundKey) -> Option<&ReceiptRefund> {
        self.refunds.iter().find(|refund| refund.key() == *key)
    }

    pub(crate) fn all_asked(&self) -> impl Iterator<Item = &AskedRefund> {
        self.asked.values().map(|held| &held.now)
    }

    /// The refunds that were asked for of a receipt.
    pub(crate) fn asked_of<'c>(&'c self, key: &'c ReceiptKey) -> impl Iterator<Item = &'c AskedRefund> {
        self.all_asked().filter(move |asked| asked.receipt_key() == *key)
    }

    pub(crate) fn set_asked(&mut self, asked: AskedRefund) {
        match self.asked.get_mut(&asked.id) {
            Some(held) => held.now = asked,
            None => {
                self.asked.insert(asked.id, Held::made(asked));
            }
        }
    }

    pub(crate) fn note_refund(&mut self, refund: ReceiptRefund) {
        self.made.refunds.push(refund);
    }

    pub(crate) fn new_id(&mut self) -> Uuid {
        (self.ids)()
    }

    /// Raises an alert, and ends the receipt's open one, which it takes the place of; unless that says the same.
    pub(crate) fn raise(&mut self, raised: Raised<'_>) {
        let Raised { kind, cause, receipt, expected, received, detail } = raised;
        if let Some(open) = receipt.open_alert.and_then(|id| self.alert(id))
            && (open.kind, open.expected, open.received, &open.detail) == (kind, expected, received, &detail)
        {
            return;
        }
        self.supersede(receipt);
        let id = AlertId(self.new_id());
        receipt.open_alert = Some(id);
        let alert = Alert {
            client_id: self.client_id,
            id,
            kind,
            cause,
            payment_no: receipt.payment_no.clone(),
            provider: receipt.provider,
            provider_payment_id: Some(receipt.provider_payment_id.clone()),
            receipt_id: Some(receipt.id),
            expected,
            received,
            detail,
            resolution: None,
            version: 1,
            created_at: self.now,
        };
        self.alerts.insert(id, Held::made(alert));
    }

    /// Raises an alert about money that no receipt tells of.
    pub(crate) fn raise_about_unknown(
        &mut self,
        kind: AlertKind,
        cause: String,
        provider: ProviderKind,
        provider_payment_id: Option<&str>,
        reported: &ReportedAmount,
        detail: String,
    ) {
        let alert = Alert {
            client_id: self.client_id,
            id: AlertId(self.new_id()),
            kind,
            cause,
            payment_no: None,
            provider,
            provider_payment_id: provider_payment_id.map(str::to_owned),
            receipt_id: None,
            expected: None,
            received: reported.exact(),
            detail: Some(detail),
            resolution: None,
            version: 1,
            created_at: self.now,
        };
        self.alerts.insert(alert.id, Held::made(alert));
    }

    /// Ends the receipt's open alert, which what came later has answered.
    pub(crate) fn supersede(&mut self, receipt: &mut Receipt) {
        if let Some(id) = receipt.open_alert.take() {
            self.end_alert(id, AlertAction::Superseded, "service", ANSWERED.to_owned());
        }
    }

    pub(crate) fn end_alert(&mut self, id: AlertId, action: AlertAction, by: &str, note: String) {
        if let Some(held) = self.alerts.get_mut(&id).filter(|held| held.now.resolution.is_none()) {
            held.now.resolution = Some(Resolution { action, by: by.to_owned(), at: self.now, note });
        }
    }

    /// Books a movement of a receipt's money. Nothing of nothing is booked.
    pub(crate) fn book(&mut self, receipt: &Receipt, kind: EntryKind, amount: Amount) {
        if amount.is_zero() {
            return;
        }
        let account = |name| {
            Side::Collecting(Collecting { client_id: self.client_id, name, currency: amount.currency() })
        };
        let clearing = CollectingName::Clearing(receipt.provider.word());
        let (debit, credit) = match kind {
            EntryKind::PaymentSettled => (clearing, CollectingName::Revenue),
            EntryKind::PaymentUnapplied => (clearing, CollectingName::UnappliedReceipts),
            EntryKind::PaymentReversed | EntryKind::UnappliedRefunded => {
                (CollectingName::UnappliedReceipts, clearing)
            }
            EntryKind::PaymentApplied => (CollectingName::UnappliedReceipts, CollectingName::Revenue),
            EntryKind::RefundOwed => (CollectingName::UnappliedReceipts, CollectingName::RefundsOwed),
            EntryKind::OwedRefunded => (CollectingName::RefundsOwed, clearing),
            EntryKind::PaymentRefunded => (CollectingName::Revenue, clearing),
            EntryKind::Deposit
            | EntryKind::Withdrawal
            | EntryKind::Transfer
            | EntryKind::OrderPayment
            | EntryKind::Hold
            | EntryKind::HoldCapture
            | EntryKind::HoldRelease
            | EntryKind::HoldExpiry
            | EntryKind::OrderRefund => unreachable!("a receipt's money is booked by kinds of its own"),
        };
        let order = self.order.as_ref().map(|order| order.id.0);
        let (debit, credit) = (account(debit), account(credit));
        let id = EntryId(self.new_id());
        self.made.entries.push(Entry {
            client_id: self.client_id,
            id,
            kind,
            amount,
            debit,
            credit,
            reference: None,
            cause: Cause::Receipt { receipt: receipt.id.0, order },
            created_at: self.now,
        });
    }
}

/// An alert to be raised about a receipt.
pub(crate) struct Raised<'r> {
    pub(crate) kind: AlertKind,
    pub(crate) cause: String,
    pub(crate) receipt: &'r mut Receipt,
    pub(crate) expected: Option<Amount>,
    pub(crate) received: Option<Amount>,
    pub(crate) detail: Option<String>,
}
