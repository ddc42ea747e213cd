//! A client's endpoint: it keeps what it is sent, and answers as the test says.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The answer of an endpoint that is well.
const WELL: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

/// What was sent to the endpoint.
#[derive(Clone, Debug)]
pub struct Received {
    pub head: String,
    pub body: Vec<u8>,
}

impl Received {
    /// The header of that name, in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(header, _)| header.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim())
    }

    /// Whether some of its signatures is that of this secret, by the specification and with another library than the
    /// service's.
    pub fn is_signed_with(&self, secret: &str) -> anyhow::Result<bool> {
        let secret = STANDARD.decode(secret.strip_prefix("whsec_").context("a secret")?)?;
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
        let id = self.header("webhook-id").context("an id")?;
        let timestamp = self.header("webhook-timestamp").context("a timestamp")?;
        let mut signed = format!("{id}.{timestamp}.").into_bytes();
        signed.extend_from_slice(&self.body);
        let tag = STANDARD.encode(ring::hmac::sign(&key, &signed).as_ref());
        let signatures = self.header("webhook-signature").context("a signature")?;
        Ok(signatures.split(' ').any(|signature| signature == format!("v1,{tag}")))
    }
}

#[derive(Default)]
struct Book {
    received: Vec<Received>,
    answers: VecDeque<String>,
}

/// An endpoint on this machine.
pub struct Receiver {
    address: SocketAddr,
    book: Arc<Mutex<Book>>,
    accepting: JoinHandle<()>,
}

impl Receiver {
    /// Opens one that gives these answers, one after the other, and is well from then on.
    pub async fn open(answers: &[&str]) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let answers = answers.iter().map(|text| (*text).to_owned()).collect();
        let book = Arc::new(Mutex::new(Book { received: Vec::new(), answers }));
        let kept = book.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, kept.clone()));
            }
        });
        Ok(Self { address, book, accepting })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/hooks", self.address)
    }

    /// What it has been sent so far.
    pub fn received(&self) -> Vec<Received> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner).received.clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut stream: TcpStream, book: Arc<Mutex<Book>>) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    let received = loop {
        anyhow::ensure!(stream.read_buf(&mut bytes).await? > 0, "the connection has ended");
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut received = Received { head, body: bytes[end + 4..].to_vec() };
        let length: usize = received.header("content-length").context("a length")?.parse()?;
        if received.body.len() >= length {
            received.body.truncate(length);
            break received;
        }
    };
    let answer = {
        let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
        book.received.push(received);
        book.answers.pop_front().unwrap_or_else(|| WELL.to_owned())
    };
    stream.write_all(answer.as_bytes()).await?;
    Ok(())
}
