//! A form (`application/x-www-form-urlencoded`) as bytes.
//!
//! A signature may cover the decoded bytes in whatever charset the sender uses, so nothing here turns them into text: a
//! reader that does, lossily, destroys GBK. <https://url.spec.whatwg.org/#urlencoded-parsing>, made strict.

use std::collections::BTreeMap;

/// The fields of a form by name, each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form(BTreeMap<Vec<u8>, Vec<u8>>);

/// The bytes are no form, or name a field twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotAForm;

impl Form {
    /// Splits at `&`, and each part at its first `=`; decodes `%XX` and `+` once.
    ///
    /// Refused are an empty form, a part without a name or without `=`, a byte that no form contains, a `%` without two
    /// digits behind it, and a name that comes twice.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Form, NotAForm> {
        let mut fields = BTreeMap::new();
        for part in bytes.split(|byte| *byte == b'&') {
            let equals = part.iter().position(|byte| *byte == b'=').ok_or(NotAForm)?;
            let name = decode(&part[..equals])?;
            if name.is_empty() || fields.insert(name, decode(&part[equals + 1..])?).is_some() {
                return Err(NotAForm);
            }
        }
        Ok(Form(fields))
    }

    /// The value of a field. An empty one counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name.as_bytes()).map(Vec::as_slice).filter(|value| !value.is_empty())
    }

    /// Names and values, in the order of the names' bytes.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }
}

/// A form of these fields, in UTF-8.
pub(crate) fn encode(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", percent_encoded(name), percent_encoded(value)))
        .collect();
    pairs.join("&")
}

/// The text for a place in a URL or a form: everything but unreserved characters (RFC 3986, 2.3) as `%XX`.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn decode(part: &[u8]) -> Result<Vec<u8>, NotAForm> {
    let mut decoded = Vec::with_capacity(part.len());
    let mut bytes = part.iter().copied();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let high = hex_digit(bytes.next().ok_or(NotAForm)?)?;
                let low = hex_digit(bytes.next().ok_or(NotAForm)?)?;
                high << 4 | low
            }
            b'+' => b' ',
            // What stands in JSON, HTML and text, and never in a form as it is sent.
            b'"' | b'<' | b'>' | b'{' | b'}' | b'\\' => return Err(NotAForm),
            _ if byte.is_ascii_graphic() => byte,
            _ => return Err(NotAForm),
        });
    }
    Ok(decoded)
}

fn hex_digit(byte: u8) -> Result<u8, NotAForm> {
    let digit = char::from(byte).to_digit(16).ok_or(NotAForm)?;
    // Below 16.
    Ok(digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_decoded_once_into_bytes() {
        let form = Form::parse(b"subject=A%26B%3DC%2BD+100%25&gbk=%B2%E2&sign=a/b=&twice=%2541").unwrap();
        assert_eq!(form.get("subject"), Some(b"A&B=C+D 100%".as_slice()));
        assert_eq!(form.get("gbk"), Some([0xb2, 0xe2].as_slice()));
        assert_eq!(form.get("sign"), Some(b"a/b=".as_slice()));
        assert_eq!(form.get("twice"), Some(b"%41".as_slice()));
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for text in
            ["", "a", "a=1&", "&a=1", "=1", "a=%", "a=%2", "a=%zz", "a=%+1", "{\"a\"=1}", "a=1\n", "a=1 2"]
        {
            assert_eq!(Form::parse(text.as_bytes()), Err(NotAForm), "{text}");
        }
        assert_eq!(Form::parse("a=测".as_bytes()), Err(NotAForm));
    }

    #[test]
    fn a_name_that_comes_twice_is_refused_in_any_spelling() {
        for text in ["a=1&a=1", "a=1&b=2&%61=1", "a=&a="] {
            assert_eq!(Form::parse(text.as_bytes()), Err(NotAForm), "{text}");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_to_the_same() {
        let encoded = encode(&[("a b", "1+1=2&%"), ("测", "-._~")]);
        assert_eq!(encoded, "a%20b=1%2B1%3D2%26%25&%E6%B5%8B=-._~");
        let form = Form::parse(encoded.as_bytes()).unwrap();
        assert_eq!(form.get("a b"), Some(b"1+1=2&%".as_slice()));
        assert_eq!(form.get("测"), Some(b"-._~".as_slice()));
    }

    #[test]
    fn fields_are_sorted_by_their_bytes() {
        let form = Form::parse(b"app_id=1&ZZ=2&app=3&b=").unwrap();
        let names: Vec<&[u8]> = form.sorted().map(|(name, _)| name).collect();
        assert_eq!(names, [b"ZZ".as_slice(), b"app", b"app_id", b"b"]);
        assert_eq!(form.get("b"), None);
    }
}
