//! Where SQL may stand, and who may write which table.

use std::collections::BTreeMap;

use crate::{
    rust_source::RustSource,
    tree::{Fault, File},
};

/// Calls that take a statement, for the case where it is put together out of sight of the literal.
const QUERY_CALLS: &[&str] =
    &["sqlx::query", "query_as", "query_scalar", "raw_sql", "QueryBuilder", "AssertSqlSafe"];

/// Statements stand in `store.rs` (or the files of `store/`) of the crate that owns the table, so that whoever changes
/// the table finds all of them.
pub(crate) fn stands_in_stores(file: &File) -> Vec<Fault> {
    if file.is_test() || file.is_store() {
        return Vec::new();
    }
    let remedy =
        "move the statement to the store.rs of the crate that owns the table, behind a named function";
    let source = RustSource::parse(&file.text).without_tests();
    let mut faults = Vec::new();
    for literal in source.strings.iter().filter(|literal| is_statement(&literal.text)) {
        let beginning: String = literal.text.trim_start().chars().take(40).collect();
        faults.push(file.fault(
            literal.line,
            format!("SQL outside a store: {}", beginning.escape_debug()),
            remedy,
        ));
    }
    for call in QUERY_CALLS {
        faults.extend(
            source.lines_with(call).map(|line| file.fault(line, format!("`{call}` outside a store"), remedy)),
        );
    }
    faults
}

/// A table is written by one crate, so that one crate can promise what holds of its rows.
pub(crate) fn each_table_has_one_writer<'a>(files: impl Iterator<Item = &'a File>) -> Vec<Fault> {
    let mut writers: BTreeMap<String, &str> = BTreeMap::new();
    let mut faults = Vec::new();
    for file in files.filter(|file| file.is_store() && !file.is_test()) {
        let Some(name) = file.crate_name() else { continue };
        for literal in RustSource::parse(&file.text).without_tests().strings {
            for table in written_tables(&literal.text) {
                let writer = *writers.entry(table.clone()).or_insert(name);
                if writer != name {
                    faults.push(file.fault(
                        literal.line,
                        format!("{name} writes the table {table}, which {writer} writes"),
                        "call the store of the crate that owns the table",
                    ));
                }
            }
        }
    }
    faults
}

/// Keywords are told from prose by their capitals, which the house style asks for; a statement in small letters is
/// known by how it begins.
fn is_statement(text: &str) -> bool {
    let words = words(text);
    let pairs = || words.windows(2).map(|pair| (pair[0], pair[1]));
    words.contains(&"SELECT")
        || pairs().any(|pair| {
            matches!(pair, ("INSERT", "INTO") | ("DELETE", "FROM") | ("TRUNCATE" | "LOCK", "TABLE"))
        })
        || pairs().any(|(verb, noun)| matches!(verb, "CREATE" | "ALTER" | "DROP") && is_schema_noun(noun))
        || !updated_tables(&words).is_empty()
        || begins_a_lower_case_statement(&words)
}

fn is_schema_noun(word: &str) -> bool {
    matches!(
        word,
        "TABLE"
            | "INDEX"
            | "UNIQUE"
            | "ROLE"
            | "DATABASE"
            | "SCHEMA"
            | "TYPE"
            | "EXTENSION"
            | "VIEW"
            | "FUNCTION"
    )
}

fn begins_a_lower_case_statement(words: &[&str]) -> bool {
    match words {
        ["select", rest @ ..] => rest.contains(&"from"),
        ["insert", "into", ..] | ["delete", "from", ..] => true,
        ["update", _, rest @ ..] => rest.first() == Some(&"set"),
        _ => false,
    }
}

fn written_tables(text: &str) -> Vec<String> {
    let words = words(text);
    let mut tables = updated_tables(&words);
    for window in words.windows(3) {
        if let ["INSERT", "INTO", table] | ["DELETE", "FROM", table] = window {
            tables.push((*table).to_owned());
        }
    }
    tables
}

/// `UPDATE table SET`, `UPDATE table AS t SET`, `UPDATE table t SET`; not `FOR UPDATE` and `DO UPDATE SET`.
fn updated_tables(words: &[&str]) -> Vec<String> {
    let mut tables = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == "UPDATE") {
        let is_clause = at > 0 && matches!(words[at - 1], "FOR" | "KEY" | "DO" | "ON");
        if let Some(table) = words.get(at + 1).filter(|_| !is_clause)
            && words[at + 2..].iter().take(3).any(|word| *word == "SET")
        {
            tables.push((*table).to_owned());
        }
    }
    tables
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_outside_a_store_is_caught_at_its_line() {
        for statement in [
            "SELECT balance FROM accounts",
            "INSERT INTO orders (id) VALUES ($1)",
            "UPDATE accounts AS a SET available = 0",
            "DELETE FROM orders",
            "CREATE TABLE t (id UUID)",
            "WITH x AS (SELECT 1) TABLE x",
            "select 1 from t",
            "update accounts set x = 1",
        ] {
            let file = File::sample("crates/desk/src/lane.rs", &format!("\nlet q = \"{statement}\";"));
            let faults = stands_in_stores(&file);
            assert_eq!(faults.len(), 1, "{statement}");
            assert_eq!(faults[0].line, 2);
        }
    }

    #[test]
    fn a_query_whose_text_is_elsewhere_is_caught() {
        let file = File::sample("crates/desk/src/lane.rs", "let q = sqlx::query(text);");
        assert_eq!(stands_in_stores(&file).len(), 1);
    }

    #[test]
    fn a_statement_in_a_store_or_a_test_passes() {
        let text = "const Q: &str = \"SELECT 1\";";
        for path in
            ["crates/order/src/store.rs", "crates/order/src/store/load.rs", "crates/order/tests/races.rs"]
        {
            assert!(stands_in_stores(&File::sample(path, text)).is_empty(), "{path}");
        }
    }

    #[test]
    fn prose_passes() {
        for prose in
            ["select a currency", "the update was set aside", "Delete from here", "for update", "created"]
        {
            let file =
                File::sample("crates/server/src/main.rs", &format!("let s = \"{prose}\"; // SELECT 1"));
            assert!(stands_in_stores(&file).is_empty(), "{prose}");
        }
    }

    #[test]
    fn a_second_writer_of_a_table_is_caught() {
        let files = [
            File::sample("crates/account/src/store.rs", "q(\"UPDATE accounts AS a\nSET x = 1\");"),
            File::sample(
                "crates/order/src/store.rs",
                "q(\"INSERT INTO orders (id) VALUES ($1)\");\nq(\"DELETE FROM accounts\");",
            ),
        ];
        let faults = each_table_has_one_writer(files.iter());
        assert_eq!(faults.len(), 1);
        assert_eq!((faults[0].path.as_str(), faults[0].line), ("crates/order/src/store.rs", 2));
    }

    #[test]
    fn reading_and_locking_another_crates_table_is_not_writing() {
        let files = [
            File::sample("crates/account/src/store.rs", "q(\"UPDATE accounts SET x = 1\");"),
            File::sample("crates/order/src/store.rs", "q(\"SELECT x FROM accounts FOR NO KEY UPDATE\");"),
            File::sample(
                "crates/events/src/store.rs",
                "q(\"INSERT INTO e (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = 1\");",
            ),
        ];
        assert!(each_table_has_one_writer(files.iter()).is_empty());
    }
}
