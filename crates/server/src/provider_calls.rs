//! Calling payment providers, instead of waiting to be called.
//!
//! In reading order:
//!
//! - this file: what can be set, and the lines to the providers;
//! - [`polling`]: asking about payments whose callback does not come;
//! - [`refunding`]: asking for refunds, and what became of them;
//! - [`rounds`]: looking again and again whose turn it is;
//! - [`line`](mod@line): the line to one provider: how many requests at once, what is counted, what becomes of faults;
//! - [`circuit`]: when a provider that does not answer is left alone;
//! - [`exchange`]: one request over HTTP.
//!
//! No transaction is open while a provider is asked. What an answer says comes to the door like any callback.

pub mod circuit;
pub mod exchange;
pub mod line;
pub mod polling;
pub mod refunding;
pub mod rounds;

use std::sync::Arc;
use std::time::Duration;

use crate::app::AppState;
use exchange::HttpClient;
use line::Line;

/// What can be set about calling providers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSettings {
    /// How long a provider may take to answer, from connecting to the last byte.
    pub timeout: Duration,
    /// How many requests to one provider may be under way at once, for each client and in each server.
    pub at_once_max: usize,
    /// The pause between two rounds in which nothing was due: so late may something due be reached.
    pub pause: Duration,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), at_once_max: 8, pause: Duration::from_millis(500) }
    }
}

/// The lines of a server, one for each endpoint whose configuration says how its provider is asked.
pub fn lines(state: &AppState, settings: CallSettings) -> Vec<Arc<Line>> {
    let http = HttpClient::new(settings.timeout);
    let lines = state.endpoints.askable();
    lines
        .map(|(endpoint, client)| {
            Arc::new(Line::new(endpoint.clone(), client, http.clone(), state.clone(), settings.at_once_max))
        })
        .collect()
}
