//! Where traces are sent.

use serde::{Deserialize, Serialize};
use validator::Validate;

/// `[telemetry]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetrySection {
    /// The URL of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; empty: no traces are made.
    pub otlp_endpoint: String,
    /// Whether the server counts what it does. If not, there is no `/metrics`.
    pub metrics: bool,
}

impl Default for TelemetrySection {
    fn default() -> Self {
        Self { otlp_endpoint: String::new(), metrics: true }
    }
}
