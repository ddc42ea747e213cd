//! Forms (`application/x-www-form-urlencoded`) as they are received: names as text, values as bytes.

use percent_encoding::percent_decode;

/// The parameters of a form or of a query, in their order; `None` for one whose name is not text.
pub fn parse(form: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    form.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(pair).collect()
}

fn pair(pair: &[u8]) -> Option<(String, Vec<u8>)> {
    let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
    let (name, value) = (&pair[..at], pair.get(at + 1..).unwrap_or_default());
    Some((String::from_utf8(decoded(name)).ok()?, decoded(value)))
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let blanks: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&blanks).collect()
}

/// The value of the parameter, if it is there and is text.
pub fn text<'a>(parameters: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a str> {
    let (_, value) = parameters.iter().find(|(one, _)| one == name)?;
    str::from_utf8(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_decoded_once_and_keeps_bytes_that_are_no_text() {
        let form = parse(b"a=1+2&b%5Bc%5D=%2B%26&d=%B2%E2&e&f=").unwrap();
        assert_eq!(text(&form, "a"), Some("1 2"));
        assert_eq!(text(&form, "b[c]"), Some("+&"));
        assert_eq!((text(&form, "d"), &form[2].1), (None, &vec![0xb2, 0xe2]));
        assert_eq!((text(&form, "e"), text(&form, "f"), text(&form, "g")), (Some(""), Some(""), None));
        assert_eq!(parse(b"%ff=1"), None);
    }
}
