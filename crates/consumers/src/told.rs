//! What an event says, read from its bytes: CloudEvents 1.0 in JSON.

use chrono::{DateTime, Datelike, Utc};
use money::{Amount, Currency};
use reports::{Ending, Happened, OrderFigures};
use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

/// An event cannot be read.
#[derive(Debug, Error)]
pub enum Unreadable {
    /// It is not the JSON that it should be.
    #[error("it is not as its type has it: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A currency or an amount in it is none.
    #[error("{0}")]
    NoAmount(String),
    /// Its time is none of RFC 3339.
    #[error("its time has a year before 0001 or after 9999")]
    NoTime,
    /// It does not say what the order was before.
    #[error("it does not say what the order was before")]
    NothingBefore,
    /// A figure is smaller than before.
    #[error(transparent)]
    Shrunk(#[from] reports::Shrunk),
}

/// An event's envelope.
#[derive(Deserialize, Debug)]
pub struct Told<'m> {
    /// When it was decided.
    pub time: DateTime<Utc>,
    /// What there is to tell.
    #[serde(borrow)]
    data: &'m RawValue,
}

/// The data of a movement's event, as far as it is counted.
#[derive(Deserialize)]
struct MovementData<'m> {
    currency: &'m str,
    amount: &'m str,
}

/// The data of an order's event, as far as it is counted.
#[derive(Deserialize)]
struct OrderData<'m> {
    currency: &'m str,
    amount: &'m str,
    captured_amount: &'m str,
    refunded_amount: &'m str,
    #[serde(borrow)]
    previous: Option<PreviousData<'m>>,
}

/// What the order was before.
#[derive(Deserialize)]
struct PreviousData<'m> {
    captured_amount: &'m str,
    refunded_amount: &'m str,
}

impl<'m> Told<'m> {
    /// Reads the envelope.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    pub fn read(body: &'m [u8]) -> Result<Self, Unreadable> {
        let told: Self = serde_json::from_slice(body)?;
        // RFC 3339, which CloudEvents asks for, has years of four digits; so has every event of ours.
        if (1..=9_999).contains(&told.time.year()) { Ok(told) } else { Err(Unreadable::NoTime) }
    }

    /// What of it a report counts; nothing, if it is of no type that is counted. `sequence` is the event's place among those
    /// of its order.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    pub fn happened(&self, event_type: &str, sequence: i64) -> Result<Option<Happened>, Unreadable> {
        let ended = match event_type {
            "onefold.movement.deposited.v1" => return Ok(Some(Happened::Deposited(self.moved()?))),
            "onefold.movement.withdrawn.v1" => return Ok(Some(Happened::Withdrawn(self.moved()?))),
            "onefold.movement.transferred.v1" => return Ok(Some(Happened::Transferred(self.moved()?))),
            "onefold.order.cancelled.v1" => Some(Ending::Cancelled),
            "onefold.order.expired.v1" => Some(Ending::Expired),
            "onefold.order.placed.v1"
            | "onefold.order.authorized.v1"
            | "onefold.order.paid.v1"
            | "onefold.order.captured.v1"
            | "onefold.order.refunded.v1" => None,
            _ => return Ok(None),
        };
        let order: OrderData<'_> = serde_json::from_str(self.data.get())?;
        let currency = currency_of(order.currency)?;
        let figures = |captured: &str, refunded: &str| {
            Ok::<_, Unreadable>(OrderFigures {
                amount: amount_of(order.amount, currency)?,
                captured: amount_of(captured, currency)?,
                refunded: amount_of(refunded, currency)?,
            })
        };
        let before = match &order.previous {
            Some(before) => Some(figures(before.captured_amount, before.refunded_amount)?),
            None if sequence == 1 => None,
            None => return Err(Unreadable::NothingBefore),
        };
        let after = figures(order.captured_amount, order.refunded_amount)?;
        Ok(Some(Happened::Order { before, after, ended }))
    }

    fn moved(&self) -> Result<Amount, Unreadable> {
        let movement: MovementData<'_> = serde_json::from_str(self.data.get())?;
        amount_of(movement.amount, currency_of(movement.currency)?)
    }
}

fn currency_of(code: &str) -> Result<Currency, Unreadable> {
    Currency::from_code(code).map_err(|fault| Unreadable::NoAmount(fault.to_string()))
}

fn amount_of(text: &str, currency: Currency) -> Result<Amount, Unreadable> {
    Amount::parse(text, currency).map_err(|fault| Unreadable::NoAmount(fault.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, event_type: &str, sequence: i64) -> Result<Option<Happened>, Unreadable> {
        Told::read(body.as_bytes())?.happened(event_type, sequence)
    }

    const ORDER: &str = r#"{"specversion":"1.0","time":"2026-01-31T09:30:00Z","data":{"currency":"CNY","amount":"9.00",
        "captured_amount":"9.00","refunded_amount":"2.00","status":"partially_refunded",
        "previous":{"captured_amount":"9.00","refunded_amount":"0.50","status":"paid"}}}"#;

    #[test]
    fn an_order_tells_what_it_is_and_what_it_was() {
        let Some(Happened::Order { before, after, ended }) =
            read(ORDER, "onefold.order.refunded.v1", 3).unwrap()
        else {
            panic!("an order");
        };
        assert_eq!(after.refunded.to_string(), "2.00");
        assert_eq!(before.unwrap().refunded.to_string(), "0.50");
        assert_eq!(ended, None);
    }

    #[test]
    fn a_time_that_no_database_has_is_unreadable() {
        for time in ["-9999-01-01T00:00:00Z", "+10000-01-01T00:00:00Z", "0000-12-31T23:59:59Z"] {
            let text = format!(r#"{{"time":"{time}","data":null}}"#);
            assert!(read(&text, "onefold.sku.set.v1", 1).is_err(), "{time}");
        }
    }

    #[test]
    fn what_is_not_counted_need_not_be_understood() {
        let text = r#"{"time":"2026-01-31T09:30:00Z","data":null}"#;
        assert_eq!(read(text, "onefold.sku.set.v1", 1).unwrap(), None);
    }

    #[test]
    fn a_later_version_that_does_not_say_what_was_before_cannot_be_counted() {
        let text = ORDER.replace("previous", "preceding");
        assert!(matches!(read(&text, "onefold.order.refunded.v1", 3), Err(Unreadable::NothingBefore)));
        assert!(
            read(&text, "onefold.order.paid.v1", 1).unwrap().is_some(),
            "the first has nothing before it"
        );
    }

    #[test]
    fn what_is_no_event_is_unreadable() {
        for text in ["", "{", "[]", "{}", r#"{"time":"yesterday","data":{}}"#] {
            assert!(Told::read(text.as_bytes()).is_err(), "{text}");
        }
        for data in [
            r#"{"currency":"CNY"}"#,
            r#"{"currency":"XXX","amount":"1"}"#,
            r#"{"currency":"CNY","amount":"-1"}"#,
        ] {
            let text = format!(r#"{{"time":"2026-01-31T09:30:00Z","data":{data}}}"#);
            assert!(read(&text, "onefold.movement.deposited.v1", 1).is_err(), "{data}");
        }
    }
}
