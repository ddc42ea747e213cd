//! The statements of a batch.
//!
//! What is written is one statement: the inserts and updates of the crates that own the tables, each a part of
//! it. A part is left out when it has no rows, so the database plans and runs only what there is to do.
//!
//! | round trip | statement |
//! | --- | --- |
//! | 1 | `BEGIN` |
//! | 2 | claim the names, recall their records, and look for the business keys that commands bring ([`recall`]) |
//! | (3) | load the orders that commands name ([`order::store::LOAD`]), before their accounts: see [`crate::load`] |
//! | 3 | load the accounts ([`account::store::accounts::LOAD`]), if any command has one |
//! | (4) | load the holds and the skus, if any command has one |
//! | (5) | look again for the business keys of those that are refused: see [`recall::look_again`] |
//! | 6 | save ([`save`]) |
//! | 7 | `COMMIT` |
//!
//! So a batch of orders costs five round trips and one flush, whether it is of one order or of a hundred.

pub mod recall;

use std::collections::HashMap;
use std::sync::Arc;

use account::store::{accounts, collecting, holds, journal, movements};
use account::{Collecting, collecting as collecting_rules};
use idempotency::Record;
use order::store::{items, refunds as order_refunds};
use payment_callback::store::{alerts, asked_refunds, deliveries, payments, receipts};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgConnectOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::versioned::{Net, Row};
use crate::working_set::BatchRows;

/// Opens a transaction. READ COMMITTED: each statement sees what is committed when it begins, and what was
/// decided on is checked by version when it is saved.
pub async fn begin(connection: &mut PgConnection) -> sqlx::Result<()> {
    connection.execute(sqlx::raw_sql("BEGIN ISOLATION LEVEL READ COMMITTED")).await.map(drop)
}

/// Commits. An error may mean that it happened all the same: see [`crate::fault::judge_commit`].
pub async fn commit(connection: &mut PgConnection) -> sqlx::Result<()> {
    connection.execute(sqlx::raw_sql("COMMIT")).await.map(drop)
}

/// Rolls back, and with that gives the names' locks back.
pub async fn rollback(connection: &mut PgConnection) -> sqlx::Result<()> {
    connection.execute(sqlx::raw_sql("ROLLBACK")).await.map(drop)
}

/// Every statement of this file that has a text of its own, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[("ROLE_FITS", ROLE_FITS), ("SERVER_ENCODING", SERVER_ENCODING)];

/// Every table is asked for: a role that another database's migration made while this database's were running has
/// the rights of the later ones only.
const ROLE_FITS: &str = "
    SELECT EXISTS (
        SELECT
        FROM pg_roles r
        WHERE r.rolname = $1
          AND pg_has_role(current_user, r.oid, 'MEMBER')
          AND NOT has_table_privilege(r.oid, 'journal_entries', 'UPDATE')
          AND NOT has_table_privilege(r.oid, 'journal_entries', 'DELETE')
          AND NOT has_table_privilege(r.oid, 'journal_entries', 'TRUNCATE')
          AND (
              SELECT bool_and(has_table_privilege(r.oid, needed.name, needed.privilege))
              FROM (VALUES
                  ('clients', 'SELECT'),
                  ('api_keys', 'SELECT'),
                  ('accounts', 'UPDATE'),
                  ('movements', 'INSERT'),
                  ('journal_entries', 'INSERT'),
                  ('collecting_accounts', 'INSERT'),
                  ('collecting_totals', 'UPDATE'),
                  ('orders', 'INSERT'),
                  ('order_versions', 'INSERT'),
                  ('orders', 'UPDATE'),
                  ('order_items', 'UPDATE'),
                  ('holds', 'UPDATE'),
                  ('hold_captures', 'INSERT'),
                  ('skus', 'UPDATE'),
                  ('daily_totals', 'UPDATE'),
                  ('webhook_deliveries', 'INSERT'),
                  ('refunds', 'INSERT'),
                  ('refund_items', 'INSERT'),
                  ('payments', 'UPDATE'),
                  ('payment_receipts', 'UPDATE'),
                  ('receipt_refunds', 'INSERT'),
                  ('callback_deliveries', 'INSERT'),
                  ('quarantined_bodies', 'DELETE'),
                  ('payment_alerts', 'UPDATE'),
                  ('asked_refunds', 'UPDATE'),
                  ('idempotency_records', 'UPDATE'),
                  ('outbox_events', 'INSERT')
              ) AS needed (name, privilege)
          )
    )";

