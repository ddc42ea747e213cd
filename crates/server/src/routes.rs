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
pub mod skus;
pub mod transfers;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post, put};
use http::Method;

use crate::app::AppState;
use crate::body::receive;
use crate::problem::{Problem, Slug};

/// Every operation of the API, in reading order. The OpenAPI document has exactly these.
pub fn table() -> Vec<Route> {
    vec![
        Route::post("/v1/accounts", accounts::open::open_account),
        Route::get("/v1/accounts", accounts::list::list_accounts),
        Route::get("/v1/accounts/{id}", accounts::get::get_account),
        Route::post("/v1/accounts/{id}/deposits", accounts::deposit::deposit),
        Route::post("/v1/accounts/{id}/withdrawals", accounts::withdraw::withdraw),
        Route::post("/v1/accounts/{id}/close", accounts::close::close_account),
        Route::get("/v1/accounts/{id}/entries", accounts::entries::list_entries),
        Route::post("/v1/accounts/{id}/holds", holds::place::place_hold),
        Route::get("/v1/accounts/{id}/holds", holds::list::list_holds),
        Route::get("/v1/holds/{id}", holds::get::get_hold),
        Route::post("/v1/holds/{id}/capture", holds::capture::capture_hold),
        Route::post("/v1/holds/{id}/release", holds::release::release_hold),
        Route::post("/v1/transfers", transfers::transfer::transfer),
        Route::get("/v1/movements/{id}", movements::get::get_movement),
        Route::get("/v1/collecting-accounts", collecting_accounts::list_collecting_accounts),
        Route::post("/v1/orders", orders::place::place_order),
        Route::get("/v1/orders", orders::list::list_orders),
        Route::get("/v1/orders/{id}", orders::get::get_order),
        Route::get("/v1/orders/{id}/history", orders::history::list_order_history),
        Route::post("/v1/orders/{id}/capture", orders::capture::capture_order),
        Route::post("/v1/orders/{id}/cancel", orders::cancel::cancel_order),
        Route::post("/v1/orders/{id}/refunds", refunds::refund::refund_order),
        Route::get("/v1/orders/{id}/refunds", refunds::list::list_refunds),
        Route::get("/v1/refunds/{id}", refunds::get::get_refund),
        Route::get("/v1/skus", skus::list::list_skus),
        Route::get("/v1/skus/{sku}", skus::get::get_sku),
        Route::put("/v1/skus/{sku}", skus::put::put_sku),
        Route::get("/v1/payments/{payment_no}", payments::get::get_payment),
        Route::get("/v1/payment-alerts", payment_alerts::list::list_payment_alerts),
        Route::post("/v1/payment-alerts/{id}/resolve", payment_alerts::resolve::resolve_payment_alert),
        Route::post("/v1/callbacks/{endpoint}", callbacks::take::take_callback),
        Route::post("/v1/idempotency-keys", idempotency_keys::issue::issue_idempotency_key),
        Route::get("/v1/idempotency-keys/{key}", idempotency_keys::get_idempotency_key),
        Route::get("/healthz", operations::healthz::healthz),
        Route::get("/readyz", operations::readyz::readyz),
        Route::get("/metrics", operations::metrics::metrics),
        Route::get("/openapi.json", operations::openapi_json::openapi_json),
        Route::get("/docs", operations::docs::docs),
        Route::get("/problems", operations::problems::problems),
        Route::get("/problems/{slug}", operations::problems::problem),
    ]
}

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

/// The router of [`table`], whose own refusals are problems too.
pub fn router() -> Router<AppState> {
    let mut router = Router::new();
    for route in table() {
        router = router.route(route.path, route.handler);
    }
    let [root, file] = DOCS_PATHS;
    router = router.route(root, get(operations::docs::docs)).route(file, get(operations::docs::file));
    router.fallback(unknown_route).method_not_allowed_fallback(other_method)
}

/// One operation: a method, a path template, and what serves it.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    handler: MethodRouter<AppState>,
}

impl Route {
    fn get<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self { method: Method::GET, path, handler: get(handler) }
    }

    fn post<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self { method: Method::POST, path, handler: post(handler) }
    }

    fn put<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self { method: Method::PUT, path, handler: put(handler) }
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
