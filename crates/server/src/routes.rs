//! The API, an endpoint a file. [`table`] is the whole of it on one screen.

pub mod accounts;
pub mod callbacks;
pub mod collecting_accounts;
pub mod holds;
pub mod idempotency_keys;
pub mod movements;
pub mod operations;
pub mod orders;
pub mod payment_alerts;
pub mod payments;
pub mod refunds;
pub mod reports;
pub mod skus;
pub mod transfers;

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post, put};
use client::Scope;
use http::Method;

use crate::admission::guarded;
use crate::app::AppState;
use crate::body::receive;
use crate::problem::{Problem, Slug};

/// Every operation of the API, in reading order, with what it needs. The OpenAPI document has exactly these.
pub fn table() -> Vec<Route> {
    use Access::{Open, Scope as Needs, Signed};
    use Scope::{
        AccountsRead, AccountsWrite, AlertsRead, AlertsResolve, InventoryRead, InventoryWrite, KeysRead,
        KeysWrite, OrdersRead, OrdersWrite, PaymentsRead, ReportsRead,
    };
    vec![
        Route::post("/v1/accounts", Needs(AccountsWrite), accounts::open::open_account),
        Route::get("/v1/accounts", Needs(AccountsRead), accounts::list::list_accounts),
        Route::get("/v1/accounts/{id}", Needs(AccountsRead), accounts::get::get_account),
        Route::post("/v1/accounts/{id}/deposits", Needs(AccountsWrite), accounts::deposit::deposit),
        Route::post("/v1/accounts/{id}/withdrawals", Needs(AccountsWrite), accounts::withdraw::withdraw),
        Route::post("/v1/accounts/{id}/close", Needs(AccountsWrite), accounts::close::close_account),
        Route::get("/v1/accounts/{id}/entries", Needs(AccountsRead), accounts::entries::list_entries),
        Route::post("/v1/accounts/{id}/holds", Needs(AccountsWrite), holds::place::place_hold),
        Route::get("/v1/accounts/{id}/holds", Needs(AccountsRead), holds::list::list_holds),
        Route::get("/v1/holds/{id}", Needs(AccountsRead), holds::get::get_hold),
        Route::post("/v1/holds/{id}/capture", Needs(AccountsWrite), holds::capture::capture_hold),
        Route::post("/v1/holds/{id}/release", Needs(AccountsWrite), holds::release::release_hold),
        Route::post("/v1/transfers", Needs(AccountsWrite), transfers::transfer::transfer),
        Route::get("/v1/movements/{id}", Needs(AccountsRead), movements::get::get_movement),
        Route::get(
            "/v1/collecting-accounts",
            Needs(AccountsRead),
            collecting_accounts::list_collecting_accounts,
        ),
        Route::post("/v1/orders", Needs(OrdersWrite), orders::place::place_order),
        Route::get("/v1/orders", Needs(OrdersRead), orders::list::list_orders),
        Route::get("/v1/orders/{id}", Needs(OrdersRead), orders::get::get_order),
        Route::get("/v1/orders/{id}/history", Needs(OrdersRead), orders::history::list_order_history),
        Route::post("/v1/orders/{id}/capture", Needs(OrdersWrite), orders::capture::capture_order),
        Route::post("/v1/orders/{id}/cancel", Needs(OrdersWrite), orders::cancel::cancel_order),
        Route::post("/v1/orders/{id}/refunds", Needs(OrdersWrite), refunds::refund::refund_order),
        Route::get("/v1/orders/{id}/refunds", Needs(OrdersRead), refunds::list::list_refunds),
        Route::get("/v1/refunds/{id}", Needs(OrdersRead), refunds::get::get_refund),
        Route::get("/v1/skus", Needs(InventoryRead), skus::list::list_skus),
        Route::get("/v1/skus/{sku}", Needs(InventoryRead), skus::get::get_sku),
        Route::put("/v1/skus/{sku}", Needs(InventoryWrite), skus::put::put_sku),
        Route::get("/v1/payments/{payment_no}", Needs(PaymentsRead), payments::get::get_payment),
        Route::get("/v1/payment-alerts", Needs(AlertsRead), payment_alerts::list::list_payment_alerts),
        Route::get("/v1/payment-alerts/{id}", Needs(AlertsRead), payment_alerts::get::get_payment_alert),
        Route::post(
            "/v1/payment-alerts/{id}/resolve",
            Needs(AlertsResolve),
            payment_alerts::resolve::resolve_payment_alert,
        ),
        Route::get("/v1/reports/daily", Needs(ReportsRead), reports::daily::list_daily_totals),
        Route::post("/v1/callbacks/{endpoint}", Signed, callbacks::take::take_callback),
        Route::post("/v1/idempotency-keys", Needs(KeysWrite), idempotency_keys::issue::issue_idempotency_key),
        Route::get("/v1/idempotency-keys/{key}", Needs(KeysRead), idempotency_keys::get_idempotency_key),
        Route::get("/healthz", Open, operations::healthz::healthz),
        Route::get("/readyz", Open, operations::readyz::readyz),
        Route::get(METRICS, Open, operations::metrics::metrics),
        Route::get("/openapi.json", Open, operations::openapi_json::openapi_json),
        Route::get("/docs", Open, operations::docs::docs),
        Route::get("/problems", Open, operations::problems::problems),
        Route::get("/problems/{slug}", Open, operations::problems::problem),
    ]
}

