//! The order.

use account::AccountId;
use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use uuid::Uuid;

use crate::OrderStatus;

/// Identifies an order: UUID version 7, made by the service.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct OrderId(pub Uuid);

/// How an order is paid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PaymentMethod {
    /// At once, from what the account has available.
    Balance,
    /// By a payment at a provider, which tells of it by a callback.
    Provider,
}

impl PaymentMethod {
    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Balance => "balance",
            Self::Provider => "provider",
        }
    }

    /// The method of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "balance" => Some(Self::Balance),
            "provider" => Some(Self::Provider),
            _ => None,
        }
    }
}

/// An order of a client against one of its accounts.
///
/// `refunded_amount` ≤ `captured_amount` ≤ `amount`, all in the account's currency. Of an order paid at a provider more
/// than its amount may be captured: what a person has accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: OrderId,
    /// The client's own name for it, unique per client for ever.
    pub client_order_no: String,
    /// The account it is for.
    pub account_id: AccountId,
    /// What was ordered; more than zero.
    pub amount: Amount,
    /// What has been taken.
    pub captured_amount: Amount,
    /// What has been given back.
    pub refunded_amount: Amount,
    /// How it is paid.
    pub payment_method: PaymentMethod,
    /// The number of its payment, if it is paid at a provider.
    pub payment_no: Option<String>,
    /// Where it is in its life.
    pub status: OrderStatus,
    /// How many changes it has seen, its placing the first.
    pub version: i64,
    /// When it was placed.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}
