//! What can be read when a script is over, compared with what the model has.

use std::collections::BTreeSet;

use onefold_tests::http::{Caller, Exchange};
use serde_json::{Value, json};

use crate::model::{Answer, printed};
use crate::request::{Id, Who};
use crate::stage::{Stage, essence};
use crate::told::{account_json, line_json, same, without_times};

/// Reads everything that a client can, and asks for what it cannot.
pub(crate) async fn compare_all(stage: &Stage, who: Who) -> Result<(), String> {
    accounts(stage, who).await?;
    orders_and_movements(stage, who).await?;
    statements(stage, who).await?;
    collecting_accounts(stage, who).await?;
    keys(stage, who).await?;
    what_is_not_there(stage, who).await
}

async fn accounts(stage: &Stage, who: Who) -> Result<(), String> {
    let caller = &stage.callers[&who];
    let mut expected = Vec::new();
    for account in stage.model.books(who).accounts.iter().rev() {
        let read = get(caller, &stage.names.path(account.id)).await?.json();
        expected.push(account_json(account, &stage.names));
        same("the account", &without_times(&read)?, &expected[expected.len() - 1])?;
    }
    let listed = list(caller, "/v1/accounts", 4).await?;
    same("the list of accounts", &all_without_times(&listed)?, &expected)
}

/// Each reads as the answer that made it, for nothing that the scripts do changes one.
async fn orders_and_movements(stage: &Stage, who: Who) -> Result<(), String> {
    let caller = &stage.callers[&who];
    let mut orders = Vec::new();
    for (key, record) in &stage.model.books(who).records {
        let made = match &record.answer {
            Answer::Moved(movement) => movement.id,
            Answer::Placed(order) => order.id,
            Answer::Opened(_) | Answer::Closed(_) | Answer::Problem(_) => continue,
        };
        let first = &stage.firsts[&(who, key.clone())];
        let read = get(caller, &stage.names.path(made)).await?;
        same("what was made", &essence(&read).3, &essence(first).3)?;
        if let Answer::Placed(order) = &record.answer {
            let number = percent_encoded(&order.number);
            let found = list(caller, &format!("/v1/orders?client_order_no={number}"), 1).await?;
            same("the order of that number", &found, &vec![first.json()])?;
            orders.push((order.id, first.json()));
        }
    }
    orders.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    let expected: Vec<Value> = orders.into_iter().map(|(_, body)| body).collect();
    same("the list of orders", &list(caller, "/v1/orders", 3).await?, &expected)
}

pub(crate) async fn statements(stage: &Stage, who: Who) -> Result<(), String> {
    for account in &stage.model.books(who).accounts {
        let path = format!("{}/entries", stage.names.path(account.id));
        let mut ids = BTreeSet::new();
        let mut lines = all_without_times(&list(&stage.callers[&who], &path, 3).await?)?;
        for line in &mut lines {
            let id = line.as_object_mut().and_then(|line| line.remove("id")).unwrap_or_default();
            if !ids.insert(id.to_string()) || !id.is_string() {
                return Err(format!("a line of a statement has the id {id}"));
            }
            // Which key it was that made the line is a matter of tests/http/statements.rs: here many may have tried it.
            let key =
                line.as_object_mut().and_then(|line| line.remove("idempotency_key")).unwrap_or_default();
            if !key.is_string() {
                return Err(format!("a line of a statement was made under the key {key}"));
            }
        }
        let expected: Vec<Value> = account
            .statement
            .iter()
            .rev()
            .map(|line| line_json(line, &account.currency, &stage.names))
            .collect();
        same(&format!("the statement of {:?}", account.id), &lines, &expected)?;
    }
    Ok(())
}

