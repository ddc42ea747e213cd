//! A script played by many at once. Nobody can say beforehand what is answered; afterwards there must be an order of the
//! effects in which the model gives the same answers, and a moment for each refusal at which it was right.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::try_join_all;
use onefold_tests::database;
use onefold_tests::http::{Caller, Exchange, TestServer};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;
use tokio::sync::Barrier;

use crate::figures;
use crate::model::{Account, Model, printed};
use crate::reads;
use crate::request::{Ask, Id, Who, Wish};
use crate::script::{Asked, Script, scripts};
use crate::stage::{Stage, as_told, callers, deliver, essence};
use crate::told::{Names, compare, same};
use crate::wire::{self, Wire};

const TASKS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_many_ask_at_once_could_have_been_asked_in_some_order() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let rounds = if onefold_tests::long() { 20 } else { 2 };
    for _ in 0..rounds {
        let script = scripts(240..=240)
            .new_tree(&mut TestRunner::default())
            .map_err(|reason| anyhow::anyhow!("no script: {reason}"))?
            .current();
        if let Err(difference) = play(&server, &script).await {
            panic!("{difference}\nplayed by {TASKS} at once:{script:?}");
        }
    }
    database::audit(&server.shutdown().await).await;
    Ok(())
}

async fn play(server: &TestServer, script: &Script) -> Result<(), String> {
    let callers = callers(server).await.map_err(|error| format!("{error:#}"))?;
    let mut stage = Stage::new(callers, None);
    stage.play(&Script(Vec::new())).await?;

    let asks = asks(&stage.model, script);
    let told = send_all(&stage, &asks).await.map_err(|error| format!("{error:#}"))?;
    let answers = one_answer_for_each_name(&asks, &told)?;
    each_answer_is_replayed(&stage, &answers).await?;

    let (refused, done): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.told.status >= 400);
    put_in_order(&mut stage, done).await?;
    for who in Who::BOTH {
        reads::statements(&stage, who).await?;
        reads::collecting_accounts(&stage, who).await?;
    }
    refused.iter().try_for_each(|refusal| {
        is_explained(refusal, &stage.model, &stage.names)
            .map_err(|difference| format!("{:?} was refused: {difference}", refusal.ask))
    })
}

/// The requests of a script that make sense, all as they are after the opening.
fn asks(model: &Model, script: &Script) -> Vec<(Ask, bool)> {
    let mut asked = Asked::default();
    let asks = script.0.iter().filter_map(|step| asked.next(model, step));
    asks.filter(|(ask, _)| ask.read().is_ok()).collect()
}

/// Sends everything twice, by two of the tasks, each of which has requests of its own to send one after the other.
async fn send_all(stage: &Stage, asks: &[(Ask, bool)]) -> anyhow::Result<Vec<(usize, Exchange)>> {
    let barrier = Arc::new(Barrier::new(TASKS));
    let tasks = (0..TASKS).map(|task| {
        let mine: Vec<(usize, Caller, Wire)> = asks
            .iter()
            .enumerate()
            .filter(|(at, _)| at % TASKS == task || (at / TASKS + at + 1) % TASKS == task)
            .map(|(at, (ask, otherwise))| {
                (at, stage.callers[&ask.who].clone(), wire::write(ask, *otherwise, &stage.names))
            })
            .collect();
        let barrier = Arc::clone(&barrier);
        tokio::spawn(async move {
            barrier.wait().await;
            let mut told = Vec::new();
            for (at, caller, wire) in mine {
                told.push((at, until_answered(&caller, &wire).await?));
            }
            anyhow::Ok(told)
        })
    });
    let told: anyhow::Result<Vec<Vec<_>>> = try_join_all(tasks).await?.into_iter().collect();
    Ok(told?.into_iter().flatten().collect())
}

/// As a client does: what passes by itself is asked again, under the same key.
async fn until_answered(caller: &Caller, wire: &Wire) -> anyhow::Result<Exchange> {
    for _ in 0..1_000 {
        let told = deliver(caller, wire).await?;
        let passing = told.slug().is_some_and(|_| told.json()["retryable"] == true);
        if !passing {
            return Ok(told);
        }
    }
    anyhow::bail!("{wire:?} is never answered")
}

/// What came of a name: one request that was answered from the books.
struct Answered {
    ask: Ask,
    wish: Wish,
    told: Exchange,
}

