//! No changed bit of a signed delivery passes, unless it changes nothing of what is said.

use payment_callback::Provider;
use proptest::prelude::*;
use serde_json::json;

use crate::endpoint::{NOW, Sent, verify_at};
use crate::{alipay, standard, stripe, wechatpay};

/// Where a bit can be changed: in a header's value, or in the body.
fn bits(sent: &Sent) -> usize {
    sent.headers.iter().map(|(_, value)| value.len() * 8).sum::<usize>() + sent.body.len() * 8
}

fn with_changed_bit(sent: &Sent, bit: usize) -> Vec<(String, Vec<u8>)> {
    let mut parts: Vec<(String, Vec<u8>)> =
        sent.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    parts.push((String::new(), sent.body.clone()));
    let mut left = bit;
    for (_, bytes) in &mut parts {
        if left < bytes.len() * 8 {
            bytes[left / 8] ^= 1 << (left % 8);
            break;
        }
        left -= bytes.len() * 8;
    }
    parts
}

fn any_changed_bit_is_refused(provider: &dyn Provider, sent: &Sent, cases: u32) {
    let said = verify_at(provider, sent, NOW).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let ran = runner.run(&(0..bits(sent)), |bit| {
        let mut parts = with_changed_bit(sent, bit);
        let body = parts.pop().unwrap().1;
        let headers: Vec<_> = parts.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let delivery = payment_callback::Delivery { headers: &headers, body: &body };
        let now = chrono::DateTime::from_timestamp(NOW, 0).unwrap();
        if let Ok(notice) = provider.verify(&delivery, now) {
            prop_assert_eq!(&notice, &said, "bit {}", bit);
        }
        Ok(())
    });
    ran.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn no_changed_bit_of_a_stripe_event_passes() {
    any_changed_bit_is_refused(&*stripe::ours(), &stripe::paid(json!(8880), "usd"), 4_000);
}

#[test]
fn no_changed_bit_of_an_alipay_notification_passes() {
    any_changed_bit_is_refused(&*alipay::ours(), &alipay::paid("88.80").signed(), 400);
}

#[test]
fn no_changed_bit_of_a_wechat_pay_notification_passes() {
    any_changed_bit_is_refused(&*wechatpay::ours(), &wechatpay::paid(json!(8880)), 400);
}

#[test]
fn no_changed_bit_of_a_standard_webhook_passes() {
    any_changed_bit_is_refused(&*standard::ours(), &standard::paid(json!("88.80"), "CNY"), 4_000);
}
