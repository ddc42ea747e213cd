//! Which crate may use which: the arrows of the architecture, as a table.

use crate::tree::{Fault, File};

/// Each crate, and the crates of this workspace that it may depend on. `None`: all of them.
const ARROWS: &[(&str, Option<&[&str]>)] = &[
    ("money", Some(&[])),
    ("client", Some(&[])),
    ("account", Some(&["money", "client"])),
    ("inventory", Some(&["money", "client"])),
    ("order", Some(&["money", "account", "inventory", "client"])),
    ("payment-callback", Some(&["money", "account", "order", "client"])),
    // It reads what the others write, and writes nothing.
    ("history", Some(&["money", "client", "account", "order"])),
    ("idempotency", Some(&["client"])),
    ("reports", Some(&["money", "client"])),
    ("notifications", Some(&["client"])),
    ("events", Some(&["client", "idempotency"])),
    (
        "desk",
        Some(&[
            "money",
            "client",
            "account",
            "inventory",
            "order",
            "payment-callback",
            "idempotency",
            "events",
            "reports",
            "notifications",
        ]),
    ),
    // Nothing that it audits: a mistake there must not be repeated here.
    ("audit", Some(&["money"])),
    // Likewise. What it reads of a provider's statement, it compares with the tables alone.
    ("reconciliation", Some(&["money"])),
    ("consumers", Some(&["money", "client", "idempotency", "events", "reports", "notifications", "desk"])),
    ("saga", Some(&["desk", "events"])),
    ("gateway", Some(&["client", "idempotency"])),
    ("embedded-postgres", Some(&[])),
    ("load-generator", Some(&[])),
    // Nothing of the service that it plays against, or the two could share a mistake.
    ("provider-simulator", Some(&[])),
    ("server", None),
];

/// Libraries that speak HTTP, and the crates that may.
const HTTP_LIBRARIES: &[&str] = &["axum", "axum-server", "http", "hyper", "tower", "tower-http", "utoipa"];
/// The simulator is no part of the service: it is the other end of the wire.
const HTTP_CRATES: &[&str] = &["server", "gateway", "provider-simulator"];

/// A crate depends only on those its row of [`ARROWS`] names, since an arrow that points back lets a rule reach into
/// what decides over it. Tests may use any crate but the server, which would make every test build the world.
pub(crate) fn point_one_way(manifest: &File) -> Vec<Fault> {
    let Some(name) = manifest.crate_name() else { return Vec::new() };
    let Some((_, allowed)) = ARROWS.iter().find(|(one, _)| *one == name) else {
        return vec![manifest.fault(
            1,
            format!("the crate {name} has no arrows"),
            "add it to ARROWS in tests/tidy/arrows.rs and to the map in ARCHITECTURE.md, with what it may use",
        )];
    };
    let mut faults = Vec::new();
    for dependency in dependencies(manifest) {
        if !ARROWS.iter().any(|(one, _)| *one == dependency.name) {
            continue;
        }
        let is_allowed = if dependency.for_tests_only {
            dependency.name != "server"
        } else {
            allowed.is_none_or(|allowed| allowed.contains(&dependency.name.as_str()))
        };
        if !is_allowed {
            faults.push(manifest.fault(
                dependency.line,
                format!("{name} must not know {}", dependency.name),
                "pass in what is needed as an argument, or move the code to the crate that may know both",
            ));
        }
    }
    faults
}

/// Only the edge knows that requests come over HTTP: the same effect is asked for by a message or a timer.
pub(crate) fn http_libraries_at_the_edge(manifest: &File) -> Vec<Fault> {
    if manifest.crate_name().is_none_or(|name| HTTP_CRATES.contains(&name)) {
        return Vec::new();
    }
    dependencies(manifest)
        .into_iter()
        .filter(|dependency| !dependency.for_tests_only && HTTP_LIBRARIES.contains(&dependency.name.as_str()))
        .map(|dependency| {
            manifest.fault(
                dependency.line,
                format!("{} speaks HTTP, and this crate must not know of it", dependency.name),
                "return a domain type, and translate it in the server or the gateway",
            )
        })
        .collect()
}

struct Dependency {
    name: String,
    line: usize,
    for_tests_only: bool,
}

fn dependencies(manifest: &File) -> Vec<Dependency> {
    let table: toml::Table =
        manifest.text.parse().unwrap_or_else(|error| panic!("{}: {error}", manifest.path));
    let platforms = table.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let tables = std::iter::once(&table).chain(platforms.filter_map(|(_, platform)| platform.as_table()));
    let mut found = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (name, _) in table.get(kind).and_then(toml::Value::as_table).into_iter().flatten() {
                found.push(Dependency {
                    name: name.clone(),
                    line: line_of_key(&manifest.text, kind, name),
                    for_tests_only: kind == "dev-dependencies",
                });
            }
        }
    }
    found
}

/// The line of `name` below the heading of its table; the heading may itself end in the name.
fn line_of_key(text: &str, kind: &str, name: &str) -> usize {
    let below = text.lines().enumerate().skip_while(|(_, line)| !line.contains(&format!("{kind}]")));
    let key = below.skip(1).find(|(_, line)| {
        line.strip_prefix(name).is_some_and(|behind| behind.trim_start().starts_with(['.', '=']))
    });
    key.map_or(1, |(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, text: &str) -> File {
        File::sample(&format!("crates/{name}/Cargo.toml"), text)
    }

    #[test]
    fn an_arrow_that_points_back_is_caught_at_its_line() {
        let faults = point_one_way(&manifest(
            "account",
            "[package]\nname = \"account\"\n\n[dependencies]\nmoney.workspace = true\norder.workspace = true\n",
        ));
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 6);
        assert_eq!(faults[0].problem, "account must not know order");
    }

    #[test]
    fn an_arrow_of_the_table_and_a_foreign_library_pass() {
        let text = "[dependencies]\nmoney.workspace = true\nsqlx = { version = \"0.9\" }\n";
        assert!(point_one_way(&manifest("account", text)).is_empty());
        assert!(point_one_way(&manifest("server", "[dependencies]\ndesk.workspace = true\n")).is_empty());
    }

    #[test]
    fn tests_may_use_any_crate_but_the_server() {
        let text = "[dev-dependencies]\nembedded-postgres.workspace = true\nserver.workspace = true\n";
        let faults = point_one_way(&manifest("money", text));
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 3);
    }

    #[test]
    fn a_dependency_for_one_platform_counts() {
        let text = "[target.'cfg(unix)'.dependencies]\ndesk.workspace = true\n";
        assert_eq!(point_one_way(&manifest("money", text)).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_is_caught() {
        assert_eq!(point_one_way(&manifest("ledger", "[package]\n")).len(), 1);
    }

    #[test]
    fn http_libraries_are_caught_away_from_the_edge() {
        let text = "[dependencies]\naxum.workspace = true\ntower-http = \"0.7\"\n";
        assert_eq!(http_libraries_at_the_edge(&manifest("desk", text)).len(), 2);
        assert!(http_libraries_at_the_edge(&manifest("gateway", text)).is_empty());
        assert!(http_libraries_at_the_edge(&manifest("desk", "[dependencies]\nbytes = \"1\"\n")).is_empty());
    }
}
