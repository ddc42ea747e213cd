//! The demo's providers: all four, simulated beside the service, so that a payment of the demo can be paid, refunded and
//! asked about without leaving the machine.
//!
//! They sign with keys that everybody knows, so they are there for a loopback listener only. Their books are kept beside
//! the demo's own database, so that a payment of yesterday can be refunded today; of a demo in somebody else's database
//! they are in memory.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use provider_simulator::books::Books;
use provider_simulator::delivery::Plan;
use provider_simulator::journal::Journal;
use provider_simulator::office::Office;
use provider_simulator::report::Line;
use provider_simulator::trouble::{Chances, Trouble};
use provider_simulator::{api, target::Target};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Where the demo's providers are, and `onefold simulate provider`, unless told otherwise.
pub const PORT_DEFAULT: u16 = 8090;

/// The file of their books, beside the database's directory.
const BOOKS: &str = "providers.jsonl";

/// An answer is never late on purpose here; a trouble that is asked for by `POST /control/trouble` may be.
const SLOW: Duration = Duration::from_secs(3);

/// The demo's providers, at an address that is theirs already.
#[derive(Debug)]
pub struct DemoProviders {
    address: SocketAddr,
    /// Nothing where somebody else plays them: another demo, or `onefold simulate provider`.
    listener: Option<TcpListener>,
}

impl DemoProviders {
    /// Takes their address: a free port where the service `picks_port` too, so that any number of demos can run; else the
    /// one that `onefold simulate provider` has. If that is taken, whoever is there is the one to be asked.
    ///
    /// # Errors
    ///
    /// If the system gives no port.
    pub async fn reserve(picks_port: bool) -> io::Result<Self> {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, if picks_port { 0 } else { PORT_DEFAULT }));
        match TcpListener::bind(wanted).await {
            Ok(listener) => Ok(Self { address: listener.local_addr()?, listener: Some(listener) }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Ok(Self { address: wanted, listener: None })
            }
            Err(error) => Err(error),
        }
    }

    /// Where they can be asked.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Plays them until `stop`, for a service at `service`, which they call back, with books in this directory, if any.
    pub async fn play(self, service: SocketAddr, directory: Option<PathBuf>, stop: CancellationToken) {
        let url = self.url();
        let Some(listener) = self.listener else {
            tracing::info!("somebody plays the demo's providers at {url} already");
            return;
        };
        let kept = directory.map_or_else(forgetful, |directory| kept_in(&directory.join(BOOKS)));
        let trouble = Trouble::new(Chances::default(), SLOW, 1);
        let target: Target = format!("http://{service}").parse().expect("an address makes a URL");
        let office = Office::new(kept, trouble, Some(target), Plan::default(), Box::new(log));
        tracing::info!("the demo's providers are played at {url}");
        if let Err(error) = api::serve(listener, Arc::new(office), stop.cancelled()).await {
            tracing::warn!(%error, "the demo's providers are gone");
        }
    }
}

/// The books in a file. Whoever cannot have them, since another demo does, begins with empty ones.
fn kept_in(path: &Path) -> (Journal, Books) {
    Journal::open(path).unwrap_or_else(|error| {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "the demo's providers remember nothing of before, and will not remember"
        );
        forgetful()
    })
}

fn forgetful() -> (Journal, Books) {
    (Journal::forgetful(), Books::default())
}

fn log(line: Line) {
    tracing::info!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::simulate::provider::LISTEN_DEFAULT;

    #[tokio::test]
    async fn a_port_that_is_taken_is_somebody_elses_who_is_asked_then() {
        let free = DemoProviders::reserve(true).await.unwrap();
        assert!(free.listener.is_some());
        let another = DemoProviders::reserve(true).await.unwrap();
        assert_ne!(free.url(), another.url());
        // Whether or not another demo runs on this machine: of two that want the one port, one has it.
        let (one, other) = (DemoProviders::reserve(false).await, DemoProviders::reserve(false).await);
        assert!(other.unwrap().listener.is_none());
        assert_eq!(one.unwrap().url(), format!("http://{LISTEN_DEFAULT}"));
    }
}
