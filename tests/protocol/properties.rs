//! What must hold in every state, and what must be seen in some state, or the model would prove little.

use stateright::{Model, Property};

use crate::database::Decision;
use crate::scenario::Scenario;
use crate::state::{Phase, Process, Request, Role, Standing, State, Told};

pub const ONE_EFFECT_PER_NAME: &str = "one effect per name";
pub const ONE_ORDER_PER_NUMBER: &str = "one order per number";
pub const NO_FALSE_REFUSAL: &str = "a name that has its effect is never told a refusal";
pub const REFUSALS_ARE_JUSTIFIED: &str = "a refusal is borne out by what is committed";
pub const ANSWERS_ARE_COMMITTED: &str = "what was answered is committed";
pub const NOTHING_HAPPENED_IS_TRUE: &str = "who is told that nothing happened has no effect";
pub const MONEY_IS_CONSERVED: &str = "money is neither made nor lost";
pub const ONE_TRANSACTION_PER_NAME: &str = "one transaction at a time runs a name";
pub const NOBODY_IS_LEFT_WAITING: &str = "where nothing more can happen, everybody is answered";
pub const A_RETRY_LEARNS_THE_OUTCOME: &str = "where nothing more can happen, a retry learns the outcome";

/// What must hold in every state.
pub const ALWAYS: [&str; 10] = [
    ONE_EFFECT_PER_NAME,
    ONE_ORDER_PER_NUMBER,
    NO_FALSE_REFUSAL,
    REFUSALS_ARE_JUSTIFIED,
    ANSWERS_ARE_COMMITTED,
    NOTHING_HAPPENED_IS_TRUE,
    MONEY_IS_CONSERVED,
    ONE_TRANSACTION_PER_NAME,
    NOBODY_IS_LEFT_WAITING,
    A_RETRY_LEARNS_THE_OUTCOME,
];

pub const A_REPLAY: &str = "a duplicate is told the first answer";
pub const IN_PROGRESS: &str = "a duplicate is told that its name is running";
pub const STALE_SNAPSHOT: &str = "a lock is won with a snapshot from before the record";
pub const LOST_COMMIT_HAPPENED: &str = "a commit whose answer was lost has happened";
pub const LOST_COMMIT_DID_NOT_HAPPEN: &str = "a commit whose answer was lost has not happened";
pub const OLD_BACKEND_ALIVE: &str = "an inquiry finds the old transaction alive";
pub const OUTCOME_UNKNOWN: &str = "somebody is told that the outcome is unknown";
pub const NOT_ENOUGH: &str = "somebody is told that the money is not enough";
pub const NUMBER_TAKEN: &str = "somebody is told that the order number is taken";

/// Everything that is looked at.
pub fn all() -> Vec<Property<Scenario>> {
    vec![
        Property::always(ONE_EFFECT_PER_NAME, one_effect_per_name),
        Property::always(ONE_ORDER_PER_NUMBER, one_order_per_number),
        Property::always(NO_FALSE_REFUSAL, no_false_refusal),
        Property::always(REFUSALS_ARE_JUSTIFIED, |_, state: &State| !state.unjustified_refusal),
        Property::always(ANSWERS_ARE_COMMITTED, answers_are_committed),
        Property::always(NOTHING_HAPPENED_IS_TRUE, nothing_happened_is_true),
        Property::always(MONEY_IS_CONSERVED, money_is_conserved),
        Property::always(ONE_TRANSACTION_PER_NAME, one_transaction_per_name),
        Property::always(NOBODY_IS_LEFT_WAITING, nobody_is_left_waiting),
        Property::always(A_RETRY_LEARNS_THE_OUTCOME, a_retry_learns_the_outcome),
        Property::sometimes(A_REPLAY, |_, state| some_told(state, |told| matches!(told, Told::Replayed(_)))),
        Property::sometimes(IN_PROGRESS, |_, state| some_told(state, |told| told == Told::InProgress)),
        Property::sometimes(STALE_SNAPSHOT, stale_snapshot),
        Property::sometimes(LOST_COMMIT_HAPPENED, lost_commit_happened),
        Property::sometimes(LOST_COMMIT_DID_NOT_HAPPEN, lost_commit_did_not_happen),
        Property::sometimes(OLD_BACKEND_ALIVE, old_backend_alive),
        Property::sometimes(OUTCOME_UNKNOWN, |_, state| {
            some_told(state, |told| told == Told::OutcomeUnknown)
        }),
        Property::sometimes(NOT_ENOUGH, |_, state| refused_with(state, Decision::NotEnough)),
        Property::sometimes(NUMBER_TAKEN, |_, state| refused_with(state, Decision::NumberTaken)),
    ]
}

fn names(scenario: &Scenario) -> impl Iterator<Item = u8> {
    0..u8::try_from(scenario.names.len()).expect("few names")
}

fn effects(state: &State, name: u8) -> usize {
    state.database.orders.iter().filter(|order| order.name == name).count()
}

fn one_effect_per_name(scenario: &Scenario, state: &State) -> bool {
    names(scenario).all(|name| effects(state, name) <= 1)
}

fn one_order_per_number(_: &Scenario, state: &State) -> bool {
    state.database.orders.windows(2).all(|pair| pair[0].number != pair[1].number)
}

