//! The accounts of a run: opened and funded through the API like anybody's.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use serde::Deserialize;

use crate::caller::{Asked, Caller};
use crate::plan::{Plan, Target};
use crate::request::{CURRENCY, FUNDS_MINOR_UNITS, Requests, amount};
use crate::{Error, ledger};

/// Connections that prepare and audit a run at the same time.
pub const CONNECTIONS: usize = 64;

/// How long one request before or after the load is tried.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Somebody who prepares or audits a run: everything must be answered, and answered with success.
#[derive(Debug)]
pub struct Clerk<'a> {
    caller: Caller,
    requests: &'a Requests,
    target: &'a Target,
    request: String,
}

impl<'a> Clerk<'a> {
    /// A clerk with a connection of its own.
    pub fn new(address: SocketAddr, requests: &'a Requests, target: &'a Target) -> Self {
        Self { caller: Caller::new(address), requests, target, request: String::new() }
    }

    /// Reads what is at a path.
    pub async fn get(&mut self, what: &'static str, path: &str) -> Result<&[u8], Error> {
        self.requests.get(&mut self.request, path);
        self.ask(what).await
    }

    /// Asks for an effect under a key.
    pub async fn post(
        &mut self,
        what: &'static str,
        path: &str,
        key: &str,
        body: &[&str],
    ) -> Result<&[u8], Error> {
        self.requests.post(&mut self.request, path, key, body);
        self.ask(what).await
    }

    /// Says what shall be at a path.
    pub async fn put(&mut self, what: &'static str, path: &str, body: &[&str]) -> Result<&[u8], Error> {
        self.requests.put(&mut self.request, path, body);
        self.ask(what).await
    }

    /// Places an order under a name.
    pub async fn order(&mut self, account_id: &str, name: &str) -> Result<&[u8], Error> {
        self.requests.order(&mut self.request, account_id, name);
        self.ask("cannot place an order").await
    }

    async fn ask(&mut self, what: &'static str) -> Result<&[u8], Error> {
        let mut last = String::new();
        let note = |trouble: crate::caller::Trouble<'_>| last = trouble.to_string();
        let Some(Asked { answer, .. }) =
            self.caller.ask(&self.request, Instant::now() + ANSWER_WITHIN, note).await
        else {
            return Err(Error::Unanswered { what, target: self.target.clone(), last });
        };
        let body = self.caller.body(&answer);
        if (200..300).contains(&answer.status) {
            return Ok(body);
        }
        let body = String::from_utf8_lossy(body).chars().take(400).collect();
        Err(Error::Answered { what, status: answer.status, body })
    }
}

/// Opens and funds the accounts of a run; answers their ids. `watch` is told how many are ready, from time to time.
pub async fn open(
    plan: &Plan,
    run: &str,
    address: SocketAddr,
    requests: &Requests,
    mut watch: impl FnMut(usize),
) -> Result<Vec<String>, Error> {
    let count = plan.accounts_opened();
    let ids = RefCell::new(vec![String::new(); count]);
    let (next, ready) = (Cell::new(0), Cell::new(0));
    let watch = RefCell::new(&mut watch);
    let clerks = (0..CONNECTIONS.min(count)).map(async |_| {
        let mut clerk = Clerk::new(address, requests, &plan.target);
        while next.get() < count {
            let index = next.replace(next.get() + 1);
            let id = open_one(&mut clerk, run, index).await?;
            ids.borrow_mut()[index] = id;
            ready.set(ready.get() + 1);
            (watch.borrow_mut())(ready.get());
        }
        Ok::<_, Error>(())
    });
    try_join_all(clerks).await?;
    Ok(ids.into_inner())
}

async fn open_one(clerk: &mut Clerk<'_>, run: &str, index: usize) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Opened {
        id: String,
    }
    const OPEN: &str = "cannot open an account";
    let owner = format!("{run}-{index}");
    let body = [r#"{"currency":""#, CURRENCY, r#"","owner":""#, &owner, r#""}"#];
    let opened = clerk.post(OPEN, "/v1/accounts", &format!("{run}-open-{index}"), &body).await?;
    let Opened { id } =
        serde_json::from_slice(opened).map_err(|source| Error::Unreadable { what: OPEN, source })?;

    let reference = format!("{run}-fund-{index}");
    let funds = amount(FUNDS_MINOR_UNITS);
    let path = format!("/v1/accounts/{id}/deposits");
    let body =
        [r#"{"amount":""#, &funds, r#"","currency":""#, CURRENCY, r#"","reference":""#, &reference, r#""}"#];
    clerk.post("cannot fund an account", &path, &reference, &body).await?;
    Ok(id)
}

/// An order that was answered before the load began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The order's name.
    pub name: String,
    /// The answer's body.
    pub body: Box<[u8]>,
}

/// Places one order on each account, under the names of thread `thread`; answers them in the order of the accounts.
pub async fn place_one_on_each(
    plan: &Plan,
    run: &str,
    thread: usize,
    address: SocketAddr,
    requests: &Requests,
    ids: &[String],
) -> Result<Vec<Answered>, Error> {
    let answered = RefCell::new(vec![Answered { name: String::new(), body: Box::default() }; ids.len()]);
    let next = Cell::new(0);
    let clerks = (0..CONNECTIONS.min(ids.len())).map(async |_| {
        let mut clerk = Clerk::new(address, requests, &plan.target);
        while next.get() < ids.len() {
            let index = next.replace(next.get() + 1);
            let mut name = String::new();
            ledger::write_name(&mut name, run, thread, index);
            let body = clerk.order(&ids[index], &name).await?.into();
            answered.borrow_mut()[index] = Answered { name, body };
        }
        Ok::<_, Error>(())
    });
    try_join_all(clerks).await?;
    Ok(answered.into_inner())
}
