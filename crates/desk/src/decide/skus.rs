//! The catalogue: which skus there are, what they cost, and how many pieces there are of each.

use inventory::{Sku, SkuCode, SkuId, SkuTerms};

use super::{Case, Decision};
use crate::command::SkuCondition;
use crate::working_set::Changes;
use crate::{Outcome, Refusal};

pub(super) fn set(
    case: &mut Case<'_>,
    code: &SkuCode,
    terms: SkuTerms,
    condition: &SkuCondition,
) -> Result<Decision, Refusal> {
    let there = case.set.sku(case.client, code);
    let version = there.map(|sku| sku.version);
    let holds = match condition {
        SkuCondition::Any => true,
        SkuCondition::Exists => version.is_some(),
        SkuCondition::OneOf(versions) => version.is_some_and(|version| versions.contains(&version)),
        SkuCondition::New => version.is_none(),
    };
    if !holds {
        return Err(Refusal::VersionMismatch { sku: code.clone(), version });
    }
    let sku = match there {
        Some(sku) => sku.set(terms, case.now)?,
        None => Sku::new(case.client, SkuId(case.ids.take()), code.clone(), terms, case.now),
    };
    let changes = Changes { skus: vec![sku.clone()], ..Changes::default() };
    Ok(Decision { outcome: Outcome::SkuSet(sku), changes })
}
