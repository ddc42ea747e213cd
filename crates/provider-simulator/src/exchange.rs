//! One request and its answer, or whatever comes instead of an answer.
//!
//! Each request has a connection of its own, as a provider's do that come from many machines.

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::target::Target;

/// Bytes of an answer that are read at most: the longest is a payment with its deliveries.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What a request is made of, besides where it goes.
#[derive(Clone, Debug)]
pub struct Sending<'a> {
    /// `GET` or `POST`.
    pub method: http::Method,
    /// The path, with its query.
    pub path: &'a str,
    /// Name and value, without `Host` and `Content-Length`.
    pub headers: Vec<(&'a str, &'a str)>,
    /// The body.
    pub body: &'a [u8],
}

/// What was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body, whole.
    pub body: Vec<u8>,
}

/// What came instead of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// No connection was to be had.
    NotConnected,
    /// The connection ended before the answer did.
    Closed,
    /// The answer did not come in time.
    TimedOut,
    /// The request cannot be written down as HTTP.
    Unsendable,
    /// The answer was there and was left unread.
    Unread,
    /// The sender hung up as soon as the request was out.
    HungUp,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotConnected => "not connected",
            Self::Closed => "connection closed",
            Self::TimedOut => "no answer in time",
            Self::Unsendable => "cannot be sent",
            Self::Unread => "answer lost",
            Self::HungUp => "hung up",
        })
    }
}

/// Sends a request and reads its answer, which must have come `within` that time.
///
/// # Errors
///
/// Nobody knows then whether the request had its effect.
pub async fn ask(target: &Target, sending: &Sending<'_>, within: Duration) -> Result<Answer, Fault> {
    timeout(within, exchange(target, sending)).await.unwrap_or(Err(Fault::TimedOut))
}

async fn exchange(target: &Target, sending: &Sending<'_>) -> Result<Answer, Fault> {
    let stream = connect(target).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| Fault::Closed)?;
    let request = request(target, sending)?.map(|body| Full::new(Bytes::copy_from_slice(body)));
    let answer = async {
        let (head, body) = sender.send_request(request).await.map_err(|_| Fault::Closed)?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(|_| Fault::Closed)?;
        Ok(Answer { status: head.status.as_u16(), body: body.to_bytes().into() })
    };
    tokio::pin!(answer);
    // The connection must be driven for its answer to come. It may end first, with the answer already handed over.
    tokio::select! {
        answer = &mut answer => answer,
        _ = connection => answer.await,
    }
}

/// Sends a request, waits `within` that time until an answer has come, and closes the connection with it unread: the
/// server has done its part, and the sender never learns of it.
pub async fn lose_answer(target: &Target, sending: &Sending<'_>, within: Duration) -> Fault {
    let lost = async {
        let stream = write(target, sending).await?;
        stream.readable().await.map_err(|_| Fault::Closed)?;
        // An end of the connection is readable too, and is no answer.
        match stream.try_read(&mut [0]) {
            Ok(0) | Err(_) => Err(Fault::Closed),
            Ok(_) => Ok(()),
        }
    };
    match timeout(within, lost).await {
        Ok(Ok(())) => Fault::Unread,
        Ok(Err(fault)) => fault,
        Err(_) => Fault::TimedOut,
    }
}

/// Sends a request and hangs up at once, while the server may still be at work on it.
pub async fn hang_up(target: &Target, sending: &Sending<'_>) -> Fault {
    match write(target, sending).await {
        Ok(_) => Fault::HungUp,
        Err(fault) => fault,
    }
}

async fn connect(target: &Target) -> Result<TcpStream, Fault> {
    let stream = TcpStream::connect(target.endpoint()).await.map_err(|_| Fault::NotConnected)?;
    stream.set_nodelay(true).map_err(|_| Fault::NotConnected)?;
    Ok(stream)
}

async fn write(target: &Target, sending: &Sending<'_>) -> Result<TcpStream, Fault> {
    let request = request(target, sending)?;
    let mut bytes = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri()).into_bytes();
    for (name, value) in request.headers() {
        bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    bytes.extend(b"\r\n");
    bytes.extend(*request.body());
    let mut stream = connect(target).await?;
    let written: io::Result<()> = stream.write_all(&bytes).await;
    written.map_err(|_| Fault::Closed)?;
    Ok(stream)
}

fn request<'a>(target: &Target, sending: &Sending<'a>) -> Result<Request<&'a [u8]>, Fault> {
    let mut request = Request::builder()
        .method(&sending.method)
        .uri(sending.path)
        .header(HOST, target.authority())
        .header(CONNECTION, "close")
        .header(CONTENT_LENGTH, sending.body.len());
    for (name, value) in &sending.headers {
        request = request.header(*name, *value);
    }
    request.body(sending.body).map_err(|_| Fault::Unsendable)
}
