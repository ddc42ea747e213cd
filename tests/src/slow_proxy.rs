//! A proxy before a server on this machine that holds back whatever passes, for as long as the test says.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The proxy. Connections that are open when it is dropped live on for as long as both their ends do.
pub struct SlowProxy {
    address: SocketAddr,
    delay: watch::Sender<Duration>,
    accepting: JoinHandle<()>,
}

impl SlowProxy {
    /// A proxy before this port, which holds nothing back yet.
    pub async fn before(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let delay = watch::Sender::new(Duration::ZERO);
        let accepting = tokio::spawn(accept(listener, port, delay.subscribe()));
        Ok(Self { address, delay, accepting })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Holds back what passes from now on for so long.
    pub fn delay(&self, delay: Duration) {
        self.delay.send_replace(delay);
    }
}

impl Drop for SlowProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, port: u16, delay: watch::Receiver<Duration>) {
    while let Ok((client, _)) = listener.accept().await {
        let delay = delay.clone();
        tokio::spawn(async move {
            // A server that is away is what the client is told by the end of its connection.
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            let ((from_client, to_client), (from_server, to_server)) =
                (client.into_split(), server.into_split());
            tokio::select! {
                _ = carry(from_client, to_server, delay.clone()) => {}
                _ = carry(from_server, to_client, delay) => {}
            }
        });
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    delay: watch::Receiver<Duration>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        if count == 0 {
            return Ok(());
        }
        let held_back = *delay.borrow();
        if !held_back.is_zero() {
            sleep(held_back).await;
        }
        to.write_all(&bytes[..count]).await?;
    }
}
