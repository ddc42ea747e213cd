//! What is damaged by hand is found by the check that is there for it, and by those that it cannot but concern.

use onefold_tests::database::new_service_database;

use crate::ledger::{audited, audited_listing, failing, frozen, large, small, tamper};

/// What is done to the small books, as the owner of the tables, and which checks must find something. No other may.
const DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "a balance that was moved to another account",
        "UPDATE accounts SET available = available + 1 WHERE owner = 'alice';
         UPDATE accounts SET available = available - 1 WHERE owner = 'bob'",
        &["balances"],
    ),
    (
        "a balance from nowhere",
        "UPDATE accounts SET available = available + 1 WHERE owner = 'alice'",
        &["balances", "trial-balance"],
    ),
    (
        "an account's version that no row made",
        "UPDATE accounts SET version = version + 1 WHERE owner = 'alice'",
        &["balances"],
    ),
    (
        "a closed account with another version than its closing made",
        "UPDATE accounts SET version = version + 1 WHERE owner = 'carol'",
        &["balances", "events"],
    ),
    (
        "a closed account with money",
        "ALTER TABLE accounts DROP CONSTRAINT accounts_closed_is_empty;
         UPDATE accounts SET available = 1 WHERE owner = 'carol'",
        &["balances", "trial-balance"],
    ),
    (
        "a figure that does not follow from the row before",
        "UPDATE journal_entries SET debit_available_after = debit_available_after + 1 WHERE kind = 'transfer'",
        &["figures"],
    ),
    (
        "held money in a row's figures that nothing held",
        "UPDATE journal_entries SET debit_held_after = 1 WHERE kind = 'transfer'",
        &["figures"],
    ),
    (
        "a gap in the versions",
        "UPDATE journal_entries SET debit_version = 40 WHERE kind = 'transfer'",
        &["figures"],
    ),
    (
        "two rows that have changed places",
        "UPDATE journal_entries SET debit_version = 40 WHERE amount = 30;
         UPDATE journal_entries SET debit_version = 2 WHERE amount = 10;
         UPDATE journal_entries SET debit_version = 3 WHERE amount = 30",
        &["figures"],
    ),
    (
        "a journal row that was deleted",
        "DELETE FROM journal_entries WHERE amount = 30",
        &["figures", "roll-ups", "order-payments", "journal-keys"],
    ),
    (
        "the last journal row of an account, deleted",
        "DELETE FROM journal_entries WHERE debit_version = 5",
        &["balances", "roll-ups", "movements", "journal-keys"],
    ),
    (
        "a row for an account that is not there",
        "UPDATE journal_entries SET credit_account_id = gen_random_uuid() WHERE currency = 'JPY'",
        &["balances", "accounts", "movements"],
    ),
    (
        "an account that was deleted",
        "DELETE FROM accounts WHERE owner = 'dora'",
        &["accounts", "trial-balance", "records", "answers", "events"],
    ),
    (
        "an account of another client",
        "UPDATE accounts SET client_id = gen_random_uuid() WHERE owner = 'dora'",
        &["balances", "accounts", "trial-balance", "records", "answers", "events"],
    ),
    (
        "a row for a collecting account that is not there",
        "UPDATE journal_entries SET credit_account_id = gen_random_uuid() WHERE amount = 30",
        &["accounts", "roll-ups"],
    ),
    (
        "a row in another currency than its accounts",
        "UPDATE journal_entries SET currency = 'JPY' WHERE kind = 'transfer'",
        &["accounts", "movements"],
    ),
    (
        "a row and its movement in another currency than their accounts",
        "UPDATE journal_entries SET currency = 'JPY' WHERE kind = 'transfer';
         UPDATE movements SET currency = 'JPY' WHERE kind = 'transfer'",
        &["accounts", "answers"],
    ),
    (
        "an order and its row in another currency than the account",
        "UPDATE journal_entries SET currency = 'JPY' WHERE amount = 30;
         UPDATE orders SET currency = 'JPY' WHERE amount = 30",
        &["accounts", "answers", "event-states"],
    ),
    (
        "a currency that is none",
        "UPDATE journal_entries SET currency = 'XYZ' WHERE kind = 'transfer'",
        &["accounts", "entries", "movements"],
    ),
    (
        "a row of two causes",
        "UPDATE journal_entries SET order_id = gen_random_uuid() WHERE kind = 'transfer'",
        &["entries"],
    ),
    (
        "a row of an unknown kind",
        "UPDATE journal_entries SET kind = 'gift' WHERE kind = 'transfer'",
        &["entries", "movements", "journal-keys"],
    ),
    (
        "a row whose sides are not those of its kind",
        "UPDATE journal_entries SET kind = 'deposit' WHERE kind = 'transfer'",
        &["entries", "movements", "journal-keys"],
    ),
    (
        "an amount that is finer than its currency",
        "UPDATE journal_entries SET amount = 30.001, debit_available_after = debit_available_after - 0.001
         WHERE amount = 30;
         UPDATE orders SET amount = 30.001, captured_amount = 30.001 WHERE amount = 30",
        &["figures", "entries", "roll-ups", "order-amounts", "answers", "event-states"],
    ),
    (
        "an amount that is no number",
        "UPDATE journal_entries SET amount = 'NaN' WHERE kind = 'transfer'",
        &["figures", "entries", "movements"],
    ),
    (
        "a roll-up that was raised on one side",
        "UPDATE collecting_totals SET credits = credits + 1
         WHERE total_id = (SELECT total_id FROM collecting_totals LIMIT 1)",
        &["trial-balance", "roll-ups"],
    ),
    (
        "a roll-up that was raised on both sides",
        "UPDATE collecting_totals SET credits = credits + 1, debits = debits + 1
         WHERE total_id = (SELECT total_id FROM collecting_totals LIMIT 1)",
        &["roll-ups"],
    ),
    (
        "held money without a hold",
        "UPDATE accounts SET available = available - 1, held = held + 1 WHERE owner = 'alice'",
        &["balances", "holds"],
    ),
    (
        "a movement of another amount than its row",
        "UPDATE movements SET amount = amount + 1 WHERE kind = 'transfer'",
        &["movements", "answers"],
    ),
    (
        "a movement to another account than its row",
        "UPDATE movements SET to_account_id = gen_random_uuid() WHERE kind = 'transfer'",
        &["movements", "answers"],
    ),
    (
        "a movement that was deleted",
        "DELETE FROM movements WHERE kind = 'transfer'",
        &["movements", "records", "answers", "events"],
    ),
    (
        "a row that pays another order",
        "UPDATE journal_entries SET order_id = gen_random_uuid() WHERE amount = 30",
        &["order-payments", "journal-keys"],
    ),
    (
        "an order that was paid from another account",
        "UPDATE orders SET account_id = gen_random_uuid() WHERE amount = 30",
        &["order-payments", "answers", "event-states"],
    ),
    (
        "an order that was deleted",
        "DELETE FROM orders WHERE amount = 30",
        &["order-payments", "records", "answers", "events"],
    ),
    (
        "an order of which not all was taken",
        "UPDATE orders SET amount = amount + 1 WHERE amount = 30",
        &["order-amounts", "answers", "event-states"],
    ),
    (
        "an order of which more was taken than its amount",
        "ALTER TABLE orders DROP CONSTRAINT orders_captured_within_amount;
         UPDATE orders SET captured_amount = captured_amount + 1 WHERE amount = 30",
        &["order-payments", "order-amounts"],
    ),
    (
        "an order of which more was given back than taken",
        "ALTER TABLE orders DROP CONSTRAINT orders_refunded_within_captured;
         UPDATE orders SET refunded_amount = 31, status = 'refunded' WHERE amount = 30",
        &["order-amounts", "order-versions", "refunds"],
    ),
    (
        "a refund that the status does not know of",
        "UPDATE orders SET refunded_amount = 1 WHERE amount = 30",
        &["order-amounts", "refunds"],
    ),
    (
        "a record of an effect that is not there",
        "UPDATE idempotency_records SET resource = '/v1/orders/' || gen_random_uuid() WHERE key = 'o-1'",
        &["records", "journal-keys", "answers"],
    ),
    (
        "an old record of an effect that is not there",
        "INSERT INTO idempotency_records
         SELECT client_id, 'old', operation, fingerprint, 1, status, 1, '/v1/orders/' || gen_random_uuid(),
                201, '', NULL, '', first_seen_at, completed_at - interval '100 days', expires_at
         FROM idempotency_records WHERE key = 'o-1'",
        &["records", "answers"],
    ),
    (
        "a record of a closing, of an account that is open",
        "UPDATE accounts SET status = 'open', version = version - 1 WHERE owner = 'carol'",
        &["records", "events"],
    ),
    (
        "a record of another operation than the effect",
        "UPDATE idempotency_records SET operation = 'POST /v1/transfers' WHERE key = 'd-alice'",
        &["records", "journal-keys", "answers"],
    ),
    (
        "a record of an operation that there is not",
        "UPDATE idempotency_records SET operation = 'POST /v1/gifts' WHERE key = 'd-alice'",
        &["records", "journal-keys", "answers"],
    ),
    (
        "an effect without its record",
        "DELETE FROM idempotency_records WHERE key = 't-1'",
        &["records", "journal-keys", "answers"],
    ),
    (
        "a closing without its record",
        "DELETE FROM idempotency_records WHERE key = 'close-carol'",
        &["records"],
    ),
    (
        "a refusal that made something",
        "UPDATE idempotency_records SET response_location = '/v1/orders/1' WHERE key = 'o-refused'",
        &["records"],
    ),
    (
        "a refusal that was answered like a success",
        "UPDATE idempotency_records SET response_status = 201 WHERE key = 'o-refused'",
        &["records", "answers"],
    ),
    (
        "a success that was recorded as a refusal",
        "UPDATE idempotency_records SET status = 'failed' WHERE key = 'o-1'",
        &["records", "journal-keys", "answers"],
    ),
    (
        "an order of another number than its event and its answer",
        "UPDATE orders SET client_order_no = 'other' WHERE amount = 30",
        &["answers", "event-states"],
    ),
    (
        "a row that names a request that there was not",
        "UPDATE journal_entries SET idempotency_key = 'gone' WHERE kind = 'transfer'",
        &["journal-keys"],
    ),
    (
        "a row that names the request of another one",
        "UPDATE journal_entries SET idempotency_key = 'o-2' WHERE amount = 30",
        &["journal-keys"],
    ),
    (
        "a row that names a refusal",
        "UPDATE journal_entries SET idempotency_key = 'o-refused' WHERE amount = 30",
        &["journal-keys"],
    ),
    (
        "a row of a request that names none",
        "UPDATE journal_entries SET idempotency_key = NULL WHERE kind = 'withdrawal'",
        &["journal-keys"],
    ),
    (
        "a row at the word of a delivery that is not there",
        "UPDATE journal_entries SET idempotency_key = NULL, delivery_id = gen_random_uuid() WHERE amount = 30",
        &["journal-keys"],
    ),
    (
        "an answer of another amount",
        "UPDATE idempotency_records SET response_body = convert_to(
             replace(convert_from(response_body, 'UTF8'), '\"amount\":\"30.00\"', '\"amount\":\"31.00\"'), 'UTF8')
         WHERE key = 'o-1'",
        &["answers"],
    ),
    (
        "an answer of another currency",
        "UPDATE idempotency_records
         SET response_body = convert_to(replace(convert_from(response_body, 'UTF8'), 'CNY', 'USD'), 'UTF8')
         WHERE key = 't-1'",
        &["answers"],
    ),
    (
        "an answer about another order",
        "UPDATE idempotency_records SET response_body = convert_to(
             regexp_replace(convert_from(response_body, 'UTF8'), '^{\"id\":\"[^\"]*', '{\"id\":\"' || gen_random_uuid()),
             'UTF8')
         WHERE key = 'o-1'",
        &["answers"],
    ),
    (
        "an answer under another reference",
        "UPDATE idempotency_records
         SET response_body = convert_to(replace(convert_from(response_body, 'UTF8'), 'w-alice', 'w-bob'), 'UTF8')
         WHERE key = 'w-alice'",
        &["answers"],
    ),
    (
        "an answer to other accounts",
        "UPDATE idempotency_records SET response_body = convert_to(
             regexp_replace(convert_from(response_body, 'UTF8'), '(\"to_account_id\":\")[^\"]*', '\\1' || gen_random_uuid()),
             'UTF8')
         WHERE key = 't-1'",
        &["answers"],
    ),
    (
        "an answer that is lost",
        "UPDATE idempotency_records SET response_body = '' WHERE key = 'o-1'",
        &["answers"],
    ),
    (
        "a refusal whose problem is of another status",
        "UPDATE idempotency_records SET response_body = convert_to(
             replace(convert_from(response_body, 'UTF8'), '\"status\":402', '\"status\":404'), 'UTF8')
         WHERE key = 'o-refused'",
        &["answers"],
    ),
    (
        "an effect without its event",
        "DELETE FROM outbox_events WHERE aggregate_type = 'order' AND data->>'client_order_no' = 'o-1'",
        &["events"],
    ),
    (
        "an effect with its event twice",
        "INSERT INTO outbox_events
         SELECT client_id, gen_random_uuid(), event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
         FROM outbox_events WHERE data->>'client_order_no' = 'o-1'",
        &["events"],
    ),
    (
        "an event in the wrong place",
        "UPDATE outbox_events SET sequence = 7 WHERE data->>'client_order_no' = 'o-1'",
        &["events"],
    ),
    (
        "an event of an unknown type",
        "UPDATE outbox_events SET event_type = 'onefold.order.gone.v1' WHERE data->>'client_order_no' = 'o-1'",
        &["events", "event-states"],
    ),
    (
        "an order number that comes twice",
        "DROP INDEX orders_client_order_no_unique;
         UPDATE orders SET client_order_no = 'same'",
        &["answers", "event-states", "order-numbers"],
    ),
    (
        "a reference that comes twice",
        "ALTER TABLE movements DROP CONSTRAINT movements_reference_unique;
         UPDATE movements SET reference = 'same' WHERE kind = 'deposit';
         UPDATE journal_entries SET reference = 'same' WHERE kind = 'deposit'",
        &["answers", "references"],
    ),
];

