//! The identity of a client.

use uuid::Uuid;

/// Identifies a client: UUID version 7, made by the service.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    derive_more::Display,
    sqlx::Type,
    derive_more::From,
)]
#[sqlx(transparent)]
pub struct ClientId(pub Uuid);
