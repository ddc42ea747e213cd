//! The name under which a client asks for one effect, however often it asks.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The header that carries a key, and then its aliases; in lower case, as HTTP/2 and the `http` crate spell names.
pub const HEADER_NAMES: [&str; 3] = ["idempotency-key", "x-idempotency-key", "x-idempotent-key"];

/// What the service's own keys begin with: no printable ASCII character, so no client's key does.
const SERVICE_MARK: char = '§';

/// The longest key, in characters of its value: quotes and escapes do not count.
pub const LENGTH_MAX: usize = 255;

/// An idempotency key: 1 to [`LENGTH_MAX`] printable ASCII characters (0x20 to 0x7E), case-sensitive.
///
/// A key is unique only within the client that sent it; see [`lock_id`]. There is no `Display`, and `Debug` shows
/// [`Key::log_id`] instead of the value: clients put names and order numbers into keys, and logs travel far.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// Finds the key among a request's headers, given as pairs of name and field value.
    ///
    /// Aliases that agree are one key. Nothing is made up for a request without a key: a key taken from the body's
    /// hash would make one order of two that a customer meant to be two.
    ///
    /// # Errors
    ///
    /// In order of precedence: [`KeyError::Repeated`], [`KeyError::Missing`], what [`Key::parse`] finds wrong with any
    /// of the headers, [`KeyError::Conflicting`].
    pub fn from_headers<'a>(fields: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Key, KeyError> {
        let mut seen: [Option<&[u8]>; HEADER_NAMES.len()] = [None; HEADER_NAMES.len()];
        for (name, field) in fields {
            let Some(at) = HEADER_NAMES.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
                continue;
            };
            // Refused even when both are equal: a proxy may join them to `k, k`, and the answer must not depend on it.
            if seen[at].replace(field).is_some() {
                return Err(KeyError::Repeated);
            }
        }

        let mut keys = seen.into_iter().flatten().map(Key::parse);
        let key = keys.next().ok_or(KeyError::Missing)??;
        for alias in keys {
            if alias? != key {
                return Err(KeyError::Conflicting);
            }
        }
        Ok(key)
    }

    /// Reads one header field value, in either spelling: `8e03978e` or `"8e03978e"`. Both name the same key.
    ///
    /// Spaces and tabs around the field value are no part of it (RFC 9110, 5.5). What starts with a quote is a string
    /// of RFC 8941, 3.3.3: `\"` and `\\` are its only escapes, and nothing may follow the closing quote, parameters
    /// included. Anything else is a bare value: every visible ASCII character may stand in it but these four, which
    /// need the quoted spelling:
    ///
    /// - a comma or a space, because `k1, k2` is how a proxy joins two headers, and must not become a third key;
    /// - a quote or a backslash, because a proxy that strips quotes but keeps escapes would turn one key into another,
    ///   and a second key is a second effect.
    ///
    /// # Errors
    ///
    /// [`KeyError::Empty`], [`KeyError::BrokenQuoting`], [`KeyError::ForbiddenCharacter`], [`KeyError::NeedsQuotes`]
    /// or [`KeyError::TooLong`]: whichever comes first from left to right, the length last.
    pub fn parse(field: &[u8]) -> Result<Key, KeyError> {
        let field = without_surrounding_space(field);
        let value = match field {
            [b'"', quoted @ ..] => unquote(quoted)?,
            bare => check_bare(bare)?,
        };
        Key::from_value(&value)
    }

    /// Takes a key's plain value, with neither quotes nor escapes: a decoded path segment, or what the database holds.
    ///
    /// # Errors
    ///
    /// [`KeyError::Empty`], [`KeyError::ForbiddenCharacter`] or [`KeyError::TooLong`].
    pub fn from_value(value: &str) -> Result<Key, KeyError> {
        if value.is_empty() {
            return Err(KeyError::Empty);
        }
        if let Some(at) = value.bytes().position(|byte| !is_printable(byte)) {
            return Err(KeyError::ForbiddenCharacter { position: at + 1 });
        }
        // From here on a byte is a character.
        if value.len() > LENGTH_MAX {
            return Err(KeyError::TooLong { length: value.len() });
        }
        Ok(Key(Arc::from(value)))
    }

    /// The key of something that the service asks of itself, or that a provider asks: a callback, a timer. It has a
    /// character that no client's key can have, so a client can neither take it, nor reuse it, nor look it up.
    ///
    /// `parts` are hashed, each with its length: other parts are another key.
    pub fn of_service(purpose: &str, parts: &[&[u8]]) -> Key {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Key(Arc::from(format!("{SERVICE_MARK}{purpose}:{digest}")))
    }

    /// Whether it is one of the service's own, and no client's.
    pub fn is_of_service(&self) -> bool {
        self.0.starts_with(SERVICE_MARK)
    }

    /// Takes what the database holds: a client's key, or one of the service's own.
    ///
    /// # Errors
    ///
    /// As [`Key::from_value`], for what is neither.
    pub fn from_stored(value: &str) -> Result<Key, KeyError> {
        if value.starts_with(SERVICE_MARK) && value.len() <= LENGTH_MAX {
            return Ok(Key(Arc::from(value)));
        }
        Key::from_value(value)
    }

    /// The plain value. It is for the database and for the client that sent it, not for logs.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value as a string of RFC 8941, the spelling in which every key can be sent.
    pub fn quoted(&self) -> String {
        let mut quoted = String::with_capacity(self.0.len() + 2);
        quoted.push('"');
        for character in self.0.chars() {
            if matches!(character, '"' | '\\') {
                quoted.push('\\');
            }
            quoted.push(character);
        }
        quoted.push('"');
        quoted
    }

    /// What stands for the key in logs: the first 12 hexadecimal digits of the SHA-256 of its value.
    ///
    /// Who has the key finds its lines with `printf %s "$key" | sha256sum`; who has the lines cannot replay the key,
    /// as long as it is not one that can be guessed.
    pub fn log_id(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digest = Sha256::digest(self.0.as_bytes());
        let digits = digest[..6].iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
        digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(sha256 {}…)", self.log_id())
    }
}

