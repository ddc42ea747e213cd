//! Asking providers for refunds, and what became of them.
//!
//! A refund is asked for under one number for ever. Its turn is taken in the database before its provider is asked, as a
//! payment's is. At its first turn it is asked for; at each later one it is asked *about*, since whether the request before
//! was heard is not known for certain, not even if there was none because the server died: only where the provider knows
//! of no such refund is it asked for again, under the same number. What the provider says comes to the door as a callback
//! does.

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
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::line::{Fault, Line};
use crate::routes::callbacks::take;

/// What is counted.
const REFUND: &str = "refund";
const QUERY_REFUND: &str = "query_refund";

/// What is recorded of an answer that said nothing about the refund itself.
const OPERATION: &str = "note refund";

/// The pause after a refund's first turn. It doubles with each turn.
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
        let asking = self.lines.iter().map(|line| async {
            let mut is_busy = false;
            loop {
                let pause = if is_busy { Duration::ZERO } else { self.pause };
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = sleep(pause) => {}
                }
                is_busy = match round(line).await {
                    Ok(asked) => asked == line.at_once_max(),
                    Err(error) => {
                        tracing::debug!(%error, "cannot look which refunds are due now");
                        false
                    }
                };
            }
        });
        join_all(asking).await;
    }

    /// One round on every line; answers for or about how many refunds was asked.
    ///
    /// # Errors
    ///
    /// If the database does not say which are due.
    pub async fn once(&self) -> sqlx::Result<usize> {
        let mut asked = 0;
        for line in &self.lines {
            asked += round(line).await?;
        }
        Ok(asked)
    }
}

/// When a refund that was asked for or about so often before this turn has its next one.
fn next_turn(now: DateTime<Utc>, asked: i32, chance: u8) -> DateTime<Utc> {
    let pause = (PAUSE * (1 << asked.clamp(0, 16))).min(PAUSE_MAX);
    now + pause + pause * i32::from(chance) / (4 * i32::from(u8::MAX))
}

/// As many refunds as may be asked for at once.
async fn round(line: &Line) -> sqlx::Result<usize> {
    let allowance = line.allowance();
    if allowance == 0 {
        return Ok(0);
    }
    let now = line.state().clock.now();
    let whose = (line.client_id(), line.endpoint().provider.kind());
    let limit = i64::try_from(allowance).unwrap_or(i64::MAX);
    let mut connection = line.state().database.pool().acquire().await?;
    let next = |asked| next_turn(now, asked, rand::random());
    let turns = asked_refunds::take_turns(&mut connection, whose, now, limit, next).await?;
    drop(connection);
    join_all(turns.iter().map(|(refund, asked)| take_turn(line, refund, *asked))).await;
    Ok(turns.len())
}

/// What is to be noted of a turn; what a provider has said is taken in at once.
async fn take_turn(line: &Line, refund: &AskedRefund, asked: i32) {
    let is_first = asked == 0;
    // What went wrong is logged and counted, and the next turn comes.
    if !is_first && !matches!(ask_about(line, refund).await, Ok(RefundState::Unknown)) {
        return;
    }
    let came_of_it = match ask_for(line, refund).await {
        Ok(_) => return,
        Err(Fault::Api(ApiFault::Refused { code })) if is_first => Asked::Refused(code),
        // It may be refused because a request before it was heard after all.
        Err(Fault::Api(ApiFault::Refused { code })) => match ask_about(line, refund).await {
            Ok(RefundState::Unknown) => Asked::Refused(code),
            _ => return,
        },
        Err(_) => Asked::Unanswered,
    };
    note(line, refund, came_of_it, asked).await;
}

async fn ask_for(line: &Line, refund: &AskedRefund) -> Result<RefundState, Fault> {
    let number = refund.refund_no();
    let wanted = wanted(refund, &number);
    let Ok(request) = line.api().refund(&wanted, line.sending(&line.nonce())) else {
        return Err(Fault::Api(ApiFault::Refused { code: "not_askable".to_owned() }));
    };
    let told = line.ask(REFUND, |_, _| request, |api, response, now| api.read_refund(&wanted, response, now));
    let (answer, body) = told.await?;
    take_in(line, &wanted, &answer, body).await;
    Ok(answer.state)
}

async fn ask_about(line: &Line, refund: &AskedRefund) -> Result<RefundState, Fault> {
    let number = refund.refund_no();
    let wanted = wanted(refund, &number);
    let told = line.ask(
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
    if let Some(notice) = answer.notice(asked, line.api().tells_totals())
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
    let reply = line.state().desk.submit(request, Some(take::WAIT)).await;
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

    #[test]
    fn the_pauses_double_up_to_six_hours_and_never_end() {
        let pauses: Vec<i64> = (0..16)
            .map(|asked| (next_turn(DateTime::UNIX_EPOCH, asked, 0) - DateTime::UNIX_EPOCH).num_seconds())
            .collect();
        assert_eq!(pauses[..4], [5, 10, 20, 40]);
        assert_eq!(pauses[15], PAUSE_MAX.num_seconds());
        assert!(next_turn(DateTime::UNIX_EPOCH, i32::MAX, u8::MAX) > DateTime::UNIX_EPOCH);
    }
}
