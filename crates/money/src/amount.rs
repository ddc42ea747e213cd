//! An amount: so much of one currency.

use std::cmp::Ordering;
use std::fmt;

use rust_decimal::Decimal;

use crate::amount_error::{AmountOutOfRange, ArithmeticError, DecimalNotAnAmount, ParseAmountError};
use crate::amount_text;
use crate::currency::Currency;
use crate::currency_table::MINOR_UNIT_MAX;

/// How many digits may stand before the point.
///
/// With the longest minor unit that makes 22 digits, which `NUMERIC(28, 4)` holds with room for a sum of a
/// million largest amounts, and which a [`Decimal`] (28 digits) holds exactly.
pub(crate) const INTEGER_DIGITS_MAX: u32 = 18;

/// So much of one currency: exact, never negative, at most 18 integer digits.
///
/// It is held as a whole number of minor units (cents, yen, fils), not as a decimal with a scale of its own.
/// So equal amounts have one representation (`12.3` and `12.30` are equal and hash alike), "no more fraction
/// digits than the minor unit" is true by construction, and arithmetic is that of integers, checked. The
/// operators of [`Decimal`] panic on overflow and round silently past 28 digits; it is used only as the form in
/// which a database column is read and written, and converted digit by digit.
///
/// `==` holds between amounts of the same currency only: 0 USD is not 0 EUR. For an order, see
/// [`checked_cmp`](Amount::checked_cmp). `Display` prints exactly as many fraction digits as the minor unit has,
/// whatever width or precision the format asks for, since an amount cut short is another amount. `Debug` adds
/// the code.
///
/// ```
/// use money::{Amount, Currency};
///
/// let usd = Currency::from_code("USD")?;
/// let amount = Amount::parse("12.3", usd)?;
/// assert_eq!(amount.to_string(), "12.30");
/// assert_eq!(format!("{amount:.1}"), "12.30");
/// assert_eq!(format!("{amount:?}"), "12.30 USD");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Amount {
    /// At most [`largest_minor_units`] of the currency.
    minor_units: u128,
    currency: Currency,
}

/// Making one, and reading it.
impl Amount {
    /// Reads an amount in plain decimal notation: `(0|[1-9][0-9]{0,17})(\.[0-9]{1,u})?`, where `u` is the minor
    /// unit of the currency; with `u` = 0 there is no point at all. `12.3` and `12.30` are the same amount.
    ///
    /// ASCII digits only: no sign, exponent, thousands mark, blank or leading zero. Zero is an amount; whether it
    /// may be paid is for others to say. Reading stops at the first fault, so that a text of any size costs a
    /// few dozen bytes of reading at most, and no memory.
    ///
    /// # Errors
    ///
    /// [`ParseAmountError`] names the first fault from the left. Nothing is ever rounded.
    ///
    /// ```
    /// use money::{Amount, Currency, ParseAmountError};
    ///
    /// let yen = Currency::from_code("JPY")?;
    /// assert_eq!(Amount::parse("100", yen)?.minor_units(), 100);
    /// assert_eq!(
    ///     Amount::parse("100.5", yen),
    ///     Err(ParseAmountError::TooManyFractionDigits { currency: yen, allowed: 0 })
    /// );
    /// assert_eq!(Amount::parse("1e2", yen), Err(ParseAmountError::NotPlainDecimal));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str, currency: Currency) -> Result<Amount, ParseAmountError> {
        // The grammar bounds the digits on both sides of the point, and so the value.
        let minor_units = amount_text::parse_minor_units(text, currency)?;
        debug_assert!(minor_units <= largest_minor_units(currency));
        Ok(Amount { minor_units, currency })
    }

    /// Nothing, of this currency.
    pub fn zero(currency: Currency) -> Amount {
        Amount { minor_units: 0, currency }
    }

    /// The largest amount there is: 18 nines, and nines in every fraction digit.
    pub fn largest(currency: Currency) -> Amount {
        Amount { minor_units: largest_minor_units(currency), currency }
    }

    /// So many of the currency's smallest units: 1230 is 12.30 USD, 1230 JPY, 1.230 KWD.
    ///
    /// # Errors
    ///
    /// [`AmountOutOfRange`] above [`largest`](Amount::largest).
    pub fn from_minor_units(minor_units: u128, currency: Currency) -> Result<Amount, AmountOutOfRange> {
        if minor_units > largest_minor_units(currency) {
            return Err(AmountOutOfRange { currency });
        }
        Ok(Amount { minor_units, currency })
    }

    /// How many of the currency's smallest units this is; below 10²².
    pub fn minor_units(self) -> u128 {
        self.minor_units
    }

    /// The amount that a `NUMERIC(28, 4)` column holds.
    ///
    /// A column has one scale for all currencies, so zeros beyond the minor unit are dropped (`12.3000` is
    /// 12.30 USD); any other digit there means that the row is not what this service wrote, and is refused
    /// rather than rounded. A negative zero is zero.
    ///
    /// # Errors
    ///
    /// [`DecimalNotAnAmount`]: negative, then too many significant fraction digits, then out of range.
    ///
    /// ```
    /// use money::{Amount, Currency, DecimalNotAnAmount};
    /// use rust_decimal::Decimal;
    ///
    /// let usd = Currency::from_code("USD")?;
    /// assert_eq!(Amount::from_decimal(Decimal::new(12_3000, 4), usd)?.to_string(), "12.30");
    /// assert_eq!(
    ///     Amount::from_decimal(Decimal::new(12_3456, 4), usd),
    ///     Err(DecimalNotAnAmount::TooManyFractionDigits { currency: usd, allowed: 2 })
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_decimal(decimal: Decimal, currency: Currency) -> Result<Amount, DecimalNotAnAmount> {
        // A decimal is ± mantissa / 10^scale, with a mantissa below 2^96.
        let mantissa =
            u128::try_from(decimal.mantissa()).map_err(|_| DecimalNotAnAmount::Negative { currency })?;
        let minor_unit = currency.minor_unit();
        let minor_units = if decimal.scale() > minor_unit {
            let excess = 10_u128.pow(decimal.scale() - minor_unit);
            if mantissa % excess != 0 {
                return Err(DecimalNotAnAmount::TooManyFractionDigits { currency, allowed: minor_unit });
            }
            mantissa / excess
        } else {
            mantissa * 10_u128.pow(minor_unit - decimal.scale())
        };
        Ok(Amount::from_minor_units(minor_units, currency)?)
    }

    /// The same value as a decimal, for a database column; its scale is the minor unit. Always exact.
    pub fn to_decimal(self) -> Decimal {
        // Cannot panic: 22 digits are below the limit of 2^96, and the minor unit is below that of 28 digits.
        Decimal::from_i128_with_scale(self.minor_units as i128, self.currency.minor_unit())
    }

    /// The currency that this is an amount of.
    pub fn currency(self) -> Currency {
        self.currency
    }

    /// Whether this is nothing.
    pub fn is_zero(self) -> bool {
        self.minor_units == 0
    }
}

