//! One line for each request: who asked for what, under which key, what came of it and how long it took. Never a body,
//! never a secret, and of the idempotency key only its hash.

use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use client::store::KeyHolder;
use gateway::allowance::Allowance;
use http::Extensions;
use idempotency::Key;

use crate::request_id::RequestId;

/// How far a request has come, for whoever must end it early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Nothing has been asked for.
    Asking = 0,
    /// Its body is being read.
    ReadingBody = 1,
    /// The desk has it: the effect may happen whether or not anybody waits for the answer.
    Submitted = 2,
}

/// What becomes known of a request while it is served. It is shared by the handler, which learns it, and the edge, which
/// tells it even when the handler does not come to its end.
#[derive(Debug)]
pub struct Facts {
    request_id: RequestId,
    client: OnceLock<Arc<KeyHolder>>,
    key: OnceLock<String>,
    endpoint: OnceLock<String>,
    allowance: OnceLock<Allowance>,
    trace_id: OnceLock<String>,
    phase: AtomicU8,
}

impl Facts {
    /// Nothing is known but the id.
    pub fn new(request_id: RequestId) -> Arc<Self> {
        Arc::new(Self {
            request_id,
            client: OnceLock::new(),
            key: OnceLock::new(),
            endpoint: OnceLock::new(),
            allowance: OnceLock::new(),
            trace_id: OnceLock::new(),
            phase: AtomicU8::new(Phase::Asking as u8),
        })
    }

    /// The facts that the edge has put on a request.
    ///
    /// # Panics
    ///
    /// Where the request did not come through the edge, which every route of the router is behind.
    pub fn of(extensions: &Extensions) -> Arc<Self> {
        Arc::clone(extensions.get::<Arc<Self>>().expect("every request comes through the edge"))
    }

    /// The request's id.
    pub fn request_id(&self) -> &str {
        self.request_id.as_str()
    }

    /// Who asks.
    pub fn note_client(&self, client: Arc<KeyHolder>) {
        let _ = self.client.set(client);
    }

    /// Under which key.
    pub fn note_key(&self, key: &Key) {
        let _ = self.key.set(key.log_id());
    }

    /// Which of the endpoints that providers call it came to.
    pub fn note_endpoint(&self, name: String) {
        let _ = self.endpoint.set(name);
    }

    /// What it has left of its limits.
    pub fn note_allowance(&self, allowance: Allowance) {
        let _ = self.allowance.set(allowance);
    }

    /// What it has left of its limits, if it has been counted.
    pub fn allowance(&self) -> Option<&Allowance> {
        self.allowance.get()
    }

    /// In which trace, if there is somebody to send traces to.
    pub fn note_trace(&self, trace_id: String) {
        let _ = self.trace_id.set(trace_id);
    }

    /// The desk is about to have it.
    pub fn note_submitted(&self) {
        self.phase.store(Phase::Submitted as u8, Ordering::Relaxed);
    }

    /// Marks the time in which the body is read.
    pub async fn reading_body<T>(&self, reading: impl Future<Output = T>) -> T {
        self.phase.store(Phase::ReadingBody as u8, Ordering::Relaxed);
        let read = reading.await;
        self.phase.store(Phase::Asking as u8, Ordering::Relaxed);
        read
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            2 => Phase::Submitted,
            1 => Phase::ReadingBody,
            _ => Phase::Asking,
        }
    }
}

/// The line of a request. One that is dropped before it is written tells that the client went away.
#[derive(Debug)]
pub struct Line {
    facts: Arc<Facts>,
    operation: Arc<str>,
    begun: Instant,
    written: bool,
}

impl Line {
    /// Begins the time.
    pub fn begin(facts: Arc<Facts>, operation: impl Into<Arc<str>>) -> Self {
        Self { facts, operation: operation.into(), begun: Instant::now(), written: false }
    }

    /// Writes the line, and answers the time that the request took.
    pub fn write(mut self, status: u16, outcome: &str) -> Duration {
        self.written = true;
        let duration = self.begun.elapsed();
        self.emit(status, outcome, duration);
        duration
    }

    fn emit(&self, status: u16, outcome: &str, duration: Duration) {
        tracing::info!(
            target: "onefold::access",
            operation = &*self.operation,
            status,
            outcome,
            client = self.facts.client.get().map(|client| client.name.as_str()),
            key = self.facts.key.get().map(String::as_str),
            endpoint = self.facts.endpoint.get().map(String::as_str),
            trace_id = self.facts.trace_id.get().map(String::as_str),
            duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            "request"
        );
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.written {
            // 499 is what proxies write for a client that did not wait; it is never sent.
            self.emit(499, "client-gone", self.begun.elapsed());
        }
    }
}
