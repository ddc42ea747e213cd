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
    /// What the customer's account of the other side has held, without figures of its own.
    Held,
}

/// What a journal row must name as its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A movement, and nothing else.
    Movement,
    /// An order, and nothing else.
    Order,
    /// A receipt, with its order or without, and no movement.
    Receipt,
    /// A hold, or an order whose hold it is, and nothing else.
    HoldOrOrder,
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

/// Every kind of journal row.
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
    Kind { word: HOLD, debit: Party::Customer, credit: Party::Held, cause: Cause::HoldOrOrder },
    Kind { word: HOLD_CAPTURE, debit: Party::Customer, credit: REVENUE, cause: Cause::HoldOrOrder },
    Kind { word: HOLD_RELEASE, debit: Party::Held, credit: Party::Customer, cause: Cause::HoldOrOrder },
    Kind { word: HOLD_EXPIRY, debit: Party::Held, credit: Party::Customer, cause: Cause::HoldOrOrder },
    Kind { word: ORDER_REFUND, debit: REVENUE, credit: Party::Customer, cause: Cause::Order },
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

/// The kind of row that freezes money: from what its account has available to what it has held.
pub const HOLD: &str = "hold";
/// The kind of row that takes frozen money.
pub const HOLD_CAPTURE: &str = "hold_capture";
/// The kind of row that gives frozen money back.
pub const HOLD_RELEASE: &str = "hold_release";
/// The kind of row that gives frozen money back because its time is over.
pub const HOLD_EXPIRY: &str = "hold_expiry";
/// The kind of row that gives money of an order back.
pub const ORDER_REFUND: &str = "order_refund";

/// The version of an order that says that its provider is to give something back.
pub const REFUND_ASKED: &str = "refund_asked";

/// The version of an order that says that its provider has given back what was counted before.
pub const REFUND_CONFIRMED: &str = "refund_confirmed";

/// The version of an order that says that its provider does not give back what it was asked for.
pub const REFUND_FAILED: &str = "refund_failed";

/// The kind of that word.
pub fn kind(word: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.word == word)
}

/// What a row of this kind adds to what its credited account has available and held, and takes from those of the
/// debited one.
pub fn moved(kind: &str, amount: Figure) -> (Figure, Figure) {
    match kind {
        HOLD | HOLD_RELEASE | HOLD_EXPIRY => (amount, Figure::ZERO.minus(amount)),
        HOLD_CAPTURE => (Figure::ZERO, amount),
        _ => (amount, Figure::ZERO),
    }
}

/// An operation that has an effect: what a completed record of it must have done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Its name in the records.
    pub name: &'static str,
    /// What the path of its resource begins with; the id follows, or the name of what is named.
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

/// Notes what came of asking a provider for a refund, unless more is known by then.
pub const NOTE_REFUND: Operation =
    Operation { name: "note refund", path: "/v1/asked-refunds/", has_own_effect: false };

/// What the path of a repeated callback ends with.
pub const AGAIN: &str = "/again";

/// Freezes money.
pub const PLACE_HOLD: Operation = Operation::own("POST /v1/accounts/{id}/holds", "/v1/holds/");
/// Takes frozen money.
pub const CAPTURE_HOLD: Operation = Operation::own("POST /v1/holds/{id}/capture", "/v1/holds/");
/// Gives frozen money back.
pub const RELEASE_HOLD: Operation = Operation::own("POST /v1/holds/{id}/release", "/v1/holds/");
/// Gives frozen money back because its time is over.
pub const EXPIRE_HOLD: Operation = Operation::own("expire hold", "/v1/holds/");
/// Takes what was frozen for an order.
pub const CAPTURE_ORDER: Operation = Operation::own("POST /v1/orders/{id}/capture", "/v1/orders/");
/// Calls an order off.
pub const CANCEL_ORDER: Operation = Operation::own("POST /v1/orders/{id}/cancel", "/v1/orders/");
/// Ends an order whose time is over.
pub const EXPIRE_ORDER: Operation = Operation::own("expire order", "/v1/orders/");
/// Gives money of an order back.
pub const REFUND_ORDER: Operation = Operation::own("POST /v1/orders/{id}/refunds", "/v1/refunds/");
/// Makes or sets a sku, which is named and leaves no row for each time.
pub const PUT_SKU: Operation = Operation::own("PUT /v1/skus/{sku}", "/v1/skus/");

