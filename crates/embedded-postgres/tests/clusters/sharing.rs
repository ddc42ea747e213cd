//! Several users of one cluster: in one process, in several, at once, and after one has been killed.

use embedded_postgres::{Cluster, Error, Settings, Stopped};

use crate::place::{Neighbour, ask, hasty, place, place_with_cluster, postmaster_of, run};

#[tokio::test]
async fn the_first_to_stop_leaves_it_running_for_the_second() {
    let place = place_with_cluster().await;
    let first = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    let second = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(first.started_by_us() && !second.started_by_us());
    assert_eq!(first.database_url("postgres"), second.database_url("postgres"));

    assert_eq!(first.stop().await.unwrap(), Stopped::StillInUse);
    assert_eq!(ask(&second, "SELECT 'served'").await, "served");
    assert_eq!(second.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn of_two_processes_that_start_at_once_one_starts_and_the_other_attaches() {
    let place = place();
    let (mut one, mut other) = (Neighbour::start(place.path()), Neighbour::start(place.path()));
    let said = [one.says(), other.says()];
    assert_eq!(said.iter().filter(|line| line.starts_with("started ")).count(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|line| line.starts_with("attached ")).count(), 1, "{said:?}");

    let here = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert_eq!(one.stop(), "still in use");
    assert_eq!(other.stop(), "still in use");
    assert_eq!(here.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn a_cluster_whose_owner_was_killed_with_its_process_group_is_adopted() {
    let place = place_with_cluster().await;
    let mut owner = Neighbour::start(place.path());
    assert!(owner.says().starts_with("started "));
    let postmaster = postmaster_of(place.path());
    owner.end_by("KILL");

    let heir = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(!heir.started_by_us());
    assert_eq!(postmaster_of(place.path()), postmaster);
    assert_eq!(ask(&heir, "SELECT 'served'").await, "served");
    assert_eq!(heir.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn ctrl_c_reaches_the_process_and_not_its_postgresql_which_others_use() {
    let place = place_with_cluster().await;
    let mut owner = Neighbour::start(place.path());
    assert!(owner.says().starts_with("started "));
    let here = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    let postmaster = postmaster_of(place.path());

    owner.end_by("INT");
    assert_eq!(owner.says(), "still in use");
    assert_eq!(ask(&here, "SELECT 'served'").await, "served");
    assert_eq!(postmaster_of(place.path()), postmaster);
    here.stop().await.unwrap();
}

#[tokio::test]
async fn a_cluster_that_is_dropped_runs_on_and_the_next_user_adopts_it() {
    let place = place_with_cluster().await;
    let first = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    run(&first, "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept')").await;
    drop(first);

    let second = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(!second.started_by_us());
    assert_eq!(ask(&second, "SELECT text FROM notes").await, "kept");
    assert_eq!(second.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn a_durable_user_does_not_attach_to_a_cluster_that_runs_without_fsync() {
    let place = place_with_cluster().await;
    let hasty_user = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    let refusal = Cluster::attach_or_start(Settings::new(place.path())).await.unwrap_err();
    assert!(matches!(refusal, Error::NotDurable { .. }), "{refusal}");
    assert_eq!(hasty_user.stop().await.unwrap(), Stopped::Stopped);

    let durable = Settings { shared_buffers_mb: 16, ..Settings::new(place.path()) };
    let durable_user = Cluster::attach_or_start(durable).await.unwrap();
    assert_eq!(ask(&durable_user, "SHOW fsync").await, "on");
    durable_user.stop().await.unwrap();
}
