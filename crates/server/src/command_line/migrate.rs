//! `onefold migrate`.

use super::database::OpenDatabase;
use super::{Options, print_line};
use crate::configuration::Configuration;
use crate::serve::database;

/// Applies the migrations that the database lacks, and says which they were.
pub async fn run(options: &Options, configuration: &Configuration) -> anyhow::Result<()> {
    if options.no_migrate {
        anyhow::bail!("`onefold migrate` with --no-migrate has nothing to do: leave the flag out");
    }
    let database = OpenDatabase::open(options, configuration).await?;
    let migrated = database::migrate(database.options()).await;
    database.close().await?;
    let applied = migrated?;
    for migration in &applied {
        print_line(&format!("applied {:04} {}", migration.version, migration.description))?;
    }
    if applied.is_empty() {
        print_line("nothing to apply: the database is up to date")?;
    }
    Ok(())
}
