//! A Redis Cluster: whichever of its nodes has the slot of a name is the one to ask.
//!
//! Its [specification](https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/) gives each key one of
//! 16,384 slots, and each slot to a node. One of the nodes is asked now and then which has which, and at once when a node
//! says that a key is not its own (`MOVED`). In between a name may be asked for at a node that has it no longer: that costs
//! the hint, and nothing else.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crc::{CRC_16_XMODEM, Crc};
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisResult, Value};
use tokio::time::{sleep, timeout};

use super::node::Node;
use super::opening::{Opening, client_like};

/// How many slots a cluster has.
const SLOTS: u16 = 16_384;

/// How many nodes are used at most: a wrong answer must not open connections without end.
const NODES_MAX: usize = 256;

/// How often it is asked which node has which slots.
const ASKED_EVERY: Duration = Duration::from_secs(2);

/// The shortest time between two questions, however many keys have moved.
const ASKED_AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// How long the answer may take, from the connection on.
const ANSWERED_WITHIN: Duration = Duration::from_millis(500);

const CRC: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// The nodes of a cluster, as far as they are known.
#[derive(Default)]
pub struct Cluster {
    /// In the order of their slots.
    ranges: RwLock<Vec<Range>>,
}

struct Range {
    first: u16,
    last: u16,
    node: Arc<Node>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// A cluster that is known by some of its nodes, until it is told to stop.
    pub(super) fn open(seeds: Vec<Client>, opening: Opening) -> Arc<Self> {
        let cluster = Arc::new(Self::default());
        tokio::spawn(follow(Arc::clone(&cluster), seeds, opening));
        cluster
    }

    /// The node that has a key, if one is known to.
    pub(super) fn node_of(&self, key: &str) -> Option<Arc<Node>> {
        let slot = slot_of(key);
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        let range = ranges.get(ranges.partition_point(|range| range.last < slot))?;
        (range.first <= slot).then(|| Arc::clone(&range.node))
    }

    /// Whether a node does not answer, or none is known.
    pub(super) fn is_away(&self) -> bool {
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        ranges.is_empty() || ranges.iter().any(|range| range.node.is_away())
    }

    /// Which nodes there are now. Those that stay are kept, with what is known of them.
    fn take(&self, told: Vec<Told>, like: &Client, opening: &Opening) {
        let mut nodes = self.nodes();
        let mut ranges: Vec<Range> = Vec::with_capacity(told.len());
        for Told { first, last, address } in told {
            let node = match nodes.get(&address) {
                Some(node) => Arc::clone(node),
                None if nodes.len() >= NODES_MAX => continue,
                None => match client_like(like, &address.0, address.1)
                    .and_then(|client| Node::open(client, opening))
                {
                    Ok(node) => Arc::clone(nodes.entry(address).or_insert(node)),
                    Err(_) => continue,
                },
            };
            ranges.push(Range { first, last, node });
        }
        ranges.sort_by_key(|range| range.first);
        *self.ranges.write().unwrap_or_else(PoisonError::into_inner) = ranges;
    }

    fn nodes(&self) -> HashMap<Address, Arc<Node>> {
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        ranges.iter().map(|range| (range.node.address(), Arc::clone(&range.node))).collect()
    }
}

/// The keys of this filter have no braces, so the whole key counts.
fn slot_of(key: &str) -> u16 {
    CRC.checksum(key.as_bytes()) % SLOTS
}

/// A host and a port.
pub(super) type Address = (String, u16);

/// What a node says about some slots.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Told {
    first: u16,
    last: u16,
    /// Of the master: replicas take no writes.
    address: Address,
}

async fn follow(cluster: Arc<Cluster>, seeds: Vec<Client>, opening: Opening) {
    let following = async {
        let mut source = None;
        loop {
            if let Some((client, told)) = ask(&mut source, &cluster, &seeds).await {
                cluster.take(told, &client, &opening);
            }
            sleep(ASKED_AT_MOST_EVERY).await;
            tokio::select! {
                () = sleep(ASKED_EVERY) => {}
                () = opening.moved.notified() => {}
            }
        }
    };
    tokio::select! {
        () = following => {}
        () = opening.stop.cancelled() => {}
    }
}

