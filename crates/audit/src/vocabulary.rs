//! The words of the books, and what each must mean: written down a second time, apart from the code that writes the
//! books, so that a mistake there is not repeated here.

use std::fmt;

use crate::figure::Figure;

/// A currency's code, whatever the column holds: three letters, if nothing is damaged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Code([u8; 4]);

impl Code {
    /// The first four bytes of the text tell any two codes apart.
    pub fn of(text: &str) -> Self {
        let mut code = [0; 4];
        code.iter_mut().zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
        Self(code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(String::from_utf8_lossy(&self.0).trim_end_matches('\0'))
    }
}

/// Who must stand on a side of a journal row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Party {
    /// A customer's account, with its figures afterwards.
    Customer,
    /// The collecting account of that name, without figures.
    Collecting(&'static str),
}

/// What a journal row must name as its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A movement, and no order.
    Movement,
    /// An order, and no movement.
    Order,
}

/// A kind of journal row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The word for it.
    pub word: &'static str,
    /// Where the money comes from.
    pub debit: Party,
    /// Where it goes.
    pub credit: Party,
    /// Why.
    pub cause: Cause,
}

const OUTSIDE: Party = Party::Collecting("outside");
const REVENUE: Party = Party::Collecting("revenue");

/// Every kind of journal row. All of them move what is available, and nothing that is held.
pub const KINDS: &[Kind] = &[
    Kind { word: "deposit", debit: OUTSIDE, credit: Party::Customer, cause: Cause::Movement },
    Kind { word: "withdrawal", debit: Party::Customer, credit: OUTSIDE, cause: Cause::Movement },
    Kind { word: "transfer", debit: Party::Customer, credit: Party::Customer, cause: Cause::Movement },
    Kind { word: ORDER_PAYMENT, debit: Party::Customer, credit: REVENUE, cause: Cause::Order },
];

/// The kind of row that pays an order.
pub const ORDER_PAYMENT: &str = "order_payment";

/// The kind of that word.
pub fn kind(word: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.word == word)
}

/// What a row of this kind adds to what its credited account has available and held, and takes from those of the
/// debited one.
pub fn moved(_kind: &str, amount: Figure) -> (Figure, Figure) {
    (amount, Figure::ZERO)
}

/// An operation that has an effect: what a completed record of it must have done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Its name in the records.
    pub name: &'static str,
    /// What the path of its resource begins with; the id follows.
    pub path: &'static str,
}

/// Opens an account.
pub const OPEN_ACCOUNT: Operation = Operation { name: "POST /v1/accounts", path: "/v1/accounts/" };
/// Closes an account.
pub const CLOSE_ACCOUNT: Operation =
    Operation { name: "POST /v1/accounts/{id}/close", path: "/v1/accounts/" };
/// Brings money in.
pub const DEPOSIT: Operation = Operation { name: "POST /v1/accounts/{id}/deposits", path: "/v1/movements/" };
/// Takes money out.
pub const WITHDRAW: Operation =
    Operation { name: "POST /v1/accounts/{id}/withdrawals", path: "/v1/movements/" };
/// Moves money between two accounts.
pub const TRANSFER: Operation = Operation { name: "POST /v1/transfers", path: "/v1/movements/" };
/// Places an order.
pub const PLACE_ORDER: Operation = Operation { name: "POST /v1/orders", path: "/v1/orders/" };

/// Every operation that has an effect.
pub const OPERATIONS: &[Operation] = &[OPEN_ACCOUNT, CLOSE_ACCOUNT, DEPOSIT, WITHDRAW, TRANSFER, PLACE_ORDER];

/// The operation of that name.
pub fn operation(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

/// The kinds of movement: the word, the operation that makes one, and the event that tells of it.
pub const MOVEMENTS: &[(&str, Operation, &str)] = &[
    ("deposit", DEPOSIT, "onefold.movement.deposited.v1"),
    ("withdrawal", WITHDRAW, "onefold.movement.withdrawn.v1"),
    ("transfer", TRANSFER, "onefold.movement.transferred.v1"),
];

/// An account was opened.
pub const ACCOUNT_OPENED: &str = "onefold.account.opened.v1";
/// An account was closed.
pub const ACCOUNT_CLOSED: &str = "onefold.account.closed.v1";
/// An order was placed and paid.
pub const ORDER_PAID: &str = "onefold.order.paid.v1";

/// Every type of event, with the kind of thing that it tells of.
pub const EVENTS: &[(&str, &str)] = &[
    (ACCOUNT_OPENED, "account"),
    (ACCOUNT_CLOSED, "account"),
    (MOVEMENTS[0].2, "movement"),
    (MOVEMENTS[1].2, "movement"),
    (MOVEMENTS[2].2, "movement"),
    (ORDER_PAID, "order"),
];
