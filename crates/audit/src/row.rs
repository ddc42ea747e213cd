//! The rows, as the audit reads them: without what no check looks at, and each by itself.

mod history;
mod journal;
mod payments;
mod records;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::figure::Figure;

pub use history::{Event, OrderNow, OrderState, OrderVersion, Particulars, Standing};
pub use journal::{After, Asked, CollectingAccount, Entry, Side, Total};
pub use payments::{Alert, AskedRefund, Delivery, Funds, Payment, Receipt};
pub use records::{Answer, Record};

/// A row of any table.
#[derive(Clone, Debug)]
pub enum Row<'r> {
    /// Of `clients`.
    Client(Client),
    /// Of `collecting_accounts`.
    CollectingAccount(CollectingAccount<'r>),
    /// Of `accounts`.
    Account(Account<'r>),
    /// Of `journal_entries`.
    Entry(Entry<'r>),
    /// Of `collecting_totals`.
    Total(Total),
    /// Of `movements`.
    Movement(Movement<'r>),
    /// Of `orders`.
    Order(Order<'r>),
    /// Of `order_items`, with what its order says.
    Item(Item<'r>),
    /// Of `holds`.
    Hold(Hold<'r>),
    /// Of `hold_captures`.
    Capture(Capture<'r>),
    /// Of `refunds`.
    Refund(Refund<'r>),
    /// Of `refund_items`.
    RefundItem(RefundItem<'r>),
    /// Of `skus`.
    Sku(Sku<'r>),
    /// Of `idempotency_records`.
    Record(Record<'r>),
    /// Of `idempotency_records`: past its retention, or of a closing, and completed, without what it says was done.
    RecordWithoutEffect(Record<'r>),
    /// Of `payments`, with what its order says.
    Payment(Payment<'r>),
    /// Of `payment_receipts`.
    Receipt(Receipt<'r>),
    /// Of `payment_alerts`.
    Alert(Alert<'r>),
    /// Of `callback_deliveries`, with what its payment says.
    Delivery(Delivery<'r>),
    /// Of `asked_refunds`, with what its receipt, its order and its alert say.
    AskedRefund(AskedRefund<'r>),
    /// Since when versions of orders are kept: when the migration that adds them was applied.
    HistoryKept(DateTime<Utc>),
    /// Of `order_versions`, with what the version before it, its order and its delivery say.
    OrderVersion(OrderVersion<'r>),
    /// Of `outbox_events`, with what the versions that one of an order tells of say.
    Event(Event<'r>),
    /// An order's number; they come in the order of client and number.
    OrderNumber(BusinessKey<'r>),
    /// A reference; those of one kind come in the order of client and reference.
    Reference(BusinessKey<'r>),
}

/// A client.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its identity.
    pub client_id: Uuid,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Its published events from before this moment may have been deleted.
    pub events_pruned_before: Option<DateTime<Utc>>,
}

/// A customer's account.
#[derive(Clone, Copy, Debug)]
pub struct Account<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub account_id: Uuid,
    /// Its currency.
    pub currency: &'r str,
    /// Whether it is closed.
    pub closed: bool,
    /// What can be spent.
    pub available: Figure,
    /// What is frozen.
    pub held: Figure,
    /// How many changes it has seen.
    pub version: i64,
    /// When it was opened.
    pub created_at: DateTime<Utc>,
}

/// A movement.
#[derive(Clone, Copy, Debug)]
pub struct Movement<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub movement_id: Uuid,
    /// What kind it is.
    pub kind: &'r str,
    /// The client's name for it.
    pub reference: &'r str,
    /// Which customer's account pays.
    pub from_account_id: Option<Uuid>,
    /// Which customer's account receives.
    pub to_account_id: Option<Uuid>,
    /// How much moves.
    pub amount: Figure,
    /// In which currency.
    pub currency: &'r str,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// An order.
#[derive(Clone, Copy, Debug)]
pub struct Order<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub order_id: Uuid,
    /// The client's name for it.
    pub client_order_no: &'r str,
    /// The account it is for.
    pub account_id: Uuid,
    /// Its currency.
    pub currency: &'r str,
    /// What was ordered.
    pub amount: Figure,
    /// What has been taken.
    pub captured_amount: Figure,
    /// What has been given back.
    pub refunded_amount: Figure,
    /// How it is paid.
    pub payment_method: &'r str,
    /// Where it is in its life.
    pub status: &'r str,
    /// From when on it is too late to pay or capture it, if that is ever so.
    pub expires_at: Option<DateTime<Utc>>,
    /// How many changes it has seen.
    pub version: i64,
    /// When it was placed.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// An item of an order.
#[derive(Clone, Copy, Debug)]
pub struct Item<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// The order.
    pub order_id: Uuid,
    /// The sku's name.
    pub sku: &'r str,
    /// How many pieces.
    pub quantity: i64,
    /// What a piece cost.
    pub price: Figure,
    /// How many of them were given back.
    pub given_back: i64,
    /// Whether it stands first among those of its order.
    pub is_first: bool,
    /// Where the order is in its life; none, if there is no such order.
    pub order_status: Option<&'r str>,
    /// What the order amounts to; none, if there is no such order.
    pub order_amount: Option<Figure>,
}

/// A hold.
#[derive(Clone, Copy, Debug)]
pub struct Hold<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub hold_id: Uuid,
    /// The account whose money it is.
    pub account_id: Uuid,
    /// Whether it is an order's, whose id it has.
    pub of_order: bool,
    /// The client's name for it; an order's has none.
    pub reference: Option<&'r str>,
    /// Its currency.
    pub currency: &'r str,
    /// What was frozen.
    pub amount: Figure,
    /// What was taken.
    pub captured: Figure,
    /// Whether it still holds.
    pub status: &'r str,
    /// From when on it is expired, if it ever is.
    pub expires_at: Option<DateTime<Utc>>,
    /// How many changes it has seen.
    pub version: i64,
    /// When it was placed.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// A capture of a hold.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// The hold.
    pub hold_id: Uuid,
    /// The journal row that took it.
    pub entry_id: Uuid,
    /// Its currency.
    pub currency: &'r str,
    /// How much was taken.
    pub amount: Figure,
    /// The name that its journal row must bear: the client's for the capture, or else that for the hold.
    pub named: Option<&'r str>,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// A refund.
#[derive(Clone, Copy, Debug)]
pub struct Refund<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub refund_id: Uuid,
    /// The order.
    pub order_id: Uuid,
    /// The account that got it.
    pub account_id: Uuid,
    /// The client's name for it.
    pub reference: &'r str,
    /// Its currency.
    pub currency: &'r str,
    /// How much.
    pub amount: Figure,
    /// Where it is in its life.
    pub status: &'r str,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// An item of a refund.
#[derive(Clone, Copy, Debug)]
pub struct RefundItem<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// The refund's order.
    pub order_id: Uuid,
    /// The sku's name.
    pub sku: &'r str,
    /// How many pieces.
    pub quantity: i64,
    /// Whether they are back in stock: with the refund's making, or, at a provider, since it is done.
    pub is_back: bool,
}

/// A sku.
#[derive(Clone, Copy, Debug)]
pub struct Sku<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub sku_id: Uuid,
    /// Its name.
    pub sku: &'r str,
    /// How many pieces there are.
    pub total: i64,
    /// How many are set aside.
    pub reserved: i64,
    /// How many are sold.
    pub sold: i64,
}

/// A name that the client gave to an order, a movement, a hold, a capture or a refund.
#[derive(Clone, Copy, Debug)]
pub struct BusinessKey<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Of which kind; empty for an order.
    pub kind: &'r str,
    /// The name.
    pub text: &'r str,
}
