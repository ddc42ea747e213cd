//! Books of payments that providers have told of, and `onefold reconcile` beside the server that keeps them.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chrono::{DateTime, Utc};
use desk::Clock;
use onefold_tests::callbacks;
use onefold_tests::clock::ManualClock;
use onefold_tests::database::new_database;
use onefold_tests::http::TestServer;
use provider_simulator::event::{Outcome, Payment, Refund, What};
use provider_simulator::{Amount, Event, Provider};
use serde_json::Value;
use sqlx::ConnectOptions;
use tempfile::TempDir;

/// The headings of the plain layout.
pub const PLAIN: &str = "provider_payment_id,payment_no,amount,currency,kind,time";

/// The headings of the plain layout with the ids of refunds.
pub const PLAIN_WITH_REFUND_IDS: &str =
    "provider_payment_id,provider_refund_id,payment_no,amount,currency,kind,time";

/// A server with the demo's endpoints, and a clock of the test's.
pub struct Books {
    server: TestServer,
    clock: ManualClock,
    directory: TempDir,
}

impl Books {
    /// Books of nothing.
    pub async fn start() -> anyhow::Result<Self> {
        let clock = ManualClock::at_present();
        let server = TestServer::start_with(new_database().await?, |settings| {
            settings.clock = Arc::new(clock.clone())
        })
        .await?;
        // The demo's client was made at this moment, and what is of the same moment counts as made together with it.
        clock.advance(Duration::from_secs(1));
        Ok(Self { server, clock, directory: tempfile::tempdir()? })
    }

