//! What files and modules are called, how they begin, and how long they are.

use crate::{
    rust_source::{RustSource, has_word},
    tree::{Fault, File},
};

/// Names that say nothing of what is inside, and so attract whatever has no place.
const EMPTY_NAMES: &[&str] = &[
    "common", "core", "shared", "util", "utils", "utility", "helper", "helpers", "type", "types", "misc",
    "stuff",
];

/// For a Rust file its folders and its modules, for a crate's manifest the crate.
pub(crate) fn say_what_is_inside(file: &File) -> Vec<Fault> {
    let remedy = "name it after the noun that it holds";
    let mut faults = Vec::new();
    for part in file.path.trim_end_matches(".rs").trim_end_matches("/Cargo.toml").split('/') {
        if EMPTY_NAMES.contains(&part) {
            faults.push(file.fault(1, format!("a path part called {part}"), remedy));
        }
    }
    if !file.path.ends_with(".rs") {
        return faults;
    }
    for (index, line) in RustSource::parse(&file.text).code.lines().enumerate() {
        let Some((_, behind)) = line.split_once("mod ").filter(|_| has_word(line, "mod")) else { continue };
        let name: String = behind.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if EMPTY_NAMES.contains(&name.as_str()) {
            faults.push(file.fault(index + 1, format!("a module called {name}"), remedy));
        }
    }
    faults
}

/// `lib.rs` is a crate's map: what it promises, and its modules in reading order.
pub(crate) fn crate_opens_with_its_map(file: &File) -> Vec<Fault> {
    if !file.path.ends_with("src/lib.rs") || file.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![file.fault(
        1,
        "a crate without a word on what it is for",
        "begin lib.rs with `//!` and the crate's promise",
    )]
}

/// Lines that a file of code may have; the house says 400, and some slack keeps a split from being made in haste.
const LINES_MAX: usize = 500;
/// Tests are tables and scenarios, which are read in pieces.
const TEST_LINES_MAX: usize = 800;

pub(crate) fn file_is_short(file: &File) -> Vec<Fault> {
    let lines = file.text.lines().count();
    let lines_max = if file.is_test() { TEST_LINES_MAX } else { LINES_MAX };
    if lines <= lines_max {
        return Vec::new();
    }
    vec![file.fault(
        lines_max + 1,
        format!("{lines} lines, where {lines_max} are the most"),
        "split the file by noun, or move its unit tests to a file of their own",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_says_nothing_is_caught() {
        assert_eq!(say_what_is_inside(&File::sample("crates/order/src/utils.rs", "")).len(), 1);
        assert_eq!(say_what_is_inside(&File::sample("crates/order/tests/common/mod.rs", "")).len(), 1);
        assert_eq!(say_what_is_inside(&File::sample("crates/core/Cargo.toml", "")).len(), 1);
        let faults =
            say_what_is_inside(&File::sample("crates/order/src/lib.rs", "//! x\npub(crate) mod types {}\n"));
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 2);
    }

    #[test]
    fn a_name_that_says_something_passes() {
        let text = "//! mod utils was never here\nmod currency;\nuse std::fmt::Write as _;\n";
        assert!(say_what_is_inside(&File::sample("crates/money/src/lib.rs", text)).is_empty());
        assert!(say_what_is_inside(&File::sample("crates/money/Cargo.toml", "")).is_empty());
    }

    #[test]
    fn a_crate_without_a_map_is_caught() {
        assert_eq!(
            crate_opens_with_its_map(&File::sample("crates/money/src/lib.rs", "mod amount;")).len(),
            1
        );
        assert!(
            crate_opens_with_its_map(&File::sample("crates/money/src/lib.rs", "//! Exact amounts."))
                .is_empty()
        );
        assert!(crate_opens_with_its_map(&File::sample("crates/money/src/amount.rs", "mod x;")).is_empty());
    }

    #[test]
    fn a_long_file_is_caught_and_a_test_may_be_longer() {
        let text = "x\n".repeat(501);
        let faults = file_is_short(&File::sample("crates/money/src/amount.rs", &text));
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 501);
        assert!(file_is_short(&File::sample("crates/money/src/amount.rs", &text[2..])).is_empty());
        assert!(file_is_short(&File::sample("crates/money/tests/amounts.rs", &text)).is_empty());
        assert_eq!(file_is_short(&File::sample("tests/http/orders.rs", &"x\n".repeat(801))).len(), 1);
    }
}