pub(crate) async fn collecting_accounts(stage: &Stage, who: Who) -> Result<(), String> {
    let read = get(&stage.callers[&who], "/v1/collecting-accounts").await?.json();
    let expected: Vec<Value> = stage
        .model
        .books(who)
        .collecting
        .iter()
        .map(|((name, currency), (debits, credits))| {
            json!({
                "name": name,
                "currency": currency,
                "debits": printed(*debits, currency),
                "credits": printed(*credits, currency),
            })
        })
        .collect();
    same("the collecting accounts", &read["data"], &expected.into())
}

async fn keys(stage: &Stage, who: Who) -> Result<(), String> {
    for (key, record) in &stage.model.books(who).records {
        let first = &stage.firsts[&(who, key.clone())];
        let mut read = get(&stage.callers[&who], &format!("/v1/idempotency-keys/{key}")).await?.json();
        let times: Vec<String> = ["first_seen_at", "completed_at", "expires_at"]
            .iter()
            .map(|name| read.as_object_mut().and_then(|record| record.remove(*name)).unwrap_or_default())
            .map(|time| time.as_str().unwrap_or_default().to_owned())
            .collect();
        if times[0].is_empty() || times[0] > times[1] || times[1] >= times[2] {
            return Err(format!("the times of {key} are {times:?}"));
        }
        let resource = match &record.answer {
            Answer::Opened(account) | Answer::Closed(account) => Some(account.id),
            Answer::Moved(movement) => Some(movement.id),
            Answer::Placed(order) => Some(order.id),
            Answer::Problem(_) => None,
        };
        let expected = json!({
            "key": key,
            "status": if resource.is_some() { "completed" } else { "failed" },
            "operation": record.wish.operation(),
            "resource": resource.map(|id| stage.names.path(id)),
            "attempts": 1,
            "response": { "status": first.status, "body": first.json() },
        });
        same("the record", &read, &expected)?;
    }
    Ok(())
}

/// What is the other client's, and what is nobody's: both are not found.
async fn what_is_not_there(stage: &Stage, who: Who) -> Result<(), String> {
    let other = stage.model.books(who.other());
    let mut paths: Vec<String> = [other.accounts.first().map(|account| account.id)]
        .into_iter()
        .chain([other.movements.first().map(|movement| movement.id)])
        .chain([other.orders.first().map(|order| order.id), Some(Id::Nobody(0)), Some(Id::Rubbish)])
        .flatten()
        .map(|id| stage.names.path(id))
        .collect();
    let mine = &stage.model.books(who).records;
    let others_keys = other.records.keys().filter(|key| !mine.contains_key(*key));
    paths.extend(others_keys.take(3).map(|key| format!("/v1/idempotency-keys/{key}")));
    paths.push(format!("{}/entries", stage.names.path(Id::Nobody(0))));
    for path in paths {
        let read = stage.callers[&who].get(&path).await.map_err(|error| error.to_string())?;
        same(&path, &(read.status, read.slug().as_deref()), &(404, Some("not-found")))?;
    }
    Ok(())
}

async fn get(caller: &Caller, path: &str) -> Result<Exchange, String> {
    let read = caller.get(path).await.map_err(|error| format!("{path}: {error:#}"))?;
    same(path, &read.status, &200)?;
    Ok(read)
}

/// A whole list, page by page.
pub(crate) async fn list(caller: &Caller, path: &str, limit: usize) -> Result<Vec<Value>, String> {
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let joint = if path.contains('?') { '&' } else { '?' };
        let from = cursor.map(|cursor: String| format!("&cursor={cursor}")).unwrap_or_default();
        let page = get(caller, &format!("{path}{joint}limit={limit}{from}")).await?.json();
        let data = page["data"].as_array().ok_or_else(|| format!("{path} is no list: {page}"))?;
        rows.extend(data.iter().cloned());
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        let whole = data.len() == limit || cursor.is_none() && data.len() < limit;
        same(&format!("whether the page fits the limit in {page}"), &whole, &true)?;
        if cursor.is_none() {
            return Ok(rows);
        }
    }
}

fn all_without_times(rows: &[Value]) -> Result<Vec<Value>, String> {
    rows.iter().map(without_times).collect()
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
