//! A gate stops a lane after one step of a batch, until the test opens it.

use std::sync::Arc;
use std::time::Duration;

use desk::{Hooks, Step};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a lane may take to come to its gate. It never does; a test that has hung shall say so.
const REACH_WITHIN: Duration = Duration::from_secs(20);

/// A gate that is shut until it is opened, and stays open then. All clones are one gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    at: Step,
    reached: watch::Sender<u32>,
    tries: watch::Sender<u32>,
    open: watch::Sender<bool>,
}

impl Gate {
    /// A shut gate after this step.
    pub fn after(at: Step) -> Self {
        let (reached, tries, open) =
            (watch::Sender::new(0), watch::Sender::new(0), watch::Sender::new(false));
        Self(Arc::new(Inner { at, reached, tries, open }))
    }

    /// The hooks of a desk that has this gate.
    pub fn hooks(&self) -> Hooks {
        let gate = self.clone();
        Hooks::pausing(move |step| gate.clone().pass(step))
    }

    async fn pass(self, step: Step) {
        if step == Step::Begun {
            self.0.tries.send_modify(|tries| *tries += 1);
        }
        if step == self.0.at {
            self.0.reached.send_modify(|times| *times += 1);
            let mut open = self.0.open.subscribe();
            open.wait_for(|open| *open).await.expect("a gate outlives its hooks");
        }
    }

    /// Waits until a lane stands at the gate.
    pub async fn reached(&self) {
        let mut reached = self.0.reached.subscribe();
        timeout(REACH_WITHIN, reached.wait_for(|times| *times > 0))
            .await
            .unwrap_or_else(|_| panic!("no lane has come to the gate after {:?}", self.0.at))
            .expect("the gate is here");
    }

    /// Lets everybody pass from now on.
    pub fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// How often the lanes have begun a transaction.
    pub fn tries(&self) -> u32 {
        *self.0.tries.borrow()
    }
}
