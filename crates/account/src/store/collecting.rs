//! The tables `collecting_accounts` and `collecting_totals`.

use client::ClientId;
use money::Currency;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, PgExecutor, Row};
use uuid::Uuid;

use super::currency_from;
use crate::Collecting;
use crate::collecting::CollectingTotal;

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("INSERT_ACCOUNTS", INSERT_ACCOUNTS),
    ("INSERT_TOTALS", INSERT_TOTALS),
    ("BALANCES", BALANCES),
    ("ROLL_UP", ROLL_UP),
    ("TO_ROLL_UP", TO_ROLL_UP),
];

/// Adds the collecting accounts that are not there yet: `$1` to `$4`, see [`bind_accounts`].
pub const INSERT_ACCOUNTS: &str = "
    INSERT INTO collecting_accounts (client_id, account_id, name, currency)
    SELECT *
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
    ON CONFLICT (client_id, account_id) DO NOTHING
    RETURNING 1";

/// Binds [`INSERT_ACCOUNTS`]'s parameters. Sorted, so that two who add the same ones do not wait crosswise.
pub fn bind_accounts(arguments: &mut PgArguments, accounts: &[Collecting]) -> Result<(), BoxDynError> {
    arguments.add(accounts.iter().map(|a| a.client_id.0).collect::<Vec<_>>())?;
    arguments.add(accounts.iter().map(|a| a.id().0).collect::<Vec<_>>())?;
    arguments.add(accounts.iter().map(|a| a.name.word().into_owned()).collect::<Vec<_>>())?;
    arguments.add(accounts.iter().map(|a| a.currency.code()).collect::<Vec<_>>())?;
    Ok(())
}

/// Adds what a transaction's rows add up to: `$1` to `$5`, see [`bind_totals`].
pub const INSERT_TOTALS: &str = "
    INSERT INTO collecting_totals (client_id, account_id, total_id, debits, credits)
    SELECT *
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::numeric[], $5::numeric[])
    RETURNING 1";

/// Binds [`INSERT_TOTALS`]'s parameters.
pub fn bind_totals(arguments: &mut PgArguments, totals: &[CollectingTotal]) -> Result<(), BoxDynError> {
    arguments.add(totals.iter().map(|t| t.account.client_id.0).collect::<Vec<_>>())?;
    arguments.add(totals.iter().map(|t| t.account.id().0).collect::<Vec<_>>())?;
    arguments.add(totals.iter().map(|t| t.total_id).collect::<Vec<_>>())?;
    arguments.add(totals.iter().map(|t| t.debits).collect::<Vec<_>>())?;
    arguments.add(totals.iter().map(|t| t.credits).collect::<Vec<_>>())?;
    Ok(())
}

/// What a collecting account has collected.
///
/// The sums are decimal text with the currency's digits: over the years they may pass the range of an amount.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectingBalance {
    /// The account's name, such as `revenue`.
    pub name: String,
    /// Its currency.
    pub currency: Currency,
    /// The sum of the journal rows that debit it.
    pub debits: String,
    /// The sum of the journal rows that credit it.
    pub credits: String,
}

/// Reads the roll-up alone, never the journal.
pub const BALANCES: &str = "
    SELECT c.name,
           c.currency,
           coalesce(sum(t.debits), 0)::text AS debits,
           coalesce(sum(t.credits), 0)::text AS credits
    FROM collecting_accounts c
    LEFT JOIN collecting_totals t ON t.client_id = c.client_id AND t.account_id = c.account_id
    WHERE c.client_id = $1
    GROUP BY c.name, c.currency
    ORDER BY c.name, c.currency";

/// The balances of a client's collecting accounts. Its cost does not grow with the journal.
pub async fn balances(db: impl PgExecutor<'_>, client: ClientId) -> sqlx::Result<Vec<CollectingBalance>> {
    let rows = sqlx::query(BALANCES).bind(client).fetch_all(db).await?;
    rows.iter()
        .map(|row| {
            let currency = currency_from(row.try_get("currency")?)?;
            let sum = |column: &str| -> sqlx::Result<String> {
                Ok(with_digits(row.try_get::<&str, _>(column)?, currency.minor_unit()))
            };
            Ok(CollectingBalance {
                name: row.try_get("name")?,
                currency,
                debits: sum("debits")?,
                credits: sum("credits")?,
            })
        })
        .collect()
}

/// PostgreSQL's decimal text, whose further fraction digits are zeros, with exactly `digits` of them.
fn with_digits(text: &str, digits: u32) -> String {
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = digits as usize;
    if digits == 0 { integer.to_owned() } else { format!("{integer}.{:0<digits$.digits$}", fraction) }
}

/// Replaces a collecting account's rows by one with their sum. Rows that another server is replacing are passed
/// over. A snapshot sees either the rows or their sum, so the balance is exact at any moment. The rows are chosen in
/// an array, once: as a set after `IN` they may be chosen anew for each row, and then the limit is none.
const ROLL_UP: &str = "
    WITH replaced AS (
        DELETE FROM collecting_totals
        WHERE client_id = $1
          AND account_id = $2
          AND total_id = ANY (ARRAY(
              SELECT total_id
              FROM collecting_totals
              WHERE client_id = $1
                AND account_id = $2
              ORDER BY total_id
              LIMIT $4
              FOR UPDATE SKIP LOCKED
          ))
        RETURNING debits, credits
    )
    INSERT INTO collecting_totals (client_id, account_id, total_id, debits, credits)
    SELECT $1, $2, $3, sum(debits), sum(credits)
    FROM replaced
    HAVING count(*) > 0
    RETURNING (SELECT count(*) FROM replaced)";

/// Replaces at most `limit` rows of a collecting account by one; answers how many it replaced.
pub async fn roll_up(
    db: impl PgExecutor<'_>,
    client: ClientId,
    account: Uuid,
    total_id: Uuid,
    limit: i64,
) -> sqlx::Result<i64> {
    let replaced: Option<i64> = sqlx::query_scalar(ROLL_UP)
        .bind(client)
        .bind(account)
        .bind(total_id)
        .bind(limit)
        .fetch_optional(db)
        .await?;
    Ok(replaced.unwrap_or(0))
}

const TO_ROLL_UP: &str = "
    SELECT n.client_id, t.account_id
    FROM unnest($1::uuid[]) AS n (client_id)
    CROSS JOIN LATERAL (
        SELECT account_id
        FROM collecting_totals
        WHERE client_id = n.client_id
        GROUP BY account_id
        HAVING count(*) > 1
    ) AS t";

/// The collecting accounts of these clients that have rows to be rolled up. An account has one row but for what was
/// booked since the last round, so little is read.
pub async fn to_roll_up(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
) -> sqlx::Result<Vec<(ClientId, Uuid)>> {
    sqlx::query_as(TO_ROLL_UP).bind(clients).fetch_all(db).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_printed_with_the_digits_of_its_currency() {
        assert_eq!(with_digits("12.3000", 2), "12.30");
        assert_eq!(with_digits("12.3456", 4), "12.3456");
        assert_eq!(with_digits("0", 2), "0.00");
        assert_eq!(with_digits("100.0000", 0), "100");
        assert_eq!(with_digits("1.8600", 3), "1.860");
    }
}
