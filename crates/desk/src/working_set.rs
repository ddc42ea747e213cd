//! What a batch has loaded, and what it has changed so far.
//!
//! Commands of a batch are decided one after the other on this set, each seeing what those before it changed.

use std::collections::{HashMap, HashSet};

use account::{
    Account, AccountId, Cause, Entry, EntryId, Hold, HoldCapture, HoldId, HoldPurpose, Movement, MovementId,
    MovementKind, Origin,
};
use client::ClientId;
use events::Event;
use inventory::{Sku, SkuCode};
use notifications::WebhookDelivery;
use order::store::items::{ItemRow, rows_given_back, rows_of};
use order::store::refunds::{RefundItemRow, item_rows_of};
use order::{Order, OrderId, OrderVersion, Refund, RefundId, VersionOfRefund};
use payment_callback::{
    Alert, AlertCause, AskedRefund, DeliveryKey, DeliveryRecord, KnownDelivery, Payment, QuarantinedBody,
    Receipt, ReceiptRefund, ReceiptRefundKey,
};
use reports::DailyTotal;

use crate::business_keys::TakenKeys;
use crate::versioned::{Net, Row, Versioned};

/// What was loaded for a batch, with the changes of the commands decided so far.
#[derive(Clone, Default, Debug)]
pub struct WorkingSet {
    /// Accounts.
    pub accounts: Versioned<Account>,
    /// Orders.
    pub orders: Versioned<Order>,
    /// Holds.
    pub holds: Versioned<Hold>,
    /// Skus.
    pub skus: Versioned<Sku>,
    /// Daily totals.
    pub daily_totals: Versioned<DailyTotal>,
    /// Business keys that are taken.
    pub taken: TakenKeys,
    /// Payments.
    pub payments: Versioned<Payment>,
    /// Receipts.
    pub receipts: Versioned<Receipt>,
    /// Alerts.
    pub alerts: Versioned<Alert>,
    /// Refunds that providers were asked for.
    pub asked: Versioned<AskedRefund>,
    /// Those of them that are refunds of orders, as their orders know them.
    pub refunds_of_orders: HashMap<(ClientId, RefundId), Refund>,
    /// Deliveries that were dealt with, and what they meant.
    pub deliveries: HashMap<DeliveryKey, KnownDelivery>,
    /// Refunds that were counted.
    pub refunds_known: HashMap<ReceiptRefundKey, ReceiptRefund>,
    /// Causes that have raised their alert, of those that are asked about.
    pub causes_known: HashSet<AlertCause>,
    new_deliveries: Vec<DeliveryRecord>,
    new_refunds: Vec<ReceiptRefund>,
    new_bodies: Vec<QuarantinedBody>,
    webhooks: Vec<WebhookDelivery>,
    movements: Vec<Movement>,
    captures: Vec<HoldCapture>,
    order_refunds: Vec<Refund>,
    entries: Vec<Entry>,
    origins: Vec<Origin>,
    order_versions: Vec<OrderVersion>,
    events: Vec<Event>,
}

impl From<TakenKeys> for WorkingSet {
    /// A set in which it is known which business keys are taken, and nothing is loaded.
    fn from(taken: TakenKeys) -> Self {
        Self { taken, ..Self::default() }
    }
}

impl WorkingSet {
    /// The client's account of this id, as it is now.
    pub fn account(&self, client: ClientId, id: AccountId) -> Option<&Account> {
        self.accounts.get(&(client, id))
    }

    /// The client's order of this id, as it is now.
    pub fn order(&self, client: ClientId, id: OrderId) -> Option<&Order> {
        self.orders.get(&(client, id))
    }

    /// The client's hold of this id, as it is now.
    pub fn hold(&self, client: ClientId, id: HoldId) -> Option<&Hold> {
        self.holds.get(&(client, id))
    }

    /// The client's sku of this name, as it is now.
    pub fn sku(&self, client: ClientId, code: &SkuCode) -> Option<&Sku> {
        self.skus.get(&(client, code.clone()))
    }

    /// The client's order that has this number.
    pub fn order_with(&self, client: ClientId, number: &str) -> Option<OrderId> {
        self.taken.order_numbers.get(&(client, number.to_owned())).copied()
    }

