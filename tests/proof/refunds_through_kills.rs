//! The service and PostgreSQL die while four providers are asked for refunds, and lose answers: afterwards the providers'
//! books and ours agree to the cent.

use std::time::Duration;

use anyhow::ensure;
use onefold_tests::http::{ALICE, Caller};
use onefold_tests::office::Office;
use onefold_tests::own_cluster::OwnCluster;
use provider_simulator::demo_keys::{alipay, standard, stripe, wechatpay};
use provider_simulator::provider::PROVIDERS;
use provider_simulator::scenario::Action;
use provider_simulator::trouble::Kind;
use provider_simulator::{Amount, Provider};
use rand::Rng;
use serde_json::json;
use tokio::time::sleep;

use crate::asked::{Asked, until};
use crate::program::{Program, signal, verify};

/// How many orders are paid at each provider.
const ORDERS: usize = 4;

/// What is given back of each, refund by refund.
const REFUNDS: [&str; 3] = ["10.00", "0.01", "20.50"];

/// How long it works before something dies, at the most.
const WORKS_MS: u64 = 400;

/// Endpoints of all four that are asked at this address, soon and without patience.
fn configuration(url: &str) -> String {
    let calls = "[payments]\nprovider_timeout_ms = 1000\n".to_owned();
    let endpoint = |provider: Provider, settings: String| {
        let head = format!(
            "[callbacks.{provider}]\nprovider = \"{provider}\"\nclient = \"demo\"\npoll_after_s = 1\n"
        );
        format!("{head}{settings}\n")
    };
    calls
        + &endpoint(
            Provider::Stripe,
            format!(
                "secrets = {:?}\nlivemode = {}\napi = {{ key = {:?}, base_url = {url:?} }}",
                stripe::SECRETS,
                stripe::LIVEMODE,
                stripe::API_KEY
            ),
        )
        + &endpoint(
            Provider::Alipay,
            format!(
                "app_id = {:?}\nseller_id = {:?}\nalipay_public_keys = [{:?}]\n\
                 api = {{ app_private_key = {:?}, base_url = {url:?} }}",
                alipay::APP_ID,
                alipay::SELLER_ID,
                alipay::PLATFORM_PUBLIC_KEY,
                alipay::APP_PRIVATE_KEY
            ),
        )
        + &endpoint(
            Provider::WechatPay,
            format!(
                "mchid = {:?}\nappid = {:?}\napi_v3_key = {:?}\n\
                 keys = [{{ kind = \"public_key\", id = {:?}, public_key_pem = {:?} }}]\n\
                 api = {{ merchant_serial = {:?}, merchant_private_key = {:?}, base_url = {url:?} }}",
                wechatpay::MCHID,
                wechatpay::APPID,
                wechatpay::API_V3_KEY,
                wechatpay::PUBLIC_KEY_ID,
                wechatpay::PLATFORM_PUBLIC_KEY,
                wechatpay::MERCHANT_SERIAL,
                wechatpay::MERCHANT_PRIVATE_KEY
            ),
        )
        + &endpoint(
            Provider::Standard,
            format!(
                "secrets = [{:?}]\napi = {{ key = {:?}, base_url = \"{url}/standard\" }}",
                standard::SECRET,
                standard::API_KEY
            ),
        )
}

/// An order that is paid at a provider.
struct Paid {
    provider: Provider,
    number: String,
    id: String,
}

/// Orders that are paid at all four, which nobody calls back about.
async fn paid_orders(caller: &Caller, office: &Office) -> anyhow::Result<Vec<Paid>> {
    let mut orders = Vec::new();
    for (provider, index) in PROVIDERS.into_iter().flat_map(|one| (0..ORDERS).map(move |index| (one, index)))
    {
        let number = format!("K-{provider}-{index}");
        let body = json!({
            "account_id": ALICE, "client_order_no": number, "currency": "CNY", "amount": "88.80",
            "payment": { "method": "provider", "provider": provider.to_string(), "payment_no": number },
        });
        let placed = caller.post("/v1/orders", &number, &body).await?;
        ensure!(placed.status == 201, "{}", String::from_utf8_lossy(&placed.bytes));
        office.happen(provider, &number, "88.80", Action::Pay).await?;
        orders.push(Paid {
            provider,
            number,
            id: placed.json()["id"].as_str().unwrap_or_default().to_owned(),
        });
    }
    for order in &orders {
        until(caller, &format!("/v1/orders/{}", order.id), |order| order["status"] == "paid").await?;
    }
    Ok(orders)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_that_are_asked_for_while_everything_dies_agree_with_the_providers_books_to_the_cent()
-> anyhow::Result<()> {
    let mut cluster = OwnCluster::start(&[]).await?;
    cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let office = Office::open().await?;
    let configuration = configuration(&office.url);
    let mut program = Program::configured(&url, None, &configuration).await?;
    let orders = paid_orders(&program.demo(), &office).await?;

    let mut refunds = Vec::new();
    for (round, amount) in REFUNDS.into_iter().enumerate() {
        for (index, order) in orders.iter().enumerate() {
            let reference = format!("{}-{round}", order.number);
            let asking = Asked {
                key: reference.clone(),
                path: format!("/v1/orders/{}/refunds", order.id),
                body: json!({ "amount": amount, "reference": reference }),
                expected: &[201],
                deed: None,
            };
            let answer = asking.send_until_answered(&program.demo()).await?;
            ensure!(answer.status == 201, "{}", String::from_utf8_lossy(&answer.bytes));
            let id = answer.json()["id"].as_str().unwrap_or_default().to_owned();
            // The provider may have heard of it already; then it is the question whose answer is lost.
            let kind = [None, Some(Kind::Lost), None, Some(Kind::Error)][(index + round) % 4];
            kind.into_iter().for_each(|kind| office.trouble(&id.replace('-', ""), kind, 1));
            refunds.push(id);
        }
        // No state is waited for: any moment will do, and no two the same.
        let moment_ms = rand::rng().random_range(0..WORKS_MS);
        sleep(Duration::from_millis(moment_ms)).await;
        if round % 2 == 0 {
            program.kill().await?;
            program = Program::configured(&url, None, &configuration).await?;
        } else {
            signal("QUIT", cluster.postmaster()?).await?;
            cluster.start_again().await?;
        }
    }

    for id in &refunds {
        until(&program.demo(), &format!("/v1/refunds/{id}"), |refund| refund["status"] == "succeeded")
            .await?;
    }
    for order in &orders {
        let ours = program.demo().get(&format!("/v1/orders/{}", order.id)).await?.json();
        let (back, times) = office.office().read(|books| {
            let booked = books.of_number(order.provider, &order.number).expect("a payment");
            (booked.refunded(), booked.refunds.len())
        });
        assert_eq!(times, REFUNDS.len(), "{}: one refund for each that was asked for", order.number);
        let ours = ours["refunded_amount"].as_str().unwrap_or_default().to_owned();
        assert_eq!(Amount::parse(&ours).ok(), Some(back), "{}: {ours}", order.number);
        assert_eq!(ours, "30.51", "{}", order.number);
    }
    program.kill().await?;
    verify(&url).await?;
    cluster.stop().await
}
