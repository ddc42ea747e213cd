//! Clients of the service and the API keys they authenticate with.
