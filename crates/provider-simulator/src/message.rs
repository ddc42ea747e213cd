//! One signed request, ready to be sent.

/// What is sent to the endpoint of callbacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Name and value, in the order in which they are sent; `Content-Type` among them, `Content-Length` not.
    pub headers: Vec<(&'static str, String)>,
    /// The exact bytes that were signed.
    pub body: Vec<u8>,
}

impl Message {
    /// The value of a header, by its name as the provider spells it.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| *one == name).map(|(_, value)| value.as_str())
    }

    /// The message after somebody on the way changed one digit of what it says, and could not sign it anew. A body
    /// without digits loses its last byte.
    pub fn tampered_with(mut self) -> Self {
        // A form has its signature in its body, and behind this: a change there would be none of what is said.
        let signature =
            self.body.windows(SIGNATURE_OF_A_FORM.len()).position(|part| part == SIGNATURE_OF_A_FORM);
        let end = signature.unwrap_or(self.body.len());
        match self.body[..end].iter_mut().rfind(|byte| byte.is_ascii_digit()) {
            Some(digit) => *digit = if *digit == b'9' { b'8' } else { *digit + 1 },
            None => {
                self.body.pop();
            }
        }
        self
    }
}

const SIGNATURE_OF_A_FORM: &[u8] = b"&sign_type=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_tampered_with_differs_in_one_digit() {
        let tampered = |body: &str| {
            let message = Message { headers: Vec::new(), body: body.into() };
            String::from_utf8(message.tampered_with().body).unwrap()
        };
        assert_eq!(tampered(r#"{"amount":"88.80"}"#), r#"{"amount":"88.81"}"#);
        assert_eq!(tampered("19"), "18");
        assert_eq!(tampered("a=1&sign_type=RSA2&sign=0"), "a=2&sign_type=RSA2&sign=0");
        assert_eq!(tampered("none"), "non");
    }
}
