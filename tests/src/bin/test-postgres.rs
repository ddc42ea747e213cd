//! `test-postgres hold` keeps the tests' PostgreSQL running until its standard input is closed.
//!
//! `scripts/test` holds it for a whole run, so that it is started once, and stopped at the end.

use std::io::Read;

use anyhow::bail;
use onefold_tests::{cluster, database};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Some("hold") = std::env::args().nth(1).as_deref().map(str::trim) else {
        bail!("usage: test-postgres hold (it ends when its standard input is closed)");
    };
    let cluster = cluster::attach_or_start().await?;
    let dropped = database::drop_left_over().await?;
    eprintln!(
        "the tests' PostgreSQL runs in {} ({dropped} old databases dropped)",
        cluster.data_dir().display()
    );
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    cluster.stop().await?;
    Ok(())
}
