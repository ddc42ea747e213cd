//! Orders: placing them, taking what was frozen for them, their end, and giving back what they took.
//!
//! What an order does to the stock is decided with it, and commits with it.

use account::{Account, AccountId, Hold, HoldId};
use chrono::TimeDelta;
use inventory::{Sku, SkuCode};
use money::Amount;
use order::item;
use order::place::{self, Placement};
use order::refund::{self, Refunded, Refunding};
use order::{
    ItemWanted, Order, OrderCaptured, OrderEnded, OrderId, OrderStatus, PaymentMethod, PaymentTerms, Refund,
    RefundId, RefundStep, VersionOfRefund, capture as captures, end, stock,
};
use payment_callback::ProviderKind;

use super::holds::{capturing, changes};
use super::{Case, Decision, payments};
use crate::command::CaptureTerms;
use crate::working_set::Changes;
use crate::{Outcome, Refusal};

/// An order as its client asks for it.
pub(super) struct Asked<'c> {
    pub(super) client_order_no: &'c str,
    pub(super) amount: Amount,
    pub(super) items: &'c [ItemWanted],
    pub(super) payment: &'c PaymentTerms,
}

pub(super) fn place(
    case: &mut Case<'_>,
    account_id: AccountId,
    asked: Asked<'_>,
) -> Result<Decision, Refusal> {
    let Asked { client_order_no, amount, items, payment } = asked;
    let account = case.account(account_id)?;
    if let Some(existing) = case.set.order_with(case.client, client_order_no) {
        return Err(Refusal::DuplicateOrderNo(existing));
    }
    if account.currency != amount.currency() {
        let (account_currency, given) = (account.currency, amount.currency());
        return Err(Refusal::CurrencyMismatch { account_currency, given });
    }
    let items = item::priced(items, amount, |code| case.set.sku(case.client, code))?;
    let skus = match payment {
        PaymentTerms::Balance => stock::sell_at_once(&items, sku_of(case), case.now)?,
        PaymentTerms::Hold { .. } | PaymentTerms::Provider { .. } => {
            stock::reserve(&items, sku_of(case), case.now)?
        }
    };
    let placement = Placement {
        order_id: OrderId(case.ids.take()),
        entry_id: case.entry_id(),
        client_order_no: client_order_no.to_owned(),
        amount,
        items,
        now: case.now,
    };
    let placed = match payment {
        PaymentTerms::Balance => place::pay_from_balance(account, placement)?,
        PaymentTerms::Hold { expires_in_s } => {
            let expires_at = case.now + TimeDelta::seconds((*expires_in_s).into());
            place::pay_by_hold(account, placement, expires_at)?
        }
        PaymentTerms::Provider { .. } => return payments::place(case, account, placement, payment, skus),
    };
    let changes = Changes {
        accounts: vec![placed.account],
        orders: vec![placed.order.clone()],
        holds: placed.hold.into_iter().collect(),
        skus,
        entries: vec![placed.entry],
        ..Changes::default()
    };
    Ok(Decision { outcome: Outcome::OrderPlaced { order: placed.order, payment: None }, changes })
}

pub(super) fn capture(
    case: &mut Case<'_>,
    order_id: OrderId,
    terms: &CaptureTerms,
) -> Result<Decision, Refusal> {
    let (order, account) = find(case, order_id)?;
    let capturing = capturing(case, HoldId(order_id.0), terms)?;
    // The hold of an order that waits for no capture is not loaded: it has ended, like the order's wait.
    let Some(hold) = hold_of(case, order) else {
        return Err(Refusal::OrderStateConflict(order.at(case.now)));
    };
    let OrderCaptured { order, hold } = captures::capture(account, order, hold, capturing)?;
    let skus = match order.status {
        OrderStatus::Paid => stock::sell_reserved(&order.items, sku_of(case), case.now),
        _ => Vec::new(),
    };
    let changes = Changes { orders: vec![order.clone()], skus, ..changes(hold) };
    Ok(Decision { outcome: Outcome::OrderCaptured(order), changes })
}

