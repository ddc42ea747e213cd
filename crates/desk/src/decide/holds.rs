//! Freezing money of an account, taking it, and giving it back.

use account::hold::{self, Capturing, HoldChange, HoldPlacement};
use account::{Account, AccountId, EntryId, Hold, HoldId, HoldPurpose};
use chrono::TimeDelta;
use money::Amount;
use order::OrderId;

use super::{Case, Decision};
use crate::command::CaptureTerms;
use crate::working_set::Changes;
use crate::{Outcome, Refusal};

pub(super) fn place(
    case: &mut Case<'_>,
    account_id: AccountId,
    amount: Amount,
    reference: &str,
    expires_in_s: Option<u32>,
) -> Result<Decision, Refusal> {
    let account = case.account(account_id)?;
    if let Some(existing) = case.set.hold_with(case.client, reference) {
        return Err(Refusal::DuplicateReference { kind: "hold", existing: existing.0 });
    }
    let placement = HoldPlacement {
        hold_id: HoldId(case.ids.take()),
        entry_id: case.entry_id(),
        purpose: HoldPurpose::Client { reference: reference.to_owned() },
        amount,
        expires_at: expires_in_s.map(|seconds| case.now + TimeDelta::seconds(seconds.into())),
        now: case.now,
    };
    Ok(decision(hold::place(account, placement)?, Outcome::HoldPlaced))
}

pub(super) fn capture(
    case: &mut Case<'_>,
    hold_id: HoldId,
    terms: &CaptureTerms,
) -> Result<Decision, Refusal> {
    let (hold, account) = find(case, hold_id)?;
    let capturing = capturing(case, hold_id, terms)?;
    Ok(decision(hold::capture(account, hold, capturing)?, Outcome::HoldCaptured))
}

pub(super) fn release(case: &mut Case<'_>, hold_id: HoldId) -> Result<Decision, Refusal> {
    let (hold, account) = find(case, hold_id)?;
    let entry_id = case.entry_id();
    Ok(decision(hold::release(account, hold, entry_id, case.now)?, Outcome::HoldReleased))
}

pub(super) fn expire(case: &mut Case<'_>, hold_id: HoldId) -> Result<Decision, Refusal> {
    let (hold, account) = find(case, hold_id)?;
    let entry_id = case.entry_id();
    Ok(decision(hold::expire(account, hold, entry_id, case.now)?, Outcome::HoldExpired))
}

/// What a capture is to take, once its reference is known to be free.
pub(super) fn capturing(
    case: &mut Case<'_>,
    hold_id: HoldId,
    terms: &CaptureTerms,
) -> Result<Capturing, Refusal> {
    let CaptureTerms { amount, last, reference } = terms;
    let taken = reference.as_deref().and_then(|text| case.set.capture_with(case.client, hold_id, text));
    if let Some(EntryId(existing)) = taken {
        return Err(Refusal::DuplicateReference { kind: "capture", existing });
    }
    Ok(Capturing {
        amount: *amount,
        last: *last,
        reference: reference.clone(),
        entry_id: case.entry_id(),
        rest_entry_id: case.entry_id(),
        now: case.now,
    })
}

/// A hold that the client may move by itself, and its account.
fn find<'c>(case: &Case<'c>, id: HoldId) -> Result<(&'c Hold, &'c Account), Refusal> {
    let hold = case.set.hold(case.client, id).ok_or(Refusal::HoldNotFound(id))?;
    match hold.purpose {
        HoldPurpose::Client { .. } => Ok((hold, case.account(hold.account_id)?)),
        HoldPurpose::Order => Err(Refusal::HoldOfOrder(OrderId(id.0))),
    }
}

fn decision(change: HoldChange, outcome: fn(Hold) -> Outcome) -> Decision {
    Decision { outcome: outcome(change.hold.clone()), changes: changes(change) }
}

/// The rows of what becomes of a hold.
pub(super) fn changes(change: HoldChange) -> Changes {
    let HoldChange { hold, accounts, entries, capture } = change;
    Changes {
        accounts,
        holds: vec![hold],
        captures: capture.into_iter().collect(),
        entries,
        ..Changes::default()
    }
}
