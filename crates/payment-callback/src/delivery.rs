//! The record of a delivery: that it came, what it was, and what was done about it.

use chrono::{DateTime, Utc};
use client::ClientId;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::told::Effect;
use crate::{Decision, Notice, ProviderKind};

/// Identifies a recorded delivery: UUID version 7, made by the service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display)]
pub struct DeliveryId(pub Uuid);

/// What a delivery is known by: client, endpoint, and the provider's name for the delivery.
pub type DeliveryKey = (ClientId, String, String);

/// The hash of what a delivery means, so that one which comes again with another content is told from a repetition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeliveryFingerprint(pub [u8; 32]);

impl DeliveryFingerprint {
    /// That of a notice.
    pub fn of(notice: &Notice) -> Self {
        Self(Sha256::digest(notice.meaning()).into())
    }

    /// As hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What is known of a delivery that came before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownDelivery {
    /// Its identity.
    pub id: DeliveryId,
    /// The hash of what it meant then.
    pub fingerprint: DeliveryFingerprint,
    /// Whether it was [passed over](Decision::passes_over) then, so that it has had its word still to say.
    pub was_passed_over: bool,
}

/// A delivery that was dealt with. Neither its signature nor its body is kept here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryRecord {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: DeliveryId,
    /// The endpoint that it came to.
    pub endpoint: String,
    /// The provider's name for it.
    pub delivery_key: String,
    /// The hash of what it means.
    pub fingerprint: DeliveryFingerprint,
    /// The provider.
    pub provider: ProviderKind,
    /// The provider's word for what happened.
    pub event_type: String,
    /// What the delivery asked for, seen alone.
    pub decision: Decision,
    /// What it did to the books.
    pub effect: Effect,
    /// Our number of the payment that it spoke of; where it named none, the one that its money was known under.
    pub payment_no: Option<String>,
    /// The money's identity at the provider.
    pub provider_payment_id: Option<String>,
    /// When it was dealt with.
    pub received_at: DateTime<Utc>,
}

impl DeliveryRecord {
    /// What it is known by.
    pub fn key(&self) -> DeliveryKey {
        (self.client_id, self.endpoint.clone(), self.delivery_key.clone())
    }

    /// What will be known of it when it comes again.
    pub fn as_known(&self) -> KnownDelivery {
        let was_passed_over = self.decision.passes_over();
        KnownDelivery { id: self.id, fingerprint: self.fingerprint, was_passed_over }
    }
}

/// A delivery's bytes, kept for a while because a person has to look at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuarantinedBody {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: Uuid,
    /// The endpoint that it came to.
    pub endpoint: String,
    /// The provider's name for the delivery.
    pub delivery_key: String,
    /// The exact bytes.
    pub body: Vec<u8>,
    /// When it came.
    pub received_at: DateTime<Utc>,
    /// When it is deleted.
    pub delete_at: DateTime<Utc>,
}
