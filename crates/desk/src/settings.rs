//! What can be set about the desk.

use std::time::Duration;

use idempotency::FailedPolicy;

/// What can be set about the desk. Every time limit is finite: nothing here waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many lanes: tasks with one database connection each. Two keep two cores of PostgreSQL busy; more
    /// gain nothing on such a machine, and a hot account uses one anyway.
    pub lanes: usize,
    /// How many commands a batch takes at most. Each takes one slot of PostgreSQL's shared lock table, which
    /// has `max_locks_per_transaction` × `max_connections` of them (6,400 by default) for all servers together:
    /// 2 lanes of 128 leave room for twenty servers. Larger batches gain nothing and delay the first in it.
    pub batch_max: usize,
    /// How many commands may wait in a lane's queue. One more is refused at once: load is shed early.
    pub queue_max: usize,
    /// How often a batch is tried when it loses the optimistic lock, before it is given up as contended.
    pub tries_max: u32,
    /// How long a lane tries to get a connection back before it tells its commands that nothing happened.
    pub reconnect_wait: Duration,
    /// How long the desk tries to learn what became of a commit whose answer was lost, or waits for a lost
    /// connection's transaction to end.
    pub unknown_wait: Duration,
    /// PostgreSQL's `statement_timeout` on the lanes' connections.
    pub statement_timeout: Duration,
    /// PostgreSQL's `lock_timeout` on the lanes' connections.
    pub lock_timeout: Duration,
    /// PostgreSQL's `idle_in_transaction_session_timeout` on the lanes' connections.
    pub idle_in_transaction_timeout: Duration,
    /// How often the poller asks for names that another process is running.
    pub poll_interval: Duration,
    /// How long a record is kept at least.
    pub retention: Duration,
    /// What a recorded refusal does to the same request.
    pub failed: FailedPolicy,
    /// How many bytes of finished answers are remembered in this process, to be replayed without the database.
    /// 0 remembers none.
    pub remembered_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lanes: 2,
            batch_max: 128,
            queue_max: 2048,
            tries_max: 10,
            reconnect_wait: Duration::from_secs(2),
            unknown_wait: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            idle_in_transaction_timeout: Duration::from_secs(5),
            poll_interval: Duration::from_millis(20),
            retention: Duration::from_secs(72 * 60 * 60),
            failed: FailedPolicy::Replay,
            remembered_bytes: 64 << 20,
        }
    }
}
