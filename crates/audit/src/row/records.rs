//! The idempotency records, with what their answers say.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::figure::Figure;
use crate::vocabulary::Code;

/// A record of what was asked and answered.
#[derive(Clone, Debug)]
pub struct Record<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// The key.
    pub key: &'r str,
    /// What was asked.
    pub operation: &'r str,
    /// How it ended.
    pub status: &'r str,
    /// The path of what it made or changed.
    pub resource: Option<&'r str>,
    /// The status code of the answer.
    pub response_status: i16,
    /// Where the answer says that something was made.
    pub response_location: Option<&'r str>,
    /// When the answer was decided: the time of the effect, exactly.
    pub completed_at: DateTime<Utc>,
    /// What the answer says; none, if it was not read or cannot be.
    pub answer: Option<Answer<'r>>,
}

/// What the body of an answer says, as far as it says it and as far as it is known from elsewhere.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Answer<'r> {
    /// The id of what was made or changed.
    pub id: Option<Uuid>,
    /// Its account.
    pub account_id: Option<Uuid>,
    /// Of a transfer: the account that pays.
    pub from_account_id: Option<Uuid>,
    /// Of a transfer: the account that receives.
    pub to_account_id: Option<Uuid>,
    /// Of a refund: the order.
    pub order_id: Option<Uuid>,
    /// How much.
    pub amount: Option<Figure>,
    /// Its currency.
    pub currency: Option<Code>,
    /// What has been taken.
    pub captured: Option<Figure>,
    /// What has been given back.
    pub refunded: Option<Figure>,
    /// The client's name for it.
    pub name: Option<Cow<'r, str>>,
    /// Where it is in its life.
    pub state: Option<Cow<'r, str>>,
    /// How many changes it has seen.
    pub version: Option<i64>,
    /// How an order is paid.
    pub method: Option<Cow<'r, str>>,
    /// What a callback did to the books.
    pub effect: Option<Cow<'r, str>>,
    /// Of a refusal: the status code that its problem tells of.
    pub problem_status: Option<i64>,
}
