//! One user of a cluster: first start, restart, where things lie, and what a refusal says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use embedded_postgres::{Cluster, Error, SYSTEM_DATA_DIR, Settings, Stopped, Why, choose_data_dir};

use crate::place::{
    ask, connect, connect_to, hasty, lay_cluster_into, mode_of, owner_of, place, place_with_cluster, run,
    we_are_root,
};

#[tokio::test]
async fn a_file_and_a_path_of_more_than_one_line_are_refused_before_anything_is_made() {
    let place = place();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let refusal = Cluster::attach_or_start(hasty(&file)).await.unwrap_err();
    assert!(matches!(refusal, Error::NotADirectory { .. }), "{refusal}");
    for name in ["new\nline", "a\tb", "c\u{7f}"] {
        let strange = place.path().join(name).join("data-dir");
        let refusal = Cluster::attach_or_start(hasty(&strange)).await.unwrap_err();
        assert!(matches!(refusal, Error::Unsayable { .. }), "{refusal}");
        assert_eq!(refusal.to_string().lines().count(), 1, "{refusal}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "the file alone");
}

#[tokio::test]
async fn a_first_start_makes_a_durable_and_private_cluster() {
    let place = place();
    let home = place.path().join("made/on/the/way");
    let cluster = Cluster::attach_or_start(Settings::new(&home)).await.unwrap();
    assert!(cluster.started_by_us());

    for (question, answer) in [
        ("SHOW fsync", "on"),
        ("SHOW synchronous_commit", "on"),
        ("SHOW full_page_writes", "on"),
        ("SHOW data_checksums", "on"),
        ("SHOW listen_addresses", ""),
        ("SHOW unix_socket_permissions", "0700"),
        ("SHOW max_connections", "100"),
        ("SHOW shared_buffers", "256MB"),
        ("SHOW server_encoding", "UTF8"),
        ("SHOW timezone", "UTC"),
        ("SELECT datcollate FROM pg_database WHERE datname = 'template1'", "C"),
        ("SELECT current_user::TEXT", "onefold"),
        ("SELECT auth_method FROM pg_hba_file_rules", "peer"),
    ] {
        assert_eq!(ask(&cluster, question).await, answer, "{question}");
    }
    assert_eq!(mode_of(&home.join("data")), 0o700);
    assert_eq!(mode_of(cluster.socket_dir()), 0o700);
    assert_eq!(owner_of(&home.join("data")), owner_of(cluster.socket_dir()));
    if we_are_root() {
        assert_ne!(owner_of(&home.join("data")), 0, "PostgreSQL's files are not root's");
        assert_eq!((owner_of(&home), mode_of(&home)), (0, 0o711));
    } else {
        assert_eq!(mode_of(&home), 0o700);
    }

    let socket = cluster.socket_dir().join(".s.PGSQL.5432");
    assert!(socket.exists());
    assert_eq!(cluster.stop().await.unwrap(), Stopped::Stopped);
    assert!(!socket.exists() && !home.join("data/postmaster.pid").exists());
}

#[tokio::test]
async fn data_survives_a_stop_and_a_start_with_other_settings() {
    let place = place_with_cluster().await;
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    run(&cluster, "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept')").await;
    assert_eq!(cluster.stop().await.unwrap(), Stopped::Stopped);

    let fewer = Settings { max_connections: 30, ..hasty(place.path()) };
    let cluster = Cluster::attach_or_start(fewer).await.unwrap();
    assert!(cluster.started_by_us());
    assert_eq!(ask(&cluster, "SELECT text FROM notes").await, "kept");
    assert_eq!(ask(&cluster, "SHOW max_connections").await, "30");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn the_url_carries_any_path_and_any_database_name() {
    let place = place();
    let home = place.path().join("it's 100% $HOME; a \"b\" é");
    let cluster = Cluster::attach_or_start(hasty(&home)).await.unwrap();
    run(&cluster, "CREATE DATABASE \"a/b?c=d&e é\"").await;
    let url = cluster.database_url("a/b?c=d&e é");

    let mut connection = connect_to(&url).await;
    let name: String =
        sqlx::query_scalar("SELECT current_database()::TEXT").fetch_one(&mut connection).await.unwrap();
    assert_eq!(name, "a/b?c=d&e é");

    let psql = std::process::Command::new(cluster.programs().directory().join("psql"))
        .args([&url, "--no-psqlrc", "--tuples-only", "--no-align", "--command", "SELECT current_database()"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&psql.stdout).trim(), "a/b?c=d&e é", "{psql:?}");
    drop(connection);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_gets_a_short_one_that_all_users_find() {
    let place = place();
    let home = place.path().join("long".repeat(30));
    fs::create_dir(&home).unwrap();
    lay_cluster_into(&home).await;
    let first = Cluster::attach_or_start(hasty(&home)).await.unwrap();
    let second = Cluster::attach_or_start(hasty(&home)).await.unwrap();
    let short = first.socket_dir().to_owned();
    assert!(!short.starts_with(&home) && short.as_os_str().len() < 86, "{}", short.display());
    assert_eq!(second.socket_dir(), short);
    assert_eq!(mode_of(&short), 0o700);
    connect(&second).await;

    assert_eq!(first.stop().await.unwrap(), Stopped::StillInUse);
    assert_eq!(second.stop().await.unwrap(), Stopped::Stopped);
    assert!(!short.exists());
}

#[tokio::test]
async fn a_link_in_the_place_of_the_socket_s_directory_is_not_followed() {
    let (place, elsewhere) = (place_with_cluster().await, place());
    symlink(elsewhere.path(), place.path().join("socket")).unwrap();
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert_eq!(ask(&cluster, "SELECT 'served'").await, "served");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_directory_that_postgresql_cannot_reach_is_told_and_another_is_chosen() {
    let place = place();
    let walled = place.path().join("walled");
    fs::create_dir(&walled).unwrap();
    let preferred = walled.join("home");
    if we_are_root() {
        fs::set_permissions(&walled, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let refusal = Cluster::attach_or_start(hasty(&preferred)).await.unwrap_err();
        assert!(matches!(&refusal, Error::Unreachable { path, .. } if *path == preferred), "{refusal}");
        assert!(!preferred.exists());

        let (chosen, why) = choose_data_dir(&preferred).unwrap();
        assert_eq!(chosen, Path::new(SYSTEM_DATA_DIR));
        assert!(matches!(&why, Why::Unreachable { preferred: told, .. } if *told == preferred), "{why}");
        fs::set_permissions(&walled, std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
    } else {
        // Whoever is not root runs PostgreSQL as oneself, behind any wall of one's own.
        fs::set_permissions(&walled, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let cluster = Cluster::attach_or_start(hasty(&preferred)).await.unwrap();
        assert_eq!(owner_of(&preferred.join("data")), owner_of(&walled));
        cluster.stop().await.unwrap();
    }
    assert_eq!(choose_data_dir(&preferred).unwrap(), (preferred, Why::Preferred));
}

#[tokio::test]
async fn a_start_that_fails_tells_the_end_of_the_log() {
    let place = place_with_cluster().await;
    let wrong = Settings { max_connections: 0, ..hasty(place.path()) };
    let failure = Cluster::attach_or_start(wrong).await.unwrap_err();
    let Error::StartFailed { tail, .. } = &failure else { panic!("{failure}") };
    assert!(tail.contains("max_connections"), "{failure}");

    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    assert!(cluster.started_by_us(), "a failed start leaves what the next can use");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_cluster_of_another_major_version_is_not_touched() {
    let place = place_with_cluster().await;
    let cluster = Cluster::attach_or_start(hasty(place.path())).await.unwrap();
    cluster.stop().await.unwrap();
    let version = place.path().join("data/PG_VERSION");
    let made_by = fs::read_to_string(&version).unwrap();

    fs::write(&version, "11\n").unwrap();
    let refusal = Cluster::attach_or_start(hasty(place.path())).await.unwrap_err();
    assert!(matches!(refusal, Error::OtherMajor { made_by: 11, .. }), "{refusal}");
    assert!(refusal.to_string().contains("install PostgreSQL 11, or move the directory away"), "{refusal}");

    fs::write(&version, made_by).unwrap();
    Cluster::attach_or_start(hasty(place.path())).await.unwrap().stop().await.unwrap();
}

#[tokio::test]
async fn programs_that_are_named_and_not_there_stop_the_start() {
    let (place, empty) = (place(), place());
    let settings = Settings { programs: Some(empty.path().to_owned()), ..hasty(place.path()) };
    let refusal = Cluster::attach_or_start(settings).await.unwrap_err();
    assert!(matches!(&refusal, Error::IncompletePrograms { path } if path == empty.path()), "{refusal}");
}
