//! Amounts of money, exact, and what each currency counts in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Digits after the point that an amount keeps: no currency has more.
const DECIMALS: u32 = 4;

/// An amount that is not negative, in ten-thousandths of a unit of its currency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Amount(u128);

/// A text that is no amount.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is no amount: digits, and at most four more behind a point")]
pub struct NotAnAmount {
    text: String,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Reads plain decimal notation, such as `88.80`.
    ///
    /// # Errors
    ///
    /// For a sign, an exponent, a blank, more than 18 digits before or more than four behind the point.
    pub fn parse(text: &str) -> Result<Self, NotAnAmount> {
        let refused = || NotAnAmount { text: text.to_owned() };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
        };
        if !digits(whole, 18) || !digits(fraction, DECIMALS as usize) {
            return Err(refused());
        }
        let padded = format!("{whole}{fraction:0<4}");
        padded.parse().map(Self).map_err(|_| refused())
    }

    /// The amount that is `units` of the currency's 10^-`decimals`; `decimals` is at most four.
    pub fn from_units(units: u64, decimals: u32) -> Self {
        Self(u128::from(units) * scale(decimals))
    }

    /// How many units of 10^-`decimals` it is; `None` unless that is a whole number.
    pub fn in_units(self, decimals: u32) -> Option<u64> {
        self.0.is_multiple_of(scale(decimals)).then(|| u64::try_from(self.0 / scale(decimals)).ok()).flatten()
    }

    /// With exactly so many digits behind the point; `None` if it needs more.
    pub fn text(self, decimals: u32) -> Option<String> {
        self.in_units(decimals)?;
        let shown = self.to_string();
        let (whole, fraction) = shown.split_once('.').unwrap_or((&shown, ""));
        match decimals {
            0 => Some(whole.to_owned()),
            _ => Some(format!("{whole}.{fraction:0<width$}", width = decimals as usize)),
        }
    }

    /// The sum; `None` when it is too large to hold.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference; `None` when it would be negative.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

/// As many digits behind the point as it needs.
impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / scale(0), self.0 % scale(0));
        match format!("{fraction:04}").trim_end_matches('0') {
            "" => write!(formatter, "{whole}"),
            digits => write!(formatter, "{whole}.{digits}"),
        }
    }
}

impl TryFrom<String> for Amount {
    type Error = NotAnAmount;

    fn try_from(text: String) -> Result<Self, NotAnAmount> {
        Self::parse(&text)
    }
}

impl From<Amount> for String {
    fn from(amount: Amount) -> Self {
        amount.to_string()
    }
}

impl FromStr for Amount {
    type Err = NotAnAmount;

    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        Self::parse(text)
    }
}

fn scale(decimals: u32) -> u128 {
    10_u128.pow(DECIMALS.saturating_sub(decimals))
}

/// The digits behind the point of a currency's minor unit (ISO 4217); two for a code that is not known.
pub fn iso_decimals(currency: &str) -> u32 {
    match currency {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX" | "UYI"
        | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        "CLF" | "UYW" => 4,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_and_written_exactly() {
        for (text, units, written) in [
            ("88.80", 8880, "88.80"),
            ("88.8", 8880, "88.80"),
            ("0.01", 1, "0.01"),
            ("500", 50000, "500.00"),
            ("007", 700, "7.00"),
        ] {
            let amount = Amount::parse(text).unwrap();
            assert_eq!(
                (amount.in_units(2), amount.text(2)),
                (Some(units), Some(written.to_owned())),
                "{text}"
            );
            assert_eq!(Amount::from_units(units, 2), amount);
        }
        assert_eq!(Amount::parse("500").unwrap().text(0).as_deref(), Some("500"));
        assert_eq!(Amount::parse("0.0001").unwrap().to_string(), "0.0001");
    }

    #[test]
    fn what_has_more_digits_than_the_unit_is_no_whole_number_of_it() {
        let amount = Amount::parse("5.124").unwrap();
        assert_eq!((amount.in_units(3), amount.in_units(2), amount.text(2)), (Some(5124), None, None));
    }

    #[test]
    fn what_is_no_plain_decimal_is_refused() {
        for text in ["", ".5", "5.", "-1", "+1", "1e3", " 1", "1_000", "0x58", "８８", "1.00000", "1,5"] {
            assert!(Amount::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_difference_is_never_negative() {
        let (one, two) = (Amount::parse("1").unwrap(), Amount::parse("2").unwrap());
        assert_eq!((two.checked_sub(one), one.checked_sub(two)), (Some(one), None));
        assert_eq!(one.checked_add(one), Some(two));
    }
}
