//! What would make the tree work on one machine, or behind one mirror, and nowhere else.

use crate::tree::{Fault, File};

/// Folders that only the machine of whoever wrote the line has for sure.
fn machine_paths() -> [String; 2] {
    // Put together here, so that this file obeys its own rule.
    ["work", "root"].map(|folder| format!("/{folder}/"))
}

/// Hosts that package managers fetch from: which of them are used is the machine's setting.
fn registry_hosts() -> Vec<String> {
    let hosts = [
        ["index", "crates.io"],
        ["static", "crates.io"],
        ["deb", "debian.org"],
        ["security", "debian.org"],
        ["archive", "ubuntu.com"],
        ["files", "pythonhosted.org"],
        ["registry", "npmjs.org"],
        ["proxy", "golang.org"],
    ];
    let python = ["py", "pi.org"].concat();
    hosts.iter().map(|parts| parts.join(".")).chain([python]).collect()
}

pub(crate) fn no_machine_paths_or_registry_hosts(file: &File) -> Vec<Fault> {
    if file.path == "Cargo.lock" {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for path in machine_paths() {
            let begins_there = |at: usize| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | '}' | '/'))
            };
            if line.match_indices(&path).any(|(at, _)| begins_there(at)) {
                faults.push(file.fault(
                    index + 1,
                    format!("the machine's path {path}"),
                    "name it from the repository's root, or take it from a setting",
                ));
            }
        }
        for host in registry_hosts().iter().filter(|host| line.contains(host.as_str())) {
            faults.push(file.fault(
                index + 1,
                format!("the registry {host}"),
                "leave the choice of a registry to the machine that fetches",
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_path_is_caught_at_its_line() {
        for path in machine_paths() {
            for text in [format!("\ncd {path}main"), format!("\n`{path}x`"), format!("\npath=\"{path}x\"")] {
                let faults = no_machine_paths_or_registry_hosts(&File::sample("docs/page.md", &text));
                assert_eq!(faults.len(), 1, "{text}");
                assert_eq!(faults[0].line, 2);
            }
        }
    }

    #[test]
    fn a_registry_is_caught_but_not_in_the_lock_file() {
        for host in registry_hosts() {
            let text = format!("fetch https://{host}/x");
            assert_eq!(
                no_machine_paths_or_registry_hosts(&File::sample("Dockerfile", &text)).len(),
                1,
                "{host}"
            );
            assert!(no_machine_paths_or_registry_hosts(&File::sample("Cargo.lock", &text)).is_empty());
        }
    }

    #[test]
    fn a_path_of_the_tree_passes() {
        let alike = ["docs/wo", "rk/page.md"].concat();
        for text in [alike.as_str(), "below root's home", "https://crates.io/crates/sqlx", "$HOME/root/x"] {
            assert!(
                no_machine_paths_or_registry_hosts(&File::sample("docs/page.md", text)).is_empty(),
                "{text}"
            );
        }
    }
}
