//! The harness: a private PostgreSQL, a database per test, desks and servers in this process and in others.
//!
//! - [`cluster`]: the PostgreSQL that all tests share, started by whichever comes first;
//! - [`database`]: a migrated database of its own for each test, and the audit of its books;
//! - [`clock`]: a clock that tests move;
//! - [`desks`]: desks without HTTP, any number on one database: to each other they are like other processes;
//! - [`own_cluster`]: a PostgreSQL of a test's own, for what would disturb everybody on the shared one;
//! - [`guarded`]: a server process that does not outlive the test;
//! - [`server_process`]: the program in a process that a test may kill;
//! - [`lived`], [`daily_books`]: books with many events, and what their daily totals must be;
//! - [`nats_server`], [`rabbitmq_server`]: brokers of the tests' own;
//! - [`cutting_proxy`]: between a desk and its PostgreSQL, to cut a connection while its commit is in flight;
//! - [`redis`](mod@redis), [`redis_cluster`]: a Redis of a test's own, and a cluster of them;
//! - [`slow_proxy`]: between a server and what it asks, to hold back what passes;
//! - [`http`]: the whole service on a free port, and a client that speaks to it;
//! - [`callbacks`]: payment providers that call it;
//! - [`office`]: payment providers that it can ask;
//! - [`collector`]: somebody to send traces to;
//! - [`story`]: what has become of an order, as a few lines of text;
//! - [`dashboard`]: Grafana's dashboard, made from a file that people read;
//! - [`raw_http`]: requests byte by byte, for what no HTTP library would send.

pub mod callbacks;
pub mod clock;
pub mod cluster;
pub mod collector;
pub mod cutting_proxy;
pub mod daily_books;
pub mod dashboard;
pub mod database;
pub mod desks;
pub mod guarded;
pub mod http;
pub mod lived;
pub mod nats_server;
pub mod office;
pub mod own_cluster;
pub mod rabbitmq_server;
pub mod raw_http;
pub mod redis;
pub mod redis_cluster;
pub mod server_process;
pub mod slow_proxy;
pub mod story;

/// Whether the tests that can take any size shall run at their largest (`scripts/test --long`).
pub fn long() -> bool {
    std::env::var_os("ONEFOLD_TEST_LONG").is_some()
}

/// The variables that a service under test must not inherit: it runs as on a machine where none is set.
pub const SERVICE_VARIABLES: [&str; 11] = [
    "DATABASE_PASSWORD_FILE",
    "DATABASE_URL",
    "ONEFOLD_CONFIG",
    "ONEFOLD_DATA_DIR",
    "ONEFOLD_FAILPOINTS",
    "ONEFOLD_LISTEN",
    "ONEFOLD_LOG",
    "ONEFOLD_OPERATIONS_LISTEN",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "RUST_LOG",
];
