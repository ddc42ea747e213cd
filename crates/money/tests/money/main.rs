//! What the crate promises, checked through its public interface alone.

mod arithmetic;
mod currency;
mod decimal;
mod text;

use money::{Amount, Currency};
use proptest::prelude::*;

fn currency(code: &str) -> Currency {
    Currency::from_code(code).unwrap()
}

fn amount(text: &str, code: &str) -> Amount {
    Amount::parse(text, currency(code)).unwrap()
}

fn any_currency() -> impl Strategy<Value = Currency> {
    prop::sample::select(Currency::all().collect::<Vec<_>>())
}

/// Amounts of everyday size, of any size, and within reach of both ends of the range.
fn any_amount_of(currency: Currency) -> impl Strategy<Value = Amount> {
    let largest = Amount::largest(currency).minor_units();
    prop_oneof![0..=3_u128, 0..=1_000_000_u128, 0..=largest, largest - 3..=largest]
        .prop_map(move |minor_units| Amount::from_minor_units(minor_units, currency).unwrap())
}

fn any_amount() -> impl Strategy<Value = Amount> {
    any_currency().prop_flat_map(any_amount_of)
}
