//! `onefold client`: who may call, and with which keys.

use anyhow::{Context, bail};
use chrono::{DateTime, SecondsFormat, Utc};
use clap::Subcommand;
use client::store::{ClientLine, KeyLine};
use client::{ApiKey, ApiKeyHash, ClientId, Scope, Scopes};
use desk::{Clock, SystemClock};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, PgExecutor};
use uuid::Uuid;

use super::database::OpenDatabase;
use super::{Options, print_line, tell};
use crate::configuration::Configuration;

/// Characters that a client's name may have; the database's constraint says the same.
const NAME_CHARACTERS_MAX: usize = 64;

/// What to do with clients.
#[derive(Clone, Debug, Subcommand)]
pub enum ClientCommand {
    /// Make a client, and print its API key: once, for only its hash is kept
    Create {
        /// The client's name: 1 to 64 characters, unique
        #[arg(value_parser = name)]
        name: String,
        /// What the key is good for, such as orders:write; may be given again. Without: for everything
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<Scope>,
    },
    /// Make one more API key for a client, and print it once
    Key {
        /// The client's name
        name: String,
        /// What the key is good for, such as orders:write; may be given again. Without: for everything
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<Scope>,
    },
    /// List the clients
    List,
    /// List the API keys of a client: their ids, and what they are good for
    Keys {
        /// The client's name
        name: String,
    },
    /// Revoke every API key of a client, or one
    Revoke {
        /// The client's name
        name: String,
        /// The id of the one key, as `onefold client keys` shows it
        #[arg(long, value_name = "ID")]
        key: Option<String>,
    },
}

/// Runs one of the commands, on the tables of a running server as well as on those of none.
pub async fn run(
    command: ClientCommand,
    options: &Options,
    configuration: &Configuration,
) -> anyhow::Result<()> {
    let work = async |database: &OpenDatabase| act(command, database.options()).await;
    OpenDatabase::used_by(options, configuration, work).await
}

async fn act(command: ClientCommand, owner: &PgConnectOptions) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect_with(owner).await.context("cannot use the database")?;
    let now = SystemClock.now();
    match command {
        ClientCommand::Create { name, scopes } => {
            let key = create(&mut connection, &name, &Scopes::named(scopes), now).await?;
            show_once(&name, &key)?;
        }
        ClientCommand::Key { name, scopes } => {
            let key = add_key(&mut connection, &name, &Scopes::named(scopes), now).await?;
            show_once(&name, &key)?;
        }
        ClientCommand::List => {
            for line in table(&client::store::list_clients(&mut connection).await?) {
                print_line(&line)?;
            }
        }
        ClientCommand::Keys { name } => {
            let id = client_named(&mut connection, &name).await?;
            for line in keys_table(&client::store::list_keys(&mut connection, id).await?) {
                print_line(&line)?;
            }
        }
        ClientCommand::Revoke { name, key: Some(key) } => {
            let id = client_named(&mut connection, &name).await?;
            if !client::store::revoke_key(&mut connection, id, &key, now).await? {
                bail!(
                    "{name} has no good key with the id {key}: `onefold client keys {name}` shows those that there are"
                );
            }
            tell(&format!(
                "The API key {key} of {name} is revoked; a running server may take it for a second yet."
            ));
        }
        ClientCommand::Revoke { name, key: None } => {
            let revoked = revoke(&mut connection, &name, now).await?;
            tell(&format!(
                "{revoked} API keys of {name} are revoked; a running server may take them for a second yet."
            ));
        }
    }
    connection.close().await?;
    Ok(())
}

fn show_once(name: &str, key: &ApiKey) -> anyhow::Result<()> {
    tell(&format!("The API key {} of {name}; it is shown only now:", key.hash().id()));
    print_line(key.reveal())
}

/// A client with its first key: both are there, or neither.
async fn create(
    connection: &mut PgConnection,
    name: &str,
    scopes: &Scopes,
    now: DateTime<Utc>,
) -> anyhow::Result<ApiKey> {
    #[expect(clippy::disallowed_methods, reason = "this is an edge where ids are made")]
    let id = ClientId(Uuid::now_v7());
    let key = ApiKey::generate();
    let mut transaction = connection.begin().await?;
    if !client::store::insert_client(&mut *transaction, id, name, now).await? {
        bail!(
            "there is a client named {name} already, and its key cannot be shown again: choose another name (`onefold client list` shows those that are taken)"
        );
    }
    client::store::insert_api_key(&mut *transaction, id, key.hash(), false, scopes, now).await?;
    transaction.commit().await?;
    Ok(key)
}

