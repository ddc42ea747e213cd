//! Text in a JSON document, without a copy of it unless it has escapes.

use std::borrow::Cow;

use serde::Deserialize;
use uuid::Uuid;

use crate::figure::Figure;
use crate::vocabulary::Code;

/// A string. By itself, and not within an `Option`, serde would copy a `Cow` that it could borrow.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'d>(#[serde(borrow)] pub(super) Cow<'d, str>);

impl Text<'_> {
    /// As an id, if it is one.
    pub(super) fn uuid(&self) -> Option<Uuid> {
        Uuid::try_parse(&self.0).ok()
    }

    /// As an amount.
    pub(super) fn figure(&self) -> Figure {
        Figure::from_text(&self.0)
    }

    /// As a currency.
    pub(super) fn code(&self) -> Code {
        Code::of(&self.0)
    }
}
