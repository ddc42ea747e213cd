//! The rows of one payment's number, kept as the desk keeps them: each step reads what its command names, and no more.

use std::collections::{BTreeMap, BTreeSet};

use account::{Account, AccountId, Entry, EntryId, Side};
use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use money::{Amount, Currency};
use order::{Order, OrderId, OrderStatus, Placement, RefundId, provider::await_payment};
use payment_callback::{
    Alert, AlertAction, AlertId, Asked, AskedRefund, Case, CaseChanges, Effect, Event, Known, Notice,
    Payment, PaymentRequest, PaymentStatus, ProviderKind, Receipt, ReceiptKey, ReceiptRefund, ReceiptState,
    Refund, RefundOutcome, RefundSum, ReportedAmount, ResolveRefusal, Told,
    dispute::dispute_cause,
    refund::{failure_cause, refund_id, stuck_cause},
    told::case_number,
};
use uuid::Uuid;

/// The number that everything here is about.
pub const NUMBER: &str = "P-0001";
/// What its order costs.
pub const OWED: &str = "88.80";
/// For how long its payment is awaited.
const AWAITED: TimeDelta = TimeDelta::minutes(30);

const CLIENT: ClientId = ClientId(Uuid::nil());

/// The rows, and the time.
#[derive(Clone, Debug)]
pub struct Books {
    pub now: DateTime<Utc>,
    pub payment: Option<Payment>,
    pub order: Option<Order>,
    pub receipts: BTreeMap<ReceiptKey, Receipt>,
    pub alerts: BTreeMap<AlertId, Alert>,
    pub refunds: Vec<ReceiptRefund>,
    pub entries: Vec<Entry>,
    pub asked: BTreeMap<RefundId, AskedRefund>,
    ids: u128,
}

pub fn standard() -> ProviderKind {
    ProviderKind::from_word("standard").unwrap()
}

pub fn cny(text: &str) -> Amount {
    Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
}

pub fn exact(text: &str) -> ReportedAmount {
    ReportedAmount::Exact(cny(text))
}

/// What is no amount.
pub fn smudged(written: &str) -> ReportedAmount {
    ReportedAmount::Malformed { currency: Some(cny("1").currency()), written: written.to_owned() }
}

/// That so much was paid under this id.
pub fn paid(payment_id: &str, amount: ReportedAmount) -> Event {
    Event::PaymentSucceeded { payment_no: Some(NUMBER.to_owned()), payment_id: payment_id.to_owned(), amount }
}

/// That this one refund gave back so much.
pub fn refunded(payment_id: &str, refund_id: &str, amount: &str) -> Event {
    Event::Refunded(Refund {
        payment_no: Some(NUMBER.to_owned()),
        payment_id: payment_id.to_owned(),
        refund_id: Some(refund_id.to_owned()),
        refund_no: None,
        sum: RefundSum::One(exact(amount)),
        outcome: RefundOutcome::Succeeded,
        paid: None,
    })
}

/// That the payer's bank disputes so much of this money.
pub fn disputed(payment_id: &str, dispute_id: &str, amount: &str) -> Event {
    Event::Disputed {
        payment_id: Some(payment_id.to_owned()),
        dispute_id: Some(dispute_id.to_owned()),
        amount: exact(amount),
    }
}

/// That so much was given back in all.
pub fn refunded_in_all(payment_id: &str, total: &str) -> Event {
    Event::Refunded(Refund {
        payment_no: Some(NUMBER.to_owned()),
        payment_id: payment_id.to_owned(),
        refund_id: None,
        refund_no: None,
        sum: RefundSum::RunningTotal(exact(total)),
        outcome: RefundOutcome::Succeeded,
        paid: None,
    })
}

/// That this one refund gave back so much, of a provider that else tells totals.
pub fn one_of_total(payment_id: &str, refund_id: &str, amount: &str) -> Event {
    match refunded(payment_id, refund_id, amount) {
        Event::Refunded(refund) => Event::Refunded(Refund {
            sum: RefundSum::OneOfTotal { one: exact(amount), total: None },
            ..refund
        }),
        other => panic!("{other:?} is no refund"),
    }
}

