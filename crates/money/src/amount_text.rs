//! The text of an amount, read and written. Nothing here allocates.

use std::fmt;

use crate::amount::INTEGER_DIGITS_MAX;
use crate::amount_error::ParseAmountError;
use crate::currency::Currency;

/// Reads a text by the grammar that [`Amount::parse`](crate::Amount::parse) documents, and gives the amount in
/// minor units.
///
/// It is our own reader because `Decimal`'s accepts signs, exponents, `_` and blanks in places, and rounds what
/// it cannot hold.
pub(crate) fn parse_minor_units(text: &str, currency: Currency) -> Result<u128, ParseAmountError> {
    let mut bytes = text.bytes();
    let mut minor_units = match bytes.next() {
        None => return Err(ParseAmountError::Empty),
        Some(b'.') => return Err(ParseAmountError::NoIntegerDigits),
        Some(byte) => digit(byte)?,
    };

    let mut integer_digits = 1;
    loop {
        match bytes.next() {
            None => return Ok(minor_units * 10_u128.pow(currency.minor_unit())),
            Some(b'.') => break,
            Some(byte) => {
                let digit = digit(byte)?;
                // The first digit was a 0, and this one follows it.
                if minor_units == 0 {
                    return Err(ParseAmountError::LeadingZero);
                }
                if integer_digits == INTEGER_DIGITS_MAX {
                    return Err(ParseAmountError::TooManyIntegerDigits { allowed: INTEGER_DIGITS_MAX });
                }
                minor_units = minor_units * 10 + digit;
                integer_digits += 1;
            }
        }
    }

    let allowed = currency.minor_unit();
    let mut fraction_digits = 0;
    for byte in bytes {
        let digit = digit(byte)?;
        if fraction_digits == allowed {
            return Err(ParseAmountError::TooManyFractionDigits { currency, allowed });
        }
        minor_units = minor_units * 10 + digit;
        fraction_digits += 1;
    }
    if fraction_digits == 0 {
        return Err(ParseAmountError::NoFractionDigits);
    }
    Ok(minor_units * 10_u128.pow(allowed - fraction_digits))
}

/// Writes exactly as many fraction digits as the currency's minor unit has, and no point when it has none.
pub(crate) fn write_minor_units(
    minor_units: u128,
    currency: Currency,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let minor_unit = currency.minor_unit();
    if minor_unit == 0 {
        return write!(f, "{minor_units}");
    }
    let one = 10_u128.pow(minor_unit);
    write!(f, "{}.{:0width$}", minor_units / one, minor_units % one, width = minor_unit as usize)
}

/// A multi-byte character never gets past here: none of its bytes is an ASCII digit.
fn digit(byte: u8) -> Result<u128, ParseAmountError> {
    if byte.is_ascii_digit() { Ok(u128::from(byte - b'0')) } else { Err(ParseAmountError::NotPlainDecimal) }
}
