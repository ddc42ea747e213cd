//! The parameters of a path. One that cannot be what stands there names nothing: 404.

use account::{AccountId, HoldId, MovementId};
use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use idempotency::Key;
use inventory::SkuCode;
use order::{OrderId, RefundId};
use payment_callback::AlertId;
use uuid::Uuid;

use crate::body::words::{parse_id, printable_text};
use crate::problem::{Problem, Slug};

/// What a route's path names.
pub trait Named: Sized {
    /// The value of the path's parameter, if it can be one.
    fn from_parameter(parameter: &str) -> Option<Self>;
}

impl Named for AccountId {
    fn from_parameter(parameter: &str) -> Option<Self> {
        parse_id(parameter).map(Self)
    }
}

impl Named for OrderId {
    fn from_parameter(parameter: &str) -> Option<Self> {
        parse_id(parameter).map(Self)
    }
}

impl Named for MovementId {
    fn from_parameter(parameter: &str) -> Option<Self> {
        parse_id(parameter).map(Self)
    }
}

impl Named for AlertId {
    fn from_parameter(parameter: &str) -> Option<Self> {
        parse_id(parameter).map(Self)
    }
}

impl Named for HoldId {
    fn from_parameter(parameter: &str) -> Option<Self> {
        parse_id(parameter).map(Self)
    }
}

impl Named for RefundId {
    fn from_parameter(parameter: &str) -> Option<Self> {
        parse_id(parameter).map(Self)
    }
}

impl Named for SkuCode {
    fn from_parameter(parameter: &str) -> Option<Self> {
        printable_text(parameter).ok().map(Self)
    }
}

impl Named for Key {
    fn from_parameter(parameter: &str) -> Option<Self> {
        Self::from_value(parameter).ok()
    }
}

/// A path without parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nothing;

impl Named for Nothing {
    fn from_parameter(_: &str) -> Option<Self> {
        Some(Self)
    }
}

/// What the path names. No route has more than one parameter.
///
/// # Errors
///
/// `not-found`, also for a parameter that is not percent-encoded UTF-8.
pub async fn named<N: Named>(parts: &mut Parts) -> Result<N, Problem> {
    let parameters = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| not_found())?;
    let parameter = parameters.iter().next().map_or("", |(_, value)| value);
    N::from_parameter(parameter).ok_or_else(not_found)
}

/// The problem of a path that names nothing, or nothing of this client's.
pub fn not_found() -> Problem {
    Problem::new(Slug::NotFound, "nothing that the client may see has that name")
}

/// The sort key of a row whose order is that of its id.
pub fn position_of(id: Uuid) -> u128 {
    id.as_u128()
}
