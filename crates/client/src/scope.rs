//! What an API key may be used for.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One kind of thing that a key may be good for. Each operation of the API needs exactly one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// To look at accounts, their statements, movements and holds.
    AccountsRead,
    /// To open and close accounts, and to move or freeze what is in them.
    AccountsWrite,
    /// To look at orders, their histories and refunds.
    OrdersRead,
    /// To place, capture, cancel and refund orders.
    OrdersWrite,
    /// To look at what can be ordered.
    InventoryRead,
    /// To set what can be ordered, and its price.
    InventoryWrite,
    /// To look at payments at providers.
    PaymentsRead,
    /// To look at payment alerts.
    AlertsRead,
    /// To decide what becomes of the money that an alert is about.
    AlertsResolve,
    /// To look at what days come to.
    ReportsRead,
    /// To ask what became of an idempotency key.
    KeysRead,
    /// To have idempotency keys made.
    KeysWrite,
}

impl Scope {
    /// Every scope, in the order of the API.
    pub const ALL: [Self; 12] = [
        Self::AccountsRead,
        Self::AccountsWrite,
        Self::OrdersRead,
        Self::OrdersWrite,
        Self::InventoryRead,
        Self::InventoryWrite,
        Self::PaymentsRead,
        Self::AlertsRead,
        Self::AlertsResolve,
        Self::ReportsRead,
        Self::KeysRead,
        Self::KeysWrite,
    ];

    /// Its word, such as `orders:write`. It is a scope token of RFC 6749, 3.3.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccountsRead => "accounts:read",
            Self::AccountsWrite => "accounts:write",
            Self::OrdersRead => "orders:read",
            Self::OrdersWrite => "orders:write",
            Self::InventoryRead => "inventory:read",
            Self::InventoryWrite => "inventory:write",
            Self::PaymentsRead => "payments:read",
            Self::AlertsRead => "alerts:read",
            Self::AlertsResolve => "alerts:resolve",
            Self::ReportsRead => "reports:read",
            Self::KeysRead => "keys:read",
            Self::KeysWrite => "keys:write",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that is no scope.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no scope {0}; there are {all}", all = Scope::ALL.map(Scope::as_str).join(", "))]
pub struct UnknownScope(pub String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(word: &str) -> Result<Self, UnknownScope> {
        let known = Self::ALL.into_iter().find(|scope| scope.as_str() == word);
        known.ok_or_else(|| UnknownScope(word.to_owned()))
    }
}

/// What a key is good for altogether.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scopes {
    /// Everything, what later versions of the service can do included.
    All,
    /// These, and nothing else.
    Only(BTreeSet<Scope>),
}

impl Scopes {
    /// Everything, if none is named: a key that is good for nothing is none.
    pub fn named(scopes: impl IntoIterator<Item = Scope>) -> Self {
        let only: BTreeSet<Scope> = scopes.into_iter().collect();
        if only.is_empty() { Self::All } else { Self::Only(only) }
    }

    /// Whether it is good for that.
    pub fn allow(&self, scope: Scope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(&scope),
        }
    }

    /// The words as they are stored; nothing for [`All`](Self::All).
    pub fn words(&self) -> Option<Vec<&'static str>> {
        match self {
            Self::All => None,
            Self::Only(scopes) => Some(scopes.iter().map(|scope| scope.as_str()).collect()),
        }
    }
}

/// From what is stored. A word that this version does not know is a later version's, and allows nothing here.
impl From<Option<Vec<String>>> for Scopes {
    fn from(words: Option<Vec<String>>) -> Self {
        match words {
            None => Self::All,
            Some(words) => Self::Only(words.iter().filter_map(|word| word.parse().ok()).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_back_as_its_scope_and_no_other_word_is_one() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
        let error = "orders:*".parse::<Scope>().unwrap_err().to_string();
        assert!(error.starts_with("there is no scope orders:*; there are accounts:read, "), "{error}");
    }

    #[test]
    fn a_key_is_good_for_what_it_names_and_for_everything_if_it_names_nothing() {
        let reader = Scopes::named([Scope::OrdersRead]);
        assert!(reader.allow(Scope::OrdersRead) && !reader.allow(Scope::OrdersWrite));
        assert!(Scope::ALL.into_iter().all(|scope| Scopes::named([]).allow(scope)));
    }

    #[test]
    fn what_is_stored_is_read_back_and_a_later_versions_word_allows_nothing() {
        let stored = |scopes: &Scopes| {
            Scopes::from(scopes.words().map(|words| words.into_iter().map(str::to_owned).collect()))
        };
        for scopes in [Scopes::All, Scopes::named([Scope::KeysRead, Scope::AlertsResolve])] {
            assert_eq!(stored(&scopes), scopes);
        }
        let later = Scopes::from(Some(vec!["weather:write".to_owned()]));
        assert!(
            Scope::ALL.into_iter().all(|scope| !later.allow(scope)),
            "a word unknown here is not everything"
        );
    }
}
