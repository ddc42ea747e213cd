//! Compares what was answered with what is there: orders answered 201 = orders there = deductions, order by order and
//! account by account. So a request that was retried, or sent again on purpose, had one effect.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;

use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::accounts::{CONNECTIONS, Clerk};
use crate::ledger::{Ledger, State, read_name, write_name};
use crate::plan::Plan;
use crate::request::{FUNDS_MINOR_UNITS, ORDER_MINOR_UNITS, Requests, amount};
use crate::store::{self, Rows};
use crate::{Error, tally::Contradictions};

/// What the audit found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Audit {
    /// Whether everything is as it was answered, and everything was answered.
    pub passed: bool,
    /// Orders that were answered 201.
    pub answered: u64,
    /// Orders of the run that are there.
    pub orders: u64,
    /// Deductions from the run's accounts.
    pub deductions: u64,
    /// Orders that never got a final answer.
    pub unsettled: u64,
    /// Rows in the database, when the audit could count there.
    pub rows: Option<Rows>,
    /// Everything that is not as it was answered: the first of it in words, the rest by number.
    pub differences: u64,
    /// The first differences in words.
    pub told: Vec<String>,
}

/// What the audit asks, and whom.
#[derive(Debug)]
pub struct Auditor<'a> {
    /// The run as it was asked for.
    pub plan: &'a Plan,
    /// Its name.
    pub run: &'a str,
    /// The server.
    pub address: SocketAddr,
    /// What every request begins with.
    pub requests: &'a Requests,
    /// The ids of the run's accounts.
    pub account_ids: &'a [String],
    /// What each thread was answered.
    pub ledgers: &'a [Ledger],
}

/// What an account must have had taken from it, and what it may have had besides.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Expected {
    placed: u64,
    unsettled: u64,
}

impl Auditor<'_> {
    /// Audits.
    ///
    /// # Errors
    ///
    /// When it cannot be known what is there.
    pub async fn audit(&self) -> Result<Audit, Error> {
        let differences = RefCell::new(Contradictions::default());
        let sent = || self.ledgers.iter().flat_map(|ledger| ledger.sent());
        let count = |state| u64::try_from(sent().filter(|sent| sent.state == state).count()).unwrap_or(0);
        let (answered, unsettled) = (count(State::Placed), count(State::Unsettled));
        if unsettled > 0 {
            differences.borrow_mut().note(format!("{unsettled} orders never got a final answer"));
        }

        let deductions = self.compare_accounts(&differences).await?;
        let (orders, rows) = match &self.plan.database {
            Some(database) => {
                let first = self.account_ids[0].parse().unwrap_or_default();
                let rows = store::count(database, first, &format!("{}-", self.run)).await?;
                let orders = u64::try_from(rows.orders).unwrap_or(0);
                if rows.journal_entries != rows.orders || rows.idempotency_records != rows.orders {
                    differences
                        .borrow_mut()
                        .note(format!("the tables do not have as many rows as each other: {rows:?}"));
                }
                (orders, Some(rows))
            }
            None => (self.compare_orders(&differences).await?, None),
        };
        if orders != deductions || !(answered..=answered + unsettled).contains(&orders) {
            differences.borrow_mut().note(format!(
                "{answered} orders were answered 201, {orders} are there, and {deductions} amounts were taken"
            ));
        }
        let Contradictions { count, told } = differences.into_inner();
        Ok(Audit {
            passed: count == 0,
            answered,
            orders,
            deductions,
            unsettled,
            rows,
            differences: count,
            told,
        })
    }

    /// Compares each account's balance and version with its orders; answers how many amounts were taken in all.
    async fn compare_accounts(&self, differences: &RefCell<Contradictions>) -> Result<u64, Error> {
        let expected = self.expected();
        let (next, deductions) = (Cell::new(0), Cell::new(0));
        let clerks = (0..CONNECTIONS.min(self.account_ids.len())).map(async |_| {
            let mut clerk = Clerk::new(self.address, self.requests, &self.plan.target);
            while let Some(id) = self.account_ids.get(next.get()) {
                let expected = expected[next.replace(next.get() + 1)];
                let account = read_account(&mut clerk, id).await?;
                let taken = account.taken();
                deductions.set(deductions.get() + taken.unwrap_or(0));
                let is_right = taken.is_some_and(|taken| {
                    (expected.placed..=expected.placed + expected.unsettled).contains(&taken)
                        && account.version == taken + VERSION_FUNDED
                });
                if !is_right {
                    differences.borrow_mut().note(format!(
                        "account {id} is at version {} with {}, after {} orders of {}",
                        account.version,
                        account.available,
                        expected.placed,
                        amount(ORDER_MINOR_UNITS)
                    ));
                }
            }
            Ok::<_, Error>(())
        });
        try_join_all(clerks).await?;
        Ok(deductions.get())
    }

    fn expected(&self) -> Vec<Expected> {
        let mut expected = vec![Expected::default(); self.account_ids.len()];
        for sent in self.ledgers.iter().flat_map(|ledger| ledger.sent()) {
            let account = &mut expected[sent.account as usize];
            match sent.state {
                State::Placed => account.placed += 1,
                State::Unsettled => account.unsettled += 1,
                State::Refused => {}
            }
        }
        expected
    }

    /// Reads the list of orders back to before the run, and looks up by number what it has not met; answers how many
    /// orders of the run are there.
    async fn compare_orders(&self, differences: &RefCell<Contradictions>) -> Result<u64, Error> {
        let mut clerk = Clerk::new(self.address, self.requests, &self.plan.target);
        let mut seen: Vec<Vec<bool>> =
            self.ledgers.iter().map(|ledger| vec![false; ledger.sent().len()]).collect();
        let (mut count, mut path) = (0, "/v1/orders?limit=100".to_owned());
        let entered: u64 = self.ledgers.iter().map(|ledger| ledger.sent().len() as u64).sum();
        // A list is newest first. Among the run's orders may be others' of the same client, but not whole pages of them.
        let mut pages_of_others = 0;
        while count < entered && pages_of_others < PAGES_OF_OTHERS_MAX {
            let page = read_page(&mut clerk, &path).await?;
            let before = count;
            for order in &page.data {
                let Some((thread, index)) = read_name(&order.client_order_no, self.run) else { continue };
                count += 1;
                match seen.get_mut(thread).and_then(|seen| seen.get_mut(index)) {
                    Some(seen) if !*seen => *seen = true,
                    _ => differences.borrow_mut().note(format!(
                        "order {} ({}) is there twice, or was never sent",
                        order.client_order_no, order.id
                    )),
                }
            }
            pages_of_others = if count == before { pages_of_others + 1 } else { 0 };
            let Some(cursor) = page.next_cursor else { break };
            path = format!("/v1/orders?limit=100&cursor={cursor}");
        }
        for (thread, ledger) in self.ledgers.iter().enumerate() {
            for (index, sent) in ledger.sent().iter().enumerate() {
                let is_there = seen[thread][index];
                match sent.state {
                    State::Placed if !is_there => {
                        count += self.look_up(&mut clerk, thread, index, differences).await?;
                    }
                    State::Refused if is_there => {
                        differences
                            .borrow_mut()
                            .note(format!("order {thread}-{index} was refused, and is there"));
                    }
                    State::Placed | State::Refused | State::Unsettled => {}
                }
            }
        }
        Ok(count)
    }

    /// Asks for one order by its number; answers 1 if it is there.
    async fn look_up(
        &self,
        clerk: &mut Clerk<'_>,
        thread: usize,
        index: usize,
        differences: &RefCell<Contradictions>,
    ) -> Result<u64, Error> {
        let mut name = String::new();
        write_name(&mut name, self.run, thread, index);
        let page = read_page(clerk, &format!("/v1/orders?client_order_no={name}")).await?;
        if page.data.is_empty() {
            differences.borrow_mut().note(format!("order {name} was answered 201, and is not there"));
        }
        Ok(u64::from(!page.data.is_empty()))
    }
}