/// One more key of a client: for a rotation, or for a program of its own that shall do less.
async fn add_key(
    connection: &mut PgConnection,
    name: &str,
    scopes: &Scopes,
    now: DateTime<Utc>,
) -> anyhow::Result<ApiKey> {
    let id = client_named(&mut *connection, name).await?;
    let key = ApiKey::generate();
    client::store::insert_api_key(connection, id, key.hash(), false, scopes, now).await?;
    Ok(key)
}

async fn revoke(connection: &mut PgConnection, name: &str, now: DateTime<Utc>) -> anyhow::Result<u64> {
    let id = client_named(&mut *connection, name).await?;
    Ok(client::store::revoke_keys(connection, id, now).await?)
}

/// The client of that name.
pub(super) async fn client_named(db: impl PgExecutor<'_>, name: &str) -> anyhow::Result<ClientId> {
    match client::store::find_client(db, name).await? {
        Some(id) => Ok(id),
        None => bail!("there is no client named {name}: `onefold client list` shows those that there are"),
    }
}

fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().count() > NAME_CHARACTERS_MAX {
        return Err(format!("a name has 1 to {NAME_CHARACTERS_MAX} characters"));
    }
    if text.chars().any(char::is_control) || text.trim() != text {
        return Err("a name has no control characters, and no blanks at its ends".to_owned());
    }
    Ok(text.to_owned())
}

fn table(clients: &[ClientLine]) -> Vec<String> {
    let width = clients.iter().map(|client| client.name.chars().count()).max().unwrap_or(0).max("NAME".len());
    let line = |name: &str, created: &str, active: &str, revoked: &str, id: &str| {
        format!("{name:width$}  {created:20}  {active:>4}  {revoked:>7}  {id}")
    };
    let rows = clients.iter().map(|client| {
        line(
            &client.name,
            &client.created_at.to_rfc3339_opts(SecondsFormat::Secs, true),
            &client.keys_active.to_string(),
            &client.keys_revoked.to_string(),
            &client.client_id.to_string(),
        )
    });
    std::iter::once(line("NAME", "CREATED", "KEYS", "REVOKED", "ID")).chain(rows).collect()
}

fn keys_table(keys: &[KeyLine]) -> Vec<String> {
    let time = |time: &DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
    let line = |id: &str, created: &str, revoked: &str, scopes: &str| {
        format!("{id:width$}  {created:20}  {revoked:20}  {scopes}", width = ApiKeyHash::ID_DIGITS)
    };
    let rows = keys.iter().map(|key| {
        let scopes = key.scopes.words().map_or("everything".to_owned(), |words| words.join(" "));
        line(&key.id, &time(&key.created_at), &key.revoked_at.as_ref().map_or("–".to_owned(), time), &scopes)
    });
    std::iter::once(line("ID", "CREATED", "REVOKED", "GOOD FOR")).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_database_or_a_terminal_would_not_take_is_refused() {
        for text in ["", " shop", "shop ", "sh\u{7}op", &"x".repeat(65)] {
            assert!(name(text).is_err(), "{text:?}");
        }
        for text in ["s", "The Tea Shop", "茶", &"茶".repeat(64)] {
            assert_eq!(name(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn the_list_is_a_table_whose_columns_are_in_line() {
        let created_at = "2026-03-04T05:06:07Z".parse().unwrap();
        let client = |name: &str, keys_active, keys_revoked| ClientLine {
            client_id: ClientId(Uuid::nil()),
            name: name.to_owned(),
            created_at,
            keys_active,
            keys_revoked,
        };
        assert_eq!(
            table(&[client("demo", 1, 0), client("tea-shop", 12, 3)]),
            [
                "NAME      CREATED               KEYS  REVOKED  ID",
                "demo      2026-03-04T05:06:07Z     1        0  00000000-0000-0000-0000-000000000000",
                "tea-shop  2026-03-04T05:06:07Z    12        3  00000000-0000-0000-0000-000000000000",
            ]
        );
    }

    #[test]
    fn the_keys_are_a_table_that_tells_what_each_is_good_for() {
        let created_at = "2026-03-04T05:06:07Z".parse().unwrap();
        let key = |id: &str, scopes: &[Scope], revoked_at| KeyLine {
            id: id.to_owned(),
            scopes: Scopes::named(scopes.iter().copied()),
            created_at,
            revoked_at,
        };
        assert_eq!(
            keys_table(&[
                key("ba7816bf8f01", &[], Some(created_at)),
                key("0123456789ab", &[Scope::OrdersWrite, Scope::OrdersRead], None),
            ]),
            [
                "ID            CREATED               REVOKED               GOOD FOR",
                "ba7816bf8f01  2026-03-04T05:06:07Z  2026-03-04T05:06:07Z  everything",
                "0123456789ab  2026-03-04T05:06:07Z  –                     orders:read orders:write",
            ]
        );
    }
}
