//! Which account an order goes to.

use rand::Rng;

use crate::plan::Spread;

/// Chooses accounts.
#[derive(Clone, Debug)]
pub enum Picker {
    /// Each of so many is as likely as every other.
    Uniform(u32),
    /// The k-th is 1/k as likely as the first: the sums of the weights up to each.
    Zipf(Vec<u64>),
}

/// The weight of the first account. In whole numbers, so that the same seed chooses the same accounts everywhere.
const WEIGHT_OF_FIRST: u64 = 1 << 32;

impl Picker {
    /// Chooses among so many accounts, at least one.
    pub fn new(spread: Spread, accounts: u32) -> Self {
        match spread {
            Spread::Hot => Self::Uniform(1),
            Spread::Uniform => Self::Uniform(accounts),
            Spread::Zipf => Self::Zipf(
                (1..=u64::from(accounts))
                    .scan(0, |sum, rank| {
                        *sum += WEIGHT_OF_FIRST / rank;
                        Some(*sum)
                    })
                    .collect(),
            ),
        }
    }

    /// The place of an account, counted from 0.
    pub fn pick(&self, dice: &mut impl Rng) -> u32 {
        match self {
            Self::Uniform(accounts) => dice.random_range(0..*accounts),
            Self::Zipf(sums) => {
                let drawn = dice.random_range(0..sums.last().copied().unwrap_or(1));
                u32::try_from(sums.partition_point(|sum| *sum <= drawn)).unwrap_or(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn counts(spread: Spread, accounts: u32) -> Vec<u32> {
        let picker = Picker::new(spread, accounts);
        let mut dice = StdRng::seed_from_u64(7);
        let mut counts = vec![0; accounts as usize];
        for _ in 0..120_000 {
            counts[picker.pick(&mut dice) as usize] += 1;
        }
        counts
    }

    #[test]
    fn a_uniform_spread_favours_nobody() {
        let counts = counts(Spread::Uniform, 4);
        assert!(counts.iter().all(|count| (29_000..31_000).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_kth_account_of_a_zipf_spread_is_a_kth_as_likely_as_the_first() {
        let counts = counts(Spread::Zipf, 3);
        // 1 : 1/2 : 1/3 is 6 : 3 : 2 of 11.
        for (count, eleventh_parts) in counts.iter().zip([6, 3, 2]) {
            let expected = 120_000 / 11 * eleventh_parts;
            assert!(count.abs_diff(expected) < expected / 20, "{counts:?}");
        }
    }

    #[test]
    fn a_hot_spread_is_one_account() {
        assert_eq!(counts(Spread::Hot, 3), [120_000, 0, 0]);
    }
}