/// A node that answers, and the connection to it.
type Source = (Client, MultiplexedConnection);

/// Asks the node that has answered last; else any that is known; else those that are configured.
async fn ask(
    source: &mut Option<Source>,
    cluster: &Cluster,
    seeds: &[Client],
) -> Option<(Client, Vec<Told>)> {
    if let Some((client, connection)) = source
        && let Some(told) = within(slots(client, connection)).await
    {
        return Some((client.clone(), told));
    }
    *source = None;
    let known: Vec<Client> = cluster.nodes().values().map(|node| node.client().clone()).collect();
    for client in known.iter().chain(seeds) {
        let asking = async {
            let mut connection = client.get_multiplexed_async_connection().await?;
            let told = slots(client, &mut connection).await?;
            Ok((connection, told))
        };
        if let Some((connection, told)) = within(asking).await {
            *source = Some((client.clone(), connection));
            return Some((client.clone(), told));
        }
    }
    None
}

async fn within<T>(asking: impl Future<Output = RedisResult<T>>) -> Option<T> {
    match timeout(ANSWERED_WITHIN, asking).await {
        Ok(Ok(told)) => Some(told),
        Ok(Err(error)) => {
            tracing::debug!(error = %error, "a node of the filter's cluster does not say who has which slots");
            None
        }
        Err(_) => None,
    }
}

async fn slots(client: &Client, connection: &mut MultiplexedConnection) -> RedisResult<Vec<Told>> {
    let answer = redis::cmd("CLUSTER").arg("SLOTS").query_async::<Value>(connection).await?;
    let (Value::Array(ranges), asked) = (answer, client.get_connection_info().addr().to_string()) else {
        return Ok(Vec::new());
    };
    let asked_host = asked.rsplit_once(':').map_or(asked.as_str(), |(host, _)| host);
    Ok(ranges.iter().filter_map(|range| read(range, asked_host)).collect())
}

/// One range of the answer: `[first, last, [host, port, …], replicas…]`. A node that does not know its own host is the one
/// that was asked.
fn read(range: &Value, asked_host: &str) -> Option<Told> {
    let Value::Array(range) = range else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = range.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = master.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) if !host.is_empty() => std::str::from_utf8(host).ok()?,
        Value::SimpleString(host) if !host.is_empty() => host,
        _ => asked_host,
    };
    let slot = |slot: &i64| u16::try_from(*slot).ok().filter(|slot| *slot < SLOTS);
    let (first, last, port) = (slot(first)?, slot(last)?, u16::try_from(*port).ok()?);
    (first <= last).then(|| Told { first, last, address: (host.to_owned(), port) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: i64, last: i64, host: Value, port: i64) -> Value {
        let id = Value::BulkString(b"id".to_vec());
        let master = Value::Array(vec![host, Value::Int(port), id]);
        Value::Array(vec![Value::Int(first), Value::Int(last), master])
    }

    #[test]
    fn a_key_has_the_slot_that_redis_says_it_has() {
        // As `CLUSTER KEYSLOT` answers.
        for (key, slot) in [("123456789", 12_739), ("foo", 12_182), ("bar", 5_061)] {
            assert_eq!(slot_of(key), slot, "{key}");
        }
    }

    #[test]
    fn the_masters_of_ranges_are_read_and_what_makes_no_sense_is_passed_over() {
        let host = || Value::BulkString(b"10.0.0.2".to_vec());
        let told = |range: &Value| read(range, "10.0.0.1").map(|told| (told.first, told.last, told.address));
        assert_eq!(told(&range(0, 5_460, host(), 7000)), Some((0, 5_460, ("10.0.0.2".into(), 7000))));
        for unknown in [Value::Nil, Value::BulkString(Vec::new())] {
            assert_eq!(told(&range(1, 1, unknown, 7000)), Some((1, 1, ("10.0.0.1".into(), 7000))));
        }
        for nonsense in [
            range(5, 4, host(), 7000),
            range(0, 16_384, host(), 7000),
            range(-1, 4, host(), 7000),
            range(0, 4, host(), 70_000),
            Value::Array(vec![Value::Int(0)]),
            Value::Nil,
        ] {
            assert_eq!(told(&nonsense), None, "{nonsense:?}");
        }
    }
}
