//! A flash sale: many buyers, each asking once for one piece of a sku that has fewer pieces than there are buyers.
//!
//! What has to come of it is known beforehand: as many orders as pieces, and everybody else is told that there are none.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::accounts::Clerk;
use crate::generator::Run;
use crate::plan::Plan;
use crate::volley::{Answered, Timing, Volley, count};
use crate::{Error, generator};

/// The problem that says that there are no pieces left.
const OUT_OF_STOCK: &str = "out-of-stock";

/// How many want how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sale {
    /// Orders that are asked for, each of one piece.
    pub buyers: usize,
    /// Pieces of the sku.
    pub pieces: u64,
}

/// What came of a sale.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SaleReport {
    /// The run's name, which is the sku's too.
    pub run: String,
    /// How many asked for a piece.
    pub buyers: usize,
    /// How many pieces there were.
    pub pieces: u64,
    /// Connections at the same time.
    pub connections: usize,
    /// Those who have one: until the last piece was sold.
    pub orders: Timing,
    /// Those who were told that there is none.
    pub refusals: Timing,
    /// Answers that are neither.
    pub others: u64,
    /// Pieces that the sku's row says are sold.
    pub sold: u64,
    /// Whether there are as many orders as pieces (or buyers, if they are fewer), everybody else was refused, and the sku
    /// says the same.
    pub passed: bool,
}

/// Holds a sale of the plan's target, from the plan's accounts in turns. It blocks; `watch` is told how the accounts are
/// opened. The plan's pace, work, spread and times have no part in it.
///
/// # Errors
///
/// When the sale could not be prepared, or a buyer had no answer.
pub fn run(plan: &Plan, sale: Sale, watch: impl FnMut(generator::Progress)) -> Result<SaleReport, Error> {
    generator::with_accounts(plan, watch, async |run| hold(run, sale).await)
}

async fn hold(run: Run<'_>, sale: Sale) -> Result<SaleReport, Error> {
    let Run { plan, name, address, requests, account_ids } = run;
    let path = format!("/v1/skus/{name}");
    let mut clerk = Clerk::new(address, requests, &plan.target);
    let total = sale.pieces.to_string();
    let sku = [r#"{"price":{"amount":"1.00","currency":"CNY"},"total":"#, &total, "}"];
    clerk.put("cannot put a sku on sale", &path, &sku).await?;

    let volley = Volley { address, target: &plan.target, connections: plan.connections };
    let items = format!(r#","items":[{{"sku":"{name}","quantity":1}}]"#);
    let answers = volley
        .send(sale.buyers, |into, buyer| {
            let number = format!("{name}-buyer-{buyer}");
            let account = &account_ids[buyer % account_ids.len()];
            requests.order_by(into, account, &number, &items, "balance");
        })
        .await?;

    let sku = clerk.get("cannot look at the sku", &path).await?;
    let left: Sku = serde_json::from_slice(sku)
        .map_err(|source| Error::Unreadable { what: "cannot look at the sku", source })?;
    Ok(told(name, plan.connections, sale, &answers, left))
}

/// What is read of a sku.
#[derive(Deserialize)]
struct Sku {
    reserved: u64,
    sold: u64,
}

fn told(run: &str, connections: usize, sale: Sale, answers: &[Answered], sku: Sku) -> SaleReport {
    let orders = Timing::of(answers.iter().filter(|answered| answered.status == 201));
    let refusals = Timing::of(answers.iter().filter(|a| a.problem.as_deref() == Some(OUT_OF_STOCK)));
    let others = count(answers.len()) - orders.answered - refusals.answered;
    let expected = sale.pieces.min(count(sale.buyers));
    SaleReport {
        run: run.to_owned(),
        buyers: sale.buyers,
        pieces: sale.pieces,
        connections,
        orders,
        refusals,
        others,
        sold: sku.sold,
        passed: others == 0 && (orders.answered, sku.sold, sku.reserved) == (expected, expected, 0),
    }
}

impl fmt::Display for SaleReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buyers, pieces, connections, orders, refusals, others, sold, .. } = self;
        writeln!(formatter, "{buyers} buyers for {pieces} pieces, {connections} connections\n")?;
        writeln!(formatter, "{:<14} {orders}", "orders")?;
        writeln!(formatter, "{:<14} {refusals}", "out of stock")?;
        let verdict = if self.passed { "passed" } else { "FAILED" };
        write!(formatter, "{:<14} {verdict}: {sold} sold, {others} other answers", "audit")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::volley::Thing;

    fn answered(status: u16, problem: Option<&str>) -> Answered {
        let (sent, answered) = (Duration::ZERO, Duration::from_millis(1));
        Answered { status, problem: problem.map(str::to_owned), thing: Thing::default(), sent, answered }
    }

    #[test]
    fn a_piece_too_many_one_too_few_and_another_answer_fail_the_sale() {
        let sale = Sale { buyers: 3, pieces: 2 };
        let (order, refused) = (answered(201, None), answered(409, Some(OUT_OF_STOCK)));
        let passes = |answers: &[&Answered], sold, reserved| {
            let answers: Vec<Answered> = answers.iter().copied().cloned().collect();
            told("r", 1, sale, &answers, Sku { reserved, sold }).passed
        };
        assert!(passes(&[&order, &refused, &order], 2, 0));
        assert!(!passes(&[&order, &order, &order], 3, 0));
        assert!(!passes(&[&order, &refused, &refused], 1, 0));
        assert!(!passes(&[&order, &refused, &order], 1, 1));
        assert!(!passes(&[&order, &order, &answered(500, Some("internal"))], 2, 0));
    }
}
