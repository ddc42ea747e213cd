//! Documents and tree agree: links lead somewhere, named paths exist, and what a reader looks for is there.

use std::collections::BTreeMap;

use crate::tree::{Fault, File, Tree};

/// Every relative link names a file or folder of the tree, and its `#anchor` a heading of it.
pub(crate) fn links_resolve(file: &File, tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for link in links(&file.text) {
        let is_elsewhere = link.target.contains("://") || link.target.starts_with("mailto:");
        if is_elsewhere {
            continue;
        }
        let (path, anchor) = match link.target.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (link.target.as_str(), None),
        };
        let Some(path) = resolve(&file.path, path) else {
            faults.push(file.fault(
                link.line,
                format!("{} leaves the repository", link.target),
                "link inside it",
            ));
            continue;
        };
        if !tree.has(&path) {
            faults.push(file.fault(
                link.line,
                format!("{} leads nowhere", link.target),
                "write the path from this document's own folder, or write the missing page",
            ));
            continue;
        }
        let target = tree.file(&path).filter(|target| target.path.ends_with(".md"));
        if let (Some(anchor), Some(target)) = (anchor, target)
            && !anchors(&target.text).iter().any(|one| one == anchor)
        {
            faults.push(file.fault(
                link.line,
                format!("{path} has no heading #{anchor}"),
                "take the anchor from the heading: small letters, hyphens for blanks, no other marks",
            ));
        }
    }
    faults
}

/// Folders whose names make a path in backticks recognisable as one of this tree.
const FOLDERS: &[&str] =
    &["crates/", "docs/", "tests/", "scripts/", "migrations/", "openapi/", "examples/", ".ci/", ".cargo/"];

/// A path in backticks that begins with a folder of the repository exists. One with a pattern in it is prose.
pub(crate) fn named_paths_exist(file: &File, tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, span) in code_spans(&file.text) {
        let is_path = FOLDERS.iter().any(|folder| span.starts_with(folder))
            && !span.contains(|c: char| c.is_whitespace() || "*{}<>…$".contains(c))
            && !span.contains("NNNN")
            && !span.contains("NAME");
        let path = span.split(['#', ':']).next().unwrap_or_default();
        if is_path && !tree.has(path) {
            faults.push(file.fault(
                line,
                format!("`{span}` does not exist"),
                "name what is there, or remove the line",
            ));
        }
    }
    faults
}

/// In a row of a table, a test named in backticks stands in one of the files that the row links to.
pub(crate) fn named_tests_exist(file: &File, tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let links = links(&file.text);
    for (line, span) in code_spans(&file.text) {
        let is_test =
            span.matches('_').count() >= 5 && span.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let linked: Vec<&File> = links
            .iter()
            .filter(|link| link.line == line && link.target.ends_with(".rs"))
            .filter_map(|link| tree.file(&resolve(&file.path, &link.target)?))
            .collect();
        if is_test
            && !linked.is_empty()
            && !linked.iter().any(|code| code.text.contains(&format!("fn {span}(")))
        {
            faults.push(file.fault(
                line,
                format!("no file linked in this line has a test `{span}`"),
                "name the test that shows it, or link the file that has it",
            ));
        }
    }
    faults
}