/// Under each name one request ran, once; whatever else was asked under it was told that the key is taken.
fn one_answer_for_each_name(
    asks: &[(Ask, bool)],
    told: &[(usize, Exchange)],
) -> Result<Vec<Answered>, String> {
    let mut names: BTreeMap<(Who, &str), Vec<(&Ask, &Exchange)>> = BTreeMap::new();
    for (at, exchange) in told {
        let ask = &asks[*at].0;
        names.entry((ask.who, &ask.key)).or_default().push((ask, exchange));
    }
    let mut answers = Vec::new();
    for (name, exchanges) in names {
        let all: Vec<_> = exchanges
            .iter()
            .map(|(ask, told)| format!("{ask:?} → replayed {}: {:?}", told.replayed(), essence(told)))
            .collect();
        let fault = |what: &str| format!("{name:?}: {what}: {all:#?}");
        let reused = |exchange: &Exchange| exchange.slug().as_deref() == Some("idempotency-key-reused");
        let mut first = exchanges.iter().filter(|(_, exchange)| !exchange.replayed() && !reused(exchange));
        let (Some((ask, ran)), None) = (first.next(), first.next()) else {
            return Err(fault("not one request ran"));
        };
        let wish = meaning(ask)?;
        for (other, exchange) in &exchanges {
            let is_same = meaning(other)? == wish;
            if is_same == reused(exchange) || is_same && essence(exchange) != essence(ran) {
                return Err(fault("a request was not told what it should be"));
            }
        }
        answers.push(Answered { ask: (*ask).clone(), wish, told: (*ran).clone() });
    }
    Ok(answers)
}

fn meaning(ask: &Ask) -> Result<Wish, String> {
    ask.read().map_err(|problem| format!("{ask:?} makes no sense: {problem:?}"))
}

async fn each_answer_is_replayed(stage: &Stage, answers: &[Answered]) -> Result<(), String> {
    for Answered { ask, told, .. } in answers {
        let wire = wire::write(ask, true, &stage.names);
        let again = deliver(&stage.callers[&ask.who], &wire).await.map_err(|error| format!("{error:#}"))?;
        same("whether it is replayed", &again.replayed(), &true)?;
        same("the replay", &essence(&again), &essence(told))?;
    }
    Ok(())
}

/// Plays the effects to the model, each when the accounts it touches have the versions that it found. The versions of
/// one account put its effects in a row; what touches two accounts stands in both rows.
async fn put_in_order(stage: &mut Stage, done: Vec<Answered>) -> Result<(), String> {
    let stamps = Stamps::read(stage).await?;
    let (opened, mut waiting): (Vec<_>, Vec<_>) =
        done.into_iter().partition(|answer| matches!(answer.wish, Wish::Open { .. }));
    for answer in &opened {
        apply(stage, answer)?;
    }
    while !waiting.is_empty() {
        let is_next = |answer: &Answered| {
            let accounts = touched(&answer.wish).into_iter();
            let found = accounts.map(|id| Some(stage.model.account(id)?.version + 1)).collect::<Option<_>>();
            found == Some(stamps.of(answer, &stage.names))
        };
        let Some(next) = waiting.iter().position(is_next) else {
            let left: Vec<_> = waiting.iter().map(|answer| &answer.ask).collect();
            return Err(format!("there is no order for what is left: {left:#?}"));
        };
        apply(stage, &waiting.swap_remove(next))?;
    }
    Ok(())
}

fn apply(stage: &mut Stage, answer: &Answered) -> Result<(), String> {
    let expected = stage.model.decide(answer.ask.who, &answer.wish);
    compare(&expected, &as_told(&answer.told), &mut stage.names)
        .map_err(|difference| format!("{:?} in its place: {difference}", answer.ask))
}

/// The customers' accounts that a wish touches, the paying one first.
fn touched(wish: &Wish) -> Vec<Id> {
    match wish {
        Wish::Open { .. } => Vec::new(),
        Wish::Move { from, to, .. } => from.iter().chain(to).copied().collect(),
        Wish::Close { account } | Wish::Order { account, .. } => vec![*account],
    }
}

/// The versions that effects made, from the statements: by the account's id and by what the line says of its cause.
struct Stamps(BTreeMap<(String, String), i64>);

