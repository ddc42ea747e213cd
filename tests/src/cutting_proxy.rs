//! A proxy between a desk and its PostgreSQL that cuts a connection exactly while a commit is in flight.
//!
//! It understands as much of PostgreSQL's protocol as that takes (chapter "Frontend/Backend Protocol", message formats):
//! the first message of a connection is a length and that many bytes; each later one has a letter before its length. A
//! lane commits by a simple query, `Q`, whose text is `COMMIT`; PostgreSQL has answered a query when it says `Z`.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a thing that is waited for may take. It never does; a test that has hung shall say so.
const WITHIN: Duration = Duration::from_secs(30);

/// A message longer than this is none: the proxy has lost count.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// What a lane calls itself when it connects. Others commit too: those who keep house.
const LANE: &[u8] = b"onefold desk\0";

/// Where a connection is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// The server never receives the commit, and sees its connection end.
    BeforeTheServer,
    /// The server never receives the commit, and does not learn that its client is gone: its transaction lives on, until
    /// the test [delivers](CuttingProxy::deliver) the commit or [lets it go](CuttingProxy::let_go).
    Withheld,
    /// The commit is sent, and nobody waits for what the server makes of it.
    BehindTheCommit,
    /// The server has committed and says so; nobody hears it.
    BeforeTheAnswer,
}

/// The proxy. Connections that are open when it is dropped are cut.
pub struct CuttingProxy {
    directory: TempDir,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

struct State {
    server: PathBuf,
    /// The order for the next commit: where to cut, and whether the database is away from then on.
    order: Mutex<Option<(Cut, bool)>>,
    away: watch::Sender<bool>,
    seen: watch::Sender<Seen>,
    withheld: watch::Sender<Fate>,
}

/// What the proxy has seen since the last order.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    cuts: u32,
    refused: u32,
    rollbacks: u32,
}

/// What becomes of a commit that is withheld.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Open,
    Delivered,
    LetGo,
}

impl CuttingProxy {
    /// A proxy before the PostgreSQL of these options, which must name a directory of a unix socket, as those of a
    /// [cluster of the tests](crate::cluster) do.
    pub fn before(server: &PgConnectOptions) -> io::Result<Self> {
        let socket = server.get_socket().ok_or_else(|| io::Error::other("the server is not on a socket"))?;
        let name = format!(".s.PGSQL.{}", server.get_port());
        let directory = tempfile::Builder::new()
            .prefix("onefold-proxy-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let listener = UnixListener::bind(directory.path().join(&name))?;
        let state = Arc::new(State {
            server: socket.join(&name),
            order: Mutex::new(None),
            away: watch::Sender::new(false),
            seen: watch::Sender::new(Seen::default()),
            withheld: watch::Sender::new(Fate::Open),
        });
        let accepting = tokio::spawn(accept(listener, state.clone()));
        Ok(Self { directory, state, accepting })
    }

    /// The options of the server, by way of the proxy.
    pub fn options(&self, server: &PgConnectOptions) -> PgConnectOptions {
        server.clone().socket(self.directory.path())
    }

    /// Cuts at the next commit; with `and_away` the database is away from that moment: no other connection lives on, and
    /// none is to be had.
    pub fn cut_at_next_commit(&self, cut: Cut, and_away: bool) {
        self.state.seen.send_replace(Seen::default());
        self.state.withheld.send_replace(Fate::Open);
        *self.state.order() = Some((cut, and_away));
    }

    /// Waits until the commit has come and been cut.
    pub async fn cut(&self) {
        self.wait_for("a commit", |seen| seen.cuts > 0).await;
    }

    /// Waits until so many attempts to connect were refused.
    pub async fn refused(&self, times: u32) {
        self.wait_for("an attempt to connect", |seen| seen.refused >= times).await;
    }

    /// Waits until a transaction was rolled back so many times: whoever asks what became of a commit, and is not given
    /// its names, does that.
    pub async fn rolled_back(&self, times: u32) {
        self.wait_for("a rollback", |seen| seen.rollbacks >= times).await;
    }

    /// The database is back.
    pub fn come_back(&self) {
        self.state.away.send_replace(false);
    }

    /// The server receives the commit that is withheld.
    pub fn deliver(&self) {
        self.state.withheld.send_replace(Fate::Delivered);
    }

    /// The server learns that the client of the commit that is withheld is gone.
    pub fn let_go(&self) {
        self.state.withheld.send_replace(Fate::LetGo);
    }

    async fn wait_for(&self, what: &str, condition: impl FnMut(&Seen) -> bool) {
        let mut seen = self.state.seen.subscribe();
        timeout(WITHIN, seen.wait_for(condition))
            .await
            .unwrap_or_else(|_| panic!("the proxy has waited in vain for {what}"))
            .expect("the proxy is here");
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.state.away.send_replace(true);
    }
}

impl State {
    fn order(&self) -> MutexGuard<'_, Option<(Cut, bool)>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to do with this message: pass it on, or cut here.
    fn judge(&self, message: &Message) -> Option<Cut> {
        if message.is_query("ROLLBACK") {
            self.seen.send_modify(|seen| seen.rollbacks += 1);
        }
        let (cut, and_away) = message.is_query("COMMIT").then(|| self.order().take()).flatten()?;
        if and_away {
            self.away.send_replace(true);
        }
        Some(cut)
    }
}

async fn accept(listener: UnixListener, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        if *state.away.borrow() {
            state.seen.send_modify(|seen| seen.refused += 1);
        } else {
            let state = state.clone();
            // A connection that breaks is what both ends are told, and nobody else.
            tokio::spawn(async move { carry(client, &state).await.unwrap_or_default() });
        }
    }
}

