//! Stories as tables of text, in `tests/scenarios`: an act a line, what was answered, and what the account of whoever acted
//! has then, as on a bank statement. Lines that begin with `#` say what the story is about.
//!
//! ```text
//! alice opens an account with 1000.00      | 201                 | 1000.00 |  0.00
//! alice freezes 100.00 as H-1 for 7 days   | 201 active          |  900.00 | 100.00
//! capture 40.00 of H-1                     | 200 captured        |  960.00 |  0.00
//! ```
//!
//! The columns are the act, the status with the state or the kind of problem, and the account's available and held money;
//! an empty column is not looked at. What can be done is [`Teller::act`], from top to bottom.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use desk::Clock;
use futures::future::join_all;
use onefold_tests::callbacks::{deliver, ensure_acknowledged};
use onefold_tests::http::Exchange;
use provider_simulator::event::{Payment, What};
use provider_simulator::{Amount, Event, Provider};
use serde_json::{Value, json};

use crate::books::{Books, text};

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_goes_as_it_is_told() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut stories: Vec<_> = std::fs::read_dir(&folder)
        .expect("the scenarios")
        .map(|entry| entry.expect("a file").path())
        .collect();
    stories.sort();
    assert!(stories.len() >= 15, "only {} scenarios are there", stories.len());
    for some in stories.chunks(4) {
        let told = join_all(
            some.iter()
                .map(|story| async move { tell(story).await.with_context(|| story.display().to_string()) }),
        );
        for result in told.await {
            result.unwrap_or_else(|error| panic!("{error:?}"));
        }
    }
}

async fn tell(story: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(story)?;
    ensure!(text.starts_with("# "), "the first line says what the story is about");
    let mut teller = Teller::open().await?;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            teller.line(line).await.with_context(|| format!("line {}: {line}", number + 1))?;
        }
    }
    teller.books.audit().await;
    Ok(())
}

/// What a name in the story stands for.
#[derive(Clone, Debug)]
enum Named {
    Account { id: String, currency: String },
    Hold { id: String, account: String },
    Order { id: String, account: String },
}

/// Plays a story, line by line.
struct Teller {
    books: Books,
    names: BTreeMap<String, Named>,
    /// The last request, to be asked again: path, key and body.
    last: Option<(String, String, Value)>,
    /// Whose account the last act was about.
    account: Option<String>,
}

impl Teller {
    async fn open() -> anyhow::Result<Self> {
        Ok(Self { books: Books::open_as_demo().await?, names: BTreeMap::new(), last: None, account: None })
    }

    async fn line(&mut self, line: &str) -> anyhow::Result<()> {
        let mut columns = line.split('|').map(str::trim);
        let act = columns.next().unwrap_or_default();
        let (answer, available, held) = (
            columns.next().unwrap_or_default(),
            columns.next().unwrap_or_default(),
            columns.next().unwrap_or_default(),
        );
        let words: Vec<&str> = act.split_whitespace().map(|word| word.trim_end_matches([',', ':'])).collect();
        let told = self.act(&words).await?;
        if let Some(told) = told {
            let told = told_as(&told);
            ensure!(told == answer, "answered {told:?}");
        }
        if let Some(account) = self.account.as_ref().filter(|_| !available.is_empty()) {
            let account = account.clone();
            // What the service does by itself it does soon.
            let path = format!("/v1/accounts/{account}");
            let expected = (available.to_owned(), held.to_owned());
            let is = |account: &Value| (text(account, "available"), text(account, "held"));
            let there = self.books.read_until(&path, |account| is(account) == expected).await?;
            ensure!(is(&there) == expected, "the account has {:?}", is(&there));
        }
        Ok(())
    }