    /// The client's movement of this kind that has this reference.
    pub fn movement_with(&self, client: ClientId, kind: MovementKind, text: &str) -> Option<MovementId> {
        self.taken.references.get(&(client, kind, text.to_owned())).copied()
    }

    /// The client's hold that has this reference.
    pub fn hold_with(&self, client: ClientId, reference: &str) -> Option<HoldId> {
        self.taken.hold_references.get(&(client, reference.to_owned())).copied()
    }

    /// The journal row of the hold's capture that has this reference.
    pub fn capture_with(&self, client: ClientId, hold: HoldId, reference: &str) -> Option<EntryId> {
        self.taken.capture_references.get(&(client, hold, reference.to_owned())).copied()
    }

    /// The client's refund that has this reference.
    pub fn refund_with(&self, client: ClientId, reference: &str) -> Option<RefundId> {
        self.taken.refund_references.get(&(client, reference.to_owned())).copied()
    }

    /// Takes in what a decision changes, at whose word it does so.
    ///
    /// # Panics
    ///
    /// If it changes a row that is not in the set, or by other than one version; or if it changes what an account has
    /// held by anything else than it changes the account's holds by.
    pub fn apply(&mut self, changes: Changes, origin: &Origin) {
        self.assert_held_follows_holds(&changes);
        let Changes {
            accounts,
            orders,
            holds,
            captures,
            skus,
            daily_totals,
            order_refunds,
            versions_of_refunds,
            payments,
            receipts,
            alerts,
            movements,
            deliveries,
            refunds,
            asked,
            bodies,
            webhooks,
            entries,
            events,
        } = changes;
        accounts.into_iter().for_each(|account| self.accounts.put(account));
        for order in orders {
            if order.version == Order::FIRST_VERSION {
                self.taken.order_numbers.insert((order.client_id, order.client_order_no.clone()), order.id);
            }
            let refund = versions_of_refunds.iter().find(|version| version.is_of(&order));
            self.note_version(&order, refund, &entries, origin);
            self.orders.put(order);
        }
        for hold in holds {
            if let (Hold::FIRST_VERSION, HoldPurpose::Client { reference }) = (hold.version, &hold.purpose) {
                self.taken.hold_references.insert((hold.client_id, reference.clone()), hold.id);
            }
            self.holds.put(hold);
        }
        for capture in captures {
            if let Some(reference) = &capture.reference {
                let key = (capture.client_id, capture.hold_id, reference.clone());
                self.taken.capture_references.insert(key, capture.entry_id);
            }
            self.captures.push(capture);
        }
        skus.into_iter().for_each(|sku| self.skus.put(sku));
        daily_totals.into_iter().for_each(|total| self.daily_totals.put(total));
        for refund in order_refunds {
            self.taken.refund_references.insert((refund.client_id, refund.reference.clone()), refund.id);
            self.refunds_of_orders.insert((refund.client_id, refund.id), refund.clone());
            self.order_refunds.push(refund);
        }
        for movement in movements {
            let reference = (movement.client_id, movement.parties.kind(), movement.reference.clone());
            self.taken.references.insert(reference, movement.id);
            self.movements.push(movement);
        }
        payments.into_iter().for_each(|payment| self.payments.put(payment));
        receipts.into_iter().for_each(|receipt| self.receipts.put(receipt));
        for alert in alerts {
            self.causes_known.insert(alert.cause());
            self.alerts.put(alert);
        }
        asked.into_iter().for_each(|asked| self.asked.put(asked));
        for delivery in deliveries {
            self.deliveries.insert(delivery.key(), delivery.as_known());
            self.new_deliveries.push(delivery);
        }
        self.refunds_known.extend(refunds.iter().map(|refund| (refund.key(), refund.clone())));
        self.new_refunds.extend(refunds);
        self.new_bodies.extend(bodies);
        self.webhooks.extend(webhooks);
        self.origins.extend(entries.iter().map(|_| origin.clone()));
        self.entries.extend(entries);
        self.events.extend(events);
    }

