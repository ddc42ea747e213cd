//! A real Prometheus on a port of its own.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// How long it may take to come up.
const UP_WITHIN: Duration = Duration::from_secs(30);

/// The pause between two looks at something that is to come.
pub const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A Prometheus that scrapes one server, often. It is killed when it is dropped.
pub struct Prometheus {
    _child: Child,
    _files: TempDir,
    http: reqwest::Client,
    url: String,
}

impl Prometheus {
    /// Starts one with the rules of a file, and waits until it listens.
    pub async fn start(scraped: &str, rules: &Path) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let (configuration, log) = (files.path().join("prometheus.yml"), files.path().join("log"));
        let rules = fs::canonicalize(rules)?;
        let text = format!(
            "global: {{ scrape_interval: 200ms, evaluation_interval: 1s }}
rule_files: ['{}']
scrape_configs:
  - job_name: onefold
    static_configs: [{{ targets: ['{scraped}'] }}]
",
            rules.display()
        );
        fs::write(&configuration, text)?;
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!("--storage.tsdb.path={}", files.path().join("data").display()))
            .args(["--web.listen-address=127.0.0.1:0", "--log.format=json"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .kill_on_drop(true);
        let child = command.spawn().context("prometheus is not to be had: install the package")?;
        let listening = timeout(UP_WITHIN, async {
            loop {
                match listens_at(&fs::read_to_string(&log).unwrap_or_default()) {
                    Some(address) => return address,
                    None => sleep(LOOK_AGAIN).await,
                }
            }
        });
        let address = listening.await.with_context(|| {
            format!("prometheus does not come up:\n{}", fs::read_to_string(&log).unwrap_or_default())
        })?;
        let http = reqwest::Client::builder().no_proxy().timeout(UP_WITHIN).build()?;
        Ok(Self { _child: child, _files: files, http, url: format!("http://{address}") })
    }

    /// What it finds for an expression now: a sample each.
    ///
    /// # Errors
    ///
    /// If it finds fault with the expression.
    pub async fn query(&self, expression: &str) -> anyhow::Result<Vec<f64>> {
        let found = self.get("query", &[("query", expression)]).await?;
        let result = found["result"].as_array().context("a vector")?;
        result
            .iter()
            .map(|sample| {
                let value = sample["value"][1].as_str().context("a sample has a value")?;
                value.parse().with_context(|| format!("{value} is no number"))
            })
            .collect()
    }

    /// The alerts' rules: of each its name, its expression, and what is wrong with it, once it was evaluated.
    pub async fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        let found = self.get("rules", &[]).await?;
        let groups = found["groups"].as_array().context("groups")?;
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten());
        Ok(rules.map(Rule::of).collect())
    }

    async fn get(&self, what: &str, arguments: &[(&str, &str)]) -> anyhow::Result<Value> {
        let mut url = reqwest::Url::parse(&format!("{}/api/v1/{what}", self.url))?;
        url.query_pairs_mut().extend_pairs(arguments);
        let told: Value = serde_json::from_slice(&self.http.get(url).send().await?.bytes().await?)?;
        ensure!(told["status"] == "success", "{arguments:?}: {}", told["error"]);
        Ok(told["data"].clone())
    }
}

/// A rule as Prometheus has read it.
#[derive(Debug)]
pub struct Rule {
    /// The alert's name.
    pub name: String,
    /// Its expression.
    pub expression: String,
    /// `ok` once it was evaluated without an error.
    pub health: String,
    /// What went wrong.
    pub error: String,
}

impl Rule {
    fn of(rule: &Value) -> Self {
        let text = |member: &str| rule[member].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            expression: text("query"),
            health: text("health"),
            error: text("lastError"),
        }
    }
}

/// Where it listens, once its log tells.
fn listens_at(log: &str) -> Option<String> {
    let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let line = lines.find(|line| line["msg"] == "Listening on")?;
    Some(line["address"].as_str()?.to_owned())
}
