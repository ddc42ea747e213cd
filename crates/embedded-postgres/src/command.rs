//! Runs PostgreSQL's own programs.

use std::io;
use std::process::{ExitStatus, Output, Stdio};

use tokio::process::Command;

use crate::Error;
use crate::home::{Home, remove_if_there};
use crate::programs::Programs;

/// What the programs get from our environment. Not the rest: `PG…` variables would change what they do, and a secret
/// has no business in the environment of another user's process.
const INHERITED: [&str; 4] = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR"];

/// The PostgreSQL programs, to be run for one data directory.
#[derive(Debug, Clone)]
pub(crate) struct Runner {
    pub(crate) programs: Programs,
    pub(crate) home: Home,
}

impl Runner {
    /// Makes the cluster, aside, and moves it to its place when it is whole: a start that is killed half-way leaves
    /// nothing that looks like a cluster. The name aside is this process's own, because a killed process's `initdb` may
    /// still be writing into another.
    pub(crate) async fn create_cluster(&self, durable: bool) -> Result<(), Error> {
        const ASIDE: &str = "data.new.";
        let entries = std::fs::read_dir(self.home.path()).map_err(Error::io("read", self.home.path()))?;
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(ASIDE) {
                // The standard library removes a tree without following links in it.
                std::fs::remove_dir_all(entry.path()).map_err(Error::io("remove", &entry.path()))?;
            }
        }
        let name = format!("{ASIDE}{}", std::process::id());
        let aside = self.home.path().join(&name);
        self.home.make_private(&aside).map_err(Error::io("create", &aside))?;

        let mut initdb = self.command("initdb");
        initdb.args(["--pgdata", &name, "--username", crate::USER, "--encoding=UTF8", "--locale=C"]);
        initdb.args(["--data-checksums", "--auth-local=peer", "--auth-host=reject", "--no-instructions"]);
        if !durable {
            initdb.arg("--no-sync");
        }
        let output = self.output(initdb.kill_on_drop(true)).await?;
        if !output.status.success() {
            return Err(Error::CreationFailed { output: said(&output) });
        }
        std::fs::rename(&aside, self.home.data()).map_err(Error::io("move", &aside))
    }

    /// Flushes a cluster that ran without flushing.
    pub(crate) async fn flush_cluster(&self) -> Result<(), Error> {
        let output = self.output(self.command("initdb").args(["--pgdata", "data", "--sync-only"])).await?;
        if output.status.success() { Ok(()) } else { Err(Error::CreationFailed { output: said(&output) }) }
    }

    /// Starts PostgreSQL and waits until it is ready, or has failed.
    pub(crate) async fn start(&self, within_s: u64) -> Result<(), Error> {
        let (log, length) = self.home.open_log()?;
        // A pipe would stay open for as long as PostgreSQL runs, and whoever reads it would wait for as long.
        let log_too = log.try_clone().map_err(Error::io("open the log", &self.home.log()))?;
        let mut start = self.pg_ctl("start", within_s);
        // Relative names, in the directory: no shell (pg_ctl uses one) meets a path with strange letters.
        start.args(["--log=postgres.log", "--options"]);
        start.arg("-c config_file=postgresql.conf -c hba_file=pg_hba.conf -c ident_file=pg_ident.conf");
        let status = self.status(start.stdout(log).stderr(log_too)).await?;
        if status.success() {
            return Ok(());
        }
        Err(Error::StartFailed { log: self.home.log(), tail: self.home.tail_of_log(length) })
    }

    /// Tells PostgreSQL to stop, in one of `pg_ctl`'s modes, and waits: whether it has.
    pub(crate) async fn stop(&self, mode: &str, within_s: u64) -> Result<bool, Error> {
        let mut stop = self.pg_ctl("stop", within_s);
        stop.args(["--mode", mode]).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(self.status(&mut stop).await?.success())
    }

    /// Removes a `postmaster.pid` that no server owns. The link itself would go, if it were one.
    pub(crate) fn remove_pid_file(&self) -> Result<(), Error> {
        remove_if_there(&self.home.data().join("postmaster.pid"))
    }

    fn pg_ctl(&self, act: &str, within_s: u64) -> Command {
        let mut command = self.command("pg_ctl");
        command.args([act, "--pgdata=data", "--wait", "--timeout", &within_s.to_string()]);
        command
    }

    /// One of the programs, as PostgreSQL's user, in the data directory, in a process group of its own: Ctrl-C in the
    /// terminal is for us to act upon. (`pg_ctl` gives PostgreSQL a session of its own besides.)
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.program(program));
        command.current_dir(self.home.path()).process_group(0).stdin(Stdio::null());
        command.env_clear().envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        // Messages in English; and on macOS a locale from the environment would make the server multithreaded, and it abort.
        command.env("LC_ALL", "C");
        if self.home.me.is_root() {
            // Supplementary groups go too: the standard library drops them when root changes the user.
            command.uid(self.home.runner.uid).gid(self.home.runner.gid);
        }
        command
    }

    async fn output(&self, command: &mut Command) -> Result<Output, Error> {
        command.output().await.map_err(|error| self.not_run(error))
    }

    async fn status(&self, command: &mut Command) -> Result<ExitStatus, Error> {
        command.status().await.map_err(|error| self.not_run(error))
    }

    /// The data directory was entered before, so what PostgreSQL's user may not reach is its programs.
    fn not_run(&self, error: io::Error) -> Error {
        let path = self.programs.directory();
        if error.kind() == io::ErrorKind::PermissionDenied {
            return Error::Unreachable { path: path.to_owned(), user: self.home.runner.name.clone() };
        }
        Error::io("run the programs in", path)(error)
    }
}

fn said(output: &Output) -> String {
    let text = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    String::from_utf8_lossy(text).trim().to_owned()
}
