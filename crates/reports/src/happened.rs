//! From what an event tells of to the lines that it adds to.

use money::Amount;
use thiserror::Error;

use crate::Line;

/// What an event tells of, as far as a report counts it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// Money came in from outside.
    Deposited(Amount),
    /// Money went outside.
    Withdrawn(Amount),
    /// Money went from one customer's account to another.
    Transferred(Amount),
    /// An order was placed or has changed.
    Order {
        /// What it was before; nothing, if it was placed.
        before: Option<OrderFigures>,
        /// What it is since.
        after: OrderFigures,
        /// How it has ended by this, if it has come to nothing.
        ended: Option<Ending>,
    },
}

/// What an order has come to. All are of one currency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderFigures {
    /// What it costs.
    pub amount: Amount,
    /// What has been taken for it.
    pub captured: Amount,
    /// What has been given back of that.
    pub refunded: Amount,
}

/// How an order comes to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It was called off.
    Cancelled,
    /// Its time was over.
    Expired,
}

/// So much more of a line, once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addition {
    /// The line.
    pub line: Line,
    /// How much.
    pub amount: Amount,
}

/// An event tells of less than before, which nothing that is counted can come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the event tells of a figure of an order that has shrunk, or of two currencies")]
pub struct Shrunk;

impl Happened {
    /// What it adds. The sums of many do not depend on the order in which they come, since each says what was before.
    ///
    /// # Errors
    ///
    /// [`Shrunk`], if a figure of an order is less than before.
    pub fn additions(&self) -> Result<Vec<Addition>, Shrunk> {
        let one = |line, amount| Ok(vec![Addition { line, amount }]);
        match *self {
            Self::Deposited(amount) => one(Line::Deposits, amount),
            Self::Withdrawn(amount) => one(Line::Withdrawals, amount),
            Self::Transferred(amount) => one(Line::Transfers, amount),
            Self::Order { before, after, ended } => of_order(before, after, ended),
        }
    }
}

fn of_order(
    before: Option<OrderFigures>,
    after: OrderFigures,
    ended: Option<Ending>,
) -> Result<Vec<Addition>, Shrunk> {
    let nothing = Amount::zero(after.amount.currency());
    let less = |more: Amount, less: Amount| more.checked_sub(less).map_err(|_| Shrunk);
    let mut additions = Vec::new();
    let mut add = |line, amount| additions.push(Addition { line, amount });
    if before.is_none() {
        add(Line::OrdersPlaced, after.amount);
    }
    let taken = less(after.captured, before.map_or(nothing, |order| order.captured))?;
    if !taken.is_zero() {
        add(Line::OrdersPaid, taken);
    }
    let given_back = less(after.refunded, before.map_or(nothing, |order| order.refunded))?;
    if !given_back.is_zero() {
        add(Line::OrdersRefunded, given_back);
    }
    match ended {
        Some(Ending::Cancelled) => add(Line::OrdersCancelled, less(after.amount, after.captured)?),
        Some(Ending::Expired) => add(Line::OrdersExpired, less(after.amount, after.captured)?),
        None => {}
    }
    Ok(additions)
}

#[cfg(test)]
mod tests {
    use money::Currency;

    use super::*;

    fn cny(text: &str) -> Amount {
        Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
    }

    fn order(captured: &str, refunded: &str) -> OrderFigures {
        OrderFigures { amount: cny("9"), captured: cny(captured), refunded: cny(refunded) }
    }

    fn lines(
        before: Option<OrderFigures>,
        after: OrderFigures,
        ended: Option<Ending>,
    ) -> Vec<(Line, String)> {
        let added = Happened::Order { before, after, ended }.additions().unwrap();
        added.into_iter().map(|addition| (addition.line, addition.amount.to_string())).collect()
    }

    #[test]
    fn each_step_of_an_order_adds_what_it_is_more_than_the_one_before() {
        use Line::{OrdersCancelled, OrdersExpired, OrdersPaid, OrdersPlaced, OrdersRefunded};
        let text = |line, amount: &str| (line, amount.to_owned());
        assert_eq!(
            lines(None, order("9", "0"), None),
            [text(OrdersPlaced, "9.00"), text(OrdersPaid, "9.00")]
        );
        assert_eq!(lines(None, order("0", "0"), None), [text(OrdersPlaced, "9.00")]);
        let waiting = Some(order("0", "0"));
        assert_eq!(lines(waiting, order("4", "0"), None), [text(OrdersPaid, "4.00")]);
        let partly = Some(order("4", "0"));
        assert_eq!(lines(partly, order("4", "0"), Some(Ending::Expired)), [text(OrdersExpired, "5.00")]);
        assert_eq!(lines(waiting, order("0", "0"), Some(Ending::Cancelled)), [text(OrdersCancelled, "9.00")]);
        assert_eq!(lines(partly, order("4", "1"), None), [text(OrdersRefunded, "1.00")]);
        assert_eq!(lines(partly, order("4", "0"), None), [], "a refund that is only asked for");
    }

    #[test]
    fn a_figure_that_has_shrunk_is_no_addition() {
        let shrunk = Happened::Order { before: Some(order("9", "0")), after: order("8", "0"), ended: None };
        assert_eq!(shrunk.additions(), Err(Shrunk));
    }
}
