//! The service dies between a provider's answer to a refund and the commit of what follows from it.

use desk::Step;
use onefold_tests::http::ALICE;
use onefold_tests::office::Office;
use onefold_tests::own_cluster::OwnCluster;
use provider_simulator::scenario::Action;
use provider_simulator::{Provider, demo_keys};
use serde_json::json;

use crate::asked::until;
use crate::program::{Program, verify};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_around_a_refund_at_a_provider_leaves_one_refund_and_books_that_agree() -> anyhow::Result<()>
{
    let cluster = OwnCluster::start(&[]).await?;
    cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let office = Office::open().await?;
    let configuration = format!(
        "[payments]\nprovider_timeout_ms = 1000\n\n[callbacks.standard]\nprovider = \"standard\"\nclient = \"demo\"\npoll_after_s = 1\nsecrets = [{:?}]\n\
         api = {{ key = {:?}, base_url = \"{}/standard\" }}\n",
        demo_keys::standard::SECRET,
        demo_keys::standard::API_KEY,
        office.url
    );
    for step in [Step::Decided, Step::Saved, Step::Committed] {
        let number = format!("R-{}", step.name());
        let program = Program::configured(&url, None, &configuration).await?;
        let body = json!({
            "account_id": ALICE, "client_order_no": number, "currency": "CNY", "amount": "88.80",
            "payment": { "method": "provider", "provider": "standard", "payment_no": number },
        });
        let placed = program.demo().post("/v1/orders", &number, &body).await?;
        assert_eq!(placed.status, 201, "{}", String::from_utf8_lossy(&placed.bytes));
        office.happen(Provider::Standard, &number, "88.80", Action::Pay).await?;
        let payment = format!("/v1/payments/{number}");
        until(&program.demo(), &payment, |payment| payment["status"] == "settled").await?;
        program.kill().await?;

        // The first batch is the client's request; the second what follows from the provider's answer.
        let failpoints = format!("{}=1*off->return", step.name());
        let mut doomed = Program::configured(&url, Some(&failpoints), &configuration).await?;
        let order = placed.json()["id"].as_str().unwrap_or_default().to_owned();
        let path = format!("/v1/orders/{order}/refunds");
        let refund = json!({ "amount": "10.00", "reference": number });
        let asked = doomed.demo().post(&path, &format!("refund-{number}"), &refund).await?;
        assert_eq!(asked.status, 201, "{}", String::from_utf8_lossy(&asked.bytes));
        doomed.crashed().await?;

        let program = Program::configured(&url, None, &configuration).await?;
        let id = asked.json()["id"].as_str().unwrap_or_default().to_owned();
        until(&program.demo(), &format!("/v1/refunds/{id}"), |refund| refund["status"] == "succeeded")
            .await?;
        let order = program.demo().get(&format!("/v1/orders/{order}")).await?.json();
        assert_eq!(
            (&order["status"], &order["refunded_amount"]),
            (&json!("partially_refunded"), &json!("10.00"))
        );
        let refunds = office.office().read(|books| {
            let booked = books.of_number(Provider::Standard, &number).expect("a payment");
            (booked.refunds.len(), booked.refunded().to_string())
        });
        assert_eq!(refunds, (1, "10".to_owned()), "the provider's books and ours agree");
        program.kill().await?;
    }
    verify(&url).await?;
    cluster.stop().await
}
