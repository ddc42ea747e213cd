//! Two sets of rows that must be the same, compared without keeping either and in whatever order they come.
//!
//! Each claim (what a row of one table says that a row of another must say too) is given a random number by a hash
//! whose key is drawn anew for each audit. What the left side claims is added, what the right side claims is taken
//! away. If both claim the same, as often, nothing is left, whatever the order. If they differ, nothing is left with a
//! probability of one in 2¹²⁸ or so, and nobody can aim at that without knowing the key.
//!
//! The sums are kept apart in some thousands of groups, by the place that a claim is about (an account, an order).
//! That is all the memory there is, for ten rows or ten million. Where a sum is left over, the rows are read a second
//! time, and the claims of its group are kept until their counterpart comes: what then stays is what differs.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash, RandomState};

use uuid::Uuid;

/// How many groups there are.
const GROUPS: usize = 1 << 14;

/// How many claims a search looks at, and keeps, at most. Groups beyond it are not searched.
const SEARCHED_MAX: usize = 250_000;

/// What a row says that another must say too.
pub trait Claim: Clone + Eq + Hash {
    /// What it is about: claims that could contradict each other have one place.
    type Place: Copy + Ord + Hash;

    /// What it is about.
    fn place(&self) -> Self::Place;
}

/// Which side a claim stands on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hand {
    /// What is expected.
    Left,
    /// What is found.
    Right,
}

/// A claim that both sides do not make equally often, or not with the same weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmatched<T> {
    /// The claim.
    pub claim: T,
    /// How often the left side makes it, or with what sum.
    pub left: i128,
    /// How often the right side makes it, or with what sum.
    pub right: i128,
    /// The row that last made it.
    pub row: Option<Uuid>,
}

/// A comparison of two sets of claims.
#[derive(Debug)]
pub struct Reconciliation<T> {
    hash: [RandomState; 3],
    keeps_equal: bool,
    reading: Reading<T>,
}

#[derive(Debug)]
enum Reading<T> {
    First(Vec<Group>),
    Second(Search<T>),
}

#[derive(Clone, Debug, Default)]
struct Group {
    sum: u128,
    claims: usize,
}

#[derive(Debug)]
struct Search<T> {
    wanted: Vec<bool>,
    open: HashMap<T, Tally>,
    /// Whether all groups that differ were searched, and what they claim was kept.
    complete: bool,
    given_up: bool,
}

#[derive(Debug, Default)]
struct Tally {
    left: i128,
    right: i128,
    row: Option<Uuid>,
}

impl<T: Claim> Reconciliation<T> {
    /// Of rows: each claim of one side needs one of the other.
    pub fn of_rows() -> Self {
        Self::new(false)
    }

    /// Of sums: claims carry amounts, which must add up to the same on both sides.
    pub fn of_sums() -> Self {
        Self::new(true)
    }

    fn new(keeps_equal: bool) -> Self {
        let hash = std::array::from_fn(|_| RandomState::new());
        Self { hash, keeps_equal, reading: Reading::First(vec![Group::default(); GROUPS]) }
    }

    /// Claims something once.
    pub fn claim(&mut self, hand: Hand, claim: T, row: Option<Uuid>) {
        self.claim_times(hand, claim, 1, row);
    }

    /// Claims something so many times, or with this sum.
    pub fn claim_times(&mut self, hand: Hand, claim: T, times: i128, row: Option<Uuid>) {
        let number = self.group_of(&claim.place());
        match &mut self.reading {
            Reading::First(groups) => {
                let halves = [self.hash[1].hash_one(&claim), self.hash[2].hash_one(&claim)];
                let random = u128::from(halves[0]) << 64 | u128::from(halves[1]);
                let added = random.wrapping_mul(times.cast_unsigned());
                let group = &mut groups[number];
                group.claims += 1;
                group.sum = match hand {
                    Hand::Left => group.sum.wrapping_add(added),
                    Hand::Right => group.sum.wrapping_sub(added),
                };
            }
            Reading::Second(search) if search.wanted[number] => {
                search.keep(hand, claim, times, row, self.keeps_equal);
            }
            Reading::Second(_) => {}
        }
    }

    /// Ends the first reading. Answers whether there is something to search for in a second one.
    pub fn search(&mut self) -> bool {
        let Reading::First(groups) = &self.reading else { return false };
        let mut left = SEARCHED_MAX;
        let mut complete = true;
        let mut wanted = vec![false; groups.len()];
        for (wanted, group) in wanted.iter_mut().zip(groups).filter(|(_, group)| group.sum != 0) {
            // The first is always searched, however large it is, so that something is found.
            *wanted = group.claims <= left || left == SEARCHED_MAX;
            complete &= *wanted;
            if *wanted {
                left = left.saturating_sub(group.claims);
            }
        }
        let differs = wanted.contains(&true);
        self.reading = Reading::Second(Search { wanted, open: HashMap::new(), complete, given_up: false });
        differs
    }

    /// Whether the claims about a place are being kept.
    pub fn is_searched(&self, place: &T::Place) -> bool {
        match &self.reading {
            Reading::First(_) => false,
            Reading::Second(search) => search.wanted[self.group_of(place)],
        }
    }

