//! What the simulator signs, judged by the adapters; and what the adapters ask, answered by the simulator.
//!
//! The two share no code: each was written from the providers' descriptions. Where they agree on a message, both have read
//! the same, and where one of them is wrong, they differ here.
//!
//! - this file: callbacks;
//! - [`asking`]: queries and refunds.

mod asking;

use chrono::{DateTime, TimeDelta, Utc};
use money::{Amount, Currency};
use payment_callback::{
    Delivery, Event, Notice, ProviderKind, Purpose, Reason, RefundOutcome, RefundSum, Rejection,
    ReportedAmount,
};
use provider_simulator::demo_keys::{alipay, standard, stripe, wechatpay};
use provider_simulator::event::{Outcome, Payment, Refund, What};
use provider_simulator::provider::PROVIDERS;
use provider_simulator::{Message, Provider, Sender, Style, ids};
use serde_json::{Value, json};

const PAYMENT_NO: &str = "P-1001_a";

/// Every way in which each provider signs.
const STYLES: [(Provider, Style); 9] = [
    (Provider::Stripe, Style::Usual),
    (Provider::Stripe, Style::Rolled),
    (Provider::Alipay, Style::Usual),
    (Provider::Alipay, Style::Gbk),
    (Provider::WechatPay, Style::Usual),
    (Provider::WechatPay, Style::Certificate),
    (Provider::Standard, Style::Usual),
    (Provider::Standard, Style::Rolled),
    (Provider::Standard, Style::Ed25519),
];

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_910_398, 0).unwrap()
}

/// What a server configures, of the public halves and shared secrets alone.
fn configuration(provider: Provider) -> Value {
    match provider {
        Provider::Stripe => json!({ "secrets": stripe::SECRETS, "livemode": stripe::LIVEMODE }),
        Provider::Alipay => json!({
            "app_id": alipay::APP_ID,
            "seller_id": alipay::SELLER_ID,
            "alipay_public_keys": [alipay::PLATFORM_PUBLIC_KEY],
            "sign_type": "RSA2",
        }),
        Provider::WechatPay => json!({
            "appid": wechatpay::APPID,
            "mchid": wechatpay::MCHID,
            "api_v3_key": wechatpay::API_V3_KEY,
            "keys": [
                {
                    "kind": "public_key",
                    "id": wechatpay::PUBLIC_KEY_ID,
                    "public_key_pem": wechatpay::PLATFORM_PUBLIC_KEY,
                },
                {
                    "kind": "platform_cert",
                    "id": wechatpay::PLATFORM_CERTIFICATE_SERIAL,
                    "certificate_pem": wechatpay::PLATFORM_CERTIFICATE,
                },
            ],
        }),
        Provider::Standard => json!({
            "secrets": [standard::SECRETS[0], standard::SECRETS[1], standard::PUBLIC_KEY],
        }),
    }
}

fn amount(text: &str) -> provider_simulator::Amount {
    text.parse().unwrap()
}

fn payment(provider: Provider) -> Payment {
    Payment {
        payment_no: PAYMENT_NO.to_owned(),
        provider_payment_id: ids::payment(provider, PAYMENT_NO, 1),
        amount: amount("88.80"),
        currency: "CNY".to_owned(),
    }
}

/// An event that happened to [`payment`]; its id is new.
fn happened(provider: Provider, what: What) -> provider_simulator::Event {
    provider_simulator::Event { id: ids::event(provider, at()), at: at(), payment: payment(provider), what }
}

/// A second refund: 15.00 of 25.00 so far.
fn refund(provider: Provider, outcome: Outcome) -> What {
    What::Refunded(Refund {
        refund_no: "R-2".to_owned(),
        refund_id: ids::refund(provider, &ids::payment(provider, PAYMENT_NO, 1), "R-2"),
        amount: amount("15"),
        refunded_total: amount("25"),
        outcome,
    })
}

fn verify(provider: Provider, message: &Message, now: DateTime<Utc>) -> Result<Notice, Rejection> {
    let kind = ProviderKind::from_word(provider.name()).unwrap();
    let adapter = kind.build(configuration(provider), Purpose::Serving).unwrap();
    let headers: Vec<(&str, &[u8])> =
        message.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    adapter.verify(&Delivery { headers: &headers, body: &message.body }, now)
}

fn exactly(text: &str) -> ReportedAmount {
    ReportedAmount::Exact(Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap())
}