    /// Keeps what this version of an order was. A placing that moved money is told by its journal row: writing it once
    /// more would cost each order a row.
    fn note_version(
        &mut self,
        order: &Order,
        refund: Option<&VersionOfRefund>,
        entries: &[Entry],
        origin: &Origin,
    ) {
        let told_by_journal = || entries.iter().any(|entry| entry.cause == Cause::Order(order.id.0));
        if order.version == Order::FIRST_VERSION && told_by_journal() {
            return;
        }
        let before = self.order(order.client_id, order.id);
        let made = OrderVersion::made(before, order, refund, origin);
        self.order_versions.push(made);
    }

    /// The sum of an account's active holds is what it has held: true before a decision, it must be true after it.
    fn assert_held_follows_holds(&self, changes: &Changes) {
        for account in &changes.accounts {
            let before =
                self.account(account.client_id, account.id).map_or(0, |held| held.held.minor_units());
            let of_account = || changes.holds.iter().filter(|hold| hold.account_id == account.id);
            let left_before = of_account().filter_map(|hold| self.hold(hold.client_id, hold.id));
            let frozen: u128 = of_account().map(|hold| hold.left().minor_units()).sum();
            let thawed: u128 = left_before.map(|hold| hold.left().minor_units()).sum();
            // A decision may take an account through several versions; it is the last that counts.
            if changes.accounts.iter().any(|later| later.id == account.id && later.version > account.version)
            {
                continue;
            }
            let after = account.held.minor_units();
            assert_eq!(after + thawed, before + frozen, "what is held is the sum of the active holds");
        }
    }

    /// What is to be written, and what must not have changed meanwhile.
    pub fn into_rows(self) -> BatchRows {
        let mut rows = BatchRows {
            accounts: self.accounts.into_net(),
            orders: self.orders.into_net(),
            holds: self.holds.into_net(),
            captures: self.captures,
            skus: self.skus.into_net(),
            daily_totals: self.daily_totals.into_net(),
            order_items: Vec::new(),
            items_given_back: Vec::new(),
            order_refunds: self.order_refunds,
            refund_items: Vec::new(),
            payments: self.payments.into_net(),
            receipts: self.receipts.into_net(),
            alerts: self.alerts.into_net(),
            asked: self.asked.into_net(),
            deliveries: self.new_deliveries,
            refunds: self.new_refunds,
            bodies: self.new_bodies,
            webhooks: self.webhooks,
            movements: self.movements,
            entries: self.entries,
            origins: self.origins,
            order_versions: self.order_versions,
            events: self.events,
        };
        // Sorted by their unique keys: two transactions that insert the same ones wait for each other in one
        // direction only.
        rows.movements.sort_by(|a, b| {
            let key = |m: &Movement| (m.client_id, m.parties.kind());
            key(a).cmp(&key(b)).then_with(|| a.reference.cmp(&b.reference))
        });
        rows.orders.new.sort_by(|a, b| {
            a.client_id.cmp(&b.client_id).then_with(|| a.client_order_no.cmp(&b.client_order_no))
        });
        rows.captures.sort_by(|a, b| {
            let key = |c: &HoldCapture| (c.client_id, c.hold_id);
            key(a).cmp(&key(b)).then_with(|| a.reference.cmp(&b.reference))
        });
        rows.order_refunds
            .sort_by(|a, b| a.client_id.cmp(&b.client_id).then_with(|| a.reference.cmp(&b.reference)));
        rows.holds
            .new
            .sort_by(|a, b| a.client_id.cmp(&b.client_id).then_with(|| reference(a).cmp(&reference(b))));
        rows.deliveries.sort_by_key(DeliveryRecord::key);
        rows.webhooks.sort_by_key(|webhook| (webhook.client_id, webhook.endpoint_id, webhook.event_id));
        rows.refunds.sort_by_key(ReceiptRefund::key);
        rows.alerts.new.sort_by(|a, b| {
            (a.client_id, a.kind).cmp(&(b.client_id, b.kind)).then_with(|| a.cause.cmp(&b.cause))
        });

        rows.order_items = rows.orders.new.iter().flat_map(rows_of).collect();
        rows.items_given_back =
            rows.orders.changed.iter().flat_map(|(order, _)| rows_given_back(order)).collect();
        rows.refund_items = rows.order_refunds.iter().flat_map(item_rows_of).collect();
        rows
    }
}

