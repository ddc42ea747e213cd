//! Which problems an operation can answer, and what they look like.

use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::Slug;

/// A problem document (RFC 9457). Its page, at `type`, names the members that it has besides these.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document is written by hand, in order; this is its schema")]
pub struct ProblemBody {
    /// The path of the page that says what it means.
    #[schema(example = "/problems/insufficient-funds")]
    r#type: String,
    /// Its name, the same each time.
    title: String,
    /// The status code, again.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong this time.
    detail: String,
    /// The id of the request.
    instance: String,
    /// Whether the same request, under the same key, may succeed later.
    retryable: bool,
    /// Of `validation-failed`: every fault that was found.
    #[schema(nullable = false)]
    errors: Option<Vec<FaultBody>>,
    /// Of `duplicate-order-no`, `duplicate-reference` and `duplicate-payment-no`: the first one's id.
    #[schema(nullable = false, format = "uuid")]
    existing_id: Option<String>,
    /// Of `insufficient-funds` and `account-not-empty`: what the account has available.
    #[schema(nullable = false)]
    available: Option<String>,
    /// Of `account-not-empty`: what is frozen.
    #[schema(nullable = false)]
    held: Option<String>,
    /// Of `insufficient-funds`, `capture-exceeds-hold` and `refund-exceeds-paid`: what was to move.
    #[schema(nullable = false)]
    required: Option<String>,
    /// Of `currency-mismatch`: what the account holds.
    #[schema(nullable = false)]
    account_currency: Option<String>,
    /// The currency of the amounts; of `currency-mismatch`, what the request names.
    #[schema(nullable = false)]
    currency: Option<String>,
    /// Of `hold-not-active`: the hold.
    #[schema(nullable = false, format = "uuid")]
    hold_id: Option<String>,
    /// Of `hold-not-active` and `order-state-conflict`: the state that the hold or the order is in.
    #[schema(nullable = false)]
    state: Option<String>,
    /// Of `hold-of-order`: the order.
    #[schema(nullable = false, format = "uuid")]
    order_id: Option<String>,
    /// Of `capture-exceeds-hold`: what is left of the hold.
    #[schema(nullable = false)]
    remaining: Option<String>,
    /// Of `refund-exceeds-paid`: what is left of what was paid.
    #[schema(nullable = false)]
    refundable: Option<String>,
    /// Of `amount-mismatch`: what the items cost.
    #[schema(nullable = false)]
    expected: Option<String>,
    /// Of `amount-mismatch`: what the order says.
    #[schema(nullable = false)]
    amount: Option<String>,
    /// Of the problems of a sku: its name.
    #[schema(nullable = false)]
    sku: Option<String>,
    /// Of `price-currency-mismatch`: what the item is priced in.
    #[schema(nullable = false)]
    price_currency: Option<String>,
    /// Of `out-of-stock`: how many can be ordered.
    #[schema(nullable = false)]
    available_quantity: Option<u64>,
    /// Of `refund-exceeds-items`: how many the order has.
    #[schema(nullable = false)]
    remaining_quantity: Option<u64>,
    /// Of `out-of-stock` and `refund-exceeds-items`: how many were asked for.
    #[schema(nullable = false)]
    requested_quantity: Option<u64>,
    /// Of `stock-committed`: how many are set aside.
    #[schema(nullable = false)]
    reserved: Option<u64>,
    /// Of `stock-committed`: how many are sold.
    #[schema(nullable = false)]
    sold: Option<u64>,
    /// Of `version-mismatch`: the version that the sku is in; null, if it is not there.
    version: Option<i64>,
    /// Of `insufficient-scope`: what the operation needs.
    #[schema(nullable = false)]
    scope: Option<String>,
    /// Of `unavailable` from `/readyz`: what is not there.
    #[schema(nullable = false)]
    missing: Option<String>,
}

