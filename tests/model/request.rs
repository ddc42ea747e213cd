//! What can be asked, by whom and under which key; and what the model reads in it before it looks at its books.

use std::collections::BTreeSet;
use std::fmt;

use crate::figures;
use crate::model::Problem;

/// The two clients of every script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Who {
    Ann,
    Ben,
}

impl Who {
    pub(crate) const BOTH: [Self; 2] = [Self::Ann, Self::Ben];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Ann => Self::Ben,
            Self::Ben => Self::Ann,
        }
    }
}

/// The name of something in the model: the service's own id is learned when it makes the thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Id {
    /// The account that the client opened as its nth.
    Account(Who, usize),
    /// The client's nth movement.
    Movement(Who, usize),
    /// The client's nth order.
    Order(Who, usize),
    /// An id as the service makes them, which it has not made.
    Nobody(u8),
    /// A text that is no id.
    Rubbish,
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(who, nth) => write!(f, "{who:?}'s account {nth}"),
            Self::Movement(who, nth) => write!(f, "{who:?}'s movement {nth}"),
            Self::Order(who, nth) => write!(f, "{who:?}'s order {nth}"),
            Self::Nobody(nth) => write!(f, "nobody's id {nth}"),
            Self::Rubbish => write!(f, "no id at all"),
        }
    }
}

/// The kinds of movement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Deposit,
    Withdrawal,
    Transfer,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Withdrawal => "withdrawal",
            Self::Transfer => "transfer",
        }
    }
}

/// An amount and its currency, as a body says them.
#[derive(Clone)]
pub(crate) struct Money {
    pub(crate) amount: String,
    /// As a JSON number, which no amount is.
    pub(crate) as_number: bool,
    pub(crate) currency: String,
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.as_number { "the number " } else { "" };
        write!(f, "{kind}{:?} {:?}", self.amount, self.currency)
    }
}

/// What is asked for, as it is said: it may make no sense.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Open { owner: String, currency: String },
    Deposit { to: Id, money: Money, reference: String },
    Withdraw { from: Id, money: Money, reference: String },
    Transfer { from: Id, to: Id, money: Money, reference: String },
    Close { account: Id },
    Order { account: Id, money: Money, number: String },
}

/// What is wrong with a request before its meaning: in the order in which the contract lets them answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    UnknownRoute,
    OtherMethod,
    NoAuthorization,
    TooLarge,
    OtherMediaType,
    NoKey,
    BrokenKey,
    NotJson,
    StrangeField,
    MissingField,
    RepeatedField,
}

impl Fault {
    pub(crate) const ALL: [Self; 11] = [
        Self::UnknownRoute,
        Self::OtherMethod,
        Self::NoAuthorization,
        Self::TooLarge,
        Self::OtherMediaType,
        Self::NoKey,
        Self::BrokenKey,
        Self::NotJson,
        Self::StrangeField,
        Self::MissingField,
        Self::RepeatedField,
    ];
}

/// A request, as somebody sends it.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) who: Who,
    pub(crate) key: String,
    pub(crate) request: Request,
    pub(crate) faults: Vec<Fault>,
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} under {}: {:?}", self.who, self.key, self.request)?;
        if self.faults.is_empty() { Ok(()) } else { write!(f, ", sent with {:?}", self.faults) }
    }
}

/// What a request means, once it makes sense. Two requests are the same if their meanings are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    Open {
        owner: String,
        currency: String,
    },
    Move {
        kind: Kind,
        from: Option<Id>,
        to: Option<Id>,
        minor_units: i128,
        currency: String,
        reference: String,
    },
    Close {
        account: Id,
    },
    Order {
        account: Id,
        minor_units: i128,
        currency: String,
        number: String,
    },
}

impl Wish {
    /// Method and path template.
    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Open { .. } => "POST /v1/accounts",
            Self::Move { kind: Kind::Deposit, .. } => "POST /v1/accounts/{id}/deposits",
            Self::Move { kind: Kind::Withdrawal, .. } => "POST /v1/accounts/{id}/withdrawals",
            Self::Move { kind: Kind::Transfer, .. } => "POST /v1/transfers",
            Self::Close { .. } => "POST /v1/accounts/{id}/close",
            Self::Order { .. } => "POST /v1/orders",
        }
    }
}

impl Ask {
    /// The meaning of a request that the rules are to be asked about, or the first thing that is wrong with it, in the
    /// contract's precedence. What is wrong here is never stored, and the key stays free.
    pub(crate) fn read(&self) -> Result<Wish, Problem> {
        let has = |fault| self.faults.contains(&fault);
        let checks = [
            (has(Fault::UnknownRoute), 404, "not-found"),
            (has(Fault::OtherMethod), 405, "method-not-allowed"),
            (has(Fault::NoAuthorization), 401, "unauthorized"),
            (self.request.path_id() == Some(Id::Rubbish), 404, "not-found"),
            (has(Fault::TooLarge), 413, "content-too-large"),
            (has(Fault::OtherMediaType), 415, "unsupported-media-type"),
            (has(Fault::NoKey), 400, "idempotency-key-missing"),
            (has(Fault::BrokenKey), 400, "idempotency-key-malformed"),
            (has(Fault::NotJson), 400, "malformed-json"),
        ];
        if let Some((_, status, slug)) = checks.into_iter().find(|(wrong, ..)| *wrong) {
            return Err(Problem::new(status, slug));
        }
        let mut pointers = BTreeSet::new();
        if has(Fault::StrangeField) {
            pointers.insert("/strange");
        }
        if let Some(name) = self.request.name_field()
            && (has(Fault::MissingField) || has(Fault::RepeatedField))
        {
            pointers.insert(name);
        }
        match self.request.read() {
            Ok(wish) if pointers.is_empty() => Ok(wish),
            Ok(_) => Err(Problem::invalid(pointers)),
            Err(more) => Err(Problem::invalid(pointers.into_iter().chain(more).collect())),
        }
    }
}

