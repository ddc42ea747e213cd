//! What a check is, and the list of all of them.
//!
//! To add one: a file in `checks/` with a type that implements [`Check`], and a line in [`all`]. If it needs a table
//! that is not read yet: a variant of [`Row`] and a source in `store.rs`.

use chrono::{DateTime, Utc};

use crate::checks::{
    answers::Answers, asked_refunds::AskedRefunds, balances::Balances, business_keys::BusinessKeys,
    collecting::Collecting, entries::Entries, event_states::EventStates, events::Events, holds::Holds,
    item_prices::ItemPrices, journal_keys::JournalKeys, known_accounts::KnownAccounts, movements::Movements,
    order_amounts::OrderAmounts, order_holds::OrderHolds, order_payments::OrderPayments,
    order_versions::OrderVersions, payments::Payments, receipts::Receipts, records::Records,
    refunds::Refunds, stock::Stock, trial_balance::TrialBalance,
};
use crate::report::CheckReport;
use crate::row::Row;

/// Something that the books are held to.
pub trait Check: Send {
    /// Looks at a row. Rows of one table come together, in no order; tables in the order of
    /// [`SOURCES`](crate::store::SOURCES).
    fn see(&mut self, row: &Row<'_>);

    /// Ends the first reading. A check that answers true sees every row a second time, to name what differs.
    fn search(&mut self) -> bool {
        false
    }

    /// What was found.
    fn conclude(self: Box<Self>) -> Vec<CheckReport>;
}

/// What the checks need to know beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// An effect after this moment must have its record: none of that age may have been deleted yet.
    pub records_kept_after: DateTime<Utc>,
    /// How many differences a check may list.
    pub listed_max: usize,
}

/// Every check, in the order in which they are reported.
pub fn all(terms: Terms) -> Vec<Box<dyn Check>> {
    let listed_max = terms.listed_max;
    vec![
        Box::new(Balances::new(listed_max)),
        Box::new(KnownAccounts::new(listed_max)),
        Box::new(Entries::new(listed_max)),
        Box::new(TrialBalance::new(listed_max)),
        Box::new(Collecting::new(listed_max)),
        Box::new(Holds::new(listed_max)),
        Box::new(Movements::new(listed_max)),
        Box::new(OrderPayments::new(listed_max)),
        Box::new(OrderAmounts::new(listed_max)),
        Box::new(OrderHolds::new(listed_max)),
        Box::new(OrderVersions::new(listed_max)),
        Box::new(Receipts::new(listed_max)),
        Box::new(Payments::new(listed_max)),
        Box::new(Refunds::new(listed_max)),
        Box::new(AskedRefunds::new(listed_max)),
        Box::new(Stock::new(listed_max)),
        Box::new(ItemPrices::new(listed_max)),
        Box::new(Records::new(terms)),
        Box::new(JournalKeys::new(terms)),
        Box::new(Answers::new(terms)),
        Box::new(Events::new(listed_max)),
        Box::new(EventStates::new(listed_max)),
        Box::new(BusinessKeys::new(listed_max)),
    ]
}
