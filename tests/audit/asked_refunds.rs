//! Books with refunds that a provider is asked for, and what is damaged in them by hand.

use account::AccountId;
use desk::command::PaymentCommand;
use desk::schema::Database;
use desk::{Command, Desk, Hooks, Request, Settings};
use onefold_tests::database::new_service_database;
use onefold_tests::desks::{self, client, request};
use order::{OrderId, RefundId};
use payment_callback::store::asked_refunds;
use payment_callback::{AlertAction, Asked, Event, Refund, RefundOutcome, RefundSum, ReportedAmount};

use crate::ledger::{audited, failing, opened, run, tamper};
use crate::payments::{cny, open_alert, ordering, paid, stripe, submit_all, told};

/// Three orders that are paid: of one 10.00 are back and 5.00 on their way, of another the provider has refused to give
/// back 20.00, of the third nobody knows whether 7.00 are back. And 4.00 that were paid twice are asked back.
pub async fn with_refunds_asked_for() -> anyhow::Result<Database> {
    let database = new_service_database().await?;
    let desk = desks::open(&database, Settings::default(), Hooks::default());
    let alice = opened(&desk, "open-alice", "alice", "CNY").await?;
    let [first, second, third] = [
        paid_order(&desk, alice, "P-0001", "pi_1").await?,
        paid_order(&desk, alice, "P-0002", "pi_2").await?,
        paid_order(&desk, alice, "P-0003", "pi_3").await?,
    ];
    let back = refund(&desk, first, "r-1", "10.00").await?;
    let refund_told = Refund {
        payment_no: Some("P-0001".to_owned()),
        payment_id: "pi_1".to_owned(),
        refund_id: Some("re_1".to_owned()),
        refund_no: Some(back.0.simple().to_string()),
        sum: RefundSum::RunningTotal(ReportedAmount::Exact(cny("10.00"))),
        outcome: RefundOutcome::Succeeded,
        paid: None,
    };
    submit_all(&desk, [told("evt_back", Event::Refunded(refund_told))]).await?;
    refund(&desk, first, "r-2", "5.00").await?;
    let refused = refund(&desk, second, "r-3", "20.00").await?;
    note(&desk, &database, refused, Asked::Refused("no_money".to_owned())).await?;
    let unanswered = refund(&desk, third, "r-4", "7.00").await?;
    note(&desk, &database, unanswered, Asked::Unanswered).await?;

    submit_all(&desk, [paid("evt_twice", "P-0001", "pi_4", "4.00")]).await?;
    let resolving = PaymentCommand::ResolveAlert {
        alert_id: open_alert(&database, "excess").await?,
        action: AlertAction::Refund,
        by: "client".to_owned(),
        note: "paid twice".to_owned(),
        askable: vec![stripe()],
    };
    let operation = "POST /v1/payment-alerts/{id}/resolve";
    submit_all(&desk, [Request { operation, ..request("resolve", Command::Payment(resolving)) }]).await?;
    desk.drain().await;
    Ok(database)
}

async fn paid_order(desk: &Desk, account: AccountId, number: &str, money: &str) -> anyhow::Result<OrderId> {
    let order = OrderId(run(desk, ordering(number, account)).await?);
    submit_all(desk, [paid(&format!("evt_{money}"), number, money, "88.80")]).await?;
    Ok(order)
}

async fn refund(desk: &Desk, order_id: OrderId, key: &str, amount: &str) -> anyhow::Result<RefundId> {
    let asking = Command::RefundOrder {
        order_id,
        account_id: None,
        amount: Some(cny(amount)),
        reference: key.to_owned(),
        askable: vec![stripe()],
        items: Vec::new(),
    };
    Ok(RefundId(run(desk, request(key, asking)).await?))
}

/// Notes what came of asking for a refund.
async fn note(desk: &Desk, database: &Database, id: RefundId, came_of_it: Asked) -> anyhow::Result<()> {
    let found = asked_refunds::found(database.pool(), client(), &[id.0]).await?;
    let refund = Box::new(found.into_iter().next().expect("it was asked for"));
    let noting = Command::Payment(PaymentCommand::NoteRefund { refund, came_of_it });
    let noting = Request { operation: "note refund", ..request(&format!("note-{id}"), noting) };
    submit_all(desk, [noting]).await
}

/// What is done to these books, as the owner of the tables, and which checks must find something. No other may.
const DAMAGES: &[(&str, &str, &[&str])] = &[
    (
        "what a provider was to be asked for, deleted",
        "DELETE FROM asked_refunds WHERE amount = 5",
        &["order-versions", "asked-refunds"],
    ),
    (
        "the refund of an order at a provider, deleted",
        "DELETE FROM refunds WHERE reference = 'r-2'",
        &["asked-refunds", "records", "answers"],
    ),
    (
        "more asked for than the client has asked for",
        "UPDATE asked_refunds SET amount = amount + 1 WHERE amount = 5",
        &["asked-refunds"],
    ),
    (
        "a refund that is back, and of which the provider has not told",
        "UPDATE asked_refunds SET status = 'succeeded' WHERE amount = 5",
        &["asked-refunds"],
    ),
    (
        "a refund that is back, and whose items are not",
        "UPDATE asked_refunds SET items_back = FALSE WHERE amount = 10",
        &["asked-refunds"],
    ),
    (
        "a failed refund that nobody was asked about",
        "DELETE FROM payment_alerts WHERE kind = 'refund_attention'",
        &["asked-refunds", "events"],
    ),
    (
        "a refund that failed unseen",
        "UPDATE asked_refunds SET status = 'failed', failure = 'unseen' WHERE amount = 7",
        &["asked-refunds"],
    ),
    (
        "a refund of another provider's money",
        "UPDATE asked_refunds SET provider = 'alipay' WHERE amount = 7",
        &["asked-refunds"],
    ),
    (
        "a refund in another currency than its money",
        "UPDATE asked_refunds SET currency = 'USD' WHERE amount = 4",
        &["asked-refunds"],
    ),
    (
        "a refund of an order that is not there",
        "UPDATE asked_refunds SET order_id = gen_random_uuid() WHERE amount = 7",
        &["order-versions", "asked-refunds"],
    ),
    (
        "a history that does not tell that a refund was asked for",
        "UPDATE order_versions SET what = 'corrected' WHERE what = 'refund_asked'
         AND order_id = (SELECT order_id FROM asked_refunds WHERE amount = 7)",
        &["order-versions"],
    ),
];

#[tokio::test]
async fn books_with_refunds_at_a_provider_that_nobody_damaged_are_clean() {
    let database = with_refunds_asked_for().await.expect("books");
    let report = audited(database.owner_options()).await.expect("an audit");
    assert_eq!(failing(&report), [""; 0], "{report:#?}");
    let looked_at = report.checks.iter().find(|check| check.name == "asked-refunds").map(|check| check.rows);
    assert_eq!(looked_at, Some(5));
}

#[tokio::test]
async fn every_damage_of_a_refund_at_a_provider_is_found_by_its_check_and_by_no_other() {
    let mut wrong = Vec::new();
    for (damage, sql, expected) in DAMAGES {
        let database = with_refunds_asked_for().await.expect("books");
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