/// The name of the advisory lock that a client's key is claimed with: 64 bits of SHA-256 over both.
///
/// Two keys that share a lock by chance (about 2⁻⁶⁴ a pair) delay each other and do no other harm: what is stored
/// under a key is told by the record's own columns. Servers of different versions run side by side during an upgrade
/// and must agree on this number, so it never changes.
pub fn lock_id(client: Uuid, key: &Key) -> i64 {
    let digest = Sha256::new()
        // Sets these locks apart from any others that are named by a hash in the same database.
        .chain_update(b"onefold idempotency lock\0")
        // Of fixed length, so that no part of the client can be read as part of the key.
        .chain_update(client.as_bytes())
        .chain_update(key.as_str().as_bytes())
        .finalize();
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(head)
}

/// Why a request has no usable key. The messages are fit to show to the client and never quote what it sent.
///
/// [`KeyError::Missing`] is the problem `idempotency-key-missing`, all others are `idempotency-key-malformed`.
/// A position counts characters from 1, in the field value without the space around it,
/// its quotes and escapes included; for [`Key::from_value`], in the plain value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// None of [`HEADER_NAMES`] is there.
    #[error("the Idempotency-Key header is required")]
    Missing,
    /// The header is there, and its value has no characters.
    #[error("the idempotency key is empty")]
    Empty,
    /// The value has more than [`LENGTH_MAX`] characters.
    #[error("the idempotency key has {length} characters; {LENGTH_MAX} are allowed")]
    TooLong {
        /// Characters in the value, after unquoting.
        length: usize,
    },
    /// A control character, or one beyond ASCII: no spelling makes it acceptable.
    #[error("character {position} of the idempotency key is not printable ASCII")]
    ForbiddenCharacter {
        /// Where it stands, from 1.
        position: usize,
    },
    /// A character that is acceptable in a quoted key stands in a bare one.
    #[error(
        "character {position} of the idempotency key is a space, comma, quote or backslash, which only a quoted key \
         may contain; send one key, and if this is one, put it in double quotes with \\\" and \\\\ as escapes"
    )]
    NeedsQuotes {
        /// Where it stands, from 1.
        position: usize,
    },
    /// The value starts with a quote and is not a string of RFC 8941.
    #[error("the idempotency key's quoting is broken at character {position}: {fault}")]
    BrokenQuoting {
        /// Where reading stopped, from 1; one past the end when the closing quote is absent.
        position: usize,
        /// What was wrong there.
        fault: QuotingFault,
    },
    /// One header stands twice.
    #[error("the idempotency key header is present more than once")]
    Repeated,
    /// The header and its aliases name different keys.
    #[error("Idempotency-Key and its aliases are present with different values")]
    Conflicting,
}

/// What breaks a quoted key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QuotingFault {
    /// The field ends inside the string.
    #[error("the closing quote is absent")]
    Unclosed,
    /// A backslash stands before something else than a quote or a backslash.
    #[error("a backslash may only escape a quote or a backslash")]
    UnknownEscape,
    /// A parameter, a second key or anything else stands after the string.
    #[error("nothing may follow the closing quote")]
    Trailing,
}

