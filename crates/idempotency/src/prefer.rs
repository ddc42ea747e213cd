//! `Prefer: wait=N` (RFC 7240): how long a duplicate would rather wait for the first than be told "in progress".

use std::time::Duration;

/// The longest wait that is granted; whoever asks for more gets this.
pub const WAIT_MAX: Duration = Duration::from_secs(30);

/// How long the client wants to wait, in whole seconds from 1 to [`WAIT_MAX`], given every `Prefer` field of the
/// request in order. `Preference-Applied` repeats the seconds that are returned, not those that were asked for.
///
/// A preference is a wish, so nothing here is an error. `None` (answer at once) is the result when there is no wish,
/// when it cannot be read (`wait`, `wait=`, `wait=-1`, `wait=1.5`, `wait=soon`), and for `wait=0`: not to wait is what
/// happens anyway, and an applied preference would claim otherwise.
///
/// Of several instances only the first counts, readable or not, in whichever field it stands (RFC 7240, 2); names are
/// case-insensitive, a value may be quoted, and parameters have no meaning for `wait` and are passed over.
pub fn wait<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Option<Duration> {
    let value = fields
        .into_iter()
        .flat_map(|field| split_outside_quotes(field, b','))
        .map(name_and_value)
        .find_map(|(name, value)| name.eq_ignore_ascii_case(b"wait").then_some(value))?;
    match seconds(&unquoted(value?)?)? {
        0 => None,
        seconds => Some(Duration::from_secs(seconds).min(WAIT_MAX)),
    }
}

/// `name [= value] *( ; parameter )`, with white space allowed around each part.
fn name_and_value(preference: &[u8]) -> (&[u8], Option<&[u8]>) {
    let head = split_outside_quotes(preference, b';').next().unwrap_or_default();
    let mut parts = head.splitn(2, |&byte| byte == b'=').map(<[u8]>::trim_ascii);
    (parts.next().unwrap_or_default(), parts.next())
}

/// The parts between delimiters that stand outside quoted strings. An unclosed string takes the rest of the field.
fn split_outside_quotes(text: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    // `split` asks once for each byte, from left to right, so the predicate can carry state.
    text.split(move |&byte| {
        if escaped {
            escaped = false;
            return false;
        }
        match byte {
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => return byte == delimiter && !quoted,
        }
        false
    })
}

/// A token as it is, or the content of a quoted string (RFC 9110, 5.6.4); `None` for a broken string.
fn unquoted(word: &[u8]) -> Option<Vec<u8>> {
    let [b'"', quoted @ ..] = word else {
        return Some(word.to_vec());
    };
    let mut content = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().copied();
    loop {
        match bytes.next()? {
            b'"' => return bytes.next().is_none().then_some(content),
            b'\\' => content.push(bytes.next()?),
            byte => content.push(byte),
        }
    }
}

/// `delay-seconds`: one or more digits; too many for a number are as good as the largest.
fn seconds(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        digits
            .iter()
            .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds_of(fields: &[&str]) -> Option<u64> {
        wait(fields.iter().map(|field| field.as_bytes())).map(|wait| wait.as_secs())
    }

    #[test]
    fn a_wait_is_found_wherever_it_stands() {
        for fields in [
            &["wait=5"][..],
            &["WAIT=5"],
            &["Wait = 5 "],
            &["wait=\"5\""],
            &["wait=\"\\5\""],
            &["wait=005"],
            &["wait=5;soft"],
            &["wait=5 ; why=\"a, wait=9\""],
            &["respond-async, wait=5"],
            &["respond-async,wait=5,handling=lenient"],
            &[", ,, wait=5 ,"],
            &["note=\"wait=9, \\\" wait=8\", wait=5"],
            &["note=\"a;b\";wait=9, wait=5"],
            &["return=minimal", "wait=5"],
            &["", "wait=5"],
        ] {
            assert_eq!(seconds_of(fields), Some(5), "{fields:?}");
        }
    }

    #[test]
    fn a_long_wait_is_cut_to_the_longest() {
        for (field, expected) in [
            ("wait=1", 1),
            ("wait=29", 29),
            ("wait=30", 30),
            ("wait=31", 30),
            ("wait=18446744073709551616", 30),
            ("wait=99999999999999999999999999999999999999999999", 30),
        ] {
            assert_eq!(seconds_of(&[field]), Some(expected), "{field}");
        }
    }

    #[test]
    fn the_first_wait_counts_and_a_later_one_does_not() {
        assert_eq!(seconds_of(&["wait=3, wait=9"]), Some(3));
        assert_eq!(seconds_of(&["wait=3", "wait=9"]), Some(3));
        assert_eq!(seconds_of(&["wait=soon, wait=9"]), None);
        assert_eq!(seconds_of(&["wait=0", "wait=9"]), None);
    }

    #[test]
    fn what_cannot_be_read_is_no_wish() {
        for field in [
            "",
            ",",
            "=",
            ";",
            "=5",
            "wait",
            "wait=",
            "wait=\"\"",
            "wait=-1",
            "wait=+1",
            "wait=1.5",
            "wait=1e1",
            "wait=0x5",
            "wait=５",
            "wait=5 6",
            "wait==5",
            "wait=\"5",
            "wait=\"5\"6",
            "wait=\"5\\",
            "wait:5",
            "waits=5",
            "respond-async; wait=5",
            "note=\"x, wait=5",
        ] {
            assert_eq!(seconds_of(&[field]), None, "{field}");
        }
        assert_eq!(seconds_of(&[]), None);
    }

    #[test]
    fn no_wait_at_all_is_no_wish() {
        assert_eq!(seconds_of(&["wait=0"]), None);
        assert_eq!(seconds_of(&["wait=000"]), None);
    }
}
