//! Places where a test may stop a lane: after each of its steps.
//!
//! What happens there is a function of the test's, or, in a build with the feature `failpoints`, what the environment
//! says ([`Hooks::from_environment`]): so that a process can be made to die at any of them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

#[cfg(feature = "failpoints")]
pub mod failpoints;

/// The steps of a lane, each named for what has just been done.
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
    /// A transaction that had nothing to run, or lost a conflict, was rolled back: its names are free again.
    RolledBack,
    /// A transaction was lost with its connection, and what became of it is about to be asked.
    Inquiring,
}

impl Step {
    /// The steps of a batch that commits at its first try, in order.
    pub const ALL: [Self; 6] =
        [Self::Begun, Self::Claimed, Self::Loaded, Self::Decided, Self::Saved, Self::Committed];

    /// The steps that are taken when something comes in between.
    pub const DETOURS: [Self; 2] = [Self::RolledBack, Self::Inquiring];

    /// Its name as a failpoint.
    pub fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Claimed => "claimed",
            Self::Loaded => "loaded",
            Self::Decided => "decided",
            Self::Saved => "saved",
            Self::Committed => "committed",
            Self::RolledBack => "rolled-back",
            Self::Inquiring => "inquiring",
        }
    }
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

    /// What the environment asks for: nothing in a build without the feature `failpoints`, which no release has.
    ///
    /// # Panics
    ///
    /// In a build with it, if `ONEFOLD_FAILPOINTS` cannot be understood.
    pub fn from_environment() -> Self {
        #[cfg(feature = "failpoints")]
        return failpoints::hooks_from_environment();
        #[cfg(not(feature = "failpoints"))]
        Self::default()
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