pub(super) fn cancel(case: &mut Case<'_>, order_id: OrderId) -> Result<Decision, Refusal> {
    let (order, account) = find(case, order_id)?;
    let entry_id = case.entry_id();
    let ended = end::cancel(account, order, hold_of(case, order), entry_id, case.now)?;
    let (order, mut changes) = ended_changes(case, ended);
    // What is paid at its provider from now on is late.
    let payment = order.payment_no.as_ref().map(|payment_no| {
        let key = (case.client, payment_no.clone());
        case.set.payments.get(&key).expect("an order's payment is loaded with it").closed(case.now)
    });
    changes.payments.extend(payment.clone());
    Ok(Decision { outcome: Outcome::OrderCancelled { order, payment }, changes })
}

pub(super) fn expire(case: &mut Case<'_>, order_id: OrderId) -> Result<Decision, Refusal> {
    let (order, account) = find(case, order_id)?;
    let entry_id = case.entry_id();
    let ended = end::expire(account, order, hold_of(case, order), entry_id, case.now)?;
    let (order, changes) = ended_changes(case, ended);
    Ok(Decision { outcome: Outcome::OrderExpired(order), changes })
}

fn ended_changes(case: &Case<'_>, ended: OrderEnded) -> (Order, Changes) {
    let OrderEnded { order, hold } = ended;
    let skus = stock::give_back_reserved(&order.items, sku_of(case), case.now);
    let changes = Changes { orders: vec![order.clone()], skus, ..hold.map(changes).unwrap_or_default() };
    (order, changes)
}

/// A refund as its client asks for it.
pub(super) struct RefundAsked<'c> {
    pub(super) amount: Option<Amount>,
    pub(super) reference: &'c str,
    pub(super) items: &'c [ItemWanted],
    pub(super) askable: &'c [ProviderKind],
}

pub(super) fn refund(
    case: &mut Case<'_>,
    order_id: OrderId,
    asked: RefundAsked<'_>,
) -> Result<Decision, Refusal> {
    let RefundAsked { amount, reference, items, askable } = asked;
    let (order, account) = find(case, order_id)?;
    // Whoever asks reads the order for its currency: what was not there then is as good as not there.
    let amount = amount.ok_or(Refusal::OrderNotFound(order_id))?;
    if let Some(existing) = case.set.refund_with(case.client, reference) {
        return Err(Refusal::DuplicateReference { kind: "refund", existing: existing.0 });
    }
    let refunding = Refunding {
        refund_id: RefundId(case.ids.take()),
        entry_id: case.entry_id(),
        reference: reference.to_owned(),
        amount,
        items: items.to_vec(),
        now: case.now,
    };
    if order.payment_method == PaymentMethod::Provider {
        return payments::refund(case, order, refunding, askable);
    }
    let Refunded { refund, order, account, entry } = refund::to_balance(account, order, refunding)?;
    let changes = Changes {
        accounts: vec![account],
        skus: with_sold_back(case, &refund),
        versions_of_refunds: vec![VersionOfRefund::of(&order, refund.id, RefundStep::Done)],
        orders: vec![order.clone()],
        order_refunds: vec![refund.clone()],
        entries: vec![entry],
        ..Changes::default()
    };
    Ok(Decision { outcome: Outcome::OrderRefunded(refund, order), changes })
}

/// The skus of a refund's items, which are back.
fn with_sold_back(case: &Case<'_>, refund: &Refund) -> Vec<Sku> {
    let skus = refund.items.iter().map(|item| {
        let sku = case.set.sku(case.client, &item.sku).expect("an order's skus are there, and stay");
        sku.give_back_sold(item.quantity, case.now)
    });
    skus.collect()
}

fn find<'c>(case: &Case<'c>, id: OrderId) -> Result<(&'c Order, &'c Account), Refusal> {
    let order = case.set.order(case.client, id).ok_or(Refusal::OrderNotFound(id))?;
    Ok((order, case.account(order.account_id)?))
}

/// The order's hold, if it waits to be captured.
fn hold_of<'c>(case: &Case<'c>, order: &Order) -> Option<&'c Hold> {
    case.set.hold(case.client, HoldId(order.id.0))
}

fn sku_of<'c>(case: &Case<'c>) -> impl Fn(&SkuCode) -> Option<&'c Sku> {
    let (set, client) = (case.set, case.client);
    move |code| set.sku(client, code)
}
