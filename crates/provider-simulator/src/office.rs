//! The providers' office: their books, and the callbacks about what happens in them.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::books::{Booked, BookedRefund, Books, NotBooked};
use crate::clock::now;
use crate::delivery::{self, Callbacks, Plan};
use crate::event::{Event, Outcome, Payment, Unsayable, What};
use crate::ids;
use crate::journal::Journal;
use crate::provider::Provider;
use crate::report::Line;
use crate::scenario::{Action, RefundAsked, Scenario};
use crate::sender::{NoSuchStyle, Sender, Style};
use crate::target::Target;
use crate::trouble::Trouble;

/// Whom the office tells of each delivery.
pub type Report = Box<dyn Fn(Line) + Send + Sync>;

/// The office of all four providers.
pub struct Office {
    kept: Mutex<Kept>,
    /// What goes wrong with its answers.
    pub trouble: Trouble,
    /// The payments whose next refund gets stuck, if it is asked for through an API.
    sticking: Mutex<HashSet<String>>,
    /// Where callbacks go; nowhere when it is to keep silent.
    server: Option<Target>,
    /// How they go when nobody says otherwise.
    plan: Plan,
    report: Report,
}

struct Kept {
    books: Books,
    journal: Journal,
}

impl fmt::Debug for Office {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Office").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Why something did not happen, or was not told.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It cannot happen.
    #[error(transparent)]
    NotBooked(#[from] NotBooked),
    /// The provider has no way to say such an amount, or such a currency.
    #[error(transparent)]
    Unsayable(#[from] Unsayable),
    /// The provider cannot sign that way.
    #[error(transparent)]
    Style(#[from] NoSuchStyle),
    /// It could not be written down, and so did not happen.
    #[error("the books cannot be written")]
    Unwritten(#[from] io::Error),
}

/// What has become of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Every delivery.
    pub lines: Vec<Line>,
    /// Whether every copy was acknowledged. Nothing was to be, when nobody was called back.
    pub acknowledged: bool,
    /// Why nobody was called back, if it was not the office that was to keep silent: the provider sends no such callback.
    pub silent_because: Option<Unsayable>,
}

impl Office {
    /// An office that goes on from `books`.
    pub fn new(
        (journal, books): (Journal, Books),
        trouble: Trouble,
        server: Option<Target>,
        plan: Plan,
        report: Report,
    ) -> Self {
        let kept = Mutex::new(Kept { books, journal });
        Self { kept, trouble, sticking: Mutex::default(), server, plan, report }
    }

    /// Looks into the books.
    pub fn read<R>(&self, look: impl FnOnce(&Books) -> R) -> R {
        look(&self.kept().books)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // An entry is applied after it was written, so a panic between the two leaves books that are whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a scenario happen, and tells of it by `plan` unless it is to be silent. What had happened before does not happen
    /// again, and is told again.
    ///
    /// # Errors
    ///
    /// When it cannot happen.
    pub async fn happen(&self, scenario: &Scenario, plan: &Plan, silent: bool) -> Result<Told, Refused> {
        let sender = Sender::demo(scenario.provider, scenario.style)?;
        sayable(scenario, &sender)?;
        let (booked, refund) = self.book(scenario)?;
        let what = match (&scenario.action, refund) {
            (Action::Pay, _) => What::Succeeded,
            (Action::Fail, _) => What::Failed,
            (Action::Close, _) => What::Closed,
            (Action::Refund(_), Some(refund)) => What::Refunded(refund.refund),
            (Action::Refund(asked), None) => return Err(NotBooked::Unknown(asked.refund_no.clone()).into()),
        };
        let mut told = Told { lines: Vec::new(), acknowledged: true, silent_because: None };
        let Some(server) = self.server.clone().filter(|_| !silent) else { return Ok(told) };
        let events = scenario.events_of(&booked.payment, what, now());
        let callbacks = Callbacks { server, endpoint: scenario.provider.to_string() };
        let lines = Mutex::new(Vec::new());
        let delivered = delivery::deliver(&sender, &events, &callbacks, plan, &|line| {
            (self.report)(line.clone());
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        })
        .await;
        match delivered {
            Ok(acknowledged) => told.acknowledged = acknowledged,
            Err(silent @ Unsayable::Silent { .. }) => told.silent_because = Some(silent),
            Err(unsayable) => return Err(unsayable.into()),
        }
        told.lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(told)
    }

    fn book(&self, scenario: &Scenario) -> Result<(Booked, Option<BookedRefund>), Refused> {
        let mut kept = self.kept();
        if let Some(entry) = kept.books.entry_of(scenario, now())? {
            kept.journal.write(&entry)?;
            kept.books.apply(&entry)?;
        }
        let id = scenario.payment().provider_payment_id;
        let booked = kept.books.of_id(scenario.provider, &id).cloned();
        let booked = booked.ok_or_else(|| NotBooked::Unknown(scenario.payment_no.clone()))?;
        let refund = match &scenario.action {
            Action::Refund(asked) => booked.refund(&asked.refund_no).cloned(),
            Action::Pay | Action::Fail | Action::Close => None,
        };
        Ok((booked, refund))
    }

    /// Lets the next refund of this payment that is asked for through the API of WeChat Pay get stuck (`ABNORMAL`), as one
    /// does whose payer has closed the account that it would go to. Nobody else says so of a refund that is asked for.
    pub fn stick(&self, payment_no: &str) {
        self.sticking().insert(payment_no.to_owned());
    }

    fn sticking(&self) -> MutexGuard<'_, HashSet<String>> {
        self.sticking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives money back, as a merchant asks for through an API, and calls back about it in the background. The same
    /// number again gives nothing back: `true` says that it did now.
    ///
    /// # Errors
    ///
    /// When it cannot be given back.
    pub fn refund(
        self: &Arc<Self>,
        provider: Provider,
        provider_payment_id: &str,
        asked: &RefundAsked,
    ) -> Result<(Booked, BookedRefund, bool), Refused> {
        let unknown = || NotBooked::Unknown(provider_payment_id.to_owned());
        let (booked, is_new) = {
            let mut kept = self.kept();
            let booked = kept.books.of_id(provider, provider_payment_id).ok_or_else(unknown)?;
            let payment_no = booked.payment.payment_no.clone();
            let is_to_stick = provider == Provider::WechatPay && self.sticking().contains(&payment_no);
            let outcome = if is_to_stick { Outcome::Abnormal } else { asked.outcome };
            let entry = kept.books.refund_of(booked, &RefundAsked { outcome, ..asked.clone() }, now())?;
            if let Some(entry) = &entry {
                kept.journal.write(entry)?;
                kept.books.apply(entry)?;
                self.sticking().remove(&payment_no);
            }
            let booked = kept.books.of_id(provider, provider_payment_id).ok_or_else(unknown)?.clone();
            (booked, entry.is_some())
        };
        let refund = booked.refund(&asked.refund_no).ok_or_else(unknown)?.clone();
        if is_new {
            self.call_back(provider, &booked, &refund);
        }
        Ok((booked, refund, is_new))
    }

    fn call_back(self: &Arc<Self>, provider: Provider, booked: &Booked, refund: &BookedRefund) {
        let (Some(server), Ok(sender)) = (self.server.clone(), Sender::demo(provider, Style::Usual)) else {
            return;
        };
        let event = Event {
            id: ids::event(provider, refund.at),
            at: refund.at,
            payment: booked.payment.clone(),
            what: What::Refunded(refund.refund.clone()),
        };
        let callbacks = Callbacks { server, endpoint: provider.to_string() };
        let office = Arc::clone(self);
        tokio::spawn(async move {
            let report = |line| (office.report)(line);
            // Whether it was acknowledged stands in the lines. What a provider cannot say, it has not been asked to do.
            let _ = delivery::deliver(&sender, &[event], &callbacks, &office.plan, &report).await;
        });
    }
}

/// Refuses a sum that the provider cannot write, before it is in the books.
fn sayable(scenario: &Scenario, sender: &Sender) -> Result<(), Unsayable> {
    let refund = match &scenario.action {
        Action::Refund(asked) => asked.amount,
        Action::Pay | Action::Fail | Action::Close => None,
    };
    for amount in [Some(scenario.amount), refund].into_iter().flatten() {
        let payment = Payment { amount, ..scenario.payment() };
        // Every provider tells of a payment, and with the same units as of everything else.
        let paid = Event { id: String::new(), at: now(), payment, what: What::Succeeded };
        sender.message(&paid, now())?;
    }
    Ok(())
}