/// Carries a connection until one of its ends closes, the database goes away, or its commit is cut.
async fn carry(client: UnixStream, state: &State) -> io::Result<()> {
    let server = UnixStream::connect(&state.server).await?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let mut away = state.away.subscribe();
    let (cut, commit) = {
        let answers = tokio::io::copy(&mut from_server, &mut to_client);
        let questions = ask(&mut from_client, &mut to_server, state);
        tokio::select! {
            // Questions first: the one that says where to cut also says that the database is away.
            biased;
            cut = questions => cut?,
            _ = answers => return Ok(()),
            _ = away.wait_for(|away| *away) => return Ok(()),
        }
    };
    let noted = || state.seen.send_modify(|seen| seen.cuts += 1);
    match cut {
        Cut::BeforeTheServer => {
            drop((from_server, to_server));
            noted();
            drop((from_client, to_client));
        }
        Cut::BehindTheCommit => {
            to_server.write_all(&commit.bytes).await?;
            drop((from_server, to_server));
            noted();
            drop((from_client, to_client));
        }
        Cut::BeforeTheAnswer => {
            to_server.write_all(&commit.bytes).await?;
            hear_that_it_is_committed(&mut from_server).await?;
            noted();
            drop((from_client, to_client));
        }
        Cut::Withheld => {
            let mut fate = state.withheld.subscribe();
            noted();
            drop((from_client, to_client));
            let fate = *fate.wait_for(|fate| *fate != Fate::Open).await.map_err(io::Error::other)?;
            if fate == Fate::Delivered {
                to_server.write_all(&commit.bytes).await?;
                hear_that_it_is_committed(&mut from_server).await?;
            }
        }
    }
    Ok(())
}

/// Passes messages on until one is to be cut.
async fn ask(
    from_client: &mut OwnedReadHalf,
    to_server: &mut OwnedWriteHalf,
    state: &State,
) -> io::Result<(Cut, Message)> {
    let startup = Message::read(from_client, 0).await?;
    let is_lane = startup.bytes.windows(LANE.len()).any(|part| part == LANE);
    to_server.write_all(&startup.bytes).await?;
    loop {
        let message = Message::read(from_client, 1).await?;
        match if is_lane { state.judge(&message) } else { None } {
            Some(cut) => return Ok((cut, message)),
            None => to_server.write_all(&message.bytes).await?,
        }
    }
}

/// Reads until the server has answered, which must be that it has committed.
async fn hear_that_it_is_committed(from_server: &mut OwnedReadHalf) -> io::Result<()> {
    let mut committed = false;
    loop {
        let message = Message::read(from_server, 1).await?;
        committed |= message.bytes[0] == b'C' && message.text() == b"COMMIT\0";
        if message.bytes[0] == b'Z' {
            return if committed { Ok(()) } else { Err(io::Error::other("the server did not commit")) };
        }
    }
}

/// A message of the protocol, as it was sent.
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Reads one that has so many letters before its length.
    async fn read(from: &mut (impl AsyncRead + Unpin), letters: usize) -> io::Result<Self> {
        let mut bytes = vec![0; letters + 4];
        from.read_exact(&mut bytes).await?;
        let length = bytes[letters..].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if !(4..MESSAGE_BYTES_MAX).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.resize(letters + length, 0);
        from.read_exact(&mut bytes[letters + 4..]).await?;
        Ok(Self { bytes })
    }

    /// What stands behind the length of a message that has a letter.
    fn text(&self) -> &[u8] {
        &self.bytes[5..]
    }

    fn is_query(&self, sql: &str) -> bool {
        self.bytes[0] == b'Q' && self.text().strip_suffix(b"\0") == Some(sql.as_bytes())
    }
}
