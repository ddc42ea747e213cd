//! Deciding what has to do with payments at providers.

use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use inventory::Sku;
use order::{Order, OrderStatus, PaymentTerms, Placement, Refunding, provider};
use payment_callback::{
    Alert, AlertAction, AlertId, AlertKind, Asked, AskedRefund, Case, CaseChanges, Decision as Judgement,
    DeliveryId, DeliveryKey, DeliveryRecord, Effect, KnownPayment, Payment, PaymentRequest, PaymentStatus,
    ProviderKind, QuarantinedBody, Receipt, ReceiptKey, Told, judge,
};

use crate::announce;
use crate::command::{CallbackCommand, PaymentCommand, StatementQuestion};
use crate::decide::Decision;
use crate::ids::Ids;
use crate::working_set::{Changes, WorkingSet};
use crate::{Outcome, Refusal};

/// Who resolves an alert by the API: whoever holds a key of the client.
const RESOLVED_BY: &str = "client";

pub(super) fn decide(
    set: &WorkingSet,
    client: ClientId,
    command: &PaymentCommand,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Result<Decision, Refusal> {
    match command {
        PaymentCommand::TakeCallback(callback) => Ok(take_callback(set, client, callback, ids, now)),
        PaymentCommand::ResolveAlert { alert_id, action, note, askable } => {
            let resolving = Resolving { alert_id: *alert_id, action: *action, note, askable };
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
    let (refund, changed) = order::refund::at_provider(order, refunding)?;
    let skus = super::orders::with_sold_back(case, &refund);
    let (set, client, now, ids) = (case.set, case.client, case.now, &mut *case.ids);
    let known = known(set, client, order.payment_no.as_deref(), None);
    let receipts: Vec<Receipt> = set
        .receipts
        .iter()
        .filter(|receipt| receipt.client_id == client && receipt.payment_no == order.payment_no)
        .cloned()
        .collect();
    // Money that paid the order may be another provider's than the one that was to have it.
    let has_paid = |receipt: &&Receipt| receipt.funds.is_some_and(|funds| !funds.applied.is_zero());
    if !receipts.iter().filter(has_paid).any(|receipt| askable.contains(&receipt.provider)) {
        return Err(Refusal::RefundAtProvider);
    }
    let asked = asked_of(set, &receipts);
    let known = payment_callback::Known { receipts, alerts: open_alerts(set, client), asked, ..known };
    let mut new_id = || ids.take();
    let mut money = Case::open(client, known, now, &mut new_id);
    let asked = money.ask_order_refund(refund.id, refund.amount).map_err(|left| {
        Refusal::RefundExceedsPaid { refundable: left.refundable, required: refund.amount }
    })?;
    debug_assert_eq!(asked.id, refund.id, "one refund has one id");
    let made = money.close();
    let mut changes = written(set, skus, made, ids, now);
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

fn take_callback(
    set: &WorkingSet,
    client: ClientId,
    callback: &CallbackCommand,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let only = |outcome| Decision { outcome, changes: Changes::default() };
    match set.deliveries.get(&callback.delivery_key(client)) {
        None => {}
        Some((id, known)) if *known == callback.fingerprint => return only(Outcome::CallbackRepeated(*id)),
        Some(_) => {
            return match set.deliveries.get(&callback.conflicting_key(client)) {
                Some((id, _)) => only(Outcome::CallbackRepeated(*id)),
                None => take_conflicting(set, client, callback, ids, now),
            };
        }
    }
    let id = DeliveryId(ids.take());
    let event = &callback.notice.event;
    let key = callback.receipt_key(client);
    let receipt = key.as_ref().and_then(|key| set.receipts.get(key));
    let mut known = known(set, client, event.payment_no(), receipt);
    let counted = callback.refund_key(client).and_then(|refund| set.refunds_known.get(&refund));
    known.refunds.extend(counted.cloned());
    if let Some(cause) = callback.stuck_cause(client) {
        known.alerts.extend(set.alerts.iter().filter(|alert| alert.cause() == cause).cloned());
    }
    let asked = known.payment.as_ref().and_then(|payment| {
        let amount = payment.request?.amount;
        Some(KnownPayment { payment_no: &payment.payment_no, amount })
    });
    let decision = judge(event, asked.as_ref());
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known, now, &mut new_id);
    let told = Told { endpoint: &callback.endpoint, provider: callback.provider, notice: &callback.notice };
    let effect = case.receive(told);
    let made = case.close();
    let record = recorded(callback.delivery_key(client), id, callback, (decision, effect), now);
    let mut changes = written(set, Vec::new(), made, ids, now);
    if effect.is_held() {
        changes.bodies.push(quarantined(client, callback, ids, now));
    }
    changes.deliveries.push(record.clone());
    Decision { outcome: Outcome::CallbackTaken(record), changes }
}

/// A known delivery with another content: nothing is done but to ask a person.
fn take_conflicting(
    set: &WorkingSet,
    client: ClientId,
    callback: &CallbackCommand,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let (key, id) = (callback.conflicting_key(client), DeliveryId(ids.take()));
    let record = recorded(key, id, callback, (Judgement::RecordOnly, Effect::Held), now);
    let alert = Alert {
        client_id: client,
        id: AlertId(ids.take()),
        kind: AlertKind::DeliveryConflict,
        cause: format!("delivery:{}:{}", record.endpoint, record.delivery_key),
        payment_no: record.payment_no.clone(),
        provider: callback.provider,
        provider_payment_id: record.provider_payment_id.clone(),
        receipt_id: None,
        expected: None,
        received: None,
        detail: Some(format!(
            "the delivery {} came to {} before, with another content",
            callback.notice.delivery_key, callback.endpoint
        )),
        resolution: None,
        version: 1,
        created_at: now,
    };
    let made = CaseChanges { alerts: vec![alert], ..CaseChanges::default() };
    let mut changes = written(set, Vec::new(), made, ids, now);
    changes.bodies.push(quarantined(client, callback, ids, now));
    changes.deliveries.push(record.clone());
    Decision { outcome: Outcome::CallbackTaken(record), changes }
}

/// The record of a delivery under this key, with what it asked for and what was done.
fn recorded(
    (client_id, endpoint, delivery_key): DeliveryKey,
    id: DeliveryId,
    callback: &CallbackCommand,
    (decision, effect): (Judgement, Effect),
    now: DateTime<Utc>,
) -> DeliveryRecord {
    let event = &callback.notice.event;
    DeliveryRecord {
        client_id,
        id,
        endpoint,
        delivery_key,
        fingerprint: callback.fingerprint,
        provider: callback.provider,
        event_type: callback.notice.event_type.clone(),
        decision,
        effect,
        payment_no: event.payment_no().map(str::to_owned),
        provider_payment_id: event.payment_id().map(str::to_owned),
        received_at: now,
    }
}

fn quarantined(
    client: ClientId,
    callback: &CallbackCommand,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> QuarantinedBody {
    QuarantinedBody {
        client_id: client,
        id: ids.take(),
        endpoint: callback.endpoint.clone(),
        delivery_key: callback.notice.delivery_key.clone(),
        body: callback.body.clone(),
        received_at: now,
        delete_at: now + callback.body_kept,
    }
}

/// How an alert is to be resolved.
struct Resolving<'c> {
    alert_id: AlertId,
    action: AlertAction,
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
    let Resolving { alert_id: id, action, note, askable } = resolving;
    let alert = set.alerts.get(&(client, id)).ok_or(Refusal::AlertNotFound(id))?;
    let receipt = alert.receipt_key().and_then(|key| set.receipts.get(&key));
    let mut known = known(set, client, alert.payment_no.as_deref(), receipt);
    if !known.alerts.iter().any(|known| known.id == id) {
        known.alerts.push(alert.clone());
    }
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known, now, &mut new_id);
    case.resolve(id, action, RESOLVED_BY, note.to_owned(), askable)?;
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
    let payment_no = receipt.and_then(|receipt| receipt.payment_no.as_deref()).or(payment_no);
    let payment = payment_no.and_then(|number| set.payments.get(&(client, number.to_owned())));
    payment_callback::Known {
        payment: payment.cloned(),
        order: payment.and_then(|payment| order_of(set, payment)).cloned(),
        receipts: receipt.cloned().into_iter().collect(),
        alerts: match receipt.and_then(|receipt| receipt.open_alert) {
            Some(id) => set.alerts.get(&(client, id)).cloned().into_iter().collect(),
            None => Vec::new(),
        },
        refunds: Vec::new(),
        asked: receipt.map(|receipt| asked_of(set, std::slice::from_ref(receipt))).unwrap_or_default(),
    }
}

/// The refunds that were asked for of these receipts, as far as they were loaded.
fn asked_of(set: &WorkingSet, receipts: &[Receipt]) -> Vec<AskedRefund> {
    let of_these = |asked: &&AskedRefund| receipts.iter().any(|receipt| receipt.key() == asked.receipt_key());
    set.asked.iter().filter(of_these).cloned().collect()
}

fn order_of<'s>(set: &'s WorkingSet, payment: &Payment) -> Option<&'s Order> {
    set.order(payment.client_id, payment.request?.order_id)
}

