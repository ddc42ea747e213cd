//! Looking again and again whose turn it is to be asked about.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How a round went.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Round {
    /// How many turns were taken.
    pub turns: usize,
    /// Whether there were as many as there was place for, so that more may be due.
    pub was_full: bool,
}

impl Round {
    /// A round of so many turns, with place for so many.
    pub fn of(turns: usize, places: usize) -> Self {
        Self { turns, was_full: turns == places && places > 0 }
    }
}

/// Makes rounds until `stop`: the next one follows at once where one was full, else after the pause.
pub async fn rounds<F>(pause: Duration, stop: &CancellationToken, round: impl Fn() -> F)
where
    F: Future<Output = sqlx::Result<Round>>,
{
    let mut was_full = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(if was_full { Duration::ZERO } else { pause }) => {}
        }
        was_full = match round().await {
            Ok(round) => round.was_full,
            Err(error) => {
                tracing::debug!(%error, "cannot look whose turn it is now");
                false
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_without_a_place_is_not_full() {
        assert_eq!(Round::of(0, 0), Round { turns: 0, was_full: false });
        assert_eq!(Round::of(2, 8), Round { turns: 2, was_full: false });
        assert_eq!(Round::of(8, 8), Round { turns: 8, was_full: true });
    }
}
