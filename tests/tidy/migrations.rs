//! Schema rules that can be read off a migration's text.

use std::collections::BTreeMap;

use crate::tree::{Fault, File};

/// `0001_what_it_is_for.sql`, each number once; no way back, since a migration that has run on somebody's books is
/// corrected by another one.
pub(crate) fn are_numbered_without_repetition(files: &[&File]) -> Vec<Fault> {
    let remedy = "call it NNNN_what_it_is_for.sql with the next free number";
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut faults = Vec::new();
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let stem = name.strip_suffix(".sql").unwrap_or_default();
        let is_well_named = stem.split_once('_').is_some_and(|(number, words)| {
            number.len() == 4
                && number.chars().all(|c| c.is_ascii_digit())
                && !words.is_empty()
                && words.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        });
        if !is_well_named {
            faults.push(file.fault(1, format!("{name} is no name of a migration"), remedy));
        } else if let Some(other) = seen.insert(&stem[..4], name) {
            faults.push(file.fault(1, format!("{name} has the number of {other}"), remedy));
        }
    }
    faults
}

pub(crate) fn begins_with_why(file: &File) -> Vec<Fault> {
    let first = file.text.lines().next().unwrap_or_default();
    if first.strip_prefix("-- ").is_some_and(|reason| reason.len() >= 20) {
        return Vec::new();
    }
    vec![file.fault(
        1,
        "the migration does not begin with why",
        "begin it with a `-- ` comment that gives the reason",
    )]
}

/// The service recognises a violation by the constraint's name, and the name that PostgreSQL makes up changes with the
/// columns. An index is dropped and rebuilt by its name.
pub(crate) fn names_every_constraint(file: &File) -> Vec<Fault> {
    let tokens = tokens(&file.text);
    let mut faults = Vec::new();
    for at in 0..tokens.len() {
        let word = |offset: usize| tokens.get(at + offset).map_or("", |token| token.upper.as_str());
        let before = |offset: usize| at.checked_sub(offset).map_or("", |index| tokens[index].upper.as_str());
        let begins_a_constraint = match (word(0), word(1)) {
            ("PRIMARY" | "FOREIGN", "KEY") | ("CHECK", "(") => true,
            ("UNIQUE", _) => before(1) != "CREATE",
            ("EXCLUDE", "USING" | "(") => true,
            ("REFERENCES", _) => !ends_a_foreign_key(&tokens[..at]),
            _ => false,
        };
        if begins_a_constraint && before(2) != "CONSTRAINT" && !is_about_privileges(&tokens[..at]) {
            faults.push(file.fault(
                tokens[at].line,
                format!("a constraint without a name: {} {}", word(0), word(1)),
                "write CONSTRAINT table_what_it_says before it",
            ));
        }
        if word(0) == "INDEX" && matches!(before(1), "CREATE" | "UNIQUE") && word(1) == "ON" {
            faults.push(file.fault(
                tokens[at].line,
                "an index without a name",
                "write CREATE INDEX table_what_for",
            ));
        }
    }
    faults
}

/// Tables that every node of a distributed database holds whole, and that therefore need no client in front.
const REFERENCE_TABLES: &[&str] = &["CLIENTS", "API_KEYS"];

/// `client_id` comes first in every key and index, so that a distributed PostgreSQL can keep all that one transaction
/// touches in one place, and so that no key is unique over all clients.
pub(crate) fn keys_begin_with_the_client(file: &File) -> Vec<Fault> {
    let tokens = tokens(&file.text);
    let mut faults = Vec::new();
    for at in 1..tokens.len() {
        let word = |index: usize| tokens.get(index).map_or("", |token| token.upper.as_str());
        // Where the list of columns opens, and what is named: the constraint, which begins with its table, or the table.
        let (opening, owner) = match (word(at), word(at + 1)) {
            ("PRIMARY" | "FOREIGN", "KEY") => (at + 2, word(at - 1)),
            ("UNIQUE", "(") => (at + 1, word(at - 1)),
            ("INDEX", _) if matches!(word(at - 1), "CREATE" | "UNIQUE") => {
                let length = tokens[at..].iter().position(|token| token.upper == "(").unwrap_or_default();
                let on = tokens[at..].iter().position(|token| token.upper == "ON").unwrap_or_default();
                (at + length, word(at + on + 1))
            }
            _ => continue,
        };
        let is_reference = REFERENCE_TABLES.iter().any(|table| {
            owner.strip_prefix(table).is_some_and(|behind| behind.is_empty() || behind.starts_with('_'))
        });
        if !is_reference && word(opening + 1) != "CLIENT_ID" {
            faults.push(file.fault(
                tokens[at].line,
                format!("{} does not begin with client_id", owner.to_lowercase()),
                "put client_id first; a table that every node shall hold whole goes into REFERENCE_TABLES in tests/tidy/migrations.rs",
            ));
        }
    }
    faults
}

