//! Deciding what has to do with payments at providers.

use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use inventory::Sku;
use order::{
    ItemWanted, Order, OrderStatus, PaymentTerms, Placement, Refund, RefundStep, Refunding, VersionOfRefund,
    provider,
};
use payment_callback::{
    Alert, AlertAction, AlertId, Asked, AskedRefund, Case, CaseChanges, NotAsked, Payment, PaymentRequest,
    PaymentStatus, ProviderKind, Receipt, ReceiptKey,
};

use crate::announce;
use crate::command::{PaymentCommand, StatementQuestion};
use crate::decide::{Decision, callbacks};
use crate::ids::Ids;
use crate::working_set::{Changes, WorkingSet};
use crate::{Outcome, Refusal};

pub(super) fn decide(
    set: &WorkingSet,
    client: ClientId,
    command: &PaymentCommand,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Result<Decision, Refusal> {
    match command {
        PaymentCommand::TakeCallback(callback) => Ok(callbacks::take(set, client, callback, ids, now)),
        PaymentCommand::ResolveAlert { alert_id, action, by, note, askable } => {
            let resolving = Resolving { alert_id: *alert_id, action: *action, by, note, askable };
            resolve(set, client, resolving, ids, now)
        }
        PaymentCommand::Expire { payment_no } => Ok(expire(set, client, payment_no, ids, now)),
        PaymentCommand::AskAboutUnmatched { provider, provider_payment_id } => {
            let key = (client, *provider, provider_payment_id.clone());
            Ok(ask_about_unmatched(set, client, &key, ids, now))
        }
        PaymentCommand::AskAboutStatement(question) => {
            Ok(ask_about_statement(set, client, question, ids, now))
        }
        PaymentCommand::NoteRefund { refund, came_of_it } => {
            Ok(note_refund(set, client, refund, came_of_it, ids, now))
        }
    }
}

/// Has money of an order given back by the provider that it was paid at.
pub(super) fn refund(
    case: &mut super::Case<'_>,
    order: &Order,
    refunding: Refunding,
    askable: &[ProviderKind],
) -> Result<Decision, Refusal> {
    let (set, client, now, ids) = (case.set, case.client, case.now, &mut *case.ids);
    let receipts: Vec<Receipt> = set
        .receipts
        .iter()
        .filter(|receipt| receipt.client_id == client && receipt.payment_no == order.payment_no)
        .cloned()
        .collect();
    let asked = asked_of(set, &receipts);
    let spoken_for: Vec<ItemWanted> = of_order(set, &asked)
        .filter(|(asked, _)| asked.is_open() && !asked.items_back)
        .flat_map(|(_, refund)| refund.items.iter().cloned())
        .collect();
    let (refund, changed) = order::refund::at_provider(order, &spoken_for, refunding)?;
    // Money that paid the order may be another provider's than the one that was to have it.
    let has_paid = |receipt: &&Receipt| receipt.funds.is_some_and(|funds| !funds.applied.is_zero());
    if !receipts.iter().filter(has_paid).any(|receipt| askable.contains(&receipt.provider)) {
        return Err(Refusal::RefundAtProvider);
    }
    let known = known(set, client, order.payment_no.as_deref(), None);
    let known = payment_callback::Known { receipts, alerts: open_alerts(set, client), asked, ..known };
    let mut new_id = || ids.take();
    let mut money = Case::open(client, known, now, &mut new_id);
    match money.ask_order_refund(refund.id, refund.amount) {
        Ok(asked) => debug_assert_eq!(asked.id, refund.id, "one refund has one id"),
        Err(NotAsked::NothingLeft { refundable }) => {
            return Err(Refusal::RefundExceedsPaid { refundable, required: refund.amount });
        }
        // A refusal would be remembered for ever, and be wrong as soon as the provider has said more.
        Err(NotAsked::Undecided) => {
            return Ok(Decision { outcome: Outcome::Undecided, changes: Changes::default() });
        }
    }
    let made = money.close();
    let mut changes = written(set, Vec::new(), made, ids, now);
    changes.versions_of_refunds.push(VersionOfRefund::of(&changed, refund.id, RefundStep::Asked));
    changes.orders.push(changed.clone());
    changes.order_refunds.push(refund.clone());
    Ok(Decision { outcome: Outcome::RefundAsked(refund, changed), changes })
}

/// What came of asking a provider for a refund, where it has said nothing about the refund itself.
fn note_refund(
    set: &WorkingSet,
    client: ClientId,
    refund: &AskedRefund,
    came_of_it: &Asked,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let receipt = set.receipts.get(&refund.receipt_key());
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known(set, client, None, receipt), now, &mut new_id);
    let outcome = match case.note_asked(refund.id, came_of_it) {
        Some(asked) => Outcome::RefundNoted(asked),
        None => Outcome::NothingDue,
    };
    let made = case.close();
    Decision { outcome, changes: written(set, Vec::new(), made, ids, now) }
}

