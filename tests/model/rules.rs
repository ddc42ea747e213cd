//! Scripts played to the rules alone, and answer by answer compared with the model.

use account::{AccountId, AccountStatus, Parties};
use chrono::{DateTime, Utc};
use client::ClientId;
use desk::Command;
use desk::ids::Ids;
use money::{Amount, Currency};
use order::PaymentTerms;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use uuid::Uuid;

use crate::ledger::{self, Ledger, units};
use crate::model::{Mistake, Model};
use crate::request::{Ask, Id, Kind, Who, Wish};
use crate::script::{Asked, OPENED, Script, Step, opening, scripts};
use crate::stage::configuration;
use crate::told::{Names, Told, compare, same};

const STEPS_MAX: usize = 60;

#[test]
fn the_rules_answer_as_the_model_does() {
    let cases = if onefold_tests::long() { 2_000 } else { 200 };
    if let Err(found) = explore(None, configuration(cases), STEPS_MAX) {
        panic!("{found}");
    }
}

#[test]
fn a_batch_decides_as_one_command_after_the_other_would() {
    let cases = if onefold_tests::long() { 2_000 } else { 200 };
    let sizes = prop::collection::vec(1..12_usize, STEPS_MAX);
    let result = TestRunner::new(configuration(cases))
        .run(&(scripts(1..=STEPS_MAX), sizes), |(script, sizes)| batches_agree(&script, &sizes));
    if let Err(found) = result {
        panic!("{found}");
    }
}

/// Looks for a script that a model (with a mistake) and the rules play differently.
pub(crate) fn explore(
    mistake: Option<Mistake>,
    configuration: Config,
    steps_max: usize,
) -> Result<(), TestError<Script>> {
    TestRunner::new(configuration).run(&scripts(1..=steps_max), |script| {
        let mut play = Play::new(mistake);
        let mut steps = opening().into_iter().chain(script.0);
        steps.try_for_each(|step| play.step(&step)).map_err(TestCaseError::fail)
    })
}

/// The model and the rules, with the same past.
struct Play {
    model: Model,
    asked: Asked,
    names: Names,
    ledger: Ledger,
    steps: u128,
}

impl Play {
    fn new(mistake: Option<Mistake>) -> Self {
        Self {
            model: Model::new(mistake),
            asked: Asked::default(),
            names: Names::default(),
            ledger: Ledger::default(),
            steps: 0,
        }
    }

    /// Plays a step to both and compares the answers, and what both have then. There are no keys here: what is asked
    /// again is asked anew, and what makes no sense is not asked.
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let Some((ask, wish)) = self.next(step) else { return Ok(()) };
        self.steps += 1;
        let command = (client(ask.who), command(&wish, &self.names), ids(self.steps));
        let decision = self.ledger.batch(&[command], now()).remove(0);
        // In the words of the API, which the comparison over HTTP reads too.
        let rendered = server::render::render(&decision.outcome, "the request");
        let told = Told {
            status: rendered.answer.status,
            content_type: rendered.answer.content_type.into_owned(),
            location: rendered.answer.location,
            body: serde_json::from_slice(&rendered.answer.body).map_err(|error| error.to_string())?,
            request_id: "the request".to_owned(),
        };
        let expected = self.model.decide(ask.who, &wish);
        let compared = compare(&expected, &told, &mut self.names)
            .and_then(|()| self.ledger.check())
            .and_then(|()| self.compare_accounts());
        compared.map_err(|difference| format!("at {ask:?}: {difference}\nthe rules: {told:?}"))
    }

    fn next(&mut self, step: &Step) -> Option<(Ask, Wish)> {
        let (ask, _) = self.asked.next(&self.model, step)?;
        let wish = ask.request.read().ok()?;
        // A path with no id in it leads to no rule.
        (ask.request.path_id() != Some(Id::Rubbish)).then_some((ask, wish))
    }

    fn compare_accounts(&self) -> Result<(), String> {
        for who in Who::BOTH {
            for expected in &self.model.books(who).accounts {
                let id = AccountId(self.names.uuid(expected.id));
                let account = &self.ledger.accounts[&(client(who), id)];
                let is = (units(account.available), account.version, account.status == AccountStatus::Closed);
                same(
                    &format!("{:?}", expected.id),
                    &is,
                    &(expected.available, expected.version, expected.closed),
                )?;
            }
        }
        let accounts = Who::BOTH.map(|who| self.model.books(who).accounts.len()).iter().sum();
        same("the number of accounts", &self.ledger.accounts.len(), &accounts)
    }
}