/// The same refund, with another end.
pub fn ended(event: Event, outcome: RefundOutcome) -> Event {
    match event {
        Event::Refunded(refund) => Event::Refunded(Refund { outcome, ..refund }),
        other => panic!("{other:?} is no refund"),
    }
}

impl Books {
    pub fn new() -> Self {
        Self {
            now: DateTime::UNIX_EPOCH,
            payment: None,
            order: None,
            receipts: BTreeMap::new(),
            alerts: BTreeMap::new(),
            refunds: Vec::new(),
            entries: Vec::new(),
            asked: BTreeMap::new(),
            ids: 0,
        }
    }

    /// Books with the order placed.
    pub fn with_order() -> Self {
        let mut books = Self::new();
        books.place();
        books
    }

    pub fn pass(&mut self, time: TimeDelta) {
        self.now += time;
    }

    /// The time of the payment is over.
    pub fn pass_expiry(&mut self) {
        self.pass(AWAITED);
    }

    pub fn receipt_key(payment_id: &str) -> ReceiptKey {
        (CLIENT, standard(), payment_id.to_owned())
    }

    pub fn receipt(&self, payment_id: &str) -> &Receipt {
        &self.receipts[&Self::receipt_key(payment_id)]
    }

    pub fn state(&self, payment_id: &str) -> ReceiptState {
        self.receipt(payment_id).state
    }

    pub fn open_alerts(&self) -> Vec<&Alert> {
        self.alerts.values().filter(|alert| alert.resolution.is_none()).collect()
    }

    /// A verified delivery of the provider that the order is to be paid at.
    pub fn take(&mut self, event: &Event) -> Effect {
        self.take_from(standard(), event)
    }

    pub fn take_from(&mut self, provider: ProviderKind, event: &Event) -> Effect {
        let delivery = self.next_id();
        let notice = Notice {
            delivery_key: delivery.to_string(),
            event_type: "told".to_owned(),
            event: event.clone(),
            key_id: "key".to_owned(),
            subject: None,
        };
        let mut known = match event.payment_id() {
            Some(payment_id) => self.known_of(&(CLIENT, provider, payment_id.to_owned())),
            None => Known::default(),
        };
        let receipt = known.receipts.first().cloned();
        let is_ours = case_number(event, receipt.as_ref()) == Some(NUMBER);
        known.payment = self.payment.clone().filter(|_| is_ours);
        known.order = self.order.clone().filter(|_| is_ours);
        if let Event::Refunded(refund) = event
            && matches!(refund.sum, RefundSum::One(_))
        {
            let key = (CLIENT, provider, refund_id(refund, &notice));
            known.refunds = self.refunds.iter().filter(|refund| refund.key() == key).cloned().collect();
        }
        if let Event::Refunded(refund) = event {
            let causes = [stuck_cause(provider, refund), failure_cause(provider, refund)];
            let raised = self.alerts.values().filter(|alert| causes.contains(&Some(alert.cause.clone())));
            known.alerts.extend(raised.cloned());
        }
        if let Some(cause) = dispute_cause(provider, event) {
            known.alerts.extend(self.alerts.values().filter(|alert| alert.cause == cause).cloned());
        }
        let recorded_as = &notice.delivery_key;
        let told = Told { endpoint: "endpoint", recorded_as, provider, notice: &notice };
        self.step(known, |case| case.receive(told))
    }

    /// Places the order of [`OWED`] that the payment shall pay; a second one is refused before the rules are asked.
    pub fn place(&mut self) {
        if self.payment.as_ref().is_some_and(|payment| payment.request.is_some()) {
            return;
        }
        let currency = cny(OWED).currency();
        let account = Account::open(CLIENT, AccountId(Uuid::nil()), "alice".to_owned(), currency, self.now);
        let placement = Placement {
            order_id: OrderId(self.next_id()),
            entry_id: EntryId(Uuid::nil()),
            client_order_no: "A-1".to_owned(),
            amount: cny(OWED),
            items: Vec::new(),
            now: self.now,
        };
        let order = await_payment(&account, placement, NUMBER.to_owned(), self.now + AWAITED).unwrap();
        let request = PaymentRequest {
            order_id: order.id,
            provider: standard(),
            amount: order.amount,
            expires_at: self.now + AWAITED,
        };
        self.order = Some(order);
        let known = Known {
            payment: self.payment.clone(),
            order: self.order.clone(),
            receipts: self.receipts.values().cloned().collect(),
            alerts: self.alerts.values().cloned().collect(),
            refunds: Vec::new(),
            asked: self.asked.values().cloned().collect(),
            of_order: Vec::new(),
        };
        self.step(known, |case| case.ask_for(NUMBER, request));
    }

