use std::fs;

use clap::CommandFactory;
use sqlx::ConnectOptions;

use super::*;

const REFERENCE: &str = include_str!("../../../../docs/reference/configuration.md");

fn parse(arguments: &[&str]) -> CommandLine {
    CommandLine::try_parse_from(["onefold"].iter().chain(arguments)).unwrap()
}

#[test]
fn the_command_line_is_well_formed() {
    CommandLine::command().debug_assert();
}

#[test]
fn no_command_means_serve() {
    assert!(parse(&[]).command.is_none());
    assert!(matches!(parse(&["serve"]).command, Some(Command::Serve)));
}

#[test]
fn a_flag_works_before_and_after_its_command() {
    for arguments in [
        ["--data-dir", "elsewhere", "client", "create", "shop"],
        ["client", "--data-dir", "elsewhere", "create", "shop"],
        ["client", "create", "shop", "--data-dir", "elsewhere"],
    ] {
        assert_eq!(parse(&arguments).options.data_dir(), Some(Path::new("elsewhere")), "{arguments:?}");
    }
    for arguments in [["--listen", "localhost:0", "serve"], ["serve", "--listen", "localhost:0"]] {
        assert_eq!(parse(&arguments).options.listen, "localhost:0", "{arguments:?}");
    }
}

#[test]
fn a_value_that_is_empty_counts_as_not_given() {
    let options = parse(&["--listen", "", "--database-url", "", "--data-dir", "", "--config", ""]).options;
    assert_eq!(options.listen(), LISTEN_DEFAULT);
    assert_eq!(parse(&["--operations-listen", ""]).options.operations_listen(), None);
    assert_eq!(options.database_url(), None);
    assert_eq!(options.data_dir(), None);
    assert_eq!(options.configuration().unwrap(), Configuration::default());
}

#[test]
fn the_password_of_a_file_is_that_of_the_url_and_a_file_without_one_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("password");
    let database = || {
        let url = ["--database-url", "postgres://shop@db:5432/books", "--database-password-file"];
        parse(&[&url[..], &[file.to_str().unwrap()]].concat()).options.database()
    };
    let missing = format!("{:#}", database().unwrap_err());
    assert!(missing.contains("cannot be read") && missing.contains("DATABASE_PASSWORD_FILE"), "{missing}");
    fs::write(&file, "\n").unwrap();
    assert!(database().unwrap_err().to_string().contains("is empty"));
    fs::write(&file, "p w:@/\n").unwrap();
    let url = database().unwrap().unwrap().to_url_lossy();
    assert_eq!((url.username(), url.password()), ("shop", Some("p%20w%3A%40%2F")));
    let embedded = parse(&["--database-password-file", file.to_str().unwrap()]).options;
    assert!(embedded.database().unwrap().is_none());
}

#[test]
fn a_cause_is_told_once() {
    let io = || io::Error::other("the disk is full");
    let told = anyhow::Error::new(io()).context("cannot write the books: the disk is full");
    assert_eq!(sentence(&told), "cannot write the books: the disk is full");
    let untold = anyhow::Error::new(io()).context("cannot write the books");
    assert_eq!(sentence(&untold), "cannot write the books: the disk is full");
}

#[test]
fn the_reference_lists_every_flag_variable_and_command() {
    let command = CommandLine::command();
    for argument in command.get_arguments() {
        let flag = format!("`--{}", argument.get_long().expect("every option has a long name"));
        if !["help", "version"].contains(&argument.get_id().as_str()) {
            let row = REFERENCE.lines().find(|line| line.starts_with(&format!("| {flag}")));
            let row = row.unwrap_or_else(|| panic!("{flag} is not listed"));
            let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            assert!(variable.is_none_or(|name| row.contains(&format!("| `{name}` |"))), "{row}");
        }
    }
    for variable in telemetry::FILTER_VARIABLES {
        assert!(REFERENCE.contains(variable), "{variable}");
    }
    assert!(REFERENCE.contains(LISTEN_DEFAULT) && REFERENCE.contains(DATA_DIR_DEFAULT));
    assert!(REFERENCE.contains(telemetry::DEFAULT_OF_A_SERVER));
    for subcommand in command.get_subcommands() {
        let name = subcommand.get_name();
        let listed = REFERENCE.contains(&format!("`onefold {name}"));
        assert!(listed, "onefold {name} is not listed");
        for nested in subcommand.get_subcommands().map(clap::Command::get_name) {
            assert!(REFERENCE.contains(&format!("`onefold {name} {nested}")), "onefold {name} {nested}");
        }
    }
}
