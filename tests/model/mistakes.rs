//! Models with a mistake on purpose: the comparison finds each of them out, and shrinks what it found to a short script.

use onefold_tests::http::TestServer;
use proptest::test_runner::{Config, TestError};
use tokio::runtime::Runtime;

use crate::model::Mistake;
use crate::script::Script;
use crate::{http, rules};

#[test]
fn a_mistake_about_the_rules_is_found_out() {
    for (mistake, told) in [
        (Mistake::RefusesAnExactBalance, "402"),
        (Mistake::SharesReferencesAmongKinds, "409"),
        (Mistake::ForgetsOrderNumbers, "duplicate-order-no"),
        (Mistake::CountsNoVersionForClosing, "version"),
    ] {
        let found = rules::explore(Some(mistake), configuration(20_000), STEPS_MAX);
        let script = found_out(found, mistake, &[told]);
        assert!(script.0.len() <= STEPS_SHRUNK, "{mistake:?} was found by more than is needed:{script:?}");
    }
}

#[test]
fn a_mistake_about_keys_is_found_out() -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let server = runtime.block_on(TestServer::start())?;
    for (mistake, told) in [
        (Mistake::ForgetsRefusals, &["Idempotency-Replayed is true", "422 idempotency-key-reused"][..]),
        (Mistake::ComparesNoFingerprints, &["Idempotency-Replayed is false"][..]),
        (
            Mistake::SharesKeysAmongClients,
            &["Idempotency-Replayed is false", "should be 422", "-key-reused"][..],
        ),
    ] {
        // Not shrunk, which takes thousands of requests, and shows no more than the rules alone show at once.
        let found = http::explore(&runtime, &server, Some(mistake), configuration(0), STEPS_MAX);
        found_out(found, mistake, told);
    }
    runtime.block_on(server.shutdown());
    Ok(())
}

/// What is found here is meant to be, and is not remembered.
fn configuration(max_shrink_iters: u32) -> Config {
    Config { cases: 1_000, max_shrink_iters, failure_persistence: None, ..Config::default() }
}

/// Scripts are short here, so that little is left to shrink.
const STEPS_MAX: usize = 25;

/// Steps that a person can take in at a glance; most mistakes need one or two.
const STEPS_SHRUNK: usize = 6;

/// The script that found a mistake, by one of the differences that it makes.
fn found_out(result: Result<(), TestError<Script>>, mistake: Mistake, told: &[&str]) -> Script {
    let Err(TestError::Fail(difference, script)) = result else {
        panic!("{mistake:?} was not found out: {result:?}");
    };
    let difference = difference.message();
    // What was said last, and what is wrong with it.
    let last = difference.lines().rev().take(2).collect::<String>();
    let known = told.iter().any(|told| last.contains(told));
    assert!(known, "{mistake:?} was found by something else: {difference}");
    script
}
