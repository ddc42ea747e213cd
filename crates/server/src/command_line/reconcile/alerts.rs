//! Differences that become payment alerts, each once however often it is found.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::client::ClientId;
use ::reconciliation::{Difference, DifferenceKind, Subject, Told};
use anyhow::{Context, bail};
use desk::command::{PaymentCommand, StatementQuestion};
use desk::schema::Database;
use desk::{Answered, Command, Desk, Hooks, Metrics, Outcome, SystemClock};
use futures::future::join_all;
use idempotency::fingerprint::Meaning;
use idempotency::{Answer, Name};
use payment_callback::{AlertKind, ProviderKind};
use sqlx::postgres::PgConnectOptions;

use super::ReconcileArguments;
use crate::configuration::Configuration;
use crate::render::render;

/// What the effect is recorded as.
const OPERATION: &str = "ask about a statement";

/// What stands for the id of a request in these commands.
const REQUEST_ID: &str = "reconcile";

/// Questions that are asked at once: they fill a batch of the desk or two.
const ASKED_AT_ONCE: usize = 256;

/// Tries of a question that the desk cannot take now.
const TRIES_MAX: u32 = 10;

/// How long another process is waited for that asks the same.
const WAIT: Duration = Duration::from_secs(5);

/// The alerts of a reconciliation, as its differences are found.
///
/// Each is a command like any other, under a name that follows from what is asked: found once more, it is answered from
/// its record, and when that is gone, from the alert itself, whose cause is unique for ever.
pub struct Raising {
    desk: Desk,
    client_id: ClientId,
    provider: ProviderKind,
    /// The statement's name, by which a line that cannot be read is known.
    file: String,
    waiting: Vec<StatementQuestion>,
    unidentified: u64,
    raised: Raised,
}

/// What became of the differences.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Raised {
    new: u64,
    known: u64,
    withheld: u64,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raised {} alerts; {} were raised before.", self.new, self.known)?;
        if self.withheld > 0 {
            write!(
                f,
                " None was raised for {} that are missing there, for they may be what cannot be read.",
                self.withheld
            )?;
        }
        Ok(())
    }
}

impl Raising {
    /// Begins, with a desk of its own: the reconciliation reads on while this one writes.
    pub async fn begin(
        owner: &PgConnectOptions,
        configuration: &Configuration,
        client_id: ClientId,
        arguments: &ReconcileArguments,
    ) -> anyhow::Result<Self> {
        let database = Database::connect(owner.clone(), 1).await.context("cannot raise alerts")?;
        let desk = Desk::open(
            database,
            configuration.desk_settings(),
            Arc::new(SystemClock),
            Arc::new(render),
            Hooks::default(),
            Metrics::default(),
        );
        Ok(Self {
            desk,
            client_id,
            provider: arguments.provider,
            file: file_name(&arguments.file),
            waiting: Vec::new(),
            unidentified: 0,
            raised: Raised::default(),
        })
    }

    /// Takes a difference; it is asked about together with others.
    pub async fn add(&mut self, difference: Difference) -> anyhow::Result<()> {
        let kind = kind(difference.kind);
        self.unidentified += u64::from(is_unidentified(&difference));
        // What cannot be read may be the very line that is missed.
        if kind == AlertKind::MissingThere && self.unidentified > 0 {
            self.raised.withheld += 1;
            return Ok(());
        }
        let Some(cause) = difference.cause(&self.file) else { return Ok(()) };
        self.waiting.push(self.question(kind, cause, difference));
        if self.waiting.len() >= ASKED_AT_ONCE { self.ask().await } else { Ok(()) }
    }

    /// Asks what is left, and answers what became of all.
    pub async fn finish(mut self) -> anyhow::Result<Raised> {
        let asked = self.ask().await;
        self.desk.drain().await;
        asked.map(|()| self.raised)
    }

    fn question(&self, kind: AlertKind, cause: String, difference: Difference) -> StatementQuestion {
        let told = |told: &Option<Told>| told.as_ref().and_then(|told| told.amount);
        let number = |told: &Option<Told>| told.as_ref().and_then(|told| told.payment_no.clone());
        StatementQuestion {
            kind,
            cause,
            payment_no: number(&difference.books).or(number(&difference.statement)),
            provider: self.provider,
            books: told(&difference.books),
            statement: told(&difference.statement),
            detail: detail(&difference),
            provider_payment_id: difference.payment_id,
        }
    }

