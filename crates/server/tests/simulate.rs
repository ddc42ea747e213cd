//! `onefold simulate` against `onefold serve` with its demo, both as their users run them.

#[path = "command_line/program.rs"]
#[allow(dead_code, reason = "other tests do more with servers")]
mod program;

use program::{DEMO_KEY, Ended, Home, Server};
use serde_json::{Value, json};

const PROVIDERS: [&str; 4] = ["stripe", "alipay", "wechatpay", "standard"];
const ALICE: &str = "01900000-0000-7000-8000-00000000000a";
const AMOUNT: &str = "88.80";

/// A demo, and the providers that are played beside it.
struct Demo {
    home: Home,
    server: Server,
    providers: String,
}

impl Demo {
    async fn start() -> Self {
        Self::start_in(Home::new()).await
    }

    async fn start_in(home: Home) -> Self {
        let mut server = home.serve().await;
        let log = server.wait_for_log("the demo's providers are played at http://").await;
        let (_, url) = log.split_once("the demo's providers are played at ").expect("it is logged");
        let providers = url.split(['"', '\n']).next().unwrap_or_default().to_owned();
        Self { home, server, providers }
    }

    /// Places an order that is paid at this provider.
    async fn place(&self, provider: &str, number: &str) {
        let body = json!({
            "account_id": ALICE, "client_order_no": number, "currency": "CNY", "amount": AMOUNT,
            "payment": { "method": "provider", "provider": provider, "payment_no": number },
        });
        let placed = self.server.post("/v1/orders", DEMO_KEY, &format!("place-{number}"), &body).await;
        assert_eq!(placed.status(), 201, "{number}");
    }

    async fn get(&self, path: &str) -> Value {
        self.server.get(path, DEMO_KEY).await.json().await.expect("JSON")
    }

    async fn payment(&self, number: &str) -> Value {
        self.get(&format!("/v1/payments/{number}")).await
    }

    async fn order_status(&self, number: &str) -> Value {
        self.get(&format!("/v1/orders?client_order_no={number}")).await["data"][0]["status"].clone()
    }

    /// Runs `onefold simulate` so that the callbacks come straight from the command.
    async fn simulate(&self, arguments: &[&str]) -> Simulated {
        let server = format!("http://{}", self.server.address());
        self.run(&[arguments, &["--server", &server]].concat()).await
    }

    /// Runs it so that it happens at the providers that are played beside the service.
    async fn through(&self, arguments: &[&str]) -> Simulated {
        let server = format!("http://{}", self.server.address());
        self.run(&[arguments, &["--server", &server, "--through", &self.providers]].concat()).await
    }

    async fn run(&self, arguments: &[&str]) -> Simulated {
        let ended = self.home.run(&[&["simulate"], arguments, &["--json"]].concat()).await;
        let lines = ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        Simulated { ended, lines }
    }
}

/// What a command has printed of its deliveries.
#[derive(Debug)]
struct Simulated {
    ended: Ended,
    lines: Vec<Value>,
}

impl Simulated {
    /// Every copy was acknowledged, and it took so many attempts in all.
    fn acknowledged_after(&self, attempts: usize) {
        assert!(self.ended.success(), "{self:?}");
        assert_eq!(self.lines.len(), attempts, "{self:?}");
        let last = self.lines.last().expect("an attempt");
        assert_eq!(last["acknowledged"], true, "{self:?}");
    }
}

fn texts<'v>(list: &'v Value, member: &str) -> Vec<&'v str> {
    list.as_array().expect("a list").iter().filter_map(|one| one[member].as_str()).collect()
}

#[tokio::test]
async fn a_payment_of_the_demo_is_paid_refunded_told_of_and_reconciled() {
    let demo = Demo::start().await;
    for provider in PROVIDERS {
        let number = format!("T-{provider}-1");
        demo.place(provider, &number).await;
        demo.through(&["pay", &number]).await.acknowledged_after(1);
        assert_eq!(demo.payment(&number).await["status"], "settled", "{provider}");
        demo.through(&["refund", &number, "--refund", "10.00"]).await.acknowledged_after(1);
        assert_eq!(demo.order_status(&number).await, "partially_refunded", "{provider}");
        // More than is left cannot happen there.
        let too_much = demo.through(&["refund", &number, "--refund", "78.81", "--refund-no", "R2"]).await;
        assert_eq!(too_much.ended.code, Some(1), "{too_much:?}");

        let statement = demo
            .home
            .run(&["simulate", "statement", "--provider", provider, "--from", &demo.providers])
            .await;
        assert_eq!(statement.stdout.lines().count(), 3, "{statement:?}");
        // A provider's own layout has other columns; this one is told which they are.
        let layout = demo.home.write("onefold.toml", &layout_of(provider));
        let same = demo.home.write("statement.csv", &statement.stdout);
        let reconcile = ["reconcile", "--provider", provider, "--config", &layout];
        let agreed = demo.home.run(&[&reconcile[..], &[&same]].concat()).await;
        assert!(agreed.success(), "{provider}: {agreed:?}");
        let other = demo.home.write("other.csv", &statement.stdout.replace("88.80", "88.81"));
        let differs = demo.home.run(&[&reconcile[..], &[&other]].concat()).await;
        assert_eq!(differs.code, Some(1), "{provider}: {differs:?}");
        assert!(differs.stdout.contains("amount_differs"), "{provider}: {differs:?}");
    }
    assert!(demo.server.stop("TERM").await.success());
}

