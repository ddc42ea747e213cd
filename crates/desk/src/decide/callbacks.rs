//! Deciding what follows from a provider's delivery.

use chrono::{DateTime, Utc};
use client::ClientId;
use payment_callback::{
    Alert, AlertId, AlertKind, Case, CaseChanges, Decision as Judgement, DeliveryId, DeliveryKey,
    DeliveryRecord, Effect, KnownPayment, QuarantinedBody, Told, judge,
};

use crate::Outcome;
use crate::command::CallbackCommand;
use crate::decide::{Decision, payments};
use crate::ids::Ids;
use crate::working_set::{Changes, WorkingSet};

/// Takes in what a provider has told of, unless it was taken in before.
pub(super) fn take(
    set: &WorkingSet,
    client: ClientId,
    callback: &CallbackCommand,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let only = |outcome| Decision { outcome, changes: Changes::default() };
    let key = match set.deliveries.get(&callback.delivery_key(client)) {
        None => callback.delivery_key(client),
        Some(known) if known.fingerprint == callback.fingerprint => {
            return only(Outcome::CallbackRepeated(known.id));
        }
        Some(known) => match set.deliveries.get(&callback.conflicting_key(client)) {
            Some(known) => return only(Outcome::CallbackRepeated(known.id)),
            // Nothing was made of it then, and it is read otherwise now: by a corrected configuration, or an adapter that
            // knows more.
            None if known.was_passed_over => callback.conflicting_key(client),
            None => return take_conflicting(set, client, callback, ids, now),
        },
    };
    let id = DeliveryId(ids.take());
    let event = &callback.notice.event;
    let receipt = callback.receipt_key(client).and_then(|key| set.receipts.get(&key));
    let number = payment_callback::told::case_number(event, receipt);
    let mut known = payments::known_under(set, client, number, receipt);
    let counted = callback.refund_key(client).and_then(|refund| set.refunds_known.get(&refund));
    known.refunds.extend(counted.cloned());
    let causes = callback.alert_causes(client);
    known.alerts.extend(set.alerts.iter().filter(|alert| causes.contains(&alert.cause())).cloned());
    let asked = known.payment.as_ref().and_then(|payment| {
        let amount = payment.request?.amount;
        Some(KnownPayment { payment_no: &payment.payment_no, amount })
    });
    let decision = judge(event, asked.as_ref());
    let mut new_id = || ids.take();
    let mut case = Case::open(client, known, now, &mut new_id);
    let told = Told {
        endpoint: &callback.endpoint,
        recorded_as: &key.2,
        provider: callback.provider,
        notice: &callback.notice,
    };
    let effect = case.receive(told);
    let made = case.close();
    let mut record = recorded(key, id, callback, (decision, effect), now);
    if record.payment_no.is_none() {
        record.payment_no = receipt.and_then(|receipt| receipt.payment_no.clone());
    }
    let mut changes = payments::written(set, Vec::new(), made, ids, now);
    // What is for somebody else, by the endpoint's configuration, is kept like what a person has to look at: it may be the
    // configuration that is wrong.
    if effect.is_held() || decision == Judgement::IgnoreOtherAccount {
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
    let mut changes = payments::written(set, Vec::new(), made, ids, now);
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
