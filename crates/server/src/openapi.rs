//! The OpenAPI 3.1 document. It is generated: what a route says of itself comes from the route, and what many routes have
//! in common (the key, the headers, the problems) is added here from the catalogue of problems.
//!
//! `openapi/openapi.json` holds a copy, and a test fails when the two differ.

mod completion;
mod problems;

use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use self::completion::Completion;
use self::problems::{FaultBody, ProblemBody};
use crate::routes::{
    accounts, callbacks, collecting_accounts, holds, idempotency_keys, movements, operations, orders,
    payment_alerts, payments, refunds, reports, skus, transfers,
};

/// The document.
pub fn document() -> Document {
    Described::openapi()
}

/// The document as text: indented, the same for the same code, ending with a line break.
pub fn json() -> String {
    let mut json = document().to_pretty_json().expect("the document is JSON");
    json.push('\n');
    json
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Onefold",
        description = "A reference financial order-and-account service: every effect happens once, under the name that its \
            client gave it.\n\nEvery `POST` needs an `Idempotency-Key`. Every error is a problem document (RFC 9457) whose \
            `type` is a page below `/problems`; a path that does not exist answers 404 `not-found`, and one that has other \
            methods 405 `method-not-allowed` with `Allow`. Amounts are strings in plain decimal notation, times are RFC 3339 \
            in UTC, ids are UUIDs of version 7 in lower case.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/", description = "This server")),
    paths(
        accounts::open::open_account,
        accounts::list::list_accounts,
        accounts::get::get_account,
        accounts::deposit::deposit,
        accounts::withdraw::withdraw,
        accounts::close::close_account,
        accounts::entries::list_entries,
        holds::place::place_hold,
        holds::list::list_holds,
        holds::get::get_hold,
        holds::capture::capture_hold,
        holds::release::release_hold,
        transfers::transfer::transfer,
        movements::get::get_movement,
        collecting_accounts::list_collecting_accounts,
        orders::place::place_order,
        orders::list::list_orders,
        orders::get::get_order,
        orders::history::list_order_history,
        orders::capture::capture_order,
        orders::cancel::cancel_order,
        refunds::refund::refund_order,
        refunds::list::list_refunds,
        refunds::get::get_refund,
        skus::list::list_skus,
        skus::get::get_sku,
        skus::put::put_sku,
        payments::get::get_payment,
        payment_alerts::list::list_payment_alerts,
        payment_alerts::get::get_payment_alert,
        payment_alerts::resolve::resolve_payment_alert,
        reports::daily::list_daily_totals,
        callbacks::take::take_callback,
        idempotency_keys::issue::issue_idempotency_key,
        idempotency_keys::get_idempotency_key,
        operations::healthz::healthz,
        operations::readyz::readyz,
        operations::metrics::metrics,
        operations::openapi_json::openapi_json,
        operations::docs::docs,
        operations::problems::problems,
        operations::problems::problem,
    ),
    components(schemas(ProblemBody, FaultBody, orders::OrderItemBody)),
    tags(
        (name = "accounts", description = "Accounts hold money of one currency for one owner."),
        (name = "holds", description = "Money that is frozen, until it is taken or given back."),
        (name = "movements", description = "Money only moves from one account to another."),
        (name = "orders", description = "Orders are paid from accounts."),
        (name = "inventory", description = "What can be ordered, at which price, and how many of it are left."),
        (name = "payments", description = "What payment providers tell of, and what a person decides about it."),
        (name = "reports", description = "What a client's days come to, added up from the events."),
        (name = "idempotency", description = "Keys, and what became of them."),
        (name = "operations", description = "For whoever runs the service. None of these needs an API key.")
    ),
    security(("api_key" = [])),
    modifiers(&ApiKeyScheme, &Completion)
)]
struct Described;

struct ApiKeyScheme;

impl Modify for ApiKeyScheme {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "The key that `onefold client create` or `onefold client key` printed, good for the scope that the \
                    operation names; `demo-key` with the demo data.",
            ))
            .build();
        if let Some(components) = &mut document.components {
            components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
        }
    }
}

#[cfg(test)]
mod tests;
