//! What the service says of a payment: how much is owed, and what has become of it.

use std::time::Duration;

use http::Method;
use serde::Deserialize;

use crate::exchange::{self, Fault, Sending};
use crate::target::Target;

const WITHIN: Duration = Duration::from_secs(30);

/// A payment as the service shows it; the simulator reads no more of it than this.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Shown {
    /// The provider that it is to be paid at.
    pub provider: String,
    /// How much is owed.
    pub amount: String,
    /// ISO 4217, in capitals.
    pub currency: String,
    /// `pending`, `settled`, `expired` or `closed`.
    pub status: String,
}

/// Why the payment could not be looked up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotShown {
    /// The number has a character that no payment number has.
    #[error("{0:?} is no payment number: letters, digits, `_` and `-`")]
    NoNumber(String),
    /// No answer.
    #[error("no answer from {server} ({fault}): is the server running?")]
    Unanswered {
        /// Who was asked.
        server: Target,
        /// What came instead.
        fault: Fault,
    },
    /// The client has no such payment.
    #[error("the server knows no payment {0}")]
    Unknown(String),
    /// Another answer than a payment.
    #[error("the server answers {status} when it is asked for the payment: {body}")]
    Answered {
        /// The status.
        status: u16,
        /// The body.
        body: String,
    },
}

/// Asks `server` for a payment.
///
/// # Errors
///
/// When there is none, or no answer.
pub async fn payment(server: &Target, api_key: &str, payment_no: &str) -> Result<Shown, NotShown> {
    let is_number = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if payment_no.is_empty() || !payment_no.bytes().all(is_number) {
        return Err(NotShown::NoNumber(payment_no.to_owned()));
    }
    let authorization = format!("Bearer {api_key}");
    let sending = Sending {
        method: Method::GET,
        path: &format!("/v1/payments/{payment_no}"),
        headers: vec![("Authorization", &authorization), ("Accept", "application/json")],
        body: b"",
    };
    let answer = exchange::ask(server, &sending, WITHIN)
        .await
        .map_err(|fault| NotShown::Unanswered { server: server.clone(), fault })?;
    let answered = || NotShown::Answered {
        status: answer.status,
        body: String::from_utf8_lossy(&answer.body).into_owned(),
    };
    match answer.status {
        200 => serde_json::from_slice(&answer.body).map_err(|_| answered()),
        404 => Err(NotShown::Unknown(payment_no.to_owned())),
        _ => Err(answered()),
    }
}