/// Places an order that a payment at a provider shall pay; if the provider has told of it already, it is paid at once.
/// `reserved` are the skus of its items, which are set aside for it.
pub(super) fn place(
    case: &mut super::Case<'_>,
    account: &account::Account,
    placement: Placement,
    terms: &PaymentTerms,
    reserved: Vec<Sku>,
) -> Result<Decision, Refusal> {
    let (set, ids) = (case.set, &mut *case.ids);
    let PaymentTerms::Provider { provider: word, payment_no, expires_in_s } = terms else {
        unreachable!("other terms are placed elsewhere")
    };
    let (client, now) = (account.client_id, placement.now);
    let existing = set.payments.get(&(client, payment_no.clone()));
    if let Some(request) = existing.and_then(|payment| payment.request) {
        return Err(Refusal::DuplicatePaymentNo {
            payment_no: payment_no.clone(),
            existing: request.order_id,
        });
    }
    let expires_at = now + TimeDelta::seconds((*expires_in_s).into());
    let order = provider::await_payment(account, placement, payment_no.clone(), expires_at)?;
    let request = PaymentRequest {
        order_id: order.id,
        provider: ProviderKind::from_word(word).expect("the terms were made of a provider that there is"),
        amount: order.amount,
        expires_at,
    };
    let receipts = set.receipts.iter().filter(|receipt| {
        receipt.client_id == client && receipt.payment_no.as_deref() == Some(payment_no.as_str())
    });
    let known = payment_callback::Known {
        payment: existing.cloned(),
        order: Some(order.clone()),
        receipts: receipts.cloned().collect(),
        alerts: open_alerts(set, client),
        refunds: Vec::new(),
        asked: Vec::new(),
        of_order: Vec::new(),
    };
    let placed = announce::payments::order_placed(&order, ids, now);
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known, now, &mut new_id);
    case.ask_for(payment_no, request);
    let payment = case.payment().expect("it was asked for").clone();
    let paid = case.order().expect("it was placed").clone();
    let made = case.close();
    let mut changes = written(set, reserved, made, ids, now);
    changes.orders.insert(0, order);
    changes.events.insert(0, placed);
    Ok(Decision { outcome: Outcome::OrderPlaced { order: paid, payment: Some(payment) }, changes })
}

/// How an alert is to be resolved.
struct Resolving<'c> {
    alert_id: AlertId,
    action: AlertAction,
    by: &'c str,
    note: &'c str,
    askable: &'c [ProviderKind],
}

fn resolve(
    set: &WorkingSet,
    client: ClientId,
    resolving: Resolving<'_>,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Result<Decision, Refusal> {
    let Resolving { alert_id: id, action, by, note, askable } = resolving;
    let alert = set.alerts.get(&(client, id)).ok_or(Refusal::AlertNotFound(id))?;
    let receipt = alert.receipt_key().and_then(|key| set.receipts.get(&key));
    let mut known = known(set, client, alert.payment_no.as_deref(), receipt);
    if !known.alerts.iter().any(|known| known.id == id) {
        known.alerts.push(alert.clone());
    }
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known, now, &mut new_id);
    case.resolve(id, action, by, note.to_owned(), askable)?;
    let resolved = case.alert(id).expect("it was resolved").clone();
    let made = case.close();
    let changes = written(set, Vec::new(), made, ids, now);
    Ok(Decision { outcome: Outcome::AlertResolved(resolved), changes })
}

fn expire(
    set: &WorkingSet,
    client: ClientId,
    payment_no: &str,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known(set, client, Some(payment_no), None), now, &mut new_id);
    let outcome = match case.expire_if_due() {
        true => Outcome::PaymentExpired(case.payment().expect("it was due").clone()),
        false => Outcome::NothingDue,
    };
    let made = case.close();
    Decision { outcome, changes: written(set, Vec::new(), made, ids, now) }
}

fn ask_about_unmatched(
    set: &WorkingSet,
    client: ClientId,
    key: &ReceiptKey,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let receipt = set.receipts.get(key);
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known(set, client, None, receipt), now, &mut new_id);
    case.ask_about_unmatched();
    let made = case.close();
    let outcome = match made.alerts.first() {
        Some(alert) => Outcome::AlertRaised(alert.clone()),
        None => Outcome::NothingDue,
    };
    Decision { outcome, changes: written(set, Vec::new(), made, ids, now) }
}

fn ask_about_statement(
    set: &WorkingSet,
    client: ClientId,
    question: &StatementQuestion,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    if set.causes_known.contains(&(client, question.kind, question.cause.clone())) {
        return Decision { outcome: Outcome::NothingDue, changes: Changes::default() };
    }
    let alert = Alert {
        client_id: client,
        id: AlertId(ids.take()),
        kind: question.kind,
        cause: question.cause.clone(),
        payment_no: question.payment_no.clone(),
        provider: question.provider,
        provider_payment_id: question.provider_payment_id.clone(),
        receipt_id: None,
        expected: question.books,
        received: question.statement,
        detail: Some(question.detail.clone()),
        resolution: None,
        version: 1,
        created_at: now,
    };
    let made = CaseChanges { alerts: vec![alert.clone()], ..CaseChanges::default() };
    Decision { outcome: Outcome::AlertRaised(alert), changes: written(set, Vec::new(), made, ids, now) }
}

