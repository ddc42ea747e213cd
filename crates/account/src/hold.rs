//! Holds: money of an account that is frozen, until it is taken, in parts or at once, or given back.
//!
//! A hold ends once: it is captured, released or expired, and what was left of it is available again. The sum of an
//! account's active holds is what the account has held.
//!
//! A hold is due from the very moment that it expires at. Whoever comes then finds it expired, whether the service has
//! given the money back yet or not: so what became of a hold does not depend on how busy the service was.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::{Amount, Currency};
use uuid::Uuid;

use crate::{
    Account, AccountId, Cause, Collecting, CollectingName, DebitRefusal, Entry, EntryId, EntryKind, Side,
};

/// Identifies a hold: UUID version 7. The hold of an order has the order's id.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct HoldId(pub Uuid);

/// Whether a hold still holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HoldStatus {
    /// What is left of it is frozen.
    Active,
    /// It was taken, at least in part, and nothing is left.
    Captured,
    /// It was given back at the client's word.
    Released,
    /// It was given back because its time was over.
    Expired,
}

impl HoldStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Active, Self::Captured, Self::Released, Self::Expired];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Captured => "captured",
            Self::Released => "released",
            Self::Expired => "expired",
        }
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// Why money is frozen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum HoldPurpose {
    /// The client asked for it, under a reference that is unique among its holds for ever.
    Client {
        /// The client's own name for it.
        reference: String,
    },
    /// An order is to be paid with it, whose id is the hold's.
    Order,
}

/// Money of an account that is or was frozen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hold {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: HoldId,
    /// The account whose money it is.
    pub account_id: AccountId,
    /// Why it is frozen.
    pub purpose: HoldPurpose,
    /// What was frozen; more than zero.
    pub amount: Amount,
    /// What was taken of it.
    pub captured: Amount,
    /// Whether it still holds. For what it is at a moment, see [`Hold::status_at`].
    pub status: HoldStatus,
    /// From when on it is due; never, if nothing is said.
    pub expires_at: Option<DateTime<Utc>>,
    /// How many changes it has seen, its placing the first.
    pub version: i64,
    /// When it was placed.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl Hold {
    /// What it is at a moment: a hold that is due has expired, even while its money has not been given back yet.
    pub fn status_at(&self, now: DateTime<Utc>) -> HoldStatus {
        match self.expires_at {
            Some(expires_at) if self.status == HoldStatus::Active && now >= expires_at => HoldStatus::Expired,
            _ => self.status,
        }
    }

    /// What it keeps frozen: what was not taken, while it is active; afterwards nothing.
    pub fn left(&self) -> Amount {
        match self.status {
            HoldStatus::Active => {
                self.amount.checked_sub(self.captured).expect("no more is taken of a hold than it holds")
            }
            HoldStatus::Captured | HoldStatus::Released | HoldStatus::Expired => {
                Amount::zero(self.amount.currency())
            }
        }
    }

    /// Why its journal rows are there.
    fn cause(&self) -> Cause {
        match self.purpose {
            HoldPurpose::Client { .. } => Cause::Hold(self.id),
            HoldPurpose::Order => Cause::Order(self.id.0),
        }
    }

    fn active_at(&self, now: DateTime<Utc>) -> Result<(), HoldNotActive> {
        match self.status_at(now) {
            HoldStatus::Active => Ok(()),
            status => Err(HoldNotActive { hold_id: self.id, status }),
        }
    }
}

/// A part of a hold that was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldCapture {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// The hold.
    pub hold_id: HoldId,
    /// The journal row that took it, which is its identity.
    pub entry_id: EntryId,
    /// The client's own name for it, unique among the captures of the hold for ever.
    pub reference: Option<String>,
    /// How much was taken; more than zero.
    pub amount: Amount,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// A hold to be placed: what is asked for, with the ids and the time that the caller made for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldPlacement {
    /// The hold's id.
    pub hold_id: HoldId,
    /// The id of its journal row.
    pub entry_id: EntryId,
    /// Why. That a reference is not taken has been seen before.
    pub purpose: HoldPurpose,
    /// How much; more than zero.
    pub amount: Amount,
    /// From when on it is due.
    pub expires_at: Option<DateTime<Utc>>,
    /// The time.
    pub now: DateTime<Utc>,
}

