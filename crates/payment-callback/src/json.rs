//! JSON, read without guessing.
//!
//! Of two members with one name, some readers take the first and some the last: a sender could show one amount to us and
//! another to whoever looks at what we stored. So an object with a repeated name is refused. A number is kept as it is
//! written: whether it is an amount is for [`amount_reading`](crate::amount_reading) to say, and nothing turns it into a
//! binary fraction on the way.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep values may nest. Providers stay below ten; a limit keeps hostile input from using up the stack.
const DEPTH_MAX: usize = 32;

/// A JSON value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// The number as it is written.
    Number(String),
    Text(String),
    /// A string with an escape that is no character (half of a surrogate pair, which providers produce when they cut a
    /// text). It only matters where the text counts.
    BrokenText,
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

/// The bytes are no JSON, nest too deeply, or repeat a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotJson;

impl Json {
    /// Reads one value that fills `bytes` but for white space around it. A byte order mark is no white space.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Json, NotJson> {
        let text = std::str::from_utf8(bytes).map_err(|_| NotJson)?;
        let raw: &RawValue = serde_json::from_str(text).map_err(|_| NotJson)?;
        Json::read(raw.get(), DEPTH_MAX)
    }

    /// Reads an object.
    pub(crate) fn parse_object(bytes: &[u8]) -> Result<Json, NotJson> {
        Json::parse(bytes).and_then(|json| match json {
            Json::Object(_) => Ok(json),
            _ => Err(NotJson),
        })
    }

    /// Reads an object, and for each of its members how it is written, for signatures that cover one of them.
    pub(crate) fn parse_members(bytes: &[u8]) -> Result<Vec<(String, &str)>, NotJson> {
        Json::parse_object(bytes)?;
        let members: Members<'_> = serde_json::from_slice(bytes).map_err(|_| NotJson)?;
        Ok(members.0.into_iter().map(|(name, member)| (name, member.get())).collect())
    }

    /// The items of a list; none where this is no list.
    pub(crate) fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// The member of an object; `None` too where this is no object, or the member is `null`.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.get(name).filter(|member| **member != Json::Null),
            _ => None,
        }
    }

    /// The member of an object, if it is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Json::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The value for people to read: texts and numbers as they are, anything else by its kind; at most `chars_max`.
    pub(crate) fn written(&self, chars_max: usize) -> String {
        let text = match self {
            Json::Null => "null",
            Json::Bool(true) => "true",
            Json::Bool(false) => "false",
            Json::Number(text) | Json::Text(text) => text,
            Json::BrokenText => "(no text)",
            Json::List(_) => "(a list)",
            Json::Object(_) => "(an object)",
        };
        visible(text, chars_max)
    }

    /// Each level reads its own members and hands each one on as it is written; what is read was checked to be JSON.
    fn read(text: &str, depth: usize) -> Result<Json, NotJson> {
        let depth = depth.checked_sub(1).ok_or(NotJson)?;
        match text.as_bytes().first() {
            Some(b'n') => Ok(Json::Null),
            Some(b't') => Ok(Json::Bool(true)),
            Some(b'f') => Ok(Json::Bool(false)),
            Some(b'"') => Ok(serde_json::from_str(text).map_or(Json::BrokenText, Json::Text)),
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| NotJson)?;
                let items = items.into_iter().map(|item| Json::read(item.get(), depth));
                Ok(Json::List(items.collect::<Result<_, _>>()?))
            }
            Some(b'{') => {
                let members: Members<'_> = serde_json::from_str(text).map_err(|_| NotJson)?;
                let mut read = BTreeMap::new();
                for (name, member) in members.0 {
                    if read.insert(name, Json::read(member.get(), depth)?).is_some() {
                        return Err(NotJson);
                    }
                }
                Ok(Json::Object(read))
            }
            Some(_) => Ok(Json::Number(text.to_owned())),
            None => Err(NotJson),
        }
    }
}

/// The first characters of a text, with U+FFFD in the place of control characters: a zero byte, which JSON and forms can
/// carry, is refused by PostgreSQL, and the delivery would be tried again for ever.
pub(crate) fn visible(text: &str, chars_max: usize) -> String {
    text.chars()
        .take(chars_max)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// The members of an object in the order they are written, repeated names included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_is_refused_at_any_depth_and_in_any_spelling() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"x":[{"a":1,"b":2,"a":3}]}"#, r#"{"a":1,"\u0061":2}"#] {
            assert_eq!(Json::parse(text.as_bytes()), Err(NotJson), "{text}");
        }
        assert!(Json::parse(br#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
    }

    #[test]
    fn a_number_stays_as_it_is_written() {
        let json = Json::parse(b"{\"a\": 8880.0, \"b\":1e400, \"c\":-0,\"d\":19.99}").unwrap();
        for (name, written) in [("a", "8880.0"), ("b", "1e400"), ("c", "-0"), ("d", "19.99")] {
            assert_eq!(json.get(name), Some(&Json::Number(written.to_owned())));
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let texts =
            ["", " ", "{", "{}x", "{\"a\":01}", "{'a':1}", "\u{feff}{}", "NaN", "{\"a\":1,}", "[1 2]"];
        for text in texts {
            assert_eq!(Json::parse(text.as_bytes()), Err(NotJson), "{text}");
        }
        assert_eq!(Json::parse(b"\"\xff\""), Err(NotJson));
        assert_eq!(Json::parse_object(b"[]"), Err(NotJson));
    }

    #[test]
    fn a_cut_surrogate_pair_only_spoils_its_own_text() {
        let json = Json::parse(br#"{"description":"tea \ud83e","id":"evt_1"}"#).unwrap();
        assert_eq!(json.get("description"), Some(&Json::BrokenText));
        assert_eq!(json.text("id"), Some("evt_1"));
    }

    #[test]
    fn deep_nesting_is_refused_and_not_followed() {
        let deep = "[".repeat(2_000) + &"]".repeat(2_000);
        assert_eq!(Json::parse(deep.as_bytes()), Err(NotJson));
        assert!(Json::parse(b"[[[[[[[[[[1]]]]]]]]]]").is_ok());
    }

    #[test]
    fn null_counts_as_absent() {
        let json = Json::parse(br#"{"a":null}"#).unwrap();
        assert_eq!(json.get("a"), None);
        assert_eq!(json.text("a"), None);
    }
}