/// All that was loaded of the payment of this number; a receipt's own number goes before what somebody calls it.
fn known(
    set: &WorkingSet,
    client: ClientId,
    payment_no: Option<&str>,
    receipt: Option<&Receipt>,
) -> payment_callback::Known {
    let own = receipt.and_then(|receipt| receipt.payment_no.as_deref());
    known_under(set, client, own.or(payment_no), receipt)
}

/// All that was loaded of the payment of exactly this number, and of a receipt.
pub(super) fn known_under(
    set: &WorkingSet,
    client: ClientId,
    payment_no: Option<&str>,
    receipt: Option<&Receipt>,
) -> payment_callback::Known {
    let payment = payment_no.and_then(|number| set.payments.get(&(client, number.to_owned())));
    let asked = receipt.map(|receipt| asked_of(set, std::slice::from_ref(receipt))).unwrap_or_default();
    payment_callback::Known {
        payment: payment.cloned(),
        order: payment.and_then(|payment| order_of(set, payment)).cloned(),
        receipts: receipt.cloned().into_iter().collect(),
        alerts: match receipt.and_then(|receipt| receipt.open_alert) {
            Some(id) => set.alerts.get(&(client, id)).cloned().into_iter().collect(),
            None => Vec::new(),
        },
        refunds: Vec::new(),
        of_order: of_order(set, &asked).map(|(_, refund)| refund.clone()).collect(),
        asked,
    }
}

/// The refunds that were asked for of these receipts, as far as they were loaded.
fn asked_of(set: &WorkingSet, receipts: &[Receipt]) -> Vec<AskedRefund> {
    let of_these = |asked: &&AskedRefund| receipts.iter().any(|receipt| receipt.key() == asked.receipt_key());
    set.asked.iter().filter(of_these).cloned().collect()
}

/// Those of these refunds that are orders', with what their orders know of them.
fn of_order<'s>(
    set: &'s WorkingSet,
    asked: &'s [AskedRefund],
) -> impl Iterator<Item = (&'s AskedRefund, &'s Refund)> {
    asked.iter().filter_map(|asked| Some((asked, set.refunds_of_orders.get(&(asked.client_id, asked.id))?)))
}

fn order_of<'s>(set: &'s WorkingSet, payment: &Payment) -> Option<&'s Order> {
    set.order(payment.client_id, payment.request?.order_id)
}

fn open_alerts(set: &WorkingSet, client: ClientId) -> Vec<Alert> {
    set.alerts.iter().filter(|alert| alert.client_id == client).cloned().collect()
}

/// The rows of a case, with the events that tell of them, and with what the order's items go through. `reserved` are
/// the skus that the same decision has changed before.
pub(super) fn written(
    set: &WorkingSet,
    reserved: Vec<Sku>,
    made: CaseChanges,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Changes {
    let events = announce::payments::of_case(set, &made, ids, now);
    let CaseChanges { payments, orders, versions_of_refunds, receipts, refunds, alerts, asked, entries } =
        made;
    debug_assert!(
        payments.iter().all(|payment| payment.status != PaymentStatus::Parked || orders.is_empty()),
        "a payment without an order changes none"
    );
    let skus = with_stock_moved(set, reserved, &orders, now);
    Changes {
        payments,
        orders,
        versions_of_refunds,
        skus,
        receipts,
        refunds,
        alerts,
        asked,
        entries,
        events,
        ..Changes::default()
    }
}

/// What an order reserved is sold when it is paid, and back when it has ended unpaid; what it bought is back as far as
/// refunds that are done have brought it. Each follows from a version of the order and the one before it, so that it
/// happens once.
fn with_stock_moved(
    set: &WorkingSet,
    mut skus: Vec<Sku>,
    versions: &[Order],
    now: DateTime<Utc>,
) -> Vec<Sku> {
    let mut before = versions.first().and_then(|order| set.order(order.client_id, order.id));
    for order in versions {
        // One that is placed now, and paid with it, waited for no longer than that.
        let waited = before.is_none_or(|before| before.status == OrderStatus::PendingPayment);
        for (place, item) in order.items.iter().enumerate() {
            let changed = skus.iter().rev().find(|sku| sku.code == item.sku);
            let sku = || {
                let sku = changed.or_else(|| set.sku(order.client_id, &item.sku));
                sku.expect("the skus that an order moves are loaded with it")
            };
            let returned = item.given_back - before.map_or(0, |before| before.items[place].given_back);
            let moved = match order.status {
                OrderStatus::Paid if waited => sku().sell_reserved(item.quantity, now),
                OrderStatus::Expired | OrderStatus::Cancelled if waited => {
                    sku().give_back_reserved(item.quantity, now)
                }
                _ if returned > 0 => sku().give_back_sold(returned, now),
                _ => continue,
            };
            skus.push(moved);
        }
        before = Some(order);
    }
    skus
}