/// What is to be taken of a hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capturing {
    /// How much; all that is left, if nothing is said.
    pub amount: Option<Amount>,
    /// Whether it is the last capture, after which the rest is given back. One that leaves nothing always is.
    pub last: bool,
    /// The client's own name for it. That it is not taken has been seen before.
    pub reference: Option<String>,
    /// The id of the journal row that takes.
    pub entry_id: EntryId,
    /// The id of the journal row that gives the rest back.
    pub rest_entry_id: EntryId,
    /// The time.
    pub now: DateTime<Utc>,
}

/// What becomes of a hold: itself, its account, and the journal rows of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldChange {
    /// The hold, afterwards.
    pub hold: Hold,
    /// The account after each row.
    pub accounts: Vec<Account>,
    /// The rows, in the order of the account's versions.
    pub entries: Vec<Entry>,
    /// What was taken, if something was.
    pub capture: Option<HoldCapture>,
}

/// The hold has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the hold {hold_id} is {}", .status.as_str())]
pub struct HoldNotActive {
    /// The hold.
    pub hold_id: HoldId,
    /// How it ended.
    pub status: HoldStatus,
}

/// Why nothing is taken of a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CaptureRefusal {
    /// The hold has ended.
    #[error(transparent)]
    NotActive(#[from] HoldNotActive),
    /// The hold is in another currency.
    #[error("the hold is in {hold_currency}, not {given}")]
    CurrencyMismatch {
        /// What the hold is in.
        hold_currency: Currency,
        /// What was to be taken.
        given: Currency,
    },
    /// More was to be taken than is left.
    #[error("{required} is to be taken and {left} is left of the hold")]
    ExceedsHold {
        /// What is left.
        left: Amount,
        /// What was to be taken.
        required: Amount,
    },
}

/// Why a hold does not expire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExpiryRefusal {
    /// It has ended already.
    #[error(transparent)]
    NotActive(#[from] HoldNotActive),
    /// Its time is not over.
    #[error("the hold {0} is not due")]
    NotDue(HoldId),
}