impl Stamps {
    async fn read(stage: &Stage) -> Result<Self, String> {
        let mut versions = BTreeMap::new();
        for who in Who::BOTH {
            for account in &stage.model.books(who).accounts {
                let path = format!("{}/entries", stage.names.path(account.id));
                for line in reads::list(&stage.callers[&who], &path, 50).await? {
                    let cause = cause(&line, "order_id");
                    let version = line["account_version"].as_i64().unwrap_or_default();
                    versions.insert((stage.names.text(account.id), cause), version);
                }
            }
        }
        Ok(Self(versions))
    }

    /// The versions that the effect made of the accounts it touches, in their order.
    fn of(&self, answer: &Answered, names: &Names) -> Vec<i64> {
        let body = answer.told.json();
        if matches!(answer.wish, Wish::Close { .. }) {
            return vec![body["version"].as_i64().unwrap_or_default()];
        }
        let cause = cause(&body, "id");
        let version = |id: Id| self.0.get(&(names.text(id), cause.clone())).copied().unwrap_or_default();
        touched(&answer.wish).into_iter().map(version).collect()
    }
}

/// What a statement's line and a movement or an order have in common: a kind and a reference, or an order's id.
fn cause(body: &Value, order_id: &str) -> String {
    match body["reference"].as_str() {
        Some(reference) => format!("{} {reference}", body["kind"]),
        None => format!("order {}", body[order_id]),
    }
}

/// A refusal was right at some moment: of the accounts that it is about, or of the names that it met.
fn is_explained(refusal: &Answered, last: &Model, names: &Names) -> Result<(), String> {
    let told = refusal.told.json();
    let slug = refusal.told.slug().unwrap_or_default();
    let accounts: Vec<Option<&Account>> = touched(&refusal.wish)
        .into_iter()
        .map(|id| last.account(id).filter(|_| matches!(id, Id::Account(who, _) if who == refusal.ask.who)))
        .collect();
    let any = |is: &dyn Fn(&Account) -> bool| accounts.iter().flatten().any(|account| is(account));
    let at_some_moment = |account: &Account, is: &dyn Fn(i128) -> bool| {
        account.statement.iter().map(|line| line.available_after).chain([0]).any(is)
    };
    let (minor_units, currency) = match &refusal.wish {
        Wish::Move { minor_units, currency, .. } | Wish::Order { minor_units, currency, .. } => {
            (*minor_units, currency.as_str())
        }
        Wish::Open { .. } | Wish::Close { .. } => (0, ""),
    };
    let right = match slug.as_str() {
        "not-found" => accounts.iter().any(Option::is_none),
        "currency-mismatch" => any(&|account| account.currency != currency),
        "account-closed" => any(&|account| account.closed),
        "account-not-empty" => any(&|account| {
            let shown = &told["available"];
            at_some_moment(account, &|available| {
                available != 0 && *shown == printed(available, &account.currency)
            })
        }),
        "insufficient-funds" => {
            let paying = accounts[0].filter(|account| account.currency == currency);
            told["required"] == printed(minor_units, currency)
                && paying.is_some_and(|account| {
                    at_some_moment(account, &|available| {
                        available < minor_units && told["available"] == printed(available, currency)
                    })
                })
        }
        "amount-out-of-range" => any(&|account| {
            let digits = figures::minor_digits(currency).unwrap_or_default();
            at_some_moment(account, &|available| !figures::in_range(available + minor_units, digits))
        }),
        "duplicate-reference" | "duplicate-order-no" => {
            let first = holder_of_the_name(refusal, last).map(|id| names.text(id));
            first.is_some() && told["existing_id"].as_str().map(str::to_owned) == first
        }
        _ => false,
    };
    if right { Ok(()) } else { Err(format!("{told}, for which there was no reason")) }
}

fn holder_of_the_name(refusal: &Answered, last: &Model) -> Option<Id> {
    let books = last.books(refusal.ask.who);
    match &refusal.wish {
        Wish::Move { kind, reference, .. } => {
            let mut movements = books.movements.iter();
            movements.find(|m| m.kind == *kind && m.reference == *reference).map(|movement| movement.id)
        }
        Wish::Order { number, .. } => {
            books.orders.iter().find(|order| order.number == *number).map(|order| order.id)
        }
        Wish::Open { .. } | Wish::Close { .. } => None,
    }
}
