//! The consumers that ship, behind a real broker: servers and broker are killed, events come twice and in another order, and
//! some cannot be read. Afterwards the daily totals are what the books say, and each webhook is due once.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use events::message::Pending;
use events::{Message, Place};
use onefold_tests::cluster::cluster;
use onefold_tests::daily_books::{counted, of_books};
use onefold_tests::database::new_database;
use onefold_tests::lived::{done, live, poison};
use onefold_tests::long;
use onefold_tests::server_process::ServerProcess;
use rand::seq::SliceRandom;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::time::{Instant, sleep};

use crate::promises::Mortal;
use crate::spectator::{DEADLINE, until};

/// How many events there are, and with `--long`.
const EVENTS: i64 = 5_000;
const EVENTS_LONG: i64 = 100_000;

/// How many of them nobody can read, and how many of each client come twice.
const POISONED: i64 = 10;
const TWICE: i64 = 300;

/// How long it may take with `--long`.
const DEADLINE_LONG: Duration = Duration::from_secs(1_800);

/// Of whom an endpoint is told. Nobody calls it: its address is none of the public Internet.
const ENDPOINT: &str = "
    INSERT INTO webhook_endpoints (client_id, endpoint_id, url, secrets, event_types, status, created_at)
    SELECT client_id, gen_random_uuid(), 'https://192.0.2.1/', ARRAY['whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='],
           ARRAY['onefold.order.paid.v1'], 'active', now()
    FROM clients";

/// How many webhooks there are, and must be: each order is paid as it is placed.
const WEBHOOKS: &str = "SELECT (SELECT count(*) FROM webhook_deliveries), (SELECT count(*) FROM orders)";

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Victim {
    Server,
    Broker,
}

/// Asks it of the broker of this URL. `bring` has it deliver these events once more, in an order of its own.
pub async fn totals_equal_the_books_and_each_webhook_is_due_once(
    url: &str,
    mortal: &mut impl Mortal,
    bring: impl AsyncFn(&[Message]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (events, deadline) = if long() { (EVENTS_LONG, DEADLINE_LONG) } else { (EVENTS, DEADLINE) };
    let database = new_database().await?;
    let pool = PgPoolOptions::new().max_connections(2).connect_with(database.clone()).await?;
    live(&pool, events).await?;
    poison(&pool, POISONED).await?;
    sqlx::query(ENDPOINT).execute(&pool).await?;
    let of_all = events + POISONED;

    let database_url = cluster().await?.database_url(database.get_database().context("it has a name")?);
    let settings = format!("[events]\nbroker = \"{url}\"\n");
    let start = || ServerProcess::start(env!("CARGO_BIN_EXE_test-onefold"), &database_url, &settings);
    let began = Instant::now();
    let (mut one, mut other) = tokio::try_join!(start(), start())?;
    bring(&some_of_each_client(&pool).await?).await?;

    let mut kills: BTreeMap<Victim, u32> = BTreeMap::new();
    let mut victims = [Victim::Server, Victim::Broker, Victim::Server];
    victims.shuffle(&mut rand::rng());
    let mut before = 0;
    for victim in victims {
        // After some progress, at whatever moment.
        let goes_on = async || Ok(done(&pool).await? > before);
        until(|| format!("{before} of {of_all} events are done, and no more"), goes_on).await?;
        sleep(Duration::from_millis(rand::random_range(50..400))).await;
        match victim {
            Victim::Server => {
                one.kill().await?;
                (one, other) = (other, start().await?);
            }
            Victim::Broker => {
                mortal.kill().await?;
                mortal.start_again().await?;
            }
        }
        before = done(&pool).await?;
        if before < of_all {
            *kills.entry(victim).or_default() += 1;
        }
    }
    ensure!(kills.len() == 2, "it was over too soon: {kills:?}");

    let webhooks =
        async || -> anyhow::Result<(i64, i64)> { Ok(sqlx::query_as(WEBHOOKS).fetch_one(&pool).await?) };
    loop {
        let (done, (told, to_tell)) = (done(&pool).await?, webhooks().await?);
        if done >= of_all && told >= to_tell {
            break;
        }
        let so_far = format!("{done} of {of_all} events are done and {told} of {to_tell} told of");
        ensure!(began.elapsed() < deadline, "{so_far}, after {kills:?}");
        sleep(Duration::from_millis(50)).await;
    }
    println!("{events} events over {url}, {kills:?}, {:.1} s", began.elapsed().as_secs_f64());
    for server in [one, other] {
        server.kill().await?;
    }
    assert_eq!(counted(&pool).await?, of_books(&pool).await?);
    assert_eq!(done(&pool).await?, of_all, "each once");
    let (told, to_tell) = webhooks().await?;
    assert_eq!(told, to_tell, "each once");
    assert!(to_tell > events / 5, "{to_tell}");
    let aside: Vec<(String, i64)> =
        sqlx::query_as("SELECT reason, count(*) FROM events_set_aside GROUP BY reason")
            .fetch_all(&pool)
            .await?;
    assert_eq!(aside, [("unreadable".to_owned(), POISONED)]);
    pool.close().await;
    Ok(())
}

/// Some events of each client, as they are published, in another order.
async fn some_of_each_client(pool: &PgPool) -> anyhow::Result<Vec<Message>> {
    let mut messages = Vec::new();
    for client in client::store::all_client_ids(pool).await? {
        let pending = events::store::pending(pool, client, &Place::start(), TWICE).await?;
        messages.extend(pending.into_iter().map(Pending::message));
    }
    ensure!(messages.len() > 100, "{} events", messages.len());
    messages.shuffle(&mut rand::rng());
    Ok(messages)
}
