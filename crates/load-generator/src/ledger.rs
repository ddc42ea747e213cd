//! What the generator was answered about every order it sent, to be compared with what is there.

use std::fmt::Write;

/// What is known of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No final answer: it may be there, or not.
    Unsettled,
    /// Answered 201: it must be there.
    Placed,
    /// Refused: it must not be there.
    Refused,
}

/// An order that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The account's place among the accounts of the run.
    pub account: u32,
    /// What is known of it.
    pub state: State,
}

/// The orders of one thread. An order's name, which is its number and its key, is `RUN-THREAD-INDEX`.
#[derive(Debug, Default)]
pub struct Ledger {
    sent: Vec<Sent>,
}

impl Ledger {
    /// Enters an order that is about to be sent; answers its index.
    pub fn enter(&mut self, account: u32) -> usize {
        self.sent.push(Sent { account, state: State::Unsettled });
        self.sent.len() - 1
    }

    /// Notes its final answer.
    pub fn settle(&mut self, index: usize, state: State) {
        self.sent[index].state = state;
    }

    /// Every order, by its index.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }
}

/// Writes an order's name to `into`, in place of what is there.
pub fn write_name(into: &mut String, run: &str, thread: usize, index: usize) {
    into.clear();
    write!(into, "{run}-{thread}-{index}").expect("a string takes whatever is written");
}

/// The thread and index of a name, if it is one of this run.
pub fn read_name(name: &str, run: &str) -> Option<(usize, usize)> {
    let (thread, index) = name.strip_prefix(run)?.strip_prefix('-')?.split_once('-')?;
    Some((thread.parse().ok()?, index.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written_and_only_in_its_run() {
        let mut name = "old".to_owned();
        write_name(&mut name, "b0a1", 3, 41);
        assert_eq!(read_name(&name, "b0a1"), Some((3, 41)));
        for other in ["b0a", "b0a12", ""] {
            assert_eq!(read_name(&name, other), None, "{other}");
        }
        assert_eq!(read_name("b0a1-open-3", "b0a1"), None);
    }
}
