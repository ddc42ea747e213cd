//! The harness: a private PostgreSQL, a database per test, servers in this process and in others.