    async fn act(&mut self, words: &[&str]) -> anyhow::Result<Option<Exchange>> {
        match words {
            [who, "opens", "an", "account", "in", currency] => self.opens(who, currency).await,
            [who, "deposits", amount] => self.moves(who, "deposits", amount).await,
            [who, "withdraws", amount] => self.moves(who, "withdrawals", amount).await,
            [who, "closes", "the", "account"] => self.of_account(who, "close", json!({})).await,
            [who, "freezes", amount, "as", name, rest @ ..] => self.freezes(who, amount, name, rest).await,
            ["capture", "of", name, rest @ ..] => self.captures(name, None, rest).await,
            ["capture", amount, "of", name, rest @ ..] => self.captures(name, Some(amount), rest).await,
            ["release", name] => self.on(name, "release", json!({})).await,
            ["cancel", name] => self.on(name, "cancel", json!({})).await,
            [who, "orders", name, "for", amount, rest @ ..] => self.orders(who, name, amount, rest).await,
            ["refund", amount, "of", name, "as", reference, rest @ ..] => {
                let mut body = json!({ "amount": amount, "reference": reference });
                if let ["with", items @ ..] = rest {
                    body["items"] = items_of(items)?;
                }
                self.on(name, "refunds", body).await
            }
            [sku, "costs", amount, currency, "and", "there", "are", total] => {
                let body =
                    json!({ "price": { "amount": amount, "currency": currency }, "total": count(total)? });
                self.account = None;
                self.books.put(&format!("/v1/skus/{sku}"), &body).await.map(Some)
            }
            [sku, "has", available, "available", reserved, "reserved", sold, "sold"] => {
                let expected = (count(available)?, count(reserved)?, count(sold)?);
                let counted = |sku: &Value| {
                    let count = |name: &str| sku[name].as_u64().unwrap_or(u64::MAX);
                    (count("available"), count("reserved"), count("sold"))
                };
                self.books.read_until(&format!("/v1/skus/{sku}"), |sku| counted(sku) == expected).await?;
                Ok(None)
            }
            [name, "is", status, "with", captured, "captured", "and", refunded, "refunded"] => {
                let Named::Order { id, account } = self.named(name)? else { bail!("{name} is no order") };
                self.account = Some(account);
                let expected = [*status, *captured, *refunded];
                let is = |order: &Value| {
                    ["status", "captured_amount", "refunded_amount"].map(|name| text(order, name))
                };
                self.books.read_until(&format!("/v1/orders/{id}"), |order| is(order) == expected).await?;
                Ok(None)
            }
            ["stripe", "tells", "that", amount, "was", "paid", "for", name] => {
                self.account = None;
                self.pays(name, amount).await
            }
            ["a", kind, "payment", "is", "asked", "about"] => {
                self.account = None;
                let path = format!("/v1/payment-alerts?status=open&kind={kind}");
                let one = |alerts: &Value| alerts["data"].as_array().map(Vec::len) == Some(1);
                self.books.read_until(&path, one).await?;
                Ok(None)
            }
            [number, unit, "pass"] => {
                self.books.clock.advance(duration(number, unit)?);
                Ok(None)
            }
            ["the", "answer", "is", "lost", "and", "it", "is", "asked", "again"] => {
                let (path, key, body) = self.last.clone().context("nothing was asked yet")?;
                let again = self.books.caller.post(&path, &key, &body).await?;
                ensure!(again.replayed(), "it was not a replay");
                Ok(Some(again))
            }
            _ => bail!("nobody knows what that means"),
        }
    }

    async fn opens(&mut self, who: &str, currency: &str) -> anyhow::Result<Option<Exchange>> {
        let body = json!({ "currency": currency, "owner": who });
        let opened = self.post("/v1/accounts".to_owned(), body).await?;
        let id = text(&opened.json(), "id");
        self.account = Some(id.clone());
        self.names.insert(who.to_owned(), Named::Account { id, currency: currency.to_owned() });
        Ok(Some(opened))
    }

    async fn moves(&mut self, who: &str, how: &str, amount: &str) -> anyhow::Result<Option<Exchange>> {
        let (_, currency) = self.account(who)?;
        let body = json!({ "amount": amount, "currency": currency, "reference": self.books.key() });
        self.of_account(who, how, body).await
    }

    async fn of_account(&mut self, who: &str, what: &str, body: Value) -> anyhow::Result<Option<Exchange>> {
        let (id, _) = self.account(who)?;
        self.account = Some(id.clone());
        self.post(format!("/v1/accounts/{id}/{what}"), body).await.map(Some)
    }

    async fn freezes(
        &mut self,
        who: &str,
        amount: &str,
        name: &str,
        rest: &[&str],
    ) -> anyhow::Result<Option<Exchange>> {
        let (account, currency) = self.account(who)?;
        let mut body = json!({ "amount": amount, "currency": currency, "reference": name });
        match rest {
            [] => {}
            ["for", number, unit] => body["expires_in_seconds"] = json!(duration(number, unit)?.as_secs()),
            _ => bail!("for how long?"),
        }
        let answer = self.of_account(who, "holds", body).await?.context("an answer")?;
        if answer.status == 201 {
            let id = text(&answer.json(), "id");
            self.names.insert(name.to_owned(), Named::Hold { id, account });
        }
        Ok(Some(answer))
    }

    async fn captures(
        &mut self,
        name: &str,
        amount: Option<&str>,
        rest: &[&str],
    ) -> anyhow::Result<Option<Exchange>> {
        let mut body = json!({});
        if let Some(amount) = amount {
            body["amount"] = json!(amount);
        }
        match rest {
            [] => {}
            ["as", reference] => body["reference"] = json!(reference),
            ["as", reference, "with", "more", "to", "come"] => {
                body["reference"] = json!(reference);
                body["final"] = json!(false);
            }
            _ => bail!("how is it captured?"),
        }
        self.on(name, "capture", body).await
    }

