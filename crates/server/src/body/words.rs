//! What single values of a body may look like. Each check answers the value, or a sentence on what is wrong with it.

use std::fmt;
use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use money::{Amount, Currency, ParseAmountError};
use unicode_general_category::{GeneralCategory, get_general_category};
use uuid::{Uuid, Version};

use super::{Fields, Json};

/// How many characters the client's own names may have: owners, references, order numbers.
const NAME_CHARACTERS_MAX: usize = 64;

/// A string.
pub fn text(json: &Json) -> Result<&str, String> {
    match json {
        Json::Text(text) => Ok(text),
        other => Err(format!("must be a string, not {}", other.kind())),
    }
}

/// The client's name for the holder of an account: 1–64 characters, none of them a control character.
pub fn owner(json: &Json) -> Result<String, String> {
    let name = of_length(text(json)?)?;
    if name.chars().any(char::is_control) {
        return Err("must not contain control characters".to_owned());
    }
    Ok(name.to_owned())
}

/// A reference or an order number: 1–64 printable characters.
pub fn printable(json: &Json) -> Result<String, String> {
    printable_text(text(json)?)
}

/// The same, for text from elsewhere than a body.
pub fn printable_text(text: &str) -> Result<String, String> {
    let name = of_length(text)?;
    match name.chars().position(|character| !is_printable(character)) {
        Some(at) => Err(format!("must be printable; character {} is not", at + 1)),
        None => Ok(name.to_owned()),
    }
}

/// A time of RFC 3339, with whatever offset.
pub fn time(text: &str) -> Result<DateTime<Utc>, String> {
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    time.map_err(|_| "must be a time of RFC 3339, such as 2026-01-31T09:30:00Z".to_owned())
}

/// An id as the server makes them; see [`parse_id`].
pub fn id(json: &Json) -> Result<Uuid, String> {
    parse_id(text(json)?).ok_or_else(|| "must be a UUID of version 7 in lower case".to_owned())
}

/// A UUID of version 7 in its one spelling: lower case, with hyphens.
pub fn parse_id(text: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(text).ok()?;
    // The parser also takes capitals, braces, URNs and bare digits: two spellings of one thing.
    let is_canonical = id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text;
    (is_canonical && id.get_version() == Some(Version::SortRand)).then_some(id)
}

/// A currency's code.
pub fn currency(json: &Json) -> Result<Currency, String> {
    Currency::from_code(text(json)?).map_err(|fault| fault.to_string())
}

/// The fields `amount` and `currency` together: more than nothing, of that currency.
///
/// Without a usable currency the amount is still checked as far as that is possible: against the currency with the most
/// fraction digits.
pub fn money(fields: &mut Fields<'_>) -> Option<Amount> {
    let currency = fields.required("currency", currency);
    let amount =
        fields.required("amount", |json| positive_amount(json, currency.unwrap_or_else(most_divisible)));
    currency.and(amount)
}

/// An amount whose currency the body does not name, since what its path names has one: more than nothing, and checked as
/// far as that is possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnnamedAmount {
    amount: Amount,
    /// How many the text has: `1.0` is no amount of yen, though one yen is worth as much.
    fraction_digits: u32,
}

impl UnnamedAmount {
    /// The amount in its currency.
    ///
    /// # Errors
    ///
    /// In words, if it has more fraction digits than the currency.
    pub fn in_currency(self, currency: Currency) -> Result<Amount, String> {
        let allowed = currency.minor_unit();
        if self.fraction_digits > allowed {
            return Err(ParseAmountError::TooManyFractionDigits { currency, allowed }.to_string());
        }
        Amount::from_decimal(self.amount.to_decimal(), currency).map_err(|fault| fault.to_string())
    }
}

/// The same digits for the same amount.
impl fmt::Display for UnnamedAmount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.amount.fmt(formatter)
    }
}

/// See [`UnnamedAmount`].
pub fn unnamed_amount(json: &Json) -> Result<UnnamedAmount, String> {
    let amount = positive_amount(json, most_divisible())?;
    let fraction = text(json)?.split_once('.').map_or("", |(_, fraction)| fraction);
    let fraction_digits = u32::try_from(fraction.len()).expect("an amount has a few digits");
    Ok(UnnamedAmount { amount, fraction_digits })
}

/// A whole number within bounds, in plain digits.
pub fn whole_number(json: &Json, bounds: RangeInclusive<u64>) -> Result<u64, String> {
    let Json::Number(text) = json else { return Err(format!("must be a number, not {}", json.kind())) };
    let number = text.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| format!("must be a whole number from {} to {}", bounds.start(), bounds.end()))
}

/// `true` or `false`.
pub fn flag(json: &Json) -> Result<bool, String> {
    match json {
        Json::Bool(flag) => Ok(*flag),
        other => Err(format!("must be a boolean, not {}", other.kind())),
    }
}

/// The longest that money may be frozen, in seconds: a year.
const EXPIRES_IN_S_MAX: u64 = 365 * 24 * 60 * 60;

/// For how long money is frozen, in seconds.
pub fn expires_in_s(json: &Json) -> Result<u32, String> {
    let seconds = whole_number(json, 1..=EXPIRES_IN_S_MAX)?;
    Ok(u32::try_from(seconds).expect("a year has fewer seconds"))
}