fn check_bare(field: &[u8]) -> Result<String, KeyError> {
    let mut value = String::with_capacity(field.len());
    for (at, &byte) in field.iter().enumerate() {
        match byte {
            b' ' | b',' | b'"' | b'\\' => return Err(KeyError::NeedsQuotes { position: at + 1 }),
            byte if is_printable(byte) => value.push(char::from(byte)),
            _ => return Err(KeyError::ForbiddenCharacter { position: at + 1 }),
        }
    }
    Ok(value)
}

/// Reads what stands after the opening quote.
fn unquote(field: &[u8]) -> Result<String, KeyError> {
    let mut value = String::with_capacity(field.len());
    // The opening quote was character 1.
    let mut bytes = (2..).zip(field.iter().copied());
    let unclosed = KeyError::BrokenQuoting { position: field.len() + 2, fault: QuotingFault::Unclosed };
    loop {
        let (position, byte) = bytes.next().ok_or(unclosed)?;
        match byte {
            b'"' => {
                return match bytes.next() {
                    None => Ok(value),
                    Some((position, _)) => {
                        Err(KeyError::BrokenQuoting { position, fault: QuotingFault::Trailing })
                    }
                };
            }
            b'\\' => {
                let (position, escaped) = bytes.next().ok_or(unclosed)?;
                if !matches!(escaped, b'"' | b'\\') {
                    return Err(KeyError::BrokenQuoting { position, fault: QuotingFault::UnknownEscape });
                }
                value.push(char::from(escaped));
            }
            byte if is_printable(byte) => value.push(char::from(byte)),
            _ => return Err(KeyError::ForbiddenCharacter { position }),
        }
    }
}