/// The code map of `ARCHITECTURE.md` names each crate, by its folder or by its name in backticks.
pub(crate) fn every_crate_is_on_the_map(tree: &Tree) -> Vec<Fault> {
    let Some(map) = tree.file("ARCHITECTURE.md") else { return Vec::new() };
    let spans: Vec<String> = code_spans(&map.text).into_iter().map(|(_, span)| span).collect();
    let mut faults = Vec::new();
    for manifest in tree.manifests() {
        let Some(name) = manifest.crate_name() else { continue };
        let folder = format!("crates/{name}");
        let is_named = spans.iter().any(|span| {
            span == name
                || span.strip_prefix(&folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if !is_named {
            faults.push(map.fault(
                1,
                format!("the crate {name} is not on the map"),
                "say what it answers for",
            ));
        }
    }
    faults
}

/// What a reader, a user or a build looks for by name. A folder is there when a file is in it.
const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "Cargo.lock",
    "Dockerfile",
    "docker-compose.yml",
    "onefold.example.toml",
    "openapi/openapi.json",
    "scripts/run",
    "scripts/test",
    ".ci/run",
    "docs/adr/",
    "docs/concepts/",
    "docs/reference/",
    "migrations/",
];

pub(crate) fn required_files_are_present(tree: &Tree) -> Vec<Fault> {
    let is_there = |path: &str| match path.strip_suffix('/') {
        Some(_) => tree.under(path).next().is_some(),
        None => tree.has(path),
    };
    let missing = REQUIRED.iter().filter(|path| !is_there(path));
    missing
        .map(|path| File { path: (*path).to_owned(), text: String::new() }.fault(1, "is missing", "write it"))
        .collect()
}

struct Link {
    line: usize,
    target: String,
}

/// The targets of `[text](target)` and `[label]: target`, outside of code.
fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, prose) in prose_lines(text) {
        let prose = without_code_spans(prose);
        let mut targets: Vec<&str> =
            prose.split("](").skip(1).filter_map(|behind| until_closed(behind)).collect();
        if prose.starts_with('[')
            && let Some((_, target)) = prose.split_once("]: ")
        {
            targets.push(target);
        }
        for target in targets {
            // A title may follow the target, and angle brackets may enclose it.
            let target = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
            links.push(Link { line, target: target.to_owned() });
        }
    }
    links
}

/// What stands before the parenthesis that closes a link; its target may have pairs of its own.
fn until_closed(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(&text[..at]),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The path from the repository's root of what a document at `from` calls `path`; `None` where that is outside.
fn resolve(from: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        return None;
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a document's headings, as the usual viewers make them, and those that it sets itself.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for (_, line) in prose_lines(text) {
        for attribute in ["id=\"", "name=\""] {
            anchors.extend(
                line.split(attribute)
                    .skip(1)
                    .filter_map(|behind| behind.split('"').next())
                    .map(str::to_owned),
            );
        }
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug = slug(heading.trim());
        let repeated = seen.entry(slug.clone()).or_default();
        anchors.push(if *repeated == 0 { slug } else { format!("{slug}-{repeated}") });
        *repeated += 1;
    }
    anchors
}

