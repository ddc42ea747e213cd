//! Large books, and the statement that agrees with them.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use client::ClientId;
use desk::schema::Database;
use onefold_tests::database::new_service_database;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tempfile::TempDir;
use uuid::{Uuid, uuid};

/// The client whose books they are.
pub const CLIENT_ID: ClientId = ClientId(uuid!("01900000-0000-7000-8000-0000000000d1"));

/// Its name.
pub const CLIENT_NAME: &str = "reconciled";

/// Books of so many payments at the provider `standard`, a second apart, made by the database itself, which is faster
/// than the service by far: the k-th is pay-k for P-k, over k hundredths.
pub async fn books(payments: u32) -> anyhow::Result<Database> {
    let database = new_service_database().await?;
    let mut connection = PgConnection::connect_with(database.owner_options()).await?;
    let now = "2026-03-01T00:00:00Z".parse()?;
    client::store::insert_client(&mut connection, CLIENT_ID, CLIENT_NAME, now).await?;
    let sql = MAKE.replace(":payments", &payments.to_string());
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.context("large books")?;
    connection.close().await?;
    Ok(database)
}

const MAKE: &str = "
    INSERT INTO payment_receipts (
        client_id, provider, provider_payment_id, receipt_id, payment_no, state, currency, received, refunded, applied,
        owed, refund_told, version, created_at, updated_at
    )
    SELECT '01900000-0000-7000-8000-0000000000d1', 'standard', 'pay-' || k, md5('receipt ' || k)::uuid, 'P-' || k,
           'settled', 'CNY', k / 100.0, 0, k / 100.0, 0, 0, 1, at, at
    FROM (
        SELECT k, '2026-03-01T00:00:00Z'::timestamptz + k * interval '1 second' AS at
        FROM generate_series(1, :payments) k
    ) payments;
    ANALYZE payment_receipts;";

/// The statement of these payments, newest first, but for what `line` leaves out; in a directory that keeps it.
pub fn statement(
    payments: u32,
    line: impl Fn(u32, String) -> Vec<String>,
) -> anyhow::Result<(TempDir, PathBuf)> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("statement.csv");
    let mut file = BufWriter::new(std::fs::File::create(&path)?);
    writeln!(file, "provider_payment_id,payment_no,amount,currency,kind,time")?;
    let begins: chrono::DateTime<chrono::Utc> = "2026-03-01T00:00:00Z".parse()?;
    for k in (1..=payments).rev() {
        let at = begins + chrono::TimeDelta::seconds(k.into());
        let at = at.format("%Y-%m-%d %H:%M:%S");
        let (whole, hundredths) = (k / 100, k % 100);
        for line in line(k, format!("pay-{k},P-{k},{whole}.{hundredths:02},CNY,payment,{at}")) {
            writeln!(file, "{line}")?;
        }
    }
    file.flush()?;
    Ok((directory, path))
}

/// What is to be compared: the statement of `standard`, whole.
pub fn request() -> reconciliation::Request {
    let client_id: Uuid = CLIENT_ID.0;
    reconciliation::Request {
        client_id,
        provider: "standard".to_owned(),
        layouts: reconciliation::provider_layouts::layouts_of("standard"),
        encoding: None,
        from: None,
        to: None,
    }
}
