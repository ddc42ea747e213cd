//! What holds of every key, fingerprint and preference, whatever the bytes.

use std::time::Duration;

use idempotency::Key;
use idempotency::fingerprint::{Fields, Meaning};
use idempotency::key::{HEADER_NAMES, KeyError, lock_id};
use idempotency::prefer;
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

/// The plain value of any key.
fn key_value() -> impl Strategy<Value = String> {
    "[ -~]{1,255}"
}

/// Header bytes that come near to what the parsers know: their own words and delimiters, and noise.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[ -~]{0,3}".prop_map(String::into_bytes),
        prop::sample::select(vec!["\"", "\\", ",", ";", "=", " ", "\t", "wait", "wait=", "1", "99"])
            .prop_map(|piece| piece.as_bytes().to_vec()),
        vec(any::<u8>(), 0..3),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_header_makes_the_parsers_panic(fields in vec(field(), 0..4)) {
        let headers = HEADER_NAMES.into_iter().cycle().zip(fields.iter().map(Vec::as_slice));
        if let Ok(key) = Key::from_headers(headers) {
            prop_assert_eq!(Key::from_value(key.as_str()), Ok(key));
        }
        if let Some(wait) = prefer::wait(fields.iter().map(Vec::as_slice)) {
            prop_assert!(wait >= Duration::from_secs(1) && wait <= prefer::WAIT_MAX);
        }
    }

    #[test]
    fn whatever_parses_is_1_to_255_printable_characters(field in field()) {
        match Key::parse(&field) {
            Ok(key) => {
                prop_assert!((1..=255).contains(&key.as_str().len()));
                prop_assert!(key.as_str().bytes().all(|byte| (0x20..=0x7E).contains(&byte)));
            }
            Err(refusal) => prop_assert_ne!(refusal, KeyError::Missing),
        }
    }

    #[test]
    fn every_value_survives_its_quoted_spelling(value in key_value()) {
        let key = Key::from_value(&value).unwrap();
        prop_assert_eq!(key.as_str(), &value);
        prop_assert_eq!(Key::parse(key.quoted().as_bytes()), Ok(key));
    }

    #[test]
    fn a_bare_spelling_is_the_same_key_or_no_key(value in key_value()) {
        // A value that looks like a quoted string is, spelled bare, another key: its content.
        prop_assume!(!value.trim_start().starts_with('"'));
        let bare = Key::parse(value.as_bytes());
        if value.contains([' ', ',', '"', '\\']) {
            // Surrounding space belongs to the header; what is left may be a key, but never one with space around it.
            if let Ok(key) = bare {
                prop_assert_eq!(key.as_str(), value.trim_matches(' '));
            }
        } else {
            prop_assert_eq!(bare, Ok(Key::from_value(&value).unwrap()));
        }
    }

    #[test]
    fn two_keys_or_two_clients_share_no_lock(
        one in (any::<u128>(), key_value()),
        other in (any::<u128>(), key_value()),
    ) {
        let lock = |(client, value): &(u128, String)| {
            lock_id(Uuid::from_u128(*client), &Key::from_value(value).unwrap())
        };
        prop_assert_eq!(lock(&one) == lock(&other), one == other);
        prop_assert_ne!(lock(&one), lock(&(!one.0, one.1.clone())));
    }

    #[test]
    fn any_number_of_seconds_is_granted_up_to_the_longest(asked in 1..=u64::MAX) {
        let granted = prefer::wait([format!("wait={asked}").as_bytes()]);
        prop_assert_eq!(granted, Some(Duration::from_secs(asked.min(30))));
    }
}

/// A body as a tree, to compare by its meaning: fields in any order, lists in their own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Value {
    Text(String),
    List(Vec<Object>),
    Group(Object),
}

type Object = Vec<(String, Value)>;

/// Few and short texts, so that two random bodies are often equal or differ in one boundary only.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![2 => "[ab\u{0}\u{1}]{0,2}", 1 => ".{0,12}"]
}

fn object() -> impl Strategy<Value = Object> {
    let value = text().prop_map(Value::Text).prop_recursive(2, 12, 3, |inner| {
        let object = vec((text(), inner), 0..3).boxed();
        prop_oneof![vec(object.clone(), 0..3).prop_map(Value::List), object.prop_map(Value::Group)]
    });
    vec((text(), value), 0..4)
}

fn sorted(object: &Object) -> Object {
    let mut object: Object = object
        .iter()
        .map(|(name, value)| {
            let value = match value {
                Value::Text(text) => Value::Text(text.clone()),
                Value::List(items) => Value::List(items.iter().map(sorted).collect()),
                Value::Group(fields) => Value::Group(sorted(fields)),
            };
            (name.clone(), value)
        })
        .collect();
    object.sort();
    object
}

fn describe(fields: Fields, object: &Object) -> Fields {
    object.iter().fold(fields, |fields, (name, value)| match value {
        Value::Text(text) => fields.field(name, text),
        Value::List(items) => fields.list(name, items, describe),
        Value::Group(group) => fields.group(name, |fields| describe(fields, group)),
    })
}

fn meaning(operation: &str, path: &[(String, String)], body: &Object) -> Meaning {
    let start = Meaning::of(operation);
    let start = path.iter().fold(start, |meaning, (name, value)| meaning.path(name, value));
    start.group("body", |fields| describe(fields, body))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn two_bodies_have_one_fingerprint_exactly_if_they_mean_the_same(one in object(), other in object()) {
        let same = sorted(&one) == sorted(&other);
        prop_assert_eq!(meaning("op", &[], &one).fingerprint() == meaning("op", &[], &other).fingerprint(), same);
    }

    #[test]
    fn a_change_of_one_text_changes_the_fingerprint(
        body in object(), name in text(), before in text(), after in text(),
    ) {
        prop_assume!(before != after);
        let with = |text: &String| {
            let mut body = body.clone();
            body.push((name.clone(), Value::Text(text.clone())));
            meaning("op", &[], &body).fingerprint()
        };
        prop_assert_ne!(with(&before), with(&after));
    }

    /// The texts are made of the byte that the encoding puts between a name and its text, so boundaries nearly coincide.
    #[test]
    fn a_boundary_that_moves_changes_the_fingerprint(
        one in ("[a\u{1}]{0,3}", "[a\u{1}]{0,3}"),
        other in ("[a\u{1}]{0,3}", "[a\u{1}]{0,3}"),
    ) {
        let fingerprint = |(name, value): &(String, String)| Meaning::of("op").field(name, value).fingerprint();
        prop_assert_eq!(fingerprint(&one) == fingerprint(&other), one == other);
    }

    #[test]
    fn operation_and_path_are_part_of_the_meaning(
        one in (text(), vec((text(), text()), 0..3)),
        other in (text(), vec((text(), text()), 0..3)),
        body in object(),
    ) {
        let fingerprint = |(operation, path): &(String, Vec<(String, String)>)| {
            meaning(operation, path, &body).fingerprint()
        };
        let normal = |(operation, path): &(String, Vec<(String, String)>)| {
            let mut path = path.clone();
            path.sort();
            (operation.clone(), path)
        };
        prop_assert_eq!(fingerprint(&one) == fingerprint(&other), normal(&one) == normal(&other));
    }

    #[test]
    fn the_order_of_fields_makes_no_difference(
        (body, shuffled) in object().prop_flat_map(|body| (Just(body.clone()), Just(body).prop_shuffle())),
    ) {
        prop_assert_eq!(meaning("op", &[], &body).fingerprint(), meaning("op", &[], &shuffled).fingerprint());
    }
}