#[test]
fn a_payment_in_every_style_is_the_payment_that_was_made() {
    for (provider, style) in STYLES {
        let event = happened(provider, What::Succeeded);
        let message = Sender::demo(provider, style).unwrap().message(&event, at()).unwrap();
        let notice =
            verify(provider, &message, at()).unwrap_or_else(|error| panic!("{provider} {style:?}: {error}"));
        assert_eq!(notice.delivery_key, event.id, "{provider} {style:?}");
        assert_eq!(
            notice.event,
            Event::PaymentSucceeded {
                payment_no: Some(PAYMENT_NO.to_owned()),
                payment_id: event.payment.provider_payment_id,
                amount: exactly("88.80"),
            },
            "{provider} {style:?}"
        );
    }
}

#[test]
fn failed_and_closed_payments_are_told_by_those_who_tell_of_them() {
    for provider in PROVIDERS {
        for (what, kind) in [(What::Failed, "payment_failed"), (What::Closed, "payment_closed")] {
            let event = happened(provider, what);
            let Ok(message) = Sender::demo(provider, Style::Usual).unwrap().message(&event, at()) else {
                continue;
            };
            let notice = verify(provider, &message, at()).unwrap();
            assert_eq!(
                (notice.event.kind(), notice.event.payment_no()),
                (kind, Some(PAYMENT_NO)),
                "{provider}"
            );
        }
    }
}

#[test]
fn a_refund_is_told_as_each_provider_counts() {
    for provider in PROVIDERS {
        let event = happened(provider, refund(provider, Outcome::Done));
        let message = Sender::demo(provider, Style::Usual).unwrap().message(&event, at()).unwrap();
        let notice = verify(provider, &message, at()).unwrap();
        let Event::Refunded(refund) = notice.event else { panic!("{provider}: {:?}", notice.event) };
        let counted = match provider {
            Provider::Stripe | Provider::Alipay => RefundSum::RunningTotal(exactly("25.00")),
            Provider::WechatPay | Provider::Standard => RefundSum::One(exactly("15.00")),
        };
        assert_eq!((refund.sum, refund.outcome), (counted, RefundOutcome::Succeeded), "{provider}");
        assert_eq!(refund.payment_id, event.payment.provider_payment_id, "{provider}");
    }
}

#[test]
fn a_refund_that_did_not_go_through_says_so() {
    for (outcome, read) in
        [(Outcome::Abnormal, RefundOutcome::Abnormal), (Outcome::Closed, RefundOutcome::Closed)]
    {
        let event = happened(Provider::WechatPay, refund(Provider::WechatPay, outcome));
        let message = Sender::demo(Provider::WechatPay, Style::Usual).unwrap().message(&event, at()).unwrap();
        let notice = verify(Provider::WechatPay, &message, at()).unwrap();
        assert!(matches!(notice.event, Event::Refunded(refund) if refund.outcome == read));
    }
}

#[test]
fn what_was_tampered_with_is_refused() {
    for (provider, style) in STYLES {
        let event = happened(provider, What::Succeeded);
        let message = Sender::demo(provider, style).unwrap().message(&event, at()).unwrap();
        let refused = verify(provider, &message.tampered_with(), at()).unwrap_err();
        assert_eq!(refused.reason, Reason::BadSignature, "{provider} {style:?}");
    }
}

#[test]
fn an_old_signature_is_refused_by_all_but_alipay_whose_have_no_age() {
    let an_hour_later = at() + TimeDelta::hours(1);
    for (provider, style) in STYLES {
        let event = happened(provider, What::Succeeded);
        let message = Sender::demo(provider, style).unwrap().message(&event, at()).unwrap();
        let judged = verify(provider, &message, an_hour_later).map_err(|refused| refused.reason).map(|_| ());
        let expected = match provider {
            Provider::Alipay => Ok(()),
            Provider::Stripe | Provider::WechatPay | Provider::Standard => Err(Reason::TimestampTooOld),
        };
        assert_eq!(judged, expected, "{provider} {style:?}");
    }
}

#[test]
fn a_retry_means_what_the_first_attempt_meant() {
    for (provider, style) in STYLES {
        let event = happened(provider, What::Succeeded);
        let sender = Sender::demo(provider, style).unwrap();
        let meaning = |sent_at| {
            let message = sender.message(&event, sent_at).unwrap();
            let notice = verify(provider, &message, sent_at).unwrap();
            (notice.delivery_key.clone(), notice.meaning())
        };
        assert_eq!(meaning(at()), meaning(at() + TimeDelta::hours(2)), "{provider} {style:?}");
    }
}
