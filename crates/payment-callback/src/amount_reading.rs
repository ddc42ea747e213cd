//! Amounts as providers write them, read exactly or not at all.
//!
//! Two notations: an integer of the currency's minor unit (Stripe, WeChat Pay), and decimal text (Alipay, Standard
//! Webhooks). What a minor unit is differs from provider to provider, so each brings its own table; an amount is then
//! compared in the minor units of ISO 4217.

use money::{Amount, Currency, UnknownCurrency};

use crate::event::ReportedAmount;
use crate::json::{Json, visible};

/// Characters of what was written that are kept for people to read.
const WRITTEN_CHARS_MAX: usize = 64;

/// How a provider counts a currency in integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IntegerScale {
    /// How many digits of the integer stand behind the point.
    pub(crate) fraction_digits: u32,
    /// The integer is always a multiple of this; one that is not was not written by the provider as described.
    pub(crate) multiple_of: u128,
}

/// Reads an integer of `currency`'s minor unit, as `scale` has it. A JSON number without sign, point or exponent: `8880`,
/// and neither `"8880"` nor `8880.0`.
pub(crate) fn read_integer(
    written: Option<&Json>,
    currency: Currency,
    scale: Option<IntegerScale>,
) -> ReportedAmount {
    let amount = || {
        let (Json::Number(digits), scale) = (written?, scale?) else { return None };
        let integer = plain_integer(digits)?;
        if !integer.is_multiple_of(scale.multiple_of) {
            return None;
        }
        let minor_units = rescaled(integer, scale.fraction_digits, currency.minor_unit())?;
        Amount::from_minor_units(minor_units, currency).ok()
    };
    reported(amount(), currency, written)
}

/// Reads decimal text in plain notation, as [`Amount::parse`] does: `"88.80"` and `"88.8"`, and neither `88.8` nor
/// `"8.88e1"`.
pub(crate) fn read_decimal(written: Option<&Json>, currency: Currency) -> ReportedAmount {
    let amount = match written {
        Some(Json::Text(text)) => Amount::parse(text, currency).ok(),
        _ => None,
    };
    reported(amount, currency, written)
}

/// The most yuan that Alipay writes: 9 digits before the point.
pub(crate) const FEN_MAX: u128 = 99_999_999_999;

/// Reads yuan as Alipay writes them: 1 to 9 digits, and a point with one or two more if need be. Leading zeros are
/// taken; they are not said to be absent.
pub(crate) fn read_yuan(written: Option<&str>, cny: Currency) -> ReportedAmount {
    let text = written.unwrap_or_default();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_plain = (1..=9).contains(&whole.len())
        && (1..=2).contains(&fraction.len())
        && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    let amount = || {
        let (whole, fraction_digits) = (whole.parse::<u128>().ok()?, fraction.len() as u32);
        let fen = whole * 100 + rescaled(fraction.parse().ok()?, fraction_digits, 2)?;
        Amount::from_minor_units(fen, cny).ok()
    };
    match is_plain.then(amount).flatten() {
        Some(amount) => ReportedAmount::Exact(amount),
        None => ReportedAmount::Malformed { currency: Some(cny), written: visible(text, WRITTEN_CHARS_MAX) },
    }
}

/// The currency that a code names, or the amount to report when it names none.
pub(crate) fn read_currency(
    code: Option<&Json>,
    written: Option<&Json>,
    named: impl FnOnce(&str) -> Result<Currency, UnknownCurrency>,
) -> Result<Currency, ReportedAmount> {
    let shown = |json: Option<&Json>| json.map(|json| json.written(WRITTEN_CHARS_MAX)).unwrap_or_default();
    match code {
        Some(Json::Text(text)) => named(text)
            .map_err(|_| ReportedAmount::UnknownCurrency { code: shown(code), written: shown(written) }),
        _ => Err(ReportedAmount::Malformed { currency: None, written: shown(written) }),
    }
}

fn reported(amount: Option<Amount>, currency: Currency, written: Option<&Json>) -> ReportedAmount {
    amount.map(ReportedAmount::Exact).unwrap_or_else(|| ReportedAmount::Malformed {
        currency: Some(currency),
        written: written.map(|json| json.written(WRITTEN_CHARS_MAX)).unwrap_or_default(),
    })
}

/// Up to 22 digits: as many as the largest amount has with the longest minor unit, so that whatever can be held is read,
/// and far from the end of `u128`, also when rescaled.
fn plain_integer(digits: &str) -> Option<u128> {
    let is_plain = (1..=22).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}

/// The integer that a provider counts `amount` as, if it counts it exactly.
pub(crate) fn write_integer(amount: Amount, scale: Option<IntegerScale>) -> Option<u128> {
    let scale = scale?;
    let integer = rescaled(amount.minor_units(), amount.currency().minor_unit(), scale.fraction_digits)?;
    integer.is_multiple_of(scale.multiple_of).then_some(integer)
}

/// The smallest difference between two amounts that a provider counts on this scale.
pub(crate) fn step_of(currency: Currency, scale: IntegerScale) -> Amount {
    let minor_units = rescaled(scale.multiple_of, scale.fraction_digits, currency.minor_unit());
    Amount::from_minor_units(minor_units.unwrap_or(1), currency).expect("a step is a small amount")
}