/// Freezes money: it moves from what the account has available to what it has held.
pub fn place(account: &Account, placement: HoldPlacement) -> Result<HoldChange, DebitRefusal> {
    let HoldPlacement { hold_id, entry_id, purpose, amount, expires_at, now } = placement;
    let frozen = account.frozen(amount)?;
    let hold = Hold {
        client_id: account.client_id,
        id: hold_id,
        account_id: account.id,
        purpose,
        amount,
        captured: Amount::zero(amount.currency()),
        status: HoldStatus::Active,
        expires_at,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    let sides = (Side::after(&frozen), Side::Held(account.id));
    let entry = entry(&hold, entry_id, EntryKind::Hold, amount, sides, now);
    Ok(HoldChange { hold, accounts: vec![frozen], entries: vec![entry], capture: None })
}

/// Takes frozen money, which becomes the client's revenue. The last capture gives the rest back.
///
/// # Panics
///
/// If the account is not the hold's.
pub fn capture(account: &Account, hold: &Hold, capturing: Capturing) -> Result<HoldChange, CaptureRefusal> {
    assert_is_of(hold, account);
    let Capturing { amount, last, reference, entry_id, rest_entry_id, now } = capturing;
    hold.active_at(now)?;
    let left = hold.left();
    let amount = amount.unwrap_or(left);
    let hold_currency = left.currency();
    if amount.currency() != hold_currency {
        return Err(CaptureRefusal::CurrencyMismatch { hold_currency, given: amount.currency() });
    }
    let Ok(rest) = left.checked_sub(amount) else {
        return Err(CaptureRefusal::ExceedsHold { left, required: amount });
    };

    let revenue = Side::Collecting(Collecting {
        client_id: hold.client_id,
        name: CollectingName::Revenue,
        currency: hold_currency,
    });
    let debited = account.held_debited(amount);
    let sides = (Side::after(&debited), revenue);
    let taken = entry(hold, entry_id, EntryKind::HoldCapture, amount, sides, now);
    let mut entries = vec![Entry { reference: reference.clone().or(taken.reference), ..taken }];
    let mut accounts = vec![debited];
    let ends = last || rest.is_zero();
    if ends && !rest.is_zero() {
        let thawed = accounts[0].thawed(rest);
        let sides = (Side::Held(account.id), Side::after(&thawed));
        entries.push(entry(hold, rest_entry_id, EntryKind::HoldRelease, rest, sides, now));
        accounts.push(thawed);
    }
    let (client_id, hold_id) = (hold.client_id, hold.id);
    Ok(HoldChange {
        hold: Hold {
            captured: hold.captured.checked_add(amount).expect("no more is taken than was frozen"),
            status: if ends { HoldStatus::Captured } else { HoldStatus::Active },
            version: hold.version + 1,
            updated_at: now,
            ..hold.clone()
        },
        accounts,
        entries,
        capture: Some(HoldCapture { client_id, hold_id, entry_id, reference, amount, created_at: now }),
    })
}

/// Gives all that is left of a hold back, at the client's word.
///
/// # Panics
///
/// If the account is not the hold's.
pub fn release(
    account: &Account,
    hold: &Hold,
    entry_id: EntryId,
    now: DateTime<Utc>,
) -> Result<HoldChange, HoldNotActive> {
    hold.active_at(now)?;
    Ok(give_back(account, hold, HoldStatus::Released, entry_id, now))
}

/// Gives all that is left of a hold back, because its time is over.
///
/// # Panics
///
/// If the account is not the hold's.
pub fn expire(
    account: &Account,
    hold: &Hold,
    entry_id: EntryId,
    now: DateTime<Utc>,
) -> Result<HoldChange, ExpiryRefusal> {
    match (hold.status, hold.status_at(now)) {
        (HoldStatus::Active, HoldStatus::Expired) => {
            Ok(give_back(account, hold, HoldStatus::Expired, entry_id, now))
        }
        (HoldStatus::Active, _) => Err(ExpiryRefusal::NotDue(hold.id)),
        (status, _) => Err(HoldNotActive { hold_id: hold.id, status }.into()),
    }
}

fn give_back(
    account: &Account,
    hold: &Hold,
    status: HoldStatus,
    entry_id: EntryId,
    now: DateTime<Utc>,
) -> HoldChange {
    assert_is_of(hold, account);
    let left = hold.left();
    let thawed = account.thawed(left);
    let kind = match status {
        HoldStatus::Expired => EntryKind::HoldExpiry,
        HoldStatus::Active | HoldStatus::Captured | HoldStatus::Released => EntryKind::HoldRelease,
    };
    let sides = (Side::Held(account.id), Side::after(&thawed));
    HoldChange {
        entries: vec![entry(hold, entry_id, kind, left, sides, now)],
        hold: Hold { status, version: hold.version + 1, updated_at: now, ..hold.clone() },
        accounts: vec![thawed],
        capture: None,
    }
}

fn entry(
    hold: &Hold,
    id: EntryId,
    kind: EntryKind,
    amount: Amount,
    (debit, credit): (Side, Side),
    now: DateTime<Utc>,
) -> Entry {
    let reference = match &hold.purpose {
        HoldPurpose::Client { reference } => Some(reference.clone()),
        HoldPurpose::Order => None,
    };
    let (client_id, cause) = (hold.client_id, hold.cause());
    Entry { client_id, id, kind, amount, debit, credit, reference, cause, created_at: now }
}

fn assert_is_of(hold: &Hold, account: &Account) {
    assert_eq!((hold.client_id, hold.account_id), (account.client_id, account.id), "a hold has one account");
}