    /// What the second reading left over, by place.
    pub fn conclude(self) -> Leftover<T> {
        let mut leftover = Leftover { places: BTreeMap::new(), may_be_more: false, given_up: false };
        if let Reading::Second(search) = self.reading {
            leftover.may_be_more = !search.complete;
            leftover.given_up = search.given_up;
            for (claim, Tally { left, right, row }) in search.open {
                if left != right {
                    let place = leftover.places.entry(claim.place()).or_default();
                    place.push(Unmatched { claim, left, right, row });
                }
            }
        }
        leftover
    }

    fn group_of(&self, place: &T::Place) -> usize {
        // The remainder is smaller than the number of groups, so it fits.
        (self.hash[0].hash_one(place) % GROUPS as u64) as usize
    }
}

impl<T: Claim> Search<T> {
    fn keep(&mut self, hand: Hand, claim: T, times: i128, row: Option<Uuid>, keeps_equal: bool) {
        if self.given_up {
            return;
        }
        let tally = self.open.entry(claim.clone()).or_default();
        match hand {
            Hand::Left => tally.left += times,
            Hand::Right => tally.right += times,
        }
        tally.row = row;
        if tally.left == tally.right && !keeps_equal {
            self.open.remove(&claim);
        }
        if self.open.len() > SEARCHED_MAX {
            // With some forgotten, their counterparts would be taken for differences.
            self.open = HashMap::new();
            self.given_up = true;
            self.complete = false;
        }
    }
}

/// What a reconciliation left over.
#[derive(Debug)]
pub struct Leftover<T: Claim> {
    /// The claims that differ, by what they are about.
    pub places: BTreeMap<T::Place, Vec<Unmatched<T>>>,
    /// Whether more differs than was searched.
    pub may_be_more: bool,
    /// Whether so much differs that nothing of it can be named.
    pub given_up: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place, and what is said of it.
    type Said = (u32, &'static str);

    impl Claim for Said {
        type Place = u32;

        fn place(&self) -> u32 {
            self.0
        }
    }

    /// Reads both sides, and a second time if need be.
    fn leftover(left: &[(Said, i128)], right: &[(Said, i128)]) -> Vec<(Said, i128, i128)> {
        let mut reconciliation = Reconciliation::of_rows();
        let read = |reconciliation: &mut Reconciliation<Said>| {
            for (hand, side) in [(Hand::Left, left), (Hand::Right, right)] {
                for (claim, times) in side {
                    reconciliation.claim_times(hand, *claim, *times, None);
                }
            }
        };
        read(&mut reconciliation);
        if reconciliation.search() {
            read(&mut reconciliation);
        }
        let places = reconciliation.conclude().places;
        let unmatched = places.into_values().flatten();
        unmatched.map(|unmatched| (unmatched.claim, unmatched.left, unmatched.right)).collect()
    }

    #[test]
    fn the_same_claims_in_another_order_leave_nothing() {
        let left: Vec<(Said, i128)> = (0..10_000).map(|place| ((place, "here"), 1)).collect();
        let right: Vec<(Said, i128)> = left.iter().rev().copied().collect();
        assert!(leftover(&left, &right).is_empty());
    }

    #[test]
    fn one_claim_among_many_that_has_no_counterpart_is_found() {
        let left: Vec<(Said, i128)> = (0..10_000).map(|place| ((place, "here"), 1)).collect();
        let mut right = left.clone();
        right[4_321].0.1 = "there";
        assert_eq!(leftover(&left, &right).len(), 2);
        right.remove(4_321);
        assert_eq!(leftover(&left, &right), [((4_321, "here"), 1, 0)]);
    }

    #[test]
    fn a_claim_made_twice_is_not_the_claim_made_once() {
        let once = [((1, "here"), 1)];
        let twice = [((1, "here"), 1), ((1, "here"), 1)];
        assert!(!leftover(&once, &twice).is_empty());
        assert!(leftover(&[((1, "here"), 2)], &twice).is_empty());
    }

    #[test]
    fn sums_are_compared_and_told_whole() {
        let mut reconciliation = Reconciliation::of_sums();
        for again in [false, true] {
            if again {
                assert!(reconciliation.search());
            }
            for (hand, sum) in [(Hand::Left, 50), (Hand::Right, 50), (Hand::Left, 70), (Hand::Right, 60)] {
                reconciliation.claim_times(hand, (1, "sum"), sum, None);
            }
        }
        let found = reconciliation.conclude().places.remove(&1).unwrap();
        assert_eq!((found[0].left, found[0].right), (120, 110));
    }

    #[test]
    fn a_search_is_bounded_and_says_so() {
        let mut reconciliation = Reconciliation::of_rows();
        let read = |reconciliation: &mut Reconciliation<Said>| {
            for place in 0..300_000 {
                reconciliation.claim(Hand::Left, (place, "here"), None);
            }
        };
        read(&mut reconciliation);
        assert!(reconciliation.search());
        read(&mut reconciliation);
        let leftover = reconciliation.conclude();
        assert!(leftover.may_be_more);
        assert!((1..=SEARCHED_MAX).contains(&leftover.places.len()));
    }
}
