//! The rules of holds: what each does to the money, and that every sequence of them keeps it whole.

use account::hold::{self, CaptureRefusal, Capturing, ExpiryRefusal, HoldChange, HoldPlacement};
use account::{
    Account, AccountId, DebitRefusal, Entry, EntryId, EntryKind, Hold, HoldId, HoldPurpose, HoldStatus, Side,
};
use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use money::{Amount, Currency};
use proptest::prelude::*;
use uuid::Uuid;

fn cny(text: &str) -> Amount {
    Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
}

fn yuan(units: u128) -> Amount {
    Amount::from_minor_units(units, Currency::from_code("CNY").unwrap()).unwrap()
}

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_764_400_000 + second, 0).unwrap()
}

/// An account with so much available.
fn account(available: &str) -> Account {
    let id = AccountId(Uuid::from_u128(0xa));
    let currency = Currency::from_code("CNY").unwrap();
    let account = Account::open(ClientId(Uuid::nil()), id, "alice".to_owned(), currency, at(0));
    account.credited(cny(available)).unwrap()
}

fn placement(number: u128, amount: Amount, expires_at: Option<DateTime<Utc>>) -> HoldPlacement {
    HoldPlacement {
        hold_id: HoldId(Uuid::from_u128(number)),
        entry_id: EntryId(Uuid::from_u128(number)),
        purpose: HoldPurpose::Client { reference: format!("H-{number}") },
        amount,
        expires_at,
        now: at(1),
    }
}

fn place(account: &Account, amount: &str) -> HoldChange {
    hold::place(account, placement(1, cny(amount), Some(at(60)))).unwrap()
}

fn capturing(amount: Option<Amount>, last: bool) -> Capturing {
    Capturing {
        amount,
        last,
        reference: Some("C-1".to_owned()),
        entry_id: EntryId(Uuid::from_u128(7)),
        rest_entry_id: EntryId(Uuid::from_u128(8)),
        now: at(2),
    }
}

/// The account after a change.
fn after(change: &HoldChange) -> &Account {
    change.accounts.last().expect("every change has a row")
}

fn figures(account: &Account) -> (String, String, i64) {
    (account.available.to_string(), account.held.to_string(), account.version)
}

fn kinds(entries: &[Entry]) -> Vec<EntryKind> {
    entries.iter().map(|entry| entry.kind).collect()
}

#[test]
fn freezing_moves_money_from_available_to_held_in_one_row() {
    let placed = place(&account("100"), "40");
    assert_eq!(figures(after(&placed)), ("60.00".to_owned(), "40.00".to_owned(), 2));
    assert_eq!(placed.hold.left(), cny("40"));
    let [row] = placed.entries.as_slice() else { panic!("{:?}", placed.entries) };
    assert_eq!((row.kind, row.amount), (EntryKind::Hold, cny("40")));
    assert_eq!(row.debit, Side::after(after(&placed)));
    assert_eq!(row.credit, Side::Held(after(&placed).id));
}

#[test]
fn holds_count_against_what_can_be_held() {
    let mut account = account("5000");
    for number in 1..=5 {
        account = after(&hold::place(&account, placement(number, cny("1000"), None)).unwrap()).clone();
    }
    assert_eq!(
        hold::place(&account, placement(6, cny("1000"), None)),
        Err(DebitRefusal::InsufficientFunds { available: cny("0"), required: cny("1000") })
    );
}

#[test]
fn a_capture_takes_all_that_is_left_unless_it_says_how_much() {
    let placed = place(&account("100"), "40");
    let captured = hold::capture(after(&placed), &placed.hold, capturing(None, true)).unwrap();
    assert_eq!(captured.hold.status, HoldStatus::Captured);
    assert_eq!(captured.hold.captured, cny("40"));
    assert_eq!(figures(after(&captured)), ("60.00".to_owned(), "0.00".to_owned(), 3));
    assert_eq!(kinds(&captured.entries), [EntryKind::HoldCapture]);
}

#[test]
fn a_last_capture_of_a_part_gives_the_rest_back_in_a_row_of_its_own() {
    let placed = place(&account("100"), "40");
    let captured = hold::capture(after(&placed), &placed.hold, capturing(Some(cny("15")), true)).unwrap();
    assert_eq!(figures(after(&captured)), ("85.00".to_owned(), "0.00".to_owned(), 4));
    assert_eq!(kinds(&captured.entries), [EntryKind::HoldCapture, EntryKind::HoldRelease]);
    assert_eq!(captured.hold.left(), cny("0"));
}

