//! `onefold simulate flood`: as many callbacks as the server answers, about payments that wait; or forged ones.
//!
//! What is measured is the server's: orders are placed and messages signed before the clock runs. Each connection sends its
//! next callback when it has the answer to the last. Afterwards every payment is looked up, for a callback that was
//! acknowledged and has settled nothing would be the worst of answers.

use std::cell::Cell;
use std::fmt;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use futures::future::join_all;
use load_generator::Target;
use load_generator::connection::Connection;
use provider_simulator::clock::now;
use provider_simulator::event::{Event, Payment, What};
use provider_simulator::{Amount, Message, Provider, Sender, Style};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::lookup_host;

use super::super::print_line;
use crate::demo;

/// What each payment is of.
const AMOUNT: &str = "88.80";

/// The flags of `simulate flood`.
#[derive(Clone, Debug, Args)]
pub struct FloodFlags {
    /// Who is played: stripe, alipay, wechatpay or standard
    #[arg(long, value_name = "PROVIDER")]
    provider: Provider,
    /// The server, with the demo's endpoints; `callbacks_per_second` must let them pass
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    server: Target,
    /// The API key of the demo's client
    #[arg(long, env = "ONEFOLD_API_KEY", hide_env_values = true, value_name = "KEY", default_value = demo::API_KEY)]
    api_key: String,
    /// Payments, each told of by one callback
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    payments: u32,
    /// Connections at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    connections: u32,
    /// Every callback is changed behind its signature: none may be believed
    #[arg(long)]
    forged: bool,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// What came of a flood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct Flood {
    callbacks: usize,
    acknowledged: usize,
    settled: usize,
    per_second: u64,
    mean_us: u64,
    p50_us: u64,
    p99_us: u64,
}

impl fmt::Display for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} callbacks, {} a second: {} acknowledged, {} payments settled; mean {} µs, p50 {} µs, p99 {} µs",
            self.callbacks,
            self.per_second,
            self.acknowledged,
            self.settled,
            self.mean_us,
            self.p50_us,
            self.p99_us
        )
    }
}

/// Floods; exits with 1 if a callback that was to be believed was not, or the other way round.
///
/// # Errors
///
/// If the server cannot be asked, or does not take the orders.
pub async fn run(flags: &FloodFlags) -> anyhow::Result<ExitCode> {
    let mut addresses = lookup_host(flags.server.endpoint()).await.context("cannot find the server")?;
    let client = Client { flags, address: addresses.next().context("the server has no address")? };
    let run = format!("{:08x}", rand::random::<u32>());
    let numbers: Vec<String> = (0..flags.payments).map(|index| format!("F-{run}-{index}")).collect();
    let orders: Vec<Vec<u8>> = numbers.iter().map(|number| client.order(number)).collect();
    client.send(&orders, |status, _| status == 201).await?.all("an order was not placed")?;
    let callbacks = numbers.iter().map(|number| client.callback(number)).collect::<Result<Vec<_>, _>>()?;
    let believes = |status: u16, body: &[u8]| flags.provider.takes_for_acknowledged(status, body);
    let sent = client.send(&callbacks, believes).await?;
    let looks: Vec<Vec<u8>> = numbers.iter().map(|number| client.look(number)).collect();
    let looked = client.send(&looks, |status, body| status == 200 && is_settled(body)).await?;
    let flood = sent.told(looked.good);
    print_line(&if flags.json { serde_json::to_string(&flood)? } else { flood.to_string() })?;
    let expected = if flags.forged { 0 } else { callbacks.len() };
    let is_right = (flood.acknowledged, flood.settled) == (expected, expected);
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_settled(payment: &[u8]) -> bool {
    serde_json::from_slice::<Value>(payment).is_ok_and(|payment| payment["status"] == "settled")
}

/// Puts requests together, and sends them.
struct Client<'f> {
    flags: &'f FloodFlags,
    address: SocketAddr,
}

/// How requests were answered.
struct Sent {
    /// So many as was hoped for.
    good: usize,
    took: Duration,
    /// Of each, in microseconds, the shortest first.
    latencies_us: Vec<u64>,
}