    async fn orders(
        &mut self,
        who: &str,
        name: &str,
        amount: &str,
        rest: &[&str],
    ) -> anyhow::Result<Option<Exchange>> {
        let (account, currency) = self.account(who)?;
        let by = rest.iter().position(|word| *word == "by").context("by what is it paid?")?;
        let items = match &rest[..by] {
            [] => json!([]),
            ["with", items @ ..] => items_of(items)?,
            _ => bail!("what is ordered?"),
        };
        let payment = match &rest[by..] {
            ["by", "balance"] => json!({ "method": "balance" }),
            ["by", "stripe"] => {
                json!({ "method": "provider", "provider": "stripe", "payment_no": payment_no(name) })
            }
            ["by", "hold"] => json!({ "method": "hold" }),
            ["by", "hold", "for", number, unit] => {
                json!({ "method": "hold", "expires_in_seconds": duration(number, unit)?.as_secs() })
            }
            _ => bail!("how is it paid?"),
        };
        let body = json!({
            "account_id": account, "client_order_no": name, "currency": currency, "amount": amount,
            "items": items, "payment": payment,
        });
        self.account = Some(account.clone());
        let answer = self.post("/v1/orders".to_owned(), body).await?;
        if answer.status == 201 {
            let id = text(&answer.json(), "id");
            self.names.insert(name.to_owned(), Named::Order { id, account });
        }
        Ok(Some(answer))
    }

    /// The provider's callback, which it repeats as long as it is not acknowledged.
    async fn pays(&self, name: &str, amount: &str) -> anyhow::Result<Option<Exchange>> {
        let now = self.books.clock.now();
        let event = Event {
            id: format!("evt_{}", self.books.key()),
            at: now,
            payment: Payment {
                payment_no: payment_no(name),
                provider_payment_id: format!("pi_{name}"),
                amount: Amount::parse(amount)?,
                currency: "CNY".to_owned(),
            },
            what: What::Succeeded,
        };
        let answer = deliver(&self.books.server.anonymous(), Provider::Stripe, &event, now).await?;
        ensure_acknowledged(Provider::Stripe, &answer)?;
        Ok(None)
    }

    /// Does something to a hold or an order.
    async fn on(&mut self, name: &str, what: &str, body: Value) -> anyhow::Result<Option<Exchange>> {
        let (path, account) = match self.named(name)? {
            Named::Hold { id, account } => (format!("/v1/holds/{id}/{what}"), account),
            Named::Order { id, account } => (format!("/v1/orders/{id}/{what}"), account),
            Named::Account { .. } => bail!("{name} is an account"),
        };
        self.account = Some(account);
        self.post(path, body).await.map(Some)
    }

    async fn post(&mut self, path: String, body: Value) -> anyhow::Result<Exchange> {
        let key = self.books.key();
        self.last = Some((path.clone(), key.clone(), body.clone()));
        self.books.caller.post(&path, &key, &body).await
    }

    fn named(&self, name: &str) -> anyhow::Result<Named> {
        self.names.get(name).cloned().with_context(|| format!("who is {name}?"))
    }

    fn account(&self, who: &str) -> anyhow::Result<(String, String)> {
        match self.named(who)? {
            Named::Account { id, currency } => Ok((id, currency)),
            Named::Hold { .. } | Named::Order { .. } => bail!("{who} is no account"),
        }
    }
}

fn payment_no(name: &str) -> String {
    format!("payment-{name}")
}

/// The status, and the state of what was changed or the kind of problem; with the state that a problem names.
fn told_as(answer: &Exchange) -> String {
    let body = answer.json();
    let said = match answer.slug() {
        Some(slug) => {
            let named = body["state"].as_str().or(body["sku"].as_str()).or(body["expected"].as_str());
            named.map_or(slug.clone(), |named| format!("{slug} {named}"))
        }
        None => body["status"].as_str().unwrap_or_default().to_owned(),
    };
    format!("{} {said}", answer.status).trim_end().to_owned()
}

/// Items as in `2 TEA and 1 FAN`.
fn items_of(words: &[&str]) -> anyhow::Result<Value> {
    let items = words.split(|word| *word == "and").map(|item| match item {
        [quantity, sku] => Ok(json!({ "sku": sku, "quantity": count(quantity)? })),
        _ => bail!("how many of what?"),
    });
    Ok(Value::Array(items.collect::<anyhow::Result<_>>()?))
}

fn count(word: &str) -> anyhow::Result<u64> {
    word.parse().with_context(|| format!("{word} is no count"))
}

fn duration(number: &str, unit: &str) -> anyhow::Result<Duration> {
    let seconds = match unit.trim_end_matches('s') {
        "second" => 1,
        "minute" => 60,
        "hour" => 60 * 60,
        "day" => 24 * 60 * 60,
        _ => bail!("{unit} is no unit of time"),
    };
    Ok(Duration::from_secs(count(number)? * seconds))
}
