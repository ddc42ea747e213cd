//! Requests byte by byte, for what no HTTP library would send: bytes that are no text, headers twice, half a request.

use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::Exchange;

/// How long an answer may take. It never does; a test that has hung shall say so.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Opens a connection to the server of that URL.
pub async fn connect(url: &str) -> anyhow::Result<TcpStream> {
    let address = url.strip_prefix("http://").context("a URL of a test server")?;
    let stream = TcpStream::connect(address).await.context("no connection")?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A `POST` of the demo client, with these lines among its headers; the server closes the connection after its answer.
pub fn post(path: &str, lines: &[&[u8]], body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer demo-key\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    )
    .into_bytes();
    for line in lines {
        request.extend_from_slice(line);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(body);
    request
}

/// Sends bytes on a connection of their own, and reads the answer to the connection's end. The request must ask for
/// that end, unless the server closes by itself.
pub async fn exchange(url: &str, request: &[u8]) -> anyhow::Result<Exchange> {
    let mut stream = connect(url).await?;
    stream.write_all(request).await?;
    read_to_end(&mut stream).await
}

/// Reads the one answer that is left on a connection, which the server then closes.
pub async fn read_to_end(stream: &mut TcpStream) -> anyhow::Result<Exchange> {
    let mut bytes = Vec::new();
    timeout(ANSWER_WITHIN, stream.read_to_end(&mut bytes)).await.context("the answer does not end")??;
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> anyhow::Result<Exchange> {
    let end =
        bytes.windows(4).position(|window| window == b"\r\n\r\n").context("an answer without headers")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status =
        lines.next().and_then(|line| line.split(' ').nth(1)).context("an answer without a status")?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let exchange = Exchange { status: status.parse()?, headers, bytes: bytes[end + 4..].to_vec() };
    ensure!(exchange.header("transfer-encoding").is_none(), "the tests read no chunks");
    Ok(exchange)
}
