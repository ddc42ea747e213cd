//! The desk's protocol as a model, checked in every order of its steps that its bounds allow.
//!
//! - [`scenario`]: the bounds: what is asked, what may go wrong, which rule is broken;
//! - [`state`]: a state: what the processes do, and what the callers were told;
//! - [`database`]: what PostgreSQL does for the desk;
//! - [`turn`]: the steps of a lane, under the names that they have in the code;
//! - [`rules`]: the desk's own rules, which decide in the model too;
//! - [`model`]: the actions, and what each leads to;
//! - [`properties`]: what must hold.
//!
//! `docs/concepts/protocol.md` says which place in the code each step stands for, and what the model leaves out.

mod database;
mod model;
mod properties;
mod rules;
mod scenario;
mod state;
mod turn;

use std::thread::available_parallelism;

use properties::*;
use scenario::{BrokenRule, Scenario};
use stateright::{Checker, HasDiscoveries, Model};

#[test]
fn duplicates_of_a_name_have_one_effect_whatever_is_lost_or_killed() {
    let seen = [
        A_REPLAY,
        IN_PROGRESS,
        STALE_SNAPSHOT,
        LOST_COMMIT_HAPPENED,
        LOST_COMMIT_DID_NOT_HAPPEN,
        OLD_BACKEND_ALIVE,
        OUTCOME_UNKNOWN,
    ];
    holds(scenario::duplicates(), &seen);
}

#[test]
fn money_for_one_of_two_names_goes_to_one_and_the_other_is_refused() {
    let seen = [A_REPLAY, IN_PROGRESS, STALE_SNAPSHOT, LOST_COMMIT_HAPPENED, OUTCOME_UNKNOWN, NOT_ENOUGH];
    holds(scenario::competition(), &seen);
}

#[test]
fn an_order_number_goes_to_one_of_two_names_and_nobody_waits_crosswise() {
    holds(scenario::order_numbers(), &[NUMBER_TAKEN]);
}

#[test]
fn an_order_number_that_is_taken_is_the_reason_even_where_the_money_is_gone_too() {
    holds(scenario::one_order_twice(), &[NUMBER_TAKEN]);
}

#[test]
fn batches_keep_the_promises_that_single_commands_keep() {
    holds(scenario::batches(), &[A_REPLAY, IN_PROGRESS, LOST_COMMIT_HAPPENED, OUTCOME_UNKNOWN, NOT_ENOUGH]);
}

#[test]
fn a_unique_violation_told_as_a_refusal_refuses_what_has_its_effect() {
    fails(scenario::duplicates(), BrokenRule::RefuseOnUniqueViolation, NO_FALSE_REFUSAL);
}

#[test]
fn a_refusal_without_a_record_refuses_what_has_its_effect() {
    fails(scenario::duplicates(), BrokenRule::RefuseWithoutRecord, NO_FALSE_REFUSAL);
}

#[test]
fn a_record_that_is_written_over_has_two_effects() {
    let plenty = Scenario { money: 9, ..scenario::duplicates() };
    fails(plenty, BrokenRule::OverwriteRecord, ONE_EFFECT_PER_NAME);
}

#[test]
fn a_claim_without_its_lock_lets_two_transactions_run_a_name() {
    fails(scenario::duplicates(), BrokenRule::ClaimWithoutLock, ONE_TRANSACTION_PER_NAME);
}

#[test]
fn a_lock_given_back_before_the_commit_lets_two_transactions_run_a_name() {
    fails(scenario::duplicates(), BrokenRule::ReleaseLockBeforeCommit, ONE_TRANSACTION_PER_NAME);
}

#[test]
fn an_answer_before_the_commit_may_tell_of_nothing() {
    fails(scenario::duplicates(), BrokenRule::AnswerBeforeCommit, ANSWERS_ARE_COMMITTED);
}

#[test]
fn a_balance_written_whatever_its_version_makes_money() {
    fails(scenario::competition(), BrokenRule::SaveWithoutVersionCheck, MONEY_IS_CONSERVED);
}

#[test]
fn order_numbers_written_before_accounts_are_locked_leave_two_waiting_for_each_other() {
    fails(scenario::order_numbers(), BrokenRule::SaveNumbersBeforeAccounts, NOBODY_IS_LEFT_WAITING);
}

#[test]
fn order_numbers_that_are_not_looked_for_again_leave_the_wrong_reason() {
    fails(scenario::one_order_twice(), BrokenRule::RefuseWithoutLookingAgain, REFUSALS_ARE_JUSTIFIED);
}

#[test]
fn a_lost_commit_told_as_a_failure_may_have_happened() {
    fails(scenario::duplicates(), BrokenRule::ReportUnknownCommitAsFailure, NOTHING_HAPPENED_IS_TRUE);
}

#[test]
fn a_lost_commit_judged_by_its_record_alone_may_happen_yet() {
    fails(scenario::duplicates(), BrokenRule::InquireWithoutLock, NOTHING_HAPPENED_IS_TRUE);
}

/// Every property holds in every state, and what `seen` names is among the states.
fn holds(scenario: Scenario, seen: &[&'static str]) {
    if onefold_tests::long() {
        // In depth: in breadth millions of states would wait in memory for their turn.
        expect(scenario.enlarged().checker().threads(threads()).spawn_dfs(), seen);
    } else {
        expect(scenario.checker().threads(threads()).spawn_bfs(), seen);
    }
}

fn expect(checker: impl Checker<Scenario>, seen: &[&'static str]) {
    let checked = checker.join();
    println!(
        "{}: {} states, {} steps between them",
        checked.model().title,
        checked.unique_state_count(),
        checked.state_count()
    );
    for property in ALWAYS {
        checked.assert_no_discovery(property);
    }
    for property in seen {
        checked.assert_any_discovery(property);
    }
}

/// With the rule broken there is a way to a state in which the property does not hold.
fn fails(scenario: Scenario, rule: BrokenRule, property: &'static str) {
    let broken = scenario.breaking(rule);
    let until = HasDiscoveries::AnyOf([property].into());
    let checked = broken.checker().threads(threads()).finish_when(until).spawn_bfs().join();
    let path = checked.assert_any_discovery(property);
    println!("{rule:?}, found among {} states:", checked.unique_state_count());
    path.into_actions().iter().for_each(|action| println!("    {action:?}"));
}

fn threads() -> usize {
    available_parallelism().map_or(1, usize::from)
}
