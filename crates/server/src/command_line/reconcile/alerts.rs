//! Differences that become payment alerts, each once however often it is found.

use std::collections::BTreeSet;
use std::fmt;

use ::client::ClientId;
use ::reconciliation::{Difference, DifferenceKind, Subject, Told};
use anyhow::Context;
use chrono::{DateTime, Utc};
use desk::ids::Ids;
use desk::store::{Saved, Statements, Writes};
use desk::working_set::{Changes, WorkingSet};
use desk::{Clock, SystemClock, announce};
use payment_callback::store::alerts::causes_known;
use payment_callback::{Alert, AlertId, AlertKind, CaseChanges, ProviderKind};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

/// Alerts that are raised in one transaction at most.
const ALERTS_MAX: usize = 256;

/// Tries of a transaction that another reconciliation of the same statement gets in the way of.
const TRIES_MAX: u32 = 10;

/// The alerts of a reconciliation, as its differences are found.
///
/// Each is saved as the desk saves what it decides, with the event that tells of it. It does not come through the desk's
/// door: what makes it happen once is its own cause, which is unique for ever, and not a record that is deleted one day.
#[derive(Debug)]
pub struct Raising {
    connection: PgConnection,
    client_id: ClientId,
    provider: ProviderKind,
    waiting: Vec<Alert>,
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
    /// Begins, on a connection of its own: the other one reads while this one writes.
    pub async fn begin(
        owner: &PgConnectOptions,
        client_id: ClientId,
        provider: ProviderKind,
    ) -> anyhow::Result<Self> {
        let connection = PgConnection::connect_with(owner).await.context("cannot raise alerts")?;
        let (waiting, raised) = (Vec::new(), Raised::default());
        Ok(Self { connection, client_id, provider, waiting, unidentified: 0, raised })
    }

    /// Takes a difference; it is saved together with others.
    pub async fn add(&mut self, difference: Difference) -> anyhow::Result<()> {
        let Some(kind) = kind(difference.kind) else {
            self.unidentified += u64::from(is_unidentified(&difference));
            return Ok(());
        };
        // What cannot be read may be the very line that is missed.
        if kind == AlertKind::MissingThere && self.unidentified > 0 {
            self.raised.withheld += 1;
            return Ok(());
        }
        let Some(cause) = difference.cause() else { return Ok(()) };
        self.waiting.push(self.alert(kind, cause, difference));
        if self.waiting.len() >= ALERTS_MAX { self.save().await } else { Ok(()) }
    }

    /// Saves what is left, and answers what became of all.
    pub async fn finish(mut self) -> anyhow::Result<Raised> {
        self.save().await?;
        self.connection.close().await?;
        Ok(self.raised)
    }

    fn alert(&self, kind: AlertKind, cause: String, difference: Difference) -> Alert {
        let told = |told: &Option<Told>| told.as_ref().and_then(|told| told.amount);
        let number = |told: &Option<Told>| told.as_ref().and_then(|told| told.payment_no.clone());
        Alert {
            client_id: self.client_id,
            id: AlertId(new_id()),
            kind,
            cause,
            payment_no: number(&difference.books).or(number(&difference.statement)),
            provider: self.provider,
            receipt_id: None,
            expected: told(&difference.books),
            received: told(&difference.statement),
            detail: Some(detail(&difference)),
            provider_payment_id: difference.payment_id,
            resolution: None,
            version: 1,
            created_at: SystemClock.now(),
        }
    }

    async fn save(&mut self) -> anyhow::Result<()> {
        let alerts = std::mem::take(&mut self.waiting);
        if alerts.is_empty() {
            return Ok(());
        }
        for _ in 1..TRIES_MAX {
            match self.try_to_save(&alerts).await {
                Err(error) if is_taken(&error) => {}
                saved => return saved.context("cannot raise alerts"),
            }
        }
        self.try_to_save(&alerts).await.context("cannot raise alerts")
    }

    async fn try_to_save(&mut self, alerts: &[Alert]) -> sqlx::Result<()> {
        let mut transaction = self.connection.begin().await?;
        let causes: Vec<(AlertKind, &str)> =
            alerts.iter().map(|alert| (alert.kind, alert.cause.as_str())).collect();
        let mut seen: BTreeSet<(&str, String)> = causes_known(&mut transaction, self.client_id, &causes)
            .await?
            .into_iter()
            .map(|(kind, cause)| (kind.as_str(), cause))
            .collect();
        let new: Vec<Alert> = alerts
            .iter()
            .filter(|alert| seen.insert((alert.kind.as_str(), alert.cause.clone())))
            .cloned()
            .collect();
        let count = new.len();
        if count > 0 {
            let saved = desk::store::save(&mut transaction, &mut Statements::default(), writes(new)).await?;
            debug_assert_eq!(saved, Saved::AsDecided, "what is new has no version that could move");
        }
        transaction.commit().await?;
        self.raised.new += count as u64;
        self.raised.known += (alerts.len() - count) as u64;
        Ok(())
    }
}

/// The rows of alerts, with the events that tell of them.
fn writes(alerts: Vec<Alert>) -> Writes {
    let now: DateTime<Utc> = alerts[0].created_at;
    let made = CaseChanges { alerts, ..CaseChanges::default() };
    let events = announce::payments::of_case(&made, &mut Ids::beginning_with(new_id()), now);
    let mut set = WorkingSet::default();
    set.apply(Changes { alerts: made.alerts, events, ..Changes::default() });
    Writes { rows: set.into_rows(), ..Writes::default() }
}

/// Whether another has raised one of them since they were looked for.
fn is_taken(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

/// The kind of alert for a kind of difference. What cannot be read is a matter of the file.
fn kind(kind: DifferenceKind) -> Option<AlertKind> {
    match kind {
        DifferenceKind::Unreadable => None,
        DifferenceKind::DuplicateLine => Some(AlertKind::DuplicateLine),
        DifferenceKind::MissingHere => Some(AlertKind::MissingHere),
        DifferenceKind::MissingThere => Some(AlertKind::MissingThere),
        DifferenceKind::CurrencyDiffers => Some(AlertKind::CurrencyDiffers),
        DifferenceKind::AmountDiffers => Some(AlertKind::AmountDiffers),
        DifferenceKind::PaymentNoDiffers => Some(AlertKind::PaymentNoDiffers),
    }
}

fn is_unidentified(unreadable: &Difference) -> bool {
    match unreadable.subject {
        None => true,
        Some(Subject::Payment) => false,
        Some(Subject::Refund) => unreadable.refund_id.is_none(),
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

#[expect(
    clippy::disallowed_methods,
    reason = "this is an edge where ids are made: nobody asks for an alert by a request"
)]
fn new_id() -> Uuid {
    Uuid::now_v7()
}
