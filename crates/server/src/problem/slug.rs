//! The kinds of problem, by the last word of their `type`.

use std::fmt;

use super::catalogue::{ENTRIES, Entry};

/// A kind of problem. Its page is `/problems/<slug>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the catalogue says of each what it means")]
pub enum Slug {
    NotFound,
    MethodNotAllowed,
    Unauthorized,
    InsufficientScope,
    RateLimited,
    ContentTooLarge,
    UnsupportedMediaType,
    IdempotencyKeyMissing,
    IdempotencyKeyMalformed,
    MalformedJson,
    ValidationFailed,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    IdempotencyKeyNotIssued,
    IdempotencyKeyExpired,
    InsufficientFunds,
    CurrencyMismatch,
    AccountClosed,
    AccountNotEmpty,
    DuplicateOrderNo,
    DuplicateReference,
    DuplicatePaymentNo,
    ProviderNotConfigured,
    AlertNotAcceptable,
    AlertResolved,
    AmountOutOfRange,
    HoldNotActive,
    HoldOfOrder,
    CaptureExceedsHold,
    OrderStateConflict,
    RefundExceedsPaid,
    RefundExceedsItems,
    RefundAtProvider,
    AmountMismatch,
    PriceCurrencyMismatch,
    OutOfStock,
    StockCommitted,
    VersionMismatch,
    RefundUndecided,
    BalanceContended,
    Overloaded,
    Unavailable,
    OutcomeUnknown,
    Internal,
    RequestTimeout,
    UriTooLong,
    HeadersTooLarge,
    MalformedRequest,
}

impl Slug {
    /// The word itself, such as `insufficient-funds`.
    pub fn as_str(self) -> &'static str {
        self.entry().word
    }

    /// The kind of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        ENTRIES.iter().find(|entry| entry.word == word).map(|entry| entry.slug)
    }

    /// The path of its page, which is the `type` of its documents.
    pub fn path(self) -> String {
        format!("/problems/{}", self.as_str())
    }

    /// What the catalogue says of it.
    pub fn entry(self) -> &'static Entry {
        // The entries stand in the order of the variants; a test below holds them to it.
        &ENTRIES[self as usize]
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_entry_and_word() {
        for (index, entry) in ENTRIES.iter().enumerate() {
            assert_eq!(entry.slug as usize, index, "{} stands in another place than its variant", entry.word);
            assert_eq!(Slug::from_word(entry.word), Some(entry.slug));
        }
        assert_eq!(ENTRIES.len(), Slug::MalformedRequest as usize + 1);
    }

    #[test]
    fn a_word_is_what_the_variant_is_called() {
        for entry in ENTRIES {
            let pascal: String =
                entry.word.split('-').map(|part| part[..1].to_uppercase() + &part[1..]).collect();
            assert_eq!(pascal, format!("{:?}", entry.slug));
        }
    }
}