#[test]
fn a_capture_that_is_not_the_last_leaves_the_rest_frozen() {
    let placed = place(&account("100"), "40");
    let captured = hold::capture(after(&placed), &placed.hold, capturing(Some(cny("15")), false)).unwrap();
    assert_eq!((captured.hold.status, captured.hold.left()), (HoldStatus::Active, cny("25")));
    assert_eq!(figures(after(&captured)), ("60.00".to_owned(), "25.00".to_owned(), 3));
}

#[test]
fn a_capture_that_leaves_nothing_is_the_last() {
    let placed = place(&account("100"), "40");
    let captured = hold::capture(after(&placed), &placed.hold, capturing(Some(cny("40")), false)).unwrap();
    assert_eq!(captured.hold.status, HoldStatus::Captured);
}

#[test]
fn no_more_is_captured_than_is_left() {
    let placed = place(&account("100"), "40");
    let part = hold::capture(after(&placed), &placed.hold, capturing(Some(cny("15")), false)).unwrap();
    assert_eq!(
        hold::capture(after(&part), &part.hold, capturing(Some(cny("25.01")), true)),
        Err(CaptureRefusal::ExceedsHold { left: cny("25"), required: cny("25.01") })
    );
}

#[test]
fn an_ended_hold_never_moves_money_again() {
    let placed = place(&account("100"), "40");
    let released = hold::release(after(&placed), &placed.hold, EntryId(Uuid::nil()), at(3)).unwrap();
    let captured = hold::capture(after(&placed), &placed.hold, capturing(None, true)).unwrap();
    let expired = hold::expire(after(&placed), &placed.hold, EntryId(Uuid::nil()), at(60)).unwrap();
    for ended in [released, captured, expired] {
        let not_active = hold::HoldNotActive { hold_id: ended.hold.id, status: ended.hold.status };
        let (account, hold) = (after(&ended), &ended.hold);
        assert_eq!(hold::capture(account, hold, capturing(None, true)), Err(not_active.into()));
        assert_eq!(hold::release(account, hold, EntryId(Uuid::nil()), at(3)), Err(not_active));
        let expiry: ExpiryRefusal = not_active.into();
        assert_eq!(hold::expire(account, hold, EntryId(Uuid::nil()), at(90)), Err(expiry));
    }
}

#[test]
fn a_hold_is_due_from_the_very_moment_it_expires_at() {
    let placed = place(&account("100"), "40");
    let before = at(60) - TimeDelta::microseconds(1);
    let capturing_at = |now| Capturing { now, ..capturing(None, true) };
    let (account, hold) = (after(&placed), &placed.hold);

    assert!(hold::capture(account, hold, capturing_at(before)).is_ok());
    assert!(hold::release(account, hold, EntryId(Uuid::nil()), before).is_ok());
    assert_eq!(
        hold::expire(account, hold, EntryId(Uuid::nil()), before),
        Err(ExpiryRefusal::NotDue(hold.id))
    );

    let expired = hold::HoldNotActive { hold_id: hold.id, status: HoldStatus::Expired };
    assert_eq!(hold::capture(account, hold, capturing_at(at(60))), Err(expired.into()));
    assert_eq!(hold::release(account, hold, EntryId(Uuid::nil()), at(60)), Err(expired));
    let given_back = hold::expire(account, hold, EntryId(Uuid::nil()), at(60)).unwrap();
    assert_eq!(given_back.hold.status, HoldStatus::Expired);
    assert_eq!(figures(after(&given_back)), ("100.00".to_owned(), "0.00".to_owned(), 3));
    assert_eq!(kinds(&given_back.entries), [EntryKind::HoldExpiry]);
}

#[test]
fn a_hold_of_which_nothing_is_said_never_becomes_due() {
    let placed = hold::place(&account("100"), placement(1, cny("40"), None)).unwrap();
    assert_eq!(placed.hold.status_at(DateTime::<Utc>::MAX_UTC), HoldStatus::Active);
}

#[test]
fn every_status_has_a_word_of_its_own() {
    for status in HoldStatus::ALL {
        assert_eq!(HoldStatus::from_word(status.as_str()), Some(status));
    }
    assert_eq!(HoldStatus::from_word("ACTIVE"), None);
}