/// Decides the same commands one by one, in batches of these sizes, and as one batch.
fn batches_agree(script: &Script, sizes: &[usize]) -> Result<(), TestCaseError> {
    let mut play = Play::new(None);
    for step in opening() {
        play.step(&step).map_err(TestCaseError::fail)?;
    }
    let start = play.ledger.clone();
    let mut commands: Vec<ledger::Asked> = Vec::new();
    for step in &script.0 {
        let Some((ask, wish)) = play.next(step) else { continue };
        // Nobody can name an account before the batch that opens it has answered.
        if !names_opened_later(&wish) {
            let ids = ids(1_000 + commands.len() as u128);
            commands.push((client(ask.who), command(&wish, &play.names), ids));
        }
        // The model goes on, so that "all that is available" is what it will be.
        play.model.decide(ask.who, &wish);
    }

    let (mut singly, mut sized, mut whole) = (start.clone(), start.clone(), start);
    let one_by_one: Vec<_> =
        commands.iter().flat_map(|command| singly.batch(std::slice::from_ref(command), now())).collect();
    let mut rest = commands.as_slice();
    let mut in_batches = Vec::new();
    for size in sizes {
        let (batch, later) = rest.split_at((*size).min(rest.len()));
        in_batches.extend(sized.batch(batch, now()));
        rest = later;
    }
    let at_once = whole.batch(&commands, now());

    prop_assert_eq!(&in_batches, &one_by_one);
    prop_assert_eq!(&at_once, &one_by_one);
    for ledger in [&singly, &sized, &whole] {
        ledger.check().map_err(TestCaseError::fail)?;
        prop_assert_eq!(&ledger.accounts, &singly.accounts);
    }
    Ok(())
}

fn names_opened_later(wish: &Wish) -> bool {
    let ids = match wish {
        Wish::Open { .. } => [None, None],
        Wish::Move { from, to, .. } => [*from, *to],
        Wish::Close { account } | Wish::Order { account, .. } => [Some(*account), None],
    };
    ids.into_iter().flatten().any(|id| match id {
        Id::Account(Who::Ann, nth) => nth >= OPENED[0],
        Id::Account(Who::Ben, nth) => nth >= OPENED[1],
        Id::Movement(..) | Id::Order(..) | Id::Nobody(_) | Id::Rubbish => false,
    })
}

fn command(wish: &Wish, names: &Names) -> Command {
    let currency = |code: &str| Currency::from_code(code).expect("the scripts' currencies are real ones");
    let amount = |minor_units: i128, code: &str| {
        let minor_units = u128::try_from(minor_units).expect("what was read is more than zero");
        Amount::from_minor_units(minor_units, currency(code)).expect("what was read is in range")
    };
    let account = |id: Id| AccountId(names.uuid(id));
    match wish {
        Wish::Open { owner, currency: code } => {
            Command::OpenAccount { owner: owner.clone(), currency: currency(code) }
        }
        Wish::Move { kind, from, to, minor_units, currency, reference } => Command::Move {
            parties: match (kind, from.map(account), to.map(account)) {
                (Kind::Deposit, None, Some(to)) => Parties::Deposit { to },
                (Kind::Withdrawal, Some(from), None) => Parties::Withdrawal { from },
                (Kind::Transfer, Some(from), Some(to)) => Parties::Transfer { from, to },
                _ => unreachable!("{wish:?} has the sides of another kind"),
            },
            amount: amount(*minor_units, currency),
            reference: reference.clone(),
        },
        Wish::Close { account: id } => Command::CloseAccount { account_id: account(*id) },
        Wish::Order { account: id, minor_units, currency, number } => Command::PlaceOrder {
            account_id: account(*id),
            client_order_no: number.clone(),
            amount: amount(*minor_units, currency),
            items: Vec::new(),
            payment: PaymentTerms::Balance,
        },
    }
}

fn client(who: Who) -> ClientId {
    ClientId(id(match who {
        Who::Ann => 1,
        Who::Ben => 2,
    }))
}

/// Each step's own ids.
fn ids(step: u128) -> Ids {
    Ids::beginning_with(id(0x1000 + 0x10 * step))
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number)
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_764_400_000, 120_000).expect("a moment of this century")
}
