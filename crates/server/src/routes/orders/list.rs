//! `GET /v1/orders`

use axum::extract::{Request, State};
use axum::response::Response;
use order::OrderId;
use uuid::Uuid;

use super::{OrderBody, with_payments};
use crate::app::AppState;
use crate::body::words;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::{Nothing, position_of};
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// List the orders
///
/// Newest first; or the one that has a number.
#[utoipa::path(
    get, path = "/v1/orders", tag = "orders",
    params(("client_order_no" = Option<String>, Query, description = "Only the order of this number.",
        min_length = 1, max_length = 64, example = "A-1001")),
    responses((status = 200, description = "A page of orders.", body = ListBody<OrderBody>,
        example = json!({ "data": [OrderBody::example()], "next_cursor": null })))
)]
pub async fn list_orders(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading { client_id, path: Nothing, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "orders", scope: client_id.0 }, &mut query);
    let number = query.take("client_order_no", words::printable_text);
    if number.is_some() && page.before.is_some() {
        query.fault("cursor", "has no meaning beside client_order_no, which names one order");
    }
    query.finish()?;

    let pool = state.database.pool();
    let before = page.before.map(|position| OrderId(Uuid::from_u128(position)));
    let orders = look_up(pool, || async {
        let orders = match &number {
            Some(number) => Vec::from_iter(order::store::find_by_number(pool, client_id, number).await?),
            None => order::store::list(pool, client_id, before, page.fetch()).await?,
        };
        with_payments(pool, orders).await
    });
    Ok(ok(&page.body::<_, OrderBody>(orders.await?, |(order, _)| position_of(order.id.0))))
}
