//! Asking about payments whose callback does not come.
//!
//! Every server polls. A payment's turn is taken in the database before its provider is asked, so of all servers one asks,
//! and one that dies in between has only let a turn pass. An answer that says that something happened comes to the door
//! under a name that follows from what it says; so it is one delivery however often it is given, and the money that it
//! tells of is that of the callback, whichever of the two comes first. An answer that says that nothing happened yet
//! leaves no record.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use payment_callback::Event;
use payment_callback::api::PaymentAsked;
use payment_callback::poll::{Pauses, Turn};
use payment_callback::store::polls::{self, Wanted};
use tokio_util::sync::CancellationToken;

use super::line::{Line, Place};
use super::rounds::{Round, rounds};

/// What is counted.
const QUERY: &str = "query";

/// How long after its turn was taken a question is sent, at the most.
const SENT_WITHIN: Duration = Duration::from_secs(3);

/// The poller of a server. Cheap to clone.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "the application's state has nothing to show")]
pub struct Polling {
    lines: Vec<(Arc<Line>, TimeDelta)>,
    pause: Duration,
}

impl Polling {
    /// Polls on these lines, but those whose endpoint is not to be polled.
    pub fn new(lines: &[Arc<Line>], pause: Duration) -> Self {
        let polled = lines.iter().filter_map(|line| Some((line.clone(), line.endpoint().polled_after?)));
        Self { lines: polled.collect(), pause }
    }

    /// Polls until `stop`. A provider that is slow delays no other.
    pub async fn run(self, stop: CancellationToken) {
        let (pause, stop) = (self.pause, &stop);
        join_all(self.lines.iter().map(|(line, after)| rounds(pause, stop, || round(line, *after)))).await;
    }

    /// One round on every line; answers about how many payments was asked.
    ///
    /// # Errors
    ///
    /// If the database does not say whose turn it is.
    pub async fn once(&self) -> sqlx::Result<usize> {
        let mut asked = 0;
        for (line, after) in &self.lines {
            asked += round(line, *after).await?.turns;
        }
        Ok(asked)
    }
}

/// As many payments as may be asked about at once.
async fn round(line: &Line, after: TimeDelta) -> sqlx::Result<Round> {
    let places = line.places().await;
    if places.is_empty() {
        return Ok(Round::default());
    }
    let now = line.state().clock.now();
    let turn = TimeDelta::from_std(SENT_WITHIN + line.timeout()).unwrap_or(TimeDelta::MAX);
    let pauses = Pauses { first: after, turn };
    let wanted = Wanted {
        client: line.client_id(),
        provider: line.endpoint().provider.kind(),
        now,
        made_by: now - after,
        limit: i64::try_from(places.len()).unwrap_or(i64::MAX),
    };
    let mut connection = line.state().database.pool().acquire().await?;
    let turns =
        polls::take_turns(&mut connection, wanted, |turn| turn.next(now, pauses, rand::random())).await?;
    drop(connection);
    let round = Round::of(turns.len(), places.len());
    // Places without a turn are given back now, the others each with its answer.
    let placed: Vec<(&Turn, Place)> = turns.iter().zip(places).collect();
    join_all(placed.into_iter().map(|(turn, place)| poll(line, place, turn))).await;
    Ok(round)
}

async fn poll(line: &Line, place: Place, turn: &Turn) {
    let asked = PaymentAsked { payment_no: &turn.payment_no, payment_id: None };
    let told = line.ask(
        &place,
        QUERY,
        |api, sending| api.query(&asked, sending),
        |api, response, now| api.read_query(&asked, response, now),
    );
    // What went wrong is logged and counted, and the payment's next turn comes.
    let Ok((notices, body)) = told.await else { return };
    for notice in notices {
        if let Event::OtherAccount { field } = notice.event {
            tracing::warn!(
                endpoint = line.endpoint().name,
                payment_no = turn.payment_no,
                "the provider answers about somebody else's payment: {field} is not ours"
            );
        }
        if is_news(&notice.event) && !line.take_in(notice, body.clone()).await {
            tracing::debug!(
                payment_no = turn.payment_no,
                "an answer could not be dealt with; it is asked for again"
            );
        }
    }
}

/// Whether something has happened that books are kept of.
fn is_news(event: &Event) -> bool {
    match event {
        Event::PaymentSucceeded { .. }
        | Event::PaymentFailed { .. }
        | Event::PaymentClosed { .. }
        | Event::Refunded(_) => true,
        Event::Disputed { .. }
        | Event::Noted { .. }
        | Event::OtherAccount { .. }
        | Event::UnknownType
        | Event::ToBeFetched { .. } => false,
    }
}
