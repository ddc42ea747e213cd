//! The table `movements`.

use client::ClientId;
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, PgExecutor, Row};
use uuid::Uuid;

use super::{amount_from, column, currency_from, unreadable};
use crate::{AccountId, Movement, MovementId, MovementKind, Parties};

/// The business key of a movement.
pub type Reference = (ClientId, MovementKind, String);

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[("TAKEN", TAKEN), ("INSERT", INSERT), ("FIND", FIND)];

/// Which of these references are taken, by their places counted from 1, and by which movement: `$1` to `$3`, see
/// [`bind_references`].
pub const TAKEN: &str = "
    SELECT n.position, m.movement_id AS taken_by
    FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS n (client_id, kind, reference, position)
    JOIN movements m ON m.client_id = n.client_id AND m.kind = n.kind AND m.reference = n.reference";

/// Binds [`TAKEN`]'s parameters.
pub fn bind_references(arguments: &mut PgArguments, references: &[Reference]) -> Result<(), BoxDynError> {
    arguments.add(column(references, |(client, _, _)| client.0))?;
    arguments.add(column(references, |(_, kind, _)| kind.as_str()))?;
    arguments.add(column(references, |(_, _, text)| text.as_str()))?;
    Ok(())
}

/// Adds movements: `$1` to `$9`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO movements (
        client_id, movement_id, kind, reference, from_account_id, to_account_id, amount, currency, created_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::numeric[], $8::text[],
        $9::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters.
pub fn bind_inserts(arguments: &mut PgArguments, movements: &[Movement]) -> Result<(), BoxDynError> {
    arguments.add(column(movements, |m| m.client_id.0))?;
    arguments.add(column(movements, |m| m.id.0))?;
    arguments.add(column(movements, |m| m.parties.kind().as_str()))?;
    arguments.add(column(movements, |m| m.reference.as_str()))?;
    arguments.add(column(movements, |m| m.parties.from().map(|account| account.0)))?;
    arguments.add(column(movements, |m| m.parties.to().map(|account| account.0)))?;
    arguments.add(column(movements, |m| m.amount.to_decimal()))?;
    arguments.add(column(movements, |m| m.amount.currency().code()))?;
    arguments.add(column(movements, |m| m.created_at))?;
    Ok(())
}

const FIND: &str = "
    SELECT client_id, movement_id, kind, reference, from_account_id, to_account_id, amount, currency, created_at
    FROM movements
    WHERE client_id = $1
      AND movement_id = $2";

/// One movement of a client.
pub async fn find(
    db: impl PgExecutor<'_>,
    client: ClientId,
    id: MovementId,
) -> sqlx::Result<Option<Movement>> {
    let Some(row) = sqlx::query(FIND).bind(client).bind(id.0).fetch_optional(db).await? else {
        return Ok(None);
    };
    let kind: &str = row.try_get("kind")?;
    let from: Option<Uuid> = row.try_get("from_account_id")?;
    let to: Option<Uuid> = row.try_get("to_account_id")?;
    let parties = match (MovementKind::from_word(kind), from.map(AccountId), to.map(AccountId)) {
        (Some(MovementKind::Deposit), None, Some(to)) => Parties::Deposit { to },
        (Some(MovementKind::Withdrawal), Some(from), None) => Parties::Withdrawal { from },
        (Some(MovementKind::Transfer), Some(from), Some(to)) => Parties::Transfer { from, to },
        _ => return Err(unreadable("kind", format!("{kind:?} does not fit the accounts of its row"))),
    };
    let amount: Decimal = row.try_get("amount")?;
    Ok(Some(Movement {
        client_id: row.try_get("client_id")?,
        id: MovementId(row.try_get("movement_id")?),
        parties,
        reference: row.try_get("reference")?,
        amount: amount_from("amount", amount, currency_from(row.try_get("currency")?)?)?,
        created_at: row.try_get("created_at")?,
    }))
}
