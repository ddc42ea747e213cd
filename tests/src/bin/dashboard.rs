//! `dashboard` prints the file that Grafana reads, made from `deploy/grafana/onefold.toml`.

use std::path::Path;

use onefold_tests::dashboard::Dashboard;

fn main() -> anyhow::Result<()> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    print!("{}", Dashboard::read(&tree)?.json());
    Ok(())
}
