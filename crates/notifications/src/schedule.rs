//! When a delivery is tried again, and when no more.

use chrono::TimeDelta;

/// How much longer the next pause is than the one before.
const FACTOR: i32 = 4;

/// No receiver is waited for longer than this, whatever it asks for.
const RETRY_AFTER_MAX: TimeDelta = TimeDelta::hours(24);

/// When deliveries are tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The pause after the first attempt that failed; each one after it is four times as long.
    pub first: TimeDelta,
    /// The longest pause.
    pub longest: TimeDelta,
    /// How many attempts there are; after the last one the delivery is dead.
    pub attempts_max: u32,
}

impl Default for Schedule {
    /// Ten attempts within some 30 hours.
    fn default() -> Self {
        Self { first: TimeDelta::seconds(5), longest: TimeDelta::hours(10), attempts_max: 10 }
    }
}

impl Schedule {
    /// The pause after so many attempts, all of which failed; nothing, if that was the last one.
    ///
    /// The receiver's own `Retry-After` makes it longer, up to a day. `jitter` is 0 to 1000 and drawn anew each time: it
    /// makes the pause up to a fifth longer, so that what failed together does not come again together.
    pub fn pause_after(
        &self,
        attempts: u32,
        retry_after: Option<TimeDelta>,
        jitter: u16,
    ) -> Option<TimeDelta> {
        if attempts >= self.attempts_max {
            return None;
        }
        let grown = (1..attempts).try_fold(self.first, |pause, _| pause.checked_mul(FACTOR));
        let pause = grown.unwrap_or(self.longest).min(self.longest);
        let pause = pause.max(retry_after.unwrap_or_default().min(RETRY_AFTER_MAX));
        Some(pause + TimeDelta::milliseconds(pause.num_milliseconds() / 5_000 * i64::from(jitter.min(1_000))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_end_with_the_last_attempt() {
        let schedule = Schedule::default();
        let pauses: Vec<_> = (1..=10)
            .map(|attempts| schedule.pause_after(attempts, None, 0).map(|pause| pause.num_seconds()))
            .collect();
        let expected = [5, 20, 80, 320, 1_280, 5_120, 20_480, 36_000, 36_000].map(Some);
        assert_eq!(pauses[..9], expected);
        assert_eq!(pauses[9], None, "ten attempts");
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_pause_and_not_for_a_shorter_one() {
        let pause =
            |retry_after| Schedule::default().pause_after(2, Some(retry_after), 0).unwrap().num_seconds();
        assert_eq!(pause(TimeDelta::seconds(1)), 20);
        assert_eq!(pause(TimeDelta::seconds(90)), 90);
        assert_eq!(pause(TimeDelta::days(30)), 86_400);
    }

    #[test]
    fn jitter_makes_it_up_to_a_fifth_longer() {
        let pause = |jitter| Schedule::default().pause_after(3, None, jitter).unwrap().num_seconds();
        assert_eq!((pause(0), pause(500), pause(1_000), pause(u16::MAX)), (80, 88, 96, 96));
    }
}
