//! Holds and orders that live on after they were placed: what may be asked of them, and what must have become of them by
//! the answers alone.

use std::collections::{HashMap, VecDeque};

use anyhow::{Context, ensure};
use onefold_tests::http::Caller;
use rand::Rng;
use rand::rngs::ThreadRng;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::asked::{ASK_AGAIN, Asked};
use crate::program::DEADLINE;

/// What each of them is worth, in cents: five parts of a cent, and a refund too many is refused.
const WORTH_CENTS: u64 = 5;

/// The same as an amount.
const WORTH: &str = "0.05";

/// A sku of which there is always more.
const PLENTY: &str = "TEA";

/// A sku that is soon sold out, and back when an order ends.
const SCARCE: &str = "LAST-PIECES";

/// How many pieces there are of the scarce one.
const SCARCE_PIECES: u32 = 60;

/// How many lives are followed; the oldest are let go.
const FOLLOWED_MAX: usize = 3_000;

/// Among how many of the latest the next one to ask something of is chosen: few, so that several requests meet at one.
const LATEST: usize = 120;

/// What lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A hold of a client.
    Hold,
    /// An order that is paid from the balance as it is placed.
    Paid,
    /// An order paid by hold.
    ByHold,
    /// An order that awaits a provider's payment, which nobody makes.
    Pending,
}

/// Something that was placed, as it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Birth {
    kind: Kind,
    /// Whether it runs out within a second.
    expires: bool,
}

/// What a request does to what lives, if it succeeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deed {
    /// It places it.
    Places(Birth),
    /// It takes a cent of it.
    Captures {
        /// The id of what it is done to.
        id: String,
        /// Whether the rest is given back with it.
        finally: bool,
    },
    /// It releases the hold, or cancels the order.
    Ends {
        /// The id of what it is done to.
        id: String,
    },
    /// It gives a cent of it back.
    Refunds {
        /// The id of what it is done to.
        id: String,
    },
}

/// What must have become of one, by the answers.
#[derive(Clone, Debug)]
struct Life {
    id: String,
    birth: Birth,
    captured_cents: u64,
    refunded_cents: u64,
    /// The states that answers of success have ended it in: one at the most.
    ended: Vec<&'static str>,
}

/// The latest lives.
#[derive(Default)]
pub struct Lives {
    latest: VecDeque<String>,
    lives: HashMap<String, Life>,
}

/// Puts the skus that orders of this load are for on sale, each under a name that the server makes, and answers how many.
pub async fn put_skus(caller: &Caller) -> anyhow::Result<u64> {
    let skus = [(PLENTY, 10_000_000), (SCARCE, SCARCE_PIECES)];
    for (sku, total) in skus {
        let body = json!({ "price": { "amount": WORTH, "currency": "CNY" }, "total": total });
        let request = caller.request("PUT", &format!("/v1/skus/{sku}"));
        let request = request.header("content-type", "application/json").body(body.to_string());
        let put = caller.send(request).await?;
        ensure!(put.status == 201, "{}", String::from_utf8_lossy(&put.bytes));
    }
    Ok(u64::try_from(skus.len())?)
}

/// A request that places something which lives on.
pub fn placing(key: String, account: &str, random: &mut ThreadRng) -> Asked {
    let expires = random.random_bool(0.4);
    let mut kind =
        [Kind::Hold, Kind::Paid, Kind::ByHold, Kind::ByHold, Kind::Pending][random.random_range(0..5)];
    let mut terms = match kind {
        Kind::Hold => json!({ "amount": WORTH, "currency": "CNY", "reference": key }),
        Kind::Paid => json!({ "method": "balance" }),
        Kind::ByHold => json!({ "method": "hold" }),
        // Payments at Alipay are awaited for a second here, and those at Stripe for a day.
        Kind::Pending if expires => json!({ "method": "provider", "provider": "alipay" }),
        Kind::Pending => json!({ "method": "provider", "provider": "stripe" }),
    };
    let expires = expires && kind != Kind::Paid;
    if expires && kind != Kind::Pending {
        terms["expires_in_seconds"] = json!(1);
    }
    if kind == Kind::Hold {
        let deed = Deed::Places(Birth { kind, expires });
        let path = format!("/v1/accounts/{account}/holds");
        return Asked { key, path, body: terms, expected: &[201], deed: Some(deed) };
    }
    let (items, expected): (_, &[u16]) = match random.random_range(0..10) {
        0..4 => (json!([]), &[201]),
        4..8 => (json!([{ "sku": PLENTY, "quantity": 1 }]), &[201]),
        // 409: sold out, for now.
        _ => {
            // What is paid for does not come back by itself, and the last piece would soon be gone for good.
            if kind == Kind::Paid {
                kind = Kind::ByHold;
                terms = json!({ "method": "hold" });
            }
            (json!([{ "sku": SCARCE, "quantity": 1 }]), &[201, 409])
        }
    };
    let body = json!({
        "account_id": account, "client_order_no": key, "currency": "CNY", "amount": WORTH, "items": items,
        "payment": terms,
    });
    let deed = Deed::Places(Birth { kind, expires });
    Asked { key, path: "/v1/orders".to_owned(), body, expected, deed: Some(deed) }
}

