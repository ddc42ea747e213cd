//! Whether rows that were read one after the other could be of one moment.
//!
//! Without locks another transaction may commit between two reads. That is noticed by the versions when the batch is
//! saved, but before that the rules are asked, and they take for granted that an active hold is a part of what its
//! account has held, and that what an order keeps is a part of what its skus have promised.

use std::collections::HashMap;
use std::hash::Hash;

use order::{Order, OrderStatus};

use crate::working_set::WorkingSet;

/// Whether the rules can be asked about these rows.
pub(super) fn fits_together(set: &WorkingSet) -> bool {
    holds_are_held(set) && items_are_promised(set)
}

fn holds_are_held(set: &WorkingSet) -> bool {
    let holds = set.holds.iter().map(|hold| ((hold.client_id, hold.account_id), hold.left().minor_units()));
    summed(holds).into_iter().all(|(account, left)| {
        set.accounts.get(&account).is_none_or(|account| account.held.minor_units() >= left)
    })
}

fn items_are_promised(set: &WorkingSet) -> bool {
    let promised = |waiting: bool| {
        let orders = set.orders.iter().filter(move |order| waits(order) == Some(waiting));
        let items = orders.flat_map(|order| order.items.iter().map(move |item| (order.client_id, item)));
        summed(items.map(|(client, item)| ((client, item.sku.clone()), item.quantity - item.given_back)))
    };
    let covers = |pieces: HashMap<_, u64>, of: fn(&inventory::Sku) -> u64| {
        pieces.into_iter().all(|(key, pieces)| set.skus.get(&key).is_none_or(|sku| of(sku) >= pieces))
    };
    covers(promised(true), |sku| sku.reserved) && covers(promised(false), |sku| sku.sold)
}

/// Whether the order's items are reserved (or sold); nothing, if it has ended unpaid and keeps none.
fn waits(order: &Order) -> Option<bool> {
    match order.status {
        OrderStatus::PendingPayment | OrderStatus::Authorized => Some(true),
        OrderStatus::Paid | OrderStatus::PartiallyRefunded | OrderStatus::Refunded => Some(false),
        OrderStatus::Cancelled | OrderStatus::Expired => None,
    }
}

fn summed<K: Eq + Hash, N: Default + std::ops::AddAssign>(
    parts: impl Iterator<Item = (K, N)>,
) -> HashMap<K, N> {
    let mut sums = HashMap::new();
    for (key, part) in parts {
        *sums.entry(key).or_default() += part;
    }
    sums
}