fn no_false_refusal(scenario: &Scenario, state: &State) -> bool {
    names(scenario).filter(|name| effects(state, *name) > 0).all(|name| {
        state.told(name).filter_map(Told::outcome).all(|record| record.decision == Decision::Placed)
    })
}

/// So two requests under one name are never told different outcomes either.
fn answers_are_committed(scenario: &Scenario, state: &State) -> bool {
    names(scenario).all(|name| {
        let recorded = state.database.records[usize::from(name)];
        state.told(name).filter_map(Told::outcome).all(|told| {
            let has_effect = state.database.orders.iter().any(|order| order.by == told.by);
            recorded == Some(told) && has_effect == (told.decision == Decision::Placed)
        })
    })
}

/// Of its own: what a duplicate of it does is another request's.
fn nothing_happened_is_true(_: &Scenario, state: &State) -> bool {
    state
        .database
        .orders
        .iter()
        .all(|order| !state.requests[usize::from(order.by)].told.is_some_and(Told::says_nothing_happened))
}

fn money_is_conserved(scenario: &Scenario, state: &State) -> bool {
    let amount = |name: u8| u32::from(scenario.names[usize::from(name)].amount);
    let spent: u32 = state.database.orders.iter().map(|order| amount(order.name)).sum();
    u32::from(state.database.available) + spent == u32::from(scenario.money)
}

fn one_transaction_per_name(scenario: &Scenario, state: &State) -> bool {
    names(scenario).all(|name| state.transactions().filter(|one| one.runs.contains(&name)).count() <= 1)
}

fn nobody_is_left_waiting(scenario: &Scenario, state: &State) -> bool {
    can_go_on(scenario, state) || state.requests.iter().all(|request| request.told.is_some())
}

/// Every path of the model ends, and at every end one more request under each name is told what became of it: so
/// whatever a request was told instead of an outcome, it can be made again.
fn a_retry_learns_the_outcome(scenario: &Scenario, state: &State) -> bool {
    if can_go_on(scenario, state) {
        return true;
    }
    names(scenario).all(|name| {
        let mut later = state.clone();
        let retry = u8::try_from(later.requests.len()).expect("few requests");
        later.requests.push(Request { name, told: None });
        later.processes[0].queue.push(retry);
        while let Some(next) = any_next_state(scenario, &later) {
            later = next;
        }
        let told = later.requests.last().and_then(|request| request.told).and_then(Told::outcome);
        told.is_some() && told == later.database.records[usize::from(name)]
    })
}

fn can_go_on(scenario: &Scenario, state: &State) -> bool {
    any_next_state(scenario, state).is_some()
}

fn any_next_state(scenario: &Scenario, state: &State) -> Option<State> {
    let mut actions = Vec::new();
    scenario.actions(state, &mut actions);
    actions.into_iter().find_map(|action| scenario.next_state(state, action))
}

fn some_told(state: &State, is: impl Fn(Told) -> bool) -> bool {
    state.requests.iter().filter_map(|request| request.told).any(is)
}

fn refused_with(state: &State, decision: Decision) -> bool {
    some_told(state, |told| told.outcome().is_some_and(|record| record.decision == decision))
}

fn stale_snapshot(_: &Scenario, state: &State) -> bool {
    state.processes.iter().flat_map(|process| &process.workers).any(|worker| match &worker.phase {
        Phase::Claimed(claims) => worker.jobs.iter().zip(claims).any(|(job, claim)| {
            let recorded = state.database.records[usize::from(state.name_of(job.request))];
            claim.won && claim.seen.record.is_none() && recorded.is_some()
        }),
        _ => false,
    })
}

fn lost_commit_happened(_: &Scenario, state: &State) -> bool {
    unknown_jobs(state).any(|request| state.database.orders.iter().any(|order| order.by == request))
}

/// The claim was won and showed no record.
fn lost_commit_did_not_happen(_: &Scenario, state: &State) -> bool {
    let mut workers = state.processes.iter().flat_map(|process| &process.workers);
    workers.any(|worker| {
        matches!(worker.phase, Phase::Decided(_))
            && worker.jobs.iter().any(|job| job.standing == Standing::Unknown)
            && state.database.orphans.is_empty()
            && worker
                .jobs
                .iter()
                .all(|job| state.database.records[usize::from(state.name_of(job.request))].is_none())
    })
}

fn old_backend_alive(_: &Scenario, state: &State) -> bool {
    let mut workers = state.processes.iter().flat_map(|process| &process.workers);
    workers.any(|worker| match &worker.phase {
        Phase::Claimed(claims) => {
            worker.role == Role::Inquiry
                && claims.iter().any(|claim| !claim.won)
                && state.database.orphans.iter().any(|orphan| orphan.commit_sent)
        }
        _ => false,
    })
}

fn unknown_jobs(state: &State) -> impl Iterator<Item = u8> {
    let jobs = |process: &Process| -> Vec<u8> {
        let jobs = process.workers.iter().flat_map(|worker| &worker.jobs);
        jobs.filter(|job| job.standing == Standing::Unknown).map(|job| job.request).collect()
    };
    state.processes.iter().flat_map(jobs)
}
