//! The service dies between a provider's answer and the commit of what follows from it, or just after the commit.

use std::time::Duration;

use desk::Step;
use onefold_tests::http::ALICE;
use onefold_tests::office::Office;
use onefold_tests::own_cluster::OwnCluster;
use provider_simulator::scenario::Action;
use provider_simulator::{Provider, demo_keys};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::program::{DEADLINE, Program, verify};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_between_a_providers_answer_and_the_commit_loses_nothing_and_books_once() -> anyhow::Result<()>
{
    let cluster = OwnCluster::start(&[]).await?;
    cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let office = Office::open().await?;
    let configuration = format!(
        "[callbacks.standard]\nprovider = \"standard\"\nclient = \"demo\"\npoll_after_s = 1\nsecrets = [{:?}]\n\
         api = {{ key = {:?}, base_url = \"{}/standard\" }}\n",
        demo_keys::standard::SECRET,
        demo_keys::standard::API_KEY,
        office.url
    );
    for step in [Step::Decided, Step::Saved, Step::Committed] {
        let number = format!("P-{}", step.name());
        // The demo's own endpoints ask too late, and at another address.
        let program = Program::first(&url).await?;
        let body = json!({
            "account_id": ALICE, "client_order_no": number, "currency": "CNY", "amount": "88.80",
            "payment": { "method": "provider", "provider": "standard", "payment_no": number },
        });
        let placed = program.demo().post("/v1/orders", &number, &body).await?;
        assert_eq!(placed.status, 201, "{}", String::from_utf8_lossy(&placed.bytes));
        program.kill().await?;
        office.happen(Provider::Standard, &number, "88.80", Action::Pay).await?;

        let failpoints = format!("{}=return", step.name());
        let mut doomed = Program::configured(&url, Some(&failpoints), &configuration).await?;
        doomed.crashed().await?;

        let program = Program::configured(&url, None, &configuration).await?;
        let settled = async {
            loop {
                let payment = program.demo().get(&format!("/v1/payments/{number}")).await?.json();
                if payment["status"] == "settled" {
                    break anyhow::Ok(payment);
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        let payment = timeout(DEADLINE, settled).await??;
        assert_eq!(payment["journal"].as_array().map(Vec::len), Some(1), "{payment}");
        assert_eq!(payment["deliveries"].as_array().map(Vec::len), Some(1), "{payment}");
        program.kill().await?;
    }
    verify(&url).await?;
    cluster.stop().await
}