/// What would stop the tables from being spread over several machines by client, or hide an effect from whoever reads
/// the statement that has it.
const BANNED: &[(&str, &str)] = &[
    ("TRIGGER", "write the effect into the statement that has it, in the store"),
    ("SERIAL", "ids are UUID v7, made by the service: no global sequence"),
    ("BIGSERIAL", "ids are UUID v7, made by the service: no global sequence"),
    ("SMALLSERIAL", "ids are UUID v7, made by the service: no global sequence"),
    ("IDENTITY", "ids are UUID v7, made by the service: no global sequence"),
    ("NEXTVAL", "ids are UUID v7, made by the service: no global sequence"),
    ("REAL", "an amount is NUMERIC(28, 4), a count BIGINT"),
    ("FLOAT", "an amount is NUMERIC(28, 4), a count BIGINT"),
    ("DOUBLE", "an amount is NUMERIC(28, 4), a count BIGINT"),
    ("TIMESTAMP", "a time is TIMESTAMPTZ; without its zone it means another moment on another machine"),
];

pub(crate) fn uses_nothing_that_cannot_be_spread(file: &File) -> Vec<Fault> {
    let tokens = tokens(&file.text);
    let mut faults = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if let Some((word, remedy)) = BANNED.iter().find(|(word, _)| token.upper == *word)
            && !is_about_privileges(&tokens[..at])
        {
            faults.push(file.fault(token.line, format!("{word} in a migration"), remedy));
        }
        // Not the bare word, which is a good name for a column.
        if token.upper == "SEQUENCE"
            && at > 0
            && matches!(tokens[at - 1].upper.as_str(), "CREATE" | "TEMPORARY")
        {
            faults.push(file.fault(
                token.line,
                "CREATE SEQUENCE in a migration",
                "ids are UUID v7, made by the service: no global sequence",
            ));
        }
    }
    faults
}

/// Whether the statement that these tokens are the beginning of grants or revokes: TRIGGER and REFERENCES are rights too.
fn is_about_privileges(before: &[Token]) -> bool {
    let statement = before.iter().rev().take_while(|token| token.upper != ";");
    statement.into_iter().any(|token| matches!(token.upper.as_str(), "GRANT" | "REVOKE"))
}

/// Whether these tokens end in `FOREIGN KEY (…)`, to which the REFERENCES that follows belongs.
fn ends_a_foreign_key(before: &[Token]) -> bool {
    let opening = before.iter().rposition(|token| token.upper == "(");
    let is_closed = before.last().is_some_and(|token| token.upper == ")");
    let key = opening.and_then(|at| at.checked_sub(2));
    is_closed && key.is_some_and(|at| before[at].upper == "FOREIGN" && before[at + 1].upper == "KEY")
}

/// A word or a mark, in capitals, with its line (from 1).
struct Token {
    upper: String,
    line: usize,
}

