//! `onefold consumer`: events that a consumer has set aside.

use std::sync::Arc;

use anyhow::bail;
use chrono::SecondsFormat;
use clap::Subcommand;
use consumers::{Came, Consumer, Consuming, Endpoints, Failures, Rebuilds, SetAside};
use desk::SystemClock;
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use uuid::Uuid;

use super::client::client_named;
use super::database::OpenDatabase;
use super::report::open_desk;
use super::{Options, print_line, tell};
use crate::configuration::Configuration;

/// How many events are read at once.
const PAGE: i64 = 100;

/// What to do with events that were set aside.
#[derive(Clone, Debug, Subcommand)]
pub enum ConsumerCommand {
    /// List a client's events that a consumer has set aside, with the reason
    Aside {
        /// The client's name
        #[arg(value_name = "CLIENT")]
        client: String,
    },
    /// Have the consumers take a client's events once more that they have set aside
    Replay {
        /// The client's name
        #[arg(value_name = "CLIENT")]
        client: String,
        /// One event alone, by its id
        #[arg(long, value_name = "ID")]
        event: Option<Uuid>,
    },
}

/// Runs one of the commands, beside a running server or without any.
pub async fn run(
    command: ConsumerCommand,
    options: &Options,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let work = async |database: &OpenDatabase| act(command, database.options(), configuration).await;
    OpenDatabase::used_by(options, configuration, work).await
}

async fn act(
    command: ConsumerCommand,
    owner: &PgConnectOptions,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let (desk, database) = open_desk(owner, configuration).await?;
    let consuming = Consuming {
        desk: desk.clone(),
        pool: database.pool().clone(),
        clock: Arc::new(SystemClock),
        retention: configuration.desk_settings().retention,
        endpoints: Endpoints::default(),
        rebuilds: Rebuilds::default(),
        failures: Failures::default(),
    };
    let done = match command {
        ConsumerCommand::Aside { client } => list(&consuming.pool, &client).await,
        ConsumerCommand::Replay { client, event } => replay(&consuming, &client, event).await,
    };
    desk.drain().await;
    done
}

async fn list(pool: &PgPool, name: &str) -> anyhow::Result<()> {
    each(pool, name, async |_, event| print_line(&line(&event))).await
}

fn line(event: &SetAside) -> String {
    let at = event.set_aside_at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let SetAside { consumer, event_id, event_type, reason, detail, .. } = event;
    format!("{at}  {consumer}  {event_id}  {event_type}  {reason}: {detail}")
}

async fn replay(consuming: &Consuming, name: &str, only: Option<Uuid>) -> anyhow::Result<()> {
    let pool = &consuming.pool;
    let (mut taken, mut left) = (0_u64, 0_u64);
    each(pool, name, async |consumer: Consumer, event: SetAside| {
        let (client, id) = (event.client_id, event.event_id);
        if only.is_some_and(|only| only != id) {
            return Ok(());
        }
        let message = consumers::set_aside::message_of(event);
        match consuming.take(consumer, &message, 1).await {
            Came::Taken => {
                let now = consuming.clock.now();
                consumers::store::taken(pool, client, consumer.name(), id, now).await?;
                taken += 1;
            }
            Came::Never(reason, detail) => {
                consuming.set_aside(consumer, &message, (reason, detail)).await?;
                left += 1;
            }
            Came::Later(_) => bail!("the desk cannot take events now; try again"),
        }
        Ok(())
    })
    .await?;
    if let (Some(id), 0) = (only, taken + left) {
        bail!("no event {id} of this client is set aside: `onefold consumer aside` lists those that are");
    }
    tell(&format!("{taken} events were taken, {left} are still set aside"));
    Ok(())
}

/// Does something with each event of a client that a consumer has set aside; a page of them is in memory.
async fn each(
    pool: &PgPool,
    name: &str,
    mut act: impl AsyncFnMut(Consumer, SetAside) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let client = client_named(pool, name).await?;
    for consumer in Consumer::ALL {
        let mut after = Uuid::nil();
        loop {
            let page = consumers::store::waiting(pool, client, consumer.name(), after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.event_id;
            for event in page {
                act(consumer, event).await?;
            }
        }
    }
    Ok(())
}
