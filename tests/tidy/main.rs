//! The rules of the tree, executed. Each test reads files and fails with `file:line`, the fault, and its remedy.
//!
//! A rule is a function from a file (or from the tree, where one file cannot tell) to its faults, and has unit tests
//! that show it catching a bad sample and passing a good one. `CONTRIBUTING.md` says why the rules are there.

mod arrows;
mod compose;
mod documents;
mod failpoints;
mod leftovers;
mod migrations;
mod names;
mod portability;
mod purity;
mod rust_source;
mod sql;
mod tree;

use tree::{Fault, File, Tree};

#[test]
fn crates_depend_in_one_direction() {
    check(|tree| tree.manifests().flat_map(arrows::point_one_way).collect());
}

#[test]
fn no_release_can_be_told_to_crash() {
    check(|tree| {
        let manifests = tree.files().filter(|file| file.path.ends_with("Cargo.toml"));
        manifests.flat_map(failpoints::are_for_tests_only).collect()
    });
}

#[test]
fn http_is_known_at_the_edge_only() {
    check(|tree| {
        let manifests = tree.manifests().flat_map(arrows::http_libraries_at_the_edge);
        manifests.chain(tree.rust().flat_map(purity::http_at_the_edge)).collect()
    });
}

#[test]
fn sql_stands_in_stores_only() {
    check(|tree| tree.rust().flat_map(sql::stands_in_stores).collect());
}

#[test]
fn each_table_is_written_by_one_crate() {
    check(|tree| sql::each_table_has_one_writer(tree.rust()));
}

#[test]
fn rules_are_pure() {
    check(|tree| tree.rust().flat_map(purity::rules_are_pure).collect());
}

#[test]
fn money_never_meets_a_float() {
    check(|tree| tree.rust().flat_map(purity::no_floats).collect());
}

#[test]
fn names_say_what_is_inside() {
    check(|tree| tree.rust().chain(tree.manifests()).flat_map(names::say_what_is_inside).collect());
}

#[test]
fn every_crate_opens_with_its_map() {
    check(|tree| tree.rust().flat_map(names::crate_opens_with_its_map).collect());
}

#[test]
fn files_are_short_enough_to_read() {
    check(|tree| tree.rust().flat_map(names::file_is_short).collect());
}

#[test]
fn nothing_is_left_unfinished() {
    check(|tree| {
        let code = tree.rust().flat_map(leftovers::in_code);
        code.chain(tree.files().flat_map(leftovers::in_text)).collect()
    });
}

#[test]
fn migrations_say_why_and_name_their_constraints() {
    check(|tree| {
        let files: Vec<&File> = tree.under("migrations/").collect();
        let mut faults = migrations::are_numbered_without_repetition(&files);
        for file in files.into_iter().filter(|file| file.path.ends_with(".sql")) {
            faults.extend(migrations::begins_with_why(file));
            faults.extend(migrations::names_every_constraint(file));
            faults.extend(migrations::keys_begin_with_the_client(file));
            faults.extend(migrations::uses_nothing_that_cannot_be_spread(file));
        }
        faults
    });
}

#[test]
fn links_lead_somewhere() {
    check(|tree| tree.documents().flat_map(|file| documents::links_resolve(file, tree)).collect());
}

#[test]
fn paths_named_in_the_documents_exist() {
    check(|tree| tree.overviews().flat_map(|file| documents::named_paths_exist(file, tree)).collect());
}

#[test]
fn tests_named_in_the_documents_exist() {
    check(|tree| tree.documents().flat_map(|file| documents::named_tests_exist(file, tree)).collect());
}

#[test]
fn the_map_of_the_code_names_every_crate() {
    check(documents::every_crate_is_on_the_map);
}

#[test]
fn required_files_are_present() {
    check(documents::required_files_are_present);
}

#[test]
fn nothing_ties_the_tree_to_one_machine() {
    check(|tree| tree.files().flat_map(portability::no_machine_paths_or_registry_hosts).collect());
}

#[test]
fn the_containers_are_pinned_have_their_files_and_no_secret_in_their_variables() {
    check(|tree| {
        let Some(file) = tree.file("docker-compose.yml") else { return Vec::new() };
        let mut faults = compose::images_are_pinned(file);
        faults.extend(compose::mounts_exist(file, tree));
        faults.extend(compose::secrets_are_files(file));
        faults
    });
}

fn check(rule: impl Fn(&Tree) -> Vec<Fault>) {
    let faults = rule(&Tree::read());
    let list: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert!(list.is_empty(), "{} fault(s):\n\n{}\n", list.len(), list.join("\n"));
}
