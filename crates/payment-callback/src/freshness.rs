//! Whether a delivery was signed near now.
//!
//! Freshness is no protection against replays, which come inside the window too; unique keys in the books are.

use chrono::{DateTime, Utc};

use crate::provider::{ConfigFault, Reason, Rejection};

/// How far a delivery's time may be from ours, either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tolerance {
    seconds: i64,
}

/// What every provider's own library takes.
const DEFAULT_SECONDS: u64 = 300;
/// Beyond an hour, clocks are not the trouble.
const SECONDS_MAX: u64 = 3_600;

impl Tolerance {
    /// The tolerance that is configured, or five minutes.
    pub(crate) fn new(seconds: Option<u64>) -> Result<Tolerance, ConfigFault> {
        match seconds.unwrap_or(DEFAULT_SECONDS) {
            seconds @ 1..=SECONDS_MAX => Ok(Tolerance { seconds: seconds as i64 }),
            seconds => Err(ConfigFault(format!(
                "tolerance_s is {seconds}: give 1 to {SECONDS_MAX} seconds; 300 is what providers recommend"
            ))),
        }
    }

    /// Refuses what was signed more than the tolerance ago, or ahead. Exactly that much is accepted.
    pub(crate) fn check(self, signed_at: UnixSeconds, now: DateTime<Utc>) -> Result<(), Rejection> {
        let age = now.timestamp() - signed_at.0;
        if age > self.seconds {
            Err(Reason::TimestampTooOld.because("it was signed longer ago than the tolerance"))
        } else if age < -self.seconds {
            Err(Reason::TimestampInFuture.because("it was signed further ahead than the tolerance"))
        } else {
            Ok(())
        }
    }
}

/// Seconds since 1970, as a header gives them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnixSeconds(i64);

impl UnixSeconds {
    /// Reads 1 to 10 digits: up to the year 2286, so that milliseconds are not taken for a time far ahead.
    pub(crate) fn parse(text: &str) -> Result<UnixSeconds, Rejection> {
        let is_plain = (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_plain
            .then(|| text.parse().ok().map(UnixSeconds))
            .flatten()
            .ok_or(Reason::MalformedHeader.because("the timestamp is not written as whole Unix seconds"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(signed_at: &str, now: i64) -> Result<(), Reason> {
        let now = DateTime::from_timestamp(now, 999_000_000).unwrap();
        let tolerance = Tolerance::new(None).unwrap();
        tolerance.check(UnixSeconds::parse(signed_at).unwrap(), now).map_err(|rejection| rejection.reason)
    }

    #[test]
    fn five_minutes_either_way_are_accepted_and_a_second_more_is_not() {
        let now = 1_795_910_400;
        for (signed_at, verdict) in [
            ("1795910400", Ok(())),
            ("1795910100", Ok(())),
            ("1795910099", Err(Reason::TimestampTooOld)),
            ("1795910700", Ok(())),
            ("1795910701", Err(Reason::TimestampInFuture)),
            ("0", Err(Reason::TimestampTooOld)),
            ("9999999999", Err(Reason::TimestampInFuture)),
        ] {
            assert_eq!(checked(signed_at, now), verdict, "{signed_at}");
        }
    }

    #[test]
    fn a_time_is_whole_seconds_in_digits() {
        for text in ["", " 1", "+1", "-1", "1.5", "1e9", "1795910400000", "１", "0x1", "NaN", "1\n"] {
            assert!(UnixSeconds::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_tolerance_of_nothing_or_of_hours_is_refused() {
        assert!(Tolerance::new(Some(0)).is_err());
        assert!(Tolerance::new(Some(3_601)).is_err());
        assert!(Tolerance::new(Some(3_600)).is_ok());
        assert_eq!(Tolerance::new(None), Tolerance::new(Some(300)));
    }
}