/// `trim_ascii` would also take line ends and form feeds, which are forbidden characters and must be told.
fn without_surrounding_space(mut field: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = field {
        field = rest;
    }
    field
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7E)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: &str) -> Key {
        Key::from_value(value).unwrap()
    }

    #[test]
    fn bare_and_quoted_spellings_of_one_value_are_one_key() {
        for (bare, quoted) in [
            ("8e03978e-40d5-43dd-bc93-6894a57f9324", r#""8e03978e-40d5-43dd-bc93-6894a57f9324""#),
            ("order:2024/1", r#""order:2024/1""#),
            ("k;v=1", r#""k;v=1""#),
            ("dGVzdA+/==", r#""dGVzdA+/==""#),
            ("1", " \t\"1\"\t "),
            (" 1\t", "\"1\""),
        ] {
            let key = Key::parse(bare.as_bytes()).unwrap();
            assert_eq!(key, Key::parse(quoted.as_bytes()).unwrap(), "{bare}");
            assert_eq!(key.as_str(), bare.trim());
        }
    }

    #[test]
    fn a_quoted_key_keeps_its_inner_space_and_loses_its_escapes() {
        let key = Key::parse(br#"" a, \"b\" \\ ""#).unwrap();
        assert_eq!(key.as_str(), r#" a, "b" \ "#);
        assert_eq!(key.quoted(), r#"" a, \"b\" \\ ""#);
    }

    #[test]
    fn keys_are_case_sensitive() {
        assert_ne!(Key::parse(b"a").unwrap(), Key::parse(b"A").unwrap());
    }

    #[test]
    fn an_empty_key_is_refused_in_every_spelling() {
        for field in ["", " \t ", "\"\"", " \"\" "] {
            assert_eq!(Key::parse(field.as_bytes()), Err(KeyError::Empty), "{field:?}");
        }
        assert_eq!(Key::from_value(""), Err(KeyError::Empty));
    }

    #[test]
    fn a_key_of_255_characters_is_taken_and_one_of_256_is_refused() {
        let longest = "k".repeat(255);
        assert_eq!(Key::parse(longest.as_bytes()).unwrap().as_str(), longest);
        // The limit counts the value: 510 bytes of escapes are 255 characters.
        assert!(Key::parse(format!("\"{}\"", "\\\\".repeat(255)).as_bytes()).is_ok());

        for length in [256, 10_000] {
            let value = "k".repeat(length);
            assert_eq!(Key::parse(value.as_bytes()), Err(KeyError::TooLong { length }));
            assert_eq!(Key::parse(format!("\"{value}\"").as_bytes()), Err(KeyError::TooLong { length }));
            assert_eq!(Key::from_value(&value), Err(KeyError::TooLong { length }));
        }
    }

    #[test]
    fn a_key_with_a_control_or_non_ascii_character_is_refused() {
        let forbidden = (0..=0x1F).chain(0x7F..=0xFF_u8);
        for byte in forbidden {
            let refusal = |position| Err(KeyError::ForbiddenCharacter { position });
            assert_eq!(Key::parse(&[b'a', byte, b'b']), refusal(2), "{byte:#x}");
            assert_eq!(Key::parse(&[b'"', b'a', byte, b'"']), refusal(3), "{byte:#x}");
        }
        assert_eq!(Key::from_value("a\0"), Err(KeyError::ForbiddenCharacter { position: 2 }));
        assert_eq!(Key::from_value("ключ"), Err(KeyError::ForbiddenCharacter { position: 1 }));
        assert_eq!(Key::parse(b"a\r\n"), Err(KeyError::ForbiddenCharacter { position: 2 }));
    }

    #[test]
    fn two_headers_joined_by_a_proxy_are_not_a_key() {
        assert_eq!(Key::parse(b"k1, k2"), Err(KeyError::NeedsQuotes { position: 3 }));
        assert_eq!(Key::parse(b"k1,k2"), Err(KeyError::NeedsQuotes { position: 3 }));
        assert_eq!(
            Key::parse(br#""k1", "k2""#),
            Err(KeyError::BrokenQuoting { position: 5, fault: QuotingFault::Trailing })
        );
    }

    #[test]
    fn a_bare_key_with_a_space_a_quote_or_a_backslash_is_told_to_use_quotes() {
        for field in ["a b", "a\"b", "ab\"", "a\\b"] {
            let refusal = Key::parse(field.as_bytes()).unwrap_err();
            assert!(matches!(refusal, KeyError::NeedsQuotes { .. }), "{field}: {refusal}");
            assert!(refusal.to_string().contains("double quotes"));
        }
    }

    #[test]
    fn broken_quoting_is_refused_where_it_breaks() {
        use QuotingFault::{Trailing, Unclosed, UnknownEscape};
        for (field, position, fault) in [
            (r#"""#, 2, Unclosed),
            (r#""abc"#, 5, Unclosed),
            (r#""abc\"#, 6, Unclosed),
            (r#""abc\""#, 7, Unclosed),
            (r#""a\n""#, 4, UnknownEscape),
            (r#""a"b"#, 4, Trailing),
            (r#""a";p=1"#, 4, Trailing),
            (r#""""a"#, 3, Trailing),
        ] {
            assert_eq!(
                Key::parse(field.as_bytes()),
                Err(KeyError::BrokenQuoting { position, fault }),
                "{field}"
            );
        }
    }

    #[test]
    fn a_request_without_a_key_is_refused_and_none_is_made_up_for_it() {
        assert_eq!(Key::from_headers([]), Err(KeyError::Missing));
        let other: [(&str, &[u8]); 2] = [("content-type", b"application/json"), ("idempotency", b"k")];
        assert_eq!(Key::from_headers(other), Err(KeyError::Missing));
    }

    #[test]
    fn every_alias_alone_names_the_key() {
        for name in HEADER_NAMES {
            assert_eq!(Key::from_headers([(name, &b"k"[..])]), Ok(key("k")));
        }
        assert_eq!(Key::from_headers([("Idempotency-Key", &b"k"[..])]), Ok(key("k")));
    }

    #[test]
    fn aliases_must_agree_once_parsed() {
        let headers = |first: &'static [u8], second: &'static [u8]| {
            Key::from_headers([(HEADER_NAMES[2], first), (HEADER_NAMES[0], second)])
        };
        assert_eq!(headers(b"k", b"\"k\""), Ok(key("k")));
        assert_eq!(headers(b"k", b"K"), Err(KeyError::Conflicting));
        assert_eq!(headers(b"k", b""), Err(KeyError::Empty));
        assert_eq!(headers(b"", b"k"), Err(KeyError::Empty));
    }

    #[test]
    fn one_header_twice_is_refused_even_with_equal_values() {
        for name in HEADER_NAMES {
            let twice = [(name, &b"k"[..]), ("accept", &b"*/*"[..]), (name, &b"k"[..])];
            assert_eq!(Key::from_headers(twice), Err(KeyError::Repeated));
        }
    }

    #[test]
    fn debug_output_and_messages_never_show_the_key() {
        let secret = key("correct-horse-battery");
        let shown = format!("{secret:?}");
        assert!(!shown.contains("correct") && shown.contains(&secret.log_id()), "{shown}");
        assert_eq!(key("abc").log_id(), "ba7816bf8f01");
        assert!(!Key::parse(b"correct horse").unwrap_err().to_string().contains("correct"));
    }

    #[test]
    fn a_lock_is_named_by_client_and_key_and_its_number_never_changes() {
        let client = Uuid::from_u128(0x01900000_0000_7000_8000_00000000000a);
        let id = lock_id(client, &key("1"));
        assert_eq!(id, -5_475_978_724_302_541_621);
        assert_ne!(id, lock_id(client, &key("2")));
        assert_ne!(id, lock_id(Uuid::from_u128(0x01900000_0000_7000_8000_00000000000b), &key("1")));
    }
}
