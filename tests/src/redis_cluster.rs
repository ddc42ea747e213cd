//! A Redis Cluster of a test's own: masters that have the slots among them, and a replica if one is wanted.

use std::time::Duration;

use anyhow::{Context, bail};
use redis::FromRedisValue;
use tokio::time::{Instant, sleep};

use crate::guarded::free_port;
use crate::redis::RedisServer;

/// How long anything here may take. It never does; a test that has hung shall say so.
const WITHIN: Duration = Duration::from_secs(60);

/// The pause between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// After how many milliseconds of silence the others take a node for dead.
const NODE_TIMEOUT_MS: &str = "2000";

/// How many slots a cluster has.
const SLOTS: usize = 16_384;

/// A cluster. Its nodes are killed when it is dropped.
pub struct RedisCluster {
    /// The masters, in the order of their slots, and behind them the replica.
    pub nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// So many masters. What one has is served while another one is away.
    pub async fn start(masters: usize) -> anyhow::Result<Self> {
        let mut nodes = Vec::new();
        for _ in 0..masters {
            nodes.push(start_node().await?);
        }
        for (index, node) in nodes.iter().enumerate() {
            let (first, last) = (index * SLOTS / masters, (index + 1) * SLOTS / masters - 1);
            ask::<()>(node, &["SET-CONFIG-EPOCH", &(index + 1).to_string()]).await?;
            ask::<()>(node, &["ADDSLOTSRANGE", &first.to_string(), &last.to_string()]).await?;
        }
        let cluster = Self { nodes };
        cluster.introduce().await?;
        Ok(cluster)
    }

    /// Makes one more node a replica of the first, which takes its place when it is lost.
    pub async fn add_replica_of_first(&mut self) -> anyhow::Result<()> {
        self.nodes.push(start_node().await?);
        self.introduce().await?;
        let (first, replica) = (&self.nodes[0], &self.nodes[self.nodes.len() - 1]);
        let id: String = ask(first, &["MYID"]).await?;
        ask::<()>(replica, &["REPLICATE", id.trim()]).await?;
        until(async || Ok(replication(replica).await?.contains("master_link_status:up"))).await
    }

    /// Waits until the last node is a master.
    pub async fn replica_has_taken_over(&self) -> anyhow::Result<()> {
        let replica = self.nodes.last().context("a cluster has nodes")?;
        until(async || Ok(replication(replica).await?.contains("role:master"))).await
    }

    /// Has all nodes know each other, and agree on who has which slots.
    async fn introduce(&self) -> anyhow::Result<()> {
        let count = self.nodes.len();
        let (first, others) = self.nodes.split_first().context("a cluster has nodes")?;
        for other in others {
            let bus = other.bus_port().context("a node of a cluster")?.to_string();
            ask::<()>(first, &["MEET", "127.0.0.1", &other.port().to_string(), &bus]).await?;
        }
        for node in &self.nodes {
            until(async || {
                let info: String = ask(node, &["INFO"]).await?;
                let agreed = [
                    "cluster_state:ok".to_owned(),
                    format!("cluster_known_nodes:{count}\r"),
                    format!("cluster_slots_assigned:{SLOTS}"),
                ];
                Ok(agreed.iter().all(|line| info.contains(line)))
            })
            .await?;
        }
        Ok(())
    }
}

async fn start_node() -> anyhow::Result<RedisServer> {
    let bus_port = free_port()?;
    RedisServer::start_as_node(bus_port, &["--cluster-node-timeout", NODE_TIMEOUT_MS]).await
}

async fn ask<T: FromRedisValue>(node: &RedisServer, question: &[&str]) -> anyhow::Result<T> {
    Ok(redis::cmd("CLUSTER").arg(question).query_async(&mut node.connection().await?).await?)
}

async fn replication(node: &RedisServer) -> anyhow::Result<String> {
    Ok(redis::cmd("INFO").arg("replication").query_async(&mut node.connection().await?).await?)
}

async fn until(reached: impl AsyncFn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let began = Instant::now();
    while !reached().await? {
        if began.elapsed() >= WITHIN {
            bail!("the nodes of a Redis Cluster do not come to terms");
        }
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}
