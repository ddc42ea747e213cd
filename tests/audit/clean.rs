//! Books that are right are found right: after random load, and beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use account::{AccountId, HoldId, Parties};
use client::ClientId;
use desk::housekeeping;
use desk::schema::Database;
use desk::{CaptureTerms, Command, Desk, Hooks, Request, Settings, SkuCondition, SystemClock};
use inventory::{SkuCode, SkuTerms};
use money::Amount;
use onefold_tests::database::new_service_database;
use onefold_tests::desks::{self, body, currency, request, status};
use order::{ItemWanted, OrderId, PaymentTerms};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sqlx::PgPool;
use uuid::Uuid;

use crate::ledger::{audited, failing, large, moving, opened, ordering, placing, small};

/// What a worker has made, to go on with.
#[derive(Clone, Default)]
struct Made {
    holds: Vec<Uuid>,
    orders: Vec<(Uuid, &'static str)>,
}

/// Does one act at random, perhaps twice under its key; answers its status.
async fn act(
    desk: &Desk,
    random: &mut StdRng,
    accounts: &[(AccountId, &'static str)],
    made: &mut Made,
    key: &str,
) -> Option<u16> {
    let request = request_at_random(random, accounts, made, key);
    let answered = desk.submit(request.clone(), None).await.answered;
    // A replay must leave nothing.
    if random.random() {
        desk.submit(request.clone(), None).await;
    }
    let id = body(&answered).and_then(|body| body["id"].as_str()?.parse().ok());
    match (&request.command, status(&answered), id) {
        (Command::PlaceHold { .. }, Some(201), Some(id)) => made.holds.push(id),
        (Command::PlaceOrder { amount, .. }, Some(201), Some(id)) => {
            made.orders.push((id, amount.currency().code()));
        }
        _ => {}
    }
    status(&answered)
}

fn request_at_random(
    random: &mut StdRng,
    accounts: &[(AccountId, &'static str)],
    made: &Made,
    key: &str,
) -> Request {
    let (account, code) = accounts[random.random_range(0..accounts.len())];
    let (other, _) = accounts[random.random_range(0..accounts.len())];
    let amount = Amount::parse(&random.random_range(1..200).to_string(), currency(code)).expect("an amount");
    let terms = || CaptureTerms { amount: None, last: true, reference: Some(key.to_owned()) };
    let hold = |number: usize| HoldId(made.holds[number % made.holds.len()]);
    let sku = || SkuCode("TEA".to_owned());
    match random.random_range(0..120) {
        0..35 => moving(key, Parties::Deposit { to: account }, amount),
        35..45 => moving(key, Parties::Withdrawal { from: account }, amount),
        45..55 if other != account => moving(key, Parties::Transfer { from: account, to: other }, amount),
        55..57 => request(key, Command::CloseAccount { account_id: account }),
        57..67 => {
            let (reference, expires_in_s) = (key.to_owned(), None);
            request(key, Command::PlaceHold { account_id: account, amount, reference, expires_in_s })
        }
        67..72 if !made.holds.is_empty() => {
            let (hold_id, account_id, terms) = (hold(random.random_range(0..64)), None, terms());
            request(key, Command::CaptureHold { hold_id, account_id, terms })
        }
        72..75 if !made.holds.is_empty() => {
            let hold_id = hold(random.random_range(0..64));
            request(key, Command::ReleaseHold { hold_id, account_id: None })
        }
        75..78 => {
            let price = Amount::parse("10", currency("CNY")).expect("an amount");
            let terms = SkuTerms { price, total: 10_000 };
            request(key, Command::SetSku { code: sku(), terms, condition: SkuCondition::Any })
        }
        78..88 => {
            let items = vec![ItemWanted { sku: sku(), quantity: 2 }];
            let cost = Amount::parse("20", currency("CNY")).expect("an amount");
            let by_hold = PaymentTerms::Hold { expires_in_s: 3600 };
            let payment = if random.random() { by_hold } else { PaymentTerms::Balance };
            placing(key, account, cost, items, payment)
        }
        88..105 if !made.orders.is_empty() => {
            let (id, code) = made.orders[random.random_range(0..made.orders.len())];
            let (order_id, account_id) = (OrderId(id), None);
            match random.random_range(0..3) {
                0 => request(key, Command::CaptureOrder { order_id, account_id, terms: terms() }),
                1 => request(key, Command::CancelOrder { order_id, account_id }),
                _ => {
                    let items = vec![ItemWanted { sku: sku(), quantity: 1 }];
                    let items = if random.random() { items } else { Vec::new() };
                    let amount = Some(Amount::parse("3", currency(code)).expect("an amount"));
                    let reference = key.to_owned();
                    let askable = Vec::new();
                    request(
                        key,
                        Command::RefundOrder { order_id, account_id, amount, reference, askable, items },
                    )
                }
            }
        }
        _ => ordering(key, account, amount),
    }
}

async fn accounts(desk: &Desk) -> anyhow::Result<Vec<(AccountId, &'static str)>> {
    let mut accounts = Vec::new();
    for number in 0..8 {
        let code = ["CNY", "JPY", "KWD"][number % 3];
        accounts.push((opened(desk, &format!("open-{number}"), "somebody", code).await?, code));
    }
    Ok(accounts)
}

/// The housekeeping looks for the clients that there are.
async fn known_client(pool: &PgPool, client: ClientId) -> anyhow::Result<()> {
    sqlx::query("INSERT INTO clients VALUES ($1, 'somebody', now())").bind(client).execute(pool).await?;
    Ok(())
}

#[tokio::test]
async fn books_that_nobody_damaged_are_clean() {
    let database = small().await.expect("books");
    let report = audited(database.owner_options()).await.expect("an audit");
    assert_eq!(failing(&report), [""; 0], "{report:#?}");
    let rows = |name: &str| report.checks.iter().find(|check| check.name == name).map(|check| check.rows);
    let looked_at = [
        ("balances", 4),
        ("figures", 9),
        ("accounts", 8),
        ("entries", 8),
        ("holds", 4),
        ("movements", 6),
        ("order-payments", 2),
        ("order-amounts", 2),
        ("order-versions", 2),
        ("records", 14),
        ("events", 13),
        ("order-numbers", 2),
        ("references", 6),
    ];
    for (name, expected) in looked_at {
        assert_eq!(rows(name), Some(expected), "{name}");
    }
}

#[tokio::test]
async fn empty_books_are_clean() {
    let database = new_service_database().await.expect("a database");
    assert!(audited(database.owner_options()).await.expect("an audit").is_clean());
}

#[tokio::test]
async fn books_that_the_database_made_are_clean() {
    let database = new_service_database().await.expect("a database");
    large(database.owner_options(), 10, 50).await.expect("books");
    let report = audited(database.owner_options()).await.expect("an audit");
    assert!(report.is_clean(), "{report:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn books_are_clean_after_random_load() {
    let seed: u64 = rand::random();
    println!("the seed of this run is {seed}");
    let database = new_service_database().await.expect("a database");
    let desks = [(); 2].map(|()| desks::open(&database, Settings::default(), Hooks::default()));
    let accounts = accounts(&desks[0]).await.expect("accounts");
    let works = (0..8_u64).map(|worker| {
        let (desk, accounts) = (&desks[usize::from(worker % 2 == 1)], &accounts);
        async move {
            let mut random = StdRng::seed_from_u64(seed.wrapping_add(worker));
            let mut made = Made::default();
            for number in 0..if onefold_tests::long() { 2_000 } else { 120 } {
                act(desk, &mut random, accounts, &mut made, &format!("{worker}-{number}")).await;
            }
        }
    });
    futures::future::join_all(works).await;
    for desk in desks {
        desk.drain().await;
    }
    let report = audited(database.owner_options()).await.expect("an audit");
    assert!(report.is_clean(), "{report:#?}");
    // Payments at providers have books of their own.
    let elsewhere = ["receipts", "payments", "alerts", "asked-refunds"];
    assert!(
        report.checks.iter().all(|check| check.rows > 0 || elsewhere.contains(&check.name)),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn books_are_clean_at_every_moment_of_running_load() {
    let database = new_service_database().await.expect("a database");
    known_client(&PgPool::connect_with(database.owner_options().clone()).await.unwrap(), desks::client())
        .await
        .expect("a client");
    let desk = desks::open(&database, Settings::default(), Hooks::default());
    let accounts = Arc::new(accounts(&desk).await.expect("accounts"));
    let (ended, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut load = Vec::new();
    for worker in 0..6_u64 {
        let (desk, accounts, ended, done) = (desk.clone(), accounts.clone(), ended.clone(), done.clone());
        load.push(tokio::spawn(async move {
            let mut random = StdRng::seed_from_u64(worker);
            let mut made = Made::default();
            let mut number = 0;
            while !ended.load(Ordering::Relaxed) {
                number += 1;
                let key = format!("{worker}-{number}");
                let answered = act(&desk, &mut random, &accounts, &mut made, &key).await;
                done.fetch_add(u64::from(answered.is_some()), Ordering::Relaxed);
            }
        }));
    }
    load.push(tokio::spawn(keep_house(database.clone(), ended.clone())));

    let mut rows_before = 0;
    for _ in 0..if onefold_tests::long() { 50 } else { 8 } {
        let done_before = done.load(Ordering::Relaxed);
        let report = audited(database.owner_options()).await.expect("an audit");
        assert!(report.is_clean(), "{report:#?}");
        assert!(report.checks[0].rows > 0);
        let rows = report.checks.iter().map(|check| check.rows).sum();
        assert!(rows >= rows_before, "the books only grow");
        rows_before = rows;
        while done.load(Ordering::Relaxed) == done_before {
            tokio::task::yield_now().await;
        }
    }
    ended.store(true, Ordering::Relaxed);
    for task in load {
        task.await.expect("the load runs to its end");
    }
    desk.drain().await;
}

/// Roll-ups replace rows by their sum all the while.
async fn keep_house(database: Database, ended: Arc<AtomicBool>) {
    while !ended.load(Ordering::Relaxed) {
        housekeeping::once(&database, &SystemClock).await.expect("housekeeping");
        tokio::task::yield_now().await;
    }
}
