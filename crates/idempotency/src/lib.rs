//! Idempotency keys, fingerprints and records.
