//! A connection that is kept alive, and made anew when it is lost.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::answer::{self, Answer, Malformed};

/// How long an answer is waited for. Longer than any time limit of the server's own.
const ANSWER_WITHIN: Duration = Duration::from_secs(40);

/// Bytes that a buffer begins with: an order's answer fits.
const BUFFER_BYTES: usize = 2048;

/// One connection, for one request at a time.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

impl Connection {
    /// A connection that is made with its first request.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, stream: None, buffer: Vec::with_capacity(BUFFER_BYTES) }
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    ///
    /// Nobody knows then whether the request had its effect. The connection is given up, and the next request makes another.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Answer, Fault> {
        // Taken out, so that it is gone when this future is dropped half-way.
        let stream = self.stream.take();
        let exchanged =
            timeout(ANSWER_WITHIN, exchange(self.address, stream, request, &mut self.buffer)).await;
        let (stream, answer) = exchanged.map_err(|_| Fault::TimedOut)??;
        self.stream = answer.keeps_alive.then_some(stream);
        Ok(answer)
    }

    /// The body of the last answer, which must be that of this connection.
    pub fn body(&self, answer: &Answer) -> &[u8] {
        &self.buffer[answer.body_begin..answer.end]
    }
}

async fn exchange(
    address: SocketAddr,
    stream: Option<TcpStream>,
    request: &[u8],
    buffer: &mut Vec<u8>,
) -> Result<(TcpStream, Answer), Fault> {
    let mut stream = match stream {
        Some(stream) => stream,
        None => connect(address).await.map_err(|_| Fault::NotConnected)?,
    };
    stream.write_all(request).await.map_err(lost)?;
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await.map_err(lost)? == 0 {
            return Err(Fault::Closed);
        }
        if let Some(answer) = answer::read(buffer).map_err(Fault::Malformed)? {
            // One request was sent. Whatever follows its answer belongs to nobody.
            if buffer.len() > answer.end {
                return Err(Fault::Malformed(Malformed("bytes after the answer")));
            }
            return Ok((stream, answer));
        }
    }
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn lost(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
            Fault::Closed
        }
        _ => Fault::Failed,
    }
}

/// What happened to a request instead of an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// No connection was to be had.
    NotConnected,
    /// The server closed the connection, or something between did.
    Closed,
    /// The operating system reports something else.
    Failed,
    /// The answer did not come in time.
    TimedOut,
    /// What came was not an answer.
    Malformed(Malformed),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected => formatter.write_str("not connected"),
            Self::Closed => formatter.write_str("closed"),
            Self::Failed => formatter.write_str("failed"),
            Self::TimedOut => formatter.write_str("timed out"),
            Self::Malformed(Malformed(what)) => write!(formatter, "malformed: {what}"),
        }
    }
}