fn slug(heading: &str) -> String {
    // Of a link in a heading only the text counts.
    let mut shown = String::new();
    let mut rest = heading;
    while let Some((before, behind)) = rest.split_once("](") {
        shown.push_str(before);
        rest = until_closed(behind).map_or("", |target| &behind[target.len() + 1..]);
    }
    shown.push_str(rest);
    let kept = shown.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines (from 1) outside of fenced code.
fn prose_lines(text: &str) -> Vec<(usize, &str)> {
    let mut is_fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// What stands between single backticks, with its line.
fn code_spans(text: &str) -> Vec<(usize, String)> {
    let mut spans = Vec::new();
    for (line, prose) in prose_lines(text) {
        spans.extend(prose.split('`').skip(1).step_by(2).map(|span| (line, span.to_owned())));
    }
    spans
}

fn without_code_spans(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of_links(text: &str) -> Vec<(usize, String)> {
        let tree = Tree::sample(&[
            ("docs/page.md", text),
            ("docs/other.md", "# The `desk`: one door!\n\n## Again\n\n## Again\n\n```\n# no heading\n```\n"),
            ("README.md", "# Onefold\n"),
        ]);
        let page = tree.file("docs/page.md").expect("the sample has the page");
        links_resolve(page, &tree).into_iter().map(|fault| (fault.line, fault.problem)).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_caught_at_its_line() {
        assert_eq!(faults_of_links("x\n[a](missing.md)"), [(2, "missing.md leads nowhere".to_owned())]);
        assert_eq!(faults_of_links("[a]: ../gone.md").len(), 1);
        assert_eq!(faults_of_links("[a](../../outside.md)").len(), 1);
        assert_eq!(faults_of_links("[a](/docs/other.md)").len(), 1);
    }

    #[test]
    fn an_anchor_without_a_heading_is_caught() {
        assert_eq!(faults_of_links("[a](other.md#two-doors)").len(), 1);
        assert_eq!(faults_of_links("[a](other.md#no-heading)").len(), 1);
        assert_eq!(faults_of_links("[a](#nothing-here)").len(), 1);
    }

    #[test]
    fn a_link_to_a_file_a_folder_a_heading_or_elsewhere_passes() {
        let text = "# Here\n[a](other.md) [b](../README.md#onefold \"title\") [c](.) [d](#here) [e](<other.md#again-1>)\n\
                    [f](other.md#the-desk-one-door) [g](https://example.com/x#y)\n`[h](code.md)`\n```\n[i](fenced.md)\n```\n";
        assert_eq!(faults_of_links(text), []);
    }

    #[test]
    fn a_named_test_that_its_file_does_not_have_is_caught() {
        let faults = |name: &str| {
            let row = format!("| it holds | [a.rs](../tests/a.rs) `{name}` |");
            let code = "fn a_name_that_is_a_whole_sentence() {}";
            let tree = Tree::sample(&[("docs/page.md", row.as_str()), ("tests/a.rs", code)]);
            named_tests_exist(tree.file("docs/page.md").expect("the sample has the page"), &tree).len()
        };
        assert_eq!(faults("a_name_that_is_a_whole_sentence"), 0);
        assert_eq!(faults("a_name_that_is_another_sentence"), 1);
    }

    #[test]
    fn a_named_path_that_does_not_exist_is_caught() {
        let tree = Tree::sample(&[
            ("ARCHITECTURE.md", "`crates/desk/src/lane.rs`\n`crates/gone/`"),
            ("crates/desk/src/lane.rs", ""),
        ]);
        let map = tree.file("ARCHITECTURE.md").expect("the sample has the map");
        let faults = named_paths_exist(map, &tree);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 2);
    }

    #[test]
    fn a_pattern_a_place_in_a_file_and_another_word_pass() {
        let text =
            "`crates/*/src/store.rs` `crates/desk:1` `tokio/time` `cargo test` `migrations/NNNN_why.sql`";
        let tree = Tree::sample(&[("ARCHITECTURE.md", text), ("crates/desk", "")]);
        let map = tree.file("ARCHITECTURE.md").expect("the sample has the map");
        assert!(named_paths_exist(map, &tree).is_empty());
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_caught() {
        let manifests = [("crates/desk/Cargo.toml", ""), ("crates/money/Cargo.toml", "")];
        let maps = [
            ("`desk` decides", 1),
            ("`desk`, and `crates/money/src/lib.rs`", 0),
            ("`crates/desk-lamp` `moneys`", 2),
        ];
        for (text, expected) in maps {
            let tree = Tree::sample(&[("ARCHITECTURE.md", text), manifests[0], manifests[1]]);
            assert_eq!(every_crate_is_on_the_map(&tree).len(), expected, "{text}");
        }
    }

    #[test]
    fn a_missing_file_and_an_empty_folder_are_caught() {
        let all: Vec<(String, &str)> = REQUIRED
            .iter()
            .map(
                |path| {
                    if path.ends_with('/') { (format!("{path}a.md"), "") } else { ((*path).to_owned(), "") }
                },
            )
            .collect();
        let files: Vec<(&str, &str)> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        assert!(required_files_are_present(&Tree::sample(&files)).is_empty());
        for without in 0..files.len() {
            let mut fewer = files.clone();
            fewer.remove(without);
            assert_eq!(required_files_are_present(&Tree::sample(&fewer)).len(), 1);
        }
    }
}
