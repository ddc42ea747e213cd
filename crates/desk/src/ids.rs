//! The ids that a command's effect will have.

use uuid::Uuid;

/// The ids of a command's effect, as many as it needs: all follow from the first, which is drawn before the first
/// attempt. So every attempt at the same command makes the same rows.
///
/// The first is a UUID version 7; those after it count on in its random bits, and keep its time and its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ids {
    next: u128,
}

/// The bits behind the variant of a UUID: 62 of them, all random in one that is drawn.
const COUNTING_BITS: u128 = (1 << 62) - 1;

impl Ids {
    /// The ids that begin with this one.
    pub fn beginning_with(first: Uuid) -> Self {
        Self { next: first.as_u128() }
    }

    /// The next one.
    pub fn take(&mut self) -> Uuid {
        let id = self.next;
        self.next = (id & !COUNTING_BITS) | (id.wrapping_add(1) & COUNTING_BITS);
        Uuid::from_u128(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_on_and_stay_of_their_version() {
        let last: Uuid = "0193e1c5-7d3a-7b52-bfff-ffffffffffff".parse().unwrap();
        let mut ids = Ids::beginning_with(last);
        assert_eq!(ids.take(), last);
        assert_eq!(ids.take().to_string(), "0193e1c5-7d3a-7b52-8000-000000000000");
        assert_eq!(ids.take().to_string(), "0193e1c5-7d3a-7b52-8000-000000000001");
    }
}
