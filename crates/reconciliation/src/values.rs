//! The values in a line: exact, or refused.

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};
use money::{Amount, Currency};

use crate::layout::AmountUnit;

/// Characters of a value that are repeated in its fault.
const SHOWN_CHARS_MAX: usize = 40;

/// Why a value is not read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ValueFault {
    /// There is none.
    #[error("there is none")]
    Missing,
    /// It is longer than such a value can be, or has other characters than it can have.
    #[error("{0} is none")]
    Malformed(String),
    /// It is no word that is known here.
    #[error("{0} is not known here")]
    UnknownWord(String),
    /// It is not text in the encoding of the statement.
    #[error("{0} is no text in the statement's encoding")]
    NoText(String),
    /// It is below zero, which a payment's amount never is.
    #[error("a payment below zero")]
    BelowZero,
}

impl ValueFault {
    fn malformed(bytes: &[u8]) -> Self {
        Self::Malformed(shown(bytes))
    }

    pub(crate) fn unknown_word(bytes: &[u8]) -> Self {
        if bytes.is_empty() { Self::Missing } else { Self::UnknownWord(shown(bytes)) }
    }

    pub(crate) fn no_text(bytes: &[u8]) -> Self {
        Self::NoText(shown(bytes))
    }
}

/// The beginning of a value, in characters that harm no terminal and no table.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let beginning: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let dots = if beginning.len() < text.len() { "…" } else { "" };
    format!("\"{}{dots}\"", beginning.escape_debug())
}

/// Reads an id: visible ASCII characters, as providers' ids and our own numbers are. Nothing where there is none.
pub(crate) fn read_id(bytes: &[u8], length_max: usize) -> Result<Option<&str>, ValueFault> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let is_id = bytes.len() <= length_max && bytes.iter().all(u8::is_ascii_graphic);
    match std::str::from_utf8(bytes) {
        Ok(text) if is_id => Ok(Some(text)),
        _ => Err(ValueFault::malformed(bytes)),
    }
}

/// An amount, and whether it is written as one that leaves: statements write refunds either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SignedAmount {
    pub(crate) amount: Amount,
    pub(crate) is_below_zero: bool,
}

/// Reads an amount. Zeros beyond the currency's minor unit change nothing and are passed over; any other digit there
/// makes it unreadable, as do thousands marks and exponents. Nothing is rounded.
pub(crate) fn read_amount(
    bytes: &[u8],
    currency: Currency,
    unit: AmountUnit,
) -> Result<SignedAmount, ValueFault> {
    if bytes.is_empty() {
        return Err(ValueFault::Missing);
    }
    let malformed = || ValueFault::malformed(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
    let (is_below_zero, text) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let amount = match unit {
        AmountUnit::Major => Amount::parse(without_idle_zeros(text, currency), currency).ok(),
        AmountUnit::Minor => {
            minor_units(text).and_then(|units| Amount::from_minor_units(units, currency).ok())
        }
    };
    let amount = amount.ok_or_else(malformed)?;
    Ok(SignedAmount { amount, is_below_zero: is_below_zero && !amount.is_zero() })
}

fn minor_units(text: &str) -> Option<u128> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// The text without the zeros that stand beyond the currency's minor unit.
fn without_idle_zeros(text: &str, currency: Currency) -> &str {
    let Some((whole, fraction)) = text.split_once('.') else { return text };
    let digits = currency.minor_unit() as usize;
    match fraction.split_at_checked(digits) {
        Some((kept, idle)) if !fraction.is_empty() && idle.bytes().all(|byte| byte == b'0') => {
            if kept.is_empty() { whole } else { &text[..whole.len() + 1 + kept.len()] }
        }
        _ => text,
    }
}

/// Digits of a number of seconds since 1970; 13 would be milliseconds, or an id.
const SECONDS_DIGITS: std::ops::RangeInclusive<usize> = 9..=10;

/// Years in which something can have been paid.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// Forms of a time that says no offset, after a blank has taken the place of the `T`.
const LOCAL_FORMS: [&str; 4] =
    ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M:%S%.f", "%Y/%m/%d %H:%M"];

/// Reads a time: RFC 3339, or a date and a time of day at `offset`, or seconds since 1970. Nothing where there is none.
pub(crate) fn read_time(bytes: &[u8], offset: FixedOffset) -> Result<Option<DateTime<Utc>>, ValueFault> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let malformed = || ValueFault::malformed(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
    let at = if SECONDS_DIGITS.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0))
    } else if let Some(local) = plain_local_time(bytes) {
        offset.from_local_datetime(&local).single().map(|at| at.to_utc())
    } else if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        Some(at.to_utc())
    } else {
        let text = text.replacen('T', " ", 1);
        let local = LOCAL_FORMS.into_iter().find_map(|form| NaiveDateTime::parse_from_str(&text, form).ok());
        local.and_then(|local| offset.from_local_datetime(&local).single()).map(|at| at.to_utc())
    };
    at.filter(|at| YEARS.contains(&at.year())).map(Some).ok_or_else(malformed)
}

