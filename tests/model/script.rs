//! Random scripts that read like a story, and how a step becomes a request.
//!
//! A step says what it is about in terms of what was before ("all that is available", "what was asked under key 7"), and
//! never by its place, so that a script still makes sense when shrinking has taken steps out of it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::figures;
use crate::model::Model;
use crate::request::{Ask, Fault, Id, Money, Request, Who};

/// Steps, to be played one after the other on a stage where [`opening`] was played.
#[derive(Clone)]
pub(crate) struct Script(pub(crate) Vec<Step>);

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            write!(f, "\n{:>4}. {step:?}", at + 1)?;
        }
        Ok(())
    }
}

/// A step of a script.
#[derive(Clone)]
pub(crate) enum Step {
    /// Something, under a key: one of so many that it is a new one more often than not.
    Ask { who: Who, key: u8, act: Act, faults: Vec<Fault> },
    /// What was asked last under the key, if anything was.
    Again { key: u8, how: Again },
}

/// How something is asked again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Again {
    /// Exactly as before, with whatever was wrong with it.
    AsBefore,
    /// In another spelling of the same meaning, and without what was wrong around it.
    SpelledOtherwise,
    /// By the other client, under a key that reads the same.
    ByTheOther,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask { who, key, act, faults } => {
                write!(f, "{who:?}, key {key}: {act:?}")?;
                if faults.is_empty() { Ok(()) } else { write!(f, ", sent with {faults:?}") }
            }
            Self::Again { key, how } => write!(f, "again what was asked under key {key}, {how:?}"),
        }
    }
}

/// What somebody does.
#[derive(Clone)]
pub(crate) enum Act {
    Open { owner: String, currency: &'static str },
    Deposit { to: Place, sum: Sum, reference: String },
    Withdraw { from: Place, sum: Sum, reference: String },
    Transfer { from: Place, to: Place, sum: Sum, reference: String },
    Close { account: Place },
    Order { account: Place, sum: Sum, number: String },
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { owner, currency } => write!(f, "opens an account in {currency} for {owner:?}"),
            Self::Deposit { to, sum, reference } => write!(f, "deposits {sum:?} to {to:?} as {reference:?}"),
            Self::Withdraw { from, sum, reference } => {
                write!(f, "withdraws {sum:?} from {from:?} as {reference:?}")
            }
            Self::Transfer { from, to, sum, reference } => {
                write!(f, "transfers {sum:?} from {from:?} to {to:?} as {reference:?}")
            }
            Self::Close { account } => write!(f, "closes {account:?}"),
            Self::Order { account, sum, number } => {
                write!(f, "orders for {sum:?} from {account:?} as {number:?}")
            }
        }
    }
}

/// An account, as a step names it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Own(usize),
    Other(usize),
    Nobody(u8),
    Rubbish,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(nth) => write!(f, "account {nth}"),
            Self::Other(nth) => write!(f, "the other client's account {nth}"),
            Self::Nobody(nth) => write!(f, "nobody's account {nth}"),
            Self::Rubbish => write!(f, "no id at all"),
        }
    }
}

/// How much, as a step says it; `None` is the currency of the account it is about.
#[derive(Clone)]
pub(crate) struct Sum {
    much: Much,
    currency: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Much {
    Text(&'static str),
    Number(&'static str),
    All,
    AllAndOneMore,
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.much)?;
        self.currency.map_or(Ok(()), |currency| write!(f, " {currency:?}"))
    }
}

impl fmt::Debug for Much {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(text) => write!(f, "the number {text}"),
            Self::All => write!(f, "all that is available"),
            Self::AllAndOneMore => write!(f, "one minor unit more than is available"),
        }
    }
}

/// How many accounts the opening gives to Ann and to Ben.
pub(crate) const OPENED: [usize; 2] = [6, 3];

