//! The rows of payments at providers.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::figure::Figure;

/// A payment at a provider.
#[derive(Clone, Copy, Debug)]
pub struct Payment<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its number.
    pub payment_no: &'r str,
    /// The order it pays; none while it is parked.
    pub order_id: Option<Uuid>,
    /// What is asked for.
    pub amount: Option<Figure>,
    /// In which currency.
    pub currency: Option<&'r str>,
    /// Where it is in its life.
    pub status: &'r str,
    /// From when on it is too late.
    pub expires_at: Option<DateTime<Utc>>,
    /// Where its order is; none, if there is no such order.
    pub order_status: Option<&'r str>,
    /// From when on its order expires; none, if there is no such order, or if it was placed before orders had such a time.
    pub order_expires_at: Option<DateTime<Utc>>,
}

/// What a provider says was received.
#[derive(Clone, Copy, Debug)]
pub struct Receipt<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub receipt_id: Uuid,
    /// The provider.
    pub provider: &'r str,
    /// What became of it.
    pub state: &'r str,
    /// Where its money stands, if an amount is known.
    pub funds: Option<Funds<'r>>,
    /// The alert that is open about it.
    pub open_alert_id: Option<Uuid>,
}

/// Where the money of a receipt stands.
#[derive(Clone, Copy, Debug)]
pub struct Funds<'r> {
    /// In which currency.
    pub currency: &'r str,
    /// What was received.
    pub received: Figure,
    /// What was given back.
    pub refunded: Figure,
    /// What has paid an order.
    pub applied: Figure,
    /// What is owed back.
    pub owed: Figure,
}

/// A question to a person about a payment.
#[derive(Clone, Copy, Debug)]
pub struct Alert<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub alert_id: Uuid,
    /// What raised it.
    pub cause: &'r str,
    /// The receipt it is about.
    pub receipt_id: Option<Uuid>,
    /// `open` or `resolved`.
    pub status: &'r str,
    /// Who resolved it.
    pub resolved_by: Option<&'r str>,
    /// When.
    pub resolved_at: Option<DateTime<Utc>>,
}

/// A delivery of a provider that was dealt with.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub delivery_id: Uuid,
    /// What it did to the books.
    pub effect: &'r str,
    /// Where the payment is whose number it names; none, if it names none or there is no such payment.
    pub payment_status: Option<&'r str>,
    /// When.
    pub received_at: DateTime<Utc>,
}

/// A refund that a provider is asked for.
#[derive(Clone, Copy, Debug)]
pub struct AskedRefund<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity; that of the order's refund, if it is one.
    pub refund_id: Uuid,
    /// The order whose money it is; none, if that has paid no order.
    pub order_id: Option<Uuid>,
    /// Where that is in its life; none, if there is no such order.
    pub order_status: Option<&'r str>,
    /// Its currency.
    pub currency: &'r str,
    /// How much.
    pub amount: Figure,
    /// How far it is.
    pub status: &'r str,
    /// How many changes it has seen.
    pub version: i64,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// Whether the receipt whose money it is is there, in its currency.
    pub has_receipt: bool,
    /// What of that receipt's money is back by what was asked for, and how much of it the provider has told of, where that
    /// is less and no alert asks about it.
    pub untold: Option<(Figure, Figure)>,
    /// Whether a person was asked about its failure.
    pub failure_was_raised: bool,
    /// Whether its items are back in stock.
    pub items_back: bool,
    /// Whether its order still has all of them.
    pub has_items_left: bool,
}
