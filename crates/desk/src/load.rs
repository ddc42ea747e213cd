//! Reading what a batch needs, each kind of row in one round trip.
//!
//! Some rows are known by name only through others: an order names its account. Such a name never changes once it is
//! there, so the rows that lead to others are read first, without a lock, from the kind that is named last in the
//! order of locks to the kind that is named first. A batch that locks what it reads then reads them all again, in the
//! order of locks: accounts, orders, payments, receipts, alerts, holds, skus, daily totals. So whoever locks several rows,
//! of whatever kinds, waits in one direction only.
//!
//! - here: accounts, orders, holds, skus and daily totals;
//! - `payments`: what has to do with payments at providers;
//! - `moment`: whether what was read without locks could be of one moment.

mod moment;
mod payments;

use account::HoldId;
use account::store::{accounts, holds};
use client::ClientId;
use order::OrderStatus;
use sqlx::PgConnection;

use crate::Command;
use crate::business_keys::TakenKeys;
use crate::connection::LaneConnection;
use crate::fault::{Conflict, Fault, judge};
use crate::needs::Needs;
use crate::working_set::WorkingSet;

/// Reads what these commands need besides the business keys, of which it is known already which are taken. With
/// `locked`, nobody else changes the versioned rows until the transaction ends.
///
/// # Errors
///
/// Without locks also a conflict, if the rows cannot be of one moment: the batch begins anew.
pub async fn load<'a>(
    connection: &mut LaneConnection,
    commands: impl Iterator<Item = (ClientId, &'a Command)>,
    taken: TakenKeys,
    locked: bool,
) -> Result<WorkingSet, Fault> {
    let mut needs = Needs::of(commands);
    let mut set = WorkingSet::from(taken);
    follow_names(connection, &mut needs, &mut set).await?;
    load_accounts(connection, &needs, locked, &mut set).await?;
    if locked {
        load_orders(connection, &needs, locked, &mut set).await?;
        payments::load_locked(connection, &mut needs.payments, &mut set).await?;
        load_holds(connection, &needs, locked, &mut set).await?;
    }
    load_skus(connection, &needs, locked, &mut set).await?;
    load_daily_totals(connection, &needs, locked, &mut set).await?;
    if !locked && !moment::fits_together(&set) {
        return Err(Fault::Conflict(Conflict::VersionMoved));
    }
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
    // Whatever has ended, or is paid, keeps nothing that could move with it.
    for order in set.orders.iter() {
        if matches!(order.status, OrderStatus::Authorized | OrderStatus::PendingPayment) {
            needs.skus.extend(order.items.iter().map(|item| (order.client_id, item.sku.clone())));
        }
        if order.status == OrderStatus::Authorized {
            needs.holds.insert((order.client_id, HoldId(order.id.0)));
        }
    }
    load_holds(connection, needs, false, set).await?;
    needs.accounts.extend(set.holds.iter().map(|hold| (hold.client_id, hold.account_id)));
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

async fn load_holds(
    connection: &mut LaneConnection,
    needs: &Needs,
    locked: bool,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    if needs.holds.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = needs.holds.iter().copied().collect();
    let read = ask(connection, async |connection| holds::load(connection, &keys, locked).await).await?;
    read.into_iter().for_each(|hold| set.holds.load(hold));
    Ok(())
}

async fn load_skus(
    connection: &mut LaneConnection,
    needs: &Needs,
    locked: bool,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    let keys: Vec<_> = needs.skus.union(&needs.payments.skus).cloned().collect();
    if keys.is_empty() {
        return Ok(());
    }
    let read =
        ask(connection, async |connection| inventory::store::load(connection, &keys, locked).await).await?;
    read.into_iter().for_each(|sku| set.skus.load(sku));
    Ok(())
}

async fn load_daily_totals(
    connection: &mut LaneConnection,
    needs: &Needs,
    locked: bool,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    if needs.daily_totals.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = needs.daily_totals.iter().copied().collect();
    let read =
        ask(connection, async |connection| reports::store::load(connection, &keys, locked).await).await?;
    read.into_iter().for_each(|total| set.daily_totals.load(total));
    Ok(())
}

async fn ask<T>(
    connection: &mut LaneConnection,
    ask: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
) -> Result<T, Fault> {
    connection.ask(ask).await.map_err(judge)
}
