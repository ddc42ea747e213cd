//! Books to be audited: small ones of known acts, and large ones that are made by the database itself.

use std::time::Duration;

use account::{AccountId, HoldId, Parties};
use anyhow::{Context, ensure};
use audit::{Report, Settings};
use desk::schema::Database;
use desk::{CaptureTerms, Command, Desk, Hooks, Request, SkuCondition};
use inventory::{SkuCode, SkuTerms};
use money::Amount;
use onefold_tests::database::new_service_database;
use onefold_tests::desks::{self, body, currency, request, status};
use order::{ItemWanted, OrderId, PaymentTerms};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// How long the service keeps records, unless told otherwise.
pub const RETENTION: Duration = Duration::from_secs(72 * 60 * 60);

/// Audits, and lists all that is found.
pub async fn audited(options: &PgConnectOptions) -> anyhow::Result<Report> {
    audited_listing(options, 1_000).await
}

/// Audits, and lists so much at most.
pub async fn audited_listing(options: &PgConnectOptions, listed_max: usize) -> anyhow::Result<Report> {
    let settings = Settings { retention: RETENTION, listed_max };
    Ok(audit::audit(options, settings, &mut |_| {}).await?)
}

/// The names of the checks that have found something.
pub fn failing(report: &Report) -> Vec<&'static str> {
    report.checks.iter().filter(|check| check.differences > 0).map(|check| check.name).collect()
}

/// Runs statements as the owner of the tables, who may do anything to them.
pub async fn tamper(options: &PgConnectOptions, sql: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect_with(options).await?;
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.context(sql.to_owned())?;
    Ok(connection.close().await?)
}

/// Money that moves, with the key as its reference.
pub fn moving(key: &str, parties: Parties, amount: Amount) -> Request {
    request(key, Command::Move { parties, amount, reference: key.to_owned() })
}

/// An order from the balance, with the key as its number.
pub fn ordering(key: &str, account_id: AccountId, amount: Amount) -> Request {
    placing(key, account_id, amount, Vec::new(), PaymentTerms::Balance)
}

/// An order, with the key as its number.
pub fn placing(
    key: &str,
    account_id: AccountId,
    amount: Amount,
    items: Vec<ItemWanted>,
    payment: PaymentTerms,
) -> Request {
    let client_order_no = key.to_owned();
    request(key, Command::PlaceOrder { account_id, client_order_no, amount, items, payment })
}

/// Opens an account under a key.
pub async fn opened(desk: &Desk, key: &str, owner: &str, code: &str) -> anyhow::Result<AccountId> {
    let command = Command::OpenAccount { owner: owner.to_owned(), currency: currency(code) };
    let answered = desk.submit(request(key, command), None).await.answered;
    let body = body(&answered).with_context(|| format!("{key} was answered {answered:?}"))?;
    Ok(AccountId(body["id"].as_str().context("an id")?.parse()?))
}

/// Small books in which there is something of everything: alice has paid two orders, a transfer and a withdrawal; bob
/// was refused one order; carol's account is closed; dora's is in yen.
pub async fn small() -> anyhow::Result<Database> {
    let database = new_service_database().await?;
    let desk = desks::open(&database, desk::Settings::default(), Hooks::default());
    let cny = |text: &str| Amount::parse(text, currency("CNY")).expect("an amount");
    let alice = opened(&desk, "open-alice", "alice", "CNY").await?;
    let bob = opened(&desk, "open-bob", "bob", "CNY").await?;
    let carol = opened(&desk, "open-carol", "carol", "CNY").await?;
    let dora = opened(&desk, "open-dora", "dora", "JPY").await?;
    let acts = [
        (moving("d-alice", Parties::Deposit { to: alice }, cny("100.00")), 201),
        (ordering("o-1", alice, cny("30.00")), 201),
        (moving("t-1", Parties::Transfer { from: alice, to: bob }, cny("10.00")), 201),
        (ordering("o-2", alice, cny("20.00")), 201),
        (moving("w-alice", Parties::Withdrawal { from: alice }, cny("5.00")), 201),
        (ordering("o-refused", bob, cny("999.00")), 402),
        (moving("d-carol", Parties::Deposit { to: carol }, cny("1.00")), 201),
        (moving("w-carol", Parties::Withdrawal { from: carol }, cny("1.00")), 201),
        (request("close-carol", Command::CloseAccount { account_id: carol }), 200),
        (moving("d-dora", Parties::Deposit { to: dora }, Amount::parse("500", currency("JPY"))?), 201),
    ];
    for (request, expected) in acts {
        let key = request.name.key.as_str().to_owned();
        let answered = desk.submit(request, None).await.answered;
        ensure!(status(&answered) == Some(expected), "{key} was answered {answered:?}");
    }
    desk.drain().await;
    Ok(database)
}

