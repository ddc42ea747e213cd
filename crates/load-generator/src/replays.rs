//! One connection that sends nothing but requests that were answered before.

use std::time::Instant;

use rand::Rng;

use crate::accounts::Answered;
use crate::caller::Caller;
use crate::orders::Thread;
use crate::pace::Pacer;
use crate::tally::Live;

/// One connection.
#[derive(Debug)]
pub struct ReplayConnection<'a> {
    thread: &'a Thread,
    answered: &'a [Answered],
    caller: Caller,
    request: String,
}

impl<'a> ReplayConnection<'a> {
    /// A connection of this thread; `answered` has an order for each account.
    pub fn new(thread: &'a Thread, answered: &'a [Answered]) -> Self {
        Self { thread, answered, caller: Caller::new(thread.address), request: String::new() }
    }

    /// Sends them again, in an order drawn by chance, until the load is over.
    pub async fn run(mut self, pacer: &Pacer) {
        while let Some(due_at) = pacer.due().await {
            self.ask_again(due_at).await;
        }
    }

    async fn ask_again(&mut self, due_at: Instant) {
        let thread = self.thread;
        let index = thread.dice.borrow_mut().random_range(0..self.answered.len());
        let Answered { name, body } = &self.answered[index];
        thread.requests.order(&mut self.request, &thread.account_ids[index], name);
        let asked =
            self.caller.ask(&self.request, thread.window.gives_up_at, |trouble| thread.note(trouble)).await;
        let Some(asked) = asked else {
            return thread.contradiction(format!("{name}: answered before, and now never"));
        };
        let same = asked.answer.status == 201 && self.caller.body(&asked.answer) == &**body;
        if !same || !asked.answer.replayed {
            return thread.contradiction(format!("{name}: answered 201 before, and now otherwise"));
        }
        thread.tally.borrow_mut().replay(due_at);
        Live::count(&thread.live.replays);
    }
}
