//! The comparison of an answer with what the model expects.

use std::collections::{BTreeMap, BTreeSet};

use chrono::DateTime;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::model::{Account, Answer, Counter, Line, Member, Movement, Order, Problem, printed};
use crate::request::{Id, Kind};

/// The service's ids of what the model knows, learned as they are made.
#[derive(Clone, Default)]
pub(crate) struct Names(BTreeMap<Id, Uuid>);

impl Names {
    /// The service's id.
    ///
    /// # Panics
    ///
    /// If the thing was never made: the model is not asked about such a one.
    pub(crate) fn uuid(&self, id: Id) -> Uuid {
        match id {
            Id::Nobody(nth) => Uuid::from_u128(0x0190_0000_0000_7000_8000_00ff_ffff_0000 + u128::from(nth)),
            id => self.0[&id],
        }
    }

    /// How a request spells it.
    pub(crate) fn text(&self, id: Id) -> String {
        if id == Id::Rubbish { "no-id".to_owned() } else { self.uuid(id).to_string() }
    }

    /// Where it is.
    pub(crate) fn path(&self, id: Id) -> String {
        let collection = match id {
            Id::Movement(..) => "movements",
            Id::Order(..) => "orders",
            Id::Account(..) | Id::Nobody(_) | Id::Rubbish => "accounts",
        };
        format!("/v1/{collection}/{}", self.text(id))
    }

    /// Learns the id of something that was made just now: a UUID of version 7 that nothing else has.
    pub(crate) fn learn(&mut self, id: Id, body: &Value) -> Result<(), String> {
        let text = body["id"].as_str().unwrap_or_default();
        let uuid: Uuid = text.parse().map_err(|_| format!("{body} has no id"))?;
        if uuid.get_version_num() != 7 || uuid.to_string() != text {
            return Err(format!("{text} is not an id as the service makes them"));
        }
        if let Some((known, _)) = self.0.iter().find(|(_, known)| **known == uuid) {
            return Err(format!("{text} is made again: it was {known:?} and is to be {id:?}"));
        }
        self.0.insert(id, uuid);
        Ok(())
    }
}

/// An answer, as it was told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) location: Option<String>,
    pub(crate) body: Value,
    /// The id of the request that it answers.
    pub(crate) request_id: String,
}

/// Compares an answer with what was expected, and learns the id of what it made.
pub(crate) fn compare(expected: &Answer, told: &Told, names: &mut Names) -> Result<(), String> {
    let (status, made) = match expected {
        Answer::Opened(account) => (201, Some(account.id)),
        Answer::Moved(movement) => (201, Some(movement.id)),
        Answer::Placed(order) => (201, Some(order.id)),
        Answer::Closed(_) => (200, None),
        Answer::Problem(problem) => (problem.status, None),
    };
    same("the status", &told.status, &status)?;
    if let Some(id) = made {
        names.learn(id, &told.body)?;
    }
    same("the Location", &told.location, &made.map(|id| names.path(id)))?;
    let content_type = match expected {
        Answer::Problem(_) => "application/problem+json",
        _ => "application/json",
    };
    same("the Content-Type", &told.content_type.as_str(), &content_type)?;
    match expected {
        Answer::Opened(account) | Answer::Closed(account) => {
            same("the account", &without_times(&told.body)?, &account_json(account, names))
        }
        Answer::Moved(movement) => {
            same("the movement", &without_times(&told.body)?, &movement_json(movement, names))
        }
        Answer::Placed(order) => same("the order", &without_times(&told.body)?, &order_json(order, names)),
        Answer::Problem(problem) => {
            same("the problem", &without_prose(told)?, &problem_json(problem, names))?;
            let pointers: BTreeSet<&str> = problem.pointers.iter().copied().collect();
            same("what the errors point to", &pointed_to(&told.body), &pointers)
        }
    }
}

/// Two things that should be equal.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, told: &T, expected: &T) -> Result<(), String> {
    if told == expected { Ok(()) } else { Err(format!("{what} is {told:?}, and should be {expected:?}")) }
}