/// Small books of what is frozen and of what is in stock: erin has had a hold captured in part, one released and one
/// that is active; of her orders of tea one was captured and refunded with an item, one cancelled, one is authorized and
/// one was paid at once.
pub async fn frozen() -> anyhow::Result<Database> {
    let database = new_service_database().await?;
    let desk = desks::open(&database, desk::Settings::default(), Hooks::default());
    let cny = |text: &str| Amount::parse(text, currency("CNY")).expect("an amount");
    let erin = opened(&desk, "open-erin", "erin", "CNY").await?;
    let tea = || SkuCode("TEA".to_owned());
    let two = || vec![ItemWanted { sku: tea(), quantity: 2 }];
    let by_hold = || PaymentTerms::Hold { expires_in_s: 3600 };
    let hold = |key: &str| {
        let (amount, reference) = (cny("40.00"), key.to_owned());
        request(key, Command::PlaceHold { account_id: erin, amount, reference, expires_in_s: None })
    };
    let terms = SkuTerms { price: cny("10.00"), total: 10 };
    let put = Command::SetSku { code: tea(), terms, condition: SkuCondition::Any };
    run(&desk, moving("d-erin", Parties::Deposit { to: erin }, cny("300.00"))).await?;
    run(&desk, request("put", put)).await?;
    let captured = HoldId(run(&desk, hold("h-captured")).await?);
    let released = HoldId(run(&desk, hold("h-released")).await?);
    run(&desk, hold("h-active")).await?;
    let capture = |amount: &str, last, reference: &str| CaptureTerms {
        amount: Some(cny(amount)),
        last,
        reference: Some(reference.to_owned()),
    };
    for (key, terms) in [("c-1", capture("15.00", false, "c-1")), ("c-2", capture("5.00", true, "c-2"))] {
        run(&desk, request(key, Command::CaptureHold { hold_id: captured, account_id: None, terms })).await?;
    }
    run(&desk, request("release", Command::ReleaseHold { hold_id: released, account_id: None })).await?;
    let refunded = OrderId(run(&desk, placing("o-refunded", erin, cny("20.00"), two(), by_hold())).await?);
    let cancelled = OrderId(run(&desk, placing("o-cancelled", erin, cny("20.00"), two(), by_hold())).await?);
    run(&desk, placing("o-authorized", erin, cny("20.00"), two(), by_hold())).await?;
    run(&desk, placing("o-paid", erin, cny("20.00"), two(), PaymentTerms::Balance)).await?;
    let terms = CaptureTerms { amount: None, last: true, reference: None };
    let taken = Command::CaptureOrder { order_id: refunded, account_id: Some(erin), terms };
    run(&desk, request("o-capture", taken)).await?;
    run(&desk, request("o-cancel", Command::CancelOrder { order_id: cancelled, account_id: None })).await?;
    let back = Command::RefundOrder {
        order_id: refunded,
        account_id: Some(erin),
        amount: Some(cny("10.00")),
        reference: "r-1".to_owned(),
        askable: Vec::new(),
        items: vec![ItemWanted { sku: tea(), quantity: 1 }],
    };
    run(&desk, request("o-refund", back)).await?;
    desk.drain().await;
    Ok(database)
}