/// Counts what an event tells of to its day's totals, unless that day was computed from the books.
pub const COUNT_EVENT: Operation =
    Operation { name: "count event", path: "/v1/reports/daily/", has_own_effect: false };
/// Computes a day's totals from the books, if the day is over.
pub const REBUILD_DAY: Operation =
    Operation { name: "rebuild day", path: "/v1/reports/daily/", has_own_effect: false };

/// Writes down which endpoints of its client are to be told of an event. What was delivered is deleted some day.
pub const NOTIFY: Operation =
    Operation { name: "notify", path: "/v1/webhook-deliveries/", has_own_effect: false };

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
    NOTE_REFUND,
    PLACE_HOLD,
    CAPTURE_HOLD,
    RELEASE_HOLD,
    EXPIRE_HOLD,
    CAPTURE_ORDER,
    CANCEL_ORDER,
    EXPIRE_ORDER,
    REFUND_ORDER,
    PUT_SKU,
    COUNT_EVENT,
    REBUILD_DAY,
    NOTIFY,
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
/// An order was placed, and what it costs was frozen.
pub const ORDER_AUTHORIZED: &str = "onefold.order.authorized.v1";
/// Something of what was frozen for an order was taken.
pub const ORDER_CAPTURED: &str = "onefold.order.captured.v1";
/// An order was not paid in time.
pub const ORDER_EXPIRED: &str = "onefold.order.expired.v1";
/// An order was called off.
pub const ORDER_CANCELLED: &str = "onefold.order.cancelled.v1";
/// Something of what paid an order was given back.
pub const ORDER_REFUNDED: &str = "onefold.order.refunded.v1";
/// Money was frozen.
pub const HOLD_PLACED: &str = "onefold.hold.placed.v1";
/// Frozen money was given back.
pub const HOLD_RELEASED: &str = "onefold.hold.released.v1";
/// Frozen money was given back because its time was over.
pub const HOLD_EXPIRED: &str = "onefold.hold.expired.v1";
/// A sku was made or set.
pub const SKU_SET: &str = "onefold.sku.set.v1";
/// The provider that an order was paid at is asked to give something back.
pub const ORDER_REFUND_ASKED: &str = "onefold.order.refund_asked.v1";
/// The provider says that a refund it was asked for is done, whose money was counted before.
pub const ORDER_REFUND_CONFIRMED: &str = "onefold.order.refund_confirmed.v1";
/// The provider does not give back what it was asked for.
pub const ORDER_REFUND_FAILED: &str = "onefold.order.refund_failed.v1";
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
    (ORDER_AUTHORIZED, "order"),
    (ORDER_CAPTURED, "order"),
    (ORDER_EXPIRED, "order"),
    (ORDER_CANCELLED, "order"),
    (ORDER_REFUNDED, "order"),
    (ORDER_REFUND_ASKED, "order"),
    (ORDER_REFUND_CONFIRMED, "order"),
    (ORDER_REFUND_FAILED, "order"),
    (HOLD_PLACED, "hold"),
    ("onefold.hold.captured.v1", "hold"),
    (HOLD_RELEASED, "hold"),
    (HOLD_EXPIRED, "hold"),
    (SKU_SET, "sku"),
    (ALERT_RAISED, "payment_alert"),
    (ALERT_RESOLVED, "payment_alert"),
];

/// Events that tell of what happens once in a life, after the placing: their thing says itself that it has, and at which
/// version.
pub const ONCE: &[&str] = &[ORDER_PAID, ORDER_CANCELLED, ORDER_EXPIRED, HOLD_RELEASED, HOLD_EXPIRED];