/// The same amount with `to` digits behind the point instead of `from`, if it has one exactly.
fn rescaled(integer: u128, from: u32, to: u32) -> Option<u128> {
    if to >= from {
        integer.checked_mul(10_u128.pow(to - from))
    } else {
        let excess = 10_u128.pow(from - to);
        integer.is_multiple_of(excess).then_some(integer / excess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cny() -> Currency {
        Currency::from_code("CNY").unwrap()
    }

    fn yuan(text: &str) -> Option<String> {
        read_yuan(Some(text), cny()).exact().map(|amount| amount.to_string())
    }

    #[test]
    fn yuan_have_at_most_two_decimals_and_nine_digits() {
        for (text, exact) in [
            ("88.80", "88.80"),
            ("88.8", "88.80"),
            ("88", "88.00"),
            ("0.01", "0.01"),
            ("007.10", "7.10"),
            ("0", "0.00"),
            ("999999999.99", "999999999.99"),
        ] {
            assert_eq!(yuan(text).as_deref(), Some(exact), "{text}");
        }
        for text in [
            "",
            ".",
            "88.",
            ".5",
            "88.800",
            "8.88e1",
            "+1",
            "-1",
            " 1",
            "1 ",
            "1,000.00",
            "1_0",
            "0x58",
            "８８",
            "NaN",
            "1000000000",
            "1.0.0",
        ] {
            assert_eq!(yuan(text), None, "{text}");
        }
        assert_eq!(read_yuan(None, cny()).exact(), None);
    }

    #[test]
    fn an_integer_is_a_json_number_without_ornaments() {
        let cents = IntegerScale { fraction_digits: 2, multiple_of: 1 };
        let read =
            |text: &str| read_integer(Json::parse(text.as_bytes()).ok().as_ref(), cny(), Some(cents)).exact();
        assert_eq!(read("8880").map(|amount| amount.to_string()).as_deref(), Some("88.80"));
        assert_eq!(read("0").map(|amount| amount.to_string()).as_deref(), Some("0.00"));
        for text in
            ["8880.0", "8.88e3", "-1", "-0", "\"8880\"", "true", "null", "[1]", "1000000000000000000000000"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn an_integer_is_read_as_far_as_an_amount_can_be_held() {
        let cents = IntegerScale { fraction_digits: 2, multiple_of: 1 };
        let read = |digits: &str| {
            let amount = read_integer(Some(&Json::Number(digits.to_owned())), cny(), Some(cents)).exact();
            amount.map(|amount| amount.to_string())
        };
        for (digits, exact) in [
            ("9007199254740993", "90071992547409.93"),
            ("9223372036854775807", "92233720368547758.07"),
            ("18446744073709560496", "184467440737095604.96"),
            ("99999999999999999999", "999999999999999999.99"),
        ] {
            assert_eq!(read(digits).as_deref(), Some(exact), "{digits}");
        }
        for digits in ["100000000000000000000", &"9".repeat(22), &"9".repeat(23), &"9".repeat(400)] {
            assert_eq!(read(digits), None, "{digits}");
        }
    }

    #[test]
    fn every_price_up_to_a_hundred_is_the_same_in_each_notation() {
        let fen = IntegerScale { fraction_digits: 2, multiple_of: 1 };
        for cents in 1_u128..=10_000 {
            let exact = ReportedAmount::Exact(Amount::from_minor_units(cents, cny()).unwrap());
            let text = format!("{}.{:02}", cents / 100, cents % 100);
            assert_eq!(read_integer(Some(&Json::Number(cents.to_string())), cny(), Some(fen)), exact);
            assert_eq!(read_decimal(Some(&Json::Text(text.clone())), cny()), exact);
            assert_eq!(read_yuan(Some(&text), cny()), exact);
        }
    }

    #[test]
    fn what_was_written_is_kept_without_what_a_database_cannot_hold() {
        let shown = |amount: ReportedAmount| match amount {
            ReportedAmount::Malformed { written, .. } => written,
            other => panic!("{other:?} is an amount"),
        };
        let text = Json::parse(br#""88.80\u0000\u001b""#).unwrap();
        assert_eq!(shown(read_decimal(Some(&text), cny())), "88.80\u{fffd}\u{fffd}");
        assert_eq!(shown(read_yuan(Some("88.80\0\n"), cny())), "88.80\u{fffd}\u{fffd}");
        let code = Json::parse(br#""C\u0000Y""#).unwrap();
        let Err(ReportedAmount::UnknownCurrency { code, written }) =
            read_currency(Some(&code), Some(&text), Currency::from_code)
        else {
            panic!("there is a currency with a zero byte");
        };
        assert_eq!((code.as_str(), written.as_str()), ("C\u{fffd}Y", "88.80\u{fffd}\u{fffd}"));
    }

    #[test]
    fn what_was_written_is_kept_short() {
        let long = format!("\"{}\"", "9".repeat(10_000));
        let written = Json::parse(long.as_bytes()).unwrap();
        let ReportedAmount::Malformed { written, .. } = read_decimal(Some(&written), cny()) else {
            panic!("an amount of 10,000 digits was read");
        };
        assert_eq!(written.len(), WRITTEN_CHARS_MAX);
    }
}
