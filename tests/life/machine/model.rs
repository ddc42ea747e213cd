//! The contract on the life of holds, orders and stock, played in memory: in whole cents, one act at a time, with no rule
//! of the service's.

use std::collections::BTreeMap;

/// For how long a payment at a provider is awaited, in seconds.
pub(crate) const PAYMENT_AWAITED_S: u64 = 30 * 60;

/// A name that the script gives to what an act makes.
pub(crate) type Name = usize;

/// How an order is paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    Balance,
    /// For so many seconds.
    Hold(u64),
    Provider,
}

/// What is done.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Deposit {
        account: usize,
        cents: u64,
    },
    Withdraw {
        account: usize,
        cents: u64,
    },
    Freeze {
        name: Name,
        account: usize,
        cents: u64,
        seconds: Option<u64>,
    },
    CaptureHold {
        hold: Name,
        cents: Option<u64>,
        last: bool,
    },
    Release {
        hold: Name,
    },
    /// With pieces of a sku at its price, or for so many cents.
    Place {
        name: Name,
        account: usize,
        what: What,
        by: By,
    },
    CaptureOrder {
        order: Name,
        cents: Option<u64>,
        last: bool,
    },
    Cancel {
        order: Name,
    },
    /// With so many pieces of its sku.
    Refund {
        name: Name,
        order: Name,
        cents: u64,
        pieces: u64,
    },
    /// The provider tells that a refund that it was asked for is done, or that it is closed.
    EndRefund {
        refund: Name,
        is_done: bool,
    },
    /// The provider tells that it was paid.
    Pay {
        order: Name,
    },
    SetTotal {
        sku: usize,
        total: u64,
    },
}

/// What is ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Cents(u64),
    Pieces { sku: usize, pieces: u64 },
}

/// What is answered: the status, the kind of problem, and the state that it names.
pub(crate) type Told = (u16, Option<&'static str>, Option<&'static str>);

const CREATED: Told = (201, None, None);
const OK: Told = (200, None, None);

