//! To the database's decimals and back: exact, or refused.

use std::str::FromStr;

use money::{Amount, DecimalNotAnAmount};
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::{any_amount, any_currency, currency};

#[test]
fn every_price_from_a_cent_to_a_thousand_survives_the_way_to_the_database_and_back() {
    let usd = currency("USD");
    for cents in 1..=100_000 {
        let text = format!("{}.{:02}", cents / 100, cents % 100);
        let price = Amount::parse(&text, usd).unwrap();
        let decimal = price.to_decimal();
        assert_eq!(decimal.to_string(), text);

        // The column has four fraction digits and gives them all back.
        let mut column = decimal;
        column.rescale(4);
        for stored in [decimal, column] {
            let read = Amount::from_decimal(stored, usd).unwrap();
            assert_eq!(read, price);
            assert_eq!(read.to_string(), text);
        }
    }
}

#[test]
fn a_decimal_that_is_not_an_amount_is_refused_with_its_reason() {
    let usd = currency("USD");
    let too_fine = DecimalNotAnAmount::TooManyFractionDigits { currency: usd, allowed: 2 };
    for (decimal, fault) in [
        ("-0.01", DecimalNotAnAmount::Negative { currency: usd }),
        ("-79228162514264337593543950335", DecimalNotAnAmount::Negative { currency: usd }),
        ("0.001", too_fine),
        ("12.3450", too_fine),
        ("0.0000000000000000000000000001", too_fine),
        ("999999999999999999.995", too_fine),
    ] {
        assert_eq!(Amount::from_decimal(Decimal::from_str(decimal).unwrap(), usd), Err(fault), "{decimal}");
    }
    for decimal in ["1000000000000000000", "1000000000000000000.0000", "79228162514264337593543950335"] {
        let refusal = Amount::from_decimal(Decimal::from_str(decimal).unwrap(), usd).unwrap_err();
        assert!(matches!(refusal, DecimalNotAnAmount::OutOfRange(_)), "{decimal}: {refusal:?}");
        assert_eq!(
            refusal.to_string(),
            "the amount is out of range; the largest is 999999999999999999.99 USD"
        );
    }
}

#[test]
fn zeros_beyond_the_minor_unit_are_dropped() {
    for (decimal, code, printed) in [
        ("12.3000", "USD", "12.30"),
        ("12", "USD", "12.00"),
        ("100.0000", "JPY", "100"),
        ("1.860000000000000000000000000", "KWD", "1.860"),
        ("0.0000", "USD", "0.00"),
        ("-0.00", "USD", "0.00"),
    ] {
        let amount = Amount::from_decimal(Decimal::from_str(decimal).unwrap(), currency(code)).unwrap();
        assert_eq!(amount.to_string(), printed);
    }
}

/// Any decimal there is, and often one with few significant digits or many zeros at its end.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    let limit = (1_i128 << 96) - 1;
    let mantissa = prop_oneof![
        -limit..=limit,
        -1_000_000..=1_000_000_i128,
        (0..=1_000_000_i128, 0..=22_u32).prop_map(|(digits, zeros)| digits * 10_i128.pow(zeros)),
    ];
    (mantissa, 0..=28_u32).prop_map(|(mantissa, scale)| Decimal::from_i128_with_scale(mantissa, scale))
}

/// The digits of a decimal, without a zero too many: a statement of its value in which nothing is computed.
fn canonical(decimal: Decimal) -> (bool, String, String) {
    let digits = format!("{:0>29}", decimal.mantissa().unsigned_abs().to_string());
    let (integer, fraction) = digits.split_at(digits.len() - decimal.scale() as usize);
    (
        decimal.mantissa() < 0,
        integer.trim_start_matches('0').to_owned(),
        fraction.trim_end_matches('0').to_owned(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn a_decimal_is_taken_to_the_last_digit_or_refused(decimal in any_decimal(), currency in any_currency()) {
        let (negative, integer, fraction) = canonical(decimal);
        let too_fine = fraction.len() > currency.minor_unit() as usize;
        let too_large = integer.len() > 18;
        match Amount::from_decimal(decimal, currency) {
            Ok(amount) => {
                prop_assert!(!negative && !too_fine && !too_large);
                prop_assert_eq!(canonical(amount.to_decimal()), (negative, integer, fraction));
            }
            Err(DecimalNotAnAmount::Negative { .. }) => prop_assert!(negative),
            Err(DecimalNotAnAmount::TooManyFractionDigits { allowed, .. }) => {
                prop_assert!(!negative && too_fine);
                prop_assert_eq!(allowed, currency.minor_unit());
            }
            Err(DecimalNotAnAmount::OutOfRange(_)) => prop_assert!(!negative && !too_fine && too_large),
        }
    }

    #[test]
    fn an_amount_survives_the_way_to_a_decimal_and_back(amount in any_amount()) {
        let decimal = amount.to_decimal();
        prop_assert_eq!(decimal.scale(), amount.currency().minor_unit());
        prop_assert_eq!(decimal.to_string(), amount.to_string());
        prop_assert_eq!(Amount::from_decimal(decimal, amount.currency()), Ok(amount));
    }
}
