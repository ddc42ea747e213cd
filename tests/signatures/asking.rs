//! What the adapters ask the simulated providers, and make of the answers.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use money::{Amount, Currency};
use payment_callback::api::{
    ApiFault, ApiRequest, ApiResponse, PaymentAsked, RefundAnswer, RefundAsked, RefundState, Sending,
};
use payment_callback::{Delivery, Notice, ProviderKind, Purpose};
use provider_simulator::books::Books;
use provider_simulator::clock::now;
use provider_simulator::delivery::Plan;
use provider_simulator::demo_keys::{alipay, standard, stripe, wechatpay};
use provider_simulator::journal::Journal;
use provider_simulator::office::Office;
use provider_simulator::provider::PROVIDERS;
use provider_simulator::scenario::{Action, Scenario};
use provider_simulator::trouble::{Chances, Kind, Trouble};
use provider_simulator::{Provider, Style, api, ids};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{PAYMENT_NO, amount, configuration};

/// A provider at an address of its own, and the adapter that asks it.
struct Asked {
    provider: Provider,
    office: Arc<Office>,
    adapter: Box<dyn payment_callback::Provider>,
    http: reqwest::Client,
}

/// What came of a question: `None` where no answer came.
type Learnt<T> = Option<Result<T, ApiFault>>;