    /// The present, by the server's clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The present as statements write it, so many hours ahead of UTC.
    pub fn time(&self, hours_ahead: i64) -> String {
        (self.now() + chrono::TimeDelta::hours(hours_ahead)).format("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// Moves the clock.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Has a provider tell that so much was paid, and checks that it is acknowledged.
    pub async fn paid(&self, provider: Provider, id: &str, payment_no: &str, amount: &str, currency: &str) {
        let event = self.event(format!("evt-{id}"), id, payment_no, amount, currency, What::Succeeded);
        self.deliver(provider, &event).await.unwrap_or_else(|error| panic!("{id}: {error:#}"));
    }

    /// Has a provider tell that so much was given back, `total` in all.
    pub async fn refunded(&self, provider: Provider, id: &str, refund_id: &str, amount: &str, total: &str) {
        let refund = Refund {
            refund_no: format!("no-{refund_id}"),
            refund_id: refund_id.to_owned(),
            amount: Amount::parse(amount).expect("an amount"),
            refunded_total: Amount::parse(total).expect("an amount"),
            outcome: Outcome::Done,
        };
        let number = number(id);
        let event =
            self.event(format!("evt-{refund_id}"), id, &number, "88.80", "CNY", What::Refunded(refund));
        self.deliver(provider, &event).await.unwrap_or_else(|error| panic!("{refund_id}: {error:#}"));
    }

    fn event(
        &self,
        event: String,
        id: &str,
        number: &str,
        amount: &str,
        currency: &str,
        what: What,
    ) -> Event {
        let payment = Payment {
            payment_no: number.to_owned(),
            provider_payment_id: id.to_owned(),
            amount: Amount::parse(amount).expect("an amount"),
            currency: currency.to_owned(),
        };
        Event { id: event, at: self.now(), payment, what }
    }

    async fn deliver(&self, provider: Provider, event: &Event) -> anyhow::Result<()> {
        let answer = callbacks::deliver(&self.server.anonymous(), provider, event, self.now()).await?;
        callbacks::ensure_acknowledged(provider, &answer)
    }

    /// Runs `onefold reconcile` on this statement, beside the server.
    pub async fn reconcile(&self, provider: Provider, statement: &[u8], flags: &[&str]) -> Ended {
        let path = self.directory.path().join("statement.csv");
        std::fs::write(&path, statement).expect("a statement");
        let provider = provider.to_string();
        let arguments: Vec<&str> = ["--provider", &provider, path.to_str().expect("a path")]
            .into_iter()
            .chain(flags.iter().copied())
            .collect();
        self.run(&arguments, None).await
    }

    /// Runs `onefold reconcile` with these arguments, beside the server.
    pub async fn run(&self, arguments: &[&str], standard_input: Option<Vec<u8>>) -> Ended {
        let url = self.server.database.to_url_lossy().to_string();
        let mut command = onefold(&self.directory, &["reconcile", "--database-url", &url]);
        command.args(arguments);
        // Elsewhere, so that the server goes on meanwhile.
        tokio::task::spawn_blocking(move || Ended::of(command, standard_input))
            .await
            .expect("the program runs")
    }

    /// What `onefold reconcile --format json` says of this statement: each difference as kind, line and payment id.
    pub async fn differences(&self, provider: Provider, statement: &[u8], flags: &[&str]) -> Vec<String> {
        let flags: Vec<&str> = ["--format", "json"].into_iter().chain(flags.iter().copied()).collect();
        let ended = self.reconcile(provider, statement, &flags).await;
        let document = ended.document();
        let differences: Vec<String> =
            document["differences"].as_array().expect("a list").iter().map(told).collect();
        assert_eq!(ended.code, i32::from(!differences.is_empty()), "{ended:?}");
        assert_eq!(document["summary"]["differences"], differences.len(), "{ended:?}");
        assert_eq!(document["summary"]["agrees"], differences.is_empty(), "{ended:?}");
        differences
    }

    /// The alerts of the demo's client, oldest first.
    pub async fn alerts(&self) -> anyhow::Result<Vec<Value>> {
        let list = self.server.demo.get("/v1/payment-alerts?limit=100").await?.json();
        let mut alerts = list["data"].as_array().context("a list")?.clone();
        alerts.reverse();
        Ok(alerts)
    }

    /// Resolves an alert, and answers with the status of that.
    pub async fn resolve(&self, alert: &Value, action: &str) -> anyhow::Result<u16> {
        let id = alert["id"].as_str().context("an id")?;
        let path = format!("/v1/payment-alerts/{id}/resolve");
        let body = serde_json::json!({ "action": action, "note": "as agreed" });
        Ok(self.server.demo.post(&path, &format!("{action}-{id}"), &body).await?.status)
    }

    /// Ends the server, and audits its books with the service's own auditor.
    pub async fn finish(self) {
        let database = self.server.shutdown().await;
        let settings = audit::Settings { retention: Duration::from_secs(72 * 60 * 60), listed_max: 100 };
        let report = audit::audit(&database, settings, &mut |_| {}).await.expect("an audit");
        let wrong: Vec<_> = report.checks.iter().filter(|check| check.differences > 0).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// The number of the payment that has this id at its provider, in most of these tests.
pub fn number(id: &str) -> String {
    format!("P-{id}")
}

/// A difference on one line: kind, subject, line, payment id, refund id.
fn told(difference: &Value) -> String {
    let text = |key: &str| match &difference[key] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let id = match text("provider_refund_id").as_str() {
        "-" => text("provider_payment_id"),
        refund => format!("{} {refund}", text("provider_payment_id")),
    };
    format!("{} {} {} {id}", text("difference"), text("line"), text("subject"))
}

/// The program, where no variable says anything to it.
pub fn onefold(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_test-onefold"));
    command.args(arguments).current_dir(directory.path());
    for variable in onefold_tests::SERVICE_VARIABLES {
        command.env_remove(variable);
    }
    command
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Runs a program to its end.
    pub fn of(mut command: Command, standard_input: Option<Vec<u8>>) -> Self {
        command.stdin(if standard_input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
        if let (Some(bytes), Some(mut stdin)) = (standard_input, child.stdin.take()) {
            stdin.write_all(&bytes).expect("the program reads");
        }
        let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
        Self {
            code: status.code().expect("an exit code"),
            stdout: String::from_utf8(stdout).expect("text"),
            stderr: String::from_utf8(stderr).expect("text"),
        }
    }

    /// The document that it has printed.
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