/// The same of what is frozen and in stock.
const FROZEN_DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "a hold of another amount than was frozen",
        "UPDATE holds SET amount = amount + 1 WHERE reference = 'h-active'",
        &["holds", "hold-rows", "answers", "event-states"],
    ),
    (
        "a hold of which more was taken than its rows and captures say",
        "UPDATE holds SET captured = captured + 1 WHERE reference = 'h-captured'",
        &["hold-rows", "event-states"],
    ),
    (
        "a hold that was active and ended without giving anything back",
        "UPDATE holds SET status = 'released' WHERE reference = 'h-active'",
        &["holds", "hold-rows", "records", "events", "event-states"],
    ),
    (
        "a hold that was deleted",
        "DELETE FROM holds WHERE reference = 'h-active'",
        &["holds", "hold-rows", "records", "answers", "events", "event-states"],
    ),
    (
        "a hold of another account",
        "UPDATE holds SET account_id = gen_random_uuid() WHERE reference = 'h-active'",
        &["holds", "hold-rows", "answers", "event-states"],
    ),
    (
        "a row that freezes for another hold",
        "UPDATE journal_entries SET hold_id = gen_random_uuid() WHERE kind = 'hold' AND reference = 'h-active'",
        &["hold-rows", "journal-keys"],
    ),
    (
        "a row that freezes without a hold",
        "UPDATE journal_entries SET hold_id = NULL, movement_id = gen_random_uuid()
         WHERE kind = 'hold' AND reference = 'h-active'",
        &["entries", "hold-rows", "movements", "journal-keys"],
    ),
    (
        "a row that captures money that was available",
        "UPDATE journal_entries SET kind = 'order_payment' WHERE kind = 'hold_capture' AND order_id IS NOT NULL",
        &["figures", "hold-rows", "order-payments", "journal-keys"],
    ),
    (
        "a capture that was deleted",
        "DELETE FROM hold_captures WHERE reference = 'c-1'",
        &["hold-rows", "records"],
    ),
    (
        "a capture of another amount than its row",
        "UPDATE hold_captures SET amount = amount + 1 WHERE reference = 'c-1'",
        &["hold-rows"],
    ),
    (
        "an order of which more was captured than of its hold",
        "UPDATE orders SET captured_amount = 19 WHERE client_order_no = 'o-refunded'",
        &["order-payments", "order-versions"],
    ),
    (
        "an order that was cancelled and is not",
        "UPDATE orders SET status = 'authorized' WHERE client_order_no = 'o-cancelled'",
        &["order-holds", "order-versions", "stock", "records", "events"],
    ),
    ("a refund that was deleted", "DELETE FROM refunds", &["refunds", "refund-rows", "records", "answers"]),
    (
        "a refund of another amount than its row",
        "UPDATE refunds SET amount = amount + 1",
        &["refunds", "refund-rows", "answers"],
    ),
    (
        "a refund to another account than its row",
        "UPDATE refunds SET account_id = gen_random_uuid()",
        &["refund-rows", "answers"],
    ),
    (
        "an item that was given back and is not counted",
        "UPDATE order_items SET given_back = 0",
        &["stock", "items"],
    ),
    ("an item of a refund that was deleted", "DELETE FROM refund_items", &["items"]),
    ("pieces that are reserved for nobody", "UPDATE skus SET reserved = reserved + 1", &["stock"]),
    ("pieces that were sold and are available again", "UPDATE skus SET sold = sold - 1", &["stock"]),
    (
        "more promised than there is",
        "ALTER TABLE skus DROP CONSTRAINT skus_no_more_than_there_are;
         UPDATE skus SET total = 4",
        &["stock"],
    ),
    ("a sku that was deleted", "DELETE FROM skus", &["stock", "events"]),
    (
        "an item of more pieces",
        "UPDATE order_items SET quantity = quantity + 1
         WHERE order_id = (SELECT order_id FROM orders WHERE client_order_no = 'o-authorized')",
        &["stock", "item-prices"],
    ),
    (
        "a version of an order of which no event tells",
        "DELETE FROM outbox_events WHERE event_type = 'onefold.order.captured.v1'",
        &["events"],
    ),
    (
        "an end of which another event tells",
        "UPDATE outbox_events SET event_type = 'onefold.order.expired.v1'
         WHERE event_type = 'onefold.order.cancelled.v1'",
        &["events", "event-states"],
    ),
    ("a release without its record", "DELETE FROM idempotency_records WHERE key = 'release'", &["records", "journal-keys"]),
    (
        "an order of another amount than its hold",
        "UPDATE orders SET amount = amount + 1 WHERE client_order_no = 'o-authorized'",
        &["order-holds", "item-prices", "answers", "event-states"],
    ),
    (
        "a hold of another amount than its order",
        "UPDATE holds SET amount = amount + 1
         WHERE hold_id = (SELECT order_id FROM orders WHERE client_order_no = 'o-authorized')",
        &["holds", "hold-rows", "order-holds"],
    ),
    (
        "an order that lasts longer than its hold",
        "UPDATE orders SET expires_at = expires_at + interval '1 day' WHERE client_order_no = 'o-authorized'",
        &["order-holds"],
    ),
    (
        "an order by hold that lasts for ever, and so does its hold",
        "UPDATE orders SET expires_at = NULL; UPDATE holds SET expires_at = NULL",
        &["order-amounts"],
    ),
    (
        "an order from the balance that would expire",
        "UPDATE orders SET expires_at = now() WHERE client_order_no = 'o-paid'",
        &["order-amounts"],
    ),
    (
        "a hold that ends before its order does",
        "UPDATE holds SET expires_at = expires_at - interval '1 second' WHERE purpose = 'order' AND status = 'active'",
        &["order-holds"],
    ),
    (
        "an item at another price",
        "UPDATE order_items SET price = price + 1
         WHERE order_id = (SELECT order_id FROM orders WHERE client_order_no = 'o-cancelled')",
        &["item-prices"],
    ),
    (
        "a hold of another reference than its row and its answer",
        "UPDATE holds SET reference = 'other' WHERE reference = 'h-active'",
        &["hold-rows", "answers"],
    ),
    (
        "a row that freezes under another reference",
        "UPDATE journal_entries SET reference = 'other' WHERE kind = 'hold' AND reference = 'h-active'",
        &["hold-rows"],
    ),
    (
        "a row that gives back under another reference",
        "UPDATE journal_entries SET reference = 'other' WHERE kind = 'hold_release' AND reference = 'h-released'",
        &["hold-rows"],
    ),
    (
        "a capture of another reference than its row",
        "UPDATE hold_captures SET reference = 'other' WHERE reference = 'c-1'",
        &["hold-rows"],
    ),
    (
        "two captures that have changed rows",
        "UPDATE journal_entries SET reference = 'c-3' WHERE reference = 'c-1';
         UPDATE journal_entries SET reference = 'c-1' WHERE reference = 'c-2';
         UPDATE journal_entries SET reference = 'c-2' WHERE reference = 'c-3'",
        &["hold-rows"],
    ),
    (
        "a refund of another reference than its row and its answer",
        "UPDATE refunds SET reference = 'other'",
        &["refund-rows", "answers"],
    ),
    (
        "a row that gives back at the word of a request that there was not",
        "UPDATE journal_entries SET idempotency_key = 'gone' WHERE kind = 'hold_release' AND reference = 'h-released'",
        &["journal-keys"],
    ),
    (
        "a row that gives back at the word of a request for another hold",
        "UPDATE journal_entries SET idempotency_key = 'c-2' WHERE kind = 'hold_release' AND reference = 'h-released'",
        &["journal-keys"],
    ),
    (
        "a version at the word of another request",
        "UPDATE order_versions SET idempotency_key = 'other' WHERE what = 'captured'",
        &["answers"],
    ),
    (
        "an answer about a capture of less",
        "UPDATE idempotency_records SET response_body = convert_to(
             replace(convert_from(response_body, 'UTF8'), '\"captured_amount\":\"20.00\"', '\"captured_amount\":\"19.00\"'),
             'UTF8')
         WHERE key = 'o-capture'",
        &["answers"],
    ),
    (
        "an event of a hold of another amount",
        "UPDATE outbox_events SET data = replace(data::text, '\"40.00\"', '\"41.00\"')::json
         WHERE event_type = 'onefold.hold.released.v1'",
        &["event-states"],
    ),
    (
        "an event of an order of another number",
        "UPDATE outbox_events SET data = replace(data::text, 'o-refunded', 'o-other')::json
         WHERE event_type = 'onefold.order.captured.v1'",
        &["event-states"],
    ),
    (
        "an event of an order that says less",
        "UPDATE outbox_events SET data = (data::jsonb - 'account_id')::json
         WHERE event_type = 'onefold.order.cancelled.v1'",
        &["event-states"],
    ),
    (
        "a reference of a hold that comes twice",
        "DROP INDEX holds_reference_unique;
         UPDATE holds SET reference = 'same' WHERE reference IS NOT NULL",
        &["hold-rows", "answers", "references"],
    ),
    (
        "a reference of a capture that comes twice",
        "DROP INDEX hold_captures_reference_unique;
         UPDATE hold_captures SET reference = 'same' WHERE reference IS NOT NULL",
        &["hold-rows", "references"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_damage_to_what_is_frozen_or_in_stock_is_found_by_the_checks_that_it_concerns() {
    let whole = frozen().await.expect("books");
    let report = audited(whole.owner_options()).await.expect("an audit");
    assert_eq!(failing(&report), [""; 0], "{report:#?}");
    let mut wrong = Vec::new();
    for (damage, sql, expected) in FROZEN_DAMAGES {
        let database = frozen().await.expect("books");
        tamper(database.owner_options(), sql).await.expect("the damage is done");
        let report = audited(database.owner_options()).await.expect("an audit");
        let found = failing(&report);
        if found != *expected {
            let listed: Vec<_> = report.checks.iter().flat_map(|check| &check.listed).collect();
            wrong.push(format!("{damage}: {found:?} instead of {expected:?}: {listed:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_damage_is_found_by_the_checks_that_it_concerns_and_by_no_other() {
    let mut wrong = Vec::new();
    for (damage, sql, expected) in DAMAGES {
        let database = small().await.expect("books");
        let options = database.owner_options();
        tamper(options, sql).await.expect("the damage is done");
        let report = audited(options).await.expect("an audit");
        let found = failing(&report);
        if found != *expected {
            let listed: Vec<_> = report.checks.iter().flat_map(|check| &check.listed).collect();
            wrong.push(format!("{damage}: {found:?} instead of {expected:?}: {listed:#?}"));
        }
        for check in report.checks.iter().filter(|check| check.differences > 0) {
            assert_eq!(check.listed.len() as u64, check.differences, "{damage}: all are listed");
            assert!(!check.may_be_more, "{damage}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A difference is of use to whoever must put it right: it names the row, what was expected, and what was found.
#[tokio::test]
async fn a_difference_names_its_row_and_both_figures() {
    let database = small().await.expect("books");
    let options = database.owner_options();
    tamper(options, "UPDATE accounts SET available = 36 WHERE owner = 'alice'").await.expect("damage");
    let report = audited(options).await.expect("an audit");
    let balance = &report.checks[0].listed[0];
    assert!(balance.subject.starts_with("account "), "{balance:?}");
    assert_eq!(balance.client_id, onefold_tests::desks::client().0);
    assert_eq!(balance.expected, "version 5 with 35.00 available, 0.00 held");
    assert_eq!(balance.found, "version 5 with 36.00 available, 0.00 held");
    let books = report.checks.iter().find(|check| check.name == "trial-balance").expect("the check");
    assert_eq!(books.listed[0].subject, "books in CNY");
    assert_eq!(books.listed[0].expected, "credits of 101.00, as the debits");
    assert_eq!(books.listed[0].found, "102.00");
}

#[tokio::test]
async fn one_break_in_a_chain_is_one_difference() {
    let database = small().await.expect("books");
    let options = database.owner_options();
    tamper(options, "DELETE FROM journal_entries WHERE amount = 30").await.expect("damage");
    let report = audited(options).await.expect("an audit");
    let figures = report.checks.iter().find(|check| check.name == "figures").expect("the check");
    assert_eq!(figures.differences, 1);
    assert_eq!(figures.listed[0].expected, "version 1 with 100.00 available, 0.00 held");
    assert!(figures.listed[0].found.ends_with("follows on version 2 with 70.00 available, 0.00 held"));
}

#[tokio::test]
async fn an_effect_that_is_older_than_the_retention_needs_no_record() {
    let database = small().await.expect("books");
    let options = database.owner_options();
    let forget = "UPDATE orders SET created_at = created_at - interval '100 days';
                  UPDATE journal_entries SET created_at = created_at - interval '100 days' WHERE order_id IS NOT NULL;
                  DELETE FROM idempotency_records WHERE operation = 'POST /v1/orders'";
    tamper(options, forget).await.expect("the records are deleted");
    let report = audited(options).await.expect("an audit");
    assert!(report.is_clean(), "{report:#?}");
}

#[tokio::test]
async fn old_records_that_nobody_has_deleted_yet_are_no_difference() {
    let database = small().await.expect("books");
    let options = database.owner_options();
    let age = "UPDATE idempotency_records SET completed_at = completed_at - interval '100 days';
               UPDATE accounts SET created_at = created_at - interval '100 days';
               UPDATE movements SET created_at = created_at - interval '100 days';
               UPDATE orders SET created_at = created_at - interval '100 days';
               UPDATE journal_entries SET created_at = created_at - interval '100 days';
               UPDATE outbox_events SET occurred_at = occurred_at - interval '100 days'";
    tamper(options, age).await.expect("all is old");
    let report = audited(options).await.expect("an audit");
    assert!(report.is_clean(), "{report:#?}");
}

#[tokio::test]
async fn what_was_there_from_the_beginning_of_its_client_needs_no_record() {
    let database = small().await.expect("books");
    let options = database.owner_options();
    let begin =
        "INSERT INTO clients SELECT client_id, 'somebody', created_at FROM movements WHERE reference = 't-1';
                 UPDATE journal_entries SET idempotency_key = NULL WHERE idempotency_key = 't-1';
                 DELETE FROM idempotency_records WHERE key = 't-1'";
    tamper(options, begin).await.expect("the client is made");
    let report = audited(options).await.expect("an audit");
    assert!(report.is_clean(), "{report:#?}");
}

#[tokio::test]
async fn all_differences_are_counted_and_some_are_listed() {
    let database = new_service_database().await.expect("a database");
    let options = database.owner_options();
    large(options, 50, 20).await.expect("books");
    tamper(options, "UPDATE movements SET amount = 2; UPDATE accounts SET version = version + 1")
        .await
        .unwrap();
    let report = audited_listing(options, 7).await.expect("an audit");
    let counted = |name: &str| {
        let check = report.checks.iter().find(|check| check.name == name).expect("the check");
        (check.differences, check.listed.len())
    };
    assert_eq!(counted("movements"), (1_000, 2));
    assert_eq!(counted("answers"), (1_000, 2));
    assert_eq!(counted("balances"), (50, 3));
    assert_eq!(report.differences(), 2_050);
    assert!(!report.may_be_more());
}

#[tokio::test]
async fn books_that_cannot_be_read_are_an_error_and_no_difference() {
    let database = small().await.expect("books");
    let options = database.owner_options();
    tamper(options, "ALTER TABLE skus RENAME TO skus_of_old").await.expect("the table is gone");
    let error = audited(options).await.expect_err("nothing to audit");
    assert_eq!(error.to_string(), "cannot read skus");
}
