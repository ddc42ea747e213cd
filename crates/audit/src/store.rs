//! The statements of the audit, and the snapshot that they read.
//!
//! They read the tables of other crates, and write none. Whoever changes a table finds them here, in `journal`, in
//! `payments`, in `history` and in `records`.

mod history;
mod journal;
mod payments;
mod records;
pub mod snapshot;
mod text;

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::row::{
    Account, BusinessKey, Capture, Client, Hold, Item, Movement, Order, Refund, RefundItem, Row, Sku,
};

use history::{EVENTS, HISTORY_KEPT, ORDER_VERSIONS, event, history_kept, order_version};
use journal::{COLLECTING_ACCOUNTS, ENTRIES, TOTALS, collecting_account, entry, total};
use payments::{
    ALERTS, ASKED_REFUNDS, DELIVERIES, PAYMENTS, RECEIPTS, alert, asked_refund, delivery, payment, receipt,
};
use records::{RECORDS, RECORDS_WITHOUT_EFFECT, record, record_without_effect};

pub use snapshot::Snapshot;

/// Something that is read from its first row to its last.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// What it is, in words.
    pub what: &'static str,
    /// The table, by which the number of rows is estimated.
    pub table: &'static str,
    /// The statement.
    pub sql: &'static str,
    /// Whether the statement needs the time after which every effect must have its record, as `$1`.
    pub needs_time: bool,
    read: for<'r> fn(&'r PgRow) -> sqlx::Result<Row<'r>>,
}

/// All that is read, in this order: what others refer to comes first.
pub const SOURCES: &[Source] = &[
    source("clients", "clients", CLIENTS, client),
    source("migrations", "_sqlx_migrations", HISTORY_KEPT, history_kept),
    source("collecting accounts", "collecting_accounts", COLLECTING_ACCOUNTS, collecting_account),
    source("accounts", "accounts", ACCOUNTS, account),
    source("journal", "journal_entries", ENTRIES, entry),
    source("collecting totals", "collecting_totals", TOTALS, total),
    source("movements", "movements", MOVEMENTS, movement),
    source("orders", "orders", ORDERS, order),
    source("versions of orders", "order_versions", ORDER_VERSIONS, order_version),
    source("payments", "payments", PAYMENTS, payment),
    source("receipts", "payment_receipts", RECEIPTS, receipt),
    source("alerts", "payment_alerts", ALERTS, alert),
    source("deliveries", "callback_deliveries", DELIVERIES, delivery),
    source("items", "order_items", ITEMS, item),
    source("holds", "holds", HOLDS, hold),
    source("captures", "hold_captures", CAPTURES, capture),
    source("refunds", "refunds", REFUNDS, refund),
    source("refunds at providers", "asked_refunds", ASKED_REFUNDS, asked_refund),
    source("refunded items", "refund_items", REFUND_ITEMS, refund_item),
    source("skus", "skus", SKUS, sku),
    source("records", "idempotency_records", RECORDS, record),
    Source {
        needs_time: true,
        ..source(
            "records past their retention",
            "idempotency_records",
            RECORDS_WITHOUT_EFFECT,
            record_without_effect,
        )
    },
    source("events", "outbox_events", EVENTS, event),
    source("order numbers", "orders", ORDER_NUMBERS, order_number),
    source("references", "movements", REFERENCES, reference),
    source("references of holds", "holds", HOLD_REFERENCES, reference),
    source("references of captures", "hold_captures", CAPTURE_REFERENCES, reference),
    source("references of refunds", "refunds", REFUND_REFERENCES, reference),
];

const fn source(
    what: &'static str,
    table: &'static str,
    sql: &'static str,
    read: for<'r> fn(&'r PgRow) -> sqlx::Result<Row<'r>>,
) -> Source {
    Source { what, table, sql, needs_time: false, read }
}

