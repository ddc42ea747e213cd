//! What each kind of problem means. From here come the documents' titles and statuses, the pages below `/problems`, the
//! OpenAPI document's examples, and what `docs/reference/problems.md` is checked against.

use http::StatusCode;
use serde_json::{Value, json};

use super::Slug;

/// One kind of problem.
#[derive(Debug)]
pub struct Entry {
    /// The kind.
    pub slug: Slug,
    /// Its word in paths.
    pub word: &'static str,
    /// The HTTP status code.
    pub status: u16,
    /// Its name, the same each time.
    pub title: &'static str,
    /// When it is answered.
    pub when: &'static str,
    /// What the client should do.
    pub remedy: &'static str,
    /// The members of its documents besides the usual ones: name and meaning.
    pub members: &'static [(&'static str, &'static str)],
    /// Whether the same request, under the same key, may succeed later.
    pub retryable: bool,
    /// Whether the answer says with `Retry-After` when to ask again.
    pub retry_after: bool,
    /// Whether it is stored under the idempotency key and replayed.
    pub stored: bool,
}

impl Entry {
    /// The status code, typed.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).expect("the catalogue has valid status codes only")
    }

    /// A document of this kind as an example, with a value for each member.
    pub fn example(&self) -> Value {
        let mut example = json!({
            "type": self.slug.path(),
            "title": self.title,
            "status": self.status,
            "detail": self.when,
            "instance": "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e60",
            "retryable": self.retryable,
        });
        for (name, _) in self.members {
            example[*name] = example_member(name);
        }
        example
    }
}

fn example_member(name: &str) -> Value {
    match name {
        "errors" => json!([{ "pointer": "/amount", "detail": "an amount is a string, such as \"12.30\"" }]),
        "available" | "held" => json!("10.00"),
        "required" => json!("128.00"),
        "account_currency" => json!("CNY"),
        "currency" => json!("USD"),
        "existing_id" => json!("0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e61"),
        "missing" => json!("database"),
        "hold_id" | "order_id" => json!("0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e65"),
        "state" => json!("captured"),
        "remaining" | "refundable" => json!("40.00"),
        "expected" => json!("128.00"),
        "amount" => json!("126.00"),
        "price_currency" => json!("CNY"),
        "scope" => json!("orders:write"),
        "sku" => json!("TEA-1"),
        "reserved" | "remaining_quantity" | "available_quantity" => json!(1),
        "sold" | "requested_quantity" => json!(2),
        "version" => json!(13),
        other => Value::String(other.to_owned()),
    }
}

const fn entry(slug: Slug, word: &'static str, status: u16, title: &'static str) -> Entry {
    Entry {
        slug,
        word,
        status,
        title,
        when: "",
        remedy: "",
        members: &[],
        retryable: false,
        retry_after: false,
        stored: false,
    }
}

/// For what passes by itself.
const fn passing(slug: Slug, word: &'static str, status: u16, title: &'static str) -> Entry {
    Entry { retryable: true, retry_after: true, ..entry(slug, word, status, title) }
}

/// For what a business rule says.
const fn refusal(slug: Slug, word: &'static str, status: u16, title: &'static str) -> Entry {
    Entry { stored: true, ..entry(slug, word, status, title) }
}

