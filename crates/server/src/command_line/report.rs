//! `onefold report`: daily totals, put right by the books.

use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::NaiveDate;
use clap::{Args, Subcommand};
use consumers::rebuilding::rebuild;
use desk::schema::Database;
use desk::{Clock, Desk, Hooks, Metrics, SystemClock};
use sqlx::postgres::PgConnectOptions;

use super::database::OpenDatabase;
use super::{Options, tell};
use crate::configuration::Configuration;
use crate::render::render;

/// What to do with reports.
#[derive(Clone, Debug, Subcommand)]
pub enum ReportCommand {
    /// Compute the daily totals of days that are over from the books
    Rebuild(RebuildArguments),
}

/// `report rebuild`
#[derive(Clone, Debug, Args)]
pub struct RebuildArguments {
    /// The client's name
    #[arg(value_name = "CLIENT")]
    pub client: String,
    /// The first day, as 2026-01-31 (UTC)
    #[arg(long, value_name = "DAY")]
    pub from: NaiveDate,
    /// The last day
    #[arg(long, value_name = "DAY")]
    pub to: NaiveDate,
}

/// Runs the command, beside a running server or without any.
pub async fn run(
    command: ReportCommand,
    options: &Options,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let ReportCommand::Rebuild(arguments) = command;
    let database = OpenDatabase::open_existing(options, configuration).await?;
    let done = match database.with_tables(options).await {
        Ok(()) => rebuild_days(&arguments, database.options(), configuration).await,
        Err(error) => Err(error),
    };
    database.close().await?;
    done
}

async fn rebuild_days(
    arguments: &RebuildArguments,
    owner: &PgConnectOptions,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let RebuildArguments { client, from, to } = arguments;
    if from > to {
        bail!("--to must not be earlier than --from");
    }
    let (desk, database) = open_desk(owner, configuration).await?;
    let Some(client_id) = client::store::find_client(database.pool(), client).await? else {
        bail!("there is no client named {client}: `onefold client list` shows those that there are");
    };
    let rebuilt = async {
        for day in from.iter_days().take_while(|day| day <= to) {
            let currencies = rebuild(&desk, database.pool(), client_id, day, SystemClock.now()).await?;
            if currencies > 0 {
                tell(&format!("{day}: computed from the books, in {currencies} currencies"));
            }
        }
        anyhow::Ok(())
    };
    let rebuilt = rebuilt.await;
    desk.drain().await;
    rebuilt
}

/// A desk of a command's own: to running servers it is like another server's.
pub(super) async fn open_desk(
    owner: &PgConnectOptions,
    configuration: &Configuration,
) -> anyhow::Result<(Desk, Database)> {
    let database = Database::connect(owner.clone(), 2).await.context("cannot use the database")?;
    let desk = Desk::open(
        database.clone(),
        configuration.desk_settings(),
        Arc::new(SystemClock),
        Arc::new(render),
        Hooks::default(),
        Metrics::default(),
    );
    Ok((desk, database))
}
