//! What follows on what: the auditor's table is the service's, and a step that there is not is found.

use std::collections::BTreeSet;

use audit::transitions::ORDER_STEPS;
use desk::schema::Database;
use order::status::Step;
use order::{OrderEvent, OrderStatus};

use crate::asked_refunds::with_refunds_asked_for;
use crate::ledger::{audited, failing, frozen, tamper};
use crate::payments::with_payments;

/// The change that an event of an order makes.
fn change(event: OrderEvent) -> &'static str {
    match event {
        OrderEvent::CapturedInPart | OrderEvent::CapturedFinally => "captured",
        OrderEvent::Cancelled => "cancelled",
        OrderEvent::Expired => "expired",
        OrderEvent::PaymentSucceeded => "paid",
        OrderEvent::PaymentMismatched | OrderEvent::PaymentFailed => "no change",
        OrderEvent::RefundedInPart | OrderEvent::RefundedInFull => "refunded",
    }
}

#[test]
fn the_auditors_table_of_transitions_is_the_services() {
    let mut coded = BTreeSet::new();
    for state in OrderStatus::ALL {
        for event in OrderEvent::ALL {
            if let Ok(Step::To(next)) = state.on(event) {
                coded.insert((state.as_str(), change(event), next.as_str()));
            }
        }
    }
    let steps = ORDER_STEPS.iter().filter_map(|(from, change, to)| Some(((*from)?, *change, *to)));
    // That a refund is asked for, and how that ends, is no event of the table: the order is where it was.
    let telling = ["refund_asked", "refund_confirmed", "refund_failed"];
    let (telling, moving): (BTreeSet<_>, BTreeSet<_>) =
        steps.partition(|(_, change, _)| telling.contains(change));
    assert_eq!(moving, coded);
    assert!(telling.iter().all(|(from, _, to)| from == to), "{telling:?}");
}

/// The version of the refunded order that its capture made, and the same order's events.
const REFUNDED: &str = "(SELECT order_id FROM orders WHERE client_order_no = 'o-refunded')";

/// What is done to frozen and captured orders and holds, and which checks must find something. No other may.
const DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "a refund of an order that was cancelled before",
        "UPDATE order_versions SET what = 'cancelled', status = 'cancelled', captured_amount = 0
         WHERE order_id = :refunded AND what = 'captured'",
        &["order-versions", "answers", "event-states"],
    ),
    (
        "a refund of more than was captured then",
        "UPDATE order_versions SET captured_amount = 5 WHERE order_id = :refunded AND what = 'captured'",
        &["order-versions", "answers", "event-states"],
    ),
    (
        "a capture that takes nothing",
        "UPDATE order_versions SET captured_amount = 0 WHERE order_id = :refunded AND what = 'captured'",
        &["order-versions", "answers", "event-states"],
    ),
    (
        "a capture of an order that was paid at once",
        "UPDATE orders SET payment_method = 'balance' WHERE client_order_no = 'o-refunded'",
        &["order-payments", "order-amounts", "order-holds", "order-versions", "events"],
    ),
    (
        "an event that tells of another state than its version",
        "UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{status}', '\"expired\"')::json
         WHERE event_type = 'onefold.order.cancelled.v1'",
        &["event-states"],
    ),
    (
        "an event that tells of other figures than its version",
        "UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{refunded_amount}', '\"10.01\"')::json
         WHERE event_type = 'onefold.order.refunded.v1'",
        &["event-states"],
    ),
    (
        "an event that tells of another past than the version before",
        "UPDATE outbox_events
         SET data = jsonb_set(data::jsonb, '{previous,captured_amount}', '\"19.00\"')::json
         WHERE event_type = 'onefold.order.captured.v1'",
        &["event-states"],
    ),
    (
        "an event whose past it cannot follow on",
        "UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{previous,status}', '\"cancelled\"')::json
         WHERE event_type = 'onefold.order.refunded.v1'",
        &["event-states"],
    ),
    (
        "an event that tells nothing",
        "UPDATE outbox_events SET data = '[]' WHERE event_type = 'onefold.order.refunded.v1'",
        &["event-states"],
    ),
    (
        "a placing that tells of an order that was paid already",
        "UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{status}', '\"paid\"')::json
         WHERE event_type = 'onefold.order.authorized.v1' AND aggregate_id = :refunded",
        &["event-states"],
    ),
    (
        "a hold that was released and went on",
        "UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{status}', '\"released\"')::json,
                event_type = 'onefold.hold.released.v1'
         WHERE event_type = 'onefold.hold.captured.v1' AND sequence = 2",
        &["events", "event-states"],
    ),
    (
        "a hold's end of which its event tells otherwise",
        "UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{captured_amount}', '\"21.00\"')::json
         WHERE event_type = 'onefold.hold.captured.v1' AND sequence = 3",
        &["event-states"],
    ),
    (
        "a hold that expired, and whose money was released",
        "UPDATE holds SET status = 'expired' WHERE reference = 'h-released'",
        &["hold-rows", "records", "events", "event-states"],
    ),
    (
        "an order that was cancelled, and whose hold expired",
        "UPDATE holds SET status = 'expired'
         WHERE hold_id = (SELECT order_id FROM orders WHERE client_order_no = 'o-cancelled');
         UPDATE journal_entries SET kind = 'hold_expiry'
         WHERE kind = 'hold_release'
           AND order_id = (SELECT order_id FROM orders WHERE client_order_no = 'o-cancelled')",
        &["order-holds"],
    ),
];

