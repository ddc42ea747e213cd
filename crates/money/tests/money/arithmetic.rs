//! Arithmetic, against reasoning in wider integers.

use std::cmp::Ordering;

use money::{Amount, AmountOutOfRange, ArithmeticError};
use proptest::prelude::*;

use crate::{amount, any_amount, any_amount_of, any_currency, currency};

#[test]
fn ten_dimes_are_a_dollar() {
    let dimes = [amount("0.10", "USD"); 10];
    assert_eq!(Amount::sum(currency("USD"), dimes), Ok(amount("1", "USD")));
    assert_eq!(amount("0.10", "USD").checked_mul(10), Ok(amount("1", "USD")));
}

#[test]
fn one_minor_unit_more_than_the_largest_amount_is_out_of_range() {
    let usd = currency("USD");
    let (largest, cent) = (Amount::largest(usd), amount("0.01", "USD"));
    assert_eq!(largest.checked_add(cent), Err(ArithmeticError::OutOfRange));
    assert_eq!(largest.checked_add(Amount::zero(usd)), Ok(largest));
    assert_eq!(Amount::sum(usd, [cent, largest]), Err(ArithmeticError::OutOfRange));
    assert_eq!(Amount::from_minor_units(largest.minor_units(), usd), Ok(largest));
    for too_many in [largest.minor_units() + 1, u128::MAX] {
        assert_eq!(Amount::from_minor_units(too_many, usd), Err(AmountOutOfRange { currency: usd }));
    }
}

#[test]
fn no_product_wraps() {
    let clf = currency("CLF");
    assert_eq!(Amount::largest(clf).checked_mul(u64::MAX), Err(ArithmeticError::OutOfRange));
    assert_eq!(Amount::largest(clf).checked_mul(2), Err(ArithmeticError::OutOfRange));
    assert_eq!(Amount::largest(clf).checked_mul(1), Ok(Amount::largest(clf)));
    assert_eq!(Amount::largest(clf).checked_mul(0), Ok(Amount::zero(clf)));
    assert_eq!(Amount::zero(clf).checked_mul(u64::MAX), Ok(Amount::zero(clf)));
}

#[test]
fn less_than_nothing_is_refused() {
    let (one, two) = (amount("1", "USD"), amount("2", "USD"));
    assert_eq!(one.checked_sub(two), Err(ArithmeticError::Negative));
    assert_eq!(two.checked_sub(one), Ok(one));
    assert!(one.checked_sub(one).unwrap().is_zero());
}

#[test]
fn amounts_of_two_currencies_are_never_combined_or_equal() {
    let (usd, eur) = (currency("USD"), currency("EUR"));
    let mismatch = ArithmeticError::CurrencyMismatch { left: usd, right: eur };
    for (left, right) in
        [(Amount::zero(usd), Amount::zero(eur)), (Amount::largest(usd), Amount::largest(eur))]
    {
        assert_ne!(left, right);
        assert_eq!(left.checked_add(right), Err(mismatch));
        assert_eq!(left.checked_sub(right), Err(mismatch));
        assert_eq!(left.checked_cmp(right), Err(mismatch));
        assert_eq!(Amount::sum(usd, [left, right]), Err(mismatch));
    }
}

#[test]
fn a_foreign_currency_is_named_even_after_the_sum_has_left_the_range() {
    let (usd, eur) = (currency("USD"), currency("EUR"));
    let (largest, foreign) = (Amount::largest(usd), amount("1", "EUR"));
    let mismatch = Err(ArithmeticError::CurrencyMismatch { left: usd, right: eur });
    assert_eq!(Amount::sum(usd, [foreign, largest, largest]), mismatch);
    assert_eq!(Amount::sum(usd, [largest, largest, foreign]), mismatch);
}

#[test]
fn the_sum_of_nothing_is_zero_of_its_currency() {
    assert_eq!(Amount::sum(currency("JPY"), []), Ok(Amount::zero(currency("JPY"))));
}

/// Amounts of one currency, in two orders. Fractions of the largest amount make sums that end near the limit.
fn amounts_in_two_orders() -> impl Strategy<Value = (Vec<Amount>, Vec<Amount>)> {
    any_currency().prop_flat_map(|currency| {
        let largest = Amount::largest(currency).minor_units();
        let part = (1..=6_u128, 0..=2_u128).prop_map(move |(divisor, less)| {
            Amount::from_minor_units(largest / divisor - less, currency).unwrap()
        });
        prop::collection::vec(prop_oneof![any_amount_of(currency), part], 1..8)
            .prop_flat_map(|amounts| (Just(amounts.clone()), Just(amounts).prop_shuffle()))
    })
}

fn two_amounts_of_one_currency() -> impl Strategy<Value = (Amount, Amount)> {
    any_currency().prop_flat_map(|currency| (any_amount_of(currency), any_amount_of(currency)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_sum_is_exact_or_refused_whatever_the_order((amounts, shuffled) in amounts_in_two_orders()) {
        let currency = amounts[0].currency();
        let exact: u128 = amounts.iter().map(|amount| amount.minor_units()).sum();
        let sum = Amount::sum(currency, amounts.iter().copied());
        prop_assert_eq!(sum, Amount::sum(currency, shuffled.iter().copied()));
        if exact <= Amount::largest(currency).minor_units() {
            prop_assert_eq!(sum.map(Amount::minor_units), Ok(exact));
        } else {
            prop_assert_eq!(sum, Err(ArithmeticError::OutOfRange));
        }

        let one_by_one = amounts.iter().try_fold(Amount::zero(currency), |sum, amount| sum.checked_add(*amount));
        prop_assert_eq!(one_by_one, sum);
    }

    #[test]
    fn a_difference_is_exact_or_refused((left, right) in two_amounts_of_one_currency()) {
        let exact = left.minor_units() as i128 - right.minor_units() as i128;
        match left.checked_sub(right) {
            Ok(difference) => prop_assert_eq!(difference.minor_units() as i128, exact),
            Err(refusal) => prop_assert!(exact < 0 && refusal == ArithmeticError::Negative),
        }
        prop_assert_eq!(left.checked_cmp(right), Ok(exact.cmp(&0)));
    }

    #[test]
    fn what_was_added_can_be_taken_away((left, right) in two_amounts_of_one_currency()) {
        if let Ok(sum) = left.checked_add(right) {
            prop_assert_eq!(sum.checked_sub(right), Ok(left));
            prop_assert_ne!(sum.checked_cmp(left), Ok(Ordering::Less));
        }
    }

    #[test]
    fn a_product_is_exact_or_refused(
        amount in any_amount(),
        quantity in prop_oneof![0..=20_u64, any::<u64>()],
    ) {
        // By division, which cannot overflow: the product fits exactly when the quantity goes into the largest.
        let largest = Amount::largest(amount.currency()).minor_units();
        let fits = amount.is_zero() || u128::from(quantity) <= largest / amount.minor_units();
        match amount.checked_mul(quantity) {
            Ok(product) => {
                prop_assert!(fits);
                prop_assert_eq!(product.minor_units(), amount.minor_units() * u128::from(quantity));
            }
            Err(refusal) => prop_assert!(!fits && refusal == ArithmeticError::OutOfRange),
        }
    }

    #[test]
    fn a_product_is_the_sum_of_its_copies(amount in any_amount(), quantity in 0..=20_u64) {
        let copies = std::iter::repeat_n(amount, quantity as usize);
        prop_assert_eq!(amount.checked_mul(quantity), Amount::sum(amount.currency(), copies));
    }
}