impl Client<'_> {
    fn order(&self, number: &str) -> Vec<u8> {
        let body = json!({
            "account_id": demo::ACCOUNT_A.to_string(), "client_order_no": number, "currency": "CNY", "amount": AMOUNT,
            "payment": { "method": "provider", "provider": self.flags.provider.to_string(), "payment_no": number },
        });
        let headers = [
            ("Authorization", format!("Bearer {}", self.flags.api_key)),
            ("Idempotency-Key", number.to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ];
        self.request("POST /v1/orders", &headers, body.to_string().as_bytes())
    }

    fn look(&self, number: &str) -> Vec<u8> {
        let headers = [("Authorization", format!("Bearer {}", self.flags.api_key))];
        self.request(&format!("GET /v1/payments/{number}"), &headers, b"")
    }

    /// The callback that tells of a payment, signed now.
    fn callback(&self, number: &str) -> anyhow::Result<Vec<u8>> {
        let provider = self.flags.provider;
        let event = Event {
            id: format!("flood-{number}"),
            at: now(),
            payment: Payment {
                payment_no: number.to_owned(),
                provider_payment_id: format!("money-{number}"),
                amount: Amount::parse(AMOUNT)?,
                currency: "CNY".to_owned(),
            },
            what: What::Succeeded,
        };
        let message = Sender::demo(provider, Style::Usual)?.message(&event, now())?;
        let Message { headers, body } = if self.flags.forged { message.tampered_with() } else { message };
        Ok(self.request(&format!("POST /v1/callbacks/{provider}"), &headers, &body))
    }

    fn request(&self, line: &str, headers: &[(&str, String)], body: &[u8]) -> Vec<u8> {
        let mut request = format!("{line} HTTP/1.1\r\nHost: {}\r\n", self.flags.server.authority());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        [request.as_bytes(), body].concat()
    }

    /// Sends each request once, on as many connections as there shall be.
    async fn send(&self, requests: &[Vec<u8>], is_good: impl Fn(u16, &[u8]) -> bool) -> anyhow::Result<Sent> {
        let next = Cell::new(0);
        let began = Instant::now();
        let connections = (0..self.flags.connections).map(async |_| {
            let mut connection = Connection::new(self.address);
            let (mut good, mut latencies_us) = (0, Vec::new());
            while let Some(request) = requests.get(next.replace(next.get() + 1)) {
                let sent_at = Instant::now();
                let answer = match connection.exchange(request).await {
                    Ok(answer) => answer,
                    Err(fault) => bail!("the server does not answer: {fault}"),
                };
                latencies_us.push(u64::try_from(sent_at.elapsed().as_micros()).unwrap_or(u64::MAX));
                good += usize::from(is_good(answer.status, connection.body(&answer)));
            }
            Ok((good, latencies_us))
        });
        let ended: Vec<anyhow::Result<(usize, Vec<u64>)>> = join_all(connections).await;
        let mut sent = Sent { good: 0, took: began.elapsed(), latencies_us: Vec::new() };
        for ended in ended {
            let (good, latencies_us) = ended?;
            sent.good += good;
            sent.latencies_us.extend(latencies_us);
        }
        sent.latencies_us.sort_unstable();
        Ok(sent)
    }
}

impl Sent {
    fn all(&self, otherwise: &'static str) -> anyhow::Result<()> {
        if self.good < self.latencies_us.len() {
            bail!("{otherwise}: {} of {} were", self.good, self.latencies_us.len());
        }
        Ok(())
    }

    fn told(&self, settled: usize) -> Flood {
        let callbacks = self.latencies_us.len();
        let count = u64::try_from(callbacks).unwrap_or(u64::MAX);
        let took_us = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX).max(1);
        let at = |percent: usize| self.latencies_us[(callbacks - 1) * percent / 100];
        Flood {
            callbacks,
            acknowledged: self.good,
            settled,
            per_second: count * 1_000_000 / took_us,
            mean_us: self.latencies_us.iter().sum::<u64>() / count,
            p50_us: at(50),
            p99_us: at(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_all_and_a_percentile_of_the_sorted() {
        let sent = Sent { good: 3, took: Duration::from_millis(2), latencies_us: vec![100, 200, 300, 1_000] };
        let flood = sent.told(2);
        assert_eq!((flood.callbacks, flood.acknowledged, flood.settled), (4, 3, 2));
        assert_eq!((flood.per_second, flood.mean_us, flood.p50_us, flood.p99_us), (2_000, 400, 200, 300));
        assert!(sent.all("one was not").is_err());
    }
}
