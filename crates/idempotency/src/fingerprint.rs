//! The hash over a request's meaning, by which the same key with another request is told from a retry.
//!
//! What is hashed is never the body's bytes: a retry may order its fields otherwise, escape otherwise or write `"10.5"`
//! for `"10.50"`, and is the same request. The route parses first and then says what the request means, as text in
//! one canonical form per value, through [`Meaning`]. What the server makes itself (ids, times) is no part of it, or no
//! retry would ever match.
//!
//! # The encoding, version 1
//!
//! The digest is SHA-256 over `meaning`. Every part says its own length before it comes, so the encoding can be read
//! back in one way only, and two different meanings never encode alike.
//!
//! ```text
//! meaning = version, text(operation), fields(path parameters), fields(body)
//! version = the number 1 as 2 bytes, big-endian
//! number  = 8 bytes, big-endian
//! text    = number of bytes, then the bytes (UTF-8, not normalised)
//! fields  = number of fields, then each one's text(name), value;
//!           in ascending byte order of the names, fields of one name in that of their values' encodings
//! value   = 0x01, text
//!         | 0x02, number of items, then each item's fields, in the order of the list
//!         | 0x03, fields                                                    (a nested object)
//! ```
//!
//! An absent field is not encoded at all. So an operation can gain an optional field without a new version: what was
//! asked before the upgrade still has the fingerprint that its retry has after it.
//!
//! Any other change of this format is a new [`VERSION`]. Records outlive an upgrade by the retention, so whoever adds
//! one keeps the old encoding for that long and compares in the version that the record names.

use std::fmt;

use sha2::{Digest, Sha256};

/// The version of the encoding that [`Meaning::fingerprint`] uses.
pub const VERSION: i16 = 1;

/// The hash over what a request means, with the version of the encoding it was taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    version: i16,
    digest: [u8; 32],
}

impl Fingerprint {
    /// Takes back what [`Fingerprint::version`] and [`Fingerprint::digest`] gave to the database.
    ///
    /// # Errors
    ///
    /// [`StoredFingerprintError`]: a fingerprint that this server cannot compare with its own is refused here, because
    /// to compare it would tell an honest retry that its key was reused.
    pub fn from_stored(version: i16, digest: &[u8]) -> Result<Fingerprint, StoredFingerprintError> {
        if version != VERSION {
            return Err(StoredFingerprintError::UnknownVersion { version });
        }
        let digest =
            digest.try_into().map_err(|_| StoredFingerprintError::WrongLength { length: digest.len() })?;
        Ok(Fingerprint { version, digest })
    }

    /// The version of the encoding, from 1.
    pub fn version(&self) -> i16 {
        self.version
    }

    /// The SHA-256 digest.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint(v{} ", self.version)?;
        for byte in self.digest {
            write!(f, "{byte:02x}")?;
        }
        write!(f, ")")
    }
}

/// A stored fingerprint that means nothing to this server: a newer server wrote it, or the row is damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoredFingerprintError {
    /// The encoding is not known here.
    #[error("fingerprint of version {version}, but this server knows only version {VERSION}")]
    UnknownVersion {
        /// What was stored.
        version: i16,
    },
    /// The digest is not one of SHA-256.
    #[error("fingerprint of {length} bytes instead of 32")]
    WrongLength {
        /// What was stored, in bytes.
        length: usize,
    },
}

/// What a request means: its operation, path parameters and body, each value in its one canonical text.
///
/// The order of calls makes no difference, except that of the items in a list. Defaults are filled in by the caller,
/// so that an omitted field and its default mean the same.
///
/// ```
/// use idempotency::fingerprint::Meaning;
///
/// let meaning = |amount: &str| {
///     Meaning::of("POST /v1/accounts/{id}/deposits").path("id", "a-1").field("currency", "CNY").field("amount", amount)
/// };
/// assert_eq!(meaning("10.50").fingerprint(), meaning("10.50").fingerprint());
/// assert_ne!(meaning("10.50").fingerprint(), meaning("10.51").fingerprint());
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Meaning {
    operation: String,
    path: Fields,
    body: Fields,
}

impl Meaning {
    /// Starts with the operation: its method and route, such as `POST /v1/accounts/{id}/deposits`.
    pub fn of(operation: &str) -> Meaning {
        Meaning { operation: operation.to_owned(), path: Fields::default(), body: Fields::default() }
    }

    /// A parameter of the path. It is never taken for a field of the body that has the same name.
    pub fn path(mut self, name: &str, value: &str) -> Meaning {
        self.path = self.path.field(name, value);
        self
    }

    /// A field of the body; see [`Fields::field`].
    pub fn field(mut self, name: &str, value: &str) -> Meaning {
        self.body = self.body.field(name, value);
        self
    }

    /// An optional field of the body; see [`Fields::maybe`].
    pub fn maybe(mut self, name: &str, value: Option<&str>) -> Meaning {
        self.body = self.body.maybe(name, value);
        self
    }

