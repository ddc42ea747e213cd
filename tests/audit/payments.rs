//! Books with payments at providers, and what is damaged in them by hand.

use account::AccountId;
use anyhow::ensure;
use chrono::TimeDelta;
use desk::command::{CallbackCommand, PaymentCommand};
use desk::schema::Database;
use desk::{Command, Desk, Hooks, Request, Settings};
use idempotency::Name;
use money::Amount;
use onefold_tests::database::new_service_database;
use onefold_tests::desks::{self, currency, request, status};
use order::PaymentTerms;
use payment_callback::{
    AlertAction, AlertId, DeliveryFingerprint, Event, Notice, ProviderKind, Refund, RefundOutcome, RefundSum,
    ReportedAmount,
};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::ledger::{audited, failing, opened, placing, tamper};

pub fn stripe() -> ProviderKind {
    ProviderKind::from_word("stripe").expect("a provider that there is")
}

pub fn cny(text: &str) -> Amount {
    Amount::parse(text, currency("CNY")).expect("an amount")
}

/// An order of 88.80 under this number, which is its payment's too.
pub fn ordering(number: &str, account_id: AccountId) -> Request {
    let payment = PaymentTerms::Provider {
        provider: stripe().word(),
        payment_no: number.to_owned(),
        expires_in_s: 1_800,
    };
    placing(number, account_id, cny("88.80"), Vec::new(), payment)
}

pub fn told(delivery: &str, event: Event) -> Request {
    let notice = Notice {
        delivery_key: delivery.to_owned(),
        event_type: "test".to_owned(),
        event,
        key_id: "1".to_owned(),
        subject: None,
    };
    let callback = CallbackCommand {
        endpoint: "stripe".to_owned(),
        provider: stripe(),
        fingerprint: DeliveryFingerprint::of(&notice),
        notice,
        body: b"the bytes".to_vec(),
        body_kept: TimeDelta::days(1),
    };
    let key = callback.door_key();
    let request = request(delivery, Command::Payment(PaymentCommand::TakeCallback(Box::new(callback))));
    Request { name: Name { key, ..request.name }, ..request }
}

pub fn paid(delivery: &str, number: &str, money: &str, amount: &str) -> Request {
    let amount = ReportedAmount::Exact(cny(amount));
    let event =
        Event::PaymentSucceeded { payment_no: Some(number.to_owned()), payment_id: money.to_owned(), amount };
    told(delivery, event)
}

/// One order paid, and refunded in part; money in excess that is owed back; an order paid too little; money that nobody
/// has asked for; and an order that waits.
pub async fn with_payments() -> anyhow::Result<Database> {
    let database = new_service_database().await?;
    let desk = desks::open(&database, Settings::default(), Hooks::default());
    let alice = opened(&desk, "open-alice", "alice", "CNY").await?;
    let refund = Refund {
        payment_no: Some("P-0001".to_owned()),
        payment_id: "pi_1".to_owned(),
        refund_id: None,
        refund_no: None,
        sum: RefundSum::RunningTotal(ReportedAmount::Exact(cny("10.00"))),
        outcome: RefundOutcome::Succeeded,
        paid: None,
    };
    let acts = [
        ordering("P-0001", alice),
        ordering("P-0002", alice),
        ordering("P-0003", alice),
        paid("evt_1", "P-0001", "pi_1", "88.80"),
        told("evt_2", Event::Refunded(refund)),
        paid("evt_3", "P-0001", "pi_2", "5.00"),
    ];
    submit_all(&desk, acts).await?;
    let alert = open_alert(&database, "excess").await?;
    let resolving = PaymentCommand::ResolveAlert {
        alert_id: alert,
        action: AlertAction::Refund,
        by: "client".to_owned(),
        note: "paid twice".to_owned(),
        askable: Vec::new(),
    };
    let resolving = Request {
        operation: "POST /v1/payment-alerts/{id}/resolve",
        ..request("resolve", Command::Payment(resolving))
    };
    let rest = [resolving, paid("evt_4", "P-0002", "pi_3", "80.00"), paid("evt_5", "P-9999", "pi_4", "7.00")];
    submit_all(&desk, rest).await?;
    desk.drain().await;
    Ok(database)
}

pub async fn submit_all(desk: &Desk, acts: impl IntoIterator<Item = Request>) -> anyhow::Result<()> {
    for request in acts {
        let key = request.name.key.as_str().to_owned();
        let answered = desk.submit(request, None).await.answered;
        ensure!(status(&answered).is_some_and(|status| status < 300), "{key} was answered {answered:?}");
    }
    Ok(())
}

/// The open alert of this kind.
pub async fn open_alert(database: &Database, kind: &str) -> anyhow::Result<AlertId> {
    let mut connection = PgConnection::connect_with(database.owner_options()).await?;
    let sql = "SELECT alert_id FROM payment_alerts WHERE status = 'open' AND kind = $1";
    let id: Uuid = sqlx::query_scalar(sql).bind(kind).fetch_one(&mut connection).await?;
    Ok(AlertId(id))
}

