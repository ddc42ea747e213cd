//! A customer's account: what it has, and the rules that change it.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::{Amount, ArithmeticError, Currency};
use uuid::Uuid;

/// Identifies an account: UUID version 7, made by the service.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct AccountId(pub Uuid);

/// Whether an account still moves money.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountStatus {
    /// Money may come and go.
    Open,
    /// Empty for ever.
    Closed,
}

impl AccountStatus {
    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "open" => Some(Self::Open),
            "closed" => Some(Self::Closed),
            _ => None,
        }
    }
}

/// An account: money of one currency, held for one owner.
///
/// `available` + `held` = balance; none is ever negative. `version` is 0 for a new account; each journal row of
/// the account raises it by one, and so does closing it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: AccountId,
    /// The client's own name for the holder, 1–64 characters.
    pub owner: String,
    /// The one currency it holds.
    pub currency: Currency,
    /// Whether money may still come and go.
    pub status: AccountStatus,
    /// What can be spent.
    pub available: Amount,
    /// What is frozen.
    pub held: Amount,
    /// How many changes it has seen.
    pub version: i64,
    /// When it was opened.
    pub created_at: DateTime<Utc>,
}

/// Why money cannot come into an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CreditRefusal {
    /// The account holds another currency.
    #[error("the account holds {account_currency}, not {given}")]
    CurrencyMismatch {
        /// What the account holds.
        account_currency: Currency,
        /// What was to come in.
        given: Currency,
    },
    /// The account is closed.
    #[error("the account {0} is closed")]
    Closed(AccountId),
    /// The balance would pass the 18 integer digits that an amount can have.
    #[error("the balance would leave the range that an amount can represent")]
    OutOfRange,
}

/// Why money cannot leave an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DebitRefusal {
    /// The account holds another currency.
    #[error("the account holds {account_currency}, not {given}")]
    CurrencyMismatch {
        /// What the account holds.
        account_currency: Currency,
        /// What was to go out.
        given: Currency,
    },
    /// The account is closed.
    #[error("the account {0} is closed")]
    Closed(AccountId),
    /// There is not enough to spend.
    #[error("{required} is required and {available} is available")]
    InsufficientFunds {
        /// What can be spent.
        available: Amount,
        /// What was to go out.
        required: Amount,
    },
}

/// Why an account cannot be closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CloseRefusal {
    /// It is closed already.
    #[error("the account {0} is closed already")]
    Closed(AccountId),
    /// There is money on it, available or held.
    #[error("the account still has {available} available and {held} held")]
    NotEmpty {
        /// What can be spent.
        available: Amount,
        /// What is frozen.
        held: Amount,
    },
}

impl Account {
    /// A new, empty account.
    pub fn open(
        client_id: ClientId,
        id: AccountId,
        owner: String,
        currency: Currency,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            client_id,
            id,
            owner,
            currency,
            status: AccountStatus::Open,
            available: Amount::zero(currency),
            held: Amount::zero(currency),
            version: 0,
            created_at: now,
        }
    }

    /// What the account has in all: `available` + `held`.
    ///
    /// # Panics
    ///
    /// If the two are not amounts of one currency within range: [`Account::credited`] never lets that happen.
    pub fn balance(&self) -> Amount {
        self.available.checked_add(self.held).expect("available and held are of one currency and in range")
    }

    /// The account after `amount` has come in.
    pub fn credited(&self, amount: Amount) -> Result<Self, CreditRefusal> {
        if self.currency != amount.currency() {
            return Err(CreditRefusal::CurrencyMismatch {
                account_currency: self.currency,
                given: amount.currency(),
            });
        }
        if self.status == AccountStatus::Closed {
            return Err(CreditRefusal::Closed(self.id));
        }
        // The balance, not only what is available, must stay in range: held money comes back some day.
        self.balance().checked_add(amount).map_err(|_| CreditRefusal::OutOfRange)?;
        let available = self.available.checked_add(amount).map_err(|_| CreditRefusal::OutOfRange)?;
        Ok(Self { available, version: self.version + 1, ..self.clone() })
    }

    /// Whether the account is one to pay from in this currency, whatever it has: it must hold it, and be open.
    pub fn pays_in(&self, currency: Currency) -> Result<(), DebitRefusal> {
        if self.currency != currency {
            return Err(DebitRefusal::CurrencyMismatch { account_currency: self.currency, given: currency });
        }
        if self.status == AccountStatus::Closed {
            return Err(DebitRefusal::Closed(self.id));
        }
        Ok(())
    }

    /// The account after `amount` of what is available has gone out.
    pub fn debited(&self, amount: Amount) -> Result<Self, DebitRefusal> {
        self.pays_in(amount.currency())?;
        let available = self.available.checked_sub(amount).map_err(|_: ArithmeticError| {
            DebitRefusal::InsufficientFunds { available: self.available, required: amount }
        })?;
        Ok(Self { available, version: self.version + 1, ..self.clone() })
    }

    /// The account after `amount` of what is available has been frozen. Its balance is what it was.
    pub fn frozen(&self, amount: Amount) -> Result<Self, DebitRefusal> {
        let spent = self.debited(amount)?;
        let held = self.held.checked_add(amount).expect("what is held is a part of a balance in range");
        Ok(Self { held, ..spent })
    }

    /// The account after `amount` of what is held has been made available again. Its balance is what it was.
    ///
    /// # Panics
    ///
    /// If so much is not held: a hold cannot be larger than what its account has held, and the books are damaged.
    pub fn thawed(&self, amount: Amount) -> Self {
        let available = self.available.checked_add(amount).expect("a part of a balance in range is in range");
        Self { available, ..self.held_debited(amount) }
    }

    /// The account after `amount` of what is held has gone out. What is available is what it was.
    ///
    /// # Panics
    ///
    /// If so much is not held: a hold cannot be larger than what its account has held, and the books are damaged.
    pub fn held_debited(&self, amount: Amount) -> Self {
        let held =
            self.held.checked_sub(amount).expect("an active hold is a part of what its account has held");
        Self { held, version: self.version + 1, ..self.clone() }
    }

    /// The account closed, which it stays.
    pub fn closed(&self) -> Result<Self, CloseRefusal> {
        if self.status == AccountStatus::Closed {
            return Err(CloseRefusal::Closed(self.id));
        }
        if !(self.available.is_zero() && self.held.is_zero()) {
            return Err(CloseRefusal::NotEmpty { available: self.available, held: self.held });
        }
        Ok(Self { status: AccountStatus::Closed, version: self.version + 1, ..self.clone() })
    }
}
