//! Deliveries: an event sent until it is acknowledged or given up, and what goes wrong on the way on purpose.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use http::Method;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::clock::now;
use crate::event::{Event, Unsayable};
use crate::exchange::{self, Sending};
use crate::message::Message;
use crate::provider::Provider;
use crate::report::{Line, Next, Sent};
use crate::sender::Sender;
use crate::target::Target;

/// How events are delivered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// How often each event is delivered, as if the provider had forgotten that it was.
    pub copies: u32,
    /// Whether all of them are sent at once, or each after the last was acknowledged or given up.
    pub parallel: bool,
    /// How long to wait before the first, in milliseconds.
    pub delay_ms: u64,
    /// By what the provider's pauses are divided.
    pub faster: u32,
    /// How often one copy is sent at most; without it, as often as the provider does.
    pub attempts_max: Option<u32>,
    /// On how many first attempts of each copy the body is changed on the way.
    pub tampered: u32,
    /// On how many the signature is an hour old.
    pub stale: u32,
    /// On how many the answer is lost.
    pub answers_lost: u32,
    /// On how many the sender hangs up without waiting for an answer.
    pub hung_up: u32,
}

/// An hour passes in a second, so that a day of retries can be watched.
pub const FASTER_DEFAULT: u32 = 3600;

/// Older than any tolerance that a receiver should have.
const STALE: TimeDelta = TimeDelta::hours(1);

impl Default for Plan {
    fn default() -> Self {
        Self {
            copies: 1,
            parallel: false,
            delay_ms: 0,
            faster: FASTER_DEFAULT,
            attempts_max: None,
            tampered: 0,
            stale: 0,
            answers_lost: 0,
            hung_up: 0,
        }
    }
}

impl Plan {
    /// The pause after so many attempts, in the provider's time; `None` when there are no further ones.
    fn pause_after(&self, attempts: u32, provider: Provider) -> Option<Duration> {
        if self.attempts_max.is_some_and(|most| attempts >= most) {
            return None;
        }
        let pauses = provider.retries_s();
        let pause = pauses.get(usize::try_from(attempts).ok()?.checked_sub(1)?)?;
        Some(Duration::from_secs(*pause))
    }
}

/// Where callbacks go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Callbacks {
    /// The server.
    pub server: Target,
    /// The endpoint's name.
    pub endpoint: String,
}

/// Delivers `events` in their order, each as often as the plan says, and tells `report` of every attempt as soon as it is
/// over. Answers whether every copy was acknowledged.
///
/// # Errors
///
/// When one of the events cannot be told by this provider; nothing was sent then.
pub async fn deliver(
    sender: &Sender,
    events: &[Event],
    callbacks: &Callbacks,
    plan: &Plan,
    report: &(impl Fn(Line) + Sync),
) -> Result<bool, Unsayable> {
    for event in events {
        sender.message(event, now())?;
    }
    sleep(Duration::from_millis(plan.delay_ms)).await;
    let copies = events.iter().flat_map(|event| (1..=plan.copies).map(move |copy| (event, copy)));
    let deliveries =
        copies.map(|(event, copy)| Delivery { sender, event, copy, callbacks, plan }.run(report));
    if plan.parallel {
        return join_all(deliveries).await.into_iter().try_fold(true, |all, one| Ok(all & one?));
    }
    let mut all = true;
    for delivery in deliveries {
        all &= delivery.await?;
    }
    Ok(all)
}

/// One copy of one event.
struct Delivery<'a> {
    sender: &'a Sender,
    event: &'a Event,
    copy: u32,
    callbacks: &'a Callbacks,
    plan: &'a Plan,
}

impl Delivery<'_> {
    async fn run(self, report: &(impl Fn(Line) + Sync)) -> Result<bool, Unsayable> {
        let provider = self.sender.provider();
        for attempt in 1.. {
            let at = now();
            let (sent, message) = self.sign(attempt, at)?;
            let answer = self.send(sent, &message, provider.answer_within()).await;
            let next = match &answer {
                Ok(answer) if provider.takes_for_acknowledged(answer.status, &answer.body) => {
                    Next::Acknowledged
                }
                Ok(answer) if provider.ends_on(answer.status) => Next::GivenUp,
                _ => match self.plan.pause_after(attempt, provider) {
                    Some(pause) => Next::Again { pause, here: pause / self.plan.faster.max(1) },
                    None => Next::GivenUp,
                },
            };
            report(Line {
                at,
                provider,
                event_id: self.event.id.clone(),
                what: self.event.what.to_string(),
                copy: self.copy,
                attempt,
                sent,
                answer,
                next,
            });
            match next {
                Next::Acknowledged => return Ok(true),
                Next::GivenUp => break,
                Next::Again { here, .. } => sleep(here).await,
            }
        }
        Ok(false)
    }

    /// Each attempt is signed afresh, for the moment at which it is made.
    fn sign(&self, attempt: u32, at: DateTime<Utc>) -> Result<(Sent, Message), Unsayable> {
        let plan = self.plan;
        let signed_at = if attempt <= plan.stale { at - STALE } else { at };
        let message = self.sender.message(self.event, signed_at)?;
        Ok(if attempt <= plan.tampered {
            (Sent::Tampered, message.tampered_with())
        } else if attempt <= plan.stale {
            (Sent::Stale, message)
        } else if attempt <= plan.answers_lost {
            (Sent::AnswerLost, message)
        } else if attempt <= plan.hung_up {
            (Sent::HungUp, message)
        } else {
            (Sent::Whole, message)
        })
    }

    async fn send(
        &self,
        sent: Sent,
        message: &Message,
        within: Duration,
    ) -> Result<exchange::Answer, exchange::Fault> {
        let path = format!("/v1/callbacks/{}", self.callbacks.endpoint);
        let sending = Sending {
            method: Method::POST,
            path: &path,
            headers: message.headers.iter().map(|(name, value)| (*name, value.as_str())).collect(),
            body: &message.body,
        };
        let server = &self.callbacks.server;
        match sent {
            Sent::Whole | Sent::Tampered | Sent::Stale => exchange::ask(server, &sending, within).await,
            Sent::AnswerLost => Err(exchange::lose_answer(server, &sending, within).await),
            Sent::HungUp => Err(exchange::hang_up(server, &sending).await),
        }
    }
}

#[cfg(test)]
mod tests;
