//! What must hold of each parser, whatever bytes it is given. A function that returns has held.
//!
//! The program that guesses bytes calls these too, so they know no test framework.

use idempotency::fingerprint::Meaning;
use idempotency::{Fingerprint, Key, key, prefer};
use money::{Amount, Currency};
use server::body::{self, Json, RequestBody, words};
use server::cursor::Cursor;
use server::problem::Slug;
use server::routes::accounts::deposit::DepositBody;
use server::routes::accounts::open::OpenAccountBody;
use server::routes::accounts::withdraw::WithdrawalBody;
use server::routes::orders::place::PlaceOrderBody;
use server::routes::transfers::transfer::TransferBody;
use uuid::Uuid;

/// A header field is a key of 1–255 printable characters, in two spellings that name the same one, or none.
pub fn key_header(bytes: &[u8]) {
    let Ok(parsed) = Key::parse(bytes) else { return };
    let value = parsed.as_str();
    assert!((1..=key::LENGTH_MAX).contains(&value.len()));
    assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    assert_eq!(
        Key::parse(parsed.quoted().as_bytes()).as_ref(),
        Ok(&parsed),
        "the quoted spelling is the same key"
    );
    assert_eq!(Key::from_value(value).as_ref(), Ok(&parsed), "so is the plain value");
    let [header, alias, _] = key::HEADER_NAMES;
    let quoted = parsed.quoted();
    let both = Key::from_headers([(header, bytes), (alias, quoted.as_bytes())]);
    assert_eq!(both.as_ref(), Ok(&parsed), "an alias may spell it otherwise");
    assert!(Key::from_headers([(header, bytes), (header, bytes)]).is_err(), "but no header may stand twice");
}

/// A wait is between 1 and 30 s; the case of letters means nothing; and what stands behind the first wish, nothing either.
pub fn prefer_header(bytes: &[u8]) {
    let wait = prefer::wait([bytes]);
    assert!(wait.is_none_or(|wait| wait.as_secs() >= 1 && wait <= prefer::WAIT_MAX));
    assert_eq!(prefer::wait([bytes.to_ascii_uppercase().as_slice()]), wait);
    if wait.is_some() {
        assert_eq!(prefer::wait([bytes, b"wait=7"]), wait);
    }
}

/// An amount is printed with its currency's digits, and read again as the same; only digits and one point are amounts.
pub fn amount(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for code in ["JPY", "USD", "KWD", "CLF"] {
        let currency = Currency::from_code(code).expect("a currency");
        let Ok(amount) = Amount::parse(text, currency) else { continue };
        assert!(text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'), "{text:?}");
        assert!(text.len() <= 18 + 1 + 4 && (text == "0" || !text.starts_with("00")), "{text:?}");
        let printed = amount.to_string();
        let fraction = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        assert_eq!(u32::try_from(fraction), Ok(currency.minor_unit()));
        assert_eq!(Amount::parse(&printed, currency), Ok(amount));
        assert_eq!(Amount::from_minor_units(amount.minor_units(), currency), Ok(amount));
        let digits = |text: &str| text.replace('.', "").trim_start_matches('0').to_owned();
        assert!(
            digits(&printed).starts_with(digits(text).trim_end_matches('0')),
            "{text:?} became {printed}"
        );
    }
}

/// A body is what its JSON says: not JSON is 400, other JSON than the schema's is 422 with each fault's place, and neither
/// the order of its fields nor white space nor escapes make a difference.
pub fn bodies(bytes: &[u8]) {
    let json = Json::read(bytes);
    let value = serde_json::from_slice::<serde_json::Value>(bytes);
    assert!(json.is_ok() || value.is_err() || nests_deeply(bytes), "JSON was not taken for JSON");
    let respelled = value.ok().map(|value| value.to_string());
    one_body::<OpenAccountBody>(bytes, json.is_ok(), respelled.as_deref());
    one_body::<DepositBody>(bytes, json.is_ok(), respelled.as_deref());
    one_body::<WithdrawalBody>(bytes, json.is_ok(), respelled.as_deref());
    one_body::<TransferBody>(bytes, json.is_ok(), respelled.as_deref());
    one_body::<PlaceOrderBody>(bytes, json.is_ok(), respelled.as_deref());
    one_body::<body::NoBody>(bytes, json.is_ok() || bytes.is_empty(), respelled.as_deref());
}

fn one_body<B: RequestBody + std::fmt::Debug>(bytes: &[u8], is_json: bool, respelled: Option<&str>) {
    match body::parse::<B>(bytes) {
        Ok(body) => {
            assert!(is_json);
            if let Some(respelled) = respelled {
                let again = body::parse::<B>(respelled.as_bytes()).expect("the same body, spelled otherwise");
                assert_eq!(format!("{again:?}"), format!("{body:?}"));
            }
        }
        Err(problem) if is_json => assert_eq!(problem.slug, Slug::ValidationFailed),
        Err(problem) => assert_eq!(problem.slug, Slug::MalformedJson),
    }
}

fn nests_deeply(bytes: &[u8]) -> bool {
    bytes.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() > 32
}

/// A cursor has one spelling, and is one of its own list alone; so has an id.
pub fn cursor_and_id(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(cursor) = Cursor::decode("orders", Uuid::nil(), text) {
        assert_eq!(cursor.encode(), text);
        assert_eq!(Cursor::decode("accounts", Uuid::nil(), text), None);
    }
    if let Some(id) = words::parse_id(text) {
        assert_eq!(id.to_string(), text);
    }
}

/// What a request means has one fingerprint, in whichever order it is said; and nothing else has it, however the same bytes
/// are cut into names and values.
pub fn fingerprint(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parts: Vec<&str> = text.split(['\n', '=']).collect();
    let fields: Vec<(&str, &str)> = parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let said = of_fields(fields.iter().copied());
    assert_eq!(said, of_fields(fields.iter().rev().copied()), "the order makes no difference");
    assert_ne!(said, of_fields(fields.iter().copied().chain([("", "")])), "an empty field is a field");
    let Some((name, value)) = fields.first().copied() else { return };
    assert_ne!(of_fields([(name, value)]), Meaning::of("").path(name, value).fingerprint());
    assert_ne!(
        of_fields([(name, value)]),
        Meaning::of("").group(name, |group| group.field("", value)).fingerprint()
    );
    let joined = format!("{name}{value}");
    let cuts = joined.char_indices().map(|(at, _)| at).chain([joined.len()]).filter(|at| *at != name.len());
    for at in cuts.take(16) {
        assert_ne!(of_fields([joined.split_at(at)]), of_fields([(name, value)]), "{joined:?} cut at {at}");
    }
}

fn of_fields<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Fingerprint {
    fields
        .into_iter()
        .fold(Meaning::of(""), |meaning, (name, value)| meaning.field(name, value))
        .fingerprint()
}