/// One thing that is wrong with a request.
#[derive(ToSchema)]
#[expect(dead_code, reason = "faults are written by hand; this is their schema")]
pub struct FaultBody {
    /// Where: a JSON pointer (RFC 6901) into the body, or `/name` of a query parameter.
    pointer: String,
    /// What.
    detail: String,
}

/// The operation that needs no API key.
const TAKE_CALLBACK: &str = "take_callback";

/// What any request can be told.
const ANY: &[Slug] = &[Slug::MalformedRequest, Slug::UriTooLong, Slug::HeadersTooLarge, Slug::Internal];

/// What a request with an API key can be told.
const ADMITTED: &[Slug] =
    &[Slug::Unauthorized, Slug::InsufficientScope, Slug::RateLimited, Slug::Unavailable];

/// What a request under a key can be told about it.
const KEYED: &[Slug] = &[
    Slug::IdempotencyKeyMissing,
    Slug::IdempotencyKeyMalformed,
    Slug::IdempotencyKeyNotIssued,
    Slug::IdempotencyKeyExpired,
    Slug::IdempotencyInProgress,
    Slug::IdempotencyKeyReused,
];

/// What a request with an effect can be told before, and instead of, any rule's answer.
const SUBMITTED: &[Slug] = &[
    Slug::MalformedJson,
    Slug::RequestTimeout,
    Slug::ContentTooLarge,
    Slug::UnsupportedMediaType,
    Slug::ValidationFailed,
    Slug::BalanceContended,
    Slug::Overloaded,
    Slug::OutcomeUnknown,
];

/// What an operation can be told besides, by its id.
const OWN: &[(&str, &[Slug])] = &[
    ("open_account", &[]),
    ("list_accounts", &[Slug::ValidationFailed]),
    ("get_account", &[Slug::NotFound]),
    (
        "deposit",
        &[
            Slug::NotFound,
            Slug::CurrencyMismatch,
            Slug::AccountClosed,
            Slug::DuplicateReference,
            Slug::AmountOutOfRange,
        ],
    ),
    (
        "withdraw",
        &[
            Slug::NotFound,
            Slug::CurrencyMismatch,
            Slug::AccountClosed,
            Slug::DuplicateReference,
            Slug::InsufficientFunds,
        ],
    ),
    ("close_account", &[Slug::NotFound, Slug::AccountClosed, Slug::AccountNotEmpty]),
    ("list_entries", &[Slug::NotFound, Slug::ValidationFailed]),
    (
        "place_hold",
        &[
            Slug::NotFound,
            Slug::CurrencyMismatch,
            Slug::AccountClosed,
            Slug::DuplicateReference,
            Slug::InsufficientFunds,
        ],
    ),
    ("list_holds", &[Slug::NotFound, Slug::ValidationFailed]),
    ("get_hold", &[Slug::NotFound]),
    (
        "capture_hold",
        &[
            Slug::NotFound,
            Slug::DuplicateReference,
            Slug::HoldNotActive,
            Slug::HoldOfOrder,
            Slug::CaptureExceedsHold,
        ],
    ),
    ("release_hold", &[Slug::NotFound, Slug::HoldNotActive, Slug::HoldOfOrder]),
    (
        "transfer",
        &[
            Slug::NotFound,
            Slug::CurrencyMismatch,
            Slug::AccountClosed,
            Slug::DuplicateReference,
            Slug::InsufficientFunds,
            Slug::AmountOutOfRange,
        ],
    ),
    ("get_movement", &[Slug::NotFound]),
    ("list_collecting_accounts", &[Slug::ValidationFailed]),
    (
        "place_order",
        &[
            Slug::NotFound,
            Slug::CurrencyMismatch,
            Slug::AccountClosed,
            Slug::DuplicateOrderNo,
            Slug::DuplicatePaymentNo,
            Slug::ProviderNotConfigured,
            Slug::InsufficientFunds,
            Slug::AmountMismatch,
            Slug::PriceCurrencyMismatch,
            Slug::AmountOutOfRange,
            Slug::OutOfStock,
        ],
    ),
    ("get_payment", &[Slug::NotFound]),
    ("list_payment_alerts", &[Slug::ValidationFailed]),
    ("get_payment_alert", &[Slug::NotFound]),
    ("list_daily_totals", &[Slug::ValidationFailed]),
    ("resolve_payment_alert", &[Slug::NotFound, Slug::AlertNotAcceptable, Slug::AlertResolved]),
    (TAKE_CALLBACK, &[Slug::NotFound, Slug::RateLimited, Slug::RequestTimeout, Slug::ContentTooLarge]),
    ("list_orders", &[Slug::ValidationFailed]),
    ("get_order", &[Slug::NotFound]),
    ("list_order_history", &[Slug::NotFound, Slug::ValidationFailed]),
    (
        "issue_idempotency_key",
        &[
            Slug::MalformedJson,
            Slug::RequestTimeout,
            Slug::ContentTooLarge,
            Slug::UnsupportedMediaType,
            Slug::ValidationFailed,
        ],
    ),
    (
        "capture_order",
        &[Slug::NotFound, Slug::DuplicateReference, Slug::OrderStateConflict, Slug::CaptureExceedsHold],
    ),
    ("cancel_order", &[Slug::NotFound, Slug::OrderStateConflict]),
    (
        "refund_order",
        &[
            Slug::NotFound,
            Slug::DuplicateReference,
            Slug::OrderStateConflict,
            Slug::RefundExceedsPaid,
            Slug::RefundExceedsItems,
            Slug::RefundAtProvider,
            Slug::RefundUndecided,
            Slug::AccountClosed,
            Slug::AmountOutOfRange,
        ],
    ),
    ("list_refunds", &[Slug::NotFound, Slug::ValidationFailed]),
    ("get_refund", &[Slug::NotFound]),
    ("list_skus", &[Slug::ValidationFailed]),
    ("get_sku", &[Slug::NotFound]),
    ("put_sku", &[Slug::NotFound, Slug::StockCommitted, Slug::VersionMismatch]),
    ("get_idempotency_key", &[Slug::NotFound]),
    ("healthz", &[]),
    ("readyz", &[Slug::Unavailable]),
    ("metrics", &[]),
    ("openapi_json", &[]),
    ("docs", &[]),
    ("problems", &[]),
    ("problem", &[Slug::NotFound]),
];

