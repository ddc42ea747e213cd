//! What becomes of the stock when something happens to an order: the skus of its items, as they are afterwards.
//!
//! An order reserves its items when it is placed and sells them when it is paid; one that is paid at once sells them
//! at once. What ends unpaid, or is refunded with its items, gives them back.

use chrono::{DateTime, Utc};
use inventory::{OutOfStock, Sku, SkuCode};

use crate::OrderItem;

/// Sets the items aside for an order that is not paid yet.
///
/// # Errors
///
/// For the first item of which there are not enough. Then nothing is set aside.
///
/// # Panics
///
/// If `sku` does not know an item's, here and below: an order has only items that were there, and skus stay.
pub fn reserve<'s>(
    items: &[OrderItem],
    sku: impl Fn(&SkuCode) -> Option<&'s Sku>,
    now: DateTime<Utc>,
) -> Result<Vec<Sku>, OutOfStock> {
    items.iter().map(|item| of(&sku, item).reserve(item.quantity, now)).collect()
}

/// Sells the items to an order that is paid at once.
///
/// # Errors
///
/// For the first item of which there are not enough. Then nothing is sold.
pub fn sell_at_once<'s>(
    items: &[OrderItem],
    sku: impl Fn(&SkuCode) -> Option<&'s Sku>,
    now: DateTime<Utc>,
) -> Result<Vec<Sku>, OutOfStock> {
    items.iter().map(|item| of(&sku, item).sell_available(item.quantity, now)).collect()
}

/// Sells what was reserved: the order is paid.
pub fn sell_reserved<'s>(
    items: &[OrderItem],
    sku: impl Fn(&SkuCode) -> Option<&'s Sku>,
    now: DateTime<Utc>,
) -> Vec<Sku> {
    items.iter().map(|item| of(&sku, item).sell_reserved(item.quantity, now)).collect()
}

/// Gives back what was reserved: the order has ended unpaid.
pub fn give_back_reserved<'s>(
    items: &[OrderItem],
    sku: impl Fn(&SkuCode) -> Option<&'s Sku>,
    now: DateTime<Utc>,
) -> Vec<Sku> {
    items.iter().map(|item| of(&sku, item).give_back_reserved(item.quantity, now)).collect()
}

fn of<'s>(sku: &impl Fn(&SkuCode) -> Option<&'s Sku>, item: &OrderItem) -> &'s Sku {
    sku(&item.sku).expect("the skus of an order's items are loaded with it")
}
