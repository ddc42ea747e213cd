//! The connection of a reconciliation: the statement is copied to it, and compared with the books of one moment.

use chrono::{DateTime, SecondsFormat, Utc};
use futures::TryStreamExt;
use money::{Amount, Currency};
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgConnectOptions, PgCopyIn, PgRow};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, Row};
use uuid::Uuid;

use super::{ANALYZE, COPY, MAKE_TABLE, PAYMENTS, RANK, REFUND_TOTALS, REFUNDS, REPEATED_REFUNDS};
use crate::comparison::{Booked, BookedTotal, Pair, Stated, StatedTotal, Totals};
use crate::difference::Told;
use crate::statement::{StatementLine, Subject};

/// How long a lock is waited for, in milliseconds. What is taken conflicts with nothing but a change of the schema; behind
/// one it must not wait for long, since everybody else would then queue behind it.
const LOCK_TIMEOUT_MS: &str = "5000";

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The first statement of the transaction fixes what it sees.
const TAKE: &str = "SELECT now()";

/// A connection that a statement is copied to.
#[derive(Debug)]
pub struct Staging {
    connection: PgConnection,
}

impl Staging {
    /// Connects, with a table for the lines that nobody else sees.
    pub async fn open(options: &PgConnectOptions) -> sqlx::Result<Self> {
        let quiet =
            options.clone().disable_statement_logging().application_name("onefold reconcile").options([
                ("statement_timeout", "0"),
                ("idle_in_transaction_session_timeout", "0"),
                ("lock_timeout", LOCK_TIMEOUT_MS),
                ("max_parallel_workers_per_gather", "0"),
                ("jit", "off"),
            ]);
        let mut connection = PgConnection::connect_with(&quiet).await?;
        connection.execute(sqlx::raw_sql(MAKE_TABLE)).await?;
        Ok(Self { connection })
    }

    /// Begins to copy lines, as [`write_line`] writes them.
    pub async fn copy(&mut self) -> sqlx::Result<PgCopyIn<&mut PgConnection>> {
        self.connection.copy_in_raw(COPY).await
    }

    /// Puts the lines in order, and then takes a snapshot of the books: of a moment that is not older than it need be.
    pub async fn compare(mut self) -> sqlx::Result<Snapshot> {
        for statement in [RANK, ANALYZE, BEGIN] {
            self.connection.execute(sqlx::raw_sql(statement)).await?;
        }
        let taken_at = sqlx::query_scalar(TAKE).fetch_one(&mut self.connection).await?;
        Ok(Snapshot { connection: self.connection, taken_at })
    }
}

/// Appends a line in the text format of `COPY`.
pub fn write_line(line: &StatementLine, copy: &mut Vec<u8>) {
    let mut field = |text: Option<&str>, ends: u8| {
        match text {
            None => copy.extend_from_slice(b"\\N"),
            // Ids are visible ASCII, so only this one means something to COPY.
            Some(text) => text.bytes().for_each(|byte| match byte {
                b'\\' => copy.extend_from_slice(b"\\\\"),
                byte => copy.push(byte),
            }),
        }
        copy.push(ends);
    };
    field(Some(&line.line.to_string()), b'\t');
    field(Some(line.subject.word()), b'\t');
    field(Some(&line.payment_id), b'\t');
    field(line.refund_id.as_deref(), b'\t');
    field(line.payment_no.as_deref(), b'\t');
    field(line.amount.map(|amount| amount.currency().code()), b'\t');
    field(line.amount.map(|amount| amount.to_string()).as_deref(), b'\t');
    let at = line.at.map(|at| at.to_rfc3339_opts(SecondsFormat::Micros, true));
    field(at.as_deref(), b'\n');
}

/// Whose books are compared, and from when to when (the end excluded) the statement should have what they have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The client.
    pub client_id: Uuid,
    /// The provider's word.
    pub provider: String,
    /// The beginning.
    pub from: DateTime<Utc>,
    /// The end.
    pub to: DateTime<Utc>,
}

/// A statement beside the books of one moment.
#[derive(Debug)]
pub struct Snapshot {
    connection: PgConnection,
    taken_at: DateTime<Utc>,
}

/// What is read from a snapshot, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Payments.
    Payments,
    /// Refunds, each by its id.
    Refunds,
    /// Lines of refunds that repeat others, where there is no comparing by id.
    RepeatedRefunds,
    /// Refunds by the total of their payment.
    RefundTotals,
}

/// Something to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparable {
    /// One payment, or one refund.
    Pair(Pair),
    /// The refunds of a payment.
    Totals(Totals),
}

impl Snapshot {
    /// The moment, by the database's clock.
    pub fn taken_at(&self) -> DateTime<Utc> {
        self.taken_at
    }

