//! Plays steps to two servers on one database, and compares with the model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use desk::{Clock, Settings};
use futures::future::join_all;
use onefold_tests::callbacks::{deliver, ensure_acknowledged};
use onefold_tests::http::{Caller, TestServer};
use order::status::Step as Transition;
use order::{OrderEvent, OrderStatus};
use provider_simulator::event::{Outcome, Payment, Refund, What as Said};
use provider_simulator::{Amount, Event, Provider};
use serde_json::{Value, json};
use server::provider_calls::CallSettings;
use server::serve::ServerSettings;

use super::Step;
use super::model::{Act, By, Model, Money, Name, Stock, Told, What};
use crate::books::{Books, created, text};

/// One that tells of each refund by itself, how it ended.
const PROVIDER: Provider = Provider::WechatPay;

const SKUS: [(&str, u64); 2] = [("ALPHA", 750), ("BETA", 333)];

/// The model beside the service.
pub(super) struct Player {
    books: Books,
    second: TestServer,
    there: Caller,
    model: Model,
    accounts: Vec<String>,
    ids: BTreeMap<Name, String>,
    seen: BTreeMap<Name, OrderStatus>,
    seed: u64,
    steps: Vec<Step>,
}

impl Player {
    pub(super) async fn open(seed: u64) -> anyhow::Result<Self> {
        let books = Books::open_asking(ask_nobody).await?;
        let second = TestServer::start_with(books.server.database.clone(), |settings| {
            settings.clock = Arc::new(books.clock.clone());
            ask_nobody(settings);
        })
        .await?;
        let there = books.caller.at(&second.url());
        let mut accounts = Vec::new();
        for _ in 0..3 {
            accounts.push(books.account("100.00").await?);
        }
        let mut skus = Vec::new();
        for (code, price) in SKUS {
            created(&books.put_sku(code, &cents(price), 8).await?);
            skus.push(Stock { price, total: 8, reserved: 0, sold: 0 });
        }
        let model = Model {
            now_s: 0,
            accounts: vec![Money { available: 10_000, held: 0 }; accounts.len()],
            skus,
            holds: BTreeMap::new(),
            orders: BTreeMap::new(),
            refunds: BTreeMap::new(),
        };
        let (ids, seen, steps) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Ok(Self { books, second, there, model, accounts, ids, seen, seed, steps })
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    pub(super) async fn play(&mut self, step: Step) -> anyhow::Result<()> {
        self.steps.push(step.clone());
        self.step(step).await.with_context(|| format!("seed {}, after {:#?}", self.seed, self.steps))
    }

    async fn step(&mut self, step: Step) -> anyhow::Result<()> {
        let touched = match step {
            Step::One(act) => vec![act],
            Step::AtOnce(acts) => acts,
            Step::Pass(seconds) => {
                self.pass(seconds);
                Vec::new()
            }
            Step::PassAnd(seconds, act) => {
                self.pass(seconds);
                // What the account has is late by a sweep; whose figures an answer depends on is asked after it.
                if depends_on_funds(&act) {
                    self.model.sweep();
                    self.ensure_figures().await?;
                }
                vec![act]
            }
        };
        if !touched.is_empty() {
            self.act(&touched).await?;
        }
        self.model.sweep();
        self.ensure_figures().await?;
        self.ensure_subjects(&touched).await?;
        self.ensure_nothing_is_made().await
    }

    fn pass(&mut self, seconds: u64) {
        self.books.clock.advance(Duration::from_secs(seconds));
        self.model.now_s += seconds;
    }

    /// Does all of these at one moment; the answers must be those of some order.
    async fn act(&mut self, acts: &[Act]) -> anyhow::Result<()> {
        let sent = acts.iter().enumerate().map(|(number, act)| {
            let caller = if number % 2 == 0 { &self.books.caller } else { &self.there };
            self.send(caller, act)
        });
        let answers: Vec<(Told, Value)> = join_all(sent).await.into_iter().collect::<anyhow::Result<_>>()?;
        for (act, ((status, ..), body)) in acts.iter().zip(&answers) {
            if let (201, Act::Freeze { name, .. } | Act::Place { name, .. } | Act::Refund { name, .. }) =
                (*status, act)
            {
                self.ids.insert(*name, text(body, "id"));
            }
        }
        let told: Vec<Told> = answers.into_iter().map(|(told, _)| told).collect();
        let explained = orders_of(acts.len()).into_iter().find_map(|order| {
            let mut model = self.model.clone();
            let fits = order.iter().all(|index| model.play(&acts[*index]) == told[*index]);
            fits.then_some(model)
        });
        self.model = explained.with_context(|| format!("no order explains {told:?} to {acts:?}"))?;
        Ok(())
    }

    async fn send(&self, caller: &Caller, act: &Act) -> anyhow::Result<(Told, Value)> {
        let id = |name: &Name| self.ids.get(name).expect("the model has what the service has");
        let account = |index: &usize| &self.accounts[*index];
        let (path, body) = match act {
            Act::Deposit { account: of, cents: sum } => {
                (format!("/v1/accounts/{}/deposits", account(of)), self.moved(*sum))
            }
            Act::Withdraw { account: of, cents: sum } => {
                (format!("/v1/accounts/{}/withdrawals", account(of)), self.moved(*sum))
            }
            Act::Freeze { account: of, cents: sum, seconds, .. } => {
                let mut body = self.moved(*sum);
                if let Some(seconds) = seconds {
                    body["expires_in_seconds"] = json!(seconds);
                }
                (format!("/v1/accounts/{}/holds", account(of)), body)
            }
            Act::CaptureHold { hold, cents: sum, last } => {
                (format!("/v1/holds/{}/capture", id(hold)), self.captured(*sum, *last))
            }
            Act::Release { hold } => (format!("/v1/holds/{}/release", id(hold)), json!({})),
            Act::Place { name, account: of, what, by } => {
                ("/v1/orders".to_owned(), self.order(*name, account(of), *what, *by))
            }
            Act::CaptureOrder { order, cents: sum, last } => {
                (format!("/v1/orders/{}/capture", id(order)), self.captured(*sum, *last))
            }
            Act::Cancel { order } => (format!("/v1/orders/{}/cancel", id(order)), json!({})),
            Act::Refund { order, cents: sum, pieces, .. } => {
                let items = match self.model.orders[order].items {
                    Some((sku, ..)) if *pieces > 0 => json!([{ "sku": SKUS[sku].0, "quantity": pieces }]),
                    _ => json!([]),
                };
                let body = json!({ "amount": cents(*sum), "reference": self.books.key(), "items": items });
                (format!("/v1/orders/{}/refunds", id(order)), body)
            }
            Act::Pay { order } => return self.tell(*order, Said::Succeeded).await,
            Act::EndRefund { refund, is_done } => return self.end_refund(*refund, *is_done).await,
            Act::SetTotal { sku, total } => {
                let (code, price) = SKUS[*sku];
                let told = self.books.put_sku(code, &cents(price), *total).await?;
                return Ok((told_of(&told), Value::Null));
            }
        };
        let answer = caller.post(&path, &self.books.key(), &body).await?;
        Ok((told_of(&answer), answer.json()))
    }

    fn moved(&self, sum: u64) -> Value {
        json!({ "amount": cents(sum), "currency": "CNY", "reference": self.books.key() })
    }

    fn captured(&self, sum: Option<u64>, last: bool) -> Value {
        let mut body = json!({ "final": last, "reference": self.books.key() });
        if let Some(sum) = sum {
            body["amount"] = json!(cents(sum));
        }
        body
    }

    fn order(&self, name: Name, account: &str, what: What, by: By) -> Value {
        let (sum, items) = match what {
            What::Cents(sum) => (sum, json!([])),
            What::Pieces { sku, pieces } => {
                (SKUS[sku].1 * pieces, json!([{ "sku": SKUS[sku].0, "quantity": pieces }]))
            }
        };
        let payment = match by {
            By::Balance => json!({ "method": "balance" }),
            By::Hold(seconds) => json!({ "method": "hold", "expires_in_seconds": seconds }),
            By::Provider => {
                json!({ "method": "provider", "provider": "wechatpay", "payment_no": payment_no(name) })
            }
        };
        json!({
            "account_id": account, "client_order_no": self.books.key(), "currency": "CNY",
            "amount": cents(sum), "items": items, "payment": payment,
        })
    }

    async fn end_refund(&self, name: Name, is_done: bool) -> anyhow::Result<(Told, Value)> {
        let refund = &self.model.refunds[&name];
        let refund_no = self.ids.get(&name).context("it was asked for")?.replace('-', "");
        let amount = Amount::parse(&cents(refund.cents))?;
        let said = Said::Refunded(Refund {
            refund_id: format!("re_{refund_no}"),
            refund_no,
            amount,
            refunded_total: amount,
            outcome: if is_done { Outcome::Done } else { Outcome::Closed },
        });
        self.tell(refund.order, said).await
    }

    /// The provider tells of an order's payment.
    async fn tell(&self, order: Name, what: Said) -> anyhow::Result<(Told, Value)> {
        let now = self.books.clock.now();
        let event = Event {
            id: format!("evt_{}", self.books.key()),
            at: now,
            payment: Payment {
                payment_no: payment_no(order),
                provider_payment_id: format!("money_{order}"),
                amount: Amount::parse(&cents(self.model.orders[&order].cents))?,
                currency: "CNY".to_owned(),
            },
            what,
        };
        let answer = deliver(&self.second.anonymous(), PROVIDER, &event, now).await?;
        ensure_acknowledged(PROVIDER, &answer)?;
        Ok(((200, None, None), Value::Null))
    }

    /// The accounts and the stock are those of the model, as soon as the service has swept what is due.
    async fn ensure_figures(&self) -> anyhow::Result<()> {
        for (id, money) in self.accounts.iter().zip(&self.model.accounts) {
            let expected = (cents(money.available), cents(money.held));
            let is = |account: &Value| (text(account, "available"), text(account, "held")) == expected;
            self.books.read_until(&format!("/v1/accounts/{id}"), is).await?;
            let holds = self.books.read(&format!("/v1/accounts/{id}/holds?limit=100")).await?;
            let holds = holds["data"].as_array().context("holds")?;
            let held: u64 = holds.iter().map(|hold| units(&text(hold, "held_amount"))).sum();
            ensure!(holds.len() == 100 || held == money.held, "{held} of holds, and {} held", money.held);
        }
        for ((code, _), stock) in SKUS.iter().zip(&self.model.skus) {
            let expected = (stock.total - stock.reserved - stock.sold, stock.reserved, stock.sold);
            let is = |sku: &Value| {
                let count = |name: &str| sku[name].as_u64().unwrap_or(u64::MAX);
                (count("available"), count("reserved"), count("sold")) == expected
            };
            self.books.read_until(&format!("/v1/skus/{code}"), is).await?;
        }
        Ok(())
    }

    /// What was acted on is as in the model, and has moved along the table.
    async fn ensure_subjects(&mut self, acts: &[Act]) -> anyhow::Result<()> {
        for act in acts {
            match act {
                Act::Freeze { name, .. }
                | Act::CaptureHold { hold: name, .. }
                | Act::Release { hold: name } => {
                    let (Some(id), Some(hold)) = (self.ids.get(name), self.model.holds.get(name)) else {
                        continue;
                    };
                    let expected = (hold.status.to_owned(), cents(hold.captured));
                    let is =
                        |found: &Value| (text(found, "status"), text(found, "captured_amount")) == expected;
                    self.books
                        .read_until(&format!("/v1/holds/{id}"), is)
                        .await
                        .with_context(|| format!("{hold:?}"))?;
                }
                Act::Place { name, .. }
                | Act::CaptureOrder { order: name, .. }
                | Act::Cancel { order: name }
                | Act::Pay { order: name } => self.ensure_order(*name).await?,
                Act::Refund { name, order, .. } => {
                    self.ensure_order(*order).await?;
                    self.ensure_refund(*name).await?;
                }
                Act::EndRefund { refund, .. } => {
                    self.ensure_order(self.model.refunds[refund].order).await?;
                    self.ensure_refund(*refund).await?;
                }
                Act::Deposit { .. } | Act::Withdraw { .. } | Act::SetTotal { .. } => {}
            }
        }
        Ok(())
    }

    /// A refund that a provider was asked for is as far as in the model.
    async fn ensure_refund(&self, name: Name) -> anyhow::Result<()> {
        let (Some(id), Some(refund)) = (self.ids.get(&name), self.model.refunds.get(&name)) else {
            return Ok(());
        };
        let found = self.books.read(&format!("/v1/refunds/{id}")).await?;
        ensure!(text(&found, "status") == refund.status, "{refund:?}, and {found}");
        Ok(())
    }

    async fn ensure_order(&mut self, name: Name) -> anyhow::Result<()> {
        let (Some(id), Some(order)) = (self.ids.get(&name), self.model.orders.get(&name)) else {
            return Ok(());
        };
        let figures_of = |order: &Value| {
            ["status", "captured_amount", "refunded_amount"].map(|member| text(order, member))
        };
        let expected = [order.status.to_owned(), cents(order.captured), cents(order.refunded)];
        // An order that has nothing frozen or reserved ends with a sweep and shows in no figure before.
        let is = |found: &Value| figures_of(found) == expected;
        self.books.read_until(&format!("/v1/orders/{id}"), is).await.with_context(|| format!("{order:?}"))?;
        ensure!(order.refunded <= order.captured && order.captured <= order.cents, "{order:?}");
        let status = OrderStatus::from_word(&expected[0]).context("a state")?;
        if let Some(before) = self.seen.insert(name, status) {
            ensure!(leads_to(before, status), "an order went from {before:?} to {status:?}");
        }
        Ok(())
    }

    /// Over all accounts of a currency, what they hold and what was collected adds up to nothing.
    async fn ensure_nothing_is_made(&self) -> anyhow::Result<()> {
        let accounts = self.books.read("/v1/accounts?limit=100").await?;
        let of = |account: &&Value| account["currency"] == "CNY";
        let accounts = accounts["data"].as_array().context("accounts")?.iter().filter(of);
        let balances: i128 = accounts.map(|account| i128::from(units(&text(account, "balance")))).sum();
        let collecting = self.books.read("/v1/collecting-accounts").await?;
        let collecting = collecting["data"].as_array().context("collecting accounts")?.iter().filter(of);
        let collected: i128 = collecting
            .map(|one| i128::from(units(&text(one, "credits"))) - i128::from(units(&text(one, "debits"))))
            .sum();
        ensure!(balances + collected == 0, "balances {balances}, collected {collected}");
        Ok(())
    }

    pub(super) async fn finish(self) -> anyhow::Result<()> {
        let names: Vec<Name> = self.model.orders.keys().copied().collect();
        let mut player = self;
        for name in names {
            player.ensure_order(name).await?;
        }
        player.books.audit().await;
        player.second.shutdown().await;
        let database = player.books.server.shutdown().await;
        // What the service's own auditor knows of refunds at providers, the statements above do not.
        let settings = audit::Settings { retention: Settings::default().retention, listed_max: 10 };
        let report = audit::audit(&database, settings, &mut |_| {}).await?;
        let wrong: Vec<_> = report.checks.iter().filter(|check| check.differences > 0).collect();
        ensure!(wrong.is_empty(), "seed {}: {wrong:#?}", player.seed);
        Ok(())
    }
}

/// Providers can be asked for refunds, and are not asked: they tell what became of them when the script says so.
fn ask_nobody(settings: &mut ServerSettings) {
    settings.demo_providers = Some("http://127.0.0.1:1".to_owned());
    settings.provider_calls = CallSettings { pause: Duration::from_secs(60 * 60), ..CallSettings::default() };
}

fn depends_on_funds(act: &Act) -> bool {
    match act {
        Act::Withdraw { .. } | Act::Freeze { .. } | Act::Place { .. } | Act::SetTotal { .. } => true,
        Act::Deposit { .. }
        | Act::CaptureHold { .. }
        | Act::Release { .. }
        | Act::CaptureOrder { .. }
        | Act::Cancel { .. }
        | Act::Refund { .. }
        | Act::EndRefund { .. }
        | Act::Pay { .. } => false,
    }
}

/// Whether the table leads from one state to the other, in any number of steps.
fn leads_to(from: OrderStatus, to: OrderStatus) -> bool {
    let next = OrderEvent::ALL.into_iter().filter_map(|event| match from.on(event) {
        Ok(Transition::To(next)) if next != from => Some(next),
        _ => None,
    });
    from == to || next.into_iter().any(|next| leads_to(next, to))
}

/// Every order in which so many things can happen.
fn orders_of(many: usize) -> Vec<Vec<usize>> {
    if many == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders_of(many - 1);
    shorter
        .into_iter()
        .flat_map(|order| {
            (0..many).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, many - 1);
                longer
            })
        })
        .collect()
}

