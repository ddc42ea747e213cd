//! Every price through every adapter, and the table of amounts.

use money::{Amount, Currency};
use payment_callback::{Event, Provider, ReportedAmount};
use serde_json::{Value, json};

use crate::endpoint::{Sent, read};
use crate::{alipay, standard, stripe, wechatpay};

fn reported(provider: &dyn Provider, sent: &Sent) -> ReportedAmount {
    match read(provider, sent).event {
        Event::PaymentSucceeded { amount, .. } => amount,
        other => panic!("a payment was read as {}", other.kind()),
    }
}

fn price(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn expected(cents: u64, currency: &str) -> Amount {
    let amount = Amount::from_minor_units(cents.into(), Currency::from_code(currency).unwrap()).unwrap();
    assert_eq!(amount.to_string(), price(cents));
    amount
}

#[test]
fn every_price_up_to_a_hundred_is_read_exactly_from_a_stripe_event() {
    let provider = stripe::ours();
    for cents in 1..=10_000 {
        let amount = reported(&*provider, &stripe::paid(json!(cents), "usd"));
        assert_eq!(amount, ReportedAmount::Exact(expected(cents, "USD")));
    }
}

#[test]
fn every_price_up_to_a_hundred_is_read_exactly_from_a_standard_webhook() {
    let provider = standard::ours();
    for cents in 1..=10_000 {
        let amount = reported(&*provider, &standard::paid(json!(price(cents)), "CNY"));
        assert_eq!(amount, ReportedAmount::Exact(expected(cents, "CNY")));
    }
}

#[test]
fn every_price_up_to_a_hundred_is_read_exactly_from_a_wechat_pay_notification() {
    every_price_that_an_rsa_signature_is_made_for(&*wechatpay::ours(), |cents| wechatpay::paid(json!(cents)));
}

#[test]
fn every_price_up_to_a_hundred_is_read_exactly_from_an_alipay_notification() {
    every_price_that_an_rsa_signature_is_made_for(&*alipay::ours(), |cents| {
        alipay::paid(&price(cents)).signed()
    });
}

/// Each signature takes long in a build without optimisation: each 97th price, and those that floats get wrong. Reading
/// itself is done for every price where amounts are read (`amount_reading`).
fn every_price_that_an_rsa_signature_is_made_for(provider: &dyn Provider, sent: impl Fn(u64) -> Sent) {
    for cents in (1..=10_000).step_by(97).chain([1, 115, 510, 829, 1_999, 8_880, 10_000]) {
        let amount = reported(provider, &sent(cents));
        assert_eq!(amount, ReportedAmount::Exact(expected(cents, "CNY")));
    }
}

#[test]
fn the_table_of_amounts_is_read_as_it_says() {
    let file: Value = serde_json::from_str(include_str!("../vectors/amounts.json")).unwrap();
    let rows = file["rows"].as_array().unwrap();
    assert!(rows.len() > 20);
    for row in rows {
        let (raw, currency) = (&row["raw"], row["currency"].as_str().unwrap());
        let read = match row["provider"].as_str().unwrap() {
            "stripe" => reported(&*stripe::ours(), &stripe::paid(raw.clone(), &currency.to_lowercase())),
            "alipay" => reported(&*alipay::ours(), &alipay::paid(raw.as_str().unwrap()).signed()),
            "wechatpay" => reported(&*wechatpay::ours(), &wechatpay::paid(raw.clone())),
            "standardwebhooks" => reported(&*standard::ours(), &standard::paid(raw.clone(), currency)),
            other => panic!("there is no provider {other}"),
        };
        let decimal = row["decimal"].as_str().map(|text| {
            Amount::parse(text, Currency::from_code(currency).unwrap())
                .unwrap_or_else(|error| panic!("{text}: {error}"))
        });
        assert_eq!(decimal.is_some(), row["valid"].as_bool().unwrap());
        assert_eq!(read.exact(), decimal, "{row}");
    }
}
