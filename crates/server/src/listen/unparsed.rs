//! What the HTTP parser refuses: bytes that are no request, or one with too much of something.
//!
//! hyper answers those by itself, with a status and an empty body, before any service sees them. The API promises a problem
//! for every error, so the connection's stream puts one in the place of hyper's answer, on its way out. It is the last
//! that hyper says on a connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use idempotency::Key;
use idempotency::key::{HEADER_NAMES, KeyError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep, timeout};

use crate::access_log::{Facts, Line};
use crate::problem::{self, Problem, Slug};
use crate::request_id::{self, RequestId};

/// How much of what a client still sends is read and thrown away after the answer, and for how long. A connection that is
/// closed on unread bytes is reset, and its client may never see the answer.
const DISCARDED_BYTES_MAX: u64 = 1024 * 1024;
const DISCARDING_TIME_MAX: Duration = Duration::from_millis(500);

/// How long a client may take nothing of what is written to it. Without it, one that asks and never reads keeps a
/// connection for ever.
const STALLED_MAX: Duration = Duration::from_secs(15);

/// How long the answer may take to leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// How much of a request is kept until it is answered, to tell what was wrong with it: the headers, and not the body.
const HEARD_BYTES_MAX: usize = 32 * 1024;

/// The operation of what is no request, in the log.
const OPERATION: &str = "unparsed";