fn open_alerts(set: &WorkingSet, client: ClientId) -> Vec<Alert> {
    set.alerts.iter().filter(|alert| alert.client_id == client).cloned().collect()
}

/// The rows of a case, with the events that tell of them, and with what the order's items go through. `reserved` are
/// the skus that the same decision has changed before.
fn written(
    set: &WorkingSet,
    reserved: Vec<Sku>,
    made: CaseChanges,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Changes {
    let events = announce::payments::of_case(&made, ids, now);
    let CaseChanges { payments, orders, receipts, refunds, alerts, asked, entries } = made;
    debug_assert!(
        payments.iter().all(|payment| payment.status != PaymentStatus::Parked || orders.is_empty()),
        "a payment without an order changes none"
    );
    let skus = with_stock_moved(set, reserved, &orders, now);
    Changes {
        payments,
        orders,
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

/// What an order reserved is sold when it is paid, and back when it has ended unpaid. Each happens once, as the state
/// comes once.
fn with_stock_moved(
    set: &WorkingSet,
    mut skus: Vec<Sku>,
    versions: &[Order],
    now: DateTime<Utc>,
) -> Vec<Sku> {
    for order in versions {
        for item in &order.items {
            let changed = skus.iter().rev().find(|sku| sku.code == item.sku);
            let sku = changed.or_else(|| set.sku(order.client_id, &item.sku));
            let moved = match order.status {
                OrderStatus::Paid => sku.map(|sku| sku.sell_reserved(item.quantity, now)),
                OrderStatus::Expired | OrderStatus::Cancelled => {
                    sku.map(|sku| sku.give_back_reserved(item.quantity, now))
                }
                OrderStatus::PendingPayment
                | OrderStatus::Authorized
                | OrderStatus::PartiallyRefunded
                | OrderStatus::Refunded => continue,
            };
            skus.push(moved.expect("the skus of an order that waits are loaded with it"));
        }
    }
    skus
}