/// The same of payments at providers.
const PAYMENT_DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "a payment that expired, of an order that was paid",
        "UPDATE payments SET status = 'expired' WHERE payment_no = 'P-0001'",
        &["payments"],
    ),
    (
        "a payment that was closed, of an order that waits",
        "UPDATE payments SET status = 'closed' WHERE payment_no = 'P-0003'",
        &["payments"],
    ),
    (
        "a delivery that has closed a payment which is paid",
        "UPDATE callback_deliveries SET effect = 'closed' WHERE delivery_key = 'evt_1'",
        &["payments", "answers"],
    ),
    (
        "a delivery that has paid a payment which waits",
        "UPDATE callback_deliveries SET effect = 'settled' WHERE delivery_key = 'evt_4'",
        &["payments", "answers"],
    ),
    (
        "an order that was paid before it was placed",
        "UPDATE order_versions SET what = 'paid', status = 'paid', captured_amount = 88.80
         WHERE what = 'placed' AND order_id = (SELECT order_id FROM orders WHERE client_order_no = 'P-0001')",
        &["order-versions", "event-states"],
    ),
];

/// The same of refunds that a provider is asked for.
const REFUND_DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "a refund that was in the dark from the first",
        "UPDATE asked_refunds SET version = 1 WHERE status = 'unknown'",
        &["asked-refunds"],
    ),
    (
        "asking for a refund that moved money by itself",
        "UPDATE order_versions SET refunded_amount = 1
         WHERE what = 'refund_asked' AND order_id = (SELECT order_id FROM asked_refunds WHERE amount = 20)",
        &["order-versions", "event-states"],
    ),
];

async fn found(database: &Database, sql: &str) -> anyhow::Result<Vec<&'static str>> {
    tamper(database.owner_options(), &sql.replace(":refunded", REFUNDED)).await?;
    Ok(failing(&audited(database.owner_options()).await?))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_there_is_not_is_found_by_the_checks_that_it_concerns() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for (damage, sql, expected) in DAMAGES {
        let found = found(&frozen().await?, sql).await?;
        if found != *expected {
            wrong.push(format!("{damage}: {found:?} instead of {expected:?}"));
        }
    }
    for (damage, sql, expected) in PAYMENT_DAMAGES {
        let found = found(&with_payments().await?, sql).await?;
        if found != *expected {
            wrong.push(format!("{damage}: {found:?} instead of {expected:?}"));
        }
    }
    for (damage, sql, expected) in REFUND_DAMAGES {
        let found = found(&with_refunds_asked_for().await?, sql).await?;
        if found != *expected {
            wrong.push(format!("{damage}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Deletes what is older than the refund of an order, as the relay does with what is published.
const PRUNED: &str = "
    INSERT INTO clients (client_id, name, created_at)
    SELECT client_id, 'somebody', created_at - interval '1 day' FROM accounts LIMIT 1;
    INSERT INTO event_streams
    SELECT client_id, 1, '3', order_id, 1, order_id, created_at - interval '10 minutes'
    FROM order_versions WHERE what = 'refunded';
    DELETE FROM outbox_events
    WHERE occurred_at < (SELECT created_at FROM order_versions WHERE what = 'refunded')";

#[tokio::test]
async fn what_became_of_an_order_since_events_were_deleted_is_still_told_by_its_events() -> anyhow::Result<()>
{
    let books = frozen().await?;
    assert_eq!(found(&books, PRUNED).await?, [""; 0]);
    let lost = "DELETE FROM outbox_events WHERE event_type = 'onefold.order.refunded.v1'";
    assert_eq!(found(&books, lost).await?, ["events"]);

    let books = frozen().await?;
    let otherwise = format!(
        "{PRUNED}; UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{{status}}', '\"refunded\"')::json"
    );
    assert_eq!(found(&books, &otherwise).await?, ["event-states"]);
    Ok(())
}

#[tokio::test]
async fn events_of_earlier_versions_of_the_service_that_do_not_tell_of_the_past_are_right()
-> anyhow::Result<()> {
    let books = frozen().await?;
    let silent = "UPDATE outbox_events SET data = (data::jsonb - 'previous')::json";
    assert_eq!(found(&books, silent).await?, [""; 0]);
    let wrong =
        "UPDATE outbox_events SET data = jsonb_set(data::jsonb, '{refunded_amount}', '\"0.00\"')::json
                 WHERE event_type = 'onefold.order.refunded.v1'";
    assert_eq!(found(&books, wrong).await?, ["event-states"]);
    Ok(())
}