    /// A nested object of the body; see [`Fields::group`].
    pub fn group(mut self, name: &str, describe: impl FnOnce(Fields) -> Fields) -> Meaning {
        self.body = self.body.group(name, describe);
        self
    }

    /// A list in the body; see [`Fields::list`].
    pub fn list<T>(
        mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        describe: impl FnMut(Fields, T) -> Fields,
    ) -> Meaning {
        self.body = self.body.list(name, items, describe);
        self
    }

    /// The hash over all that was said, in the encoding of [`VERSION`].
    pub fn fingerprint(self) -> Fingerprint {
        let mut encoding = VERSION.to_be_bytes().to_vec();
        push_text(&mut encoding, &self.operation);
        self.path.push_to(&mut encoding);
        self.body.push_to(&mut encoding);
        Fingerprint { version: VERSION, digest: Sha256::digest(&encoding).into() }
    }
}

/// The fields of a body, of a nested object or of one item of a list.
#[derive(Clone, Default, Debug)]
#[must_use]
pub struct Fields(Vec<Field>);

/// A name and its value's encoding. The derived order is the one that the encoding prescribes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Field {
    name: String,
    value: Vec<u8>,
}

/// The first byte of an encoded value.
mod tag {
    pub(super) const TEXT: u8 = 1;
    pub(super) const LIST: u8 = 2;
    pub(super) const GROUP: u8 = 3;
}

impl Fields {
    /// A field and its value's canonical text. Empty text is a value, and differs from an absent field.
    pub fn field(self, name: &str, value: &str) -> Fields {
        let mut encoding = vec![tag::TEXT];
        push_text(&mut encoding, value);
        self.with(name, encoding)
    }

    /// A field that may be absent; `None` leaves no trace.
    pub fn maybe(self, name: &str, value: Option<&str>) -> Fields {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// A nested object. One without fields differs from an absent one.
    pub fn group(self, name: &str, describe: impl FnOnce(Fields) -> Fields) -> Fields {
        let mut encoding = vec![tag::GROUP];
        describe(Fields::default()).push_to(&mut encoding);
        self.with(name, encoding)
    }

    /// A list of objects, whose order is part of the meaning. An empty list differs from an absent one.
    ///
    /// `describe` gets no fields yet and the item, and adds the item's fields.
    pub fn list<T>(
        self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut describe: impl FnMut(Fields, T) -> Fields,
    ) -> Fields {
        let items: Vec<Fields> = items.into_iter().map(|item| describe(Fields::default(), item)).collect();
        let mut encoding = vec![tag::LIST];
        push_number(&mut encoding, items.len());
        for item in items {
            item.push_to(&mut encoding);
        }
        self.with(name, encoding)
    }

    fn with(mut self, name: &str, value: Vec<u8>) -> Fields {
        self.0.push(Field { name: name.to_owned(), value });
        self
    }

    fn push_to(mut self, encoding: &mut Vec<u8>) {
        self.0.sort_unstable();
        push_number(encoding, self.0.len());
        for Field { name, value } in &self.0 {
            push_text(encoding, name);
            encoding.extend_from_slice(value);
        }
    }
}

fn push_text(encoding: &mut Vec<u8>, text: &str) {
    push_number(encoding, text.len());
    encoding.extend_from_slice(text.as_bytes());
}

fn push_number(encoding: &mut Vec<u8>, number: usize) {
    // Always 8 bytes, whatever the machine's word: servers of one database must agree.
    encoding.extend_from_slice(&(number as u64).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deposit() -> Meaning {
        Meaning::of("POST /v1/accounts/{id}/deposits")
            .path("id", "01900000-0000-7000-8000-00000000000a")
            .field("amount", "10.50")
            .field("currency", "CNY")
    }

    /// The digests were computed from the module's description by another program, not by this code.
    #[test]
    fn the_encoding_of_version_1_never_changes() {
        for (meaning, digest) in [
            (Meaning::of(""), "b015c27672f3feeab9ffd87bcc237279fc7a85580d1f51efb4b1940c1944afd9"),
            (
                deposit().field("reference", "é"),
                "26ef36a218cb0ef8c1da8896c9c01d2586ca12ff7074d3d2b57252621d517806",
            ),
            (
                Meaning::of("POST /v1/orders")
                    .group("payment", |payment| payment.field("method", "balance"))
                    .list("items", [Some(("TEA-1", "2")), None], |item, content| match content {
                        Some((sku, quantity)) => item.field("sku", sku).field("quantity", quantity),
                        None => item,
                    })
                    .field("client_order_no", "A-1001"),
                "8d36cc109719034cabba80e376b4c23de1fec3a7c3a7f6b60423d4da1a08f941",
            ),
        ] {
            assert_eq!(format!("{:?}", meaning.fingerprint()), format!("Fingerprint(v1 {digest})"));
        }
    }

    #[test]
    fn the_order_of_fields_makes_no_difference() {
        let other_way = Meaning::of("POST /v1/accounts/{id}/deposits")
            .field("currency", "CNY")
            .field("amount", "10.50")
            .path("id", "01900000-0000-7000-8000-00000000000a");
        assert_eq!(other_way.fingerprint(), deposit().fingerprint());
    }

    #[test]
    fn every_other_operation_parameter_or_body_has_another_fingerprint() {
        let other_operation = Meaning::of("POST /v1/accounts/{id}/withdrawals")
            .path("id", "01900000-0000-7000-8000-00000000000a")
            .field("amount", "10.50")
            .field("currency", "CNY");
        let other_path = Meaning::of("POST /v1/accounts/{id}/deposits")
            .path("id", "01900000-0000-7000-8000-00000000000b")
            .field("amount", "10.50")
            .field("currency", "CNY");
        let other_amount = Meaning::of("POST /v1/accounts/{id}/deposits")
            .path("id", "01900000-0000-7000-8000-00000000000a")
            .field("amount", "10.51")
            .field("currency", "CNY");
        let all = [
            deposit(),
            other_operation,
            other_path,
            other_amount,
            deposit().field("reference", ""),
            deposit().field("reference", "R-1"),
            deposit().field("", "reference"),
            deposit().path("reference", "R-1"),
            deposit().group("reference", |fields| fields),
            deposit().list("reference", [(); 0], |fields, ()| fields),
            deposit().list("reference", [()], |fields, ()| fields),
            deposit().list("reference", [(), ()], |fields, ()| fields),
            deposit().list("reference", ["1"], |fields, value| fields.field("a", value)),
            deposit().group("reference", |fields| fields.field("a", "1")),
        ]
        .map(Meaning::fingerprint);
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "meaning {at} has the fingerprint of a later one");
        }
    }