/// How the simulator's statement is laid out, for a provider whose own is otherwise.
fn layout_of(provider: &str) -> String {
    format!(
        "[statements.{provider}]\n\
         payment_id = \"provider_payment_id\"\npayment_no = \"payment_no\"\namount = \"amount\"\n\
         currency = \"currency\"\nkind = \"kind\"\ntime = \"time\"\n"
    )
}

#[tokio::test]
async fn what_was_paid_at_the_demos_providers_is_refunded_after_a_restart() {
    let demo = Demo::start().await;
    demo.place("wechatpay", "Y-0001").await;
    demo.through(&["pay", "Y-0001"]).await.acknowledged_after(1);
    assert!(demo.server.stop("TERM").await.success());
    let demo = Demo::start_in(demo.home).await;
    demo.through(&["refund", "Y-0001"]).await.acknowledged_after(1);
    assert_eq!(demo.order_status("Y-0001").await, "refunded");
    assert!(demo.server.stop("TERM").await.success());
}

#[tokio::test]
async fn whatever_a_provider_does_with_its_callback_the_order_is_paid_once() {
    let demo = Demo::start().await;
    for provider in PROVIDERS {
        let number = |what: &str| format!("{what}-{provider}");
        for (what, flags, attempts) in [
            ("copies", &["--copies", "5", "--parallel"][..], 5),
            ("retried", &["--tampered=2", "--faster", "36000"], 3),
            ("unheard", &["--lose-answers", "--faster", "36000"], 2),
            ("hung-up", &["--hang-up", "--faster", "36000"], 2),
        ] {
            let number = number(what);
            demo.place(provider, &number).await;
            demo.simulate(&[&["pay", &number], flags].concat()).await.acknowledged_after(attempts);
            let payment = demo.payment(&number).await;
            assert_eq!(payment["status"], "settled", "{number}");
            assert_eq!(texts(&payment["journal"], "kind"), ["payment_settled"], "{number}");
        }

        let tampered = number("forged");
        demo.place(provider, &tampered).await;
        let refused = demo.simulate(&["pay", &tampered, "--tampered", "--attempts", "1"]).await;
        assert_eq!(refused.ended.code, Some(1), "{refused:?}");
        assert_eq!(demo.payment(&tampered).await["status"], "pending", "{provider}");

        let wrong = number("wrong");
        demo.place(provider, &wrong).await;
        demo.simulate(&["pay", &wrong, "--wrong-amount"]).await.acknowledged_after(1);
        let payment = demo.payment(&wrong).await;
        assert_eq!(payment["status"], "pending", "{provider}");
        assert_eq!(texts(&payment["receipts"], "state"), ["mismatched"], "{provider}");

        let overtaken = number("overtaken");
        demo.place(provider, &overtaken).await;
        let refund = ["refund", &overtaken, "--refund", "10.00", "--out-of-order"];
        demo.simulate(&refund).await.acknowledged_after(2);
        assert_eq!(demo.order_status(&overtaken).await, "partially_refunded", "{provider}");

        // Who tells of failed attempts, and of closed payments.
        let failed = number("failed");
        demo.place(provider, &failed).await;
        let tells = matches!(provider, "stripe" | "standard");
        let told = demo.simulate(&["fail", &failed]).await;
        assert_eq!((told.ended.success(), told.lines.len()), (tells, usize::from(tells)), "{told:?}");
        if tells {
            demo.simulate(&["pay", &failed, "--out-of-order"]).await.acknowledged_after(2);
            assert_eq!(demo.payment(&failed).await["status"], "settled", "{provider}");
        }
        let closed = number("closed");
        demo.place(provider, &closed).await;
        let tells = matches!(provider, "stripe" | "alipay");
        let told = demo.simulate(&["close", &closed]).await;
        assert_eq!((told.ended.success(), told.lines.len()), (tells, usize::from(tells)), "{told:?}");
        if tells {
            // At Stripe it is an attempt that is over, and the payer may begin another.
            let status = if provider == "stripe" { "pending_payment" } else { "expired" };
            assert_eq!(demo.order_status(&closed).await, status, "{provider}");
        }
    }
    let verified = demo.home.run(&["verify"]).await;
    assert!(verified.success(), "{verified:?}");
    assert!(demo.server.stop("TERM").await.success());
}

#[tokio::test]
async fn a_flood_settles_every_payment_and_a_forged_one_none() {
    let home = Home::new();
    let configuration = home.write("onefold.toml", "[http]\ncallbacks_per_second = 0\n");
    let server = home.serve_with(&["--config", &configuration]).await;
    let url = format!("http://{}", server.address());
    for provider in PROVIDERS {
        let flood =
            ["simulate", "flood", "--provider", provider, "--server", &url, "--payments", "40", "--json"];
        for (flags, settled) in [(&[][..], 40), (&["--forged"], 0)] {
            let ended = home.run(&[&flood[..], flags].concat()).await;
            assert!(ended.success(), "{ended:?}");
            let told: Value = serde_json::from_str(&ended.stdout).expect("JSON");
            assert_eq!((&told["callbacks"], &told["settled"]), (&json!(40), &json!(settled)), "{told}");
        }
    }
    assert!(server.stop("TERM").await.success());
}
