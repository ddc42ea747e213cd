//! Clients whose keys are known, and the ledger of what each was told.
//!
//! A client asks for orders on one hot account and on many others, for transfers, for what must be refused, and for holds
//! and orders that live on ([`lives`](crate::lives)): captured in parts, released, cancelled, refunded, expired. Now and then
//! it sends the same request twice at once, hangs up before it is answered, or asks again for what it was told long ago. A key that has no answer which stays is open, and is asked for again when the trouble is over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::stream::{self, Stream, StreamExt};
use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, Caller, Exchange, order_body};
use rand::Rng;
use rand::seq::IndexedRandom;
use serde_json::json;
use sqlx::postgres::PgConnectOptions;
use tokio::time::timeout;

use crate::asked::{ASK_AGAIN, Asked, is_passing, is_unchanged};
use crate::burst::Burst;
use crate::lives::{self, Lives};

/// How many accounts there are beside the hot one.
const ACCOUNTS: usize = 24;

/// How many keys are asked for at once when the trouble is over.
const AT_ONCE: usize = 32;

/// What was asked for, and what was told. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    accounts: Vec<String>,
    /// How many answers are kept to be compared; of more, a sample by chance.
    kept_max: usize,
    next: AtomicU64,
    sent: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    answered: Vec<(Asked, Exchange)>,
    open: Vec<Asked>,
    counts: Counts,
    lives: Lives,
    /// What was told and must not have been.
    wrong: Vec<String>,
}

/// How many names there are, and of what.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Names that have an answer which stays.
    pub names: u64,
    /// Of these, orders that were placed.
    pub orders: u64,
    /// Of the orders, those that were paid from the balance.
    pub paid: u64,
    /// Of the names, refusals.
    pub refused: u64,
}

impl Ledger {
    /// Opens the accounts of the load, puts money on them, and begins a ledger.
    pub async fn open(caller: &Caller, kept_max: usize) -> anyhow::Result<Self> {
        let mut accounts = Vec::new();
        let mut answered = Vec::new();
        for number in 0..ACCOUNTS {
            let body = json!({ "owner": format!("owner-{number}"), "currency": "CNY" });
            let asked = Asked {
                key: format!("open-{number}"),
                path: "/v1/accounts".to_owned(),
                body,
                expected: &[201],
                deed: None,
            };
            let opened = asked.send_until_answered(caller).await?;
            let id = opened.json()["id"].as_str().context("an account's id")?.to_owned();
            answered.push((asked, opened));
            let body = json!({ "amount": "5000.00", "currency": "CNY", "reference": format!("m-{number}") });
            let path = format!("/v1/accounts/{id}/deposits");
            let deposited = caller.post(&path, &format!("money-{number}"), &body).await?;
            ensure!(deposited.status == 201, "{}", String::from_utf8_lossy(&deposited.bytes));
            accounts.push(id);
        }
        let skus = lives::put_skus(caller).await?;
        let ledger = Self(Arc::new(Inner {
            accounts,
            kept_max,
            next: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            kept: Mutex::default(),
        }));
        for (asked, answer) in answered {
            ledger.note(asked, answer);
            // Its deposit.
            ledger.kept().counts.names += 1;
        }
        ledger.kept().counts.names += skus;
        Ok(ledger)
    }

    /// How many requests were sent so far.
    pub fn sent(&self) -> u64 {
        self.0.sent.load(Ordering::Relaxed)
    }

    /// What has been answered so far.
    pub fn counts(&self) -> Counts {
        self.kept().counts
    }

    /// Puts load on a server with so many clients, each with a pause between two requests, until told to stop. A client
    /// whose server has died stops by itself.
    pub fn start(&self, caller: &Caller, clients: usize, pause: Duration) -> Burst {
        Burst::start(clients, |mut stopped| {
            let (ledger, caller) = (self.clone(), caller.clone());
            async move {
                while !*stopped.borrow_and_update() {
                    let pause = match ledger.ask_something(&caller).await {
                        Ok(Told::WhatStays) => pause,
                        Ok(Told::ToAskAgain) => pause.max(ASK_AGAIN),
                        // Nobody is there: the server was killed, or is about to be.
                        Err(_) => return,
                    };
                    // It ends early when the client is told to stop.
                    let _ = timeout(pause, stopped.changed()).await;
                }
            }
        })
    }

