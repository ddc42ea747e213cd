//! The PostgreSQL that all tests share.
//!
//! It lies below `target/`, is started by whichever process comes first, and is shared by all that run at the same
//! time. It does not flush to disk: a test may kill any process of it, and not pull the plug.

use std::path::{Path, PathBuf};

use anyhow::Context;
use embedded_postgres::{Cluster, Error, Settings};
use tokio::sync::OnceCell;

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

/// The shared cluster. This process uses it until it ends.
pub async fn cluster() -> anyhow::Result<&'static Cluster> {
    CLUSTER.get_or_try_init(attach_or_start).await
}

/// Attaches to the shared cluster, or starts it.
pub async fn attach_or_start() -> anyhow::Result<Cluster> {
    match Cluster::attach_or_start(settings(target_directory().join("test-postgres"))).await {
        Err(Error::Unreachable { .. }) => {
            // Root's tree may lie where the database's unprivileged user cannot go: below root's home.
            let name = format!("onefold-test-postgres-{}", name_of(&target_directory()));
            Cluster::attach_or_start(settings(std::env::temp_dir().join(name))).await
        }
        other => other,
    }
    .context("the tests' PostgreSQL")
}

fn settings(data_dir: PathBuf) -> Settings {
    Settings { durable: false, max_connections: 300, ..Settings::new(data_dir) }
}

fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => directory.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    }
}

/// A name that tells one tree's cluster from another's.
fn name_of(directory: &Path) -> String {
    let path = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    path.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
