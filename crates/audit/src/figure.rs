//! An exact number, as the database holds it.

use std::fmt;

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgTypeInfo, PgValueFormat, PgValueRef};
use sqlx::{Decode, Postgres, Type};

/// Ten-thousandths in one: money's columns have four fraction digits.
const UNIT: i128 = 10_000;

/// A number of a `NUMERIC(…, 4)` column.
///
/// A damaged column may hold what is no number at all (`NaN` passes a check that it be positive), and an audit must
/// not stop at that: it is a value like others, and equal to itself only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Figure {
    /// So many ten-thousandths.
    TenThousandths(i128),
    /// `NaN`, an infinity, or a number that is too large or too fine for its column.
    NotANumber,
}

impl Figure {
    /// Nothing.
    pub const ZERO: Self = Self::TenThousandths(0);

    /// Reads decimal text, as events have it.
    pub fn from_text(text: &str) -> Self {
        let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if integer.is_empty() || fraction.len() > 4 || !digits(integer) || !digits(fraction) {
            return Self::NotANumber;
        }
        format!("{integer}{fraction:0<4}").parse().map_or(Self::NotANumber, Self::TenThousandths)
    }

    /// The ten-thousandths; none where it is not a number.
    pub fn ten_thousandths(self) -> Option<i128> {
        match self {
            Self::TenThousandths(units) => Some(units),
            Self::NotANumber => None,
        }
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        self.with(other, i128::checked_add)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Self {
        self.with(other, i128::checked_sub)
    }

    fn with(self, other: Self, operation: fn(i128, i128) -> Option<i128>) -> Self {
        match (self, other) {
            (Self::TenThousandths(one), Self::TenThousandths(other)) => {
                operation(one, other).map_or(Self::NotANumber, Self::TenThousandths)
            }
            _ => Self::NotANumber,
        }
    }

    /// Whether it is a number with so many fraction digits at most.
    pub fn has_at_most(self, fraction_digits: u32) -> bool {
        let step = 4_u32.checked_sub(fraction_digits).map_or(1, |finer| 10_i128.pow(finer));
        self.ten_thousandths().is_some_and(|units| units % step == 0)
    }
}

impl fmt::Display for Figure {
    /// Two fraction digits, or as many as it has.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TenThousandths(units) = self else { return formatter.write_str("not a number") };
        let sign = if *units < 0 { "-" } else { "" };
        let (integer, fraction) = (units.unsigned_abs() / 10_000, units.unsigned_abs() % 10_000);
        let fraction = format!("{fraction:04}");
        let digits = fraction.trim_end_matches('0').len().max(2);
        write!(formatter, "{sign}{integer}.{}", &fraction[..digits])
    }
}

impl Type<Postgres> for Figure {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("NUMERIC")
    }
}

impl<'r> Decode<'r, Postgres> for Figure {
    /// Reads what `numeric_send` of PostgreSQL (`src/backend/utils/adt/numeric.c`) writes: the number of digits, the
    /// weight of the first, sign and scale, then the digits to the base of 10,000. Ten-thousandths are thus a whole
    /// number of the last digit, and nothing is ever rounded.
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        if value.format() != PgValueFormat::Binary {
            return Err("a NUMERIC was to be sent in binary".into());
        }
        from_binary(value.as_bytes()?).ok_or_else(|| "a NUMERIC ends too early".into())
    }
}

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;

/// `None` where bytes are missing.
fn from_binary(bytes: &[u8]) -> Option<Figure> {
    let mut words = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let (count, weight, sign, _scale) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if sign != POSITIVE && sign != NEGATIVE {
        return Some(Figure::NotANumber);
    }
    let first = i32::from(weight.cast_signed()) + 1;
    let mut units = Some(0_i128);
    for place in 0..i32::from(count) {
        let digit = i128::from(words.next()?);
        units = units.and_then(|units| units.checked_add(at_place(digit, first - place)?));
    }
    let signed = units.map(|units| if sign == NEGATIVE { -units } else { units });
    Some(signed.map_or(Figure::NotANumber, Figure::TenThousandths))
}

/// The digit times 10,000 to the power of its place; nothing below place 0 can be held.
fn at_place(digit: i128, place: i32) -> Option<i128> {
    match u32::try_from(place) {
        Ok(place) => UNIT.checked_pow(place)?.checked_mul(digit),
        Err(_) => (digit == 0).then_some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let count = u16::try_from(digits.len()).unwrap();
        let head = [count, weight.cast_unsigned(), sign, 4];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn a_number_is_read_digit_by_digit() {
        let table = [
            (binary(0, POSITIVE, &[]), Figure::ZERO),
            (binary(0, POSITIVE, &[128]), Figure::TenThousandths(1_280_000)),
            (binary(1, POSITIVE, &[1, 2345, 6789]), Figure::TenThousandths(123_456_789)),
            (binary(-1, NEGATIVE, &[5]), Figure::TenThousandths(-5)),
            (binary(0, 0xC000, &[]), Figure::NotANumber),
            (binary(0, 0xD000, &[]), Figure::NotANumber),
            (binary(-2, POSITIVE, &[5]), Figure::NotANumber),
            (binary(40, POSITIVE, &[1]), Figure::NotANumber),
        ];
        for (bytes, figure) in table {
            assert_eq!(from_binary(&bytes), Some(figure), "{bytes:?}");
        }
        assert_eq!(from_binary(&[0, 1, 0, 0, 0, 0, 0, 4]), None);
    }

    #[test]
    fn a_text_is_read_to_the_last_digit() {
        for (text, units) in [("0", 0), ("12.3", 123_000), ("0.0005", 5), ("500", 5_000_000), ("1.", 10_000)]
        {
            assert_eq!(Figure::from_text(text), Figure::TenThousandths(units), "{text}");
        }
        for text in ["", ".5", "-1", "1e3", "1.00001", "12,3", &"9".repeat(40)] {
            assert_eq!(Figure::from_text(text), Figure::NotANumber, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let one = Figure::TenThousandths(10_000);
        assert_eq!(one.plus(Figure::NotANumber), Figure::NotANumber);
        assert_eq!(Figure::TenThousandths(i128::MAX).plus(one), Figure::NotANumber);
        assert!(!Figure::NotANumber.has_at_most(4));
    }

    #[test]
    fn a_figure_is_printed_with_the_digits_that_it_has() {
        let table = [(0, "0.00"), (-1_280_000, "-128.00"), (5, "0.0005"), (12_340, "1.234")];
        for (units, text) in table {
            assert_eq!(Figure::TenThousandths(units).to_string(), text);
        }
    }

    #[test]
    fn digits_finer_than_the_currency_are_seen() {
        assert!(Figure::TenThousandths(50_000).has_at_most(0));
        assert!(!Figure::TenThousandths(50_100).has_at_most(0));
        assert!(Figure::TenThousandths(50_100).has_at_most(2));
        assert!(Figure::TenThousandths(50_001).has_at_most(4));
    }
}