/// Whether the user of these options may work as the role, and the role is kept from changing the journal.
pub async fn role_fits(options: &PgConnectOptions, role: &str) -> sqlx::Result<bool> {
    let mut connection = PgConnection::connect_with(options).await?;
    let fits = sqlx::query_scalar(ROLE_FITS).bind(role).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(fits)
}

const SERVER_ENCODING: &str = "SELECT current_setting('server_encoding')";

/// The encoding of the database's texts, by PostgreSQL's name for it. Only `UTF8` holds whatever a request may say.
pub async fn server_encoding(connection: &mut PgConnection) -> sqlx::Result<String> {
    sqlx::query_scalar(SERVER_ENCODING).fetch_one(connection).await
}

/// All that one batch writes.
#[derive(Debug, Default)]
pub struct Writes {
    /// Records that are new.
    pub records_new: Vec<Record>,
    /// Records of refusals that were tried once more, with the number of attempts they shall have.
    pub records_again: Vec<Record>,
    /// The rows of the effects.
    pub rows: BatchRows,
    /// Collecting accounts that may not be there yet.
    pub collecting: Vec<Collecting>,
}

/// Whether everything that was to be written was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// It was.
    AsDecided,
    /// Some row no longer has the version it was read with. The transaction is to be rolled back.
    VersionMoved,
}

/// Writes a batch in one statement, in this order of locks, which is everybody's:
///
/// 1. records, so that a name that was taken meanwhile stops the rest;
/// 2. rows that are there and that others contend for, kind by kind (accounts, orders, payments, receipts,
///    alerts, holds, skus, daily totals), each kind in the order of its
///    keys, those that decisions only relied on among those that change;
/// 3. new rows, kind by kind, in the order of their unique keys.
///
/// Rows that are there come before whatever has a unique key, since a batch that has lost once holds its rows when it
/// comes here: in the other order it would want the keys of a batch that wants its rows, and PostgreSQL takes a second
/// to see that. So nobody waits crosswise, for a few rows' time of holding a lock that is held until the commit anyway.
pub async fn save(
    connection: &mut PgConnection,
    statements: &mut Statements,
    mut writes: Writes,
) -> sqlx::Result<Saved> {
    let in_order_of_names = |a: &Record, b: &Record| a.name.cmp(&b.name);
    writes.records_new.sort_by(in_order_of_names);
    writes.records_again.sort_by(in_order_of_names);

    let Composition { parts, arguments } = compose(&writes).map_err(sqlx::Error::Encode)?;
    let sql = statements.of(parts.iter().map(|part| part.piece.0), || merged(&parts));
    let written: Vec<i64> =
        sqlx::query_scalar_with(AssertSqlSafe(sql), arguments).fetch_one(connection).await?;
    let all = parts.iter().zip(&written).all(|(part, written)| match part.rows {
        Rows::All(count) => i64::try_from(count) == Ok(*written),
        Rows::AtMost => true,
    });
    Ok(if all { Saved::AsDecided } else { Saved::VersionMoved })
}

/// How many rows a part must write.
#[derive(Clone, Copy, Debug)]
enum Rows {
    All(usize),
    AtMost,
}

/// What a part of the statement that saves is called there, and its SQL.
type Piece = (&'static str, &'static str);