fn told_of(answer: &onefold_tests::http::Exchange) -> Told {
    let slug = answer.slug().map(|slug| known(&slug));
    let state = slug.and_then(|_| answer.json()["state"].as_str().map(known));
    (answer.status, slug, state)
}

/// The word as the model has it.
fn known(word: &str) -> &'static str {
    const WORDS: [&str; 17] = [
        "insufficient-funds",
        "stock-committed",
        "hold-not-active",
        "capture-exceeds-hold",
        "out-of-stock",
        "order-state-conflict",
        "refund-exceeds-paid",
        "refund-exceeds-items",
        "captured",
        "released",
        "expired",
        "authorized",
        "pending_payment",
        "paid",
        "partially_refunded",
        "refunded",
        "cancelled",
    ];
    WORDS.into_iter().find(|known| *known == word).unwrap_or_else(|| panic!("the model has no {word}"))
}

fn payment_no(name: Name) -> String {
    format!("payment-{name}")
}

fn cents(sum: u64) -> String {
    format!("{}.{:02}", sum / 100, sum % 100)
}

fn units(text: &str) -> u64 {
    let (whole, fraction) = text.split_once('.').expect("two decimals");
    whole.parse::<u64>().expect("digits") * 100 + fraction.parse::<u64>().expect("digits")
}