    /// Asks for everything that is open until it is answered, and answers how much that was.
    pub async fn converge(&self, caller: &Caller) -> anyhow::Result<usize> {
        let open = std::mem::take(&mut self.kept().open);
        let count = open.len();
        let asking = stream::iter(open).map(|asked| async move {
            let answer = asked.send_until_answered(caller).await;
            answer.map(|answer| self.note(asked, answer))
        });
        all_of(asking).await?;
        self.nothing_wrong()?;
        Ok(count)
    }

    /// Asks again for what was answered, the `latest` of it or all, and answers how many replays that were. Each must be
    /// what was told, byte for byte.
    pub async fn replay(&self, caller: &Caller, latest: Option<usize>) -> anyhow::Result<usize> {
        let answered = {
            let kept = self.kept();
            let from = latest.map_or(0, |latest| kept.answered.len().saturating_sub(latest));
            kept.answered[from..].to_vec()
        };
        let count = answered.len();
        let asking = stream::iter(answered).map(|(asked, told)| async move {
            let again = asked.send_until_answered(caller).await?;
            ensure!(again.replayed(), "{} ran again", asked.key);
            is_unchanged(&asked, &told, &again)
        });
        all_of(asking).await?;
        Ok(count)
    }

    /// Whether the books have what was answered, and nothing else: as many orders, payments and records, and every hold
    /// and order that lives on as the answers about it say. Nothing may be open.
    pub async fn agrees(&self, caller: &Caller, database: &PgConnectOptions) -> anyhow::Result<()> {
        let followed = self.kept().lives.all();
        let becoming = followed.iter().map(|life| life.has_become(caller));
        let looked = stream::iter(becoming).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
        looked.into_iter().collect::<anyhow::Result<()>>()?;
        let (books, counts) = (audit(database).await, self.counts());
        let told = [counts.orders, counts.paid, counts.names, counts.names - counts.refused];
        let there = [books.orders, books.order_payments, books.records, books.completed].map(u64::try_from);
        ensure!(there == told.map(Ok), "told were {counts:?}, and there is {books:?}");
        Ok(())
    }

    /// Whether nobody was told what must not be told.
    pub fn nothing_wrong(&self) -> anyhow::Result<()> {
        let kept = self.kept();
        ensure!(kept.wrong.is_empty(), "{} wrong answers: {:#?}", kept.wrong.len(), &kept.wrong);
        Ok(())
    }

    /// One thing that a client does. An error means that nobody answers there.
    async fn ask_something(&self, caller: &Caller) -> anyhow::Result<Told> {
        self.0.sent.fetch_add(1, Ordering::Relaxed);
        let chance = rand::rng().random_range(0..100);
        match chance {
            0..10 => self.ask_for_what_was_told(caller).await,
            10..25 => {
                let asked = self.new_request();
                self.0.sent.fetch_add(1, Ordering::Relaxed);
                let (one, other) = tokio::join!(asked.send(caller), asked.send(caller));
                self.settle_both(asked, one, other)
            }
            25..31 => {
                let asked = self.new_request();
                let patience = Duration::from_micros(rand::rng().random_range(0..6_000));
                match timeout(patience, asked.send(caller)).await {
                    Ok(answer) => self.settle(asked, answer),
                    Err(_) => {
                        self.kept().open.push(asked);
                        Ok(Told::WhatStays)
                    }
                }
            }
            _ => {
                let asked = self.new_request();
                let answer = asked.send(caller).await;
                self.settle(asked, answer)
            }
        }
    }

    fn new_request(&self) -> Asked {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut random = rand::rng();
        let key = format!("k-{number}");
        let any = |random: &mut rand::rngs::ThreadRng| random.random_range(0..self.0.accounts.len());
        let order = |account: &str, amount: &str, expected| Asked {
            body: order_body(account, &key, amount),
            key: key.clone(),
            path: "/v1/orders".to_owned(),
            expected,
            deed: None,
        };
        match random.random_range(0..100) {
            0..20 => order(ALICE, "0.01", &[201]),
            20..40 => order(&self.0.accounts[any(&mut random)], "0.01", &[201]),
            40..44 => order(&self.0.accounts[any(&mut random)], "1000000.00", &[402]),
            44..58 => {
                let account = &self.0.accounts[any(&mut random)];
                let account = if random.random_bool(0.3) { ALICE } else { account };
                lives::placing(key, account, &mut random)
            }
            58..93 => {
                let followed = self.kept().lives.following_up(key.clone(), &mut random);
                followed.unwrap_or_else(|| lives::placing(key, ALICE, &mut random))
            }
            _ => {
                let from = any(&mut random);
                let to = (from + random.random_range(1..self.0.accounts.len())) % self.0.accounts.len();
                let body = json!({
                    "from_account_id": self.0.accounts[from], "to_account_id": self.0.accounts[to],
                    "amount": "0.01", "currency": "CNY", "reference": key,
                });
                Asked { key, path: "/v1/transfers".to_owned(), body, expected: &[201], deed: None }
            }
        }
    }

