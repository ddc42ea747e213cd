//! Asking a running office to let something happen, or for its statement.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use crate::control::{ScenarioAsked, ScenarioTold};
use crate::exchange::{self, Fault, Sending};
use crate::provider::Provider;
use crate::target::Target;

/// It answers when everything is delivered: at most after some days of the provider's, however fast they pass.
const WITHIN: Duration = Duration::from_secs(24 * 3600);

/// Why the office did not do it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotDone {
    /// No answer.
    #[error("no answer from {office} ({fault}): is `onefold simulate provider` running?")]
    Unanswered {
        /// Who was asked.
        office: Target,
        /// What came instead.
        fault: Fault,
    },
    /// It says why not.
    #[error("the provider refuses: {0}")]
    Refused(String),
    /// Another answer than an office gives.
    #[error("{office} answers {status}, as no simulated provider does")]
    Answered {
        /// Who was asked.
        office: Target,
        /// The status.
        status: u16,
    },
}

/// Lets something happen at `office`.
///
/// # Errors
///
/// When it cannot happen there.
pub async fn let_happen(office: &Target, asked: &ScenarioAsked) -> Result<ScenarioTold, NotDone> {
    let body = serde_json::to_vec(asked).expect("no map has keys that are not text");
    let sending = Sending {
        method: Method::POST,
        path: "/control/scenarios",
        headers: vec![("Content-Type", "application/json")],
        body: &body,
    };
    let answer = ask(office, &sending).await?;
    serde_json::from_slice(&answer).map_err(|_| NotDone::Answered { office: office.clone(), status: 200 })
}

/// The settlement statement of a provider at `office`, as CSV.
///
/// # Errors
///
/// When there is no office.
pub async fn statement(office: &Target, provider: Provider) -> Result<String, NotDone> {
    let path = format!("/control/statement?provider={provider}");
    let sending = Sending { method: Method::GET, path: &path, headers: Vec::new(), body: b"" };
    Ok(String::from_utf8_lossy(&ask(office, &sending).await?).into_owned())
}

async fn ask(office: &Target, sending: &Sending<'_>) -> Result<Vec<u8>, NotDone> {
    let answer = exchange::ask(office, sending, WITHIN)
        .await
        .map_err(|fault| NotDone::Unanswered { office: office.clone(), fault })?;
    let refusal =
        || serde_json::from_slice::<Value>(&answer.body).ok()?["error"].as_str().map(ToOwned::to_owned);
    match (answer.status, refusal()) {
        (200, _) => Ok(answer.body),
        (_, Some(refusal)) => Err(NotDone::Refused(refusal)),
        (status, None) => Err(NotDone::Answered { office: office.clone(), status }),
    }
}
