//! Whose day is rebuilt at the moment, in this process.
//!
//! A rebuild reads all that a client did on a day, and may take minutes. Of the many old events of that day the first has it
//! done. The others do not wait for it here, where they would take the places of other clients' events: they come again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client::ClientId;

/// Days that are rebuilt at once, each of another client: each has a connection for look-ups for as long as it takes.
const AT_ONCE_MAX: usize = 2;

/// The rebuilds of one process. Cheap to clone; all clones are one.
#[derive(Clone, Default, Debug)]
pub struct Rebuilds(Arc<Mutex<HashSet<ClientId>>>);

/// A rebuild, until it is dropped.
#[derive(Debug)]
pub(crate) struct Rebuild {
    client: ClientId,
    of: Rebuilds,
}

impl Rebuilds {
    /// Begins one of this client, unless one is under way, or as many others as may be.
    pub(crate) fn begin(&self, client: ClientId) -> Option<Rebuild> {
        let mut clients = self.clients();
        let begins = clients.len() < AT_ONCE_MAX && clients.insert(client);
        begins.then(|| Rebuild { client, of: self.clone() })
    }

    fn clients(&self) -> MutexGuard<'_, HashSet<ClientId>> {
        // A panic while it is held leaves a list that is as good as it was.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Rebuild {
    fn drop(&mut self) {
        self.of.clients().remove(&self.client);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_client_has_one_day_rebuilt_at_a_time_and_does_not_hold_up_another() {
        let rebuilds = Rebuilds::default();
        let [one, two, three] = [1, 2, 3].map(|number| ClientId(Uuid::from_u128(number)));
        let first = rebuilds.begin(one).unwrap();
        assert!(rebuilds.begin(one).is_none());
        let second = rebuilds.begin(two).unwrap();
        assert!(rebuilds.begin(three).is_none(), "as many as may be are under way");
        drop(first);
        assert!(rebuilds.begin(three).is_some() && rebuilds.begin(one).is_some());
        drop(second);
    }
}