fn refused(status: u16, slug: &'static str) -> Told {
    (status, Some(slug), None)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Money {
    pub(crate) available: u64,
    pub(crate) held: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stock {
    pub(crate) price: u64,
    pub(crate) total: u64,
    pub(crate) reserved: u64,
    pub(crate) sold: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hold {
    account: usize,
    cents: u64,
    pub(crate) captured: u64,
    pub(crate) status: &'static str,
    due_s: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    account: usize,
    pub(crate) by: By,
    pub(crate) cents: u64,
    pub(crate) captured: u64,
    pub(crate) refunded: u64,
    /// Sku, pieces, and how many of them came back.
    pub(crate) items: Option<(usize, u64, u64)>,
    pub(crate) status: &'static str,
    due_s: Option<u64>,
}

/// A refund that a provider was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refund {
    pub(crate) order: Name,
    pub(crate) cents: u64,
    pieces: u64,
    pub(crate) status: &'static str,
}

/// The books, as the contract has them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Model {
    pub(crate) now_s: u64,
    pub(crate) accounts: Vec<Money>,
    pub(crate) skus: Vec<Stock>,
    pub(crate) holds: BTreeMap<Name, Hold>,
    pub(crate) orders: BTreeMap<Name, Order>,
    pub(crate) refunds: BTreeMap<Name, Refund>,
}

impl Model {
    /// Does one thing.
    pub(crate) fn play(&mut self, act: &Act) -> Told {
        match *act {
            Act::Deposit { account, cents } => {
                self.accounts[account].available += cents;
                CREATED
            }
            Act::Withdraw { account, cents } => match self.take(account, cents) {
                true => CREATED,
                false => refused(402, "insufficient-funds"),
            },
            Act::Freeze { name, account, cents, seconds } => self.freeze(name, account, cents, seconds),
            Act::CaptureHold { hold, cents, last } => self.capture_hold(hold, cents, last),
            Act::Release { hold } => self.release(hold),
            Act::Place { name, account, what, by } => self.place(name, account, what, by),
            Act::CaptureOrder { order, cents, last } => self.capture_order(order, cents, last),
            Act::Cancel { order } => self.cancel(order),
            Act::Refund { name, order, cents, pieces } => match self.orders[&order].by {
                By::Provider => self.ask_for_refund(name, order, cents, pieces),
                By::Balance | By::Hold(_) => self.refund(order, cents, pieces),
            },
            Act::EndRefund { refund, is_done } => self.end_refund(refund, is_done),
            Act::Pay { order } => self.pay(order),
            Act::SetTotal { sku, total } => {
                let sku = &mut self.skus[sku];
                if total < sku.reserved + sku.sold {
                    return refused(409, "stock-committed");
                }
                sku.total = total;
                OK
            }
        }
    }

    /// Everything that is due ends.
    pub(crate) fn sweep(&mut self) {
        let holds: Vec<Name> = self.holds.keys().copied().filter(|name| self.hold_is_due(*name)).collect();
        holds.into_iter().for_each(|name| self.end_hold(name, "expired"));
        let orders: Vec<Name> = self.orders.keys().copied().filter(|name| self.order_is_due(*name)).collect();
        orders.into_iter().for_each(|name| self.end_order(name, "expired"));
    }

    fn take(&mut self, account: usize, cents: u64) -> bool {
        let money = &mut self.accounts[account];
        let enough = money.available >= cents;
        if enough {
            money.available -= cents;
        }
        enough
    }

    fn freeze(&mut self, name: Name, account: usize, cents: u64, seconds: Option<u64>) -> Told {
        if !self.take(account, cents) {
            return refused(402, "insufficient-funds");
        }
        self.accounts[account].held += cents;
        let due_s = seconds.map(|seconds| self.now_s + seconds);
        self.holds.insert(name, Hold { account, cents, captured: 0, status: "active", due_s });
        CREATED
    }

    fn hold_is_due(&self, name: Name) -> bool {
        let hold = &self.holds[&name];
        hold.status == "active" && hold.due_s.is_some_and(|due_s| self.now_s >= due_s)
    }

    fn hold_not_active(&self, name: Name) -> Option<Told> {
        let status = if self.hold_is_due(name) { "expired" } else { self.holds[&name].status };
        (status != "active").then_some((409, Some("hold-not-active"), Some(status)))
    }

    fn capture_hold(&mut self, name: Name, cents: Option<u64>, last: bool) -> Told {
        if let Some(told) = self.hold_not_active(name) {
            return told;
        }
        let hold = &self.holds[&name];
        let left = hold.cents - hold.captured;
        let cents = cents.unwrap_or(left);
        if cents > left {
            return refused(422, "capture-exceeds-hold");
        }
        self.accounts[hold.account].held -= cents;
        let hold = self.holds.get_mut(&name).expect("it is there");
        hold.captured += cents;
        if last || cents == left {
            self.end_hold(name, "captured");
        }
        OK
    }

    fn release(&mut self, name: Name) -> Told {
        if let Some(told) = self.hold_not_active(name) {
            return told;
        }
        self.end_hold(name, "released");
        OK
    }

    fn end_hold(&mut self, name: Name, status: &'static str) {
        let hold = self.holds.get_mut(&name).expect("it is there");
        hold.status = status;
        let (account, left) = (hold.account, hold.cents - hold.captured);
        self.thaw(account, left);
    }

    fn thaw(&mut self, account: usize, cents: u64) {
        self.accounts[account].held -= cents;
        self.accounts[account].available += cents;
    }

    fn place(&mut self, name: Name, account: usize, what: What, by: By) -> Told {
        let cents = match what {
            What::Cents(cents) => cents,
            What::Pieces { sku, pieces } => self.skus[sku].price * pieces,
        };
        if let What::Pieces { sku, pieces } = what {
            let stock = self.skus[sku];
            if pieces > stock.total - stock.reserved - stock.sold {
                return refused(409, "out-of-stock");
            }
        }
        if by != By::Provider && !self.take(account, cents) {
            return refused(402, "insufficient-funds");
        }
        let items = match what {
            What::Cents(_) => None,
            What::Pieces { sku, pieces } => {
                match by {
                    By::Balance => self.skus[sku].sold += pieces,
                    By::Hold(_) | By::Provider => self.skus[sku].reserved += pieces,
                }
                Some((sku, pieces, 0))
            }
        };
        let (status, captured, due_s) = match by {
            By::Balance => ("paid", cents, None),
            By::Hold(seconds) => {
                self.accounts[account].held += cents;
                ("authorized", 0, Some(self.now_s + seconds))
            }
            By::Provider => ("pending_payment", 0, Some(self.now_s + PAYMENT_AWAITED_S)),
        };
        self.orders.insert(name, Order { account, by, cents, captured, refunded: 0, items, status, due_s });
        CREATED
    }

    fn order_is_due(&self, name: Name) -> bool {
        let order = &self.orders[&name];
        let waits = matches!(order.status, "authorized" | "pending_payment");
        waits && order.due_s.is_some_and(|due_s| self.now_s >= due_s)
    }

    fn state(&self, name: Name) -> &'static str {
        if self.order_is_due(name) { "expired" } else { self.orders[&name].status }
    }

    fn capture_order(&mut self, name: Name, cents: Option<u64>, last: bool) -> Told {
        let state = self.state(name);
        if state != "authorized" {
            return (409, Some("order-state-conflict"), Some(state));
        }
        let order = self.orders.get_mut(&name).expect("it is there");
        let left = order.cents - order.captured;
        let cents = cents.unwrap_or(left);
        if cents > left {
            return refused(422, "capture-exceeds-hold");
        }
        order.captured += cents;
        let (account, items) = (order.account, order.items);
        self.accounts[account].held -= cents;
        if last || cents == left {
            order.status = "paid";
            self.thaw(account, left - cents);
            self.sell(items);
        }
        OK
    }

    fn sell(&mut self, items: Option<(usize, u64, u64)>) {
        if let Some((sku, pieces, _)) = items {
            self.skus[sku].reserved -= pieces;
            self.skus[sku].sold += pieces;
        }
    }

    fn cancel(&mut self, name: Name) -> Told {
        let state = self.state(name);
        if !matches!(state, "authorized" | "pending_payment") {
            return (409, Some("order-state-conflict"), Some(state));
        }
        self.end_order(name, "cancelled");
        OK
    }

    fn end_order(&mut self, name: Name, status: &'static str) {
        let order = self.orders.get_mut(&name).expect("it is there");
        let was_frozen = order.status == "authorized";
        order.status = status;
        let (account, left, items) = (order.account, order.cents - order.captured, order.items);
        if was_frozen {
            self.thaw(account, left);
        }
        if let Some((sku, pieces, _)) = items {
            self.skus[sku].reserved -= pieces;
        }
    }

    fn refund(&mut self, name: Name, cents: u64, pieces: u64) -> Told {
        let state = self.state(name);
        if !matches!(state, "paid" | "partially_refunded") {
            return (409, Some("order-state-conflict"), Some(state));
        }
        let order = self.orders.get_mut(&name).expect("it is there");
        if cents > order.captured - order.refunded {
            return refused(422, "refund-exceeds-paid");
        }
        if let Some((sku, bought, back)) = order.items.as_mut().filter(|_| pieces > 0) {
            if pieces > *bought - *back {
                return refused(422, "refund-exceeds-items");
            }
            *back += pieces;
            self.skus[*sku].sold -= pieces;
        }
        order.refunded += cents;
        order.status = if order.refunded == order.captured { "refunded" } else { "partially_refunded" };
        self.accounts[order.account].available += cents;
        CREATED
    }

    /// Nothing moves before the provider has told that it is done; until then it is taken off what is left.
    fn ask_for_refund(&mut self, name: Name, of: Name, cents: u64, pieces: u64) -> Told {
        let state = self.state(of);
        if !matches!(state, "paid" | "partially_refunded") {
            return (409, Some("order-state-conflict"), Some(state));
        }
        let order = &self.orders[&of];
        let pieces = order.items.map_or(0, |_| pieces);
        let spoken_for: u64 = self.refunds_of(of, "pending").map(|refund| refund.pieces).sum();
        if pieces > order.items.map_or(0, |(_, bought, back)| (bought - back).saturating_sub(spoken_for)) {
            return refused(422, "refund-exceeds-items");
        }
        // What the provider says is back may be more than what was booked of it: then too much went back.
        let back: u64 = self.refunds_of(of, "succeeded").map(|refund| refund.cents).sum();
        let on_the_way: u64 = self.refunds_of(of, "pending").map(|refund| refund.cents).sum();
        if cents > order.captured.saturating_sub(back.max(order.refunded) + on_the_way) {
            return refused(422, "refund-exceeds-paid");
        }
        self.refunds.insert(name, Refund { order: of, cents, pieces, status: "pending" });
        CREATED
    }

    fn refunds_of(&self, order: Name, status: &'static str) -> impl Iterator<Item = &Refund> {
        self.refunds.values().filter(move |refund| refund.order == order && refund.status == status)
    }

    /// That it is done is believed also of one that had failed; that it has failed, of none that is done. Whatever comes of
    /// it, the provider is acknowledged.
    fn end_refund(&mut self, name: Name, is_done: bool) -> Told {
        let refund = self.refunds.get_mut(&name).expect("it is there");
        match (refund.status, is_done) {
            ("pending", false) => refund.status = "failed",
            ("pending" | "failed", true) => {
                refund.status = "succeeded";
                let Refund { order, cents, pieces, .. } = refund.clone();
                self.give_back(order, cents, pieces);
            }
            _ => {}
        }
        OK
    }

    /// A piece comes back once, and more than was paid is asked about and not booked.
    fn give_back(&mut self, name: Name, cents: u64, pieces: u64) {
        let order = self.orders.get_mut(&name).expect("it is there");
        if let Some((sku, bought, back)) = &mut order.items
            && *back + pieces <= *bought
        {
            *back += pieces;
            self.skus[*sku].sold -= pieces;
        }
        if order.refunded + cents <= order.captured {
            order.refunded += cents;
            order.status = if order.refunded == order.captured { "refunded" } else { "partially_refunded" };
        }
    }

    /// Whatever comes of it, the provider is acknowledged.
    fn pay(&mut self, name: Name) -> Told {
        match self.state(name) {
            "pending_payment" => {
                let order = self.orders.get_mut(&name).expect("it is there");
                order.status = "paid";
                order.captured = order.cents;
                let items = order.items;
                self.sell(items);
            }
            "expired" if self.order_is_due(name) => self.end_order(name, "expired"),
            _ => {}
        }
        OK
    }
}