/// What is done to these books, as the owner of the tables, and which checks must find something. No other may.
const DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "a receipt of more than was booked",
        "UPDATE payment_receipts SET received = received + 1 WHERE provider_payment_id = 'pi_3'",
        &["receipts"],
    ),
    (
        "a receipt that was deleted",
        "DELETE FROM payment_receipts WHERE provider_payment_id = 'pi_4'",
        &["receipts"],
    ),
    (
        "money that is owed back and says that it was applied",
        "UPDATE payment_receipts SET applied = owed, owed = 0 WHERE provider_payment_id = 'pi_2'",
        &["receipts"],
    ),
    (
        "a receipt of another provider",
        "UPDATE payment_receipts SET provider = 'alipay' WHERE provider_payment_id = 'pi_4'",
        &["receipts"],
    ),
    (
        "a receipt of another currency",
        "UPDATE payment_receipts SET currency = 'USD' WHERE provider_payment_id = 'pi_4'",
        &["receipts"],
    ),
    (
        "a journal row of a receipt, deleted",
        "DELETE FROM journal_entries WHERE kind = 'payment_unapplied' AND amount = 7",
        &["roll-ups", "receipts"],
    ),
    (
        "a journal row of another receipt",
        "UPDATE journal_entries
         SET receipt_id = (SELECT receipt_id FROM payment_receipts WHERE provider_payment_id = 'pi_3')
         WHERE kind = 'payment_unapplied' AND amount = 7",
        &["receipts"],
    ),
    (
        "a settled row without its receipt",
        "ALTER TABLE journal_entries DROP CONSTRAINT journal_entries_payment_has_a_receipt;
         UPDATE journal_entries SET receipt_id = NULL WHERE kind = 'payment_settled'",
        &["entries", "receipts", "payments"],
    ),
    (
        "a paid order whose payment waits",
        "UPDATE payments SET status = 'pending' WHERE payment_no = 'P-0001'",
        &["payments"],
    ),
    (
        "a payment of another amount than its order",
        "UPDATE payments SET amount = amount + 1 WHERE payment_no = 'P-0003'",
        &["payments"],
    ),
    (
        "an order at a provider without its payment",
        "DELETE FROM payments WHERE payment_no = 'P-0003'",
        &["payments"],
    ),
    (
        "an order that was paid more than its receipts have earned",
        "UPDATE orders SET captured_amount = captured_amount + 1 WHERE client_order_no = 'P-0001'",
        &["order-versions", "payments"],
    ),
    (
        "a payment that ends before its order does",
        "UPDATE payments SET expires_at = expires_at - interval '1 second' WHERE payment_no = 'P-0003'",
        &["payments"],
    ),
    (
        "a row at the word of a delivery that is not there",
        "UPDATE journal_entries SET delivery_id = gen_random_uuid() WHERE kind = 'payment_unapplied' AND amount = 7",
        &["journal-keys"],
    ),
    (
        "a row of a receipt for an order that is not there",
        "UPDATE journal_entries SET order_id = gen_random_uuid() WHERE kind = 'payment_unapplied' AND amount = 80",
        &["journal-keys"],
    ),
    (
        "money that is owed back at the word of a request that resolved nothing",
        "UPDATE journal_entries SET idempotency_key = 'open-alice' WHERE kind = 'refund_owed'",
        &["journal-keys"],
    ),
    (
        "an answer to a callback that did something else",
        "UPDATE idempotency_records SET response_body = convert_to('{\"effect\":\"none\"}', 'UTF8') 
         WHERE resource = '/v1/callback-deliveries/' || (
             SELECT delivery_id FROM callback_deliveries WHERE delivery_key = 'evt_1')",
        &["answers"],
    ),
    (
        "a question that was lost",
        "UPDATE payment_receipts SET open_alert_id = NULL WHERE provider_payment_id = 'pi_3'",
        &["receipts", "alerts"],
    ),
    ("an alert that was deleted", "DELETE FROM payment_alerts WHERE status = 'open'", &["alerts", "events"]),
    (
        "an alert that was resolved by nobody's command",
        "UPDATE payment_alerts
         SET status = 'resolved', action = 'dismiss', resolved_by = 'client', resolved_at = now(), note = ''
         WHERE status = 'open'",
        &["alerts", "records", "events"],
    ),
    (
        "a delivery that was deleted",
        "DELETE FROM callback_deliveries WHERE delivery_key = 'evt_4'",
        &["records", "journal-keys", "answers"],
    ),
    (
        "a callback's record that was deleted before its time",
        "DELETE FROM idempotency_records
         WHERE resource = '/v1/callback-deliveries/' || (
             SELECT delivery_id FROM callback_deliveries WHERE delivery_key = 'evt_4')",
        &["records", "answers"],
    ),
    (
        "an event that was lost",
        "DELETE FROM outbox_events WHERE event_type = 'onefold.order.refunded.v1'",
        &["events"],
    ),
];

#[tokio::test]
async fn books_with_payments_that_nobody_damaged_are_clean() {
    let database = with_payments().await.expect("books");
    let report = audited(database.owner_options()).await.expect("an audit");
    assert_eq!(failing(&report), [""; 0], "{report:#?}");
    let rows = |name: &str| report.checks.iter().find(|check| check.name == name).map(|check| check.rows);
    for (name, expected) in [("receipts", 4), ("payments", 4), ("alerts", 2), ("records", 10)] {
        assert_eq!(rows(name), Some(expected), "{name}");
    }
}

#[tokio::test]
async fn every_damage_of_a_payment_is_found_by_its_check_and_by_no_other() {
    let mut wrong = Vec::new();
    for (damage, sql, expected) in DAMAGES {
        let database = with_payments().await.expect("books");
        let options = database.owner_options();
        tamper(options, sql).await.unwrap_or_else(|error| panic!("{damage}: {error:#}"));
        let report = audited(options).await.expect("an audit");
        let found = failing(&report);
        if found != *expected {
            let listed: Vec<_> = report.checks.iter().flat_map(|check| &check.listed).collect();
            wrong.push(format!("{damage}: {found:?} instead of {expected:?}: {listed:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
