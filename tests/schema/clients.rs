//! Adding clients.

use std::sync::Arc;

use client::ClientId;
use client::store::{find_client, insert_client};
use onefold_tests::database::new_service_database;
use sqlx::{Connection, PgConnection};
use tokio::sync::Barrier;
use uuid::Uuid;

/// How many servers start at once.
const SERVERS: usize = 8;

/// How often they do: which of the two unique indexes a loser runs into is a matter of microseconds.
const STARTS: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_servers_that_add_the_same_client_at_once_one_does_and_none_fails() {
    let database = new_service_database().await.expect("a database");
    let barrier = Arc::new(Barrier::new(SERVERS));
    let servers: Vec<_> = (0..SERVERS)
        .map(|_| {
            let (owner, barrier) = (database.owner_options().clone(), barrier.clone());
            tokio::spawn(async move {
                let mut connection = PgConnection::connect_with(&owner).await.expect("a connection");
                let mut added = Vec::new();
                for start in 0..STARTS {
                    let id = ClientId(Uuid::from_u128(1 + start as u128));
                    let name = format!("client {start}");
                    barrier.wait().await;
                    let mut transaction = connection.begin().await.expect("a transaction");
                    let first = insert_client(&mut *transaction, id, &name, chrono::DateTime::UNIX_EPOCH)
                        .await
                        .expect("an answer, whoever is first");
                    let found = find_client(&mut *transaction, &name).await.expect("an answer");
                    transaction.commit().await.expect("a commit");
                    assert_eq!(found, Some(id));
                    added.push(first);
                }
                added
            })
        })
        .collect();
    let mut firsts = [0; STARTS];
    for server in servers {
        for (start, first) in server.await.expect("it ends").into_iter().enumerate() {
            firsts[start] += usize::from(first);
        }
    }
    assert_eq!(firsts, [1; STARTS]);
}
