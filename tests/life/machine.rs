//! Random acts, one after the other and at once on two servers, with a clock that moves; played to the service and to a
//! [`model`] of the contract. Every answer is what the model gives, of acts at once in some order; and after each step the
//! books are those of the model, add up to nothing, and no order has moved but along the table.

pub(crate) mod model;
mod player;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use model::{Act, By, Model, Name, What};
use player::Player;

/// How many scripts are played, and how many steps each has.
const SCRIPTS: u64 = 6;
const SCRIPTS_LONG: u64 = 200;
const STEPS: usize = 90;

#[tokio::test(flavor = "multi_thread")]
async fn random_acts_and_races_end_as_the_contract_says() -> anyhow::Result<()> {
    let scripts = if onefold_tests::long() { SCRIPTS_LONG } else { SCRIPTS };
    // One seed is new each time; it is printed when its script fails.
    let new = rand::rng().random();
    for seed in (1..scripts).chain([new]) {
        let mut player = Player::open(seed).await?;
        let mut script = Script { random: StdRng::seed_from_u64(seed), next: 0 };
        for _ in 0..STEPS {
            let step = script.step(player.model());
            player.play(step).await?;
        }
        player.finish().await?;
    }
    Ok(())
}

/// What happens next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// One thing.
    One(Act),
    /// Several things at once.
    AtOnce(Vec<Act>),
    /// So many seconds pass.
    Pass(u64),
    /// So many seconds pass, and before the service can have noticed something is done.
    PassAnd(u64, Act),
}

struct Script {
    random: StdRng,
    next: Name,
}

impl Script {
    fn step(&mut self, model: &Model) -> Step {
        match self.random.random_range(0..100) {
            0..60 => Step::One(self.act(model)),
            60..84 => {
                let many = self.random.random_range(2..=4);
                Step::AtOnce(self.acts_that_meet(model, many))
            }
            84..92 => Step::Pass(self.random.random_range(1..400)),
            _ => {
                let act = self.act_on_something(model).unwrap_or_else(|| self.act(model));
                Step::PassAnd(self.random.random_range(30..600), act)
            }
        }
    }

    fn act(&mut self, model: &Model) -> Act {
        let account = self.random.random_range(0..model.accounts.len());
        match self.random.random_range(0..100) {
            0..6 => Act::Deposit { account, cents: self.random.random_range(1..5_000) },
            6..10 => Act::Withdraw { account, cents: self.random.random_range(1..5_000) },
            10..22 => {
                let seconds = self.random.random_bool(0.6).then(|| self.random.random_range(1..600));
                Act::Freeze { name: self.name(), account, cents: self.random.random_range(1..6_000), seconds }
            }
            22..50 => self.place(model, account),
            50..54 => {
                let sku = self.random.random_range(0..model.skus.len());
                Act::SetTotal { sku, total: self.random.random_range(0..14) }
            }
            _ => self.act_on_something(model).unwrap_or_else(|| self.place(model, account)),
        }
    }

    fn name(&mut self) -> Name {
        self.next += 1;
        self.next
    }

    fn place(&mut self, model: &Model, account: usize) -> Act {
        let what = match self.random.random_bool(0.6) {
            true => {
                let sku = self.random.random_range(0..model.skus.len());
                What::Pieces { sku, pieces: self.random.random_range(1..4) }
            }
            false => What::Cents(self.random.random_range(1..4_000)),
        };
        let by = match self.random.random_range(0..10) {
            0..3 => By::Balance,
            3..7 => By::Hold(self.random.random_range(1..900)),
            _ => By::Provider,
        };
        Act::Place { name: self.name(), account, what, by }
    }

    fn act_on_something(&mut self, model: &Model) -> Option<Act> {
        let orders: Vec<Name> = model.orders.keys().copied().collect();
        let holds: Vec<Name> = model.holds.keys().copied().collect();
        if orders.is_empty() || (!holds.is_empty() && self.random.random_bool(0.3)) {
            return (!holds.is_empty()).then(|| {
                let hold = self.recent(&holds);
                self.act_on_hold(hold)
            });
        }
        let order = self.recent(&orders);
        Some(self.act_on_order(model, order))
    }

    /// One of the last few, most often: what was placed long ago has ended.
    fn recent(&mut self, names: &[Name]) -> Name {
        let from = if self.random.random_bool(0.8) { names.len().saturating_sub(5) } else { 0 };
        names[self.random.random_range(from..names.len())]
    }

    fn act_on_hold(&mut self, hold: Name) -> Act {
        match self.random.random_range(0..4) {
            0 => Act::Release { hold },
            _ => Act::CaptureHold { hold, cents: self.part(), last: self.random.random_bool(0.4) },
        }
    }

    fn act_on_order(&mut self, model: &Model, order: Name) -> Act {
        let (by, items) = (model.orders[&order].by, model.orders[&order].items);
        match (self.random.random_range(0..4), by) {
            (0, _) => Act::Cancel { order },
            (1, By::Provider) => Act::Pay { order },
            (2, By::Provider) => match self.refund_of(model, order) {
                Some(refund) => Act::EndRefund { refund, is_done: self.random.random_bool(0.6) },
                None if self.random.random_bool(0.2) => {
                    Act::CaptureOrder { order, cents: self.part(), last: true }
                }
                None => Act::Pay { order },
            },
            (1, By::Balance | By::Hold(_)) => {
                Act::CaptureOrder { order, cents: self.part(), last: self.random.random_bool(0.5) }
            }
            _ => {
                let pieces = items.map_or(0, |_| self.random.random_range(0..3));
                let name = self.name();
                Act::Refund { name, order, cents: self.random.random_range(1..2_500), pieces }
            }
        }
    }

    /// A refund that the order's provider was asked for.
    fn refund_of(&mut self, model: &Model, order: Name) -> Option<Name> {
        let of_order = model.refunds.iter().filter(|(_, refund)| refund.order == order);
        let names: Vec<Name> = of_order.map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| self.recent(&names))
    }

    fn part(&mut self) -> Option<u64> {
        self.random.random_bool(0.6).then(|| self.random.random_range(1..2_500))
    }

    /// Acts on one order or hold, or orders of one sku: what is done at once is most telling where it meets.
    fn acts_that_meet(&mut self, model: &Model, many: usize) -> Vec<Act> {
        let orders: Vec<Name> = model.orders.keys().copied().collect();
        let holds: Vec<Name> = model.holds.keys().copied().collect();
        match self.random.random_range(0..10) {
            0..5 if !orders.is_empty() => {
                let order = self.recent(&orders);
                (0..many).map(|_| self.act_on_order(model, order)).collect()
            }
            5..7 if !holds.is_empty() => {
                let hold = self.recent(&holds);
                (0..many).map(|_| self.act_on_hold(hold)).collect()
            }
            _ => (0..many).map(|_| self.act(model)).collect(),
        }
    }
}