    #[test]
    fn the_boundary_between_name_and_value_counts() {
        let meaning = |fields: &[(&str, &str)]| {
            let start = Meaning::of("op");
            fields.iter().fold(start, |meaning, (name, value)| meaning.field(name, value)).fingerprint()
        };
        assert_ne!(meaning(&[("ab", "c")]), meaning(&[("a", "bc")]));
        assert_ne!(meaning(&[("a", "b"), ("c", "d")]), meaning(&[("a", "b\0c\0d")]));
        assert_ne!(meaning(&[("a", "1"), ("b", "2")]), meaning(&[("a", "2"), ("b", "1")]));
        // Without its lengths, this would be the same bytes: the tag of a text is the character 1.
        assert_ne!(meaning(&[("a\u{1}b", "c")]), meaning(&[("a", "b\u{1}c")]));
    }

    #[test]
    fn the_boundary_between_groups_of_fields_counts() {
        assert_ne!(
            Meaning::of("op").path("a", "1").fingerprint(),
            Meaning::of("op").field("a", "1").fingerprint()
        );
        let items = |items: [&[&str]; 2]| {
            let describe =
                |item, names: &[&str]| names.iter().fold(item, |item: Fields, name| item.field(name, "1"));
            Meaning::of("op").list("items", items, describe).fingerprint()
        };
        assert_ne!(items([&["a", "b"], &[]]), items([&["a"], &["b"]]));
        assert_ne!(items([&["a", "b"], &[]]), items([&[], &["a", "b"]]));
    }

    #[test]
    fn the_order_of_a_list_counts() {
        let items = |skus: [&str; 2]| {
            Meaning::of("op").list("items", skus, |item, sku| item.field("sku", sku)).fingerprint()
        };
        assert_ne!(items(["TEA-1", "TEA-2"]), items(["TEA-2", "TEA-1"]));
    }

    #[test]
    fn an_absent_field_leaves_no_trace_and_an_empty_one_does() {
        assert_eq!(deposit().maybe("note", None).fingerprint(), deposit().fingerprint());
        assert_ne!(deposit().maybe("note", Some("")).fingerprint(), deposit().fingerprint());
    }

    #[test]
    fn a_fingerprint_survives_the_database() {
        let fingerprint = deposit().fingerprint();
        assert_eq!(Fingerprint::from_stored(fingerprint.version(), fingerprint.digest()), Ok(fingerprint));
    }

    #[test]
    fn a_stored_fingerprint_that_cannot_be_compared_is_refused() {
        use StoredFingerprintError::{UnknownVersion, WrongLength};
        for version in [i16::MIN, 0, VERSION + 1] {
            assert_eq!(Fingerprint::from_stored(version, &[0; 32]), Err(UnknownVersion { version }));
        }
        for length in [0, 31, 33] {
            assert_eq!(Fingerprint::from_stored(VERSION, &vec![0; length]), Err(WrongLength { length }));
        }
    }
}
