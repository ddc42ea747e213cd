//! Payment providers that can be asked: the simulator's office, one that answers the same to everybody, and one that answers
//! nobody.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use provider_simulator::books::Books;
use provider_simulator::delivery::Plan;
use provider_simulator::event::Payment;
use provider_simulator::journal::Journal;
use provider_simulator::office;
use provider_simulator::scenario::{Action, Scenario};
use provider_simulator::trouble::{Chances, Kind, Trouble};
use provider_simulator::{Amount, Provider, Style, api};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// All four providers at an address of their own. They call nobody: whoever wants to know must ask.
#[derive(Debug)]
pub struct Office {
    /// Where it can be asked.
    pub url: String,
    office: Arc<office::Office>,
    serving: JoinHandle<()>,
}

impl Office {
    /// An office with empty books.
    pub async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let kept = (Journal::forgetful(), Books::default());
        // Later than anybody waits who is in a hurry.
        let trouble = Trouble::new(Chances::default(), Duration::from_secs(60), 1);
        let office = Arc::new(office::Office::new(kept, trouble, None, Plan::default(), Box::new(|_| {})));
        let serving = api::serve(listener, office.clone(), std::future::pending());
        let serving = tokio::spawn(async move {
            // It ends with the test, and what it has to say by then is nobody's concern.
            let _ = serving.await;
        });
        Ok(Self { url, office, serving })
    }

    /// Lets something happen to a payment of so much CNY, and answers what the provider knows it by.
    pub async fn happen(
        &self,
        provider: Provider,
        payment_no: &str,
        amount: &str,
        action: Action,
    ) -> anyhow::Result<Payment> {
        let scenario = Scenario {
            action,
            provider,
            payment_no: payment_no.to_owned(),
            amount: Amount::parse(amount).ok().context("an amount")?,
            currency: "CNY".to_owned(),
            nth: 1,
            overtaken: false,
            style: Style::Usual,
        };
        self.office.happen(&scenario, &Plan::default(), true).await?;
        Ok(scenario.payment())
    }

    /// Lets it go wrong with the next `times` requests that name the payment.
    pub fn trouble(&self, payment_no: &str, kind: Kind, times: u32) {
        self.office.trouble.order(payment_no, kind, times);
    }

    /// The office itself.
    pub fn office(&self) -> &Arc<office::Office> {
        &self.office
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Somebody at a provider's address who answers the same to every request, and remembers what was asked.
#[derive(Debug)]
pub struct Parrot {
    /// Where it can be asked.
    pub url: String,
    heard: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Parrot {
    /// One that answers with this status line, such as `200 OK`, and this body.
    pub async fn saying(status: &str, body: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let remembered = heard.clone();
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, remembered) = (answer.clone(), remembered.clone());
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                        let mut bytes = [0; 4096];
                        match stream.read(&mut bytes).await {
                            Ok(1..) => request.extend_from_slice(&bytes),
                            _ => return,
                        }
                    }
                    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
                    let line = String::from_utf8_lossy(line).into_owned();
                    remembered.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                    // Whoever asked may have left.
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Ok(Self { url, heard, serving })
    }

    /// The first lines of the requests so far.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Parrot {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Somebody at a provider's address who takes every connection, and says nothing.
#[derive(Debug)]
pub struct Mute {
    /// Where nobody is answered.
    pub url: String,
    callers: watch::Receiver<usize>,
    serving: JoinHandle<()>,
}

impl Mute {
    /// Opens it.
    pub async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (count, callers) = watch::channel(0);
        let serving = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                held.push(stream);
                count.send_replace(held.len());
            }
        });
        Ok(Self { url, callers, serving })
    }

    /// Waits until so many have called.
    pub async fn has_been_called(&self, times: usize) -> anyhow::Result<()> {
        self.callers.clone().wait_for(|callers| *callers >= times).await?;
        Ok(())
    }
}

impl Drop for Mute {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
