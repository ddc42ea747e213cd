//! Asking providers for refunds, and what became of them.
//!
//! A refund is asked for under one number for ever. Its turn is taken in the database before its provider is asked, as a
//! payment's is. At its first turn it is asked for; at each later one it is asked *about*, since whether the request before
//! was heard is not known for certain, not even if there was none because the server died: only where the provider knows
//! of no such refund is it asked for again, under the same number. What the provider says comes to the door as a callback
//! does.
//!
//! A turn has a length, and ends with it; the next one begins no sooner. So nobody asks about a refund while the request for
//! it is still on its way, whose end would be taken for the provider's not knowing of it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use desk::command::PaymentCommand;
use desk::{Answered, Command};
use futures::future::join_all;
use idempotency::fingerprint::Meaning;
use idempotency::{Key, Name};
use payment_callback::api::{ApiFault, RefundAnswer, RefundAsked, RefundState};
use payment_callback::store::asked_refunds;
use payment_callback::{Asked, AskedRefund};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::line::{Fault, Line, Place};
use super::rounds::{Round, rounds};
use crate::routes::callbacks::take;
use crate::telemetry::traces;

/// What is counted.
const REFUND: &str = "refund";
const QUERY_REFUND: &str = "query_refund";

/// What is recorded of an answer that said nothing about the refund itself.
const OPERATION: &str = "note refund";

/// How many requests a turn but the first makes at most: about the refund, for it, and about it once more.
const REQUESTS_MAX: u32 = 3;

/// How long what the provider has said may take to be noted, within a turn.
const NOTING: Duration = Duration::from_secs(3);

/// The pause after a refund's first turn, unless that may take longer. It doubles with each turn.
const PAUSE: TimeDelta = TimeDelta::seconds(5);

/// The longest pause: money that is owed is asked about for ever.
const PAUSE_MAX: TimeDelta = TimeDelta::hours(6);

/// The worker of a server. Cheap to clone.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "the application's state has nothing to show")]
pub struct Refunding {
    lines: Vec<Arc<Line>>,
    pause: Duration,
}

impl Refunding {
    /// Asks on these lines.
    pub fn new(lines: &[Arc<Line>], pause: Duration) -> Self {
        Self { lines: lines.to_vec(), pause }
    }

    /// Asks until `stop`. A provider that is slow delays no other.
    pub async fn run(self, stop: CancellationToken) {
        let (pause, stop) = (self.pause, &stop);
        join_all(self.lines.iter().map(|line| rounds(pause, stop, || round(line)))).await;
    }

    /// One round on every line; answers for or about how many refunds was asked.
    ///
    /// # Errors
    ///
    /// If the database does not say which are due.
    pub async fn once(&self) -> sqlx::Result<usize> {
        let mut asked = 0;
        for line in &self.lines {
            asked += round(line).await?.turns;
        }
        Ok(asked)
    }
}

/// How long the turn may take of a refund that was asked for or about so often before, where each answer may take so long.
fn turn_length(asked: i32, timeout: Duration) -> Duration {
    timeout * if asked == 0 { 1 } else { REQUESTS_MAX } + NOTING
}

/// When a refund that was asked for or about so often before this turn has its next one.
fn next_turn(now: DateTime<Utc>, asked: i32, timeout: Duration, chance: u8) -> DateTime<Utc> {
    let length = TimeDelta::from_std(turn_length(asked, timeout)).unwrap_or(PAUSE_MAX);
    let pause = (PAUSE * (1 << asked.clamp(0, 16))).min(PAUSE_MAX).max(length);
    now + pause + pause * i32::from(chance) / (4 * i32::from(u8::MAX))
}

/// As many refunds as may be asked for at once.
async fn round(line: &Line) -> sqlx::Result<Round> {
    let places = line.places().await;
    if places.is_empty() {
        return Ok(Round::default());
    }
    // Taken before the turns are, so that whatever it takes to take them is a part of them.
    let began = Instant::now();
    let now = line.state().clock.now();
    let whose = (line.client_id(), line.endpoint().provider.kind());
    let limit = i64::try_from(places.len()).unwrap_or(i64::MAX);
    let mut connection = line.state().database.pool().acquire().await?;
    let timeout = line.timeout();
    let next = |asked| next_turn(now, asked, timeout, rand::random());
    let turns = asked_refunds::take_turns(&mut connection, whose, now, limit, next).await?;
    drop(connection);
    let round = Round::of(turns.len(), places.len());
    // Places without a turn are given back now, the others each at the end of its turn.
    let placed: Vec<_> = turns.iter().zip(places).collect();
    let taking = placed.into_iter().map(|((refund, asked), place)| async move {
        let ends_at = began + turn_length(*asked, timeout);
        if timeout_at(ends_at, take_turn(line, &place, refund, *asked)).await.is_err() {
            tracing::debug!(
                refund_no = refund.refund_no(),
                "a turn was cut off; what came of it is asked about"
            );
        }
    });
    join_all(taking).await;
    Ok(round)
}

