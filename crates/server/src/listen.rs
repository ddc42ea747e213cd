//! The listener: TCP connections, HTTP/1.1, and a limit on everything that a stranger could hold on to. What is said to
//! bytes that are no request: [`unparsed`]. How many connections there can be: [`open_files`].

pub mod open_files;
pub mod unparsed;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tower::ServiceExt;

use self::unparsed::Conversation;

/// Connections that the kernel has accepted and we have not.
const BACKLOG: u32 = 1_024;

/// After an accept that failed for want of file descriptors: the next try at once would fail for the same want.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Between two lines that say so, while it goes on failing.
const ACCEPT_TOLD_EVERY: Duration = Duration::from_secs(5);

/// What connections may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long the headers of a request may take to arrive, and a connection may idle before it is closed. Without
    /// it, a client that sends a byte now and then keeps a connection for ever ("slow loris").
    pub header_read_timeout: Duration,
    /// The headers of a request together, in bytes; more is answered 431.
    pub header_bytes_max: usize,
    /// The number of headers of a request; more is answered 431.
    pub headers_max: usize,
    /// Connections at a time, or fewer where the process may not open as many files. One more waits in the kernel until
    /// another ends.
    pub connections_max: usize,
}

/// An address that is ours: nobody else can listen there, and nobody is served yet.
#[derive(Debug)]
pub struct Reserved {
    socket: TcpSocket,
    address: SocketAddr,
}

/// Takes an address without listening yet, so that a taken one is known before a database is started, and a client
/// that comes too early is refused at once rather than left to wait.
///
/// `address` is `HOST:PORT`; the host may be a name, and port 0 asks the system for a free one.
pub async fn reserve(address: &str) -> anyhow::Result<Reserved> {
    if !address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
        bail!("cannot listen on {address:?}: it is not HOST:PORT, such as 127.0.0.1:8080 or localhost:0");
    }
    let candidates = lookup_host(address)
        .await
        .with_context(|| format!("cannot listen on {address}: the name is not known"))?;
    let mut last = None;
    for candidate in candidates {
        match bind(candidate) {
            Ok(reserved) => return Ok(reserved),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(cannot_listen(address, &error)),
        None => bail!("cannot listen on {address}: the name has no address"),
    }
}

fn bind(address: SocketAddr) -> io::Result<Reserved> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Else a restart would have to wait until the connections of the run before are forgotten (TIME_WAIT). Another
    // listener is refused all the same.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let address = socket.local_addr()?;
    Ok(Reserved { socket, address })
}

fn cannot_listen(address: impl fmt::Display, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => anyhow!(
            "cannot listen on {address}: another program listens there; stop it, or choose another port with --listen (port 0 picks a free one)"
        ),
        io::ErrorKind::PermissionDenied => {
            anyhow!("cannot listen on {address}: this user may not; choose a port above 1023 with --listen")
        }
        io::ErrorKind::AddrNotAvailable => {
            anyhow!(
                "cannot listen on {address}: this machine has no such address; choose another with --listen"
            )
        }
        _ => anyhow!("cannot listen on {address}: {error}"),
    }
}

impl Reserved {
    /// The address, its port being a real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether only this machine can reach it.
    pub fn is_loopback(&self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }

    /// Begins to accept connections, and to answer their requests with `router`.
    pub fn listen(self, router: Router, limits: &Limits) -> anyhow::Result<Listening> {
        let address = self.address;
        let listener = self.socket.listen(BACKLOG).map_err(|error| cannot_listen(address, &error))?;
        let (finish, cut, connections) =
            (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
        let accepting = Accepting {
            listener,
            router,
            http: http_settings(limits),
            free: Arc::new(Semaphore::new(open_files::connections_possible(limits.connections_max))),
            connections: connections.clone(),
            finish: finish.clone(),
            cut: cut.clone(),
        };
        let accepting = AbortOnDropHandle::new(tokio::spawn(accepting.run()));
        Ok(Listening { address, accepting, connections, finish, cut })
    }
}

fn http_settings(limits: &Limits) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_read_timeout)
        .max_headers(limits.headers_max)
        .max_header_size(limits.header_bytes_max)
        // Room for the headers and the first piece of the body.
        .max_buf_size(limits.header_bytes_max.next_multiple_of(8 * 1024) * 2)
        .keep_alive(true);
    http
}

