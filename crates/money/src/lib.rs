//! Exact amounts of money in ISO 4217 minor units.
//!
//! In reading order:
//!
//! 1. [`Currency`] – an active ISO 4217 code, and how many fraction digits its amounts have;
//! 2. [`Amount`] – so much of one currency, exact and never negative; how it is read, printed and stored;
//! 3. [`ArithmeticError`] and its neighbours – every way in which an amount can be refused.
//!
//! **The promise.** An amount is what was written, to the last digit, or it is refused. Nothing here rounds,
//! wraps, saturates or panics, and no result depends on the order in which amounts were added.
//!
//! **What is deliberately absent.**
//!
//! - No floating point: 0.1 has no binary fraction.
//! - No `+`, `-`, `*` and no `<`: each can fail (two currencies, a result out of range), and an operator can
//!   only fail by panicking. The methods return a `Result`.
//! - No division and no conversion between currencies: both round, and a rounding rule belongs to the business
//!   that chose it.
//! - No negative amounts: which way money moves is said by the journal's debit and credit sides, not by a sign.
//! - No serde: how an amount looks on the wire is decided where the wire is.
//!
//! ```
//! use money::{Amount, Currency};
//!
//! let usd = Currency::from_code("USD")?;
//! let price = Amount::parse("12.3", usd)?;
//! assert_eq!(price.to_string(), "12.30");
//!
//! let total = price.checked_mul(3)?;
//! assert_eq!(total.to_string(), "36.90");
//!
//! assert!(Amount::parse("12.345", usd).is_err(), "a tenth of a cent is not rounded away");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod currency;
mod currency_table;

mod amount;
mod amount_error;
mod amount_text;

pub use amount::Amount;
pub use amount_error::{AmountOutOfRange, ArithmeticError, DecimalNotAnAmount, ParseAmountError};
pub use currency::{Currency, UnknownCurrency};