    /// Reads what is not certainly equal, one at a time: the database sends on when what it has sent is read.
    pub async fn read<E: From<sqlx::Error>>(
        &mut self,
        part: Part,
        scope: &Scope,
        each: &mut impl AsyncFnMut(Comparable) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = match part {
            Part::Payments => PAYMENTS,
            Part::Refunds => REFUNDS,
            Part::RepeatedRefunds => REPEATED_REFUNDS,
            Part::RefundTotals => REFUND_TOTALS,
        };
        let query = sqlx::query(sql).persistent(false);
        let query = match part {
            Part::RepeatedRefunds => query,
            Part::Payments | Part::Refunds | Part::RefundTotals => {
                query.bind(scope.client_id).bind(&scope.provider).bind(scope.from).bind(scope.to)
            }
        };
        let mut rows = query.fetch(&mut self.connection);
        while let Some(row) = rows.try_next().await? {
            let comparable = match part {
                Part::Payments => Comparable::Pair(pair(&row, Subject::Payment)?),
                Part::Refunds => Comparable::Pair(pair(&row, Subject::Refund)?),
                Part::RepeatedRefunds => Comparable::Pair(repeated(&row)?),
                Part::RefundTotals => Comparable::Totals(totals(&row)?),
            };
            each(comparable).await?;
        }
        Ok(())
    }

    /// Gives the connection back, and the table with it.
    pub async fn close(self) -> sqlx::Result<()> {
        self.connection.close().await
    }
}

fn pair(row: &PgRow, subject: Subject) -> sqlx::Result<Pair> {
    let is_booked: bool = row.try_get("is_booked")?;
    let booked = || -> sqlx::Result<Booked> {
        Ok(Booked {
            payment_id: row.try_get("booked_payment_id")?,
            told: Told {
                payment_no: row.try_get("booked_payment_no")?,
                amount: amount(row, "booked_amount", "booked_currency")?,
                at: row.try_get("booked_at")?,
            },
        })
    };
    Ok(Pair { booked: is_booked.then(booked).transpose()?, ..unbooked(row, subject)? })
}

fn repeated(row: &PgRow) -> sqlx::Result<Pair> {
    unbooked(row, Subject::Refund)
}

fn unbooked(row: &PgRow, subject: Subject) -> sqlx::Result<Pair> {
    let stated = |line| -> sqlx::Result<Stated> {
        Ok(Stated {
            line,
            first_line: line_number(row, "first_line")?.unwrap_or(line),
            told: stated_told(row)?,
        })
    };
    Ok(Pair {
        subject,
        payment_id: row.try_get("payment_id")?,
        refund_id: row.try_get("refund_id")?,
        stated: line_number(row, "line")?.map(stated).transpose()?,
        booked: None,
    })
}

fn totals(row: &PgRow) -> sqlx::Result<Totals> {
    let stated = |line| -> sqlx::Result<StatedTotal> {
        let in_several_currencies = row.try_get("in_several_currencies")?;
        Ok(StatedTotal { line, told: stated_told(row)?, in_several_currencies })
    };
    let is_booked: bool = row.try_get("is_booked")?;
    let booked = || -> sqlx::Result<BookedTotal> {
        Ok(BookedTotal {
            payment_no: row.try_get("booked_payment_no")?,
            ever: needed(amount(row, "booked_ever", "booked_currency")?, "booked_ever")?,
            within_span: needed(amount(row, "booked_within_span", "booked_currency")?, "booked_within_span")?,
            at: row.try_get("booked_at")?,
        })
    };
    Ok(Totals {
        payment_id: row.try_get("payment_id")?,
        stated: line_number(row, "line")?.map(stated).transpose()?,
        booked: is_booked.then(booked).transpose()?,
    })
}

fn stated_told(row: &PgRow) -> sqlx::Result<Told> {
    Ok(Told {
        payment_no: row.try_get("payment_no")?,
        amount: amount(row, "amount", "currency")?,
        at: row.try_get("at")?,
    })
}

fn line_number(row: &PgRow, column: &str) -> sqlx::Result<Option<u64>> {
    let number: Option<i64> = row.try_get(column)?;
    Ok(number.map(i64::unsigned_abs))
}

/// An amount and its currency; nothing unless both are there.
fn amount(
    row: &PgRow,
    amount_column: &'static str,
    currency_column: &'static str,
) -> sqlx::Result<Option<Amount>> {
    let decimal: Option<Decimal> = row.try_get(amount_column)?;
    let code: Option<&str> = row.try_get(currency_column)?;
    let (Some(decimal), Some(code)) = (decimal, code) else { return Ok(None) };
    let currency = Currency::from_code(code).map_err(|fault| unreadable(currency_column, fault))?;
    Amount::from_decimal(decimal, currency).map(Some).map_err(|fault| unreadable(amount_column, fault))
}

fn needed<T>(value: Option<T>, column: &'static str) -> sqlx::Result<T> {
    value.ok_or_else(|| unreadable(column, "nothing is there"))
}

fn unreadable(column: &'static str, fault: impl Into<BoxDynError>) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: fault.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_copied_with_what_it_lacks_as_null() {
        let cny = Currency::from_code("CNY").unwrap();
        let line = StatementLine {
            line: 7,
            subject: Subject::Payment,
            payment_id: r"pi\1".to_owned(),
            refund_id: None,
            payment_no: Some("P-0001".to_owned()),
            amount: Amount::parse("88.8", cny).ok(),
            at: DateTime::from_timestamp(0, 0),
        };
        let mut copy = Vec::new();
        write_line(&line, &mut copy);
        write_line(&StatementLine { payment_no: None, amount: None, at: None, ..line }, &mut copy);
        assert_eq!(
            String::from_utf8(copy).unwrap(),
            "7\tpayment\tpi\\\\1\t\\N\tP-0001\tCNY\t88.80\t1970-01-01T00:00:00.000000Z\n\
             7\tpayment\tpi\\\\1\t\\N\t\\N\t\\N\t\\N\t\\N\n"
        );
    }
}