/// What an API key has to be good for to ask for an operation, by its name in the records: method and path template. Nothing,
/// for one that this version does not have or that wants no API key.
pub fn scope_of(operation: &str) -> Option<Scope> {
    static SCOPES: LazyLock<HashMap<String, Scope>> = LazyLock::new(|| {
        let scoped = table().into_iter().filter_map(|Route { method, path, access, .. }| match access {
            Access::Scope(scope) => Some((format!("{method} {path}"), scope)),
            Access::Open | Access::Signed => None,
        });
        scoped.collect()
    });
    SCOPES.get(operation).copied()
}

/// Where what is counted is read, if anything is.
const METRICS: &str = "/metrics";

/// What Swagger UI's page loads, which the OpenAPI document does not have.
const DOCS_PATHS: [&str; 2] = ["/docs/", "/docs/{*file}"];

/// Every method that some path serves, with the path's template. What serves `GET` serves `HEAD` too.
pub fn methods_and_paths() -> Vec<(Method, &'static str)> {
    let gets = DOCS_PATHS.map(|path| (Method::GET, path));
    let served = table().into_iter().map(|route| (route.method, route.path)).chain(gets);
    let with_head = served.flat_map(|(method, path)| {
        let head = (method == Method::GET).then_some((Method::HEAD, path));
        [(method, path)].into_iter().chain(head)
    });
    with_head.collect()
}

/// The router of what [`table`] has for a surface, each route behind the layers that its access asks for. Its own refusals are
/// problems too.
pub fn router(state: &AppState, surface: Surface) -> Router<AppState> {
    let mut router = Router::new();
    for Route { method, path, access, handler } in table() {
        if surface.has(path) && (path != METRICS || state.metrics.is_recorded()) {
            router = router.route(path, guarded(state, &format!("{method} {path}"), access, handler));
        }
    }
    if surface != Surface::Operations {
        let [root, file] = DOCS_PATHS;
        router = router.route(root, get(operations::docs::docs)).route(file, get(operations::docs::file));
    }
    router.fallback(unknown_route).method_not_allowed_fallback(other_method)
}

/// Which part of the API a listener has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surface {
    /// All of it.
    Whole,
    /// All but what is for operators alone: that is at another listener.
    Public,
    /// What is for operators, and whether the process is up.
    Operations,
}

impl Surface {
    fn has(self, path: &str) -> bool {
        let is_for_operators = ["/readyz", METRICS].contains(&path);
        match self {
            Self::Whole => true,
            Self::Public => !is_for_operators,
            Self::Operations => is_for_operators || path == "/healthz",
        }
    }
}

/// What an operation needs of whoever asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Nothing.
    Open,
    /// The signature of a payment provider. An address may not send too many.
    Signed,
    /// An API key that is good for this.
    Scope(Scope),
}

/// One operation: a method, a path template, what it needs, and what serves it.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// What it needs.
    pub access: Access,
    handler: MethodRouter<AppState>,
}

impl Route {
    fn get<T: 'static>(path: &'static str, access: Access, handler: impl Handler<T, AppState>) -> Self {
        Self { method: Method::GET, path, access, handler: get(handler) }
    }

    fn post<T: 'static>(path: &'static str, access: Access, handler: impl Handler<T, AppState>) -> Self {
        Self { method: Method::POST, path, access, handler: post(handler) }
    }

    fn put<T: 'static>(path: &'static str, access: Access, handler: impl Handler<T, AppState>) -> Self {
        Self { method: Method::PUT, path, access, handler: put(handler) }
    }
}

async fn unknown_route(request: Request) -> Problem {
    receive::discard(request.into_body()).await;
    Problem::new(Slug::NotFound, "there is no such path")
}

/// The router adds `Allow`.
async fn other_method(request: Request) -> Problem {
    let detail = format!("the path does not have the method {}", request.method());
    receive::discard(request.into_body()).await;
    Problem::new(Slug::MethodNotAllowed, detail)
}