/// One act upon an account and its holds.
#[derive(Clone, Debug)]
enum Act {
    Place { amount: u128, lives_s: Option<i64> },
    Capture { which: usize, amount: Option<u128>, last: bool },
    Release { which: usize },
    Expire { which: usize },
    Pass { seconds: i64 },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (1_u128..400, prop::option::of(1_i64..30))
            .prop_map(|(amount, lives_s)| Act::Place { amount, lives_s }),
        4 => (0_usize..6, prop::option::of(1_u128..200), any::<bool>())
            .prop_map(|(which, amount, last)| Act::Capture { which, amount, last }),
        2 => (0_usize..6).prop_map(|which| Act::Release { which }),
        2 => (0_usize..6).prop_map(|which| Act::Expire { which }),
        2 => (0_i64..20).prop_map(|seconds| Act::Pass { seconds }),
    ]
}

/// An account, its holds and what was taken, as the rules leave them.
#[derive(Debug)]
struct Books {
    account: Account,
    holds: Vec<Hold>,
    taken: u128,
    now: DateTime<Utc>,
    entries: u128,
}

impl Books {
    fn next_entry(&mut self) -> EntryId {
        self.entries += 1;
        EntryId(Uuid::from_u128(self.entries))
    }

    /// Does it, if it is allowed. Answers the change.
    fn act(&mut self, act: &Act) -> Option<HoldChange> {
        let (entry_id, rest_entry_id) = (self.next_entry(), self.next_entry());
        let change = match act {
            Act::Pass { seconds } => {
                self.now += TimeDelta::seconds(*seconds);
                return None;
            }
            Act::Place { amount, lives_s } => {
                let number = self.holds.len() as u128;
                let expires_at = lives_s.map(|seconds| self.now + TimeDelta::seconds(seconds));
                let placement =
                    HoldPlacement { now: self.now, ..placement(number, yuan(*amount), expires_at) };
                hold::place(&self.account, placement).ok()?
            }
            Act::Capture { which, amount, last } => {
                let hold = self.holds.get(*which)?;
                let capturing = Capturing {
                    amount: amount.map(yuan),
                    last: *last,
                    reference: None,
                    entry_id,
                    rest_entry_id,
                    now: self.now,
                };
                hold::capture(&self.account, hold, capturing).ok()?
            }
            Act::Release { which } => {
                hold::release(&self.account, self.holds.get(*which)?, entry_id, self.now).ok()?
            }
            Act::Expire { which } => {
                hold::expire(&self.account, self.holds.get(*which)?, entry_id, self.now).ok()?
            }
        };
        self.account = after(&change).clone();
        match self.holds.iter_mut().find(|hold| hold.id == change.hold.id) {
            Some(hold) => *hold = change.hold.clone(),
            None => self.holds.push(change.hold.clone()),
        }
        self.taken += change.capture.as_ref().map_or(0, |capture| capture.amount.minor_units());
        Some(change)
    }
}

proptest! {
    /// Whatever is done, in whatever order: nothing is made or lost, what is held is the active holds, each row raises
    /// the account's version by one, and a hold that has ended stays as it is.
    #[test]
    fn every_sequence_of_acts_keeps_the_money_whole(acts in prop::collection::vec(act(), 1..60)) {
        let mut books =
            Books { account: account("10"), holds: Vec::new(), taken: 0, now: at(10), entries: 0 };
        for act in &acts {
            let (before, ended): (Account, Vec<Hold>) = (
                books.account.clone(),
                books.holds.iter().filter(|hold| hold.status != HoldStatus::Active).cloned().collect(),
            );
            let change = books.act(act);
            let rows = change.map_or(Vec::new(), |change| change.entries);

            let balance = books.account.balance().minor_units();
            prop_assert_eq!(balance + books.taken, 1000);
            let held: u128 = books.holds.iter().map(|hold| hold.left().minor_units()).sum();
            prop_assert_eq!(held, books.account.held.minor_units());
            let captured: u128 = books.holds.iter().map(|hold| hold.captured.minor_units()).sum();
            prop_assert_eq!(captured, books.taken);
            let versions: Vec<i64> = rows
                .iter()
                .flat_map(|row| [row.debit, row.credit])
                .filter_map(|side| match side {
                    Side::Customer { version, .. } => Some(version),
                    Side::Held(_) | Side::Collecting(_) => None,
                })
                .collect();
            let expected: Vec<i64> = (before.version + 1..=books.account.version).collect();
            prop_assert_eq!(versions, expected);
            for hold in &ended {
                prop_assert!(books.holds.contains(hold), "{hold:?} has moved after its end");
            }
        }
    }
}
