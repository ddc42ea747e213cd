//! What became of orders, and what is damaged in it by hand.

use desk::schema::Database;

use crate::ledger::{audited, failing, frozen, tamper};
use crate::payments::with_payments;

/// What is done to the history of frozen and captured orders, and left as it was in the events. It is found by its own check;
/// the version of a capture or a cancelling is what was answered, too.
const DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "a version in the middle, deleted",
        "DELETE FROM order_versions WHERE what = 'captured'",
        &["order-versions", "answers"],
    ),
    (
        "the last version, deleted",
        "DELETE FROM order_versions WHERE what = 'refunded'",
        &["order-versions"],
    ),
    (
        "all of it, deleted",
        "DELETE FROM order_versions",
        &["order-versions", "answers"],
    ),
    (
        "a version that was never made",
        "INSERT INTO order_versions
         SELECT client_id, order_id, version + 1, what, status, captured_amount, refunded_amount, idempotency_key,
                delivery_id, created_at
         FROM order_versions WHERE what = 'cancelled'",
        &["order-versions", "answers"],
    ),
    (
        "a placing that is told twice",
        "INSERT INTO order_versions
         SELECT client_id, order_id, 1, 'captured', 'authorized', 0, 0, NULL, NULL, created_at
         FROM orders WHERE client_order_no = 'o-authorized'",
        &["order-versions"],
    ),
    (
        "a last version of another time than the order's",
        "UPDATE order_versions SET created_at = created_at - interval '1 second' WHERE what = 'cancelled'",
        &["order-versions"],
    ),
    (
        "a change that there is not",
        "UPDATE order_versions SET what = 'gone' WHERE what = 'captured'",
        &["order-versions", "answers"],
    ),
    (
        "a history of an order that is not there",
        "UPDATE order_versions SET order_id = gen_random_uuid() WHERE what = 'cancelled'",
        &["order-versions", "answers"],
    ),
    (
        "a version at the word of a delivery that is not there",
        "UPDATE order_versions SET delivery_id = gen_random_uuid(), idempotency_key = NULL WHERE what = 'captured'",
        &["order-versions", "answers"],
    ),
];

/// The same of which the events tell otherwise, which is found too.
const TOLD_OTHERWISE: &[(&str, &str, &[&str])] = &[
    (
        "a last version in another state than the order's",
        "UPDATE order_versions SET status = 'expired', what = 'expired' WHERE what = 'cancelled'",
        &["order-versions", "answers", "event-states"],
    ),
    (
        "a last version of other figures than the order's",
        "UPDATE order_versions SET refunded_amount = refunded_amount + 1 WHERE what = 'refunded'",
        &["order-versions", "event-states"],
    ),
    (
        "a change that cannot lead to its state",
        "UPDATE order_versions SET status = 'refunded' WHERE what = 'captured'",
        &["order-versions", "event-states"],
    ),
];

async fn found(database: &Database, sql: &str) -> anyhow::Result<Vec<&'static str>> {
    tamper(database.owner_options(), sql).await?;
    Ok(failing(&audited(database.owner_options()).await?))
}

#[tokio::test]
async fn every_damage_of_a_history_is_found_by_the_checks_that_it_concerns_and_by_no_other()
-> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for (damage, sql, expected) in DAMAGES.iter().chain(TOLD_OTHERWISE) {
        let found = found(&frozen().await?, sql).await?;
        if found != *expected {
            wrong.push(format!("{damage}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test]
async fn a_history_of_an_order_at_a_provider_begins_with_its_placing() -> anyhow::Result<()> {
    let beginning = "DELETE FROM order_versions WHERE what = 'placed'";
    assert_eq!(found(&with_payments().await?, beginning).await?, ["order-versions"]);
    Ok(())
}

#[tokio::test]
async fn what_was_placed_before_histories_were_kept_may_begin_anywhere_and_ends_with_its_order()
-> anyhow::Result<()> {
    let later = "UPDATE _sqlx_migrations SET installed_on = now() + interval '1 day' WHERE version = 21;";
    let beginning = "DELETE FROM order_versions WHERE what IN ('placed', 'captured')";
    for books in [frozen().await?, with_payments().await?] {
        assert_eq!(found(&books, &format!("{later} {beginning}")).await?, [""; 0]);
        let end =
            "UPDATE order_versions SET status = 'partially_refunded', captured_amount = captured_amount + 1
                   WHERE what = 'refunded'";
        assert_eq!(found(&books, end).await?, ["order-versions", "event-states"]);
    }
    Ok(())
}
