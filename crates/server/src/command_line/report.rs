//! `onefold report`: daily totals, put right by the books.

use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::NaiveDate;
use clap::{Args, Subcommand};
use consumers::rebuilding::rebuild;
use desk::schema::Database;
use desk::{Clock, Desk, SystemClock};
use sqlx::postgres::PgConnectOptions;

use super::client::client_named;
use super::database::OpenDatabase;
use super::{Options, tell};
use crate::configuration::Configuration;
use crate::consuming;

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
    let work =
        async |database: &OpenDatabase| rebuild_days(&arguments, database.options(), configuration).await;
    OpenDatabase::used_by(options, configuration, work).await
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
    let client_id = client_named(database.pool(), client).await?;
    let rebuilt = async {
        for day in from.iter_days().take_while(|day| day <= to) {
            let currencies =
                rebuild(&desk, database.pool(), (client_id, day), None, SystemClock.now()).await?;
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
    let desk = consuming::open_desk(&database, configuration.desk_settings(), Arc::new(SystemClock));
    Ok((desk, database))
}
