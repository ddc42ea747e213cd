//! Places where a test may stop a lane: between any two steps of a batch.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// The steps of a batch, each named for what has just been done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A transaction is open, nothing was asked yet.
    Begun,
    /// The names are claimed and their records recalled.
    Claimed,
    /// What the commands depend on is loaded.
    Loaded,
    /// Every command has its outcome; nothing is written.
    Decided,
    /// Everything is written, nothing is committed.
    Saved,
    /// The commit has been answered; the callers have not.
    Committed,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 6] =
        [Self::Begun, Self::Claimed, Self::Loaded, Self::Decided, Self::Saved, Self::Committed];
}

type Pause = Arc<dyn Fn(Step) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// What a lane does after each step: nothing, unless a test says otherwise.
#[derive(Clone, Default)]
pub struct Hooks(Option<Pause>);

impl Hooks {
    /// Awaits what `pause` answers after each step.
    pub fn pausing<F>(pause: impl Fn(Step) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Some(Arc::new(move |step| Box::pin(pause(step)))))
    }

    pub(crate) async fn after(&self, step: Step) {
        if let Some(pause) = &self.0 {
            pause(step).await;
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Hooks(pausing)" } else { "Hooks(none)" })
    }
}
