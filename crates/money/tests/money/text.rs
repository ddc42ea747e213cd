//! Reading and printing, against a second, plain statement of the grammar.

use money::{Amount, Currency, ParseAmountError};
use proptest::prelude::*;

use crate::{amount, any_amount, any_currency, currency};

/// The grammar of the contract, written down a second time and in another way than the parser: split first,
/// then look at each part. Gives the minor units as padded digits.
fn oracle(text: &str, minor_unit: usize) -> Option<u128> {
    let (integer, fraction) = text.split_once('.').map_or((text, None), |(left, right)| (left, Some(right)));
    let only_digits = |part: &str| part.chars().all(|character| "0123456789".contains(character));
    let integer_is_fine = integer == "0"
        || ((1..=18).contains(&integer.len()) && only_digits(integer) && !integer.starts_with('0'));
    let fraction_is_fine =
        fraction.is_none_or(|digits| (1..=minor_unit).contains(&digits.len()) && only_digits(digits));
    if !(integer_is_fine && fraction_is_fine) {
        return None;
    }
    format!("{integer}{:0<minor_unit$}", fraction.unwrap_or("")).parse().ok()
}

fn agrees_with_the_oracle(text: &str, currency: Currency) -> Result<(), String> {
    let parsed = Amount::parse(text, currency);
    let expected = oracle(text, currency.minor_unit() as usize);
    if parsed.ok().map(Amount::minor_units) == expected {
        Ok(())
    } else {
        Err(format!("{text:?} in {currency}: parsed {parsed:?}, the grammar says {expected:?}"))
    }
}

#[test]
fn amounts_are_printed_with_exactly_the_digits_of_the_minor_unit() {
    for (text, code, printed) in [
        ("100", "JPY", "100"),
        ("0", "JPY", "0"),
        ("12.3", "USD", "12.30"),
        ("12.30", "USD", "12.30"),
        ("12", "USD", "12.00"),
        ("0.05", "USD", "0.05"),
        ("0", "USD", "0.00"),
        ("1.86", "KWD", "1.860"),
        ("0.0001", "CLF", "0.0001"),
        ("999999999999999999.9999", "UYW", "999999999999999999.9999"),
    ] {
        assert_eq!(amount(text, code).to_string(), printed);
        assert_eq!(format!("{:?}", amount(text, code)), format!("{printed} {code}"));
    }
}

#[test]
fn a_width_or_precision_in_the_format_cannot_cut_an_amount_short() {
    assert_eq!(
        format!("{:.0}|{:3}|{:.1}", amount("12.34", "USD"), amount("5", "USD"), amount("7", "JPY")),
        "12.34|5.00|7"
    );
}

#[test]
fn the_largest_amount_is_18_nines_and_nines_in_every_fraction_digit() {
    for (code, printed) in [
        ("JPY", "999999999999999999"),
        ("USD", "999999999999999999.99"),
        ("KWD", "999999999999999999.999"),
        ("CLF", "999999999999999999.9999"),
    ] {
        assert_eq!(Amount::largest(currency(code)).to_string(), printed);
        assert_eq!(amount(printed, code), Amount::largest(currency(code)));
    }
}

#[test]
fn each_fault_is_named() {
    use ParseAmountError::*;
    let (usd, jpy) = (currency("USD"), currency("JPY"));
    for (text, fault) in [
        ("", Empty),
        (".", NoIntegerDigits),
        (".5", NoIntegerDigits),
        ("12.", NoFractionDigits),
        ("00", LeadingZero),
        ("012", LeadingZero),
        ("00.5", LeadingZero),
        ("1000000000000000000", TooManyIntegerDigits { allowed: 18 }),
        ("12.345", TooManyFractionDigits { currency: usd, allowed: 2 }),
        ("12.300", TooManyFractionDigits { currency: usd, allowed: 2 }),
    ] {
        assert_eq!(Amount::parse(text, usd), Err(fault), "{text:?}");
    }
    for text in ["1.0", "1.5"] {
        assert_eq!(
            Amount::parse(text, jpy),
            Err(TooManyFractionDigits { currency: jpy, allowed: 0 }),
            "{text:?}"
        );
    }
}

