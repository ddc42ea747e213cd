//! The sweeper dies with its server, before and after the commit of what it found due; afterwards two sweep at once.

use anyhow::{Context, ensure};
use desk::Step;
use onefold_tests::http::{ALICE, Caller};
use onefold_tests::own_cluster::OwnCluster;
use serde_json::{Value, json};

use crate::asked::until;
use crate::program::{Program, verify};

/// How many of a kind are due at once.
const DUE: usize = 12;

/// What becomes due within a second.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Hold,
    ByHold,
    /// Payments at Alipay are awaited for a second here.
    AtProvider,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Hold, Self::ByHold, Self::AtProvider];

    /// Where to ask for one, and how.
    fn placing(self, number: &str) -> (String, Value) {
        let order = |payment: Value| {
            json!({
                "account_id": ALICE, "client_order_no": number, "currency": "CNY", "amount": "2.00",
                "items": [{ "sku": "SEAT", "quantity": 1 }], "payment": payment,
            })
        };
        let orders = "/v1/orders".to_owned();
        match self {
            Self::Hold => (
                format!("/v1/accounts/{ALICE}/holds"),
                json!({ "amount": "2.00", "currency": "CNY", "reference": number, "expires_in_seconds": 1 }),
            ),
            Self::ByHold => (orders, order(json!({ "method": "hold", "expires_in_seconds": 1 }))),
            Self::AtProvider => (orders, order(json!({ "method": "provider", "provider": "alipay" }))),
        }
    }

    fn path(self, id: &str) -> String {
        let collection = if matches!(self, Self::Hold) { "holds" } else { "orders" };
        format!("/v1/{collection}/{id}")
    }
}

/// Places some of a kind; answers their ids.
async fn placed(caller: &Caller, kind: Kind, step: Step) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::new();
    for number in 0..DUE {
        let number = format!("{kind:?}-{}-{number}", step.name());
        let (path, body) = kind.placing(&number);
        let answer = caller.post(&path, &number, &body).await?;
        ensure!(answer.status == 201, "{}", String::from_utf8_lossy(&answer.bytes));
        ids.push(answer.json()["id"].as_str().context("an id")?.to_owned());
    }
    Ok(ids)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweeper_that_dies_at_any_point_and_one_that_is_not_alone_expire_each_thing_once()
-> anyhow::Result<()> {
    let cluster = OwnCluster::start(&[]).await?;
    cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let program = Program::first(&url).await?;
    let body = json!({ "price": { "amount": "2.00", "currency": "CNY" }, "total": 1_000 });
    let putting = program.demo().request("PUT", "/v1/skus/SEAT").header("content-type", "application/json");
    ensure!(program.demo().send(putting.body(body.to_string())).await?.status == 201, "no sku");
    program.kill().await?;

    let mut due = Vec::new();
    for kind in Kind::ALL {
        for step in [Step::Decided, Step::Saved, Step::Committed] {
            let program = Program::again(&url).await?;
            let ids = placed(&program.demo(), kind, step).await?;
            due.extend(ids.into_iter().map(|id| (kind, id)));
            program.kill().await?;
            // Nobody asks it for anything: its first batch is the sweeper's.
            let mut doomed = Program::failing(&url, &format!("{}=return", step.name())).await?;
            doomed.crashed().await.with_context(|| format!("{kind:?}, {}", step.name()))?;
        }
    }

    let (one, other) = tokio::join!(Program::again(&url), Program::again(&url));
    let (one, other) = (one?, other?);
    let caller = one.demo();
    for (kind, id) in &due {
        let ended = until(&caller, &kind.path(id), |found| found["status"] == "expired").await?;
        assert_eq!(ended["captured_amount"], "0.00", "{kind:?}");
        if !matches!(kind, Kind::Hold) {
            let history = caller.get(&format!("/v1/orders/{id}/history?limit=100")).await?.json();
            let steps = history["data"].as_array().context("a history")?.len();
            assert_eq!(steps, 2, "placed, and expired once: {history}");
        }
    }
    let given_back =
        |account: &Value| (&account["available"], &account["held"]) == (&json!("10000.00"), &json!("0.00"));
    until(&caller, &format!("/v1/accounts/{ALICE}"), given_back).await?;
    until(&caller, "/v1/skus/SEAT", |sku| sku["available"] == 1_000 && sku["reserved"] == 0).await?;
    one.kill().await?;
    other.kill().await?;
    verify(&url).await?;
    cluster.stop().await
}
