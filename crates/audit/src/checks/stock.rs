//! What is reserved and sold of a sku follows from the items of orders, what was given back of an item from the items of
//! refunds that are done, and no more is promised than there is.

use uuid::Uuid;

use crate::check::Check;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Item, RefundItem, Row, Sku};

use super::report_limits;

/// How many pieces of a sku are reserved, or sold.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Promised {
    client: Uuid,
    sku: Box<str>,
    what: &'static str,
}

impl Claim for Promised {
    type Place = (Uuid, [u8; 16]);

    /// Skus whose names begin alike share a place, which costs nothing but a longer look.
    fn place(&self) -> (Uuid, [u8; 16]) {
        let mut beginning = [0; 16];
        beginning.iter_mut().zip(self.sku.as_bytes()).for_each(|(to, from)| *to = *from);
        (self.client, beginning)
    }
}

/// How many pieces of an order's item were given back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct GivenBack {
    client: Uuid,
    order: Uuid,
    sku: Box<str>,
}

impl Claim for GivenBack {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// The check.
#[derive(Debug)]
pub struct Stock {
    stock: Findings,
    items: Findings,
    promised: Reconciliation<Promised>,
    given_back: Reconciliation<GivenBack>,
}

impl Stock {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        Self {
            stock: Findings::new(
                "stock",
                "what is reserved and sold follows from the orders, and is no more than there is",
                listed_max,
            ),
            items: Findings::new(
                "items",
                "what was given back of an item follows from the refunds",
                listed_max,
            ),
            promised: Reconciliation::of_sums(),
            given_back: Reconciliation::of_sums(),
        }
    }

    fn sku(&mut self, sku: &Sku<'_>) {
        self.stock.looked();
        let client = sku.client_id;
        if sku.reserved < 0 || sku.sold < 0 || sku.reserved.saturating_add(sku.sold) > sku.total {
            self.stock.row_differs(|| Difference {
                client_id: client,
                subject: format!("sku {:?}", sku.sku),
                expected: format!("0 ≤ reserved + sold ≤ {}", sku.total),
                found: format!("{} reserved, {} sold", sku.reserved, sku.sold),
            });
        }
        for (what, pieces) in [("reserved", sku.reserved), ("sold", sku.sold)] {
            let promised = Promised { client, sku: sku.sku.into(), what };
            self.promised.claim_times(Hand::Right, promised, pieces.into(), None);
        }
    }

    fn item(&mut self, item: &Item<'_>) {
        self.items.looked();
        let (client, order) = (item.client_id, item.order_id);
        let back = GivenBack { client, order, sku: item.sku.into() };
        self.given_back.claim_times(Hand::Right, back, item.given_back.into(), None);
        let Some(status) = item.order_status else {
            return self.items.row_differs(|| Difference {
                client_id: client,
                subject: format!("item {:?} of order {order}", item.sku),
                expected: "an order of the client".to_owned(),
                found: "none".to_owned(),
            });
        };
        let (what, pieces) = match status {
            "pending_payment" | "authorized" => ("reserved", item.quantity),
            "paid" | "partially_refunded" | "refunded" => ("sold", item.quantity - item.given_back),
            _ => return,
        };
        let promised = Promised { client, sku: item.sku.into(), what };
        self.promised.claim_times(Hand::Left, promised, pieces.into(), None);
    }

    fn refund_item(&mut self, item: &RefundItem<'_>) {
        if !item.is_back {
            return;
        }
        let back = GivenBack { client: item.client_id, order: item.order_id, sku: item.sku.into() };
        self.given_back.claim_times(Hand::Left, back, item.quantity.into(), None);
    }
}

impl Check for Stock {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Sku(sku) => self.sku(sku),
            Row::Item(item) => self.item(item),
            Row::RefundItem(item) => self.refund_item(item),
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.stock.search();
        self.items.search();
        let (promised, given_back) = (self.promised.search(), self.given_back.search());
        promised || given_back
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let promised = self.promised.conclude();
        report_limits(&mut self.stock, &promised);
        for unmatched in promised.places.values().flatten() {
            let Promised { client, sku, what } = &unmatched.claim;
            self.stock.differs(|| Difference {
                client_id: *client,
                subject: format!("sku {sku:?}"),
                expected: format!("{} {what}, as the orders' items", unmatched.left),
                found: unmatched.right.to_string(),
            });
        }
        let given_back = self.given_back.conclude();
        report_limits(&mut self.items, &given_back);
        for unmatched in given_back.places.values().flatten() {
            let GivenBack { client, order, sku } = &unmatched.claim;
            self.items.differs(|| Difference {
                client_id: *client,
                subject: format!("item {sku:?} of order {order}"),
                expected: format!("{} given back, as the refunds' items", unmatched.left),
                found: unmatched.right.to_string(),
            });
        }
        vec![self.stock.conclude(), self.items.conclude()]
    }
}