    /// The sweeper has come by.
    pub fn expire(&mut self) -> bool {
        let known = Known { payment: self.payment.clone(), order: self.order.clone(), ..Known::default() };
        self.step(known, |case| case.expire_if_due())
    }

    /// The sweeper has found a receipt that is parked for long.
    pub fn ask_about_unmatched(&mut self, payment_id: &str) {
        let known = self.known_of(&Self::receipt_key(payment_id));
        self.step(known, |case| case.ask_about_unmatched());
    }

    pub fn resolve(&mut self, alert: AlertId, action: AlertAction) -> Result<(), ResolveRefusal> {
        self.resolve_asking(alert, action, &[standard()])
    }

    /// Resolves an alert, where these providers can be asked for a refund.
    pub fn resolve_asking(
        &mut self,
        alert: AlertId,
        action: AlertAction,
        askable: &[ProviderKind],
    ) -> Result<(), ResolveRefusal> {
        let about = self.alerts[&alert].receipt_key();
        let mut known = about.map(|key| self.known_of(&key)).unwrap_or_default();
        known.payment = self.payment.clone();
        known.order = self.order.clone();
        if !known.alerts.iter().any(|known| known.id == alert) {
            known.alerts.push(self.alerts[&alert].clone());
        }
        self.step(known, |case| case.resolve(alert, action, "client", "as agreed".to_owned(), askable))
    }

    /// The provider was asked for a refund, and this came of it.
    pub fn note(&mut self, refund: RefundId, came_of_it: &Asked) {
        let known = self.known_of(&self.asked[&refund].receipt_key());
        self.step(known, |case| case.note_asked(refund, came_of_it));
    }

    fn known_of(&self, key: &ReceiptKey) -> Known {
        let receipt = self.receipts.get(key);
        let alert = receipt.and_then(|receipt| receipt.open_alert).map(|id| self.alerts[&id].clone());
        let has_payment = receipt.is_some_and(|receipt| receipt.payment_no.is_some());
        Known {
            payment: self.payment.clone().filter(|_| has_payment),
            order: self.order.clone().filter(|_| has_payment),
            receipts: receipt.cloned().into_iter().collect(),
            alerts: alert.into_iter().collect(),
            refunds: Vec::new(),
            asked: self.asked.values().filter(|asked| asked.receipt_key() == *key).cloned().collect(),
            of_order: Vec::new(),
        }
    }

    fn step<T>(&mut self, known: Known, act: impl FnOnce(&mut Case<'_>) -> T) -> T {
        let mut next = self.ids;
        let mut new_id = || {
            next += 1;
            Uuid::from_u128(next)
        };
        let mut case = Case::open(CLIENT, known, self.now, &mut new_id);
        let came = act(&mut case);
        let made = case.close();
        self.ids = next;
        self.write(made);
        self.check();
        came
    }

    fn next_id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }

    fn write(&mut self, made: CaseChanges) {
        let CaseChanges { payments, orders, receipts, refunds, alerts, entries, asked, .. } = made;
        self.asked.extend(asked.into_iter().map(|asked| (asked.id, asked)));
        for payment in payments {
            let before = self.payment.as_ref().map_or(0, |payment| payment.version);
            assert_eq!(payment.version, before + 1, "the next version of {before}");
            self.payment = Some(payment);
        }
        for order in orders {
            self.order = Some(order);
        }
        for receipt in receipts {
            let before = self.receipts.get(&receipt.key()).map_or(0, |receipt| receipt.version);
            assert_eq!(receipt.version, before + 1, "the next version of {before}");
            self.receipts.insert(receipt.key(), receipt);
        }
        self.refunds.extend(refunds);
        for alert in alerts {
            self.alerts.insert(alert.id, alert);
        }
        self.entries.extend(entries);
    }

