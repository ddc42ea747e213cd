//! Where a build may be told to crash: in tests, and never in a release.

use toml::{Table, Value};

use crate::tree::{Fault, File};

/// The feature with which a crate can be made to crash, and the library that does it.
const FEATURE: &str = "failpoints";
const LIBRARY: &str = "fail-parallel";

/// Only dependencies of tests enable the feature: cargo gives a feature to everything that is built together, so that one
/// ordinary dependency with it would be enough to put it into the program that is released.
pub(crate) fn are_for_tests_only(manifest: &File) -> Vec<Fault> {
    let table: Table = manifest.text.parse().unwrap_or_else(|error| panic!("{}: {error}", manifest.path));
    let mut faults = Vec::new();
    let platforms = table.get("target").and_then(Value::as_table).into_iter().flatten();
    let workspace = table.get("workspace").and_then(Value::as_table);
    let tables = platforms.filter_map(|(_, platform)| platform.as_table()).chain([&table]).chain(workspace);
    for (name, dependency) in tables.flat_map(ordinary_dependencies) {
        let features = dependency.get("features").and_then(Value::as_array).into_iter().flatten();
        if name == LIBRARY {
            let optional = dependency.get("optional").and_then(Value::as_bool) == Some(true);
            if !optional && workspace.is_none() {
                faults.push(manifest.fault(
                    line_of(manifest, name),
                    format!("{LIBRARY} is always there"),
                    "make it optional, and enable it by the feature `failpoints`",
                ));
            }
        } else if features.filter_map(Value::as_str).any(|feature| feature == FEATURE) {
            faults.push(manifest.fault(
                line_of(manifest, name),
                format!("{name} can be told to crash in every build"),
                "enable `failpoints` in [dev-dependencies] of the tests",
            ));
        }
    }
    for (name, enables) in table.get("features").and_then(Value::as_table).into_iter().flatten() {
        let mut enabled = enables.as_array().into_iter().flatten().filter_map(Value::as_str);
        if name != FEATURE && enabled.any(|one| one == FEATURE || one.ends_with("/failpoints")) {
            faults.push(manifest.fault(
                line_of(manifest, name),
                format!("the feature {name} enables {FEATURE}"),
                "leave it to whoever asks for `failpoints` by its name",
            ));
        }
    }
    faults
}

fn ordinary_dependencies(table: &Table) -> impl Iterator<Item = (&str, &Value)> {
    let kinds = ["dependencies", "build-dependencies"];
    let tables = kinds.into_iter().filter_map(|kind| table.get(kind).and_then(Value::as_table));
    tables.flatten().map(|(name, dependency)| (name.as_str(), dependency))
}

/// The first line that begins with the key.
fn line_of(manifest: &File, key: &str) -> usize {
    let position = manifest.text.lines().position(|line| {
        line.strip_prefix(key).is_some_and(|behind| behind.trim_start().starts_with(['.', '=']))
    });
    position.map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(usize, String)> {
        let manifest = File::sample("crates/server/Cargo.toml", text);
        are_for_tests_only(&manifest).into_iter().map(|fault| (fault.line, fault.problem)).collect()
    }

    #[test]
    fn a_program_that_can_be_told_to_crash_is_caught_at_its_line() {
        for table in [
            "dependencies",
            "build-dependencies",
            "workspace.dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            let text = format!("[{table}]\ndesk = {{ workspace = true, features = [\"failpoints\"] }}\n");
            assert_eq!(problems(&text), [(2, "desk can be told to crash in every build".to_owned())]);
        }
    }

    #[test]
    fn a_feature_that_brings_it_along_is_caught() {
        for enables in ["failpoints", "desk/failpoints"] {
            let text = format!("[features]\ndefault = [\"{enables}\"]\n");
            assert_eq!(problems(&text), [(2, "the feature default enables failpoints".to_owned())]);
        }
    }

    #[test]
    fn a_library_that_is_always_there_is_caught() {
        assert_eq!(problems("[dependencies]\nfail-parallel.workspace = true\n").len(), 1);
    }

    #[test]
    fn tests_may_have_it_and_the_crate_that_offers_it() {
        assert!(
            problems("[dev-dependencies]\ndesk = { workspace = true, features = [\"failpoints\"] }\n")
                .is_empty()
        );
        let offers = "[features]\nfailpoints = [\"dep:fail-parallel\"]\n[dependencies]\nfail-parallel = { workspace = true, optional = true }\n";
        assert!(problems(offers).is_empty());
        let workspace =
            "[workspace.dependencies]\nfail-parallel = { version = \"0.6\", features = [\"failpoints\"] }\n";
        assert!(problems(workspace).is_empty());
    }
}
