//! Bytes that are nearly something: an entry of the corpus with some of it cut out, doubled, replaced or put elsewhere.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What the parsers look out for.
const PIECES: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\\"",
    b"\\u0061",
    b"\\ud800",
    b",",
    b";",
    b"=",
    b":",
    b" ",
    b"\t",
    b"\n",
    b"\0",
    b"\x7f",
    b"\xff",
    "é".as_bytes(),
    b"0",
    b"00",
    b".",
    b"-",
    b"+",
    b"1e9",
    b"99999999999999999999",
    b"{",
    b"}",
    b"[",
    b"]",
    b"{}",
    b"[]",
    b"null",
    b"true",
    b"wait",
    b"wait=5",
    b"\"amount\":\"1.00\",",
    b"\"currency\":\"JPY\",",
    b"\"x\":0,",
];

/// The corpus of a target: small files that people can read.
///
/// # Panics
///
/// If there is none: a target without a corpus would be tested on nothing in particular.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let corpus: Vec<_> = paths.map(|path| std::fs::read(path).expect("a file")).collect();
    assert!(!corpus.is_empty(), "{} is empty", folder.display());
    corpus
}

/// Entries of the corpus with up to four changes.
pub fn nearly(corpus: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (select(corpus), vec(change(), 0..=4))
        .prop_map(|(bytes, changes)| changes.into_iter().fold(bytes, |bytes, change| change.apply(bytes)))
}

/// A change between two places.
#[derive(Clone, Debug)]
struct Change {
    from: Index,
    to: Index,
    to_what: What,
}

#[derive(Clone, Debug)]
enum What {
    CutOut,
    Double,
    Put(Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let piece = select(PIECES).prop_map(<[u8]>::to_vec);
    let put = prop_oneof![piece, vec(any::<u8>(), 0..4)].prop_map(What::Put);
    let what = prop_oneof![1 => Just(What::CutOut), 1 => Just(What::Double), 3 => put];
    (any::<Index>(), any::<Index>(), what).prop_map(|(from, to, to_what)| Change { from, to, to_what })
}

impl Change {
    fn apply(self, bytes: Vec<u8>) -> Vec<u8> {
        let places = [self.from.index(bytes.len() + 1), self.to.index(bytes.len() + 1)];
        let (from, to) = (places[0].min(places[1]), places[0].max(places[1]));
        match self.to_what {
            What::CutOut => [&bytes[..from], &bytes[to..]].concat(),
            What::Double => [&bytes[..to], &bytes[from..]].concat(),
            What::Put(piece) => [&bytes[..from], &piece, &bytes[from..]].concat(),
        }
    }
}