/// The rows that one decision writes. A row under a version is either new or the next version of one that was loaded;
/// one that a decision changes twice stands here twice, in that order.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Changes {
    /// Accounts.
    pub accounts: Vec<Account>,
    /// Orders.
    pub orders: Vec<Order>,
    /// Holds.
    pub holds: Vec<Hold>,
    /// New captures of holds.
    pub captures: Vec<HoldCapture>,
    /// Skus.
    pub skus: Vec<Sku>,
    /// Daily totals.
    pub daily_totals: Vec<DailyTotal>,
    /// New refunds of orders.
    pub order_refunds: Vec<Refund>,
    /// Which of the orders' versions a refund has made.
    pub versions_of_refunds: Vec<VersionOfRefund>,
    /// Payments.
    pub payments: Vec<Payment>,
    /// Receipts.
    pub receipts: Vec<Receipt>,
    /// Alerts.
    pub alerts: Vec<Alert>,
    /// New deliveries.
    pub deliveries: Vec<DeliveryRecord>,
    /// New refunds at providers.
    pub refunds: Vec<ReceiptRefund>,
    /// Refunds that providers are asked for.
    pub asked: Vec<AskedRefund>,
    /// Bodies to be kept for a while.
    pub bodies: Vec<QuarantinedBody>,
    /// New deliveries to endpoints of clients.
    pub webhooks: Vec<WebhookDelivery>,
    /// New movements.
    pub movements: Vec<Movement>,
    /// New journal rows.
    pub entries: Vec<Entry>,
    /// The events that tell of all this.
    pub events: Vec<Event>,
}

/// The rows of a batch: what the changes of its decisions come to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct BatchRows {
    /// Accounts.
    pub accounts: Net<Account>,
    /// Orders; the new ones are sorted by their numbers.
    pub orders: Net<Order>,
    /// Holds; the new ones are sorted by their references.
    pub holds: Net<Hold>,
    /// New captures of holds, sorted by their references.
    pub captures: Vec<HoldCapture>,
    /// Skus.
    pub skus: Net<Sku>,
    /// Daily totals.
    pub daily_totals: Net<DailyTotal>,
    /// The items of new orders.
    pub order_items: Vec<ItemRow>,
    /// The items of changed orders that were given back, at least in part.
    pub items_given_back: Vec<ItemRow>,
    /// New refunds of orders, sorted by their references.
    pub order_refunds: Vec<Refund>,
    /// The items of new refunds.
    pub refund_items: Vec<RefundItemRow>,
    /// Payments.
    pub payments: Net<Payment>,
    /// Receipts.
    pub receipts: Net<Receipt>,
    /// Alerts; the new ones are sorted by their causes.
    pub alerts: Net<Alert>,
    /// Refunds that providers are asked for. Those that were relied on are of their receipts' versions.
    pub asked: Net<AskedRefund>,
    /// New deliveries, sorted by their keys.
    pub deliveries: Vec<DeliveryRecord>,
    /// New refunds at providers, sorted by their keys.
    pub refunds: Vec<ReceiptRefund>,
    /// Bodies to be kept for a while.
    pub bodies: Vec<QuarantinedBody>,
    /// New deliveries to endpoints of clients, sorted by their keys.
    pub webhooks: Vec<WebhookDelivery>,
    /// New movements, sorted by their references.
    pub movements: Vec<Movement>,
    /// New journal rows.
    pub entries: Vec<Entry>,
    /// At whose word each of them was made, in their order.
    pub origins: Vec<Origin>,
    /// New versions of orders, but for placings that moved money.
    pub order_versions: Vec<OrderVersion>,
    /// New events.
    pub events: Vec<Event>,
}

fn reference(hold: &Hold) -> Option<&str> {
    match &hold.purpose {
        HoldPurpose::Client { reference } => Some(reference),
        HoldPurpose::Order => None,
    }
}
