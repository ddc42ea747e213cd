//! The contract, played: clients, accounts, movements, orders and records, in memory, one request after the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::figures;
use crate::request::{Ask, Id, Kind, Who, Wish};

/// A mistake that a model can be given on purpose, to see that the comparison finds it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mistake {
    /// What is available must be more than what goes out.
    RefusesAnExactBalance,
    /// A reference is unique per client, whatever the kind.
    SharesReferencesAmongKinds,
    /// An order's number may be used again.
    ForgetsOrderNumbers,
    /// Closing an account leaves its version.
    CountsNoVersionForClosing,
    /// A refusal leaves the key free.
    ForgetsRefusals,
    /// A key answers whatever is asked under it.
    ComparesNoFingerprints,
    /// Two clients cannot use the same key.
    SharesKeysAmongClients,
}

/// An account's figures. Nothing is held in what the model plays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Account {
    pub(crate) id: Id,
    pub(crate) owner: String,
    pub(crate) currency: String,
    pub(crate) available: i128,
    pub(crate) version: i64,
    pub(crate) closed: bool,
    pub(crate) statement: Vec<Line>,
}

/// A line of an account's statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) kind: &'static str,
    pub(crate) direction: &'static str,
    pub(crate) minor_units: i128,
    pub(crate) counter: Counter,
    pub(crate) available_after: i128,
    pub(crate) version: i64,
    pub(crate) reference: Option<String>,
    pub(crate) order: Option<Id>,
}

/// The other side of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counter {
    Account(Id),
    Collecting(&'static str),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Movement {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    pub(crate) from: Option<Id>,
    pub(crate) to: Option<Id>,
    pub(crate) minor_units: i128,
    pub(crate) currency: String,
    pub(crate) reference: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    pub(crate) id: Id,
    pub(crate) number: String,
    pub(crate) account: Id,
    pub(crate) minor_units: i128,
    pub(crate) currency: String,
}

/// Something that is told instead of what was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) slug: &'static str,
    pub(crate) members: Vec<(&'static str, Member)>,
    /// What the `errors` point to, of a request that does not fit the schema.
    pub(crate) pointers: BTreeSet<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Member {
    Text(String),
    Id(Id),
}

impl Problem {
    pub(crate) fn new(status: u16, slug: &'static str) -> Self {
        Self { status, slug, members: Vec::new(), pointers: BTreeSet::new() }
    }

    pub(crate) fn invalid(pointers: BTreeSet<&'static str>) -> Self {
        Self { pointers, ..Self::new(422, "validation-failed") }
    }

    fn member(mut self, name: &'static str, member: Member) -> Self {
        self.members.push((name, member));
        self
    }

    fn text(self, name: &'static str, text: impl Into<String>) -> Self {
        self.member(name, Member::Text(text.into()))
    }
}

/// What the model expects to be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Opened(Account),
    Closed(Account),
    Moved(Movement),
    Placed(Order),
    Problem(Problem),
}

/// An expected answer, and whether it is one that was given before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) replayed: bool,
}

/// What is remembered under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) wish: Wish,
    pub(crate) answer: Answer,
}

/// All that a client has.
#[derive(Clone, Default, Debug)]
pub(crate) struct Books {
    pub(crate) accounts: Vec<Account>,
    pub(crate) movements: Vec<Movement>,
    pub(crate) orders: Vec<Order>,
    pub(crate) records: BTreeMap<String, Record>,
    /// Debits and credits, by the collecting account's name and currency.
    pub(crate) collecting: BTreeMap<(&'static str, String), (i128, i128)>,
}

/// The contract, played.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    books: BTreeMap<Who, Books>,
    mistake: Option<Mistake>,
}

