//! The names that clients give to their effects besides idempotency keys, unique for ever: order numbers, and references of
//! movements, holds, captures and refunds.

use std::collections::HashMap;
use std::hash::Hash;

use account::store::holds::CaptureReference;
use account::store::movements::Reference;
use account::{EntryId, HoldId, MovementId};
use client::ClientId;
use order::{OrderId, RefundId};

use crate::Command;

/// Business keys that commands bring, and that are to be free.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct BusinessKeys {
    /// Order numbers.
    pub order_numbers: Vec<(ClientId, String)>,
    /// References of movements.
    pub references: Vec<Reference>,
    /// References of holds.
    pub hold_references: Vec<(ClientId, String)>,
    /// References of captures.
    pub capture_references: Vec<CaptureReference>,
    /// References of refunds.
    pub refund_references: Vec<(ClientId, String)>,
}

impl BusinessKeys {
    /// Those of these commands.
    pub fn of<'a>(commands: impl Iterator<Item = (ClientId, &'a Command)>) -> Self {
        let mut keys = Self::default();
        for (client, command) in commands {
            keys.order_numbers.extend(command.client_order_no().map(|no| (client, no.to_owned())));
            keys.references.extend(command.reference().map(|(kind, text)| (client, kind, text.to_owned())));
            keys.hold_references.extend(command.hold_reference().map(|text| (client, text.to_owned())));
            keys.capture_references
                .extend(command.capture_reference().map(|(hold, text)| (client, hold, text.to_owned())));
            keys.refund_references.extend(command.refund_reference().map(|text| (client, text.to_owned())));
        }
        keys
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        let Self { order_numbers, references, hold_references, capture_references, refund_references } = self;
        order_numbers.is_empty()
            && references.is_empty()
            && hold_references.is_empty()
            && capture_references.is_empty()
            && refund_references.is_empty()
    }
}

/// Business keys that are taken, and by what.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TakenKeys {
    /// Order numbers.
    pub order_numbers: HashMap<(ClientId, String), OrderId>,
    /// References of movements.
    pub references: HashMap<Reference, MovementId>,
    /// References of holds.
    pub hold_references: HashMap<(ClientId, String), HoldId>,
    /// References of captures, and the journal row of the capture.
    pub capture_references: HashMap<CaptureReference, EntryId>,
    /// References of refunds.
    pub refund_references: HashMap<(ClientId, String), RefundId>,
}

impl TakenKeys {
    /// Whether all keys that are taken there are taken here too.
    pub fn covers(&self, other: &Self) -> bool {
        fn covers<K: Eq + Hash, V>(these: &HashMap<K, V>, those: &HashMap<K, V>) -> bool {
            those.keys().all(|key| these.contains_key(key))
        }
        covers(&self.order_numbers, &other.order_numbers)
            && covers(&self.references, &other.references)
            && covers(&self.hold_references, &other.hold_references)
            && covers(&self.capture_references, &other.capture_references)
            && covers(&self.refund_references, &other.refund_references)
    }
}