/// Arithmetic: exact, or refused.
impl Amount {
    /// This and the other together.
    ///
    /// # Errors
    ///
    /// [`ArithmeticError::CurrencyMismatch`], then [`ArithmeticError::OutOfRange`] above the largest amount.
    pub fn checked_add(self, other: Amount) -> Result<Amount, ArithmeticError> {
        self.same_currency(other.currency)?;
        // Two amounts are below 10^23 together: far from the end of u128.
        Ok(Amount::from_minor_units(self.minor_units + other.minor_units, self.currency)?)
    }

    /// What is left of this when the other is taken away.
    ///
    /// # Errors
    ///
    /// [`ArithmeticError::CurrencyMismatch`], then [`ArithmeticError::Negative`] when the other is larger.
    pub fn checked_sub(self, other: Amount) -> Result<Amount, ArithmeticError> {
        self.same_currency(other.currency)?;
        let minor_units = self.minor_units.checked_sub(other.minor_units).ok_or(ArithmeticError::Negative)?;
        Ok(Amount { minor_units, currency: self.currency })
    }

    /// This amount so many times: a unit price times a quantity.
    ///
    /// # Errors
    ///
    /// [`ArithmeticError::OutOfRange`] above the largest amount.
    pub fn checked_mul(self, quantity: u64) -> Result<Amount, ArithmeticError> {
        let minor_units =
            self.minor_units.checked_mul(u128::from(quantity)).ok_or(ArithmeticError::OutOfRange)?;
        Ok(Amount::from_minor_units(minor_units, self.currency)?)
    }

    /// Which of two amounts is the larger.
    ///
    /// # Errors
    ///
    /// [`ArithmeticError::CurrencyMismatch`]: amounts of two currencies have no order, not even when both are 0.
    ///
    /// ```
    /// use money::{Amount, ArithmeticError, Currency};
    ///
    /// let (usd, eur) = (Currency::from_code("USD")?, Currency::from_code("EUR")?);
    /// let available = Amount::parse("10", usd)?;
    /// assert!(available.checked_cmp(Amount::parse("9.99", usd)?)?.is_ge());
    /// assert_eq!(
    ///     available.checked_cmp(Amount::parse("9.99", eur)?),
    ///     Err(ArithmeticError::CurrencyMismatch { left: usd, right: eur })
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_cmp(self, other: Amount) -> Result<Ordering, ArithmeticError> {
        self.same_currency(other.currency)?;
        Ok(self.minor_units.cmp(&other.minor_units))
    }

    /// All of these together, in the given currency; of none of them, zero.
    ///
    /// Whether the sum is refused, and for which of the two reasons, does not depend on the order: every amount
    /// is looked at, and a foreign currency comes before a sum out of range.
    ///
    /// # Errors
    ///
    /// [`ArithmeticError::CurrencyMismatch`] with the first foreign currency as `right`, then
    /// [`ArithmeticError::OutOfRange`] above the largest amount.
    pub fn sum(
        currency: Currency,
        amounts: impl IntoIterator<Item = Amount>,
    ) -> Result<Amount, ArithmeticError> {
        let total = Amount::zero(currency);
        let mut minor_units = 0_u128;
        for amount in amounts {
            total.same_currency(amount.currency)?;
            // No amount is negative, so a total that stops at the end of u128 was out of range for good.
            minor_units = minor_units.saturating_add(amount.minor_units);
        }
        Ok(Amount::from_minor_units(minor_units, currency)?)
    }

    fn same_currency(self, other: Currency) -> Result<(), ArithmeticError> {
        if self.currency == other {
            Ok(())
        } else {
            Err(ArithmeticError::CurrencyMismatch { left: self.currency, right: other })
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        amount_text::write_minor_units(self.minor_units, self.currency, f)
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} {}", self.currency)
    }
}

fn largest_minor_units(currency: Currency) -> u128 {
    10_u128.pow(INTEGER_DIGITS_MAX + currency.minor_unit()) - 1
}

// `to_decimal` and `from_decimal` rest on this: an amount's integer, and a decimal's mantissa (below 2^96) times
// what brings it to minor units, fit.
const _: () = {
    assert!(10_u128.pow(INTEGER_DIGITS_MAX + MINOR_UNIT_MAX) < 1 << 96);
    assert!((1_u128 << 96).checked_mul(10_u128.pow(MINOR_UNIT_MAX)).is_some());
};