/// Runs a request that must succeed; answers the id of what it made or changed, if that has one.
pub async fn run(desk: &Desk, request: Request) -> anyhow::Result<uuid::Uuid> {
    let key = request.name.key.as_str().to_owned();
    let answered = desk.submit(request, None).await.answered;
    ensure!(status(&answered).is_some_and(|status| status < 300), "{key} was answered {answered:?}");
    let id = body(&answered).and_then(|body| body["id"].as_str()?.parse().ok());
    Ok(id.unwrap_or_default())
}

/// Large books of deposits: `accounts` accounts with `rows` journal rows each, and everything that belongs to them.
/// The database makes them, which is faster than the service by far.
pub async fn large(options: &PgConnectOptions, accounts: u32, rows: u32) -> anyhow::Result<()> {
    let sql = MAKE_LARGE.replace(":accounts", &accounts.to_string()).replace(":rows", &rows.to_string());
    tamper(options, &sql).await
}

const MAKE_LARGE: &str = r#"
    CREATE TEMP TABLE made AS
    SELECT '01900000-0000-7000-8000-0000000000c2'::uuid AS client_id,
           '01900000-0000-8000-8000-0000000000ff'::uuid AS outside_id,
           md5('account ' || a)::uuid AS account_id,
           md5('movement ' || a || ' ' || r)::uuid AS movement_id,
           md5('entry ' || a || ' ' || r)::uuid AS entry_id,
           md5('event ' || a || ' ' || r)::uuid AS event_id,
           'r-' || a || '-' || r AS reference,
           r AS version
    FROM generate_series(1, :rows) r
    CROSS JOIN generate_series(1, :accounts) a;

    INSERT INTO collecting_accounts
    SELECT DISTINCT client_id, outside_id, 'outside', 'CNY' FROM made;

    INSERT INTO collecting_totals
    SELECT client_id, outside_id, gen_random_uuid(), count(*), 0 FROM made GROUP BY client_id, outside_id;

    INSERT INTO accounts
    SELECT client_id, account_id, 'somebody', 'CNY', 'open', max(version), 0, max(version), now()
    FROM made GROUP BY client_id, account_id;

    INSERT INTO movements
    SELECT client_id, movement_id, 'deposit', reference, NULL, account_id, 1, 'CNY', now() FROM made;

    INSERT INTO journal_entries
    SELECT client_id, entry_id, 'deposit', 1, 'CNY', outside_id, NULL, NULL, NULL,
           account_id, version, version, 0, reference, movement_id, NULL, now(), NULL, NULL, 'k-' || reference
    FROM made;

    INSERT INTO idempotency_records
    SELECT client_id, 'k-' || reference, 'POST /v1/accounts/{id}/deposits', decode(repeat('00', 32), 'hex'), 1,
           'completed', 1, '/v1/movements/' || movement_id, 201, 'application/json',
           '/v1/movements/' || movement_id,
           convert_to(
               '{"id":"' || movement_id || '","account_id":"' || account_id || '","amount":"1.00","currency":"CNY",'
               || '"reference":"' || reference || '"}',
               'UTF8'
           ),
           now(), now(), now() + interval '3 days'
    FROM made;

    INSERT INTO idempotency_records
    SELECT client_id, 'k-' || account_id, 'POST /v1/accounts', decode(repeat('00', 32), 'hex'), 1,
           'completed', 1, '/v1/accounts/' || account_id, 201, 'application/json',
           '/v1/accounts/' || account_id,
           convert_to('{"id":"' || account_id || '","currency":"CNY"}', 'UTF8'), now(), now(),
           now() + interval '3 days'
    FROM accounts;

    INSERT INTO outbox_events
    SELECT client_id, event_id, 'onefold.movement.deposited.v1', 'movement', movement_id, 1, '{}', now() FROM made;

    INSERT INTO outbox_events
    SELECT client_id, gen_random_uuid(), 'onefold.account.opened.v1', 'account', account_id, 0, '{}', now()
    FROM accounts;

    ANALYZE;"#;