    /// What holds after each step, whatever it was.
    fn check(&self) {
        self.check_money();
        self.check_questions();
        let payers: Vec<_> = self
            .receipts
            .values()
            .filter(|receipt| matches!(receipt.state, ReceiptState::Settled | ReceiptState::Accepted))
            .collect();
        assert!(payers.len() <= 1, "the payment is paid twice: {payers:?}");
        let is_settled =
            self.payment.as_ref().is_some_and(|payment| payment.status == PaymentStatus::Settled);
        assert_eq!(is_settled, payers.len() == 1, "{payers:?}");
        if let Some(order) = &self.order {
            let is_paid = matches!(
                order.status,
                OrderStatus::Paid | OrderStatus::PartiallyRefunded | OrderStatus::Refunded
            );
            assert_eq!(is_paid, is_settled, "{order:?}");
            if is_paid && payers[0].state == ReceiptState::Settled {
                assert_eq!(order.captured_amount, order.amount, "settled by another amount");
            }
        }
        let refunds: BTreeSet<_> = self.refunds.iter().map(ReceiptRefund::key).collect();
        assert_eq!(refunds.len(), self.refunds.len(), "a refund counts twice");
    }

    /// A receipt's money stands in the accounts where the receipt says.
    fn check_money(&self) {
        for receipt in self.receipts.values() {
            let mut expected = BTreeMap::new();
            if let Some(funds) = receipt.funds {
                let units = |amount: Amount| i128::try_from(amount.minor_units()).unwrap();
                let code = funds.currency().code();
                expected = BTreeMap::from([
                    (
                        format!("clearing:{} {code}", receipt.provider),
                        units(funds.refunded) - units(funds.received),
                    ),
                    (format!("revenue {code}"), units(funds.applied)),
                    (format!("refunds_owed {code}"), units(funds.owed)),
                    (format!("unapplied_receipts {code}"), funds.unapplied_minor_units()),
                ]);
                expected.retain(|_, sum| *sum != 0);
            }
            assert_eq!(self.booked_for(receipt), expected, "{receipt:?}");
        }
    }

    fn booked_for(&self, receipt: &Receipt) -> BTreeMap<String, i128> {
        let mut sums: BTreeMap<String, i128> = BTreeMap::new();
        for entry in &self.entries {
            let account::Cause::Receipt { receipt: of, .. } = entry.cause else { panic!("{entry:?}") };
            if of == receipt.id.0 {
                let units = i128::try_from(entry.amount.minor_units()).unwrap();
                *sums.entry(account_of(entry.debit)).or_default() -= units;
                *sums.entry(account_of(entry.credit)).or_default() += units;
            }
        }
        sums.retain(|_, sum| *sum != 0);
        sums
    }

    /// Each cause has raised one alert; what a receipt calls its open one is open; and whoever has money that is not
    /// what was owed is asked about.
    fn check_questions(&self) {
        let causes: BTreeSet<_> = self.alerts.values().map(Alert::cause).collect();
        assert_eq!(causes.len(), self.alerts.len(), "a cause has raised two alerts: {:?}", self.alerts);
        for receipt in self.receipts.values() {
            if let Some(id) = receipt.open_alert {
                assert_eq!(self.alerts[&id].resolution, None, "{receipt:?}");
            }
            let is_wrong =
                matches!(receipt.state, ReceiptState::Mismatched | ReceiptState::Late | ReceiptState::Excess);
            let unapplied = receipt.funds.map_or(0, |funds| funds.unapplied_minor_units());
            assert!(!is_wrong || unapplied == 0 || receipt.open_alert.is_some(), "{receipt:?}");
        }
    }

    /// What the books come to, whatever led there: the states, and the balance of each account.
    pub fn balances(&self) -> BTreeMap<String, i128> {
        let mut sums = BTreeMap::new();
        for receipt in self.receipts.values() {
            for (account, sum) in self.booked_for(receipt) {
                *sums.entry(account).or_default() += sum;
            }
        }
        sums.retain(|_, sum| *sum != 0);
        sums
    }
}

fn account_of(side: Side) -> String {
    match side {
        Side::Collecting(account) => format!("{} {}", account.name.word(), account.currency),
        Side::Customer { .. } | Side::Held(_) => panic!("no customer's money moves here"),
    }
}
