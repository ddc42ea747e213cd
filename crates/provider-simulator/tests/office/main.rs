//! The office over HTTP, asked as merchants ask the real providers.
//!
//! - this file: an office to ask, with what has happened in it;
//! - [`stripe`], [`alipay`], [`wechatpay`], [`standard`]: each provider's API;
//! - [`trouble`]: answers that do not come;
//! - [`callbacks`]: what the office tells of what happens in it, and what it remembers.

mod alipay;
mod callbacks;
mod standard;
mod stripe;
mod trouble;
mod wechatpay;

use std::sync::{Arc, Weak};
use std::time::Duration;

use provider_simulator::books::Books;
use provider_simulator::delivery::Plan;
use provider_simulator::ids;
use provider_simulator::journal::Journal;
use provider_simulator::office::Office;
use provider_simulator::report::Line;
use provider_simulator::scenario::{Action, Scenario};
use provider_simulator::target::Target;
use provider_simulator::trouble::{Chances, Trouble};
use provider_simulator::{Amount, Provider, Style, api};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};

/// An office at an address of its own, for as long as the test lasts.
struct Asked {
    url: String,
    http: reqwest::Client,
    /// Every delivery that it reports.
    lines: mpsc::UnboundedReceiver<Line>,
    office: Weak<Office>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Asked {
    /// An office without books and without a server to call back.
    async fn new() -> Self {
        Self::with((Journal::forgetful(), Books::default()), None).await
    }

    async fn with(kept: (Journal, Books), server: Option<Target>) -> Self {
        let (told, lines) = mpsc::unbounded_channel();
        let trouble = Trouble::new(Chances::default(), Duration::from_millis(50), 1);
        let plan = Plan { faster: 1_000_000, attempts_max: Some(3), ..Plan::default() };
        let report = Box::new(move |line| drop(told.send(line)));
        let office = Arc::new(Office::new(kept, trouble, server, plan, report));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let itself = Arc::downgrade(&office);
        let served = tokio::spawn(async move {
            api::serve(listener, office, async { drop(stopped.await) }).await.unwrap();
        });
        Self { url, http: reqwest::Client::new(), lines, office: itself, stop, served }
    }

    /// Ends it, with its books closed.
    async fn close(self) {
        drop((self.stop, self.http));
        self.served.await.unwrap();
        // Its connections are cut, and end when it is their turn.
        while self.office.strong_count() > 0 {
            yield_now().await;
        }
    }

    fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(format!("{}{path}", self.url))
    }

    fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.post(format!("{}{path}", self.url))
    }

    /// Lets something happen to P-1, of 88.80 CNY; answers what was told of it.
    async fn happen(&self, provider: Provider, action: Action) -> Value {
        let asked = json!({ "scenario": scenario(provider, action), "plan": { "attempts_max": 1 } });
        let answer = self.post("/control/scenarios").json(&asked).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }
}

fn scenario(provider: Provider, action: Action) -> Scenario {
    Scenario {
        action,
        provider,
        payment_no: "P-1".to_owned(),
        amount: Amount::parse("88.80").unwrap(),
        currency: "CNY".to_owned(),
        nth: 1,
        overtaken: false,
        style: Style::Usual,
    }
}

/// The provider's id for P-1.
fn id(provider: Provider) -> String {
    ids::payment(provider, "P-1", 1)
}

/// The status and the body of an answer.
async fn answered(request: reqwest::RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}
