//! The steps of a history: what one request, one delivery or one look at the clock did to an order.

use account::EntryId;
use chrono::{DateTime, Utc};
use money::Amount;
use order::{Change, OrderStatus, RefundId};
use uuid::Uuid;

/// What one decision did to an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its place among the steps of the order.
    pub place: Place,
    /// At whose word; none where that was not yet kept.
    pub by: Option<By>,
    /// The versions of the order that it made: none if a delivery changed nothing, and two if an order was paid as it
    /// was placed.
    pub versions: Vec<VersionLine>,
    /// What was booked, in the order of the journal.
    pub journal: Vec<Line>,
}

/// Where a step stands in a history: steps are told in this order.
///
/// Time goes first, by the clock of the server that decided; steps of one moment go by the order's version, and those that
/// made none by a hash of their origin. So a place is a number, and no two steps of an order have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// When it was decided.
    pub at: DateTime<Utc>,
    /// The first version of the order that it made; 0 if none is recorded.
    pub version: u32,
    /// A hash of the origin.
    pub mark: u32,
}

impl Place {
    /// The place as a number, in the same order.
    pub fn to_number(self) -> u128 {
        // The times of a database lie between the years -4713 and 294276, and those of the books after 1970.
        let micros = u128::from(self.at.timestamp_micros().unsigned_abs());
        micros << 64 | u128::from(self.version) << 32 | u128::from(self.mark)
    }

    /// The place of that number, if it is one.
    pub fn from_number(number: u128) -> Option<Self> {
        let micros = i64::try_from(number >> 64).ok()?;
        let low = |shift: u32| u32::try_from(number >> shift & u128::from(u32::MAX)).ok();
        Some(Self { at: DateTime::from_timestamp_micros(micros)?, version: low(32)?, mark: low(0)? })
    }
}

/// At whose word a step was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum By {
    /// A request of the client, under this idempotency key.
    Request {
        /// The key's value.
        idempotency_key: String,
    },
    /// A provider's delivery.
    Callback(Callback),
    /// The service: a time was over.
    Service,
}

/// A delivery of a provider, without anything that it was signed with or that it said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Callback {
    /// The endpoint that it came to.
    pub endpoint: String,
    /// The provider's name for it.
    pub event_id: String,
    /// The provider's word for what happened.
    pub event_type: String,
    /// What it did to the books.
    pub verdict: String,
}

/// A version of the order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionLine {
    /// Its number.
    pub version: i64,
    /// What made it.
    pub change: Change,
    /// The order's state from then on.
    pub status: OrderStatus,
    /// What had been taken by then.
    pub captured_amount: Amount,
    /// What had been given back by then.
    pub refunded_amount: Amount,
    /// The refund that made it, if one did that was asked for here, and that was kept.
    pub refund: Option<RefundLine>,
}

/// The refund that made a version of its order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefundLine {
    /// Its id.
    pub refund_id: RefundId,
    /// The client's own name for it.
    pub reference: String,
    /// How much it is to give back.
    pub amount: Amount,
    /// Why it failed, of one that has; none, if it was done after all.
    pub failure: Option<String>,
}

/// A journal row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its id.
    pub entry_id: EntryId,
    /// What kind of event moved the money.
    pub kind: String,
    /// How much moved.
    pub amount: Amount,
    /// Where it came from: the id of a customer's account, the name of a collecting one, or `held`.
    pub debit_account: String,
    /// Where it went, likewise.
    pub credit_account: String,
    /// The client's own name for it.
    pub reference: Option<String>,
}

/// What rows have in common that belong to one step: time and origin.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mark {
    /// When it was decided.
    pub at: DateTime<Utc>,
    /// The client's key.
    pub idempotency_key: Option<String>,
    /// The delivery.
    pub delivery_id: Option<Uuid>,
}

impl Mark {
    /// At whose word, given the delivery if it is one. A step of neither is the service's if it made a version, for then
    /// it was kept; of a journal row alone it is not known.
    pub(crate) fn by(&self, callback: Option<Callback>, made_a_version: bool) -> Option<By> {
        match (&self.idempotency_key, callback) {
            (Some(key), _) => Some(By::Request { idempotency_key: key.clone() }),
            (None, Some(callback)) => Some(By::Callback(callback)),
            (None, None) => made_a_version.then_some(By::Service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(micros: i64, version: u32, mark: u32) -> Place {
        Place { at: DateTime::from_timestamp_micros(micros).unwrap(), version, mark }
    }

    #[test]
    fn a_place_is_a_number_in_the_same_order() {
        let places = [
            place(0, 0, 0),
            place(0, 0, u32::MAX),
            place(0, 1, 0),
            place(1, 0, 0),
            place(1_800_000_000_000_000, 7, 9),
        ];
        for pair in places.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].to_number() < pair[1].to_number(), "{pair:?}");
        }
        for place in places {
            assert_eq!(Place::from_number(place.to_number()), Some(place));
        }
        assert_eq!(Place::from_number(u128::MAX), None);
    }

    #[test]
    fn who_spoke_is_told_only_where_it_is_known() {
        let mark = |key: Option<&str>| Mark {
            at: DateTime::UNIX_EPOCH,
            idempotency_key: key.map(str::to_owned),
            delivery_id: None,
        };
        let request = By::Request { idempotency_key: "k".to_owned() };
        assert_eq!(mark(Some("k")).by(None, false), Some(request));
        assert_eq!(mark(None).by(None, true), Some(By::Service));
        assert_eq!(mark(None).by(None, false), None);
    }
}
