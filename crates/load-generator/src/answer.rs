//! The head of an answer, read in place.
//!
//! A client that is about to send the same connection another request must know exactly where the last answer ended: half an
//! answer that is taken for a whole one gives the next request the rest. So whatever is not understood is a fault, and
//! the connection is given up.

use std::str;

use serde::Deserialize;

/// What the generator needs of an answer; its body stays in the connection's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Whether it is marked as the answer to an earlier request under the same key.
    pub replayed: bool,
    /// Whether it is a problem document.
    pub is_problem: bool,
    /// How long to wait before asking again, in seconds.
    pub retry_after_s: Option<u32>,
    /// Whether the connection takes another request.
    pub keeps_alive: bool,
    /// Where the body begins, in bytes from the answer's first.
    pub body_begin: usize,
    /// Where it ends, and the answer with it.
    pub end: usize,
}

/// Why the bytes are not an answer that can be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Malformed(pub &'static str);

/// Bytes that the head may have at most.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Bytes that the body may have at most: a page of a hundred orders has some fifty thousand.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Reads the answer that begins with these bytes; `None` while some of it has not arrived.
pub fn read(bytes: &[u8]) -> Result<Option<Answer>, Malformed> {
    let Some(head_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if bytes.len() > HEAD_BYTES_MAX { Err(Malformed("the head does not end")) } else { Ok(None) };
    };
    let head = str::from_utf8(&bytes[..head_end]).map_err(|_| Malformed("the head is not text"))?;
    let mut lines = head.split("\r\n");
    let (status, mut keeps_alive) = status_line(lines.next().unwrap_or_default())?;

    let body_begin = head_end + 4;
    let mut length = None;
    let (mut replayed, mut is_problem, mut retry_after_s) = (false, false, None);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(Malformed("a header without a colon"))?;
        let value = value.trim();
        // A length tells four in five of the headers apart without comparing them.
        match name.len() {
            14 if name.eq_ignore_ascii_case("content-length") => {
                let bytes = value.parse().map_err(|_| Malformed("the length is not one"))?;
                if length.is_some_and(|known| known != bytes) {
                    return Err(Malformed("two lengths"));
                }
                length = Some(bytes);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                return Err(Malformed("a body in chunks"));
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                keeps_alive = !value.eq_ignore_ascii_case("close")
                    && (keeps_alive || value.eq_ignore_ascii_case("keep-alive"));
            }
            20 if name.eq_ignore_ascii_case("idempotency-replayed") => {
                replayed = value.eq_ignore_ascii_case("true");
            }
            12 if name.eq_ignore_ascii_case("content-type") => {
                is_problem = value == "application/problem+json";
            }
            // The other form is a date, which the generator has no use for.
            11 if name.eq_ignore_ascii_case("retry-after") => retry_after_s = value.parse().ok(),
            _ => {}
        }
    }
    let length = match (length, status) {
        (_, 204 | 304) => 0,
        (Some(length), _) if length <= BODY_BYTES_MAX => length,
        (Some(_), _) => return Err(Malformed("the body is too long")),
        (None, _) => return Err(Malformed("no length")),
    };
    let end = body_begin + length;
    let answer = Answer { status, replayed, is_problem, retry_after_s, keeps_alive, body_begin, end };
    Ok((bytes.len() >= end).then_some(answer))
}

/// The status, and whether the version keeps a connection open when nothing is said of it.
fn status_line(line: &str) -> Result<(u16, bool), Malformed> {
    let keeps_alive = match line.get(..9) {
        Some("HTTP/1.1 ") => true,
        Some("HTTP/1.0 ") => false,
        _ => return Err(Malformed("not HTTP/1")),
    };
    let status = line.get(9..12).filter(|_| matches!(line.as_bytes().get(12), None | Some(b' ')));
    match status.and_then(|status| status.parse().ok()) {
        Some(status @ 200..=599) => Ok((status, keeps_alive)),
        // Nothing was sent that asks for an interim answer.
        _ => Err(Malformed("the status is not a final one")),
    }
}

/// What the generator needs of a problem document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Problem<'a> {
    /// What kind of problem, such as `insufficient-funds`.
    pub slug: &'a str,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

/// Reads a problem document; `None` when it is not one.
pub fn problem(body: &[u8]) -> Option<Problem<'_>> {
    #[derive(Deserialize)]
    struct Document<'a> {
        r#type: &'a str,
        retryable: bool,
    }
    let document: Document<'_> = serde_json::from_slice(body).ok()?;
    Some(Problem { slug: document.r#type.strip_prefix("/problems/")?, retryable: document.retryable })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACED: &[u8] =
        b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nIdempotency-Replayed: true\r\n\
                            content-length: 5\r\n\r\n{\"a\"}";

    #[test]
    fn an_answer_is_read_once_its_last_byte_has_come() {
        for end in 0..PLACED.len() {
            assert_eq!(read(&PLACED[..end]), Ok(None), "{end} bytes");
        }
        let answer = read(PLACED).unwrap().unwrap();
        assert_eq!((answer.status, answer.replayed, answer.keeps_alive), (201, true, true));
        assert_eq!(&PLACED[answer.body_begin..answer.end], b"{\"a\"}");
    }

    #[test]
    fn what_follows_an_answer_is_not_part_of_it() {
        let answer = read(&[PLACED, b"HTTP/1.1 "].concat()).unwrap().unwrap();
        assert_eq!(answer.end, PLACED.len());
    }

    #[test]
    fn a_connection_that_closes_says_so() {
        for (head, keeps_alive) in [
            ("HTTP/1.1 200 OK\r\n", true),
            ("HTTP/1.1 200\r\nConnection: Close\r\n", false),
            ("HTTP/1.0 200 OK\r\n", false),
            ("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n", true),
        ] {
            let bytes = format!("{head}Content-Length: 0\r\n\r\n");
            assert_eq!(read(bytes.as_bytes()).unwrap().unwrap().keeps_alive, keeps_alive, "{head}");
        }
    }

    #[test]
    fn whatever_is_not_understood_is_a_fault() {
        for head in [
            "HTTP/2 200\r\ncontent-length: 0",
            "HTTP/1.1 100 Continue\r\ncontent-length: 0",
            "HTTP/1.1 20\r\ncontent-length: 0",
            "HTTP/1.1 2000 OK\r\ncontent-length: 0",
            "HTTP/1.1 200 OK\r\ncontent-length: -1",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked",
            "HTTP/1.1 200 OK\r\nno colon",
            "HTTP/1.1 200 OK",
        ] {
            assert!(read(format!("{head}\r\n\r\n").as_bytes()).is_err(), "{head}");
        }
        assert!(read(&vec![b'x'; HEAD_BYTES_MAX + 1]).is_err());
    }

    #[test]
    fn a_problem_names_its_kind() {
        let body = br#"{"type":"/problems/overloaded","title":"x","status":503,"retryable":true}"#;
        assert_eq!(problem(body), Some(Problem { slug: "overloaded", retryable: true }));
        assert_eq!(problem(br#"{"type":"about:blank","retryable":false}"#), None);
        assert_eq!(problem(b"gateway error"), None);
    }
}