#[test]
fn everything_else_is_not_plain_decimal() {
    for text in [
        "-1",
        "+1",
        "-0",
        "1e2",
        "1E2",
        "1,000",
        "1_000",
        "1'000",
        " 1",
        "1 ",
        "1 0",
        "\t1",
        "1\n",
        "1\0",
        "$1",
        "1USD",
        "NaN",
        "inf",
        "Infinity",
        "0x10",
        "1..2",
        "1.2.3",
        "1.-2",
        "1.+2",
        "1. 2",
        "1.2 ",
        "1,5",
        "٣",
        "１２",
        "1２",
        "1.２",
        "½",
        "−1",
        "1\u{200b}",
        "\u{feff}1",
        "1.5e0",
        "null",
        "\"1\"",
    ] {
        assert_eq!(Amount::parse(text, currency("USD")), Err(ParseAmountError::NotPlainDecimal), "{text:?}");
    }
}

#[test]
fn a_huge_text_is_refused_at_its_first_fault_without_being_read_to_the_end() {
    // Were the text read on, the letter at its end would be what is wrong with it.
    let million = 1_000_000;
    for (text, fault) in [
        (format!("{}x", "9".repeat(million)), ParseAmountError::TooManyIntegerDigits { allowed: 18 }),
        (format!("{}x", "0".repeat(million)), ParseAmountError::LeadingZero),
        (
            format!("0.{}x", "0".repeat(million)),
            ParseAmountError::TooManyFractionDigits { currency: currency("USD"), allowed: 2 },
        ),
    ] {
        assert_eq!(Amount::parse(&text, currency("USD")), Err(fault));
    }
}

#[test]
fn what_is_said_to_a_client_names_the_limit_and_the_way_out() {
    let refusal = |text, code| Amount::parse(text, currency(code)).unwrap_err().to_string();
    assert_eq!(
        refusal("1.234", "USD"),
        "an amount of USD has at most 2 digits after the point; it is never rounded"
    );
    assert_eq!(refusal("1.2", "JPY"), "an amount of JPY has no fraction; write it without a point");
    assert_eq!(
        refusal("1234567890123456789", "JPY"),
        "an amount has at most 18 digits before the point; it must be smaller"
    );
}

#[test]
fn every_short_text_over_the_alphabet_of_numbers_is_read_as_the_grammar_says() {
    let alphabet = ["0", "1", "9", ".", "-", "e", " "];
    let mut texts = vec![String::new()];
    let mut longest = texts.clone();
    for _ in 0..6 {
        longest =
            longest.iter().flat_map(|text| alphabet.map(|character| format!("{text}{character}"))).collect();
        texts.extend_from_slice(&longest);
    }
    for currency in ["JPY", "USD", "KWD", "CLF"].map(currency) {
        for text in &texts {
            agrees_with_the_oracle(text, currency).unwrap();
        }
    }
}

/// A text of the grammar, of up to four fraction digits, with up to two characters put in, taken out or replaced.
fn nearly_an_amount() -> impl Strategy<Value = String> {
    let edit =
        (0..30_usize, 0..3_u8, prop::char::ranges((&['0'..='9', ' '..='~', '٠'..='٩', '０'..='９']).into()));
    ("(0|[1-9][0-9]{0,17})(\\.[0-9]{1,4})?", prop::collection::vec(edit, 0..=2)).prop_map(|(text, edits)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (position, kind, character) in edits {
            let position = position.min(characters.len());
            match kind {
                0 => characters.insert(position, character),
                1 if position < characters.len() => drop(characters.remove(position)),
                _ if position < characters.len() => characters[position] = character,
                _ => characters.push(character),
            }
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_as_the_grammar_says(text in any::<String>(), currency in any_currency()) {
        agrees_with_the_oracle(&text, currency).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_text_near_the_grammar_is_read_as_the_grammar_says(text in nearly_an_amount(), currency in any_currency()) {
        agrees_with_the_oracle(&text, currency).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn what_is_printed_is_read_back_as_the_same_amount(amount in any_amount()) {
        prop_assert_eq!(Amount::parse(&amount.to_string(), amount.currency()), Ok(amount));
    }

    #[test]
    fn what_is_read_is_printed_with_zeros_added_at_most(
        text in "(0|[1-9][0-9]{0,17})(\\.[0-9]{1,2})?",
    ) {
        let printed = amount(&text, "USD").to_string();
        let added = printed.strip_prefix(text.as_str());
        prop_assert!(matches!(added, Some("" | "0" | ".00")), "{} became {}", text, printed);
    }
}