/// The task that accepts.
struct Accepting {
    listener: TcpListener,
    router: Router,
    http: http1::Builder,
    /// A permit for each connection that there may be.
    free: Arc<Semaphore>,
    connections: TaskTracker,
    /// No more connections, and no more requests on those that there are.
    finish: CancellationToken,
    /// Ends every connection at once.
    cut: CancellationToken,
}

impl Accepting {
    async fn run(self) {
        let mut told_at = None;
        while let Some((stream, peer, permit)) = self.next(&mut told_at).await {
            let serving = self.serve(stream, peer);
            let cut = self.cut.clone();
            self.connections.spawn(async move {
                tokio::select! {
                    () = serving => {}
                    () = cut.cancelled() => {}
                }
                drop(permit);
            });
        }
    }

    /// The next connection; `None` when there shall be no more. `told_at`: when it was last logged that one failed.
    async fn next(
        &self,
        told_at: &mut Option<Instant>,
    ) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let accept = async {
            let permit = Arc::clone(&self.free).acquire_owned().await.ok()?;
            loop {
                match self.listener.accept().await {
                    Ok((stream, peer)) => return Some((stream, peer, permit)),
                    Err(error) if the_client_left(&error) => {}
                    Err(error) => {
                        if told_at.is_none_or(|at| at.elapsed() >= ACCEPT_TOLD_EVERY) {
                            *told_at = Some(Instant::now());
                            tracing::warn!(%error, "cannot accept a connection");
                        }
                        sleep(ACCEPT_AGAIN_AFTER).await;
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = self.finish.cancelled() => None,
            accepted = accept => accepted,
        }
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr) -> impl Future<Output = ()> + Send + use<> {
        // An answer is one small packet; waiting for more to send with it (Nagle) would cost up to 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "the connection keeps Nagle's algorithm");
        }
        let router = self.router.clone();
        let service = tower::service_fn(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            router.clone().oneshot(request.map(Body::new))
        });
        let connection = self
            .http
            .serve_connection(TokioIo::new(Conversation::new(stream)), TowerToHyperService::new(service));
        let finish = self.finish.clone();
        async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = finish.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            // A broken connection is the client's affair: what it asked for happens or not without it.
            if let Err(error) = ended {
                tracing::debug!(%peer, %error, "a connection ended early");
            }
        }
    }
}

fn the_client_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset)
}

/// A listener at work. Dropped, it accepts no more, and the connections that there are live on.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    accepting: AbortOnDropHandle<()>,
    connections: TaskTracker,
    finish: CancellationToken,
    cut: CancellationToken,
}

impl Listening {
    /// Where requests are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting: who comes from now on is refused by the kernel. A connection that idles is closed; one with a
    /// request gets its answer and is closed then.
    pub async fn stop_accepting(self) -> Finishing {
        self.finish.cancel();
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the task that accepts connections has failed");
        }
        self.connections.close();
        Finishing { connections: self.connections, cut: self.cut }
    }
}

/// Connections that finish what they are at.
#[derive(Debug)]
pub struct Finishing {
    connections: TaskTracker,
    cut: CancellationToken,
}

impl Finishing {
    /// Waits for the connections to end; `false` if some have not by then.
    pub async fn finished_by(&self, deadline: Instant) -> bool {
        timeout_at(deadline, self.connections.wait()).await.is_ok()
    }

    /// Ends the connections that are left, and answers how many they were.
    pub async fn cut(self) -> usize {
        let left = self.connections.len();
        self.cut.cancel();
        self.connections.wait().await;
        left
    }
}

#[cfg(test)]
mod tests;
