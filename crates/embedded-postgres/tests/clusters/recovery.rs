//! A PostgreSQL that was killed, and what it leaves behind.

use std::fs;
use std::process::{Command, Stdio};

use embedded_postgres::{Cluster, Stopped};

use crate::place::{ask, connect, eventually, hasty, kill, place, place_with_cluster, postmaster_of, run};

#[tokio::test]
async fn a_killed_postgresql_is_started_again_and_has_every_answered_commit() {
    let place = place_with_cluster().await;
    let before = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    run(&before, "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept')").await;
    // A session that is busy when its parent dies, and so keeps the shared memory for a while.
    let mut busy = connect(&before).await;
    let busy = tokio::spawn(async move { sqlx::query("SELECT pg_sleep(600)").execute(&mut busy).await });
    kill("KILL", postmaster_of(place.path()).into());

    let after = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(after.started_by_us());
    assert_eq!(ask(&after, "SELECT text FROM notes").await, "kept");
    assert!(busy.await.unwrap().is_err(), "the old server's session has ended");
    assert_eq!(before.stop().await.unwrap(), Stopped::StillInUse);
    assert_eq!(after.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn a_cluster_whose_postgresql_was_killed_can_be_stopped() {
    let place = place_with_cluster().await;
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    kill("KILL", postmaster_of(place.path()).into());
    assert_eq!(cluster.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn a_process_id_that_another_program_has_by_now_does_not_keep_it_from_starting() {
    let place = place_with_cluster().await;
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    cluster.stop().await.unwrap();
    let mut stranger =
        Command::new("/bin/sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
    let left = format!("{}\n{}/data\n1764440642\n5432\n", stranger.id(), place.path().display());
    fs::write(place.path().join("data/postmaster.pid"), left).unwrap();

    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(cluster.started_by_us());
    assert_eq!(ask(&cluster, "SELECT 'served'").await, "served");
    cluster.stop().await.unwrap();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test]
async fn a_process_id_file_that_a_power_cut_left_empty_does_not_keep_it_from_starting() {
    let place = place_with_cluster().await;
    Cluster::attach_or_start(hasty(place.path())).await.unwrap().stop().await.unwrap();
    fs::write(place.path().join("data/postmaster.pid"), "").unwrap();
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(cluster.started_by_us());
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_first_start_that_was_killed_half_way_is_made_anew() {
    let place = place();
    let half = place.path().join("data.new.1");
    fs::create_dir_all(half.join("base")).unwrap();
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(!half.exists());
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_in_shutdown_is_waited_for_and_started_again() {
    let place = place_with_cluster().await;
    let first = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    // Smart shutdown: it takes no more sessions, and waits for this one.
    let lingering = connect(&first).await;
    let postmaster = postmaster_of(place.path());
    kill("TERM", postmaster.into());
    let settings = hasty(place.path());
    let next = tokio::spawn(Cluster::attach_or_start(settings));
    tokio::task::yield_now().await;
    drop(lingering);
    let second = next.await.unwrap().unwrap();
    eventually("a new server", || postmaster_of(place.path()) != postmaster);
    assert_eq!(ask(&second, "SELECT 'served'").await, "served");
    drop(first);
    second.stop().await.unwrap();
}
