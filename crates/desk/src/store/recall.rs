//! What a batch asks before anything is loaded, in one statement: its names are claimed and their records recalled, and the
//! business keys that its commands bring are looked for.
//!
//! The keys need not wait for the claims. Their rows are of the snapshot that the records are of, and are good for the
//! same: what is there justifies an answer, and what is not there yet is found when the batch is saved, as a unique
//! violation.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::sync::Arc;

use account::store::{holds, movements};
use account::{EntryId, HoldId, MovementId};
use idempotency::Name;
use idempotency::store::{Claim, bind_claims, claims_from};
use order::store::refunds;
use order::{OrderId, RefundId};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, PgConnection, Row};
use uuid::Uuid;

use super::{Piece, Statements, renumbered};
use crate::business_keys::{BusinessKeys, TakenKeys};

/// What a batch is told before anything is loaded.
#[derive(Debug)]
pub struct Recalled {
    /// What claiming its names found, in the order of the names.
    pub claims: Vec<Claim>,
    /// Which of its business keys are taken.
    pub taken: TakenKeys,
}

const CLAIMS: Piece = ("claims", idempotency::store::CLAIM);
/// One row, to tell of the keys alone.
const ONCE: Piece = ("once", "SELECT 1 AS row");
const ORDER_NUMBERS: Piece = ("order_numbers", order::store::TAKEN);
const REFERENCES: Piece = ("movement_references", movements::TAKEN);
const HOLD_REFERENCES: Piece = ("hold_references", holds::TAKEN);
const CAPTURE_REFERENCES: Piece = ("capture_references", holds::CAPTURES_TAKEN);
const REFUND_REFERENCES: Piece = ("refund_references", refunds::TAKEN);

/// Claims the names for the transaction that is open, recalls their records, and looks for the business keys. One round
/// trip, of which the records are the snapshot's: see [`Claim::record`].
pub async fn recall(
    connection: &mut PgConnection,
    statements: &mut Statements,
    names: &[&Name],
    keys: BusinessKeys,
) -> sqlx::Result<Recalled> {
    let mut arguments = PgArguments::default();
    bind_claims(&mut arguments, names).map_err(sqlx::Error::Encode)?;
    let rows = ask(connection, statements, CLAIMS, &keys, arguments).await?;
    Ok(Recalled { claims: claims_from(&rows, names.len())?, taken: taken_from(&rows, keys)? })
}

/// Looks for the business keys of commands that are to be refused for another reason than their key. One round trip.
///
/// The accounts were read after the keys. So a transaction that took both the key and the money may have committed in
/// between, and in no order of the two is "not enough money" the answer to the second. A key that is free after the
/// accounts were read was free at their moment, and the check of their versions makes that the moment of the batch.
pub async fn look_again(
    connection: &mut PgConnection,
    statements: &mut Statements,
    keys: BusinessKeys,
) -> sqlx::Result<TakenKeys> {
    let rows = ask(connection, statements, ONCE, &keys, PgArguments::default()).await?;
    taken_from(&rows, keys)
}

/// The rows of the first piece, whose parameters are bound, each with what was found of the keys.
async fn ask(
    connection: &mut PgConnection,
    statements: &mut Statements,
    first: Piece,
    keys: &BusinessKeys,
    mut arguments: PgArguments,
) -> sqlx::Result<Vec<PgRow>> {
    let mut pieces = vec![first];
    bind_keys(&mut arguments, &mut pieces, keys).map_err(sqlx::Error::Encode)?;
    let sql: Arc<str> = statements.of(pieces.iter().map(|(name, _)| *name), || merged(&pieces));
    sqlx::query_with(AssertSqlSafe(sql), arguments).fetch_all(connection).await
}

