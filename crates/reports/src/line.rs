//! What is counted.

/// What is counted, each with its number and its sum. The order is that of the words, in which rows are locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Line {
    /// Money came in from outside.
    Deposits,
    /// Orders that were called off; the sum is what had not been taken for them.
    OrdersCancelled,
    /// Orders whose time was over; the sum is what had not been taken for them.
    OrdersExpired,
    /// Each time money was taken for an order: its payment, or each capture.
    OrdersPaid,
    /// Orders that were placed; the sum is what they cost.
    OrdersPlaced,
    /// Each time money of an order was given back.
    OrdersRefunded,
    /// Money went from one customer's account to another.
    Transfers,
    /// Money went outside.
    Withdrawals,
}

impl Line {
    /// Every line.
    pub const ALL: [Self; 8] = [
        Self::Deposits,
        Self::OrdersCancelled,
        Self::OrdersExpired,
        Self::OrdersPaid,
        Self::OrdersPlaced,
        Self::OrdersRefunded,
        Self::Transfers,
        Self::Withdrawals,
    ];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deposits => "deposits",
            Self::OrdersCancelled => "orders_cancelled",
            Self::OrdersExpired => "orders_expired",
            Self::OrdersPaid => "orders_paid",
            Self::OrdersPlaced => "orders_placed",
            Self::OrdersRefunded => "orders_refunded",
            Self::Transfers => "transfers",
            Self::Withdrawals => "withdrawals",
        }
    }

    /// The line of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|line| line.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_the_order_of_their_words() {
        assert!(Line::ALL.is_sorted_by_key(|line| line.as_str()));
        assert!(Line::ALL.is_sorted());
        assert!(Line::ALL.into_iter().all(|line| Line::from_word(line.as_str()) == Some(line)));
        assert_eq!(Line::from_word("sales"), None);
    }
}