/// The words and marks of a migration without its comments and string literals. The bodies of `DO $$ … $$` are read as
/// statements, which they are.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '\'' {
            // A doubled quote inside a literal reads as two literals side by side, which is as good.
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        let is_token = !(rest.starts_with("--") || rest.starts_with("/*") || c == '\'' || c.is_whitespace());
        if is_token {
            tokens.push(Token { upper: rest[..length].to_uppercase(), line });
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migration(text: &str) -> File {
        File::sample("migrations/0001_sample.sql", text)
    }

    const GOOD: &str = "-- Accounts, with UNIQUE words and a TRIGGER in prose.
CREATE TABLE accounts (
    client_id UUID NOT NULL,
    account_id UUID NOT NULL,
    sequence BIGINT NOT NULL,
    note TEXT NOT NULL DEFAULT 'SERIAL, it''s CHECK (prose)',
    CONSTRAINT accounts_pkey PRIMARY KEY (client_id, account_id),
    CONSTRAINT accounts_note_unique UNIQUE (client_id, note),
    CONSTRAINT accounts_sequence_positive CHECK (sequence > 0),
    CONSTRAINT accounts_client_fkey FOREIGN KEY (client_id) REFERENCES clients (client_id)
);
CREATE UNIQUE INDEX accounts_by_note ON accounts (client_id, note);
REVOKE REFERENCES, TRIGGER ON accounts FROM PUBLIC;
";

    #[test]
    fn a_good_migration_passes_every_rule() {
        let file = migration(GOOD);
        assert!(begins_with_why(&file).is_empty());
        assert!(names_every_constraint(&file).is_empty());
        assert!(uses_nothing_that_cannot_be_spread(&file).is_empty());
        assert!(keys_begin_with_the_client(&file).is_empty());
        assert!(are_numbered_without_repetition(&[&file]).is_empty());
    }

    #[test]
    fn a_constraint_without_a_name_is_caught_at_its_line() {
        for constraint in [
            "id UUID PRIMARY KEY",
            "id UUID UNIQUE",
            "id UUID CHECK (true)",
            "id UUID REFERENCES clients (client_id)",
            "PRIMARY KEY (id)",
            "UNIQUE (id)",
            "FOREIGN KEY (id) REFERENCES clients (client_id)",
            "EXCLUDE USING gist (id WITH =)",
        ] {
            let faults =
                names_every_constraint(&migration(&format!("CREATE TABLE t (\n    {constraint}\n);")));
            assert_eq!(faults.len(), 1, "{constraint}");
            assert_eq!(faults[0].line, 2);
        }
    }

    #[test]
    fn an_index_without_a_name_is_caught() {
        assert_eq!(names_every_constraint(&migration("CREATE INDEX ON accounts (client_id);")).len(), 1);
    }

    #[test]
    fn a_key_over_all_clients_is_caught_and_a_reference_table_may_have_one() {
        for text in [
            "CREATE TABLE orders (CONSTRAINT orders_pkey PRIMARY KEY (order_id));",
            "CREATE TABLE orders (CONSTRAINT orders_no_unique UNIQUE (client_order_no, client_id));",
            "ALTER TABLE orders ADD CONSTRAINT orders_fkey FOREIGN KEY (account_id) REFERENCES accounts (account_id);",
            "CREATE INDEX orders_by_time ON orders USING btree (created_at);",
            "CREATE UNIQUE INDEX clients_by_time ON orders (created_at);",
        ] {
            assert_eq!(keys_begin_with_the_client(&migration(text)).len(), 1, "{text}");
        }
        let reference = "CREATE TABLE api_keys (CONSTRAINT api_keys_pkey PRIMARY KEY (key_sha256));
            CREATE INDEX clients_by_name ON clients (name);";
        assert!(keys_begin_with_the_client(&migration(reference)).is_empty());
    }

    #[test]
    fn what_cannot_be_spread_is_caught() {
        for text in [
            "CREATE TRIGGER t BEFORE INSERT ON accounts EXECUTE FUNCTION f();",
            "CREATE TABLE t (id BIGSERIAL);",
            "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY);",
            "CREATE SEQUENCE ids;",
            "CREATE TABLE t (amount DOUBLE PRECISION);",
            "CREATE TABLE t (created_at TIMESTAMP NOT NULL);",
        ] {
            assert_eq!(uses_nothing_that_cannot_be_spread(&migration(text)).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_migration_without_a_reason_is_caught() {
        assert_eq!(begins_with_why(&migration("CREATE TABLE t ();")).len(), 1);
        assert_eq!(begins_with_why(&migration("-- t\nCREATE TABLE t ();")).len(), 1);
    }

    #[test]
    fn a_number_twice_or_no_number_is_caught() {
        let first = File::sample("migrations/0001_accounts.sql", "");
        for other in ["migrations/0001_orders.sql", "migrations/orders.sql", "migrations/0002_x.down.sql"] {
            let second = File::sample(other, "");
            assert_eq!(are_numbered_without_repetition(&[&first, &second]).len(), 1, "{other}");
        }
    }
}