const CLIENTS: &str = "
    SELECT c.client_id, c.created_at, s.pruned_before AS events_pruned_before
    FROM clients c
    LEFT JOIN event_streams s ON s.client_id = c.client_id";

fn client(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Client(Client {
        client_id: row.try_get("client_id")?,
        created_at: row.try_get("created_at")?,
        events_pruned_before: row.try_get("events_pruned_before")?,
    }))
}

const ACCOUNTS: &str = "
    SELECT client_id, account_id, currency, status = 'closed' AS closed, available, held, version, created_at
    FROM accounts";

fn account(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Account(Account {
        client_id: row.try_get("client_id")?,
        account_id: row.try_get("account_id")?,
        currency: row.try_get("currency")?,
        closed: row.try_get("closed")?,
        available: row.try_get("available")?,
        held: row.try_get("held")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
    }))
}

const MOVEMENTS: &str = "
    SELECT client_id, movement_id, kind, reference, from_account_id, to_account_id, amount, currency, created_at
    FROM movements";

fn movement(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Movement(Movement {
        client_id: row.try_get("client_id")?,
        movement_id: row.try_get("movement_id")?,
        kind: row.try_get("kind")?,
        reference: row.try_get("reference")?,
        from_account_id: row.try_get("from_account_id")?,
        to_account_id: row.try_get("to_account_id")?,
        amount: row.try_get("amount")?,
        currency: row.try_get("currency")?,
        created_at: row.try_get("created_at")?,
    }))
}

const ORDERS: &str = "
    SELECT client_id, order_id, client_order_no, account_id, currency, amount, captured_amount, refunded_amount,
           payment_method, status, expires_at, version, created_at, updated_at
    FROM orders";

fn order(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Order(Order {
        client_id: row.try_get("client_id")?,
        order_id: row.try_get("order_id")?,
        client_order_no: row.try_get("client_order_no")?,
        account_id: row.try_get("account_id")?,
        currency: row.try_get("currency")?,
        amount: row.try_get("amount")?,
        captured_amount: row.try_get("captured_amount")?,
        refunded_amount: row.try_get("refunded_amount")?,
        payment_method: row.try_get("payment_method")?,
        status: row.try_get("status")?,
        expires_at: row.try_get("expires_at")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    }))
}

/// What an item promises and adds up to depends on its order, which is found by its key.
const ITEMS: &str = "
    SELECT i.client_id, i.order_id, i.sku, i.quantity, i.price, i.given_back, i.position = 0 AS is_first,
           o.status AS order_status, o.amount AS order_amount
    FROM order_items i
    LEFT JOIN orders o ON o.client_id = i.client_id AND o.order_id = i.order_id";

fn item(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Item(Item {
        client_id: row.try_get("client_id")?,
        order_id: row.try_get("order_id")?,
        sku: row.try_get("sku")?,
        quantity: row.try_get("quantity")?,
        price: row.try_get("price")?,
        given_back: row.try_get("given_back")?,
        is_first: row.try_get("is_first")?,
        order_status: row.try_get("order_status")?,
        order_amount: row.try_get("order_amount")?,
    }))
}

const HOLDS: &str = "
    SELECT client_id, hold_id, account_id, purpose = 'order' AS of_order, reference, currency, amount, captured, status,
           expires_at, version, created_at, updated_at
    FROM holds";

fn hold(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Hold(Hold {
        client_id: row.try_get("client_id")?,
        hold_id: row.try_get("hold_id")?,
        account_id: row.try_get("account_id")?,
        of_order: row.try_get("of_order")?,
        reference: row.try_get("reference")?,
        currency: row.try_get("currency")?,
        amount: row.try_get("amount")?,
        captured: row.try_get("captured")?,
        status: row.try_get("status")?,
        expires_at: row.try_get("expires_at")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    }))
}

