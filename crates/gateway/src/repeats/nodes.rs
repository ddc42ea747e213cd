//! Which Redis a name is at.

use std::sync::Arc;

use redis::{Client, RedisResult};

use super::cluster::Cluster;
use super::node::Node;
use super::opening::Opening;
use super::value::Place;

/// All of a server's Redis.
#[derive(Debug)]
pub enum Nodes {
    /// Single ones that know nothing of each other. A name is at the one that its hash says: the same at every server that
    /// has the same list.
    Listed(Vec<Arc<Node>>),
    /// A Redis Cluster.
    Cluster(Arc<Cluster>),
}

impl Nodes {
    /// Opens them.
    ///
    /// # Errors
    ///
    /// If one is at an address where none can be.
    pub(super) fn open(clients: Vec<Client>, is_cluster: bool, opening: Opening) -> RedisResult<Self> {
        if is_cluster {
            return Ok(Self::Cluster(Cluster::open(clients, opening)));
        }
        let nodes = clients.into_iter().map(|client| Node::open(client, &opening));
        Ok(Self::Listed(nodes.collect::<RedisResult<_>>()?))
    }

    /// The one that a place is at, if it is known.
    pub(super) fn of(&self, place: &Place) -> Option<Arc<Node>> {
        match self {
            Self::Listed(nodes) => {
                let index = place.hash.checked_rem(nodes.len() as u64)?;
                nodes.get(usize::try_from(index).ok()?).cloned()
            }
            Self::Cluster(cluster) => cluster.node_of(&place.key),
        }
    }

    /// Whether one of them does not answer.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Self::Listed(nodes) => nodes.iter().any(|node| node.is_away()),
            Self::Cluster(cluster) => cluster.is_away(),
        }
    }
}
