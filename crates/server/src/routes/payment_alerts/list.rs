//! `GET /v1/payment-alerts`

use axum::extract::{Request, State};
use axum::response::Response;
use payment_callback::store::alerts::{self, Selection};
use payment_callback::{AlertId, AlertKind};
use uuid::Uuid;

use super::AlertBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::{Nothing, position_of};
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// List the payment alerts
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/payment-alerts", tag = "payments",
    params(
        ("status" = Option<String>, Query, description = "Only those that are `open`, or `resolved`.", example = "open"),
        ("kind" = Option<String>, Query, description = "Only those of a kind.", example = "mismatched"),
        ("payment_no" = Option<String>, Query, description = "Only those about the payment of this number.", example = "P-1001"),
    ),
    responses((status = 200, description = "A page of alerts.", body = ListBody<AlertBody>,
        example = json!({ "data": [AlertBody::example()], "next_cursor": null })))
)]
pub async fn list_payment_alerts(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    let Reading { client_id, path: Nothing, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "payment-alerts", scope: client_id.0 }, &mut query);
    let is_open = query.take("status", |status| match status {
        "open" => Ok(true),
        "resolved" => Ok(false),
        _ => Err("must be open or resolved".to_owned()),
    });
    let kind = query.take("kind", |kind| {
        let known = AlertKind::ALL.map(AlertKind::as_str).join(", ");
        AlertKind::from_word(kind).ok_or_else(|| format!("must be one of {known}"))
    });
    let payment_no = query.take("payment_no", |text| {
        // An alert may be about a number that a provider has told of and that no payment of ours could have.
        let is_number = (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_number
            .then(|| text.to_owned())
            .ok_or_else(|| "must be 1 to 64 visible ASCII characters".to_owned())
    });
    query.finish()?;

    let (pool, selection) = (state.database.pool(), Selection { is_open, kind, payment_no });
    let before = page.before.map(|position| AlertId(Uuid::from_u128(position)));
    let alerts = look_up(pool, || alerts::list(pool, client_id, &selection, before, page.fetch())).await?;
    Ok(ok(&page.body::<_, AlertBody>(alerts, |alert| position_of(alert.id.0))))
}