/// A connection's stream, on which hyper's own answers become problems.
pub struct Conversation {
    /// Given away to the farewell, if there is one.
    stream: Option<TcpStream>,
    /// What came since the last answer.
    heard: Vec<u8>,
    /// Runs while nothing can be written.
    stalled: Option<Pin<Box<Sleep>>>,
    stalled_max: Duration,
    farewell: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl Conversation {
    /// The stream of a connection that was just accepted.
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream: Some(stream),
            heard: Vec::new(),
            stalled: None,
            stalled_max: STALLED_MAX,
            farewell: None,
        }
    }

    /// The stream, unless the connection is taking its leave.
    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn poll_write_or_stall(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = self.stream()?.poll_write(context, bytes) {
            self.stalled = None;
            return Poll::Ready(written);
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.stalled_max)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Conversation {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(self.stream()?.poll_read(context, buffer))?;
        let room = HEARD_BYTES_MAX - self.heard.len();
        let new = &buffer.filled()[before..];
        self.heard.extend_from_slice(&new[..new.len().min(room)]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Conversation {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.farewell.is_none() {
            let Some((at, status)) = hypers_own(bytes) else {
                self.heard.clear();
                return self.poll_write_or_stall(context, bytes);
            };
            // What stands before it answers an earlier request of the connection.
            let mut last_words = bytes[..at].to_vec();
            last_words.extend_from_slice(&answer_to(&self.heard, status));
            self.farewell = self.stream.take().map(|stream| Box::pin(farewell(stream, last_words)) as _);
        }
        match &mut self.farewell {
            // hyper is told that its own bytes are written, which it calls this for until they are.
            Some(farewell) => {
                ready!(farewell.as_mut().poll(context))?;
                Poll::Ready(Ok(bytes.len()))
            }
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream.as_mut() {
            Some(stream) => Pin::new(stream).poll_flush(context),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream.as_mut() {
            Some(stream) => Pin::new(stream).poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }
}

/// Where an answer of hyper's begins in what it writes, and its status. It is known by what it lacks: every answer of the
/// service carries the id of its request.
fn hypers_own(bytes: &[u8]) -> Option<(usize, StatusCode)> {
    const BEGINNING: &[u8] = b"HTTP/1.1 ";
    // It has no body, so it ends as headers do; hardly any other answer gets past this line.
    if !bytes.ends_with(b"\r\n\r\n") {
        return None;
    }
    let at = bytes.windows(BEGINNING.len()).rposition(|window| window == BEGINNING)?;
    let head = &bytes[at + BEGINNING.len()..];
    let status = StatusCode::from_bytes(head.get(..3)?).ok()?;
    let id = request_id::HEADER;
    let is_ours = head.windows(id.as_str().len()).any(|window| window == id.as_str().as_bytes());
    (status.is_client_error() && !is_ours).then_some((at, status))
}

/// The whole answer, headers included. The request gets its line in the log like any other.
fn answer_to(heard: &[u8], status: StatusCode) -> Vec<u8> {
    let request_id = RequestId::of(&HeaderMap::new());
    let problem = problem_of(heard, status);
    request_id::while_serving_at_once(request_id.clone(), || {
        let line = Line::begin(Facts::new(request_id.clone()), OPERATION);
        line.write(problem.status().as_u16(), problem.slug.as_str());
    });

    let document = problem.document(request_id.as_str());
    let mut answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n{}: {request_id}\r\n\r\n",
        problem::CONTENT_TYPE,
        document.len(),
        request_id::HEADER,
    )
    .into_bytes();
    answer.extend_from_slice(&document);
    answer
}

fn problem_of(heard: &[u8], status: StatusCode) -> Problem {
    match status {
        StatusCode::URI_TOO_LONG => Problem::new(Slug::UriTooLong, "the path and query are too long"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            Problem::new(Slug::HeadersTooLarge, "the headers are too many or too large")
        }
        _ => match forbidden_in_the_key(heard) {
            Some(fault) => Problem::new(Slug::IdempotencyKeyMalformed, fault.to_string()),
            None => Problem::new(Slug::MalformedRequest, "what came is not an HTTP request"),
        },
    }
}

/// What is wrong with the idempotency key of a request that the parser refused. HTTP forbids control characters in every
/// header, so it is the parser that meets a key with a NUL.
fn forbidden_in_the_key(heard: &[u8]) -> Option<KeyError> {
    let lines = heard.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut keys = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let is_key = HEADER_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        is_key.then(|| Key::parse(value))
    });
    keys.find_map(|key| key.err().filter(|error| matches!(error, KeyError::ForbiddenCharacter { .. })))
}

/// Writes the last words, and listens a little longer, so that they are heard.
async fn farewell(mut stream: TcpStream, last_words: Vec<u8>) -> io::Result<()> {
    timeout(LEAVE_WITHIN, stream.write_all(&last_words)).await??;
    stream.shutdown().await?;
    let mut rest = stream.take(DISCARDED_BYTES_MAX);
    let mut thrown_away = tokio::io::sink();
    // The client may go or stay: all that there was to say is said.
    let _ = timeout(DISCARDING_TIME_MAX, tokio::io::copy(&mut rest, &mut thrown_away)).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_client_that_asks_and_never_reads_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut conversation = Conversation::new(stream);
        conversation.stalled_max = Duration::from_millis(50);
        // More than the kernel keeps for both sides together.
        let error = conversation.write_all(&vec![b'x'; 64 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    #[test]
    fn an_answer_of_hypers_is_known_wherever_it_begins() {
        let own =
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Sun, 29 Nov 2026 19:00:00 GMT\r\n\r\n";
        assert_eq!(hypers_own(own), Some((0, StatusCode::BAD_REQUEST)));
        let ours = b"HTTP/1.1 200 OK\r\nx-request-id: r\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(hypers_own(&[&ours[..], own].concat()), Some((ours.len(), StatusCode::BAD_REQUEST)));
    }

    #[test]
    fn what_the_service_answers_is_let_through() {
        for ours in [
            &b"HTTP/1.1 404 Not Found\r\nx-request-id: r\r\ncontent-length: 90\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nx-request-id: r\r\ncontent-length: 2\r\n\r\n{}",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"a body that ends with\r\n\r\n",
            b"",
        ] {
            assert_eq!(hypers_own(ours), None, "{}", String::from_utf8_lossy(ours));
        }
    }

    #[test]
    fn a_key_with_a_control_character_is_found_in_what_was_heard() {
        let slug = |heard: &[u8]| problem_of(heard, StatusCode::BAD_REQUEST).slug;
        for line in [&b"Idempotency-Key: a\0b"[..], b"x-idempotency-key:\"\x01\"", b"X-IDEMPOTENT-KEY: \x7f"]
        {
            let heard = [b"POST /v1/orders HTTP/1.1\r\nhost: a\r\n", line, b"\r\n\r\n"].concat();
            assert_eq!(slug(&heard), Slug::IdempotencyKeyMalformed);
        }
        let in_another_header = b"POST /v1/orders HTTP/1.1\r\nidempotency-key: k\r\nx: \0\r\n\r\n";
        assert_eq!(slug(in_another_header), Slug::MalformedRequest);
        let in_the_body = b"POST /v1/orders HTTP/1.1\r\nx: \0\r\n\r\nidempotency-key: a\0b";
        assert_eq!(slug(in_the_body), Slug::MalformedRequest);
        assert_eq!(slug(b"\x16\x03\x01"), Slug::MalformedRequest);
    }
}
