//! The RabbitMQ of a test process: one node, with a virtual host for each test, for a start takes seconds.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use tokio::process::Child;
use tokio::sync::{Mutex, MutexGuard};

use crate::guarded::{Guarded, free_port, program, remove_afterwards};
use crate::nats_server::listens;

/// How long a start may take.
const STARTED_WITHIN: Duration = Duration::from_secs(120);

/// How many tests can have a virtual host of their own.
const VIRTUAL_HOSTS: usize = 12;

/// Whoever kills it is alone.
static NODE: LazyLock<Mutex<Option<RabbitMqServer>>> = LazyLock::new(|| Mutex::new(None));

/// A node that keeps what it has when it is killed and started again.
pub struct RabbitMqServer {
    process: Option<Guarded>,
    // Erlang's name server: a node that finds none starts one, which would outlive it.
    _names: Guarded,
    files: PathBuf,
    // The node is in a static variable, which is never dropped.
    _remover: Child,
    names_port: u16,
    node_port: u16,
    port: u16,
    unused: BTreeSet<usize>,
}

/// The node, for one test alone.
pub struct Turn(MutexGuard<'static, Option<RabbitMqServer>>);

impl Turn {
    /// Waits until the others are done with the node, and starts it if this is the first turn, or if the last one ended
    /// while it was killed.
    pub async fn take() -> anyhow::Result<Self> {
        let mut node = NODE.lock().await;
        match node.as_mut() {
            None => *node = Some(RabbitMqServer::start().await?),
            Some(stopped) if stopped.process.is_none() => stopped.start_again().await?,
            Some(_) => {}
        }
        Ok(Self(node))
    }

    /// The node.
    pub fn node(&mut self) -> &mut RabbitMqServer {
        self.0.as_mut().expect("the first turn started it")
    }
}

impl RabbitMqServer {
    async fn start() -> anyhow::Result<Self> {
        let files = tempfile::Builder::new().prefix("onefold-rabbitmq-").tempdir()?.keep();
        let remover = remove_afterwards(&files)?;
        let hosts: Vec<_> = (0..VIRTUAL_HOSTS).map(|number| json!({ "name": number.to_string() })).collect();
        let permissions: Vec<_> = (0..VIRTUAL_HOSTS)
            .map(|number| {
                json!({
                    "user": "guest", "vhost": number.to_string(), "configure": ".*", "write": ".*", "read": ".*"
                })
            })
            .collect();
        let definitions = json!({
            "users": [{ "name": "guest", "password": "guest", "tags": "" }],
            "vhosts": hosts,
            "permissions": permissions,
        });
        let path = files.join("definitions.json");
        fs::write(&path, definitions.to_string())?;
        fs::write(files.join("node.conf"), format!("load_definitions = {}\n", path.display()))?;
        fs::write(files.join("plugins"), "[].\n")?;
        fs::write(files.join("environment"), "")?;
        let names_port = free_port()?;
        let log = files.join("names.log");
        let port = names_port.to_string();
        let names =
            Guarded::start(&program("epmd", &[])?, &["-port", &port, "-address", "127.0.0.1"], &[], &log)?;
        listens(names_port, STARTED_WITHIN, &log).await?;
        let mut server = Self {
            process: None,
            _names: names,
            files,
            _remover: remover,
            names_port,
            node_port: free_port()?,
            port: free_port()?,
            unused: (0..VIRTUAL_HOSTS).collect(),
        };
        server.start_again().await?;
        Ok(server)
    }

    /// Where it is, with a virtual host that nobody has used.
    pub fn new_url(&mut self) -> anyhow::Result<String> {
        let host = self.unused.pop_first().context("VIRTUAL_HOSTS are too few")?;
        Ok(format!("amqp://guest:guest@127.0.0.1:{}/{host}", self.port))
    }

    /// Kills it.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        match self.process.take() {
            Some(process) => process.kill().await,
            None => Ok(()),
        }
    }

    /// Starts it again after a kill, where it was and with what it had.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let (names_port, node_port, port) =
            (self.names_port.to_string(), self.node_port.to_string(), self.port.to_string());
        let in_files = |name: &str| self.files.join(name);
        let (data, logs, dump, plugins, environment, configuration) = (
            in_files("data"),
            in_files("logs"),
            in_files("erl_crash.dump"),
            in_files("plugins"),
            in_files("environment"),
            in_files("node.conf"),
        );
        let variables: [(&str, &OsStr); 13] = [
            ("ERL_EPMD_PORT", names_port.as_ref()),
            ("HOME", self.files.as_ref()),
            ("RABBITMQ_NODENAME", "onefold-test@localhost".as_ref()),
            ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".as_ref()),
            ("RABBITMQ_NODE_PORT", port.as_ref()),
            ("RABBITMQ_DIST_PORT", node_port.as_ref()),
            ("RABBITMQ_MNESIA_BASE", data.as_ref()),
            ("RABBITMQ_LOG_BASE", logs.as_ref()),
            // Else Erlang leaves its dump in the directory that the tests run in.
            ("ERL_CRASH_DUMP", dump.as_ref()),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", plugins.as_ref()),
            ("RABBITMQ_CONF_ENV_FILE", environment.as_ref()),
            ("RABBITMQ_CONFIG_FILE", configuration.as_ref()),
            // One scheduler that does not spin while it waits: it shares the machine with the test.
            (
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none".as_ref(),
            ),
        ];
        // Debian's command of that name on PATH runs it as a user of its own, with files of its own.
        let program = program("rabbitmq-server", &["/usr/lib/rabbitmq/bin/rabbitmq-server"])?;
        let log = in_files("log");
        self.process = Some(Guarded::start(&program, &[], &variables, &log)?);
        listens(self.port, STARTED_WITHIN, &log).await
    }
}
