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
    /// A provider's clearing account: any of them.
    Clearing,
}

/// What a journal row must name as its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A movement, and no order.
    Movement,
    /// An order, and no movement.
    Order,
    /// A receipt, with its order or without, and no movement.
    Receipt,
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
    of_receipt("payment_settled", Party::Clearing, REVENUE),
    of_receipt("payment_unapplied", Party::Clearing, Party::Collecting(UNAPPLIED)),
    of_receipt("payment_reversed", Party::Collecting(UNAPPLIED), Party::Clearing),
    of_receipt("payment_applied", Party::Collecting(UNAPPLIED), REVENUE),
    of_receipt("refund_owed", Party::Collecting(UNAPPLIED), Party::Collecting(REFUNDS_OWED)),
    of_receipt("owed_refunded", Party::Collecting(REFUNDS_OWED), Party::Clearing),
    of_receipt("payment_refunded", REVENUE, Party::Clearing),
    of_receipt("unapplied_refunded", Party::Collecting(UNAPPLIED), Party::Clearing),
];

const fn of_receipt(word: &'static str, debit: Party, credit: Party) -> Kind {
    Kind { word, debit, credit, cause: Cause::Receipt }
}

/// What the names of the providers' clearing accounts begin with; the provider follows.
pub const CLEARING: &str = "clearing:";
/// What providers have received that has paid nothing.
pub const UNAPPLIED: &str = "unapplied_receipts";
/// What is owed back to payers.
pub const REFUNDS_OWED: &str = "refunds_owed";

/// Whether a receipt of this state is still judged; nothing for a word that is no state.
pub fn is_open(state: &str) -> Option<bool> {
    match state {
        "mismatched" | "late" | "excess" | "unmatched" => Some(true),
        "settled" | "accepted" | "refund_owed" | "dismissed" => Some(false),
        _ => None,
    }
}

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
    /// Whether each completed record of it has made, changed or ended one thing of its own. Else it may have found nothing
    /// to do any more, or the same as one before it.
    pub has_own_effect: bool,
}

impl Operation {
    const fn own(name: &'static str, path: &'static str) -> Self {
        Self { name, path, has_own_effect: true }
    }
}

/// Opens an account.
pub const OPEN_ACCOUNT: Operation = Operation::own("POST /v1/accounts", "/v1/accounts/");
/// Closes an account.
pub const CLOSE_ACCOUNT: Operation = Operation::own("POST /v1/accounts/{id}/close", "/v1/accounts/");
/// Brings money in.
pub const DEPOSIT: Operation = Operation::own("POST /v1/accounts/{id}/deposits", "/v1/movements/");
/// Takes money out.
pub const WITHDRAW: Operation = Operation::own("POST /v1/accounts/{id}/withdrawals", "/v1/movements/");
/// Moves money between two accounts.
pub const TRANSFER: Operation = Operation::own("POST /v1/transfers", "/v1/movements/");
/// Places an order.
pub const PLACE_ORDER: Operation = Operation::own("POST /v1/orders", "/v1/orders/");

/// Resolves an alert.
pub const RESOLVE_ALERT: Operation =
    Operation::own("POST /v1/payment-alerts/{id}/resolve", "/v1/payment-alerts/");
/// Takes a provider's callback. A repetition that comes when the first one's record is gone names the first one.
pub const TAKE_CALLBACK: Operation =
    Operation::own("POST /v1/callbacks/{endpoint}", "/v1/callback-deliveries/");
/// Expires a payment whose time is over, unless somebody was faster.
pub const EXPIRE_PAYMENT: Operation =
    Operation { name: "expire payment", path: "/v1/payments/", has_own_effect: false };
/// Asks about money that nobody has asked for, unless somebody has by then.
pub const ASK_ABOUT_UNMATCHED: Operation =
    Operation { name: "ask about unmatched money", path: "/v1/payment-alerts/", has_own_effect: false };
/// Asks about what a provider's statement and the books do not agree on, unless that was asked before.
pub const ASK_ABOUT_STATEMENT: Operation =
    Operation { name: "ask about a statement", path: "/v1/payment-alerts/", has_own_effect: false };

/// What the path of a repeated callback ends with.
pub const AGAIN: &str = "/again";

/// Every operation that has an effect.
pub const OPERATIONS: &[Operation] = &[
    OPEN_ACCOUNT,
    CLOSE_ACCOUNT,
    DEPOSIT,
    WITHDRAW,
    TRANSFER,
    PLACE_ORDER,
    RESOLVE_ALERT,
    TAKE_CALLBACK,
    EXPIRE_PAYMENT,
    ASK_ABOUT_UNMATCHED,
    ASK_ABOUT_STATEMENT,
];

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
/// An order was paid: at its placing, or by its payment at a provider.
pub const ORDER_PAID: &str = "onefold.order.paid.v1";
/// An order was placed, and waits for its payment.
pub const ORDER_PLACED: &str = "onefold.order.placed.v1";
/// An order was not paid in time.
pub const ORDER_EXPIRED: &str = "onefold.order.expired.v1";
/// An order was called off.
pub const ORDER_CANCELLED: &str = "onefold.order.cancelled.v1";
/// Something of what paid an order was given back.
pub const ORDER_REFUNDED: &str = "onefold.order.refunded.v1";
/// A person is asked about a payment.
pub const ALERT_RAISED: &str = "onefold.payment_alert.raised.v1";
/// Somebody, or what came later, has answered.
pub const ALERT_RESOLVED: &str = "onefold.payment_alert.resolved.v1";

/// Every type of event, with the kind of thing that it tells of.
pub const EVENTS: &[(&str, &str)] = &[
    (ACCOUNT_OPENED, "account"),
    (ACCOUNT_CLOSED, "account"),
    (MOVEMENTS[0].2, "movement"),
    (MOVEMENTS[1].2, "movement"),
    (MOVEMENTS[2].2, "movement"),
    (ORDER_PAID, "order"),
    (ORDER_PLACED, "order"),
    (ORDER_EXPIRED, "order"),
    (ORDER_CANCELLED, "order"),
    (ORDER_REFUNDED, "order"),
    (ALERT_RAISED, "payment_alert"),
    (ALERT_RESOLVED, "payment_alert"),
];
