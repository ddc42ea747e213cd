//! A PostgreSQL that was killed, and what it leaves behind.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use embedded_postgres::{Cluster, Error, Stopped};

use crate::place::{
    ask, connect, eventually, hasty, kill, owner_of, place, place_with_cluster, postmaster_of, run,
    we_are_root,
};

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
async fn of_two_users_of_a_killed_postgresql_one_starts_it_again_and_both_find_it_where_it_was() {
    let place = place_with_cluster().await;
    let one = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    let other = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(!one.restart_if_gone().await.unwrap(), "it runs");
    kill("KILL", postmaster_of(place.path()).into());

    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let (by_one, by_other) = tokio::join!(one.restart_if_gone(), other.restart_if_gone());
        let (by_one, by_other) = (by_one.unwrap(), by_other.unwrap());
        assert!(!(by_one && by_other), "both have started it");
        // Until the kernel has ended it, the killed process is still there for both.
        if by_one || by_other {
            break;
        }
        assert!(Instant::now() < deadline, "nobody has started it within 10 s");
    }
    assert_eq!(ask(&one, "SELECT 'served'").await, "served");
    assert_eq!(ask(&other, "SELECT 'served'").await, "served");
    assert_eq!(one.stop().await.unwrap(), Stopped::StillInUse);
    assert_eq!(other.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn a_cluster_whose_files_are_gone_is_not_replaced_by_an_empty_one() {
    let place = place_with_cluster().await;
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    kill("KILL", postmaster_of(place.path()).into());
    // With its postmaster.pid, so that a process that is only ending is not looked for either.
    fs::rename(place.path().join("data"), place.path().join("moved")).unwrap();
    let refusal = cluster.restart_if_gone().await.unwrap_err();
    assert!(matches!(refusal, Error::NoCluster { .. }), "{refusal}");
    assert!(!place.path().join("data").exists());
}

#[tokio::test]
async fn a_cluster_whose_postgresql_was_killed_can_be_stopped() {
    let place = place_with_cluster().await;
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    kill("KILL", postmaster_of(place.path()).into());
    assert_eq!(cluster.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn a_postgresql_that_hangs_cannot_hold_up_a_stop_for_long() {
    let place = place_with_cluster().await;
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    let postmaster = postmaster_of(place.path());
    kill("STOP", postmaster.into());
    let began = Instant::now();
    let refusal = cluster.stop().await.unwrap_err();
    assert!(matches!(refusal, Error::NotStopped { .. }), "{refusal}");
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());

    kill("CONT", postmaster.into());
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert_eq!(cluster.stop().await.unwrap(), Stopped::Stopped);
}

#[tokio::test]
async fn a_process_id_that_another_program_has_by_now_does_not_keep_it_from_starting() {
    let place = place_with_cluster().await;
    let mut stranger = as_the_owner_of(&place.path().join("data"), "read line");
    assert_starts_despite(stranger.id(), place.path()).await;
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// As in a container whose first process does not reap orphans: the killed server stays a zombie for ever.
#[tokio::test]
async fn a_zombie_that_nobody_reaps_does_not_keep_it_from_starting() {
    let place = place_with_cluster().await;
    let mut zombie = as_the_owner_of(&place.path().join("data"), "exit 0");
    zombie.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    assert_starts_despite(zombie.id(), place.path()).await;
    zombie.wait().unwrap();
}

/// A process of the user who runs PostgreSQL: of another's PostgreSQL itself would know that it is not a server.
fn as_the_owner_of(data: &Path, script: &str) -> Child {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
    if we_are_root() {
        shell.uid(owner_of(data));
    }
    shell.spawn().unwrap()
}

/// Starts the cluster after a server that left its files with this process id in them.
async fn assert_starts_despite(pid: u32, home: &Path) {
    let cluster = Cluster::attach_or_start(hasty(home)).await.unwrap();
    let (data, socket_dir) = (home.join("data"), cluster.socket_dir().to_owned());
    cluster.stop().await.unwrap();
    let left = format!("{pid}\n{}\n1764440642\n5432\n{}\n\n", data.display(), socket_dir.display());
    fs::write(data.join("postmaster.pid"), &left).unwrap();
    fs::write(socket_dir.join(".s.PGSQL.5432.lock"), &left).unwrap();

    let cluster = Cluster::attach_or_start(hasty(home)).await.unwrap();
    assert!(cluster.started_by_us());
    assert_eq!(ask(&cluster, "SELECT 'served'").await, "served");
    cluster.stop().await.unwrap();
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