fn positive_amount(json: &Json, currency: Currency) -> Result<Amount, String> {
    let text = match json {
        Json::Number(_) => return Err("must be a string, such as \"12.30\", not a number".to_owned()),
        json => text(json)?,
    };
    let amount = Amount::parse(text, currency).map_err(|fault| fault.to_string())?;
    if amount.is_zero() {
        return Err("must be more than zero".to_owned());
    }
    Ok(amount)
}

fn most_divisible() -> Currency {
    Currency::all().max_by_key(|currency| currency.minor_unit()).expect("there are currencies")
}

fn of_length(name: &str) -> Result<&str, String> {
    match name.chars().count() {
        1..=NAME_CHARACTERS_MAX => Ok(name),
        0 => Err("must not be empty".to_owned()),
        length => Err(format!("has {length} characters; {NAME_CHARACTERS_MAX} are allowed")),
    }
}

fn is_printable(character: char) -> bool {
    !matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::Unassigned
    )
}

#[cfg(test)]
mod tests {
    use super::super::fields::read_object;
    use super::*;

    fn json(text: &str) -> Json {
        Json::Text(text.to_owned())
    }

    #[test]
    fn a_name_has_1_to_64_characters_whatever_their_bytes() {
        for good in ["x", "A-1001", "汉字 ñ", &"é".repeat(64)] {
            assert_eq!(printable(&json(good)).as_deref(), Ok(good));
            assert_eq!(owner(&json(good)).as_deref(), Ok(good));
        }
        for bad in ["", &"x".repeat(65)] {
            assert!(printable(&json(bad)).is_err() && owner(&json(bad)).is_err());
        }
    }

    #[test]
    fn what_cannot_be_printed_is_no_reference() {
        for bad in ["a\0b", "a\nb", "\u{7f}", "\u{200b}", "\u{2028}", "\u{202e}", "\u{e000}", "\u{378}"] {
            assert!(printable(&json(bad)).is_err(), "{bad:?} was taken");
        }
        assert!(owner(&json("a\0b")).is_err());
        assert!(owner(&json("👩\u{200d}🚀")).is_ok(), "an emoji may be joined in a name");
    }

    #[test]
    fn an_id_has_one_spelling() {
        let good = "01900000-0000-7000-8000-00000000000a";
        assert_eq!(parse_id(good).map(|id| id.to_string()).as_deref(), Some(good));
        for bad in [
            "01900000-0000-7000-8000-00000000000A",
            "01900000000070008000-00000000000a",
            "0190000000007000800000000000000a",
            "{01900000-0000-7000-8000-00000000000a}",
            "urn:uuid:01900000-0000-7000-8000-00000000000a",
            "01900000-0000-4000-8000-00000000000a",
            "00000000-0000-0000-0000-000000000000",
            "1",
            "",
        ] {
            assert_eq!(parse_id(bad), None, "{bad} was taken for an id");
        }
    }

    #[test]
    fn a_count_is_a_whole_number_within_bounds() {
        let count = |text: &str| whole_number(&Json::Number(text.into()), 1..=100);
        assert_eq!((count("1"), count("100")), (Ok(1), Ok(100)));
        for bad in ["0", "101", "-1", "1.0", "1e2", "18446744073709551616"] {
            assert!(count(bad).is_err(), "{bad} was taken");
        }
        assert!(whole_number(&json("1"), 1..=100).is_err(), "a string is no number");
    }

    #[test]
    fn an_amount_without_a_currency_waits_for_the_one_it_is_of() {
        let read = |text: &str| unnamed_amount(&json(text));
        let (cny, jpy) = (Currency::from_code("CNY").unwrap(), Currency::from_code("JPY").unwrap());
        assert_eq!(read("10.5").unwrap().to_string(), read("10.50").unwrap().to_string());
        assert_eq!(read("10.5").unwrap().in_currency(cny).unwrap().to_string(), "10.50");
        assert!(read("10.5").unwrap().in_currency(jpy).is_err(), "yen have no fraction");
        for bad in ["0", "-25", "1e2", "1.00001", " 1"] {
            assert!(read(bad).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn money_is_a_string_above_zero_with_the_digits_of_its_currency() {
        let read = |body: &str| read_object(&Json::read(body.as_bytes()).unwrap(), money);
        let good = read(r#"{"amount": "10.5", "currency": "CNY"}"#).unwrap();
        assert_eq!(good.to_string(), "10.50");
        for (body, faults) in [
            (r#"{"amount": 10.5, "currency": "CNY"}"#, vec!["/amount"]),
            (r#"{"amount": "0.00", "currency": "CNY"}"#, vec!["/amount"]),
            (r#"{"amount": "100.5", "currency": "JPY"}"#, vec!["/amount"]),
            (r#"{"amount": "-1", "currency": "CNY"}"#, vec!["/amount"]),
            (r#"{"amount": "1.00", "currency": "cny"}"#, vec!["/currency"]),
            (r#"{"amount": "1.00.0", "currency": "cny"}"#, vec!["/currency", "/amount"]),
            (r#"{"currency": 1}"#, vec!["/currency", "/amount"]),
        ] {
            let told: Vec<_> = read(body).unwrap_err().into_iter().map(|fault| fault.pointer).collect();
            assert_eq!(told, faults, "{body}");
        }
    }
}