    async fn ask_for_what_was_told(&self, caller: &Caller) -> anyhow::Result<Told> {
        let told_before = self.kept().answered.choose(&mut rand::rng()).cloned();
        let Some((asked, told)) = told_before else { return Ok(Told::WhatStays) };
        let again = asked.send(caller).await?;
        if is_passing(&again) {
            return Ok(Told::ToAskAgain);
        }
        if let Err(error) = is_unchanged(&asked, &told, &again) {
            self.kept().wrong.push(error.to_string());
        }
        Ok(Told::WhatStays)
    }

    fn settle(&self, asked: Asked, answer: anyhow::Result<Exchange>) -> anyhow::Result<Told> {
        match answer {
            Ok(answer) if is_passing(&answer) => {
                self.kept().open.push(asked);
                Ok(Told::ToAskAgain)
            }
            Ok(answer) => {
                self.note(asked, answer);
                Ok(Told::WhatStays)
            }
            Err(error) => {
                self.kept().open.push(asked);
                Err(error)
            }
        }
    }

    /// Settles two copies of one request: they were told the same, if they were told anything that stays.
    fn settle_both(
        &self,
        asked: Asked,
        one: anyhow::Result<Exchange>,
        other: anyhow::Result<Exchange>,
    ) -> anyhow::Result<Told> {
        let stays =
            |answer: &anyhow::Result<Exchange>| answer.as_ref().is_ok_and(|answer| !is_passing(answer));
        match (one, other) {
            (Ok(one), Ok(other)) if !is_passing(&one) && !is_passing(&other) => {
                if let Err(error) = is_unchanged(&asked, &one, &other) {
                    self.kept().wrong.push(error.to_string());
                }
                if one.replayed() == other.replayed() {
                    self.kept().wrong.push(format!("{} ran twice, or never", asked.key));
                }
                self.note(asked, one);
                Ok(Told::WhatStays)
            }
            (one, other) if stays(&other) => {
                let told = self.settle(asked, other)?;
                one.map(|_| told)
            }
            (one, other) => {
                let told = self.settle(asked, one)?;
                other.map(|_| told)
            }
        }
    }

    /// Notes an answer that stays.
    fn note(&self, asked: Asked, answer: Exchange) {
        let mut kept = self.kept();
        if !asked.expected.contains(&answer.status) {
            let body = String::from_utf8_lossy(&answer.bytes).into_owned();
            kept.wrong.push(format!("{} is told {} {body}", asked.key, answer.status));
        }
        kept.counts.names += 1;
        let is_order = answer.status == 201 && asked.path == "/v1/orders";
        kept.counts.orders += u64::from(is_order);
        kept.counts.paid += u64::from(is_order && asked.body["payment"]["method"] == "balance");
        kept.counts.refused += u64::from(answer.status >= 400);
        if let Some(deed) = &asked.deed
            && answer.status < 300
        {
            kept.lives.note(deed, &answer.json());
        }
        if kept.answered.len() < self.0.kept_max {
            kept.answered.push((asked, answer));
        } else {
            let place = rand::rng().random_range(0..kept.counts.names);
            if let Some(place) = usize::try_from(place).ok().and_then(|place| kept.answered.get_mut(place)) {
                *place = (asked, answer);
            }
        }
    }

    // A panic while the lock is held leaves the ledger as good as it was; the test has failed then anyway.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a client learns from an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    /// What will always be said of the key; or it hung up, and did not hear.
    WhatStays,
    /// That it is to ask again.
    ToAskAgain,
}

/// Does all of these, some at a time, each whatever becomes of the others; answers with the first fault.
async fn all_of<F>(asking: impl Stream<Item = F>) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    asking.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await.into_iter().collect()
}
