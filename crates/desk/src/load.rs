//! Reading what a batch needs, each kind of row in one round trip.
//!
//! Some rows are known by name only through others: an order names its account. Such a name never changes once it is
//! there, so the rows that lead to others are read first, without a lock, from the kind that is named last in the
//! order of locks to the kind that is named first. A batch that locks what it reads then reads them all again, in the
//! order of locks: accounts, orders, payments, receipts, alerts. So whoever locks several rows, of whatever kinds, waits
//! in one direction only.
//!
//! - here: accounts and orders;
//! - `payments`: what has to do with payments at providers.

mod payments;

use account::store::{accounts, movements};
use idempotency::Name;
use sqlx::PgConnection;

use crate::Command;
use crate::connection::LaneConnection;
use crate::fault::{Fault, judge};
use crate::working_set::{Needs, WorkingSet};

/// Reads what these commands need. With `locked`, nobody else changes the versioned rows until the transaction ends.
pub async fn load<'a>(
    connection: &mut LaneConnection,
    commands: impl Iterator<Item = (&'a Name, &'a Command)>,
    locked: bool,
) -> Result<WorkingSet, Fault> {
    let mut needs = Needs::of(commands.map(|(name, command)| (name.client_id, command)));
    let mut set = WorkingSet::default();
    follow_names(connection, &mut needs, &mut set).await?;
    load_accounts(connection, &needs, locked, &mut set).await?;
    if locked {
        load_orders(connection, &needs, locked, &mut set).await?;
        payments::load_locked(connection, &mut needs.payments, &mut set).await?;
    }
    look_for_taken_keys(connection, &needs, &mut set).await?;
    payments::look_for_taken_keys(connection, &needs.payments, &mut set).await?;
    Ok(set)
}

/// Reads the rows that lead to others, without a lock, and adds to `needs` what they name.
async fn follow_names(
    connection: &mut LaneConnection,
    needs: &mut Needs,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    load_orders(connection, needs, false, set).await?;
    needs.accounts.extend(set.orders.iter().map(|order| (order.client_id, order.account_id)));
    payments::follow_names(connection, &mut needs.payments, set).await?;
    Ok(())
}

async fn load_accounts(
    connection: &mut LaneConnection,
    needs: &Needs,
    locked: bool,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    if needs.accounts.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = needs.accounts.iter().copied().collect();
    let read = ask(connection, async |connection| accounts::load(connection, &keys, locked).await).await?;
    read.into_iter().for_each(|account| set.accounts.load(account));
    Ok(())
}

async fn load_orders(
    connection: &mut LaneConnection,
    needs: &Needs,
    locked: bool,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    let keys: Vec<_> = needs.orders.union(&needs.payments.orders).copied().collect();
    if keys.is_empty() {
        return Ok(());
    }
    let read =
        ask(connection, async |connection| order::store::load(connection, &keys, locked).await).await?;
    read.into_iter().for_each(|order| set.orders.load(order));
    Ok(())
}

/// Which of the business keys that the commands bring are taken. There is nothing to lock: a key that is free now and
/// taken when the batch is saved is a unique violation.
async fn look_for_taken_keys(
    connection: &mut LaneConnection,
    needs: &Needs,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    if !needs.order_numbers.is_empty() {
        let numbers = &needs.order_numbers;
        let taken =
            ask(connection, async |connection| order::store::taken(connection, numbers).await).await?;
        set.order_numbers.extend(taken.into_iter().map(|(index, order)| (numbers[index].clone(), order)));
    }
    if !needs.references.is_empty() {
        let references = &needs.references;
        let taken =
            ask(connection, async |connection| movements::taken(connection, references).await).await?;
        set.references
            .extend(taken.into_iter().map(|(index, movement)| (references[index].clone(), movement)));
    }
    Ok(())
}

async fn ask<T>(
    connection: &mut LaneConnection,
    ask: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
) -> Result<T, Fault> {
    connection.ask(ask).await.map_err(judge)
}
