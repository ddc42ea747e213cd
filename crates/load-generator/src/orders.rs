//! One connection that places orders, and sends some of them again.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use futures::future::join;
use rand::rngs::StdRng;

use crate::answer::Answer;
use crate::caller::{Caller, Sent};
use crate::ledger::{Ledger, State, write_name};
use crate::pace::{Pacer, Window};
use crate::request::Requests;
use crate::spread::Picker;
use crate::tally::{Live, Tally};

/// What the connections of one thread have in common.
#[derive(Debug)]
pub struct Thread {
    /// Its place among the threads, a part of its orders' names.
    pub thread: usize,
    /// The name of the run.
    pub run: Arc<str>,
    /// The server.
    pub address: SocketAddr,
    /// What every request begins with.
    pub requests: Requests,
    /// The moments of the run.
    pub window: Window,
    /// The ids of the run's accounts.
    pub account_ids: Arc<[String]>,
    /// Which account is next.
    pub picker: Picker,
    /// What chance is drawn from.
    pub dice: RefCell<StdRng>,
    /// The share of orders to be sent again, 0 to 100.
    pub duplicates_percent: u8,
    /// Orders entered so far that the share is counted over.
    pub duplicates_due: Cell<u64>,
    /// What is known of each order.
    pub ledger: RefCell<Ledger>,
    /// What is counted and timed.
    pub tally: RefCell<Tally>,
    /// What others can watch.
    pub live: Arc<Live>,
}

/// Whether and when an order is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Again {
    Never,
    Concurrently,
    Afterwards,
}

impl Thread {
    /// Notes something other than success.
    pub fn note(&self, trouble: crate::caller::Trouble<'_>) {
        Live::count(&self.live.troubles);
        self.tally.borrow_mut().trouble(trouble);
    }

    /// Notes an answer that contradicts the contract.
    pub fn contradiction(&self, what: String) {
        self.tally.borrow_mut().contradictions.note(what);
    }

    /// Evenly, not by chance: of each hundred orders exactly the share, and both ways in turns.
    fn again(&self) -> Again {
        let percent = u64::from(self.duplicates_percent);
        let before = self.duplicates_due.get();
        self.duplicates_due.set(before + percent);
        let (last, this) = (before / 100, (before + percent) / 100);
        match this > last {
            false => Again::Never,
            true if this % 2 == 1 => Again::Concurrently,
            true => Again::Afterwards,
        }
    }
}

/// One connection, and a second one for duplicates that are sent at the same time.
#[derive(Debug)]
pub struct OrderConnection<'a> {
    thread: &'a Thread,
    caller: Caller,
    twin: Caller,
    name: String,
    request: String,
    first_body: Vec<u8>,
}

impl<'a> OrderConnection<'a> {
    /// A connection of this thread.
    pub fn new(thread: &'a Thread) -> Self {
        Self {
            thread,
            caller: Caller::new(thread.address),
            twin: Caller::new(thread.address),
            name: String::new(),
            request: String::new(),
            first_body: Vec::new(),
        }
    }

    /// Places orders until the load is over.
    pub async fn run(mut self, pacer: &Pacer) {
        while let Some(due_at) = pacer.due().await {
            self.place(due_at).await;
        }
    }

    async fn place(&mut self, due_at: Instant) {
        let thread = self.thread;
        let account = thread.picker.pick(&mut *thread.dice.borrow_mut());
        let index = thread.ledger.borrow_mut().enter(account);
        write_name(&mut self.name, &thread.run, thread.thread, index);
        thread.requests.order(&mut self.request, &thread.account_ids[account as usize], &self.name);

        let again = thread.again();
        let state = match again {
            Again::Concurrently => self.send_twice().await,
            Again::Never | Again::Afterwards => self.send(1).await,
        };
        thread.ledger.borrow_mut().settle(index, state);
        if state == State::Placed {
            thread.tally.borrow_mut().order(due_at);
            Live::count(&thread.live.orders);
            if again == Again::Afterwards {
                self.send_again().await;
            }
        }
    }

    /// Sends the order until it has a final answer. `first_sending` is 1 if it was never sent before.
    async fn send(&mut self, first_sending: u32) -> State {
        let thread = self.thread;
        let asked =
            self.caller.ask(&self.request, thread.window.gives_up_at, |trouble| thread.note(trouble)).await;
        let Some(asked) = asked else { return State::Unsettled };
        let answer = asked.answer;
        if answer.status == 201 && answer.replayed && asked.sendings + first_sending == 2 {
            thread.contradiction(format!("{}: sent for the first time, and answered by a replay", self.name));
        }
        if answer.status == 201 {
            self.first_body.clear();
            self.first_body.extend_from_slice(self.caller.body(&answer));
        }
        state_of(&answer)
    }

    /// Sends the order on two connections at once. One of them must run; the other is told the same, or that the first is
    /// still running.
    async fn send_twice(&mut self) -> State {
        let thread = self.thread;
        thread.tally.borrow_mut().duplicates.concurrent += 1;
        let (mut note_one, mut note_other) = (
            |trouble: crate::caller::Trouble<'_>| thread.note(trouble),
            |trouble: crate::caller::Trouble<'_>| {
                thread.note(trouble);
            },
        );
        let one = self.caller.send(&self.request, &mut note_one);
        let other = self.twin.send(&self.request, &mut note_other);
        match join(one, other).await {
            (Sent::Final(one), Sent::Final(other)) => {
                self.compare(&one, &other);
                if state_of(&one) == State::Placed { State::Placed } else { state_of(&other) }
            }
            (Sent::Final(answer), Sent::Again { in_progress, .. })
            | (Sent::Again { in_progress, .. }, Sent::Final(answer)) => {
                if in_progress {
                    thread.tally.borrow_mut().duplicates.in_progress += 1;
                }
                state_of(&answer)
            }
            (Sent::Again { .. }, Sent::Again { .. }) => self.send(2).await,
        }
    }

    /// Two final answers to one request: the same one, of which one is a replay.
    fn compare(&self, one: &Answer, other: &Answer) {
        let (one_body, other_body) = (self.caller.body(one), self.twin.body(other));
        if one.status != other.status || one_body != other_body {
            self.thread.contradiction(format!("{}: one request, two answers", self.name));
        } else if one.replayed == other.replayed {
            let what = if one.replayed { "two replays, and no first" } else { "ran twice" };
            self.thread.contradiction(format!("{}: {what}", self.name));
        } else {
            self.thread.tally.borrow_mut().duplicates.replayed += 1;
        }
    }

    /// Sends an order again that has its answer: it must be given the same one.
    async fn send_again(&mut self) {
        let thread = self.thread;
        thread.tally.borrow_mut().duplicates.afterwards += 1;
        let sent_at = Instant::now();
        let asked =
            self.caller.ask(&self.request, thread.window.gives_up_at, |trouble| thread.note(trouble)).await;
        let Some(asked) = asked else {
            return thread.contradiction(format!("{}: answered once, and then never again", self.name));
        };
        let body = self.caller.body(&asked.answer);
        if asked.answer.status != 201 || !asked.answer.replayed || body != self.first_body {
            return thread.contradiction(format!("{}: answered 201, and then otherwise", self.name));
        }
        let mut tally = thread.tally.borrow_mut();
        tally.duplicates.replayed += 1;
        tally.replay(sent_at);
        Live::count(&thread.live.replays);
    }
}

/// What a final answer says of the order.
fn state_of(answer: &Answer) -> State {
    match answer.status {
        201 => State::Placed,
        // A server that made a mistake may have made it after the effect.
        500.. => State::Unsettled,
        _ => State::Refused,
    }
}