impl Request {
    /// The id that stands in the path.
    pub(crate) fn path_id(&self) -> Option<Id> {
        match self {
            Self::Deposit { to: id, .. } | Self::Withdraw { from: id, .. } | Self::Close { account: id } => {
                Some(*id)
            }
            Self::Open { .. } | Self::Transfer { .. } | Self::Order { .. } => None,
        }
    }

    /// The pointer to the field with the client's own name.
    pub(crate) fn name_field(&self) -> Option<&'static str> {
        match self {
            Self::Open { .. } => Some("/owner"),
            Self::Deposit { .. } | Self::Withdraw { .. } | Self::Transfer { .. } => Some("/reference"),
            Self::Order { .. } => Some("/client_order_no"),
            Self::Close { .. } => None,
        }
    }

    /// The meaning, or pointers to every field that does not fit.
    pub(crate) fn read(&self) -> Result<Wish, BTreeSet<&'static str>> {
        let mut wrong = BTreeSet::new();
        if let Some(pointer) = self.name_field() {
            wrong.extend((!is_name(self.name())).then_some(pointer));
        }
        for (id, pointer) in self.body_ids() {
            wrong.extend((id == Id::Rubbish).then_some(pointer));
        }
        if let Self::Transfer { from, to, .. } = self {
            wrong.extend((from == to && *from != Id::Rubbish).then_some("/to_account_id"));
        }
        let minor_units = self.money().map(|money| read_money(money, &mut wrong));
        if let Self::Open { currency, .. } = self {
            wrong.extend(figures::minor_digits(currency).is_none().then_some("/currency"));
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(self.wish(minor_units.unwrap_or_default()))
    }

    fn wish(&self, minor_units: i128) -> Wish {
        let moved = |kind, from, to, money: &Money, reference: &String| Wish::Move {
            kind,
            from,
            to,
            minor_units,
            currency: money.currency.clone(),
            reference: reference.clone(),
        };
        match self {
            Self::Open { owner, currency } => Wish::Open { owner: owner.clone(), currency: currency.clone() },
            Self::Deposit { to, money, reference } => moved(Kind::Deposit, None, Some(*to), money, reference),
            Self::Withdraw { from, money, reference } => {
                moved(Kind::Withdrawal, Some(*from), None, money, reference)
            }
            Self::Transfer { from, to, money, reference } => {
                moved(Kind::Transfer, Some(*from), Some(*to), money, reference)
            }
            Self::Close { account } => Wish::Close { account: *account },
            Self::Order { account, money, number } => Wish::Order {
                account: *account,
                minor_units,
                currency: money.currency.clone(),
                number: number.clone(),
            },
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Open { owner: name, .. }
            | Self::Deposit { reference: name, .. }
            | Self::Withdraw { reference: name, .. }
            | Self::Transfer { reference: name, .. }
            | Self::Order { number: name, .. } => name,
            Self::Close { .. } => "",
        }
    }

    fn body_ids(&self) -> Vec<(Id, &'static str)> {
        match self {
            Self::Transfer { from, to, .. } => vec![(*from, "/from_account_id"), (*to, "/to_account_id")],
            Self::Order { account, .. } => vec![(*account, "/account_id")],
            Self::Open { .. } | Self::Deposit { .. } | Self::Withdraw { .. } | Self::Close { .. } => {
                Vec::new()
            }
        }
    }

    pub(crate) fn money(&self) -> Option<&Money> {
        match self {
            Self::Deposit { money, .. }
            | Self::Withdraw { money, .. }
            | Self::Transfer { money, .. }
            | Self::Order { money, .. } => Some(money),
            Self::Open { .. } | Self::Close { .. } => None,
        }
    }
}

/// The client's own names: 1–64 printable characters. Of those that are not printable the scripts use one, a blank of no
/// width, and never in an owner, whose name is 1–64 characters of any kind.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.chars().count()) && !name.contains('\u{200b}')
}

/// Amounts that move money are more than zero. Under a word that is no currency an amount has as many fraction digits
/// as any currency: four.
fn read_money(money: &Money, wrong: &mut BTreeSet<&'static str>) -> i128 {
    let digits = figures::minor_digits(&money.currency);
    wrong.extend(digits.is_none().then_some("/currency"));
    let minor_units = figures::parse(&money.amount, digits.unwrap_or(4)).filter(|_| !money.as_number);
    wrong.extend((minor_units.unwrap_or_default() == 0).then_some("/amount"));
    minor_units.unwrap_or_default()
}
