//! Cursors: where a list goes on, in a form that clients can only hand back.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The place after a row of a list.
///
/// The text is URL-safe base64 of the position and eight bytes of a hash over the list and the position. The hash is no
/// secret: it tells a cursor of another list, or one that was changed by accident, from a good one. A forged cursor shows
/// nothing that its client could not list anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor<'a> {
    /// Which list, such as `accounts`.
    pub list: &'a str,
    /// Whose list: the client, or the account whose entries they are.
    pub scope: Uuid,
    /// The sort key of the last row that was shown.
    pub position: u128,
}

const CHECK_BYTES: usize = 8;
const POSITION_BYTES: usize = size_of::<u128>();

impl<'a> Cursor<'a> {
    /// The cursor as text.
    pub fn encode(&self) -> String {
        let mut bytes = self.position.to_be_bytes().to_vec();
        bytes.extend_from_slice(&self.check());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor of that text, if it is one of this list.
    pub fn decode(list: &'a str, scope: Uuid, text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (position, check) = bytes.split_first_chunk::<POSITION_BYTES>()?;
        let cursor = Self { list, scope, position: u128::from_be_bytes(*position) };
        (check == cursor.check()).then_some(cursor)
    }

    fn check(&self) -> [u8; CHECK_BYTES] {
        let digest = Sha256::new()
            .chain_update(b"onefold cursor\0")
            .chain_update(self.list.as_bytes())
            .chain_update(b"\0")
            .chain_update(self.scope.as_bytes())
            .chain_update(self.position.to_be_bytes())
            .finalize();
        let mut check = [0; CHECK_BYTES];
        check.copy_from_slice(&digest[..CHECK_BYTES]);
        check
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back_as_it_went(position: u128, scope: u128) {
            let cursor = Cursor { list: "orders", scope: Uuid::from_u128(scope), position };
            prop_assert_eq!(Cursor::decode("orders", cursor.scope, &cursor.encode()), Some(cursor));
        }

        #[test]
        fn a_changed_cursor_is_refused(position: u128, at in 0_usize..32, to in "[A-Za-z0-9_-]") {
            let cursor = Cursor { list: "orders", scope: Uuid::nil(), position };
            let mut text = cursor.encode();
            prop_assume!(text[at..=at] != to);
            text.replace_range(at..=at, &to);
            prop_assert_eq!(Cursor::decode("orders", Uuid::nil(), &text), None);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,80}") {
            let _ = Cursor::decode("orders", Uuid::nil(), &text);
        }
    }

    #[test]
    fn a_cursor_of_another_list_or_owner_is_refused() {
        let text = Cursor { list: "orders", scope: Uuid::nil(), position: 7 }.encode();
        assert_eq!(Cursor::decode("accounts", Uuid::nil(), &text), None);
        assert_eq!(Cursor::decode("orders", Uuid::max(), &text), None);
        assert_eq!(Cursor::decode("orders", Uuid::nil(), ""), None);
    }
}