    async fn ask(&mut self) -> anyhow::Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        for _ in 0..TRIES_MAX {
            let replies = join_all(waiting.iter().map(|question| {
                let request = request(self.client_id, question.clone());
                async { self.desk.submit(request, Some(WAIT)).await.answered }
            }));
            let mut again = Vec::new();
            for (question, answered) in waiting.into_iter().zip(replies.await) {
                match answered {
                    Answered::Ran(answer) if answer != nothing_due() => self.raised.new += 1,
                    Answered::Ran(_) | Answered::Replayed(_) => self.raised.known += 1,
                    Answered::Reused | Answered::Failed => bail!("cannot raise alerts: the log says why"),
                    Answered::InProgress
                    | Answered::Undecided
                    | Answered::Contended
                    | Answered::Overloaded
                    | Answered::Unavailable
                    | Answered::OutcomeUnknown => again.push(question),
                }
            }
            if again.is_empty() {
                return Ok(());
            }
            waiting = again;
        }
        bail!("cannot raise alerts: the database is away, or others are faster each time")
    }
}

fn request(client_id: ClientId, question: StatementQuestion) -> desk::Request {
    desk::Request {
        name: Name { client_id, key: question.door_key() },
        fingerprint: Meaning::of(OPERATION).field("cause", &question.cause).fingerprint(),
        operation: OPERATION,
        command: Command::Payment(PaymentCommand::AskAboutStatement(Box::new(question))),
        request_id: REQUEST_ID.to_owned(),
    }
}

/// The answer to a question that was asked before and whose record is gone.
fn nothing_due() -> Answer {
    render(&Outcome::NothingDue, REQUEST_ID).answer
}

/// The name of the statement, without its directory, so that it may lie elsewhere the next time.
fn file_name(path: &Path) -> String {
    path.file_name().map_or("-".into(), |name| name.to_string_lossy()).into_owned()
}

/// The kind of alert for a kind of difference.
fn kind(kind: DifferenceKind) -> AlertKind {
    match kind {
        DifferenceKind::Unreadable => AlertKind::UnreadableLine,
        DifferenceKind::DuplicateLine => AlertKind::DuplicateLine,
        DifferenceKind::MissingHere => AlertKind::MissingHere,
        DifferenceKind::MissingThere => AlertKind::MissingThere,
        DifferenceKind::CurrencyDiffers => AlertKind::CurrencyDiffers,
        DifferenceKind::AmountDiffers => AlertKind::AmountDiffers,
        DifferenceKind::PaymentNoDiffers => AlertKind::PaymentNoDiffers,
    }
}

/// Whether it is a line of which nobody can read what it is about.
fn is_unidentified(difference: &Difference) -> bool {
    difference.kind == DifferenceKind::Unreadable
        && match difference.subject {
            None => true,
            Some(Subject::Payment) => false,
            Some(Subject::Refund) => difference.refund_id.is_none(),
        }
}

/// What a person needs to find it in the statement.
fn detail(difference: &Difference) -> String {
    let subject = difference.subject.map_or("line", Subject::word);
    let number = |told: &Option<Told>| {
        told.as_ref().and_then(|told| told.payment_no.clone()).unwrap_or("no number".to_owned())
    };
    let parts = [
        Some(match difference.kind {
            DifferenceKind::Unreadable => format!("a {subject} of a statement cannot be read"),
            DifferenceKind::DuplicateLine => format!("a {subject} stands in a statement twice"),
            DifferenceKind::MissingHere => format!("a {subject} stands in a statement and not in the books"),
            DifferenceKind::MissingThere => {
                format!("a {subject} stands in the books and not in the statement of its time")
            }
            DifferenceKind::CurrencyDiffers | DifferenceKind::AmountDiffers => {
                format!("a {subject} stands in a statement otherwise than in the books")
            }
            DifferenceKind::PaymentNoDiffers => format!(
                "a {subject} is for {} in a statement, and for {} in the books",
                number(&difference.statement),
                number(&difference.books)
            ),
        }),
        difference.line.map(|line| format!("line {line}")),
        difference.refund_id.as_ref().map(|id| format!("refund {id}")),
        difference.detail.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
