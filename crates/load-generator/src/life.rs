//! What happens to orders after they are placed: captured, cancelled, refunded. One stage after the other, each over as many
//! orders, so that each has a speed of its own.

use std::fmt;

use serde::Serialize;

use crate::Error;
use crate::generator::{self, Progress, Run};
use crate::plan::Plan;
use crate::volley::{Answered, Timing, Volley, count};

/// What came of the orders.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LifeReport {
    /// The run's name.
    pub run: String,
    /// Connections at the same time.
    pub connections: usize,
    /// Orders placed by hold: twice as many as there are of everything else.
    pub authorized: Timing,
    /// Half of them, captured in full.
    pub captured: Timing,
    /// The other half, cancelled.
    pub cancelled: Timing,
    /// Orders placed from the balance.
    pub paid: Timing,
    /// The same, refunded in full.
    pub refunded: Timing,
    /// Requests that were refused, and orders that were not in the state that they had been brought to when they were looked
    /// up in the end.
    pub astray: u64,
}

impl LifeReport {
    /// Whether every request succeeded, and every order is what it became.
    pub fn passed(&self) -> bool {
        self.astray == 0
    }
}

/// Places orders from the plan's accounts in turns and brings `orders` of them to each end. It blocks; `watch` is told how
/// the accounts are opened. The plan's pace, work, spread and times have no part in it.
///
/// # Errors
///
/// When the run could not be prepared, or a request had no answer.
pub fn run(plan: &Plan, orders: usize, watch: impl FnMut(Progress)) -> Result<LifeReport, Error> {
    generator::with_accounts(plan, watch, async |run| live(run, orders).await)
}

async fn live(run: Run<'_>, orders: usize) -> Result<LifeReport, Error> {
    let stages = Stages {
        run,
        volley: Volley { address: run.address, target: &run.plan.target, connections: run.plan.connections },
    };
    let authorized = stages.place("hold", 2 * orders).await?;
    let (to_capture, to_cancel) = authorized.split_at(orders);
    let captured = stages.each(to_capture, "capture", |_| "{}".to_owned()).await?;
    let cancelled = stages.each(to_cancel, "cancel", |_| "{}".to_owned()).await?;
    let paid = stages.place("balance", orders).await?;
    let refund = |key: &str| format!(r#"{{"amount":"1.00","reference":"{key}"}}"#);
    let refunded = stages.each(&paid, "refunds", refund).await?;

    let refused = [&authorized, &captured, &cancelled, &paid, &refunded]
        .into_iter()
        .flatten()
        .filter(|answered| !(200..300).contains(&answered.status))
        .count();
    let mut elsewhere = stages.elsewhere(to_capture, "paid").await?;
    elsewhere += stages.elsewhere(to_cancel, "cancelled").await?;
    elsewhere += stages.elsewhere(&paid, "refunded").await?;
    Ok(LifeReport {
        run: run.name.to_owned(),
        connections: run.plan.connections,
        authorized: Timing::of(&authorized),
        captured: Timing::of(&captured),
        cancelled: Timing::of(&cancelled),
        paid: Timing::of(&paid),
        refunded: Timing::of(&refunded),
        astray: count(refused + elsewhere),
    })
}

/// What the stages have in common.
struct Stages<'a> {
    run: Run<'a>,
    volley: Volley<'a>,
}

impl Stages<'_> {
    async fn place(&self, method: &str, orders: usize) -> Result<Vec<Answered>, Error> {
        let Run { name, requests, account_ids, .. } = self.run;
        let write = |into: &mut String, index: usize| {
            let number = format!("{name}-{method}-{index}");
            let account = &account_ids[index % account_ids.len()];
            requests.order_by(into, account, &number, "", method);
        };
        self.volley.send(orders, write).await
    }

    /// Does one thing to each order, under a key that tells what and to which.
    async fn each(
        &self,
        orders: &[Answered],
        what: &str,
        body: impl Fn(&str) -> String,
    ) -> Result<Vec<Answered>, Error> {
        let write = |into: &mut String, index: usize| {
            let key = format!("{}-{what}-{index}", self.run.name);
            let path = format!("/v1/orders/{}/{what}", orders[index].thing.id);
            self.run.requests.post(into, &path, &key, &[&body(&key)]);
        };
        self.volley.send(orders.len(), write).await
    }

    /// How many of the orders are not in this state.
    async fn elsewhere(&self, orders: &[Answered], state: &str) -> Result<usize, Error> {
        let write = |into: &mut String, index: usize| {
            self.run.requests.get(into, &format!("/v1/orders/{}", orders[index].thing.id));
        };
        let found = self.volley.send(orders.len(), write).await?;
        Ok(found.iter().filter(|found| found.status != 200 || found.thing.status != state).count())
    }
}

impl fmt::Display for LifeReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "the life of orders, {} connections\n", self.connections)?;
        for (name, timing) in [
            ("authorized", &self.authorized),
            ("captured", &self.captured),
            ("cancelled", &self.cancelled),
            ("paid", &self.paid),
            ("refunded", &self.refunded),
        ] {
            writeln!(formatter, "{name:<14} {timing}")?;
        }
        let verdict = if self.passed() { "passed" } else { "FAILED" };
        write!(formatter, "{:<14} {verdict}: {} astray", "audit", self.astray)
    }
}
