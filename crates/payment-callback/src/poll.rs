//! When a payment is asked about at its provider.
//!
//! A callback is usually there within seconds, so nothing is asked for a while. Then the pauses grow with the payment's
//! age. Shortly before the payment's time is over there is a last call, so that what was paid until then is told of while
//! it still pays the order. What was paid later, or not told of because the provider was away, is found afterwards: an
//! expired payment is asked about on for a day, with pauses that double. Money that is found then is late, and owed back;
//! it is not lost.

use chrono::{DateTime, TimeDelta, Utc};

/// The longest pause between two questions about a payment that can still be paid, unless the first pause is longer.
const PAUSE_MAX: TimeDelta = TimeDelta::minutes(5);

/// How long before its expiry a payment is asked about for the last time: enough for a slow answer to be in time.
const LAST_CALL: TimeDelta = TimeDelta::seconds(15);

/// For how long after its expiry a payment is asked about.
const LOOKED_BACK: TimeDelta = TimeDelta::hours(24);

/// A payment whose turn it is to be asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Its number.
    pub payment_no: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When its time is over.
    pub expires_at: DateTime<Utc>,
}

impl Turn {
    /// When the payment is to be asked about again, if it is asked about `now`; `None`: never.
    ///
    /// No pause is shorter than those of `pauses`. `chance` is drawn anew each time and prolongs the pause by up to a
    /// quarter, so that payments which were placed together are not asked about together for ever.
    pub fn next(&self, now: DateTime<Utc>, pauses: Pauses, chance: u8) -> Option<DateTime<Utc>> {
        // A question that is under way when the next is due would be asked twice at a time, by two servers.
        Some(self.wanted(now, pauses.first, chance)?.max(now + pauses.turn))
    }

    /// When it would be asked about next, if every answer came at once.
    fn wanted(&self, now: DateTime<Utc>, after: TimeDelta, chance: u8) -> Option<DateTime<Utc>> {
        let overdue = now - self.expires_at;
        if overdue >= LOOKED_BACK {
            return None;
        }
        if overdue >= TimeDelta::zero() {
            return Some(now + prolonged(overdue.max(after), chance));
        }
        let last_call = self.expires_at - LAST_CALL;
        if now >= last_call {
            return Some(self.expires_at);
        }
        let pause = (now - self.created_at).min(PAUSE_MAX).max(after);
        Some((now + prolonged(pause, chance)).min(last_call))
    }
}

/// The pauses between questions that an endpoint has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pauses {
    /// How old a payment is when it is first asked about.
    pub first: TimeDelta,
    /// How long after its turn is taken a question is over, at the most.
    pub turn: TimeDelta,
}

fn prolonged(pause: TimeDelta, chance: u8) -> TimeDelta {
    pause + pause * i32::from(chance) / (4 * i32::from(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: TimeDelta = TimeDelta::seconds(60);

    /// Of an endpoint that asks first at this age.
    fn first(first: TimeDelta) -> Pauses {
        Pauses { first, turn: TimeDelta::seconds(13) }
    }

    fn of_half_an_hour() -> Turn {
        let created_at = DateTime::UNIX_EPOCH;
        Turn { payment_no: "P-0001".to_owned(), created_at, expires_at: created_at + TimeDelta::minutes(30) }
    }

    /// At what age, in seconds, it is asked about.
    fn ages(turn: &Turn, chance: u8) -> Vec<i64> {
        let mut now = turn.created_at + AFTER;
        let mut ages = vec![AFTER.num_seconds()];
        while let Some(next) = turn.next(now, first(AFTER), chance) {
            assert!(next > now, "{next} follows {now}");
            ages.push((next - turn.created_at).num_seconds());
            now = next;
        }
        ages
    }

    #[test]
    fn a_payment_is_asked_about_ever_more_seldom_then_before_and_at_its_end_and_for_a_day() {
        let half_an_hour = 1_800;
        let while_it_can_be_paid = [60, 120, 240, 480, 780, 1_080, 1_380, 1_680, 1_785, half_an_hour];
        let ages = ages(&of_half_an_hour(), 0);
        assert_eq!(ages[..10], while_it_can_be_paid);
        let overdue: Vec<i64> = ages[10..].iter().map(|age| age - half_an_hour).collect();
        let doubled: Vec<i64> = (0..12).map(|times| 60 << times).collect();
        assert_eq!(overdue, doubled);
    }

    #[test]
    fn chance_prolongs_a_pause_by_a_quarter_at_most_and_never_past_the_last_call() {
        let turn = of_half_an_hour();
        let asked_at = turn.created_at + TimeDelta::seconds(120);
        let pause = |chance| (turn.next(asked_at, first(AFTER), chance).unwrap() - asked_at).num_seconds();
        assert_eq!((pause(0), pause(u8::MAX)), (120, 150));
        assert!(ages(&turn, u8::MAX).contains(&1_785));
    }

    #[test]
    fn no_pause_is_shorter_than_the_first() {
        let turn = of_half_an_hour();
        let seldom = TimeDelta::minutes(10);
        let once = turn.created_at + seldom;
        assert_eq!(turn.next(once, first(seldom), 0), Some(once + seldom));
        assert_eq!(turn.next(turn.expires_at, first(seldom), 0), Some(turn.expires_at + seldom));
    }

    #[test]
    fn nothing_is_asked_again_before_the_last_question_has_to_be_over() {
        let turn = of_half_an_hour();
        let slow = Pauses { first: TimeDelta::seconds(2), turn: TimeDelta::seconds(63) };
        let mut now = turn.created_at + slow.first;
        while let Some(next) = turn.next(now, slow, 0) {
            assert!(next - now >= slow.turn, "{next} follows {now}");
            now = next;
        }
        assert!(now >= turn.expires_at + LOOKED_BACK);
    }

    #[test]
    fn a_payment_that_lives_for_seconds_is_asked_about_at_its_end() {
        let turn = Turn { expires_at: DateTime::UNIX_EPOCH + TimeDelta::seconds(5), ..of_half_an_hour() };
        let asked_at = turn.created_at;
        assert_eq!(
            turn.next(asked_at, Pauses { turn: TimeDelta::seconds(2), ..first(AFTER) }, 0),
            Some(turn.expires_at)
        );
        assert_eq!(turn.next(asked_at, first(AFTER), 0), Some(asked_at + TimeDelta::seconds(13)));
    }

    #[test]
    fn a_payment_that_nobody_could_ask_about_for_days_is_asked_about_once() {
        let turn = of_half_an_hour();
        assert_eq!(turn.next(turn.expires_at + TimeDelta::days(3), first(AFTER), 0), None);
    }
}
