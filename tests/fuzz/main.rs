//! The parsers, on whatever bytes: the corpus in `fuzz/corpus`, and what a few changes make of it.
//!
//! - [`targets`]: what must hold of each parser;
//! - [`callbacks`]: what must hold of the adapters of payment providers;
//! - [`spoilt`]: bytes that are nearly something.
//!
//! A short run, without a look at which code the bytes reach. `scripts/fuzz` runs the same targets with that, for long.

mod callbacks;
mod spoilt;
mod targets;

use proptest::test_runner::{Config, TestCaseError, TestRunner};

#[test]
fn a_key_header_is_one_key_in_each_of_its_spellings() {
    holds("key_header", targets::key_header);
}

#[test]
fn a_prefer_header_is_a_bounded_wait_or_none() {
    holds("prefer_header", targets::prefer_header);
}

#[test]
fn an_amount_is_printed_as_it_is_read() {
    holds("amount", targets::amount);
}

#[test]
fn a_body_is_what_its_json_says() {
    holds("bodies", targets::bodies);
}

#[test]
fn a_cursor_and_an_id_have_one_spelling() {
    holds("cursor_and_id", targets::cursor_and_id);
}

#[test]
fn a_meaning_has_its_own_fingerprint() {
    holds("fingerprint", targets::fingerprint);
}

#[test]
fn an_event_of_stripe_is_read_or_malformed() {
    holds("stripe", callbacks::stripe);
}

#[test]
fn a_notification_of_alipay_is_read_or_malformed() {
    holds("alipay", callbacks::alipay);
}

#[test]
fn a_notification_of_wechat_pay_is_read_or_malformed() {
    holds("wechatpay", callbacks::wechatpay);
}

#[test]
fn a_standard_webhook_is_read_or_malformed() {
    holds("standard", callbacks::standard);
}

#[test]
fn a_header_of_a_signature_is_the_one_that_was_signed() {
    holds("signature_headers", callbacks::signature_headers);
}

#[test]
fn a_file_of_captures_can_be_checked_or_says_why_not() {
    holds("captures", callbacks::captures);
}

fn holds(target: &str, run: fn(&[u8])) {
    // Told with the bytes, which then belong into the corpus.
    let check = |bytes: &[u8]| {
        std::panic::catch_unwind(|| run(bytes))
            .map_err(|_| format!("{target} does not hold of {:?}", String::from_utf8_lossy(bytes)))
    };
    let corpus = spoilt::corpus(target);
    for bytes in &corpus {
        check(bytes).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let cases = if onefold_tests::long() { 200_000 } else { 4_000 };
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let ran = runner.run(&spoilt::nearly(corpus), |bytes| check(&bytes).map_err(TestCaseError::fail));
    ran.unwrap_or_else(|failure| panic!("{failure}"));
}
