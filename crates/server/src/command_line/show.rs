//! `onefold show`: an order, an account, a payment or a callback as a table for people, beside running servers or without any.
//!
//! It reads the database, as `verify` does: whoever runs the service has no client's API key, and what is to be looked at
//! may be any client's. What it shows is what the API answers, member for member; `--json` prints just that.
//!
//! - this file: the command, and how the thing that was asked for is found;
//! - `documents`: the API's answers, put together;
//! - `table`: rows and columns.

mod documents;
mod pages;
mod table;

use ::account::AccountId;
use ::client::store::ClientLine;
use ::client::{ClientId, store as clients};
use ::order::OrderId;
use anyhow::{Context, bail};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use serde_json::Value;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::database::OpenDatabase;
use super::{Options, print_line};
use crate::body::words;
use crate::configuration::Configuration;

/// What to show.
#[derive(Clone, Debug, Subcommand)]
pub enum ShowCommand {
    /// An order, and what has become of it step by step
    Order(OrderArguments),
    /// An account, and its statement, oldest row first
    Account(AccountArguments),
    /// A payment at a provider, with what was received, delivered and booked
    Payment(PaymentArguments),
    /// A callback as it was recorded, and its bytes as long as they are kept
    Callback(CallbackArguments),
}

/// What is the same of whatever is shown.
#[derive(Clone, Debug, Args)]
pub struct Shown {
    /// The client that it belongs to; needed only if two clients have a thing of that name
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `show order`
#[derive(Clone, Debug, Args)]
pub struct OrderArguments {
    /// Its id
    #[arg(value_name = "ID", value_parser = |text: &str| id(text).map(OrderId))]
    pub id: OrderId,
    /// The rest.
    #[command(flatten)]
    pub shown: Shown,
}

/// `show account`
#[derive(Clone, Debug, Args)]
pub struct AccountArguments {
    /// Its id
    #[arg(value_name = "ID", value_parser = |text: &str| id(text).map(AccountId))]
    pub id: AccountId,
    /// Only rows from this time on, as 2026-01-31T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub from: Option<DateTime<Utc>>,
    /// Only rows before this time
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub to: Option<DateTime<Utc>>,
    /// So many rows at most, the newest of them
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// The rest.
    #[command(flatten)]
    pub shown: Shown,
}

/// `show payment`
#[derive(Clone, Debug, Args)]
pub struct PaymentArguments {
    /// Its number
    #[arg(value_name = "PAYMENT_NO")]
    pub payment_no: String,
    /// The rest.
    #[command(flatten)]
    pub shown: Shown,
}

/// `show callback`
#[derive(Clone, Debug, Args)]
pub struct CallbackArguments {
    /// The endpoint that it came to
    #[arg(value_name = "ENDPOINT")]
    pub endpoint: String,
    /// The provider's name for it, as `show payment` and the API have it
    #[arg(value_name = "EVENT_ID")]
    pub event_id: String,
    /// The rest.
    #[command(flatten)]
    pub shown: Shown,
}

fn id(text: &str) -> Result<uuid::Uuid, String> {
    words::parse_id(text).ok_or_else(|| "must be a UUID of version 7 in lower case".to_owned())
}

/// Finds what was asked for and prints it.
///
/// # Errors
///
/// If there is no such thing, or two clients have one; if the database cannot be read.
pub async fn run(
    command: &ShowCommand,
    options: &Options,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let work = async |database: &OpenDatabase| look(command, database).await;
    let document = OpenDatabase::used_by(options, configuration, work).await?;
    let shown = match command {
        ShowCommand::Order(order) => &order.shown,
        ShowCommand::Account(account) => &account.shown,
        ShowCommand::Payment(payment) => &payment.shown,
        ShowCommand::Callback(callback) => &callback.shown,
    };
    if shown.json {
        return print_line(&serde_json::to_string_pretty(&document)?);
    }
    let lines = match command {
        ShowCommand::Order(_) => pages::order(&document),
        ShowCommand::Account(_) => pages::account(&document),
        ShowCommand::Payment(_) => pages::payment(&document),
        ShowCommand::Callback(_) => pages::callback(&document),
    };
    lines.iter().try_for_each(|line| print_line(line))
}

async fn look(command: &ShowCommand, database: &OpenDatabase) -> anyhow::Result<Value> {
    let pool = PgPoolOptions::new().max_connections(1).connect_with(database.options().clone()).await?;
    let (what, name) = match command {
        ShowCommand::Order(order) => (format!("order {}", order.id), &order.shown.client),
        ShowCommand::Account(account) => (format!("account {}", account.id), &account.shown.client),
        ShowCommand::Payment(payment) => (format!("payment {}", payment.payment_no), &payment.shown.client),
        ShowCommand::Callback(callback) => {
            (format!("callback {} of {}", callback.event_id, callback.endpoint), &callback.shown.client)
        }
    };
    let mut found: Vec<(String, Value)> = Vec::new();
    for ClientLine { client_id, name, .. } in asked(&pool, name.as_deref()).await? {
        if let Some(document) =
            document_of(command, &pool, client_id).await.context("cannot read the books")?
        {
            found.push((name, document));
        }
    }
    pool.close().await;
    match found.len() {
        0 => bail!("there is no {what}"),
        1 => Ok(found.remove(0).1),
        _ => {
            let names: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
            bail!("the clients {} each have a {what}: name one with --client", names.join(" and "))
        }
    }
}

async fn asked(pool: &PgPool, name: Option<&str>) -> anyhow::Result<Vec<ClientLine>> {
    let mut all = clients::list_clients(pool).await.context("cannot read the clients")?;
    if let Some(name) = name {
        all.retain(|client| client.name == name);
        if all.is_empty() {
            bail!("there is no client named {name}");
        }
    }
    Ok(all)
}

async fn document_of(command: &ShowCommand, pool: &PgPool, client: ClientId) -> sqlx::Result<Option<Value>> {
    match command {
        ShowCommand::Order(order) => documents::order(pool, client, order.id).await,
        ShowCommand::Account(account) => documents::account(pool, client, account).await,
        ShowCommand::Payment(payment) => documents::payment(pool, client, &payment.payment_no).await,
        ShowCommand::Callback(callback) => documents::callback(pool, client, callback).await,
    }
}
