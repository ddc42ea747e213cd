//! Asks a socket whether PostgreSQL serves there, as a client would: with a start-up packet.
//!
//! Neither a `postmaster.pid` nor a live process id proves that: the file outlives a killed server, the id may be a
//! zombie's or another program's, and a server in recovery has both. Protocol: PostgreSQL documentation, "Message Flow".

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::configuration::USER;

/// A server that has not said a word by then is looked at again later.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longer than any message of a start-up; more is not PostgreSQL.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// `cannot_connect_now`: starting up, in recovery, or shutting down.
const CANNOT_CONNECT_NOW: &str = "57P03";

/// `too_many_connections`: as alive as can be.
const TOO_MANY_CONNECTIONS: &str = "53300";

/// What the socket answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A session was opened, or could have been but for their number.
    Ready,
    /// PostgreSQL is there, and is starting or stopping.
    NotNow,
    /// Nobody answers.
    Silent,
    /// PostgreSQL is there and does not want us.
    Refused(String),
}

/// Opens a session as [`USER`] on the database `postgres`, and leaves.
pub(crate) async fn probe(socket: &Path) -> Answer {
    match timeout(PATIENCE, converse(socket)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) | Err(_) => Answer::Silent,
    }
}

async fn converse(socket: &Path) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(&startup_packet()).await?;
    loop {
        let kind = stream.read_u8().await?;
        let length = usize::try_from(stream.read_i32().await?).unwrap_or(0);
        if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length - 4];
        stream.read_exact(&mut body).await?;
        match kind {
            b'Z' => {
                // Terminate, so that the server's log does not call this a lost connection.
                stream.write_all(&[b'X', 0, 0, 0, 4]).await?;
                return Ok(Answer::Ready);
            }
            b'E' => return Ok(judge(&body)),
            b'R' if body != [0; 4] => return Ok(Answer::Refused("it asks for a password".to_owned())),
            _ => {}
        }
    }
}

fn startup_packet() -> Vec<u8> {
    const PROTOCOL_3_0: i32 = 196_608;
    let parameters = format!("user\0{USER}\0database\0postgres\0\0");
    let length = i32::try_from(8 + parameters.len()).expect("a packet of a few dozen bytes");
    [&length.to_be_bytes(), &PROTOCOL_3_0.to_be_bytes(), parameters.as_bytes()].concat()
}

/// An ErrorResponse: fields of one letter and a text, each ended by a zero byte.
fn judge(body: &[u8]) -> Answer {
    let field = |letter| {
        let of_letter = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&letter));
        of_letter.map(|field| String::from_utf8_lossy(&field[1..]).into_owned()).unwrap_or_default()
    };
    match field(b'C').as_str() {
        CANNOT_CONNECT_NOW => Answer::NotNow,
        TOO_MANY_CONNECTIONS => Answer::Ready,
        sqlstate => Answer::Refused(format!("{} (SQLSTATE {sqlstate})", field(b'M'))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_judged_by_its_sqlstate() {
        let error = |sqlstate| format!("SFATAL\0VFATAL\0C{sqlstate}\0Mno\0\0").into_bytes();
        assert_eq!(judge(&error("57P03")), Answer::NotNow);
        assert_eq!(judge(&error("53300")), Answer::Ready);
        assert_eq!(judge(&error("28000")), Answer::Refused("no (SQLSTATE 28000)".to_owned()));
    }

    #[tokio::test]
    async fn a_socket_that_is_not_there_is_silent() {
        assert_eq!(probe(Path::new("/no/such/socket")).await, Answer::Silent);
    }
}
