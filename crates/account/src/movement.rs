//! Deposits, withdrawals and transfers: what moves money at a client's word.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use uuid::Uuid;

use crate::{
    Account, AccountId, Cause, Collecting, CollectingName, CreditRefusal, DebitRefusal, Entry, EntryId,
    EntryKind, Side,
};

/// Identifies a movement: UUID version 7.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct MovementId(pub Uuid);

/// The kinds of movement. A reference is unique per client and kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MovementKind {
    /// Money comes in from outside.
    Deposit,
    /// Money goes outside.
    Withdrawal,
    /// Money goes from one customer's account to another.
    Transfer,
}

impl MovementKind {
    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Withdrawal => "withdrawal",
            Self::Transfer => "transfer",
        }
    }

    /// The kind of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "deposit" => Some(Self::Deposit),
            "withdrawal" => Some(Self::Withdrawal),
            "transfer" => Some(Self::Transfer),
            _ => None,
        }
    }
}

/// Between whom the money moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parties {
    /// From outside into an account.
    Deposit {
        /// The account that receives.
        to: AccountId,
    },
    /// From an account to the outside.
    Withdrawal {
        /// The account that pays.
        from: AccountId,
    },
    /// From one account to another.
    Transfer {
        /// The account that pays.
        from: AccountId,
        /// The account that receives.
        to: AccountId,
    },
}

impl Parties {
    /// The kind of movement.
    pub fn kind(&self) -> MovementKind {
        match self {
            Self::Deposit { .. } => MovementKind::Deposit,
            Self::Withdrawal { .. } => MovementKind::Withdrawal,
            Self::Transfer { .. } => MovementKind::Transfer,
        }
    }

    /// The account that pays, if it is a customer's.
    pub fn from(&self) -> Option<AccountId> {
        match self {
            Self::Deposit { .. } => None,
            Self::Withdrawal { from } | Self::Transfer { from, .. } => Some(*from),
        }
    }

    /// The account that receives, if it is a customer's.
    pub fn to(&self) -> Option<AccountId> {
        match self {
            Self::Withdrawal { .. } => None,
            Self::Deposit { to } | Self::Transfer { to, .. } => Some(*to),
        }
    }
}

/// A movement that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Movement {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: MovementId,
    /// Between whom it moved.
    pub parties: Parties,
    /// The client's own name for it, unique per client and kind for ever.
    pub reference: String,
    /// How much moved; more than zero.
    pub amount: Amount,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
}

/// What a movement changes: itself, its journal row, and the customers' accounts as they are then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The movement.
    pub movement: Movement,
    /// Its row in the journal.
    pub entry: Entry,
    /// The accounts it touched, after it.
    pub accounts: Vec<Account>,
}

/// What a movement is called and when it is decided: made by the caller, who alone knows clocks and ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Particulars {
    /// The movement's id.
    pub movement_id: MovementId,
    /// The id of its journal row.
    pub entry_id: EntryId,
    /// The client's own name for it.
    pub reference: String,
    /// The time.
    pub now: DateTime<Utc>,
}

/// Why a transfer is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransferRefusal {
    /// The paying account cannot pay.
    #[error(transparent)]
    Debit(#[from] DebitRefusal),
    /// The receiving account cannot receive.
    #[error(transparent)]
    Credit(#[from] CreditRefusal),
}

/// Money comes in from outside.
pub fn deposit(account: &Account, amount: Amount, particulars: Particulars) -> Result<Moved, CreditRefusal> {
    let after = account.credited(amount)?;
    let outside = collecting(account, CollectingName::Outside, amount);
    Ok(moved(
        Parties::Deposit { to: account.id },
        amount,
        particulars,
        outside,
        Side::after(&after),
        vec![after],
    ))
}

/// Money goes outside.
pub fn withdraw(account: &Account, amount: Amount, particulars: Particulars) -> Result<Moved, DebitRefusal> {
    let after = account.debited(amount)?;
    let outside = collecting(account, CollectingName::Outside, amount);
    Ok(moved(
        Parties::Withdrawal { from: account.id },
        amount,
        particulars,
        Side::after(&after),
        outside,
        vec![after],
    ))
}

/// Money goes from one customer's account to another, of the same client and currency.
///
/// # Panics
///
/// If both are the same account: such a request is refused before it is a command, and here it would make money.
pub fn transfer(
    from: &Account,
    to: &Account,
    amount: Amount,
    particulars: Particulars,
) -> Result<Moved, TransferRefusal> {
    assert_ne!(from.id, to.id, "a transfer needs two accounts");
    assert_eq!(from.client_id, to.client_id, "money never leaves its client");
    let paying = from.debited(amount)?;
    let receiving = to.credited(amount)?;
    Ok(moved(
        Parties::Transfer { from: from.id, to: to.id },
        amount,
        particulars,
        Side::after(&paying),
        Side::after(&receiving),
        vec![paying, receiving],
    ))
}

fn collecting(account: &Account, name: CollectingName, amount: Amount) -> Side {
    Side::Collecting(Collecting { client_id: account.client_id, name, currency: amount.currency() })
}

fn moved(
    parties: Parties,
    amount: Amount,
    particulars: Particulars,
    debit: Side,
    credit: Side,
    accounts: Vec<Account>,
) -> Moved {
    let Particulars { movement_id, entry_id, reference, now } = particulars;
    let client_id = accounts[0].client_id;
    let kind = match parties.kind() {
        MovementKind::Deposit => EntryKind::Deposit,
        MovementKind::Withdrawal => EntryKind::Withdrawal,
        MovementKind::Transfer => EntryKind::Transfer,
    };
    Moved {
        entry: Entry {
            client_id,
            id: entry_id,
            kind,
            amount,
            debit,
            credit,
            reference: Some(reference.clone()),
            cause: Cause::Movement(movement_id),
            created_at: now,
        },
        movement: Movement { client_id, id: movement_id, parties, reference, amount, created_at: now },
        accounts,
    }
}
