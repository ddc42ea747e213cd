//! `onefold webhook`: where clients are told of their events.

use anyhow::{Context, bail};
use chrono::{DateTime, SecondsFormat, Utc};
use clap::{Args, Subcommand};
use desk::{Clock, SystemClock};
use notifications::store::deliveries::{DeadDelivery, Replay};
use notifications::store::endpoints::EndpointLine;
use notifications::store::{deliveries, endpoints};
use notifications::{Endpoint, EndpointId, EndpointUrl, Secret};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::client::client_named;
use super::database::OpenDatabase;
use super::{Options, print_line, tell};
use crate::asyncapi::event_types::EVENT_TYPES;
use crate::body::words;
use crate::configuration::Configuration;

/// How many dead deliveries are listed.
const DEAD_LISTED_MAX: i64 = 1_000;

/// What to do with the endpoints of a client.
#[derive(Clone, Debug, Subcommand)]
pub enum WebhookCommand {
    /// Add an endpoint, and print the secret that its deliveries are signed with: once
    Add {
        /// The client's name
        #[arg(value_name = "CLIENT")]
        client: String,
        /// Where deliveries are sent: https://…
        #[arg(value_name = "URL")]
        url: String,
        /// The types of events it is told of, as onefold.order.paid.v1 or onefold.order.*; all, unless given
        #[arg(long, value_name = "TYPE", value_delimiter = ',', value_parser = event_type)]
        events: Vec<String>,
    },
    /// List a client's endpoints, and how many deliveries wait or were given up
    List {
        /// The client's name
        #[arg(value_name = "CLIENT")]
        client: String,
    },
    /// Give an endpoint a second secret; deliveries are signed with both until the next time
    Rotate(EndpointArguments),
    /// Have an endpoint called again that said it was gone
    Enable(EndpointArguments),
    /// Remove an endpoint, with what was to be delivered to it
    Remove(EndpointArguments),
    /// List a client's deliveries that were given up
    Dead {
        /// The client's name
        #[arg(value_name = "CLIENT")]
        client: String,
    },
    /// Deliver once more what was given up
    Replay(ReplayArguments),
}

/// One endpoint of a client.
#[derive(Clone, Debug, Args)]
pub struct EndpointArguments {
    /// The client's name
    #[arg(value_name = "CLIENT")]
    pub client: String,
    /// The endpoint's id, as `onefold webhook list` has it
    #[arg(value_name = "ENDPOINT")]
    pub endpoint: Uuid,
}

/// `webhook replay`
#[derive(Clone, Debug, Args)]
pub struct ReplayArguments {
    /// The client's name
    #[arg(value_name = "CLIENT")]
    pub client: String,
    /// One endpoint alone
    #[arg(long, value_name = "ENDPOINT")]
    pub endpoint: Option<Uuid>,
    /// One event alone
    #[arg(long, value_name = "ID")]
    pub event: Option<Uuid>,
    /// Only events from this time on, as 2026-01-31T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub since: Option<DateTime<Utc>>,
    /// Only events before this time
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub until: Option<DateTime<Utc>>,
    /// Those too that were delivered
    #[arg(long)]
    pub delivered: bool,
}

/// Runs one of the commands, on the tables of a running server as well as on those of none.
pub async fn run(
    command: WebhookCommand,
    options: &Options,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let work = async |database: &OpenDatabase| act(command, database.options(), configuration).await;
    OpenDatabase::used_by(options, configuration, work).await
}

