//! At whose word something was done to the books.

use uuid::Uuid;

/// At whose word something was done to the books. It is kept with what was done, for ever: the record of the key is
/// deleted some day, and with it what led from the key to its effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A request of the client, by the value of its idempotency key.
    Request(String),
    /// What a provider told of, by itself or when it was asked, by the id of the delivery.
    Callback(Uuid),
    /// The service's own: a time was over.
    Service,
}

impl Origin {
    /// The client's key, if a request of the client asked for it.
    pub fn idempotency_key(&self) -> Option<&str> {
        match self {
            Self::Request(key) => Some(key),
            Self::Callback(_) | Self::Service => None,
        }
    }

    /// The delivery, if a provider told of it.
    pub fn delivery_id(&self) -> Option<Uuid> {
        match self {
            Self::Callback(delivery) => Some(*delivery),
            Self::Request(_) | Self::Service => None,
        }
    }
}