/// Its hold is found by its key.
const CAPTURES: &str = "
    SELECT c.client_id, c.hold_id, c.entry_id, c.currency, c.amount, COALESCE(c.reference, h.reference) AS named,
           c.created_at
    FROM hold_captures c
    LEFT JOIN holds h ON h.client_id = c.client_id
                     AND h.hold_id = c.hold_id";

fn capture(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Capture(Capture {
        client_id: row.try_get("client_id")?,
        hold_id: row.try_get("hold_id")?,
        entry_id: row.try_get("entry_id")?,
        currency: row.try_get("currency")?,
        amount: row.try_get("amount")?,
        named: row.try_get("named")?,
        created_at: row.try_get("created_at")?,
    }))
}

const REFUNDS: &str = "
    SELECT client_id, refund_id, order_id, account_id, reference, currency, amount, status, created_at
    FROM refunds";

fn refund(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Refund(Refund {
        client_id: row.try_get("client_id")?,
        refund_id: row.try_get("refund_id")?,
        order_id: row.try_get("order_id")?,
        account_id: row.try_get("account_id")?,
        reference: row.try_get("reference")?,
        currency: row.try_get("currency")?,
        amount: row.try_get("amount")?,
        status: row.try_get("status")?,
        created_at: row.try_get("created_at")?,
    }))
}

const REFUND_ITEMS: &str = "
    SELECT i.client_id, i.order_id, i.sku, i.quantity, a.refund_id IS NULL OR a.items_back AS is_back
    FROM refund_items i
    LEFT JOIN asked_refunds a ON a.client_id = i.client_id
                             AND a.refund_id = i.refund_id";

fn refund_item(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::RefundItem(RefundItem {
        client_id: row.try_get("client_id")?,
        order_id: row.try_get("order_id")?,
        sku: row.try_get("sku")?,
        quantity: row.try_get("quantity")?,
        is_back: row.try_get("is_back")?,
    }))
}

const SKUS: &str = "
    SELECT client_id, sku_id, sku, total, reserved, sold
    FROM skus";

fn sku(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Sku(Sku {
        client_id: row.try_get("client_id")?,
        sku_id: row.try_get("sku_id")?,
        sku: row.try_get("sku")?,
        total: row.try_get("total")?,
        reserved: row.try_get("reserved")?,
        sold: row.try_get("sold")?,
    }))
}

/// In the order of the unique index, which alone can tell that a number comes twice without keeping all of them. The
/// condition is the index's, and holds for every row.
const ORDER_NUMBERS: &str = "
    SELECT client_id, client_order_no
    FROM orders
    WHERE client_order_no IS NOT NULL
    ORDER BY client_id, client_order_no";

fn order_number(row: &PgRow) -> sqlx::Result<Row<'_>> {
    let (client_id, text) = (row.try_get("client_id")?, row.try_get("client_order_no")?);
    Ok(Row::OrderNumber(BusinessKey { client_id, kind: "", text }))
}

/// In the order of the unique index, like the order numbers.
const REFERENCES: &str = "
    SELECT client_id, kind, reference
    FROM movements
    ORDER BY client_id, kind, reference";

fn reference(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Reference(BusinessKey {
        client_id: row.try_get("client_id")?,
        kind: row.try_get("kind")?,
        text: row.try_get("reference")?,
    }))
}

/// Those of holds that orders placed have none.
const HOLD_REFERENCES: &str = "
    SELECT client_id, 'hold' AS kind, reference
    FROM holds
    WHERE reference IS NOT NULL
    ORDER BY client_id, reference";

/// Unique among the captures of one hold.
const CAPTURE_REFERENCES: &str = "
    SELECT client_id, 'capture of hold ' || hold_id AS kind, reference
    FROM hold_captures
    WHERE reference IS NOT NULL
    ORDER BY client_id, hold_id, reference";

const REFUND_REFERENCES: &str = "
    SELECT client_id, 'refund' AS kind, reference
    FROM refunds
    WHERE reference IS NOT NULL
    ORDER BY client_id, reference";