/// `2026-03-04 05:06:07`, which nearly every line has, without asking for its form first.
fn plain_local_time(bytes: &[u8]) -> Option<NaiveDateTime> {
    let number = |from: usize, to: usize| -> Option<u32> {
        bytes[from..to]
            .iter()
            .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))
    };
    let [_, _, _, _, b'-', _, _, b'-', _, _, b' ', _, _, b':', _, _, b':', _, _] = bytes else { return None };
    let year = i32::try_from(number(0, 4)?).ok()?;
    let date = NaiveDate::from_ymd_opt(year, number(5, 7)?, number(8, 10)?)?;
    Some(date.and_time(NaiveTime::from_hms_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str, code: &str, unit: AmountUnit) -> Option<String> {
        let read = read_amount(text.as_bytes(), Currency::from_code(code).unwrap(), unit).ok()?;
        Some(format!("{}{}", if read.is_below_zero { "-" } else { "" }, read.amount))
    }

    #[test]
    fn an_amount_is_what_is_written_or_is_refused() {
        let major = |text, code| amount(text, code, AmountUnit::Major);
        for (text, code, expected) in [
            ("88.80", "CNY", "88.80"),
            ("88.8", "CNY", "88.80"),
            ("+88", "CNY", "88.00"),
            ("-88.8000", "CNY", "-88.80"),
            ("-0.00", "CNY", "0.00"),
            ("500.00", "JPY", "500"),
            ("1.230", "KWD", "1.230"),
        ] {
            assert_eq!(major(text, code).as_deref(), Some(expected), "{text}");
        }
        for (text, code) in [
            ("", "CNY"),
            ("1,088.80", "CNY"),
            ("88,80", "CNY"),
            ("8.88e1", "CNY"),
            ("88.801", "CNY"),
            ("88.8010", "CNY"),
            ("88.", "CNY"),
            (".80", "CNY"),
            ("500.", "JPY"),
            ("500.10", "JPY"),
            ("088.80", "CNY"),
            ("--1", "CNY"),
            ("- 1", "CNY"),
            ("¥1", "CNY"),
            ("１", "CNY"),
            ("NaN", "CNY"),
        ] {
            assert_eq!(major(text, code), None, "{text}");
        }
    }

    #[test]
    fn minor_units_are_whole_numbers() {
        let minor = |text, code| amount(text, code, AmountUnit::Minor);
        assert_eq!(minor("8880", "CNY").as_deref(), Some("88.80"));
        assert_eq!(minor("-500", "JPY").as_deref(), Some("-500"));
        assert_eq!(minor("0", "CNY").as_deref(), Some("0.00"));
        for text in ["88.80", "08", "+", "", "1e2", &"9".repeat(50)] {
            assert_eq!(minor(text, "CNY"), None, "{text}");
        }
    }

    #[test]
    fn a_time_is_read_in_the_forms_that_statements_have() {
        let east = FixedOffset::east_opt(8 * 3600).unwrap();
        for text in [
            "2026-03-04 05:06:07",
            "2026-03-04T05:06:07",
            "2026/3/4 5:06:07",
            "2026-03-03T21:06:07Z",
            "2026-03-04T04:06:07+07:00",
            "2026-03-04 05:06:07.000",
            "1772571967",
        ] {
            let at = read_time(text.as_bytes(), east).unwrap().unwrap();
            assert_eq!(at.to_rfc3339(), "2026-03-03T21:06:07+00:00", "{text}");
        }
        assert_eq!(read_time(b"", east), Ok(None));
        for text in [
            "2026-02-30 05:06:07",
            "2026-03-04",
            "04/03/2026 05:06",
            "today",
            "-",
            "2026-03-04 25:00:00",
            "1772571967000",
        ] {
            assert!(read_time(text.as_bytes(), east).is_err(), "{text}");
        }
    }

    #[test]
    fn an_id_is_visible_ascii_of_a_length() {
        assert_eq!(read_id(b"pi_3NxyZ\\", 128), Ok(Some("pi_3NxyZ\\")));
        assert_eq!(read_id(b"", 128), Ok(None));
        for text in ["a b", "a\u{1b}[31m", "支付", &"x".repeat(129)] {
            assert!(read_id(text.as_bytes(), 128).is_err(), "{text}");
        }
    }

    #[test]
    fn a_fault_repeats_little_and_nothing_that_moves_a_cursor() {
        let fault =
            read_id(format!("\u{1b}[2J{}", "x".repeat(1_000)).as_bytes(), 128).unwrap_err().to_string();
        assert!(fault.len() < 80 && !fault.contains('\u{1b}'), "{fault}");
    }
}
