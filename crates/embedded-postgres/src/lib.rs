//! A private, durable PostgreSQL for local runs and tests.
