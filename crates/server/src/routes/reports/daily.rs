//! `GET /v1/reports/daily`

use axum::extract::{Request, State};
use axum::response::Response;
use chrono::{Datelike, NaiveDate};
use money::Currency;
use reports::store::DayRange;
use reports::{DailyTotal, Line, Tally};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::Nothing;
use crate::problem::Problem;
use crate::reading::{Reading, ok};
use crate::routes::accounts::time;

/// How often, and how much.
#[derive(Serialize, ToSchema, Debug)]
pub struct TallyBody {
    /// How often.
    #[schema(minimum = 0)]
    count: u64,
    /// How much in all, in the day's currency.
    amount: String,
}

/// What a day comes to, in one currency. Days are UTC, by the time at which something was decided.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(DayBody::example()))]
pub struct DayBody {
    /// The day.
    #[schema(format = "date")]
    date: String,
    /// The currency (ISO 4217).
    currency: &'static str,
    /// Orders that were placed; the sum is what they cost.
    orders_placed: TallyBody,
    /// Each time money was taken for an order: its payment, or each capture.
    orders_paid: TallyBody,
    /// Each time money of an order was given back.
    orders_refunded: TallyBody,
    /// Orders that were called off; the sum is what had not been taken for them.
    orders_cancelled: TallyBody,
    /// Orders whose time was over; the sum is what had not been taken for them.
    orders_expired: TallyBody,
    /// Money that came in from outside.
    deposits: TallyBody,
    /// Money that went outside.
    withdrawals: TallyBody,
    /// Money that went from one account to another.
    transfers: TallyBody,
    /// When something was last added. Events are counted a moment after they have happened.
    #[schema(format = "date-time")]
    updated_at: String,
}

/// The lines of one day in one currency.
struct Day {
    date: NaiveDate,
    currency: Currency,
    totals: Vec<DailyTotal>,
}

impl Day {
    /// Where it stands in the list, newest first: by day, then by currency.
    fn position(&self) -> u128 {
        let code = self.currency.code().bytes().fold(0, |code, byte| code << 8 | u128::from(byte));
        u128::from(self.date.num_days_from_ce().unsigned_abs()) << 32 | code
    }
}

fn at_position(position: u128) -> Option<(NaiveDate, Currency)> {
    let date = NaiveDate::from_num_days_from_ce_opt(i32::try_from(position >> 32).ok()?)?;
    let code = u32::try_from(position & u128::from(u32::MAX)).ok()?.to_be_bytes();
    Some((date, Currency::from_code(std::str::from_utf8(&code[1..]).ok()?).ok()?))
}

impl From<Day> for DayBody {
    fn from(day: Day) -> Self {
        let tally = |line: Line| {
            let total = day.totals.iter().find(|total| total.line == line);
            let Tally { count, amount } = total.map_or(Tally::none(day.currency), |total| total.tally);
            TallyBody { count, amount: amount.to_string() }
        };
        Self {
            date: day.date.to_string(),
            currency: day.currency.code(),
            orders_placed: tally(Line::OrdersPlaced),
            orders_paid: tally(Line::OrdersPaid),
            orders_refunded: tally(Line::OrdersRefunded),
            orders_cancelled: tally(Line::OrdersCancelled),
            orders_expired: tally(Line::OrdersExpired),
            deposits: tally(Line::Deposits),
            withdrawals: tally(Line::Withdrawals),
            transfers: tally(Line::Transfers),
            updated_at: day.totals.iter().map(|total| total.updated_at).max().map(time).unwrap_or_default(),
        }
    }
}

impl DayBody {
    fn example() -> Self {
        let tally = |count, amount: &str| TallyBody { count, amount: amount.to_owned() };
        Self {
            date: "2026-01-31".to_owned(),
            currency: "CNY",
            orders_placed: tally(120, "15360.00"),
            orders_paid: tally(118, "15104.00"),
            orders_refunded: tally(3, "200.00"),
            orders_cancelled: tally(1, "128.00"),
            orders_expired: tally(1, "128.00"),
            deposits: tally(40, "20000.00"),
            withdrawals: tally(2, "500.00"),
            transfers: tally(0, "0.00"),
            updated_at: "2026-01-31T23:59:59.123456Z".to_owned(),
        }
    }
}

/// List what the days come to
///
/// Newest day first, and the currencies of a day from Z to A. A day on which nothing happened is not listed. The totals are
/// added up from the events, so they follow the books by a moment; a day that is over is right for good.
#[utoipa::path(
    get, path = "/v1/reports/daily", tag = "reports",
    params(
        ("from" = Option<String>, Query, description = "Only this day and later ones.",
            format = Date, example = "2026-01-01"),
        ("to" = Option<String>, Query, description = "Only this day and earlier ones.",
            format = Date, example = "2026-01-31"),
        ("currency" = Option<String>, Query, description = "Only this currency (ISO 4217).", example = "CNY")),
    responses((status = 200, description = "A page of days.", body = ListBody<DayBody>,
        example = json!({ "data": [DayBody::example()], "next_cursor": null })))
)]
pub async fn list_daily_totals(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading { client_id, path: Nothing, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "daily totals", scope: client_id.0 }, &mut query);
    let (from, to) = (query.take("from", date), query.take("to", date));
    let currency =
        query.take("currency", |text| Currency::from_code(text).map_err(|fault| fault.to_string()));
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        query.fault("to", "must not be earlier than from");
    }
    query.finish()?;

    let (first, last) = every_day();
    let before = page.before.and_then(at_position);
    let range = DayRange { from: from.unwrap_or(first), to: to.unwrap_or(last), currency, before };
    let pool = state.database.pool();
    let totals = look_up(pool, || reports::store::list(pool, client_id, range, page.fetch())).await?;
    Ok(ok(&page.body::<_, DayBody>(days(totals), Day::position)))
}

/// The lines of the same day and currency, which follow each other, as one.
fn days(totals: Vec<DailyTotal>) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for total in totals {
        let (date, currency) = (total.day, total.tally.amount.currency());
        match days.last_mut() {
            Some(day) if day.date == date && day.currency == currency => day.totals.push(total),
            _ => days.push(Day { date, currency, totals: vec![total] }),
        }
    }
    days
}

/// A day of ISO 8601, with four digits of the year.
fn date(text: &str) -> Result<NaiveDate, String> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let (first, last) = every_day();
    // The parser also takes single digits, signs and blanks: two spellings of one day.
    date.filter(|date| date.to_string() == text && (first..=last).contains(date))
        .ok_or_else(|| "must be a day, such as 2026-01-31".to_owned())
}

/// The days that have four digits of the year, which PostgreSQL knows too.
fn every_day() -> (NaiveDate, NaiveDate) {
    let day = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).expect("a day of the calendar");
    (day(1, 1, 1), day(9999, 12, 31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_spelling() {
        assert_eq!(date("2026-01-31").unwrap().to_string(), "2026-01-31");
        for bad in [
            "2026-1-31",
            "2026-02-30",
            "+2026-01-31",
            " 2026-01-31",
            "20260131",
            "0000-01-01",
            "12026-01-01",
            "",
        ] {
            assert!(date(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_position_leads_back_to_its_day_and_currency() {
        let currency = Currency::from_code("CNY").unwrap();
        for text in ["0001-01-01", "2026-01-31", "9999-12-31"] {
            let date = date(text).unwrap();
            let day = Day { date, currency, totals: Vec::new() };
            assert_eq!(at_position(day.position()), Some((date, currency)));
        }
        assert_eq!(at_position(u128::MAX), None);
    }
}