/// Every kind, in the order of [`Slug`]'s variants.
pub const ENTRIES: &[Entry] = &[
    Entry {
        when: "The path leads nowhere, or names something that the client does not have. What belongs to another client is not told apart from what does not exist.",
        remedy: "Check the path, and the ids in the path and the body. An id is a UUID of version 7 in lower case.",
        stored: true,
        ..entry(Slug::NotFound, "not-found", 404, "Not found")
    },
    Entry {
        when: "The path exists, but not with this method.",
        remedy: "Use one of the methods that the header Allow names.",
        ..entry(Slug::MethodNotAllowed, "method-not-allowed", 405, "Method not allowed")
    },
    Entry {
        when: "The request has no API key, or one that is unknown, revoked, or not good on this listener.",
        remedy: "Send Authorization: Bearer with a key that onefold client create has printed.",
        ..entry(Slug::Unauthorized, "unauthorized", 401, "Unauthorized")
    },
    Entry {
        when: "The API key is good, and not for this: it was made for some scopes, and the one that this operation needs is not among them. Nothing was done.",
        remedy: "Use a key that has the scope, or have one made: onefold client key NAME --scope SCOPE.",
        members: &[("scope", "what the operation needs")],
        ..entry(Slug::InsufficientScope, "insufficient-scope", 403, "Insufficient scope")
    },
    Entry {
        when: "The client sends more requests than its rate allows, altogether or of this operation; or the address has shown too many wrong API keys. Nothing was done.",
        remedy: "Wait as long as Retry-After says, then send the same request under the same key.",
        ..passing(Slug::RateLimited, "rate-limited", 429, "Rate limited")
    },
    Entry {
        when: "The body is larger than the server takes (64 KiB unless configured).",
        remedy: "Send a smaller body.",
        ..entry(Slug::ContentTooLarge, "content-too-large", 413, "Content too large")
    },
    Entry {
        when: "The body's Content-Type is absent or is not application/json in UTF-8.",
        remedy: "Send Content-Type: application/json.",
        ..entry(Slug::UnsupportedMediaType, "unsupported-media-type", 415, "Unsupported media type")
    },
    Entry {
        when: "The request would have an effect, and has no Idempotency-Key.",
        remedy: "Choose a new key for each operation, such as a UUID, and send it again with each retry of that operation.",
        ..entry(Slug::IdempotencyKeyMissing, "idempotency-key-missing", 400, "Idempotency key missing")
    },
    Entry {
        when: "The Idempotency-Key cannot be read: empty, longer than 255 characters, not printable ASCII, with broken quoting, sent twice, or different from its alias.",
        remedy: "Send one key of 1 to 255 printable ASCII characters, bare or as a quoted string of RFC 8941.",
        ..entry(Slug::IdempotencyKeyMalformed, "idempotency-key-malformed", 400, "Idempotency key malformed")
    },
    Entry {
        when: "The body is not JSON in UTF-8, or is nested too deep.",
        remedy: "Send one JSON object.",
        ..entry(Slug::MalformedJson, "malformed-json", 400, "Malformed JSON")
    },
    Entry {
        when: "The body or the query does not fit the schema: something is missing, unknown, repeated, of the wrong type or out of range.",
        remedy: "Correct every fault that errors names. The key is still free, so the corrected request may use it.",
        members: &[("errors", "each fault: a JSON pointer (RFC 6901) to it, and a sentence about it")],
        ..entry(Slug::ValidationFailed, "validation-failed", 422, "Validation failed")
    },
    Entry {
        when: "The first request under this key is still running.",
        remedy: "Ask again under the same key after Retry-After, or send Prefer: wait=N to wait for the first one's answer.",
        ..passing(Slug::IdempotencyInProgress, "idempotency-in-progress", 409, "Idempotency key in progress")
    },
    Entry {
        when: "The key has been used for another request: another operation, another path or another meaning of the body.",
        remedy: "Use a new key for a new operation. For a retry, send exactly what was sent first.",
        ..entry(Slug::IdempotencyKeyReused, "idempotency-key-reused", 422, "Idempotency key reused")
    },
    Entry {
        when: "The client may use only keys that the server has made for it, and this is none: another one, one made for another client, or one that was changed. Nothing was done under it.",
        remedy: "Ask for a key with POST /v1/idempotency-keys, keep it with the operation, and send it with each retry.",
        ..entry(
            Slug::IdempotencyKeyNotIssued,
            "idempotency-key-not-issued",
            422,
            "Idempotency key not issued",
        )
    },
    Entry {
        when: "The client may use only keys that the server has made for it, and this one was made too long ago (24 hours unless configured). Nothing is recorded under it.",
        remedy: "If this is the first request under the key, ask for a new one with POST /v1/idempotency-keys. If it is a retry of one that is older than the retention of records, look first for what it may have done.",
        ..entry(Slug::IdempotencyKeyExpired, "idempotency-key-expired", 422, "Idempotency key expired")
    },
    Entry {
        when: "The account has less available than is to go out.",
        remedy: "Bring money in, or ask for less, under a new key.",
        members: &[
            ("available", "what the account has available"),
            ("required", "what was to go out"),
            ("currency", "the currency of both"),
        ],
        ..refusal(Slug::InsufficientFunds, "insufficient-funds", 402, "Insufficient funds")
    },
    Entry {
        when: "The request names another currency than the account holds.",
        remedy: "Use the account's currency, or another account, under a new key.",
        members: &[("account_currency", "what the account holds"), ("currency", "what the request names")],
        ..refusal(Slug::CurrencyMismatch, "currency-mismatch", 422, "Currency mismatch")
    },
    Entry {
        when: "The account is closed, which it stays.",
        remedy: "Use another account.",
        ..refusal(Slug::AccountClosed, "account-closed", 409, "Account closed")
    },
    Entry {
        when: "The account to be closed still has money, available or held.",
        remedy: "Withdraw or transfer what is available, then close it under a new key.",
        members: &[
            ("available", "what can be spent"),
            ("held", "what is frozen"),
            ("currency", "the currency of both"),
        ],
        ..refusal(Slug::AccountNotEmpty, "account-not-empty", 409, "Account not empty")
    },
    Entry {
        when: "Another order of the client has this client_order_no. It is unique for ever, also when the idempotency record is long gone.",
        remedy: "If this was a retry, the order of existing_id is the one. Else choose another number, under a new key.",
        members: &[("existing_id", "the order that has the number")],
        ..refusal(Slug::DuplicateOrderNo, "duplicate-order-no", 409, "Duplicate order number")
    },
    Entry {
        when: "Something else of the client and of the same kind has this reference: a deposit, withdrawal, transfer, hold or refund, or a capture of the hold. It is unique for ever, also when the idempotency record is long gone.",
        remedy: "If this was a retry, that of existing_id is the one. Else choose another reference, under a new key.",
        members: &[(
            "existing_id",
            "the movement, hold or refund that has the reference, or the journal row of the capture that has it",
        )],
        ..refusal(Slug::DuplicateReference, "duplicate-reference", 409, "Duplicate reference")
    },
    Entry {
        when: "Another payment of the client has this payment_no. It is unique for ever.",
        remedy: "If this was a retry, the order of existing_id is the one. Else choose another number, or none, under a new key.",
        members: &[("existing_id", "the order whose payment has the number")],
        ..refusal(Slug::DuplicatePaymentNo, "duplicate-payment-no", 409, "Duplicate payment number")
    },
    Entry {
        when: "The client has no callback endpoint for the provider that is to be paid at.",
        remedy: "Choose a provider that the client has an endpoint for, or have one configured (callbacks in the configuration file). The key is still free.",
        ..entry(Slug::ProviderNotConfigured, "provider-not-configured", 422, "Provider not configured")
    },
    Entry {
        when: "The alert cannot be resolved in this way: only what is mismatched or in excess can be accepted, in the order's currency and while its order awaits payment, and only what is left of it can be given back.",
        remedy: "Choose another action, under a new key.",
        ..refusal(Slug::AlertNotAcceptable, "alert-not-acceptable", 409, "Alert not acceptable")
    },
    Entry {
        when: "The alert was resolved before, by somebody or by what the provider told of later.",
        remedy: "Look at the alert: its action, note and resolved_by tell what was decided.",
        ..refusal(Slug::AlertResolved, "alert-resolved", 409, "Alert resolved")
    },
    Entry {
        when: "The balance would have more than 18 digits before the point.",
        remedy: "Use smaller amounts, or more accounts.",
        ..refusal(Slug::AmountOutOfRange, "amount-out-of-range", 422, "Amount out of range")
    },
    Entry {
        when: "The hold has ended: it was captured, released, or its time is over, whether its money is back yet or not.",
        remedy: "Look at the hold; place a new one for more.",
        members: &[("hold_id", "the hold"), ("state", "how it ended")],
        ..refusal(Slug::HoldNotActive, "hold-not-active", 409, "Hold not active")
    },
    Entry {
        when: "The hold was placed for an order, which alone can move it.",
        remedy: "Capture or cancel the order.",
        members: &[("order_id", "the order")],
        ..refusal(Slug::HoldOfOrder, "hold-of-order", 409, "Hold of an order")
    },
    Entry {
        when: "More was to be taken than is left of the hold.",
        remedy: "Take no more than remaining, under a new key.",
        members: &[
            ("remaining", "what is left of the hold"),
            ("required", "what was to be taken"),
            ("currency", "the currency of both"),
        ],
        ..refusal(Slug::CaptureExceedsHold, "capture-exceeds-hold", 422, "Capture exceeds hold")
    },
    Entry {
        when: "The order is in a state that does not allow it. An order whose time is over counts as expired, whether its money is back yet or not.",
        remedy: "Look at the order.",
        members: &[("state", "the state that the order is in")],
        ..refusal(Slug::OrderStateConflict, "order-state-conflict", 409, "Order state conflict")
    },
    Entry {
        when: "The order's refunds together would pass what was paid, which for an order paid by hold is what was captured.",
        remedy: "Refund no more than refundable, under a new key.",
        members: &[
            ("refundable", "what is left of what was paid"),
            ("required", "what was to be given back"),
            ("currency", "the currency of both"),
        ],
        ..refusal(Slug::RefundExceedsPaid, "refund-exceeds-paid", 422, "Refund exceeds paid")
    },
    Entry {
        when: "More pieces were to come back than the order bought of the sku and still has, apart from those that a refund on its way at a provider is to bring.",
        remedy: "Name no more than remaining_quantity, under a new key.",
        members: &[
            ("sku", "which sku"),
            ("remaining_quantity", "how many the order has"),
            ("requested_quantity", "how many were to come back"),
        ],
        ..refusal(Slug::RefundExceedsItems, "refund-exceeds-items", 422, "Refund exceeds items")
    },
    Entry {
        when: "The order was paid at a provider, through which its money goes back, and which cannot be asked for it here.",
        remedy: "Refund it at the provider: its callback changes the order. Or give its endpoint an `api`.",
        ..refusal(Slug::RefundAtProvider, "refund-at-provider", 409, "Refund at provider")
    },
    Entry {
        when: "The order's items cost something else by the catalogue than its amount says. The price may have changed.",
        remedy: "Show the new sum to whoever orders, and place the order with it, under a new key.",
        members: &[
            ("expected", "what the items cost"),
            ("amount", "what the order says"),
            ("currency", "the currency of both"),
        ],
        ..refusal(Slug::AmountMismatch, "amount-mismatch", 422, "Amount mismatch")
    },
    Entry {
        when: "An item of the order is priced in another currency than the order's.",
        remedy: "Order it in its currency, from an account that holds it.",
        members: &[
            ("sku", "which item"),
            ("price_currency", "what it is priced in"),
            ("currency", "what the order is in"),
        ],
        ..refusal(Slug::PriceCurrencyMismatch, "price-currency-mismatch", 422, "Price currency mismatch")
    },
    Entry {
        when: "There are fewer pieces of the sku than the order asks for.",
        remedy: "Order fewer, or wait until some are given back, and ask under a new key.",
        members: &[
            ("sku", "which sku"),
            ("available_quantity", "how many can be ordered"),
            ("requested_quantity", "how many were asked for"),
        ],
        ..refusal(Slug::OutOfStock, "out-of-stock", 409, "Out of stock")
    },
    Entry {
        when: "The sku's total was to be set below what is reserved and sold of it.",
        remedy: "Set it to reserved + sold at least.",
        members: &[
            ("sku", "which sku"),
            ("reserved", "how many are set aside for orders that are not paid yet"),
            ("sold", "how many are sold"),
        ],
        ..refusal(Slug::StockCommitted, "stock-committed", 409, "Stock committed")
    },
    Entry {
        when: "The sku is not in the version that If-Match names, or is there where If-None-Match says that it must not be.",
        remedy: "Read the sku, decide anew, and send its ETag.",
        members: &[("sku", "which sku"), ("version", "the version that it is in; null, if it is not there")],
        ..refusal(Slug::VersionMismatch, "version-mismatch", 412, "Version mismatch")
    },
    Entry {
        when: "How much of the order may be refunded depends on a refund that is on its way: its provider tells the total of the payment's refunds, has told a new one, and has not said yet whether that refund is a part of it. Nothing was done.",
        remedy: "Send the same request under the same key later: it is known when that refund is over, mostly within a minute. Or refund less.",
        ..passing(Slug::RefundUndecided, "refund-undecided", 409, "Refund undecided")
    },
    Entry {
        when: "The account's balance changed at every attempt. Nothing was done.",
        remedy: "Send the same request under the same key after Retry-After.",
        ..passing(Slug::BalanceContended, "balance-contended", 503, "Balance contended")
    },
    Entry {
        when: "More requests are waiting than the server can serve in time. Nothing was done.",
        remedy: "Send the same request under the same key after Retry-After, and send fewer at once.",
        ..passing(Slug::Overloaded, "overloaded", 503, "Overloaded")
    },
    Entry {
        when: "The database cannot be reached. Nothing was done.",
        remedy: "Send the same request under the same key after Retry-After.",
        members: &[("missing", "what is not there; from /readyz only")],
        ..passing(Slug::Unavailable, "unavailable", 503, "Unavailable")
    },
    Entry {
        when: "The answer of the database to the commit was lost, or was not there in time. The effect may have happened or not.",
        remedy: "Send the same request under the same key, and no other: it learns what happened, and runs only if nothing did.",
        ..passing(Slug::OutcomeUnknown, "outcome-unknown", 503, "Outcome unknown")
    },
    Entry {
        when: "The server made a mistake. It is logged under the id of the request.",
        remedy: "Send the same request under the same key; if it stays, report the id of the request.",
        retryable: true,
        ..entry(Slug::Internal, "internal", 500, "Internal error")
    },
    Entry {
        when: "The request's body did not arrive in time. Nothing was done.",
        remedy: "Send the same request under the same key again.",
        retryable: true,
        ..entry(Slug::RequestTimeout, "request-timeout", 408, "Request timeout")
    },
    Entry {
        when: "The path and query are longer than 8 KiB.",
        remedy: "Send a shorter one.",
        ..entry(Slug::UriTooLong, "uri-too-long", 414, "URI too long")
    },
    Entry {
        when: "The headers are larger than 16 KiB together, or more than 100.",
        remedy: "Send fewer or shorter headers.",
        ..entry(Slug::HeadersTooLarge, "headers-too-large", 431, "Headers too large")
    },
    Entry {
        when: "What came over the connection is not an HTTP request: its first line, a header or its framing cannot be read.",
        remedy: "Send HTTP/1.1, without control characters in headers.",
        ..entry(Slug::MalformedRequest, "malformed-request", 400, "Malformed request")
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_says_when_and_what_to_do() {
        for entry in ENTRIES {
            assert!(
                entry.when.ends_with('.') && entry.remedy.ends_with('.'),
                "{} is not finished",
                entry.word
            );
            assert!(!entry.retry_after || entry.retryable, "{}: asking again must make sense", entry.word);
            assert!((400..600).contains(&entry.status), "{}", entry.word);
        }
    }

    #[test]
    fn every_kind_is_on_the_reference_page() {
        let page = include_str!("../../../../docs/reference/problems.md");
        for entry in ENTRIES {
            let row = format!("| [`{}`](#{}) | {} |", entry.word, entry.word, entry.status);
            let section = format!("\n## {}\n\n{}", entry.word, entry.when);
            assert!(page.contains(&row), "docs/reference/problems.md lacks the row {row}");
            assert!(
                page.contains(&section),
                "docs/reference/problems.md must say in ## {}: {}",
                entry.word,
                entry.when
            );
            for (name, meaning) in entry.members {
                let member = format!("- `{name}`: {meaning}");
                assert!(
                    page.contains(&member),
                    "docs/reference/problems.md must say in ## {}: {member}",
                    entry.word
                );
            }
        }
    }
}