impl Model {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        Self { books: Who::BOTH.map(|who| (who, Books::default())).into(), mistake }
    }

    pub(crate) fn books(&self, who: Who) -> &Books {
        &self.books[&who]
    }

    /// The account of that id, whoever has it.
    pub(crate) fn account(&self, id: Id) -> Option<&Account> {
        match id {
            Id::Account(who, nth) => self.books(who).accounts.get(nth),
            Id::Movement(..) | Id::Order(..) | Id::Nobody(_) | Id::Rubbish => None,
        }
    }

    /// Answers a request: first what is wrong with it as such, then the record under its key, then the rules.
    pub(crate) fn answer(&mut self, ask: &Ask) -> Answered {
        let wish = match ask.read() {
            Ok(wish) => wish,
            Err(problem) => return Answered { answer: Answer::Problem(problem), replayed: false },
        };
        if let Some(record) = self.record_for(ask) {
            return if record.wish == wish || self.is(Mistake::ComparesNoFingerprints) {
                Answered { answer: record.answer.clone(), replayed: true }
            } else {
                let reused = Problem::new(422, "idempotency-key-reused");
                Answered { answer: Answer::Problem(reused), replayed: false }
            };
        }
        let answer = self.decide(ask.who, &wish);
        if !(matches!(answer, Answer::Problem(_)) && self.is(Mistake::ForgetsRefusals)) {
            let record = Record { wish, answer: answer.clone() };
            self.books_mut(ask.who).records.insert(ask.key.clone(), record);
        }
        Answered { answer, replayed: false }
    }

    fn record_for(&self, ask: &Ask) -> Option<&Record> {
        let others = self.is(Mistake::SharesKeysAmongClients).then_some(ask.who.other());
        let mut whose = [ask.who].into_iter().chain(others);
        whose.find_map(|who| self.books(who).records.get(&ask.key))
    }

    /// Has the rules' word on what a client wishes, and does it if they agree.
    pub(crate) fn decide(&mut self, who: Who, wish: &Wish) -> Answer {
        let decided = match wish {
            Wish::Open { owner, currency } => Ok(self.open(who, owner, currency)),
            Wish::Move { .. } => self.move_money(who, wish),
            Wish::Close { account } => self.close(who, *account),
            Wish::Order { account, minor_units, currency, number } => {
                self.order(who, *account, *minor_units, currency, number)
            }
        };
        decided.unwrap_or_else(Answer::Problem)
    }

    fn open(&mut self, who: Who, owner: &str, currency: &str) -> Answer {
        let accounts = &mut self.books_mut(who).accounts;
        accounts.push(Account {
            id: Id::Account(who, accounts.len()),
            owner: owner.to_owned(),
            currency: currency.to_owned(),
            available: 0,
            version: 0,
            closed: false,
            statement: Vec::new(),
        });
        Answer::Opened(accounts[accounts.len() - 1].clone())
    }

    fn close(&mut self, who: Who, id: Id) -> Result<Answer, Problem> {
        let account = self.owned(who, id)?;
        if account.closed {
            return Err(Problem::new(409, "account-closed"));
        }
        if account.available != 0 {
            return Err(Problem::new(409, "account-not-empty")
                .text("available", printed(account.available, &account.currency))
                .text("held", printed(0, &account.currency))
                .text("currency", &account.currency));
        }
        let versions = i64::from(!self.is(Mistake::CountsNoVersionForClosing));
        let account = self.account_mut(id);
        account.closed = true;
        account.version += versions;
        Ok(Answer::Closed(account.clone()))
    }

    /// The accounts must be the client's, then the reference free, then the paying account willing, then the receiving.
    fn move_money(&mut self, who: Who, wish: &Wish) -> Result<Answer, Problem> {
        let Wish::Move { kind, from, to, minor_units, currency, reference } = wish else {
            unreachable!("it was asked about a movement");
        };
        let (kind, from, to, minor_units) = (*kind, *from, *to, *minor_units);
        for id in from.into_iter().chain(to) {
            self.owned(who, id)?;
        }
        let any_kind = self.is(Mistake::SharesReferencesAmongKinds);
        let same = |m: &&Movement| m.reference == *reference && (m.kind == kind || any_kind);
        if let Some(first) = self.books(who).movements.iter().find(same) {
            return Err(Problem::new(409, "duplicate-reference").member("existing_id", Member::Id(first.id)));
        }
        if let Some(from) = from {
            self.can_pay(from, minor_units, currency)?;
        }
        if let Some(to) = to {
            self.can_receive(to, minor_units, currency)?;
        }

        let id = Id::Movement(who, self.books(who).movements.len());
        let side = |account: Option<Id>| account.map_or(Counter::Collecting("outside"), Counter::Account);
        self.book(kind.word(), [side(from), side(to)], minor_units, currency, who, |line| {
            line.reference = Some(reference.clone());
        });
        let (currency, reference) = (currency.clone(), reference.clone());
        let movement = Movement { id, kind, from, to, minor_units, currency, reference };
        self.books_mut(who).movements.push(movement.clone());
        Ok(Answer::Moved(movement))
    }

    fn order(
        &mut self,
        who: Who,
        account: Id,
        minor_units: i128,
        currency: &str,
        number: &str,
    ) -> Result<Answer, Problem> {
        self.owned(who, account)?;
        let taken = self.books(who).orders.iter().find(|order| order.number == number);
        if let Some(first) = taken.filter(|_| !self.is(Mistake::ForgetsOrderNumbers)) {
            return Err(Problem::new(409, "duplicate-order-no").member("existing_id", Member::Id(first.id)));
        }
        self.can_pay(account, minor_units, currency)?;

        let id = Id::Order(who, self.books(who).orders.len());
        let sides = [Counter::Account(account), Counter::Collecting("revenue")];
        self.book("order_payment", sides, minor_units, currency, who, |line| line.order = Some(id));
        let order =
            Order { id, number: number.to_owned(), account, minor_units, currency: currency.to_owned() };
        self.books_mut(who).orders.push(order.clone());
        Ok(Answer::Placed(order))
    }

    fn owned(&self, who: Who, id: Id) -> Result<&Account, Problem> {
        let owned = matches!(id, Id::Account(owner, _) if owner == who);
        self.account(id).filter(|_| owned).ok_or_else(|| Problem::new(404, "not-found"))
    }

    fn can_pay(&self, id: Id, minor_units: i128, currency: &str) -> Result<(), Problem> {
        let account = self.usable(id, currency)?;
        let exact = account.available == minor_units && self.is(Mistake::RefusesAnExactBalance);
        if account.available < minor_units || exact {
            return Err(Problem::new(402, "insufficient-funds")
                .text("available", printed(account.available, currency))
                .text("required", printed(minor_units, currency))
                .text("currency", currency));
        }
        Ok(())
    }

    fn can_receive(&self, id: Id, minor_units: i128, currency: &str) -> Result<(), Problem> {
        let account = self.usable(id, currency)?;
        if !figures::in_range(account.available + minor_units, digits_of(currency)) {
            return Err(Problem::new(422, "amount-out-of-range"));
        }
        Ok(())
    }

    fn usable(&self, id: Id, currency: &str) -> Result<&Account, Problem> {
        let account = self.account(id).ok_or_else(|| Problem::new(404, "not-found"))?;
        if account.currency != currency {
            return Err(Problem::new(422, "currency-mismatch")
                .text("account_currency", &account.currency)
                .text("currency", currency));
        }
        if account.closed {
            return Err(Problem::new(409, "account-closed"));
        }
        Ok(account)
    }

    /// Moves money from one side to the other, with a line for each that is an account.
    fn book(
        &mut self,
        kind: &'static str,
        [debit, credit]: [Counter; 2],
        minor_units: i128,
        currency: &str,
        who: Who,
        because: impl Fn(&mut Line),
    ) {
        for (side, counter, direction) in [(debit, credit, "debit"), (credit, debit, "credit")] {
            match side {
                Counter::Account(id) => {
                    let account = self.account_mut(id);
                    account.available += if direction == "debit" { -minor_units } else { minor_units };
                    account.version += 1;
                    let mut line = Line {
                        kind,
                        direction,
                        minor_units,
                        counter,
                        available_after: account.available,
                        version: account.version,
                        reference: None,
                        order: None,
                    };
                    because(&mut line);
                    account.statement.push(line);
                }
                Counter::Collecting(name) => {
                    let collecting = &mut self.books_mut(who).collecting;
                    let sums = collecting.entry((name, currency.to_owned())).or_default();
                    *(if direction == "debit" { &mut sums.0 } else { &mut sums.1 }) += minor_units;
                }
            }
        }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn books_mut(&mut self, who: Who) -> &mut Books {
        self.books.get_mut(&who).expect("both clients have books")
    }

    fn account_mut(&mut self, id: Id) -> &mut Account {
        let Id::Account(who, nth) = id else { unreachable!("{id:?} was seen to be an account") };
        &mut self.books_mut(who).accounts[nth]
    }
}

/// An amount as the contract prints it.
pub(crate) fn printed(minor_units: i128, currency: &str) -> String {
    figures::print(minor_units, digits_of(currency))
}

fn digits_of(currency: &str) -> usize {
    figures::minor_digits(currency).expect("what was read has a currency")
}