impl Asked {
    async fn new(provider: Provider) -> Self {
        let trouble = Trouble::new(Chances::default(), Duration::ZERO, 1);
        let kept = (Journal::forgetful(), Books::default());
        let office = Arc::new(Office::new(kept, trouble, None, Plan::default(), Box::new(drop)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(api::serve(listener, Arc::clone(&office), pending()));
        let mut settings = configuration(provider);
        settings["api"] = match provider {
            Provider::Stripe => json!({ "key": stripe::API_KEY, "base_url": url }),
            Provider::Alipay => json!({ "app_private_key": alipay::APP_PRIVATE_KEY, "base_url": url }),
            Provider::WechatPay => json!({
                "merchant_serial": wechatpay::MERCHANT_SERIAL,
                "merchant_private_key": wechatpay::MERCHANT_PRIVATE_KEY,
                "base_url": url,
            }),
            Provider::Standard => json!({ "key": standard::API_KEY, "base_url": format!("{url}/standard") }),
        };
        let kind = ProviderKind::from_word(provider.name()).unwrap();
        let adapter = kind.build(settings, Purpose::Serving).unwrap();
        Self { provider, office, adapter, http: reqwest::Client::new() }
    }

    async fn happen(&self, action: Action) {
        let scenario = Scenario {
            action,
            provider: self.provider,
            payment_no: PAYMENT_NO.to_owned(),
            amount: amount("88.80"),
            currency: "CNY".to_owned(),
            nth: 1,
            overtaken: false,
            style: Style::Usual,
        };
        self.office.happen(&scenario, &Plan::default(), true).await.unwrap();
    }

    /// Sends the request and lets the answer be read; `None` where the connection ends without one.
    async fn ask<T>(
        &self,
        request: ApiRequest,
        read: impl FnOnce(&ApiResponse<'_>) -> Result<T, ApiFault>,
    ) -> Learnt<T> {
        let method = request.method.parse().unwrap();
        let mut sent = self.http.request(method, &request.url).body(request.body);
        for (name, value) in request.headers {
            sent = sent.header(name, value);
        }
        let answer = sent.send().await.ok()?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let headers: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let body = answer.bytes().await.ok()?;
        Some(read(&ApiResponse { status, content: Delivery { headers: &headers, body: &body } }))
    }

    async fn query(&self, payment_id: Option<&str>) -> Vec<Notice> {
        let api = self.adapter.api().unwrap();
        let payment = PaymentAsked { payment_no: PAYMENT_NO, payment_id };
        let learnt =
            self.ask(api.query(&payment, sending()), |answer| api.read_query(&payment, answer, now())).await;
        learnt.unwrap().unwrap_or_else(|fault| panic!("{}: {fault}", self.provider))
    }

    async fn refund(&self, asked: &RefundAsked<'_>) -> Learnt<RefundAnswer> {
        let api = self.adapter.api().unwrap();
        let request = api.refund(asked, sending()).unwrap();
        self.ask(request, |answer| api.read_refund(asked, answer, now())).await
    }

    async fn query_refund(&self, asked: &RefundAsked<'_>) -> RefundAnswer {
        let api = self.adapter.api().unwrap();
        let learnt = self
            .ask(api.query_refund(asked, sending()), |answer| api.read_query_refund(asked, answer, now()))
            .await;
        learnt.unwrap().unwrap_or_else(|fault| panic!("{}: {fault}", self.provider))
    }
}

fn sending() -> Sending<'static> {
    Sending { at: now(), nonce: "0123456789abcdef0123456789abcdef" }
}

fn cny(text: &str) -> Amount {
    Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
}

fn kinds(notices: &[Notice]) -> Vec<&'static str> {
    notices.iter().map(|notice| notice.event.kind()).collect()
}

#[tokio::test]
async fn what_became_of_a_payment_is_learnt_by_its_number() {
    for provider in PROVIDERS {
        let asked = Asked::new(provider).await;
        assert_eq!(
            kinds(&asked.query(None).await),
            Vec::<&str>::new(),
            "{provider}: nobody has begun to pay"
        );
        asked.happen(Action::Pay).await;
        let paid = asked.query(None).await;
        assert_eq!(kinds(&paid), ["payment_succeeded"], "{provider}");
        assert_eq!(
            paid[0].event.payment_id(),
            Some(ids::payment(provider, PAYMENT_NO, 1).as_str()),
            "{provider}"
        );
        let by_id = asked.query(paid[0].event.payment_id()).await;
        assert_eq!(by_id[0].event, paid[0].event, "{provider}: by its id");
    }
}

#[tokio::test]
async fn a_closed_payment_is_learnt_even_where_no_callback_tells_of_it() {
    for provider in PROVIDERS {
        let asked = Asked::new(provider).await;
        asked.happen(Action::Close).await;
        assert_eq!(kinds(&asked.query(None).await), ["payment_closed"], "{provider}");
    }
}

#[tokio::test]
async fn a_failed_attempt_closes_nothing() {
    for provider in PROVIDERS {
        let asked = Asked::new(provider).await;
        asked.happen(Action::Fail).await;
        // Alipay does not tell it from a buyer who has not paid yet.
        let expected = if provider == Provider::Alipay { "noted" } else { "payment_failed" };
        assert_eq!(kinds(&asked.query(None).await), [expected], "{provider}");
    }
}

#[tokio::test]
async fn a_refund_whose_answer_was_lost_is_found_and_not_made_again() {
    for provider in PROVIDERS {
        let asked = Asked::new(provider).await;
        asked.happen(Action::Pay).await;
        let payment_id = ids::payment(provider, PAYMENT_NO, 1);
        let refund = RefundAsked {
            payment_no: PAYMENT_NO,
            payment_id: &payment_id,
            refund_no: "R-1",
            refund_id: None,
            amount: cny("10.00"),
            paid: cny("88.80"),
        };
        assert_eq!(asked.query_refund(&refund).await.state, RefundState::Unknown, "{provider}");
        asked.office.trouble.order("R-1", Kind::Lost, 1);
        assert_eq!(asked.refund(&refund).await, None, "{provider}: the answer is lost");
        assert_eq!(asked.query_refund(&refund).await.state, RefundState::Succeeded, "{provider}");
        // Asked for once more, Alipay says that nothing moved, which may be a refund under way: it is asked about.
        let expected =
            if provider == Provider::Alipay { RefundState::Processing } else { RefundState::Succeeded };
        assert_eq!(asked.refund(&refund).await.unwrap().unwrap().state, expected, "{provider}");
        assert_eq!(asked.query_refund(&refund).await.state, RefundState::Succeeded, "{provider}");
        let total = asked.office.read(|books| books.of_id(provider, &payment_id).unwrap().refunded());
        assert_eq!(total, amount("10.00"), "{provider}");
    }
}

#[tokio::test]
async fn more_than_was_paid_is_refused_for_good() {
    for provider in PROVIDERS {
        let asked = Asked::new(provider).await;
        asked.happen(Action::Pay).await;
        let payment_id = ids::payment(provider, PAYMENT_NO, 1);
        let too_much = RefundAsked {
            payment_no: PAYMENT_NO,
            payment_id: &payment_id,
            refund_no: "R-1",
            refund_id: None,
            amount: cny("88.81"),
            paid: cny("88.80"),
        };
        let refused = asked.refund(&too_much).await.unwrap();
        assert!(matches!(refused, Err(ApiFault::Refused { .. })), "{provider}: {refused:?}");
    }
}
