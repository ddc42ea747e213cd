//! The demo data: a client, three accounts, and their opening money.
//!
//! It comes in through the rules that everything else obeys: the accounts are opened, and the money is deposited from
//! outside, with a journal row, a roll-up and an event each. So the books of a demo balance and can be audited. Only
//! the ids are chosen beforehand, so that they can stand in a tutorial.

use std::collections::BTreeSet;

use account::{Account, AccountId, Collecting, Origin, Parties, Side};
use anyhow::{Context, bail};
use chrono::{DateTime, Utc};
use client::{ApiKey, ClientId, Scopes};
use desk::decide::{Decision, decide};
use desk::ids::Ids;
use desk::store::{Saved, Statements, Writes};
use desk::working_set::WorkingSet;
use desk::{Command, Outcome};
use money::{Amount, Currency};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use uuid::{Uuid, uuid};

/// The demo client's name.
pub const CLIENT_NAME: &str = "demo";
/// The demo client's API key. Everybody knows it, so it is good on a loopback listener only.
pub const API_KEY: &str = "demo-key";
/// The demo client.
pub const CLIENT_ID: ClientId = ClientId(uuid!("01900000-0000-7000-8000-000000000001"));
/// alice's account in CNY.
pub const ACCOUNT_A: AccountId = AccountId(uuid!("01900000-0000-7000-8000-00000000000a"));
/// bob's account in CNY, empty.
pub const ACCOUNT_B: AccountId = AccountId(uuid!("01900000-0000-7000-8000-00000000000b"));
/// alice's account in JPY.
pub const ACCOUNT_C: AccountId = AccountId(uuid!("01900000-0000-7000-8000-00000000000c"));

/// An account of the demo, and what it opens with.
struct Opening {
    account_id: AccountId,
    owner: &'static str,
    currency: &'static str,
    deposit: Option<(&'static str, &'static str)>,
}

const OPENINGS: [Opening; 3] = [
    Opening {
        account_id: ACCOUNT_A,
        owner: "alice",
        currency: "CNY",
        deposit: Some(("10000.00", "demo-opening-a")),
    },
    Opening { account_id: ACCOUNT_B, owner: "bob", currency: "CNY", deposit: None },
    Opening {
        account_id: ACCOUNT_C,
        owner: "alice",
        currency: "JPY",
        deposit: Some(("500000", "demo-opening-c")),
    },
];

/// What became of the demo data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demo {
    /// It was not there and is now.
    Added,
    /// It was there already, and was left as it is by now.
    Kept,
    /// A client that somebody else made has the name; nothing was added.
    NameTaken,
}

/// Sees to it that the demo data is there, in one transaction; `owner` may write every table. Any number of servers may
/// do so at once: the first to insert the client's name goes on, and the others wait for its commit and find it there.
pub async fn ensure(owner: &PgConnectOptions, now: DateTime<Utc>) -> anyhow::Result<Demo> {
    let mut connection = PgConnection::connect_with(owner).await.context("cannot add the demo data")?;
    let demo = add(&mut connection, now).await.context("cannot add the demo data")?;
    connection.close().await?;
    Ok(demo)
}

async fn add(connection: &mut PgConnection, now: DateTime<Utc>) -> anyhow::Result<Demo> {
    let mut transaction = connection.begin().await?;
    if !client::store::insert_client(&mut *transaction, CLIENT_ID, CLIENT_NAME, now).await? {
        let found = client::store::find_client(&mut *transaction, CLIENT_NAME).await?;
        transaction.rollback().await?;
        return Ok(if found == Some(CLIENT_ID) { Demo::Kept } else { Demo::NameTaken });
    }
    let key = ApiKey::presented(API_KEY).hash();
    client::store::insert_api_key(&mut *transaction, CLIENT_ID, key, true, &Scopes::All, now).await?;

    // Twice, because a decision is made on accounts that are in the database.
    let opened = open_accounts(now)?;
    let accounts: Vec<Account> = opened.iter().flat_map(|opening| opening.changes.accounts.clone()).collect();
    save(&mut transaction, opened, WorkingSet::default()).await?;
    let (set, deposits) = deposit_money(accounts, now)?;
    save(&mut transaction, deposits, set).await?;
    transaction.commit().await?;
    Ok(Demo::Added)
}

fn open_accounts(now: DateTime<Utc>) -> anyhow::Result<Vec<Decision>> {
    OPENINGS
        .iter()
        .map(|opening| {
            let currency = Currency::from_code(opening.currency)?;
            let command = Command::OpenAccount { owner: opening.owner.to_owned(), currency };
            let mut ids = Ids::beginning_with(opening.account_id.0);
            Ok(decide(&WorkingSet::default(), CLIENT_ID, &command, &mut ids, now))
        })
        .collect()
}

/// The accounts as a working set, and the decisions that put money on them.
fn deposit_money(
    accounts: impl IntoIterator<Item = Account>,
    now: DateTime<Utc>,
) -> anyhow::Result<(WorkingSet, Vec<Decision>)> {
    let mut set = WorkingSet::default();
    accounts.into_iter().for_each(|account| set.accounts.load(account));
    let mut decisions = Vec::new();
    for opening in &OPENINGS {
        let Some((amount, reference)) = opening.deposit else { continue };
        let command = Command::Move {
            parties: Parties::Deposit { to: opening.account_id },
            amount: Amount::parse(amount, Currency::from_code(opening.currency)?)?,
            reference: reference.to_owned(),
        };
        let mut ids = Ids::beginning_with(new_id());
        decisions.push(decide(&set, CLIENT_ID, &command, &mut ids, now));
    }
    Ok((set, decisions))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is an edge where ids are made: nobody asks for the demo by a request"
)]
fn new_id() -> Uuid {
    Uuid::now_v7()
}

async fn save(
    connection: &mut PgConnection,
    decisions: Vec<Decision>,
    mut set: WorkingSet,
) -> anyhow::Result<()> {
    for Decision { outcome, changes } in decisions {
        if let Outcome::Refused(refusal) = outcome {
            bail!("the rules refuse the demo's opening: {refusal}");
        }
        set.apply(changes, &Origin::Service);
    }
    let rows = set.into_rows();
    let sides = rows.entries.iter().flat_map(|entry| [entry.debit, entry.credit]);
    let collecting: BTreeSet<Collecting> = sides.filter_map(collecting_side).collect();
    let writes = Writes { rows, collecting: collecting.into_iter().collect(), ..Writes::default() };
    match desk::store::save(connection, &mut Statements::default(), writes).await? {
        Saved::AsDecided => Ok(()),
        Saved::VersionMoved => bail!("somebody has changed the demo's accounts before they were there"),
    }
}

fn collecting_side(side: Side) -> Option<Collecting> {
    match side {
        Side::Collecting(collecting) => Some(collecting),
        Side::Customer { .. } | Side::Held(_) => None,
    }
}
