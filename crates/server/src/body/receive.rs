//! The bytes of a body: no more than allowed, of the right media type.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::{HeaderMap, header};
use tokio::time::timeout;

use crate::problem::{Problem, Slug};

/// How much of a body that is not wanted is read and thrown away, so that a client which sends first and listens later
/// hears the answer instead of a broken connection.
const DISCARDED_BYTES_MAX: usize = 1024 * 1024;

/// For how long: a client that announces a body and waits to hear whether to send it hears so.
const DISCARDING_TIME_MAX: Duration = Duration::from_millis(500);

/// The whole body, if it has at most `bytes_max` bytes.
///
/// # Errors
///
/// `content-too-large`; `malformed-request` when the body breaks off, or the lengths of its chunks cannot be read.
pub async fn receive(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let too_large =
        || Problem::new(Slug::ContentTooLarge, format!("the body has more than {bytes_max} bytes"));
    // From Content-Length, which the HTTP parser has checked; a chunked body announces nothing.
    let announced_too_large = body.size_hint().lower() > bytes_max as u64;
    let mut received = BytesMut::new();
    let mut chunks = body.into_data_stream();
    if announced_too_large {
        discard_chunks(chunks).await;
        return Err(too_large());
    }
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| {
            Problem::new(
                Slug::MalformedRequest,
                "the body ended before its end, or its chunks cannot be read",
            )
        })?;
        if received.len() + chunk.len() > bytes_max {
            discard_chunks(chunks).await;
            return Err(too_large());
        }
        received.extend_from_slice(&chunk);
    }
    Ok(received.freeze())
}

/// Throws a body away, for a request that is refused before its body is looked at. Without that, the connection would be
/// closed on the part that has not arrived yet, and a client still sending it would be told of a broken pipe instead of
/// the refusal.
pub async fn discard(body: Body) {
    if !body.is_end_stream() {
        discard_chunks(body.into_data_stream()).await;
    }
}

async fn discard_chunks(mut chunks: BodyDataStream) {
    let discarding = async {
        let mut discarded = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            discarded += chunk.len();
            if discarded > DISCARDED_BYTES_MAX {
                return;
            }
        }
    };
    // Whether it came to an end makes no difference to the answer.
    let _ = timeout(DISCARDING_TIME_MAX, discarding).await;
}

/// Lets JSON in UTF-8 pass as it is: `application/json`, in any case, with no parameter but `charset=utf-8`, and not
/// compressed.
///
/// # Errors
///
/// `unsupported-media-type`.
pub fn expect_json(headers: &HeaderMap) -> Result<(), Problem> {
    let mut fields = headers.get_all(header::CONTENT_TYPE).iter();
    let detail = match (fields.next(), fields.next()) {
        (None, _) => "the request has no Content-Type; send application/json",
        (Some(field), None) if field.to_str().is_ok_and(is_json) => return expect_uncoded(headers),
        (Some(_), None) => "the Content-Type is not application/json in UTF-8",
        (Some(_), Some(_)) => "the request has more than one Content-Type; send application/json",
    };
    Err(Problem::new(Slug::UnsupportedMediaType, detail))
}

/// Lets a body pass that no coding has changed. `identity` says just that, and RFC 9110, 8.4 has other codings answered
/// 415 where they are not understood; reading their bytes as JSON would blame the client's JSON.
fn expect_uncoded(headers: &HeaderMap) -> Result<(), Problem> {
    let is_identity =
        |field: &str| field.split(',').all(|coding| coding.trim().eq_ignore_ascii_case("identity"));
    let mut fields = headers.get_all(header::CONTENT_ENCODING).iter();
    if fields.all(|field| field.to_str().is_ok_and(is_identity)) {
        return Ok(());
    }
    let detail = "the request has a Content-Encoding; send the body without one";
    Err(Problem::new(Slug::UnsupportedMediaType, detail))
}

fn is_json(field: &str) -> bool {
    let mut parts = field.split(';').map(str::trim);
    let is_type = parts.next().is_some_and(|media_type| media_type.eq_ignore_ascii_case("application/json"));
    is_type
        && parts.all(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.trim_matches('"');
            parameter.is_empty()
                || (name.eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_in_utf_8_passes() {
        for good in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json;",
        ] {
            assert!(is_json(good), "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "application/jsonp",
            "application/problem+json",
            "application/json; charset=latin1",
            "application/json; charset",
            "application/json, application/json",
        ] {
            assert!(!is_json(bad), "{bad}");
        }
    }

    #[tokio::test]
    async fn exactly_the_limit_is_allowed_and_one_byte_more_is_not() {
        assert_eq!(receive(Body::from("12345678"), 8).await.unwrap(), "12345678");
        assert_eq!(receive(Body::from("123456789"), 8).await.unwrap_err().slug, Slug::ContentTooLarge);
    }

    #[tokio::test]
    async fn a_stream_that_announces_nothing_is_counted() {
        let chunks = |count: usize| {
            Body::from_stream(futures::stream::iter((0..count).map(|_| Ok::<_, std::io::Error>("1234"))))
        };
        assert_eq!(receive(chunks(2), 8).await.unwrap(), "12341234");
        assert_eq!(receive(chunks(3), 8).await.unwrap_err().slug, Slug::ContentTooLarge);
    }
}