async fn act(
    command: WebhookCommand,
    owner: &PgConnectOptions,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect_with(owner).await.context("cannot use the database")?;
    let db = &mut connection;
    let now = SystemClock.now();
    match command {
        WebhookCommand::Add { client, url, events } => {
            let reach = configuration.webhooks.reach();
            let url = EndpointUrl::parse(&url, reach).context("the URL of an endpoint is not good")?;
            let client_id = client_named(&mut *db, &client).await?;
            let secret = Secret::of_random(rand::random());
            let endpoint = Endpoint {
                client_id,
                id: EndpointId(new_id()),
                url: url.as_str().to_owned(),
                secrets: vec![secret.clone()],
                event_types: events,
            };
            endpoints::insert_endpoint(&mut *db, &endpoint, now).await?;
            tell(&format!("The secret of the endpoint {}; it is shown only now:", endpoint.id));
            print_line(&secret.reveal())?;
        }
        WebhookCommand::List { client } => {
            let client = client_named(&mut *db, &client).await?;
            for endpoint in endpoints::list(&mut *db, client).await? {
                print_line(&line(&endpoint))?;
            }
        }
        WebhookCommand::Rotate(arguments) => rotate(db, arguments).await?,
        WebhookCommand::Enable(EndpointArguments { client, endpoint }) => {
            let client = client_named(&mut *db, &client).await?;
            if !endpoints::enable(&mut *db, client, EndpointId(endpoint)).await? {
                bail!(no_such_endpoint(endpoint));
            }
        }
        WebhookCommand::Remove(EndpointArguments { client, endpoint }) => {
            let client = client_named(&mut *db, &client).await?;
            match endpoints::delete_endpoint(&mut *db, client, EndpointId(endpoint)).await? {
                Some(deliveries) => tell(&format!("The endpoint and {deliveries} deliveries are removed.")),
                None => bail!(no_such_endpoint(endpoint)),
            }
        }
        WebhookCommand::Dead { client } => {
            let client = client_named(&mut *db, &client).await?;
            for delivery in deliveries::dead(&mut *db, client, DEAD_LISTED_MAX).await? {
                print_line(&dead_line(&delivery))?;
            }
        }
        WebhookCommand::Replay(arguments) => {
            let client = client_named(&mut *db, &arguments.client).await?;
            if let (Some(since), Some(until)) = (arguments.since, arguments.until)
                && since >= until
            {
                bail!("--until must be later than --since");
            }
            if let Some(endpoint) = arguments.endpoint
                && endpoints::secrets(&mut *db, client, EndpointId(endpoint)).await?.is_none()
            {
                bail!(no_such_endpoint(endpoint));
            }
            let replay = Replay {
                endpoint: arguments.endpoint.map(EndpointId),
                event: arguments.event,
                since: arguments.since,
                until: arguments.until,
                delivered_too: arguments.delivered,
            };
            let replayed = deliveries::replay(&mut *db, client, replay, now).await?;
            tell(&format!("{replayed} deliveries are due again; a running server makes them."));
        }
    }
    connection.close().await?;
    Ok(())
}

/// The newest secret signs first; the one before it signs too, until the receiver has the new one.
async fn rotate(db: &mut PgConnection, arguments: EndpointArguments) -> anyhow::Result<()> {
    let EndpointArguments { client, endpoint } = arguments;
    let client = client_named(&mut *db, &client).await?;
    let Some(known) = endpoints::secrets(&mut *db, client, EndpointId(endpoint)).await? else {
        bail!(no_such_endpoint(endpoint));
    };
    let secret = Secret::of_random(rand::random());
    let secrets: Vec<Secret> = std::iter::once(secret.clone()).chain(known.into_iter().take(1)).collect();
    endpoints::set_secrets(&mut *db, client, EndpointId(endpoint), &secrets).await?;
    tell("The new secret; it is shown only now. Deliveries are signed with it and with the one before:");
    print_line(&secret.reveal())
}

fn no_such_endpoint(endpoint: Uuid) -> String {
    format!("the client has no endpoint {endpoint}: `onefold webhook list` shows those that it has")
}

/// A type that there is, or what some begin with: an endpoint with a slip of the pen would wait for its events for ever.
fn event_type(text: &str) -> Result<String, String> {
    let stands_for = |name: &str| match text.strip_suffix('*') {
        Some(beginning) => beginning.ends_with('.') && name.starts_with(beginning),
        None => name == text,
    };
    if EVENT_TYPES.iter().any(|event_type| stands_for(event_type.name)) {
        return Ok(text.to_owned());
    }
    Err("there is no such type of event: one is as onefold.order.paid.v1, and onefold.order.* stands for all that begin so; \
         docs/reference/events.md has them all"
        .to_owned())
}

fn line(endpoint: &EndpointLine) -> String {
    let EndpointLine { id, url, event_types, status, disabled_reason, due, dead, .. } = endpoint;
    let types = if event_types.is_empty() { "all events".to_owned() } else { event_types.join(",") };
    let why = disabled_reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{id}  {status}{why}  {url}  {types}  {due} due, {dead} given up")
}

fn dead_line(delivery: &DeadDelivery) -> String {
    let at = delivery.created_at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let DeadDelivery { endpoint_id, event_id, event_type, attempts, last_fault, .. } = delivery;
    let fault = last_fault.as_deref().unwrap_or("nothing is known");
    format!("{at}  {endpoint_id}  {event_id}  {event_type}  {attempts} attempts: {fault}")
}

#[expect(clippy::disallowed_methods, reason = "this is an edge where ids are made")]
fn new_id() -> Uuid {
    Uuid::now_v7()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_of_events_is_one_or_the_beginning_of_some() {
        for good in ["onefold.order.paid.v1", "onefold.order.*", "onefold.*", "onefold.movement.deposited.v1"]
        {
            assert_eq!(event_type(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "*",
            "order.paid",
            "onefold.order",
            "onefold.ord*",
            "onefold.order.*.v1",
            "onefold.Order.paid.v1",
            "onefold.order paid",
            "onefold.order.payed.v1",
            "onefold.orders.*",
        ] {
            assert!(event_type(bad).is_err(), "{bad}");
        }
    }
}