const RECORDS_NEW: Piece = ("records_new", idempotency::store::INSERT);
const RECORDS_AGAIN: Piece = ("records_again", idempotency::store::UPDATE);
const ACCOUNTS_UNCHANGED: Piece = ("accounts_unchanged", accounts::UNCHANGED);
const ACCOUNTS_CHANGED: Piece = ("accounts_changed", accounts::UPDATE);
const ORDERS_UNCHANGED: Piece = ("orders_unchanged", order::store::UNCHANGED);
const ORDERS_CHANGED: Piece = ("orders_changed", order::store::UPDATE);
const ITEMS_GIVEN_BACK: Piece = ("items_given_back", items::UPDATE);
const PAYMENTS_UNCHANGED: Piece = ("payments_unchanged", payments::UNCHANGED);
const PAYMENTS_CHANGED: Piece = ("payments_changed", payments::UPDATE);
const RECEIPTS_UNCHANGED: Piece = ("receipts_unchanged", receipts::UNCHANGED);
const RECEIPTS_CHANGED: Piece = ("receipts_changed", receipts::UPDATE);
const ALERTS_UNCHANGED: Piece = ("alerts_unchanged", alerts::UNCHANGED);
const ALERTS_CHANGED: Piece = ("alerts_changed", alerts::UPDATE);
const HOLDS_UNCHANGED: Piece = ("holds_unchanged", holds::UNCHANGED);
const HOLDS_CHANGED: Piece = ("holds_changed", holds::UPDATE);
const SKUS_UNCHANGED: Piece = ("skus_unchanged", inventory::store::UNCHANGED);
const SKUS_CHANGED: Piece = ("skus_changed", inventory::store::UPDATE);
const DAILY_TOTALS_UNCHANGED: Piece = ("daily_totals_unchanged", reports::store::UNCHANGED);
const DAILY_TOTALS_CHANGED: Piece = ("daily_totals_changed", reports::store::UPDATE);
const DAILY_TOTALS_NEW: Piece = ("daily_totals_new", reports::store::INSERT);
const SKUS_NEW: Piece = ("skus_new", inventory::store::INSERT);
const HOLDS_NEW: Piece = ("holds_new", holds::INSERT);
const CAPTURES_NEW: Piece = ("captures_new", holds::INSERT_CAPTURES);
const ITEMS_NEW: Piece = ("items_new", items::INSERT);
const ORDER_REFUNDS_NEW: Piece = ("order_refunds_new", order_refunds::INSERT);
const REFUND_ITEMS_NEW: Piece = ("refund_items_new", order_refunds::INSERT_ITEMS);
const ASKED_CHANGED: Piece = ("asked_refunds_changed", asked_refunds::UPDATE);
const MOVEMENTS_NEW: Piece = ("movements_new", movements::INSERT);
const ORDERS_NEW: Piece = ("orders_new", order::store::INSERT);
const ORDER_VERSIONS_NEW: Piece = ("order_versions_new", order::store::versions::INSERT);
const PAYMENTS_NEW: Piece = ("payments_new", payments::INSERT);
const DELIVERIES_NEW: Piece = ("deliveries_new", deliveries::INSERT);
const RECEIPTS_NEW: Piece = ("receipts_new", receipts::INSERT);
const REFUNDS_NEW: Piece = ("receipt_refunds_new", receipts::INSERT_REFUNDS);
const ALERTS_NEW: Piece = ("alerts_new", alerts::INSERT);
const ASKED_NEW: Piece = ("asked_refunds_new", asked_refunds::INSERT);
const BODIES_NEW: Piece = ("bodies_new", deliveries::INSERT_BODIES);
const WEBHOOKS_NEW: Piece = ("webhooks_new", notifications::store::deliveries::INSERT);
const ACCOUNTS_NEW: Piece = ("accounts_new", accounts::INSERT);
const COLLECTING_NEW: Piece = ("collecting_new", collecting::INSERT_ACCOUNTS);
const ENTRIES_NEW: Piece = ("entries_new", journal::INSERT);
const TOTALS_NEW: Piece = ("totals_new", collecting::INSERT_TOTALS);
const EVENTS_NEW: Piece = ("events_new", events::store::INSERT);