impl Lives {
    /// A request about one of the latest, if there is one. What else happens to it meanwhile decides whether it succeeds.
    pub fn following_up(&self, key: String, random: &mut ThreadRng) -> Option<Asked> {
        let back = random.random_range(0..self.latest.len().clamp(1, LATEST));
        let id = self.latest.iter().rev().nth(back)?.clone();
        let kind = self.lives.get(&id)?.birth.kind;
        let collection = if kind == Kind::Hold { "holds" } else { "orders" };
        let path = |what: &str| format!("/v1/{collection}/{id}/{what}");
        let chance = random.random_range(0..100);
        Some(match (kind, chance) {
            (Kind::Paid, 10..) | (Kind::ByHold, 75..) => Asked {
                path: path("refunds"),
                body: json!({ "amount": "0.01", "reference": key }),
                expected: &[201, 409, 422],
                deed: Some(Deed::Refunds { id }),
                key,
            },
            (Kind::Hold | Kind::ByHold, 12..) => {
                let finally = chance < 30;
                Asked {
                    path: path("capture"),
                    body: json!({ "amount": "0.01", "final": finally, "reference": key }),
                    expected: &[200, 409, 422],
                    deed: Some(Deed::Captures { id, finally }),
                    key,
                }
            }
            _ => Asked {
                path: path(if kind == Kind::Hold { "release" } else { "cancel" }),
                body: json!({}),
                expected: &[200, 409],
                deed: Some(Deed::Ends { id }),
                key,
            },
        })
    }

    /// Notes that a request succeeded; `answer` is the body that it was answered with.
    pub fn note(&mut self, deed: &Deed, answer: &Value) {
        match deed {
            Deed::Places(birth) => {
                let id = answer["id"].as_str().unwrap_or_default().to_owned();
                let captured_cents = if birth.kind == Kind::Paid { WORTH_CENTS } else { 0 };
                let life = Life {
                    id: id.clone(),
                    birth: *birth,
                    captured_cents,
                    refunded_cents: 0,
                    ended: Vec::new(),
                };
                self.lives.insert(id.clone(), life);
                self.latest.push_back(id);
                if self.latest.len() > FOLLOWED_MAX
                    && let Some(oldest) = self.latest.pop_front()
                {
                    self.lives.remove(&oldest);
                }
            }
            Deed::Captures { id, finally } => self.change(id, |life| {
                life.captured_cents += 1;
                if *finally {
                    life.ended.push(if life.birth.kind == Kind::Hold { "captured" } else { "paid" });
                }
            }),
            Deed::Ends { id } => self.change(id, |life| {
                life.ended.push(if life.birth.kind == Kind::Hold { "released" } else { "cancelled" });
            }),
            Deed::Refunds { id } => self.change(id, |life| life.refunded_cents += 1),
        }
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut Life)) {
        // Whoever was let go is followed no more.
        if let Some(life) = self.lives.get_mut(id) {
            change(life);
        }
    }

    /// Those that are followed, for [`has_become`].
    pub fn all(&self) -> Vec<Followed> {
        self.lives.values().cloned().map(Followed).collect()
    }
}

/// One life, as far as it was told.
pub struct Followed(Life);

impl Followed {
    /// Reads what has become of it, which must be what the answers say: all that was answered with success, once, and
    /// nothing else. What has run out is waited for, until the sweeper has been there.
    pub async fn has_become(&self, caller: &Caller) -> anyhow::Result<()> {
        let life = &self.0;
        ensure!(life.ended.len() <= 1, "it ended more than once: {life:?}");
        let collection = if life.birth.kind == Kind::Hold { "holds" } else { "orders" };
        let expected = life.state();
        let began = Instant::now();
        loop {
            let read = caller.get(&format!("/v1/{collection}/{}", life.id)).await?;
            let there = read.json();
            if there["status"] != expected && expected == "expired" && began.elapsed() < DEADLINE {
                sleep(ASK_AGAIN).await;
                continue;
            }
            ensure!(there["status"] == expected, "it must be {expected}: {life:?} is {there}");
            ensure!(cents(&there["captured_amount"])? == life.captured_cents, "{life:?} is {there}");
            if life.birth.kind != Kind::Hold {
                ensure!(cents(&there["refunded_amount"])? == life.refunded_cents, "{life:?} is {there}");
            }
            return Ok(());
        }
    }
}

impl Life {
    /// The state that it must be in.
    fn state(&self) -> &'static str {
        if self.refunded_cents > 0 {
            return if self.refunded_cents == self.captured_cents {
                "refunded"
            } else {
                "partially_refunded"
            };
        }
        let is_hold = self.birth.kind == Kind::Hold;
        match (self.ended.first(), self.birth) {
            (Some(ended), _) => ended,
            // The part that leaves nothing is the last one, whatever was asked.
            (None, _) if self.captured_cents == WORTH_CENTS => {
                if is_hold {
                    "captured"
                } else {
                    "paid"
                }
            }
            (None, Birth { expires: true, .. }) => "expired",
            (None, Birth { kind: Kind::Hold, .. }) => "active",
            (None, Birth { kind: Kind::Paid | Kind::ByHold, .. }) => "authorized",
            (None, Birth { kind: Kind::Pending, .. }) => "pending_payment",
        }
    }
}

/// An amount of CNY in cents.
fn cents(amount: &Value) -> anyhow::Result<u64> {
    let text = amount.as_str().context("an amount")?;
    Ok(text.replace('.', "").parse()?)
}
