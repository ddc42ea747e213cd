//! Every way in which an amount is refused.
//!
//! The texts name the fault and the way out, and may be shown to a client: they never repeat its input, which
//! may be of any size and content.

use thiserror::Error;

use crate::amount::Amount;
use crate::currency::Currency;

/// Why a text is not an amount: its first fault, from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ParseAmountError {
    /// There is no text.
    #[error("the amount is empty; write it in plain decimal notation, such as 12")]
    Empty,
    /// Something that is neither an ASCII digit nor the one point between digits.
    #[error(
        "an amount is written with the digits 0 to 9 and at most one point; \
         leave out signs, exponents, thousands marks, blanks and letters"
    )]
    NotPlainDecimal,
    /// `.5`
    #[error("an amount has a digit before the point; write 0.5, not .5")]
    NoIntegerDigits,
    /// `12.`
    #[error("an amount has a digit after the point; write 12, not 12.")]
    NoFractionDigits,
    /// `012`
    #[error("an amount has no leading zero; write 12, not 012")]
    LeadingZero,
    /// More digits before the point than can be held.
    #[error("an amount has at most {allowed} digits before the point; it must be smaller")]
    TooManyIntegerDigits {
        /// How many there may be.
        allowed: u32,
    },
    /// More digits after the point than the currency's minor unit, zeros included.
    #[error("{}", too_many_fraction_digits(*.currency, *.allowed))]
    TooManyFractionDigits {
        /// The currency that sets the limit.
        currency: Currency,
        /// How many there may be: the currency's minor unit. 0: no point either.
        allowed: u32,
    },
}

/// Why a database decimal is not an amount. It means that a row is not what this service wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum DecimalNotAnAmount {
    /// Below zero.
    #[error("the stored decimal is negative, and an amount of {currency} never is")]
    Negative {
        /// The currency asked for.
        currency: Currency,
    },
    /// A digit other than 0 beyond the currency's minor unit.
    #[error("the stored decimal cannot be held exactly: {}", too_many_fraction_digits(*.currency, *.allowed))]
    TooManyFractionDigits {
        /// The currency that sets the limit.
        currency: Currency,
        /// How many significant fraction digits there may be: the currency's minor unit.
        allowed: u32,
    },
    /// Above the largest amount.
    #[error(transparent)]
    OutOfRange(#[from] AmountOutOfRange),
}

/// More minor units than the largest amount has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("the amount is out of range; the largest is {:?}", Amount::largest(*.currency))]
pub struct AmountOutOfRange {
    /// The currency asked for.
    pub currency: Currency,
}

/// Why a calculation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ArithmeticError {
    /// Amounts of two currencies are neither added nor compared.
    #[error("amounts of {left} and {right} cannot be combined; use one currency")]
    CurrencyMismatch {
        /// The currency expected: that of the amount on the left, or of the sum.
        left: Currency,
        /// The currency met.
        right: Currency,
    },
    /// The result is above the largest amount.
    #[error("the result has more than 18 digits before the point; use smaller amounts")]
    OutOfRange,
    /// The result is below zero.
    #[error("the result would be negative; take away no more than there is")]
    Negative,
}

impl From<AmountOutOfRange> for ArithmeticError {
    fn from(_: AmountOutOfRange) -> ArithmeticError {
        ArithmeticError::OutOfRange
    }
}

fn too_many_fraction_digits(currency: Currency, allowed: u32) -> String {
    match allowed {
        0 => format!("an amount of {currency} has no fraction; write it without a point"),
        _ => format!(
            "an amount of {currency} has at most {allowed} digits after the point; it is never rounded"
        ),
    }
}
