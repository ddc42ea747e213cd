//! What is written to be finished later and never is.

use crate::{
    rust_source::{RustSource, has_word},
    tree::{Fault, File},
};

const IN_CODE: &[(&str, &str)] = &[
    ("todo!", "write it, or leave out what calls it"),
    ("unimplemented!", "write it, or leave out what calls it"),
    ("#[ignore", "make the test run everywhere, or delete it; what runs long asks for ONEFOLD_TEST_LONG"),
    ("thread::sleep", "wait for the state itself: a channel, a barrier, or a deadline around a check"),
];

/// Unfinished code, tests that do not run, and sleeps, in tests too.
pub(crate) fn in_code(file: &File) -> Vec<Fault> {
    let source = RustSource::parse(&file.text);
    let mut faults = Vec::new();
    for (index, line) in source.code.lines().enumerate() {
        for (word, remedy) in IN_CODE.iter().filter(|(word, _)| line.contains(word)) {
            faults.push(file.fault(index + 1, format!("`{word}`"), remedy));
        }
    }
    faults
}

/// Characters that an explanation has at least.
const EXPLANATION_MIN: usize = 20;

/// Marks that ask for later work: in comments of Rust files, anywhere in other texts.
pub(crate) fn in_text(file: &File) -> Vec<Fault> {
    if file.path.ends_with(".rs") {
        let comments = RustSource::parse(&file.text).comments;
        comments.iter().flat_map(|comment| marks_in(file, &comment.text, comment.line)).collect()
    } else if file.path == "Cargo.lock" {
        Vec::new()
    } else {
        marks_in(file, &file.text, 1)
    }
}

fn marks_in(file: &File, text: &str, first_line: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if has_word(line, "FIXME") || has_word(line, "XXX:") {
            faults.push(file.fault(first_line + index, "a mark of something broken", "mend it now"));
        }
        if has_word(line, "TODO") {
            let explanation = line.split_once("TODO:").map_or("", |(_, behind)| behind.trim());
            if explanation.len() < EXPLANATION_MIN {
                faults.push(file.fault(
                    first_line + index,
                    "a TODO without an explanation",
                    "do it now, or say after `TODO:` what is missing, and why it can be",
                ));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_code_and_tests_that_do_not_run_are_caught() {
        for text in ["fn f() { todo!() }", "fn f() { unimplemented!() }", "#[ignore]", "#[ignore = \"slow\"]"]
        {
            assert_eq!(in_code(&File::sample("crates/order/src/order.rs", text)).len(), 1, "{text}");
        }
        let faults = in_code(&File::sample("tests/races.rs", "\nstd::thread::sleep(x);"));
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 2);
    }

    #[test]
    fn talk_of_them_passes() {
        let text =
            "// never todo!() nor #[ignore]\nlet s = \"thread::sleep\"; // ISO 4217 calls no currency XXX\n";
        assert!(in_code(&File::sample("crates/order/src/order.rs", text)).is_empty());
        assert!(in_text(&File::sample("crates/order/src/order.rs", text)).is_empty());
    }

    #[test]
    fn marks_are_caught_in_comments_and_documents() {
        for text in
            ["// FIXME", "/*\n XXX: later */", "// TODO", "// TODO: soon", "fn f() {} // TODO(me): later on"]
        {
            assert_eq!(in_text(&File::sample("crates/order/src/order.rs", text)).len(), 1, "{text}");
        }
        assert_eq!(in_text(&File::sample("docs/page.md", "\nTODO")).first().map(|fault| fault.line), Some(2));
    }

    #[test]
    fn an_explained_mark_and_a_literal_pass() {
        let explained = "// TODO: the driver has no pipelining yet; two round trips until it does.";
        assert!(in_text(&File::sample("crates/order/src/order.rs", explained)).is_empty());
        assert!(in_text(&File::sample("crates/order/src/order.rs", "let s = \"FIXME\";")).is_empty());
    }
}
