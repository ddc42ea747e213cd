//! Payment providers that call a server under test: what they say is signed by the simulator, with the demo's keys.

use anyhow::ensure;
use chrono::{DateTime, Utc};
use provider_simulator::{Event, Message, Provider, Sender, Style};

use crate::http::{Anonymous, Exchange, send};

/// Delivers what a provider has to say to the endpoint that is named after it.
pub async fn deliver(
    to: &Anonymous,
    provider: Provider,
    event: &Event,
    now: DateTime<Utc>,
) -> anyhow::Result<Exchange> {
    let sender = Sender::demo(provider, Style::Usual)?;
    post(to, &provider.to_string(), sender.message(event, now)?).await
}

/// Sends a message to an endpoint.
pub async fn post(to: &Anonymous, endpoint: &str, message: Message) -> anyhow::Result<Exchange> {
    let mut request = to.request("POST", &format!("/v1/callbacks/{endpoint}"));
    for (name, value) in message.headers {
        request = request.header(name, value);
    }
    send(request.body(message.body)).await
}

/// Checks that the provider takes this answer for an acknowledgement.
pub fn ensure_acknowledged(provider: Provider, answer: &Exchange) -> anyhow::Result<()> {
    ensure!(
        provider.takes_for_acknowledged(answer.status, &answer.bytes),
        "{provider} is answered {} {:?}",
        answer.status,
        String::from_utf8_lossy(&answer.bytes)
    );
    Ok(())
}
