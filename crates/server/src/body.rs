//! Reading a request's body, from bytes to a value that is checked, with every fault at once.
//!
//! - [`receive`]: the bytes, no more than allowed, and their media type;
//! - [`json`]: a tree that keeps repeated members, and tells numbers from strings;
//! - [`fields`]: taking an object apart, field by field, collecting faults;
//! - [`words`]: what single values may look like.

pub mod fields;
pub mod json;
pub mod receive;
pub mod words;

use serde::Serialize;

pub use fields::Fields;
pub use json::Json;

use crate::problem::{Problem, Slug};

/// One thing that is wrong with a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fault {
    /// Where: a JSON pointer (RFC 6901) into the body, or `/name` of a query parameter. Empty for the whole body.
    pub pointer: String,
    /// What, for a person to read.
    pub detail: String,
}

impl Fault {
    /// A fault at that place.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// A body that a route takes.
pub trait RequestBody: Sized {
    /// Whether the whole body may be left out.
    const OPTIONAL: bool = false;

    /// Takes the body's fields. `None` only when a fault was noted.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
}

/// The body of an operation that needs none: absent, or an object without members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoBody;

impl RequestBody for NoBody {
    const OPTIONAL: bool = true;

    fn read(_: &mut Fields<'_>) -> Option<Self> {
        Some(Self)
    }
}

/// The value of a body.
///
/// # Errors
///
/// `malformed-json`, then `validation-failed` with every fault.
pub fn parse<B: RequestBody>(bytes: &[u8]) -> Result<B, Problem> {
    let nothing = bytes.is_empty() && B::OPTIONAL;
    let json = if nothing { Json::Object(Vec::new()) } else { Json::read(bytes)? };
    fields::read_object(&json, B::read).map_err(Problem::validation_failed)
}

impl From<json::MalformedJson> for Problem {
    fn from(malformed: json::MalformedJson) -> Self {
        Self::new(Slug::MalformedJson, malformed.to_string())
    }
}
