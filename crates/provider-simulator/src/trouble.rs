//! What goes wrong with a provider's answers, on purpose: by chance, or for one payment.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// One thing that can go wrong with an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// There is none, and nothing happened.
    Timeout,
    /// It happened, and the connection is closed without an answer.
    Lost,
    /// It is a failure of the provider's, and nothing happened.
    Error,
    /// It is late.
    Slow,
}

/// How often each of them happens by chance: of a hundred requests, so many. What they sum up to beyond a hundred never
/// happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Chances {
    /// Time-outs.
    pub timeout: u8,
    /// Lost answers.
    pub lost: u8,
    /// Failures.
    pub error: u8,
    /// Late answers.
    pub slow: u8,
}

/// What goes wrong, and how.
#[derive(Debug)]
pub struct Trouble {
    chances: Chances,
    slow: Duration,
    dice: Mutex<StdRng>,
    /// What goes wrong with the next so many requests that name a payment.
    ordered: Mutex<HashMap<String, (Kind, u32)>>,
}

impl Trouble {
    /// By chance, which is the same chance for the same seed; a late answer is as late as `slow`.
    pub fn new(chances: Chances, slow: Duration, seed: u64) -> Self {
        Self { chances, slow, dice: Mutex::new(StdRng::seed_from_u64(seed)), ordered: Mutex::default() }
    }

    /// Lets it go wrong with the next `times` requests that contain `payment_no`, instead of what was ordered for it
    /// before.
    pub fn order(&self, payment_no: &str, kind: Kind, times: u32) {
        let mut ordered = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        ordered.insert(payment_no.to_owned(), (kind, times));
    }

    /// What goes wrong with a request; `request` is its path, query and body.
    pub fn draw(&self, request: &str) -> Option<Kind> {
        self.draw_ordered(request).or_else(|| {
            let die = self.dice.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..100);
            self.chances.at(die)
        })
    }

    fn draw_ordered(&self, request: &str) -> Option<Kind> {
        let mut ordered = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, times) = ordered
            .iter_mut()
            .find(|(payment_no, (_, times))| *times > 0 && request.contains(payment_no.as_str()))
            .map(|(_, order)| order)?;
        *times -= 1;
        Some(*kind)
    }

    /// How late a late answer is.
    pub const fn slow(&self) -> Duration {
        self.slow
    }
}

impl Chances {
    fn at(self, die: u8) -> Option<Kind> {
        let kinds = [
            (self.timeout, Kind::Timeout),
            (self.lost, Kind::Lost),
            (self.error, Kind::Error),
            (self.slow, Kind::Slow),
        ];
        let mut end = 0_u8;
        kinds.into_iter().find_map(|(chance, kind)| {
            end = end.saturating_add(chance);
            (die < end).then_some(kind)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_dice_are_as_often_trouble_as_the_chances_say() {
        let chances = Chances { timeout: 1, lost: 2, error: 3, slow: 4 };
        let count = |kind| (0..100).filter(|die| chances.at(*die) == kind).count();
        assert_eq!(
            [Some(Kind::Timeout), Some(Kind::Lost), Some(Kind::Error), Some(Kind::Slow), None].map(count),
            [1, 2, 3, 4, 90]
        );
    }

    #[test]
    fn the_same_seed_is_the_same_trouble() {
        let drawn = |seed| {
            let chances = Chances { error: 50, ..Chances::default() };
            let trouble = Trouble::new(chances, Duration::ZERO, seed);
            (0..64).map(|_| trouble.draw("").is_some()).collect::<Vec<bool>>()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn what_is_ordered_for_a_payment_happens_to_it_and_so_often() {
        let trouble = Trouble::new(Chances::default(), Duration::ZERO, 1);
        trouble.order("P-1", Kind::Lost, 2);
        assert_eq!(trouble.draw("/v3/P-2"), None);
        let drawn: Vec<Option<Kind>> = (0..3).map(|_| trouble.draw("/v3/P-1?x")).collect();
        assert_eq!(drawn, [Some(Kind::Lost), Some(Kind::Lost), None]);
    }
}