fn bind_keys(
    arguments: &mut PgArguments,
    pieces: &mut Vec<Piece>,
    keys: &BusinessKeys,
) -> Result<(), BoxDynError> {
    let BusinessKeys { order_numbers, references, hold_references, capture_references, refund_references } =
        keys;
    if !order_numbers.is_empty() {
        pieces.push(ORDER_NUMBERS);
        order::store::bind_numbers(arguments, order_numbers)?;
    }
    if !references.is_empty() {
        pieces.push(REFERENCES);
        movements::bind_references(arguments, references)?;
    }
    if !hold_references.is_empty() {
        pieces.push(HOLD_REFERENCES);
        holds::bind_references(arguments, hold_references)?;
    }
    if !capture_references.is_empty() {
        pieces.push(CAPTURE_REFERENCES);
        holds::bind_capture_references(arguments, capture_references)?;
    }
    if !refund_references.is_empty() {
        pieces.push(REFUND_REFERENCES);
        refunds::bind_references(arguments, refund_references)?;
    }
    Ok(())
}

fn taken_from(rows: &[PgRow], keys: BusinessKeys) -> sqlx::Result<TakenKeys> {
    Ok(TakenKeys {
        order_numbers: taken(rows, ORDER_NUMBERS, keys.order_numbers, OrderId)?,
        references: taken(rows, REFERENCES, keys.references, MovementId)?,
        hold_references: taken(rows, HOLD_REFERENCES, keys.hold_references, HoldId)?,
        capture_references: taken(rows, CAPTURE_REFERENCES, keys.capture_references, EntryId)?,
        refund_references: taken(rows, REFUND_REFERENCES, keys.refund_references, RefundId)?,
    })
}

/// Those of the keys that are taken, and by what; every row tells it of all of them.
fn taken<K: Eq + Hash, V>(
    rows: &[PgRow],
    (piece, _): Piece,
    mut keys: Vec<K>,
    by: fn(Uuid) -> V,
) -> sqlx::Result<HashMap<K, V>> {
    let mut taken = HashMap::new();
    if let (Some(row), false) = (rows.first(), keys.is_empty()) {
        let positions: Option<Vec<i64>> = row.try_get(format!("{piece}_taken").as_str())?;
        let ids: Option<Vec<Uuid>> = row.try_get(format!("{piece}_taken_by").as_str())?;
        let mut found: Vec<_> =
            positions.unwrap_or_default().into_iter().zip(ids.unwrap_or_default()).collect();
        // From the last to the first, so that taking one out leaves the others where they are counted.
        found.sort_unstable();
        for (position, id) in found.into_iter().rev() {
            let index = usize::try_from(position - 1).ok().filter(|index| *index < keys.len());
            taken.insert(keys.swap_remove(index.ok_or(sqlx::Error::RowNotFound)?), by(id));
        }
    }
    Ok(taken)
}

/// The statement of a batch that brings every kind of business key: to be checked and planned as a whole.
pub fn recall_of_everything() -> String {
    merged(&[CLAIMS, ORDER_NUMBERS, REFERENCES, HOLD_REFERENCES, CAPTURE_REFERENCES, REFUND_REFERENCES])
}

/// One statement of all pieces: the rows of the first, each with what was found of the others.
fn merged(pieces: &[Piece]) -> String {
    let (mut with, mut columns, mut bound) = (Vec::new(), String::new(), 0);
    for (place, (name, sql)) in pieces.iter().enumerate() {
        let (numbered, count) = renumbered(sql, bound);
        bound += count;
        with.push(format!("{name} AS ({numbered})"));
        if place > 0 {
            let _ = write!(
                columns,
                ",\n       (SELECT array_agg(position) FROM {name}) AS {name}_taken,\n       \
                 (SELECT array_agg(taken_by) FROM {name}) AS {name}_taken_by"
            );
        }
    }
    let (first, _) = pieces[0];
    format!("WITH {}\nSELECT {first}.*{columns}\nFROM {first}", with.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_of_a_key_stands_in_every_row_of_the_claims() {
        let sql = merged(&[("claims", "SELECT $1"), ("numbers", "SELECT $1, $2")]);
        assert_eq!(
            sql,
            "WITH claims AS (SELECT $1),\n\
             numbers AS (SELECT $2, $3)\n\
             SELECT claims.*,\n       \
             (SELECT array_agg(position) FROM numbers) AS numbers_taken,\n       \
             (SELECT array_agg(taken_by) FROM numbers) AS numbers_taken_by\n\
             FROM claims"
        );
    }
}