/// What an operation has in common with others.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Whether it needs an API key.
    pub is_business: bool,
    /// Whether it has an effect.
    pub has_effect: bool,
    /// Whether it has an idempotency key.
    pub has_key: bool,
}

/// The problems of an operation, by status and then word.
///
/// # Panics
///
/// If the operation is not in the table above: whoever adds a route says what it can be told.
pub fn problems_of(operation_id: &str, told: Told) -> Vec<Slug> {
    let own = OWN.iter().find(|(id, _)| *id == operation_id).map(|(_, own)| *own);
    let own = own.unwrap_or_else(|| panic!("name the problems of {operation_id} in openapi/problems.rs"));
    let mut slugs: Vec<Slug> = ANY.iter().chain(own).copied().collect();
    if told.is_business && operation_id != TAKE_CALLBACK {
        slugs.extend_from_slice(ADMITTED);
    }
    if told.has_key {
        slugs.extend_from_slice(KEYED);
    }
    if told.has_effect {
        slugs.extend_from_slice(SUBMITTED);
    }
    slugs.sort_by_key(|slug| (slug.entry().status, slug.as_str()));
    slugs.dedup();
    slugs
}

/// An example of that problem, where its members are the ones the operation gives.
pub fn example_of(slug: Slug, operation_id: &str) -> Value {
    let mut example = slug.entry().example();
    if slug == Slug::Unavailable
        && operation_id != "readyz"
        && let Some(members) = example.as_object_mut()
    {
        members.remove("missing");
    }
    example
}