/// Every piece, in the order in which [`compose`] takes those that have rows.
const PIECES: [Piece; 43] = [
    RECORDS_NEW,
    RECORDS_AGAIN,
    ACCOUNTS_UNCHANGED,
    ACCOUNTS_CHANGED,
    ORDERS_UNCHANGED,
    ORDERS_CHANGED,
    ITEMS_GIVEN_BACK,
    PAYMENTS_UNCHANGED,
    PAYMENTS_CHANGED,
    RECEIPTS_UNCHANGED,
    RECEIPTS_CHANGED,
    ALERTS_UNCHANGED,
    ALERTS_CHANGED,
    ASKED_CHANGED,
    HOLDS_UNCHANGED,
    HOLDS_CHANGED,
    SKUS_UNCHANGED,
    SKUS_CHANGED,
    DAILY_TOTALS_UNCHANGED,
    DAILY_TOTALS_CHANGED,
    SKUS_NEW,
    DAILY_TOTALS_NEW,
    MOVEMENTS_NEW,
    HOLDS_NEW,
    CAPTURES_NEW,
    ORDERS_NEW,
    ORDER_VERSIONS_NEW,
    ITEMS_NEW,
    ORDER_REFUNDS_NEW,
    REFUND_ITEMS_NEW,
    PAYMENTS_NEW,
    DELIVERIES_NEW,
    RECEIPTS_NEW,
    REFUNDS_NEW,
    ALERTS_NEW,
    ASKED_NEW,
    BODIES_NEW,
    WEBHOOKS_NEW,
    ACCOUNTS_NEW,
    COLLECTING_NEW,
    ENTRIES_NEW,
    TOTALS_NEW,
    EVENTS_NEW,
];

/// The statement that saves a batch in which there is something of everything: to be checked and planned as a
/// whole.
pub fn save_of_everything() -> String {
    let parts: Vec<Part> = PIECES.iter().map(|piece| Part { piece: *piece, rows: Rows::AtMost }).collect();
    merged(&parts)
}

/// A piece, and how many rows it must write.
#[derive(Clone, Copy, Debug)]
struct Part {
    piece: Piece,
    rows: Rows,
}

impl Part {
    fn of(piece: Piece, rows: usize) -> Self {
        Self { piece, rows: Rows::All(rows) }
    }
}

/// The parts of a batch's statement so far, with their parameters.
#[derive(Default)]
struct Composition {
    parts: Vec<Part>,
    arguments: PgArguments,
}

/// Binds a part's parameters.
type Bind<T> = fn(&mut PgArguments, &[T]) -> Result<(), BoxDynError>;

/// Rows that are there, as they shall be, each with the version it was read with.
type Versions<'r, R> = (&'r R, i64);

impl Composition {
    /// Adds a part that must write every one of these rows, if there is any.
    fn all<T>(&mut self, piece: Piece, rows: &[T], bind: Bind<T>) -> Result<(), BoxDynError> {
        if !rows.is_empty() {
            bind(&mut self.arguments, rows)?;
            self.parts.push(Part::of(piece, rows.len()));
        }
        Ok(())
    }

