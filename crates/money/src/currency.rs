//! A currency: an active ISO 4217 code that has a minor unit.

use std::fmt;

use thiserror::Error;

use crate::currency_table::{CODES_WITHOUT_MINOR_UNIT, ROWS, Row};

/// A currency that amounts can be held in.
///
/// It is a handle of one byte into a static table, so it is copied freely. The table holds the active codes of
/// ISO 4217 as of 2026-01-01, funds codes (`CLF`, `MXV`, `USN` …) included, *as far as they have a minor unit*.
/// Gold (`XAU`) and the other metals, the special drawing right (`XDR`), the bond market units, `XSU`, `XUA`, the
/// code for tests (`XTS`) and the one for "no currency" (`XXX`) have none: nobody can say how many digits an
/// amount of them has, so they are refused.
///
/// Currencies are ordered by code. `Display` and `Debug` print the code.
///
/// ```
/// use money::{Currency, UnknownCurrency};
///
/// let dinar = Currency::from_code("KWD")?;
/// assert_eq!(dinar.minor_unit(), 3);
/// assert_eq!(dinar.to_string(), "KWD");
///
/// assert_eq!(Currency::from_code("kwd"), Err(UnknownCurrency::NotACode));
/// assert_eq!(Currency::from_code("HRK"), Err(UnknownCurrency::NotActive));
/// assert_eq!(Currency::from_code("XAU"), Err(UnknownCurrency::NoMinorUnit));
/// # Ok::<(), UnknownCurrency>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency(u8);

impl Currency {
    /// The currency with this alphabetic code, upper case as ISO 4217 writes it.
    ///
    /// # Errors
    ///
    /// [`UnknownCurrency`] when the code is malformed, not active, or has no minor unit.
    pub fn from_code(code: &str) -> Result<Currency, UnknownCurrency> {
        match ROWS.binary_search_by(|row| row.code.cmp(code)) {
            Ok(index) => Ok(Currency::at(index)),
            Err(_) => Err(UnknownCurrency::of(code)),
        }
    }

    /// The alphabetic code: three upper-case letters.
    pub fn code(self) -> &'static str {
        self.row().code
    }

    /// The minor unit: how many fraction digits an amount has (JPY 0, USD 2, KWD 3; 4 at most).
    pub fn minor_unit(self) -> u32 {
        self.row().minor_unit
    }

    /// The numeric code: 840 for USD, and 8, which ISO 4217 prints as `008`, for ALL.
    pub fn numeric_code(self) -> u16 {
        self.row().numeric_code
    }

    /// The English name in ISO 4217. Two codes may share one (`VED` and `VES` do): it is for people to read, and
    /// never a key.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Every currency, in the order of codes.
    pub fn all() -> impl Iterator<Item = Currency> {
        (0..ROWS.len()).map(Currency::at)
    }

    fn at(index: usize) -> Currency {
        // Never truncates: the table is asserted, at compile time, to have at most 256 rows.
        Currency(index as u8)
    }

    fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Why a text names no currency that amounts can be held in.
///
/// It does not repeat the text, which may be of any size and content; whoever reports it knows the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum UnknownCurrency {
    /// Not three upper-case ASCII letters.
    #[error("a currency is an ISO 4217 code of three upper-case letters, such as USD")]
    NotACode,
    /// Active, but ISO 4217 gives it no minor unit, so its amounts have no defined number of digits.
    #[error(
        "this currency code has no minor unit in ISO 4217 and cannot hold money; choose a national currency"
    )]
    NoMinorUnit,
    /// Well-formed, but not on the active list; withdrawn codes are no longer on it.
    #[error(
        "this currency code is not on the active list of ISO 4217; a withdrawn code must be replaced by its successor"
    )]
    NotActive,
}

impl UnknownCurrency {
    fn of(code: &str) -> UnknownCurrency {
        if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
            UnknownCurrency::NotACode
        } else if CODES_WITHOUT_MINOR_UNIT.contains(&code) {
            UnknownCurrency::NoMinorUnit
        } else {
            UnknownCurrency::NotActive
        }
    }
}