/// Asks for a refund or about it, takes in what its provider says, and notes where it says nothing.
async fn take_turn(line: &Line, place: &Place, refund: &AskedRefund, asked: i32) {
    let is_first = asked == 0;
    // What went wrong is logged and counted, and the next turn comes.
    if !is_first && !matches!(ask_about(line, place, refund).await, Ok(RefundState::Unknown)) {
        return;
    }
    let came_of_it = match ask_for(line, place, refund).await {
        Ok(_) => return,
        Err(Fault::Api(ApiFault::Refused { code })) if is_first => Asked::Refused(code),
        // It may be refused because a request before it was heard after all.
        Err(Fault::Api(ApiFault::Refused { code })) => match ask_about(line, place, refund).await {
            Ok(RefundState::Unknown) => Asked::Refused(code),
            _ => return,
        },
        Err(_) => Asked::Unanswered,
    };
    note(line, refund, came_of_it, asked).await;
}

async fn ask_for(line: &Line, place: &Place, refund: &AskedRefund) -> Result<RefundState, Fault> {
    let number = refund.refund_no();
    let wanted = wanted(refund, &number);
    let Ok(request) = line.api().refund(&wanted, line.sending(&line.nonce())) else {
        return Err(Fault::Api(ApiFault::Refused { code: "not_askable".to_owned() }));
    };
    let told =
        line.ask(place, REFUND, |_, _| request, |api, response, now| api.read_refund(&wanted, response, now));
    let (answer, body) = told.await?;
    take_in(line, &wanted, &answer, body).await;
    Ok(answer.state)
}

async fn ask_about(line: &Line, place: &Place, refund: &AskedRefund) -> Result<RefundState, Fault> {
    let number = refund.refund_no();
    let wanted = wanted(refund, &number);
    let told = line.ask(
        place,
        QUERY_REFUND,
        |api, sending| api.query_refund(&wanted, sending),
        |api, response, now| api.read_query_refund(&wanted, response, now),
    );
    let (answer, body) = told.await?;
    take_in(line, &wanted, &answer, body).await;
    Ok(answer.state)
}

fn wanted<'a>(refund: &'a AskedRefund, number: &'a str) -> RefundAsked<'a> {
    RefundAsked {
        payment_no: refund.payment_no.as_deref().unwrap_or_default(),
        payment_id: &refund.provider_payment_id,
        refund_no: number,
        refund_id: refund.provider_refund_id.as_deref(),
        amount: refund.amount,
        paid: refund.paid,
    }
}

async fn take_in(line: &Line, asked: &RefundAsked<'_>, answer: &RefundAnswer, body: bytes::Bytes) {
    if let Some(notice) = answer.notice(asked, line.endpoint().provider.kind().tells_totals())
        && !line.take_in(notice, body).await
    {
        tracing::debug!(
            refund_no = asked.refund_no,
            "an answer could not be dealt with; it is asked for again"
        );
    }
}

/// Notes what came of asking, under a name that follows from the refund and its turn.
async fn note(line: &Line, refund: &AskedRefund, came_of_it: Asked, turn: i32) {
    let (id, turn, word) = (refund.id.to_string(), turn.to_string(), came_of_it.word());
    let parts = [id.as_bytes(), turn.as_bytes(), word.as_bytes()];
    let request = desk::Request {
        name: Name { client_id: refund.client_id, key: Key::of_service(OPERATION, &parts) },
        fingerprint: Meaning::of(OPERATION)
            .field("refund", &id)
            .field("turn", &turn)
            .field("came_of_it", word)
            .fingerprint(),
        operation: OPERATION,
        command: Command::Payment(PaymentCommand::NoteRefund {
            refund: Box::new(refund.clone()),
            came_of_it,
        }),
        request_id: super::line::REQUEST_ID.to_owned(),
    };
    let reply = traces::submit(&line.state().desk, request, Some(take::WAIT)).await;
    if !matches!(reply.answered, Answered::Ran(_) | Answered::Replayed(_)) {
        tracing::debug!(
            refund_id = id,
            "what came of asking for a refund could not be noted; it is asked about again"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(asked: i32, timeout: Duration) -> Duration {
        (next_turn(DateTime::UNIX_EPOCH, asked, timeout, 0) - DateTime::UNIX_EPOCH).to_std().unwrap()
    }

    #[test]
    fn the_pauses_double_up_to_six_hours_and_never_end() {
        let quick = Duration::from_secs(1);
        let pauses: Vec<u64> = (0..16).map(|asked| pause(asked, quick).as_secs()).collect();
        assert_eq!(pauses[..4], [5, 10, 20, 40]);
        assert_eq!(TimeDelta::seconds(pauses[15].cast_signed()), PAUSE_MAX);
        assert!(next_turn(DateTime::UNIX_EPOCH, i32::MAX, quick, u8::MAX) > DateTime::UNIX_EPOCH);
    }

    #[test]
    fn no_turn_begins_before_the_one_before_it_has_to_end() {
        for timeout in [Duration::from_millis(100), Duration::from_secs(10), Duration::from_secs(60)] {
            for asked in 0..20 {
                let (pause, length) = (pause(asked, timeout), turn_length(asked, timeout));
                assert!(pause >= length, "{pause:?} after turn {asked}, which may take {length:?}");
                assert!(length > timeout, "an answer may take {timeout:?}");
            }
        }
    }
}