    /// Adds the part for the rows of a kind that are there. Where some change, those that were only relied on are
    /// written with them as they are, so that all are locked in one order.
    fn there<'r, R: Row>(
        &mut self,
        net: &'r Net<R>,
        (unchanged, bind_unchanged): (Piece, Bind<Versions<'r, R>>),
        (changed, bind_changed): (Piece, Bind<Versions<'r, R>>),
    ) -> Result<(), BoxDynError> {
        let mut rows: Vec<Versions<'r, R>> = net.relied_on.iter().map(|row| (row, row.version())).collect();
        if net.changed.is_empty() {
            return self.all(unchanged, &rows, bind_unchanged);
        }
        rows.extend(net.changed.iter().map(|(row, version_read)| (row, *version_read)));
        rows.sort_by_key(|(row, _)| row.key());
        self.all(changed, &rows, bind_changed)
    }
}

fn compose(writes: &Writes) -> Result<Composition, BoxDynError> {
    let mut made = Composition::default();
    let Writes { records_new, records_again, rows, collecting: accounts_collecting } = writes;

    made.all(RECORDS_NEW, records_new, idempotency::store::bind_inserts)?;
    made.all(RECORDS_AGAIN, records_again, idempotency::store::bind_updates)?;

    made.there(
        &rows.accounts,
        (ACCOUNTS_UNCHANGED, accounts::bind_unchanged),
        (ACCOUNTS_CHANGED, accounts::bind_updates),
    )?;
    made.there(
        &rows.orders,
        (ORDERS_UNCHANGED, order::store::bind_unchanged),
        (ORDERS_CHANGED, order::store::bind_updates),
    )?;
    made.all(ITEMS_GIVEN_BACK, &rows.items_given_back, items::bind_updates)?;
    made.there(
        &rows.payments,
        (PAYMENTS_UNCHANGED, payments::bind_unchanged),
        (PAYMENTS_CHANGED, payments::bind_updates),
    )?;
    made.there(
        &rows.receipts,
        (RECEIPTS_UNCHANGED, receipts::bind_unchanged),
        (RECEIPTS_CHANGED, receipts::bind_updates),
    )?;
    made.there(
        &rows.alerts,
        (ALERTS_UNCHANGED, alerts::bind_unchanged),
        (ALERTS_CHANGED, alerts::bind_updates),
    )?;
    // Those that were only relied on are of their receipts' versions, which are checked.
    made.all(ASKED_CHANGED, &rows.asked.changed, asked_refunds::bind_updates)?;
    made.there(&rows.holds, (HOLDS_UNCHANGED, holds::bind_unchanged), (HOLDS_CHANGED, holds::bind_updates))?;
    made.there(
        &rows.skus,
        (SKUS_UNCHANGED, inventory::store::bind_unchanged),
        (SKUS_CHANGED, inventory::store::bind_updates),
    )?;
    made.there(
        &rows.daily_totals,
        (DAILY_TOTALS_UNCHANGED, reports::store::bind_unchanged),
        (DAILY_TOTALS_CHANGED, reports::store::bind_updates),
    )?;

    made.all(SKUS_NEW, &rows.skus.new, inventory::store::bind_inserts)?;
    made.all(DAILY_TOTALS_NEW, &rows.daily_totals.new, reports::store::bind_inserts)?;
    made.all(MOVEMENTS_NEW, &rows.movements, movements::bind_inserts)?;
    made.all(HOLDS_NEW, &rows.holds.new, holds::bind_inserts)?;
    made.all(CAPTURES_NEW, &rows.captures, holds::bind_captures)?;
    made.all(ORDERS_NEW, &rows.orders.new, order::store::bind_inserts)?;
    made.all(ORDER_VERSIONS_NEW, &rows.order_versions, order::store::versions::bind_inserts)?;
    made.all(ITEMS_NEW, &rows.order_items, items::bind_inserts)?;
    made.all(ORDER_REFUNDS_NEW, &rows.order_refunds, order_refunds::bind_inserts)?;
    made.all(REFUND_ITEMS_NEW, &rows.refund_items, order_refunds::bind_items)?;
    made.all(PAYMENTS_NEW, &rows.payments.new, payments::bind_inserts)?;
    made.all(DELIVERIES_NEW, &rows.deliveries, deliveries::bind_inserts)?;
    made.all(RECEIPTS_NEW, &rows.receipts.new, receipts::bind_inserts)?;
    made.all(REFUNDS_NEW, &rows.refunds, receipts::bind_refunds)?;
    made.all(ALERTS_NEW, &rows.alerts.new, alerts::bind_inserts)?;
    made.all(ASKED_NEW, &rows.asked.new, asked_refunds::bind_inserts)?;
    made.all(BODIES_NEW, &rows.bodies, deliveries::bind_bodies)?;
    made.all(WEBHOOKS_NEW, &rows.webhooks, notifications::store::deliveries::bind_inserts)?;
    made.all(ACCOUNTS_NEW, &rows.accounts.new, accounts::bind_inserts)?;
    if !accounts_collecting.is_empty() {
        collecting::bind_accounts(&mut made.arguments, accounts_collecting)?;
        made.parts.push(Part { piece: COLLECTING_NEW, rows: Rows::AtMost });
    }
    made.all(ENTRIES_NEW, &rows.entries, journal::bind_inserts)?;
    if !rows.entries.is_empty() {
        journal::bind_origins(&mut made.arguments, &rows.origins)?;
    }
    made.all(TOTALS_NEW, &collecting_rules::totals(&rows.entries), collecting::bind_totals)?;
    made.all(EVENTS_NEW, &rows.events, events::store::bind_inserts)?;
    Ok(made)
}

/// The composed statements, each made once for the pieces it has. There are few: most batches are alike.
#[derive(Debug, Default)]
pub struct Statements(HashMap<Vec<&'static str>, Arc<str>>);

impl Statements {
    fn of(
        &mut self,
        pieces: impl Iterator<Item = &'static str>,
        compose: impl FnOnce() -> String,
    ) -> Arc<str> {
        self.0.entry(pieces.collect()).or_insert_with(|| compose().into()).clone()
    }
}

/// One statement of all parts, answering how many rows each wrote.
///
/// PostgreSQL runs a part when its count is asked for, and asks in the order of the array; so the parts take
/// their locks in the order in which they stand.
fn merged(parts: &[Part]) -> String {
    let mut with = Vec::new();
    let mut counts = Vec::new();
    let mut bound = 0;
    for Part { piece: (name, sql), .. } in parts {
        let (numbered, count) = renumbered(sql, bound);
        bound += count;
        with.push(format!("{name} AS ({numbered})"));
        counts.push(format!("(SELECT count(*) FROM {name})"));
    }
    format!("WITH {}\nSELECT ARRAY[{}]", with.join(",\n"), counts.join(", "))
}

/// The statement with its parameters counted from `bound` + 1, and how many it has.
fn renumbered(sql: &str, bound: usize) -> (String, usize) {
    let mut numbered = String::with_capacity(sql.len() + 32);
    let mut count = 0;
    let mut pieces = sql.split('$');
    numbered.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        let number: usize =
            piece[..digits].parse().expect("a dollar sign in these statements begins a parameter");
        count = count.max(number);
        numbered.push_str(&format!("${}{}", number + bound, &piece[digits..]));
    }
    (numbered, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_part_follow_those_of_the_parts_before_it() {
        assert_eq!(
            renumbered("SELECT $1, $2, $1::uuid[]", 15),
            ("SELECT $16, $17, $16::uuid[]".to_owned(), 2)
        );
    }

    #[test]
    fn the_parts_are_asked_for_in_their_order() {
        let part = |name| Part::of((name, "INSERT INTO t SELECT $1 RETURNING 1"), 1);
        let sql = merged(&[part("first"), part("second")]);
        assert_eq!(
            sql,
            "WITH first AS (INSERT INTO t SELECT $1 RETURNING 1),\n\
             second AS (INSERT INTO t SELECT $2 RETURNING 1)\n\
             SELECT ARRAY[(SELECT count(*) FROM first), (SELECT count(*) FROM second)]"
        );
    }
}
