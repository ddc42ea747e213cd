//! One request to a provider over HTTP.
//!
//! No redirect is followed, and no proxy is asked for from the environment: a request is signed for its URL, or carries a
//! key. Certificates are verified against the roots that browsers trust.

use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use payment_callback::api::ApiRequest;
use thiserror::Error;
use tokio::time::timeout;

use crate::telemetry::traces;

/// The largest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Who asks. WeChat Pay refuses whoever does not say.
const ASKED_BY: &str = concat!("onefold/", env!("CARGO_PKG_VERSION"));

/// How long a connection that nobody uses is kept.
const IDLE_FOR: Duration = Duration::from_secs(30);

/// Connections to whoever is asked over HTTP, with or without TLS. Cheap to clone; all clones share them.
pub type Connections = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// No connections yet.
pub fn connections() -> Connections {
    let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_idle_timeout(IDLE_FOR).pool_timer(TokioTimer::new());
    builder.build(connector)
}

/// Sends requests. Cheap to clone; all clones share their connections.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Connections,
    timeout: Duration,
}

/// An answer, read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The exact bytes of the body.
    pub body: Bytes,
}

/// There is no answer. What was asked for may have happened.
#[derive(Debug, Error)]
pub enum Unanswered {
    /// It took too long.
    #[error("no answer in time")]
    TimedOut,
    /// It cannot be reached, or hung up.
    #[error("no connection, or one that ended early: {0}")]
    Cut(String),
    /// It answers more than anybody would read.
    #[error("the answer is larger than {ANSWER_BYTES_MAX} bytes")]
    TooLarge,
    /// The request cannot be sent as it is.
    #[error("the request cannot be sent: {0}")]
    Unsendable(#[from] http::Error),
}

impl HttpClient {
    /// A client that waits so long for each answer.
    pub fn new(timeout: Duration) -> Self {
        Self { client: connections(), timeout }
    }

    /// How long it waits for each answer.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends a request and reads the answer.
    ///
    /// # Errors
    ///
    /// [`Unanswered`]: unless the request could not be sent, nobody knows whether it was heard.
    pub async fn send(&self, asked: &ApiRequest) -> Result<Received, Unanswered> {
        let mut request =
            Request::builder().method(asked.method).uri(&asked.url).header(USER_AGENT, ASKED_BY);
        for (name, value) in &asked.headers {
            request = request.header(*name, value);
        }
        let mut request = request.body(Full::new(Bytes::from(asked.body.clone())))?;
        traces::tell(request.headers_mut());
        timeout(self.timeout, self.exchange(request)).await.map_err(|_| Unanswered::TimedOut)?
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Received, Unanswered> {
        let answer = self.client.request(request).await.map_err(|error| Unanswered::Cut(chain(&error)))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(|error| {
            match error.downcast_ref::<LengthLimitError>() {
                Some(_) => Unanswered::TooLarge,
                None => Unanswered::Cut(chain(error.as_ref())),
            }
        })?;
        Ok(Received { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
    }
}

/// An error with what caused it: the client's own says no more than that it failed.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Somebody who answers one request with exactly these bytes.
    async fn answering(bytes: Vec<u8>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = [0; 4096];
            let _ = stream.read(&mut heard).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
        });
        address.to_string()
    }

    fn asked(url: String) -> ApiRequest {
        ApiRequest {
            method: "GET",
            url,
            headers: vec![("Accept", "application/json".to_owned())],
            body: Vec::new(),
        }
    }

    async fn told(bytes: &[u8]) -> Result<Received, Unanswered> {
        let address = answering(bytes.to_vec()).await;
        HttpClient::new(Duration::from_secs(5)).send(&asked(format!("http://{address}/x"))).await
    }

    #[tokio::test]
    async fn an_answer_is_read_to_its_end_and_a_redirect_is_one() {
        let told =
            told(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\nhi").await;
        let told = told.unwrap();
        assert_eq!((told.status, told.body.as_ref()), (302, &b"hi"[..]));
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_not_read_for_ever() {
        let mut endless =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", ANSWER_BYTES_MAX + 1).into_bytes();
        endless.resize(endless.len() + ANSWER_BYTES_MAX + 1, b'x');
        assert!(matches!(told(&endless).await, Err(Unanswered::TooLarge)));
    }

    #[tokio::test]
    async fn whoever_hangs_up_has_not_answered() {
        assert!(matches!(
            told(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi").await,
            Err(Unanswered::Cut(_))
        ));
    }

    #[tokio::test]
    async fn whoever_says_nothing_is_waited_for_so_long() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/x", silent.local_addr().unwrap());
        let told = HttpClient::new(Duration::from_millis(50)).send(&asked(url)).await;
        assert!(matches!(told, Err(Unanswered::TimedOut)));
    }

    #[tokio::test]
    async fn whoever_cannot_show_a_certificate_is_told_nothing() {
        let address = answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()).await;
        let told = HttpClient::new(Duration::from_secs(5)).send(&asked(format!("https://{address}/x"))).await;
        assert!(matches!(told, Err(Unanswered::Cut(_))), "{told:?}");
    }
}