pub(crate) fn account_json(account: &Account, names: &Names) -> Value {
    let available = printed(account.available, &account.currency);
    json!({
        "id": names.text(account.id),
        "owner": account.owner,
        "currency": account.currency,
        "available": available,
        "held": printed(0, &account.currency),
        "balance": available,
        "version": account.version,
        "status": if account.closed { "closed" } else { "open" },
    })
}

fn movement_json(movement: &Movement, names: &Names) -> Value {
    let mut body = json!({
        "id": names.text(movement.id),
        "kind": movement.kind.word(),
        "amount": printed(movement.minor_units, &movement.currency),
        "currency": movement.currency,
        "reference": movement.reference,
    });
    let (from, to) = match movement.kind {
        Kind::Deposit | Kind::Withdrawal => ("account_id", "account_id"),
        Kind::Transfer => ("from_account_id", "to_account_id"),
    };
    for (field, id) in [(from, movement.from), (to, movement.to)] {
        if let Some(id) = id {
            body[field] = names.text(id).into();
        }
    }
    body
}

fn order_json(order: &Order, names: &Names) -> Value {
    let amount = printed(order.minor_units, &order.currency);
    json!({
        "id": names.text(order.id),
        "client_order_no": order.number,
        "account_id": names.text(order.account),
        "currency": order.currency,
        "amount": amount,
        "captured_amount": amount,
        "refunded_amount": printed(0, &order.currency),
        "status": "paid",
        "items": [],
        "payment": { "method": "balance" },
        "version": 1,
    })
}

/// A line of a statement; its own id is the service's affair.
pub(crate) fn line_json(line: &Line, currency: &str, names: &Names) -> Value {
    let mut body = json!({
        "kind": line.kind,
        "direction": line.direction,
        "amount": printed(line.minor_units, currency),
        "currency": currency,
        "counter_account": match line.counter {
            Counter::Account(id) => names.text(id),
            Counter::Collecting(name) => name.to_owned(),
        },
        "available_after": printed(line.available_after, currency),
        "held_after": printed(0, currency),
        "account_version": line.version,
    });
    if let Some(reference) = &line.reference {
        body["reference"] = reference.as_str().into();
    }
    if let Some(order) = line.order {
        body["order_id"] = names.text(order).into();
    }
    body
}

fn problem_json(problem: &Problem, names: &Names) -> Value {
    let mut body = json!({
        "type": format!("/problems/{}", problem.slug),
        "status": problem.status,
        "retryable": false,
    });
    for (name, member) in &problem.members {
        body[*name] = match member {
            Member::Text(text) => text.as_str().into(),
            Member::Id(id) => names.text(*id).into(),
        };
    }
    body
}

/// The body without its times, once they are seen to be times in UTC.
pub(crate) fn without_times(body: &Value) -> Result<Value, String> {
    let mut rest = object(body)?;
    for name in ["created_at", "updated_at"] {
        if let Some(time) = rest.remove(name) {
            let text = time.as_str().unwrap_or_default();
            if DateTime::parse_from_rfc3339(text).is_err() || !text.ends_with('Z') {
                return Err(format!("{name} is {time}, which is no time in UTC"));
            }
        }
    }
    Ok(rest.into())
}

/// A problem without its words for people, once they are seen to be there, and without what is looked at by itself.
fn without_prose(told: &Told) -> Result<Value, String> {
    let mut rest = object(&told.body)?;
    for name in ["title", "detail"] {
        let text = rest.remove(name).unwrap_or_default();
        if text.as_str().unwrap_or_default().is_empty() {
            return Err(format!("the problem has no {name}: {}", told.body));
        }
    }
    let instance = rest.remove("instance").unwrap_or_default();
    same("the problem's instance", &instance.as_str(), &Some(told.request_id.as_str()))?;
    rest.remove("errors");
    Ok(rest.into())
}

fn pointed_to(problem: &Value) -> BTreeSet<&str> {
    let errors = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().filter_map(|error| error["pointer"].as_str()).collect()
}

fn object(body: &Value) -> Result<Map<String, Value>, String> {
    body.as_object().cloned().ok_or_else(|| format!("{body} is no object"))
}
