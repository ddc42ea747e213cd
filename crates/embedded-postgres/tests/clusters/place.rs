//! Where the tests put their clusters, and how they look at them.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use embedded_postgres::{Cluster, Error, Settings, Stopped, find_programs};
use sqlx::{Connection, PgConnection};

/// A directory that goes away with the test, and that PostgreSQL's user can pass when root runs the tests.
pub fn place() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap()
}

/// A [`place`] with a cluster in it, as one that was made and stopped.
pub async fn place_with_cluster() -> tempfile::TempDir {
    let place = place();
    lay_cluster_into(place.path()).await;
    place
}

/// Copies a cluster into a directory: `initdb` takes a second or two. The original is made once and kept among the
/// build's files; its template databases, two thirds of its thousand files, are left out.
pub async fn lay_cluster_into(home: &Path) {
    let major = find_programs(None).unwrap().major();
    let original = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{major}"));
    let making = fs::File::create(original.with_extension("lock")).unwrap();
    making.lock().unwrap();
    if !original.join("whole").exists() {
        match Cluster::attach_or_start(hasty(&original)).await {
            Ok(cluster) => {
                for statement in [
                    "UPDATE pg_database SET datistemplate = FALSE",
                    "DROP DATABASE IF EXISTS template0",
                    "DROP DATABASE IF EXISTS template1",
                ] {
                    run(&cluster, statement).await;
                }
                assert_eq!(cluster.stop().await.unwrap(), Stopped::Stopped);
                fs::write(original.join("whole"), "").unwrap();
            }
            // The build lies below root's home: each test makes its own.
            Err(Error::Unreachable { .. }) => return,
            Err(error) => panic!("{error}"),
        }
    }
    making.unlock().unwrap();
    let copied = Command::new("cp").arg("-Rp").arg(original.join("data")).arg(home).status().unwrap();
    assert!(copied.success());
}

/// Settings of a cluster that need not survive a power cut.
pub fn hasty(data_dir: impl Into<PathBuf>) -> Settings {
    Settings { durable: false, shared_buffers_mb: 16, ..Settings::new(data_dir) }
}

pub async fn connect(cluster: &Cluster) -> PgConnection {
    connect_to(&cluster.database_url("postgres")).await
}

pub async fn connect_to(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

/// The first column of the first row, as text.
pub async fn ask(cluster: &Cluster, question: &'static str) -> String {
    let mut connection = connect(cluster).await;
    let answer = sqlx::query_scalar(question).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    answer
}

pub async fn run(cluster: &Cluster, statements: &'static str) {
    let mut connection = connect(cluster).await;
    sqlx::raw_sql(statements).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The process id of the cluster's PostgreSQL.
pub fn postmaster_of(data_dir: &Path) -> u32 {
    let content = fs::read_to_string(data_dir.join("data/postmaster.pid")).unwrap();
    content.lines().next().unwrap().parse().unwrap()
}

/// `kill -SIGNAL TARGET`; a negative target is a process group.
pub fn kill(signal: &str, target: i64) {
    let status = Command::new("kill").args(["-s", signal, "--", &target.to_string()]).status().unwrap();
    assert!(status.success(), "kill -{signal} {target}");
}

pub fn owner_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().uid()
}

pub fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

/// Whether this process is root's, told by the owner of what it makes.
pub fn we_are_root() -> bool {
    owner_of(place().path()) == 0
}

/// Another process that uses a cluster, in a process group of its own, as a shell would start it.
pub struct Neighbour {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Neighbour {
    pub fn start(data_dir: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_embedded-postgres"))
            .arg(data_dir)
            .arg("--not-durable")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Its next line: `started URL`, `attached URL`, `stopped` or `still in use`.
    pub fn says(&mut self) -> String {
        self.lines.next().expect("a line before the end").unwrap()
    }

    /// Has it stop, by the end of its input: what it says of that.
    pub fn stop(mut self) -> String {
        drop(self.child.stdin.take());
        let last_words = self.says();
        assert!(self.child.wait().unwrap().success());
        last_words
    }

    /// Sends the signal to its whole process group, as a terminal does, and waits for its end.
    pub fn end_by(&mut self, signal: &str) {
        kill(signal, -i64::from(self.child.id()));
        self.child.wait().unwrap();
    }
}

/// Looks until it is so, for 10 s at most.
pub fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within 10 s");
        std::thread::yield_now();
    }
}
