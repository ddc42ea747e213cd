//! A server, the two clients of a script, and the model: one request after the other.

use std::collections::BTreeMap;

use anyhow::Context;
use onefold_tests::http::{Caller, Exchange, TestServer};
use proptest::test_runner::{Config, FileFailurePersistence};

use crate::model::{Answered, Mistake, Model};
use crate::reads;
use crate::request::{Ask, Who};
use crate::script::{Asked, Script, opening};
use crate::told::{Names, Told, compare, same};
use crate::wire::{self, Wire};

/// How the suites look for differences: what they find is tried first at the next run.
pub(crate) fn configuration(cases: u32) -> Config {
    let remembered = concat!(env!("CARGO_MANIFEST_DIR"), "/model/regressions.txt");
    Config {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(remembered))),
        max_shrink_iters: 2_000,
        max_shrink_time: 60_000,
        ..Config::default()
    }
}

/// The two clients.
pub(crate) type Callers = BTreeMap<Who, Caller>;

/// Two new clients on a server.
pub(crate) async fn callers(server: &TestServer) -> anyhow::Result<Callers> {
    let mut callers = Callers::new();
    for who in Who::BOTH {
        callers.insert(who, server.another_client().await?);
    }
    Ok(callers)
}

/// The model and the service, with the same past.
pub(crate) struct Stage {
    pub(crate) callers: Callers,
    pub(crate) model: Model,
    pub(crate) names: Names,
    asked: Asked,
    /// The first answers under the keys.
    pub(crate) firsts: BTreeMap<(Who, String), Exchange>,
    transcript: String,
}

impl Stage {
    pub(crate) fn new(callers: Callers, mistake: Option<Mistake>) -> Self {
        Self {
            callers,
            model: Model::new(mistake),
            names: Names::default(),
            asked: Asked::default(),
            firsts: BTreeMap::new(),
            transcript: String::new(),
        }
    }

    /// Plays the opening and a script to both, and compares every answer.
    ///
    /// # Errors
    ///
    /// The first difference, after all that was said until then.
    pub(crate) async fn play(&mut self, script: &Script) -> Result<(), String> {
        for step in opening().iter().chain(&script.0) {
            let Some((ask, otherwise)) = self.asked.next(&self.model, step) else { continue };
            self.send(&ask, otherwise).await?;
        }
        Ok(())
    }

    /// Compares everything that can be read when a script is over.
    ///
    /// # Errors
    ///
    /// The first difference, after all that was said before.
    pub(crate) async fn read_everything(&self) -> Result<(), String> {
        for who in Who::BOTH {
            reads::compare_all(self, who).await.map_err(|difference| {
                format!("{}\nwhat {who:?} reads then: {difference}", self.transcript)
            })?;
        }
        Ok(())
    }

    /// Sends a request and compares the answer.
    async fn send(&mut self, ask: &Ask, otherwise: bool) -> Result<(), String> {
        let wire = wire::write(ask, otherwise, &self.names);
        let told = deliver(&self.callers[&ask.who], &wire).await.map_err(|error| format!("{error:#}"))?;
        let expected = self.model.answer(ask);
        let slug = told.slug().unwrap_or_default();
        let replayed = if told.replayed() { "replayed" } else { "" };
        self.transcript += &format!("\n{ask:?} → {} {slug} {replayed}", told.status);
        self.compare(ask, &expected, told).map_err(|difference| format!("{}\n{difference}", self.transcript))
    }

    fn compare(&mut self, ask: &Ask, expected: &Answered, told: Exchange) -> Result<(), String> {
        same("Idempotency-Replayed", &told.replayed(), &expected.replayed)?;
        let name = (ask.who, ask.key.clone());
        if expected.replayed {
            // Byte for byte; only what belongs to the request itself is its own.
            let first = &self.firsts[&name];
            same("the replay", &essence(&told), &essence(first))?;
            return Ok(());
        }
        compare(&expected.answer, &as_told(&told), &mut self.names)?;
        for (status, header) in [(401, "www-authenticate"), (405, "allow")] {
            same(header, &told.header(header).is_some(), &(told.status == status))?;
        }
        if self.model.books(ask.who).records.contains_key(&ask.key) {
            self.firsts.entry(name).or_insert(told);
        }
        Ok(())
    }
}

/// Sends a request as it is written.
pub(crate) async fn deliver(caller: &Caller, wire: &Wire) -> anyhow::Result<Exchange> {
    let mut request = caller.request(wire.method, &wire.path).body(wire.body.clone());
    if let Some(key) = &wire.key {
        request = request.header("idempotency-key", key);
    }
    if let Some(content_type) = wire.content_type {
        request = request.header("content-type", content_type);
    }
    let (client, request) = request.build_split();
    let mut request = request.context("a request that can be sent")?;
    if !wire.authorized {
        request.headers_mut().remove("authorization");
    }
    caller.send(reqwest::RequestBuilder::from_parts(client, request)).await
}

/// What a replay has in common with the first answer.
pub(crate) fn essence(exchange: &Exchange) -> (u16, Option<&str>, Option<&str>, &str) {
    let body = std::str::from_utf8(&exchange.bytes).unwrap_or_default();
    (exchange.status, exchange.header("content-type"), exchange.header("location"), body)
}

pub(crate) fn as_told(exchange: &Exchange) -> Told {
    Told {
        status: exchange.status,
        content_type: exchange.header("content-type").unwrap_or_default().to_owned(),
        location: exchange.header("location").map(str::to_owned),
        body: exchange.json(),
        request_id: exchange.header("x-request-id").unwrap_or_default().to_owned(),
    }
}
