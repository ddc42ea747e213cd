//! JSON as it was sent: repeated members are kept, and a number keeps its text, so that no count passes through a float.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep arrays and objects may be nested. No body of the API needs more than 4.
const DEPTH_MAX: usize = 32;

/// A JSON value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Any number, as it was written: `1e400` is one, whatever could hold it.
    Number(Box<str>),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object's members in the order they were sent, repeated ones included.
    Object(Vec<(String, Json)>),
}

/// The body is not JSON. The message never quotes it.
#[derive(Debug, thiserror::Error)]
pub enum MalformedJson {
    /// Some bytes are not UTF-8.
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// The text is not JSON.
    #[error("the body is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// The text is JSON, and nobody needs it that deep.
    #[error("the body is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
}

impl Json {
    /// Reads one value that fills the whole body.
    ///
    /// # Errors
    ///
    /// [`MalformedJson`], also for a string with half of a surrogate pair, which no text can hold.
    pub fn read(bytes: &[u8]) -> Result<Self, MalformedJson> {
        let text = std::str::from_utf8(bytes).map_err(|_| MalformedJson::NotUtf8)?;
        read(serde_json::from_str(text)?, 0)
    }

    /// What kind of value it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// The syntax was checked in one pass over the whole body; here each level is taken apart. A level reads its text once
/// more, so the cost is bounded by the size of the body times [`DEPTH_MAX`].
fn read(raw: &RawValue, depth: usize) -> Result<Json, MalformedJson> {
    let text = raw.get();
    if depth > DEPTH_MAX {
        return Err(MalformedJson::TooDeep);
    }
    Ok(match text.as_bytes().first() {
        Some(b'n') => Json::Null,
        Some(b't') => Json::Bool(true),
        Some(b'f') => Json::Bool(false),
        Some(b'"') => Json::Text(serde_json::from_str(text)?),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            Json::List(items.into_iter().map(|item| read(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text)?;
            let members = members.into_iter().map(|(name, value)| Ok((name, read(value, depth + 1)?)));
            Json::Object(members.collect::<Result<_, MalformedJson>>()?)
        }
        _ => Json::Number(text.into()),
    })
}

/// An object, which a map would rob of its repeated members.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: &str) -> Json {
        Json::Text(value.to_owned())
    }

    #[test]
    fn what_was_sent_is_kept_as_it_was_sent() {
        let json = Json::read(br#" {"a": "x", "a": [null, true, -1.5e3], "b": {"c": "\u0041"}} "#).unwrap();
        assert_eq!(
            json,
            Json::Object(vec![
                ("a".to_owned(), text("x")),
                (
                    "a".to_owned(),
                    Json::List(vec![Json::Null, Json::Bool(true), Json::Number("-1.5e3".into())])
                ),
                ("b".to_owned(), Json::Object(vec![("c".to_owned(), text("A"))])),
            ])
        );
    }

    #[test]
    fn a_number_that_nothing_can_hold_is_a_number() {
        assert_eq!(Json::read(b"1e400").unwrap(), Json::Number("1e400".into()));
        assert_eq!(Json::read("9".repeat(500).as_bytes()).unwrap(), Json::Number("9".repeat(500).into()));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let broken: [&[u8]; 16] = [
            b"",
            b" ",
            b"{",
            b"{}x",
            b"{} {}",
            b"{\"a\":1,}",
            b"[1,]",
            b"NaN",
            b"Infinity",
            b"01",
            b"+1",
            b"'a'",
            b"{a:1}",
            b"\"\x01\"",
            b"\"\xff\"",
            b"\"\\ud800\"",
        ];
        for body in broken {
            assert!(Json::read(body).is_err(), "{body:?} was taken for JSON");
        }
    }

    #[test]
    fn nesting_ends_somewhere() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::read(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert!(matches!(Json::read(nested(DEPTH_MAX + 2).as_bytes()), Err(MalformedJson::TooDeep)));
        assert!(Json::read(nested(30_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Json::read(&bytes);
        }

        #[test]
        fn nearly_json_is_read_just_when_it_is_json(body in r#"[\[\]{}",:0-9a-f\\u. -]{0,24}"#) {
            let expected = serde_json::from_str::<serde_json::Value>(&body).is_ok();
            prop_assert_eq!(Json::read(body.as_bytes()).is_ok(), expected);
        }
    }
}
