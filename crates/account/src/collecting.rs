//! Collecting accounts: the other side of what customers' accounts receive and pay.
//!
//! Nothing is ever decided on the balance of a collecting account, so it has no balance row: an order credits
//! revenue without every order of the client waiting for one row. Its balance is the sum of its journal rows,
//! kept cheap to read by a roll-up (the table `collecting_totals`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use client::ClientId;
use money::Currency;
use rust_decimal::Decimal;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{AccountId, Entry, Side};

/// What a collecting account collects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CollectingName {
    /// The world outside, where deposits come from and withdrawals go to.
    Outside,
    /// What the client has earned by orders.
    Revenue,
    /// What a payment provider, by its word, has for the client: received, and not given back by it.
    Clearing(&'static str),
    /// What providers have received that has paid nothing: mismatched, late, too much, or for nobody known.
    UnappliedReceipts,
    /// What is owed back to payers.
    RefundsOwed,
}

impl CollectingName {
    /// The word for it in the database and in the API.
    pub fn word(self) -> Cow<'static, str> {
        match self {
            Self::Outside => Cow::Borrowed("outside"),
            Self::Revenue => Cow::Borrowed("revenue"),
            Self::Clearing(provider) => Cow::Owned(format!("clearing:{provider}")),
            Self::UnappliedReceipts => Cow::Borrowed("unapplied_receipts"),
            Self::RefundsOwed => Cow::Borrowed("refunds_owed"),
        }
    }
}

/// A collecting account: one per client, name and currency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Collecting {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// What it collects.
    pub name: CollectingName,
    /// The currency it collects.
    pub currency: Currency,
}

impl Collecting {
    /// Its identity, computed from what it is (UUID version 8, RFC 9562), so that nobody need look it up.
    pub fn id(&self) -> AccountId {
        let mut hash = Sha256::new();
        hash.update(b"onefold collecting account\0");
        hash.update(self.client_id.0.as_bytes());
        hash.update(self.currency.code().as_bytes());
        hash.update(self.name.word().as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        AccountId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

/// What the rows of one transaction add to a collecting account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectingTotal {
    /// The account.
    pub account: Collecting,
    /// The identity of this addition: that of the first journal row in it.
    pub total_id: Uuid,
    /// The sum of the rows that debit it.
    pub debits: Decimal,
    /// The sum of the rows that credit it.
    pub credits: Decimal,
}

/// Adds up, for each collecting account, the rows of one transaction.
///
/// The sums are kept in minor units of 128 bits: a transaction holds far fewer rows than could overflow that.
pub fn totals(entries: &[Entry]) -> Vec<CollectingTotal> {
    let mut sums: BTreeMap<Collecting, (Uuid, i128, i128)> = BTreeMap::new();
    for entry in entries {
        let minor_units = i128::try_from(entry.amount.minor_units()).unwrap_or(i128::MAX);
        if let Side::Collecting(account) = entry.debit {
            sums.entry(account).or_insert((entry.id.0, 0, 0)).1 += minor_units;
        }
        if let Side::Collecting(account) = entry.credit {
            sums.entry(account).or_insert((entry.id.0, 0, 0)).2 += minor_units;
        }
    }
    sums.into_iter()
        .map(|(account, (total_id, debits, credits))| CollectingTotal {
            account,
            total_id,
            debits: Decimal::from_i128_with_scale(debits, account.currency.minor_unit()),
            credits: Decimal::from_i128_with_scale(credits, account.currency.minor_unit()),
        })
        .collect()
}