/// What stands before every script: accounts in three currencies, and some money.
pub(crate) fn opening() -> Vec<Step> {
    let open = |who, currency| (who, Act::Open { owner: "the opening".to_owned(), currency });
    let deposit = |who, nth, amount| {
        let sum = Sum { much: Much::Text(amount), currency: None };
        (who, Act::Deposit { to: Place::Own(nth), sum, reference: format!("opening {nth}") })
    };
    let (ann, ben) = (["CNY", "CNY", "JPY", "JPY", "KWD", "CNY"], ["CNY", "JPY", "CNY"]);
    debug_assert_eq!([ann.len(), ben.len()], OPENED);
    let opens = ann.map(|currency| open(Who::Ann, currency)).into_iter();
    opens
        .chain(ben.map(|currency| open(Who::Ben, currency)))
        .chain([deposit(Who::Ann, 0, "20"), deposit(Who::Ann, 2, "20"), deposit(Who::Ann, 4, "20")])
        .chain([deposit(Who::Ben, 0, "10")])
        .zip(KEYS..)
        .map(|((who, act), key)| Step::Ask { who, key, act, faults: Vec::new() })
        .collect()
}

/// How many keys there are for the steps of scripts; the opening has further ones.
const KEYS: u8 = 80;

/// Scripts of so many steps.
pub(crate) fn scripts(steps: RangeInclusive<usize>) -> impl Strategy<Value = Script> {
    prop::collection::vec(step(), steps).prop_map(Script)
}

// Boxed, like what it is made of: by value, trees of this size leave a test's thread no stack.
fn step() -> BoxedStrategy<Step> {
    let who = prop_oneof![4 => Just(Who::Ann), 1 => Just(Who::Ben)];
    let faults = prop_oneof![
        12 => Just(Vec::new()),
        1 => subsequence(Fault::ALL.to_vec(), 1..=2),
    ];
    let how = prop_oneof![
        2 => Just(Again::AsBefore),
        2 => Just(Again::SpelledOtherwise),
        1 => Just(Again::ByTheOther),
    ];
    prop_oneof![
        3 => (who, 0..KEYS, act(), faults)
            .prop_map(|(who, key, act, faults)| Step::Ask { who, key, act, faults }),
        2 => (0..KEYS, how).prop_map(|(key, how)| Step::Again { key, how }),
    ]
    .boxed()
}

fn act() -> BoxedStrategy<Act> {
    let currency = prop_oneof![9 => select(&["CNY", "JPY", "KWD"][..]), 1 => strange_currency()];
    let owner = select(&["alice", "bob", "汉字", "o", ""][..]).prop_map(str::to_owned);
    prop_oneof![
        1 => (owner, currency).prop_map(|(owner, currency)| Act::Open { owner, currency }),
        5 => (place(), sum(), name()).prop_map(|(to, sum, reference)| Act::Deposit { to, sum, reference }),
        4 => (place(), sum(), name())
            .prop_map(|(from, sum, reference)| Act::Withdraw { from, sum, reference }),
        6 => (place(), place(), sum(), name())
            .prop_map(|(from, to, sum, reference)| Act::Transfer { from, to, sum, reference }),
        2 => place().prop_map(|account| Act::Close { account }),
        6 => (place(), sum(), name()).prop_map(|(account, sum, number)| Act::Order { account, sum, number }),
    ]
    .boxed()
}

fn place() -> BoxedStrategy<Place> {
    prop_oneof![
        30 => (0..OPENED[0] + 1).prop_map(Place::Own),
        2 => (0..OPENED[1]).prop_map(Place::Other),
        1 => (0..2_u8).prop_map(Place::Nobody),
        1 => Just(Place::Rubbish),
    ]
    .boxed()
}

/// What is no amount, or none that moves money.
const BROKEN: [&str; 13] =
    ["0", "0.00", "-1", "+1", "1e3", "01", ".5", "1.", "1,000", " 1", "1.2345", "", "１"];

fn sum() -> BoxedStrategy<Sum> {
    let much = prop_oneof![
        16 => select(&["1", "2", "5", "10"][..]).prop_map(Much::Text),
        4 => select(&["0.01", "0.5", "12.3", "12.30", "0.001"][..]).prop_map(Much::Text),
        2 => select(&["999999999999999999", "1000000000000000000"][..]).prop_map(Much::Text),
        1 => select(&BROKEN[..]).prop_map(Much::Text),
        1 => select(&["1", "12.30"][..]).prop_map(Much::Number),
        5 => Just(Much::All),
        2 => Just(Much::AllAndOneMore),
    ];
    let currency = prop_oneof![
        22 => Just(None),
        2 => select(&["CNY", "JPY", "KWD"][..]).prop_map(Some),
        1 => strange_currency().prop_map(Some),
    ];
    (much, currency).prop_map(|(much, currency)| Sum { much, currency }).boxed()
}

