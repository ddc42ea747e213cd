use std::os::unix::fs::PermissionsExt;

use super::*;

/// A system that has only what a test puts there. Versions that cannot be installed side by side are stood in for by
/// scripts that say their version, which is all that the search asks of them.
struct System {
    root: tempfile::TempDir,
}

impl System {
    fn empty() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn with(self, directory: &str, version: &str) -> Self {
        let directory = self.root.path().join(directory);
        fs::create_dir_all(&directory).unwrap();
        for name in ["initdb", "pg_ctl", "postgres"] {
            let program = directory.join(name);
            fs::write(&program, format!("#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        self
    }

    fn with_release(self, release: &str) -> Self {
        fs::create_dir_all(self.root.path().join("etc")).unwrap();
        fs::write(self.root.path().join("etc/os-release"), release).unwrap();
        self
    }

    fn places(&self) -> Places {
        Places { root: self.root.path().to_owned(), named: None, search_path: None }
    }

    fn find(&self) -> Result<Programs, Error> {
        self.places().find(None, None)
    }
}

#[test]
fn the_newest_supported_version_of_a_system_is_taken_and_others_are_passed_over() {
    let system = System::empty()
        .with("usr/lib/postgresql/9.6/bin", "9.6.24")
        .with("usr/lib/postgresql/13/bin", "13.9")
        .with("usr/lib/postgresql/15/bin", "15.18 (Debian 15.18-0+deb12u1)")
        .with("usr/lib/postgresql/16/bin", "16.4")
        .with("usr/lib/postgresql/19/bin", "19beta1");
    let found = system.find().unwrap();
    assert_eq!(found.major(), 16);
    assert_eq!(found.directory(), system.root.path().join("usr/lib/postgresql/16/bin"));
}

#[test]
fn each_system_s_directory_is_looked_at() {
    for directory in [
        "usr/lib/postgresql/17/bin",
        "usr/pgsql-17/bin",
        "usr/libexec/postgresql17",
        "opt/homebrew/opt/postgresql@17/bin",
        "usr/local/opt/postgresql@17/bin",
        "Applications/Postgres.app/Contents/Versions/17/bin",
    ] {
        assert_eq!(System::empty().with(directory, "17.2").find().unwrap().major(), 17, "{directory}");
    }
}

#[test]
fn the_search_path_comes_last() {
    let system = System::empty().with("elsewhere", "18.1");
    let mut places = system.places();
    places.search_path = Some(system.root.path().join("elsewhere").into());
    assert_eq!(places.find(None, None).unwrap().major(), 18);
    let system = system.with("usr/lib/postgresql/14/bin", "14.1");
    assert_eq!(places.find(None, None).unwrap().major(), 14);
    drop(system);
}

#[test]
fn a_system_without_postgresql_is_told_what_to_install_in_one_sentence() {
    let system =
        System::empty().with_release("PRETTY_NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n");
    let message = system.find().unwrap_err().to_string();
    if cfg!(target_os = "macos") {
        assert!(message.contains("`brew install postgresql@17`"), "{message}");
    } else {
        assert_eq!(
            message,
            "no PostgreSQL was found: install one (`apt-get install postgresql`), or set DATABASE_URL to a server of your own, or run `docker compose up`"
        );
    }
}

#[test]
fn the_command_to_install_is_the_system_s_own() {
    assert_eq!(command_for("ID=debian\n"), DEBIAN);
    assert_eq!(command_for("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"), FEDORA);
    assert_eq!(command_for("ID=alpine\n"), ALPINE);
    assert!(command_for("ID=plan9\n").contains("Homebrew"));
}

#[test]
fn a_system_with_too_old_a_version_only_is_told_which_it_has() {
    let system = System::empty().with("usr/lib/postgresql/13/bin", "13.9").with("usr/pgsql-12/bin", "12.1");
    let error = system.find().unwrap_err();
    assert!(matches!(&error, Error::UnsupportedPrograms { found, .. } if *found == [13, 12]));
    assert!(
        error.to_string().starts_with("PostgreSQL 14 to 18 is needed, and only 13 and 12 are found: "),
        "{error}"
    );
}

#[test]
fn a_directory_that_is_named_is_the_only_one_looked_at() {
    let system = System::empty().with("usr/lib/postgresql/17/bin", "17.2").with("mine", "15.1");
    let mine = system.root.path().join("mine");
    assert_eq!(system.places().find(Some(&mine), None).unwrap().major(), 15);

    let empty = system.root.path().join("usr");
    let error = system.places().find(Some(&empty), None).unwrap_err();
    assert!(matches!(error, Error::IncompletePrograms { path } if path == empty));

    let by_variable = Places { named: Some(mine), ..system.places() };
    assert_eq!(by_variable.find(None, None).unwrap().major(), 15);
}

#[test]
fn a_cluster_gets_the_programs_that_made_it_or_an_error_that_names_them() {
    let system =
        System::empty().with("usr/lib/postgresql/17/bin", "17.2").with("usr/lib/postgresql/15/bin", "15.1");
    let data_dir = Path::new("/srv/ledger");
    assert_eq!(system.places().find(None, Some((15, data_dir))).unwrap().major(), 15);
    let error = system.places().find(None, Some((16, data_dir))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/srv/ledger was made by PostgreSQL 16, and only 17 and 15 are installed: install PostgreSQL 16, or move the directory away to begin with an empty database"
    );
}

#[test]
fn a_version_is_read_from_what_postgres_says() {
    assert_eq!(major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
    assert_eq!(major_of("postgres (PostgreSQL) 19beta1\n"), Some(19));
    assert_eq!(major_of("something else"), None);
}