/// The version of an account that was opened (0) and funded.
const VERSION_FUNDED: u64 = 1;

/// After so many pages without an order of the run, its orders are behind us.
const PAGES_OF_OTHERS_MAX: u32 = 20;

#[derive(Debug, Deserialize)]
struct Account {
    available: String,
    version: u64,
}

impl Account {
    /// How many orders' amounts were taken; `None` when it is no whole number of them.
    fn taken(&self) -> Option<u64> {
        let (integer, fraction) = self.available.split_once('.')?;
        let minor_units = integer.parse::<u64>().ok()?.checked_mul(100)? + fraction.parse::<u64>().ok()?;
        let taken = FUNDS_MINOR_UNITS.checked_sub(minor_units)?;
        (fraction.len() == 2 && taken % ORDER_MINOR_UNITS == 0).then_some(taken / ORDER_MINOR_UNITS)
    }
}

async fn read_account(clerk: &mut Clerk<'_>, id: &str) -> Result<Account, Error> {
    const WHAT: &str = "cannot look at an account";
    let body = clerk.get(WHAT, &format!("/v1/accounts/{id}")).await?;
    serde_json::from_slice(body).map_err(|source| Error::Unreadable { what: WHAT, source })
}

#[derive(Debug, Deserialize)]
struct Page {
    data: Vec<OrderLine>,
    next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct OrderLine {
    id: String,
    client_order_no: String,
}

async fn read_page(clerk: &mut Clerk<'_>, path: &str) -> Result<Page, Error> {
    const WHAT: &str = "cannot list the orders";
    let body = clerk.get(WHAT, path).await?;
    serde_json::from_slice(body).map_err(|source| Error::Unreadable { what: WHAT, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(minor_units: u64) -> Option<u64> {
        Account { available: amount(minor_units), version: 1 }.taken()
    }

    #[test]
    fn what_was_taken_is_told_from_what_is_left() {
        assert_eq!(taken(FUNDS_MINOR_UNITS), Some(0));
        assert_eq!(taken(FUNDS_MINOR_UNITS - 7 * ORDER_MINOR_UNITS), Some(7));
    }

    #[test]
    fn what_is_no_whole_number_of_orders_is_no_number_of_orders() {
        assert_eq!(taken(FUNDS_MINOR_UNITS - 1), None);
        assert_eq!(taken(FUNDS_MINOR_UNITS + ORDER_MINOR_UNITS), None);
        assert_eq!(Account { available: "1".to_owned(), version: 1 }.taken(), None);
    }
}