fn strange_currency() -> impl Strategy<Value = &'static str> {
    select(&["cny", "XXY", "EURO", ""][..])
}

/// References and order numbers: few, so that they meet.
fn name() -> BoxedStrategy<String> {
    prop_oneof![
        20 => (1..16_u8).prop_map(|nth| format!("N-{nth}")),
        2 => Just("汉字 \"ñ\"".to_owned()),
        1 => Just("x".repeat(64)),
        1 => select(vec![String::new(), "x".repeat(65), "a\u{200b}b".to_owned()]),
    ]
    .boxed()
}

/// What was asked for last under each key: steps look back on it.
#[derive(Default)]
pub(crate) struct Asked(BTreeMap<u8, Ask>);

impl Asked {
    /// The request that a step comes to, given what the model has; and whether it is to be spelled otherwise. Nothing if
    /// it looks back on nothing.
    pub(crate) fn next(&mut self, model: &Model, step: &Step) -> Option<(Ask, bool)> {
        match step {
            Step::Ask { who, key, act, faults } => {
                let request = request(model, *who, act);
                let ask = Ask { who: *who, key: format!("key-{key}"), request, faults: faults.clone() };
                self.0.insert(*key, ask.clone());
                Some((ask, false))
            }
            Step::Again { key, how } => {
                let mut ask = self.0.get(key)?.clone();
                match how {
                    Again::AsBefore => {}
                    Again::SpelledOtherwise => ask.faults.clear(),
                    Again::ByTheOther => ask.who = ask.who.other(),
                }
                Some((ask, *how == Again::SpelledOtherwise))
            }
        }
    }
}

fn request(model: &Model, who: Who, act: &Act) -> Request {
    let place = |place: Place| match place {
        Place::Own(nth) => existing(model, who, nth),
        Place::Other(nth) => existing(model, who.other(), nth),
        Place::Nobody(nth) => Id::Nobody(nth),
        Place::Rubbish => Id::Rubbish,
    };
    let money = |at: Place, sum: &Sum| money(model, place(at), sum);
    match act {
        Act::Open { owner, currency } => {
            Request::Open { owner: owner.clone(), currency: (*currency).to_owned() }
        }
        Act::Deposit { to, sum, reference } => {
            Request::Deposit { to: place(*to), money: money(*to, sum), reference: reference.clone() }
        }
        Act::Withdraw { from, sum, reference } => {
            Request::Withdraw { from: place(*from), money: money(*from, sum), reference: reference.clone() }
        }
        Act::Transfer { from, to, sum, reference } => Request::Transfer {
            from: place(*from),
            to: place(*to),
            money: money(*from, sum),
            reference: reference.clone(),
        },
        Act::Close { account } => Request::Close { account: place(*account) },
        Act::Order { account, sum, number } => {
            Request::Order { account: place(*account), money: money(*account, sum), number: number.clone() }
        }
    }
}

/// An account that is not there (yet) is nobody's, and stays so when the request is sent again.
fn existing(model: &Model, who: Who, nth: usize) -> Id {
    let id = Id::Account(who, nth);
    model.account(id).map_or(Id::Nobody(u8::MAX), |_| id)
}

fn money(model: &Model, account: Id, sum: &Sum) -> Money {
    let account = model.account(account);
    let own = account.map_or("CNY", |account| &account.currency);
    let all = |more: i128| {
        let minor_units = account.map_or(0, |account| account.available) + more;
        figures::print(minor_units, figures::minor_digits(own).unwrap_or_default())
    };
    Money {
        amount: match sum.much {
            Much::Text(text) | Much::Number(text) => text.to_owned(),
            Much::All => all(0),
            Much::AllAndOneMore => all(1),
        },
        as_number: matches!(sum.much, Much::Number(_)),
        currency: sum.currency.unwrap_or(own).to_owned(),
    }
}
