//! Amounts as the contract writes them: plain decimal text on the outside, whole minor units inside.

/// Digits that may stand before the point.
const INTEGER_DIGITS_MAX: usize = 18;

/// The currencies of the scripts, with their minor units: two digits, none, and three.
const CURRENCIES: [(&str, usize); 3] = [("CNY", 2), ("JPY", 0), ("KWD", 3)];

/// The minor unit's digits of a currency that the scripts use, or `None` for a word that is no currency.
pub(crate) fn minor_digits(currency: &str) -> Option<usize> {
    CURRENCIES.iter().find(|(code, _)| *code == currency).map(|(_, digits)| *digits)
}

/// Reads an amount that may have so many fraction digits. The text itself is put together and read as one number.
pub(crate) fn parse(text: &str, digits: usize) -> Option<i128> {
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return None,
        Some((whole, fraction)) => (whole, fraction),
        None => (text, ""),
    };
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=INTEGER_DIGITS_MAX).contains(&whole.len()) && fraction.len() <= digits;
    let padded = whole != "0" && whole.starts_with('0');
    if !plain(whole) || !plain(fraction) || !fits || padded {
        return None;
    }
    format!("{whole}{fraction:0<digits$}").parse().ok()
}

/// Prints an amount with exactly the digits of its minor unit.
pub(crate) fn print(minor_units: i128, digits: usize) -> String {
    let text = format!("{minor_units:0>width$}", width = digits + 1);
    match text.split_at(text.len() - digits) {
        (whole, "") => whole.to_owned(),
        (whole, fraction) => format!("{whole}.{fraction}"),
    }
}

/// Whether a balance still has no more digits than an amount may have.
pub(crate) fn in_range(minor_units: i128, digits: usize) -> bool {
    minor_units.to_string().len() <= INTEGER_DIGITS_MAX + digits
}

#[test]
fn figures_are_read_and_printed_as_the_contract_says() {
    for (text, digits, minor_units) in
        [("12.3", 2, 1230), ("12.30", 2, 1230), ("0.01", 2, 1), ("7", 0, 7), ("1", 3, 1000)]
    {
        assert_eq!(parse(text, digits), Some(minor_units), "{text}");
    }
    for (text, digits) in [
        ("", 2),
        ("-1", 2),
        ("+1", 2),
        ("1e3", 2),
        ("01", 2),
        (".5", 2),
        ("1.", 2),
        ("1,000", 2),
        (" 1", 2),
        ("1.234", 2),
        ("1.0", 0),
        ("1000000000000000000", 2),
    ] {
        assert_eq!(parse(text, digits), None, "{text:?}");
    }
    assert_eq!((print(5, 2), print(1230, 2), print(7, 0), print(0, 3)), {
        ("0.05".to_owned(), "12.30".to_owned(), "7".to_owned(), "0.000".to_owned())
    });
    let largest = "999999999999999999.99";
    assert!(in_range(parse(largest, 2).unwrap_or_default(), 2));
    assert!(!in_range(parse(largest, 2).unwrap_or_default() + 1, 2));
}
