//! What rules must not do: wait, read a clock, throw dice, know SQL or HTTP, or hold money in a float.

use crate::{
    rust_source::{RustSource, has_word},
    tree::{Fault, File},
};

/// Crates whose every file is rules, but for the store.
const CRATES_OF_RULES: &[&str] = &["money", "account", "inventory", "order", "reports", "notifications"];

/// What a pure function cannot contain, and what to do instead.
const IMPURE: &[(&str, &str)] = &[
    ("async", "rules decide over what was loaded: load it in the desk and pass it in"),
    (".await", "rules decide over what was loaded: load it in the desk and pass it in"),
    ("sqlx", "put the statement, and the conversion of its rows, in store.rs"),
    ("Utc::now", "take the time as an argument, so that a test can choose it"),
    ("Local::now", "take the time as an argument, so that a test can choose it"),
    ("SystemTime::now", "take the time as an argument, so that a test can choose it"),
    ("Instant::now", "take the time as an argument, so that a test can choose it"),
    ("now_v7", "take the new id as an argument, so that a test can choose it"),
    ("new_v4", "take the new id as an argument, so that a test can choose it"),
    ("rand", "take what was drawn as an argument, so that a test can choose it"),
    ("Serialize", "wire bodies live beside their route in the server; give them a conversion to this type"),
    ("Deserialize", "wire bodies live beside their route in the server; give them a conversion to this type"),
];

/// Rules are functions of their arguments, so that unit tests, property tests and a model can call them directly.
pub(crate) fn rules_are_pure(file: &File) -> Vec<Fault> {
    if !holds_rules(file) {
        return Vec::new();
    }
    let source = RustSource::parse(&file.text).without_tests();
    let mut faults = Vec::new();
    for (word, remedy) in IMPURE {
        let lines = source.lines_with(word);
        faults.extend(lines.map(|line| file.fault(line, format!("`{word}` in a file of rules"), remedy)));
    }
    faults
}

fn holds_rules(file: &File) -> bool {
    let Some(name) = file.crate_name() else { return false };
    if file.is_test() || file.is_store() || !file.path.contains("/src/") {
        return false;
    }
    CRATES_OF_RULES.contains(&name) || file.path.starts_with("crates/desk/src/decide")
}

/// Crates that have to do with amounts. The server may speak of seconds and percentiles in floats.
const CRATES_WITHOUT_FLOATS: &[&str] = &[
    "money",
    "client",
    "account",
    "inventory",
    "order",
    "payment-callback",
    "idempotency",
    "events",
    "reports",
    "consumers",
    "desk",
    "audit",
    "reconciliation",
    "saga",
    "provider-simulator",
];

/// No `f32` or `f64` where an amount could meet it; files called `metrics.rs` may, since gauges and histograms are
/// floats and no amount comes back out of them.
pub(crate) fn no_floats(file: &File) -> Vec<Fault> {
    let is_concerned = file.crate_name().is_some_and(|name| CRATES_WITHOUT_FLOATS.contains(&name));
    if !is_concerned || file.is_test() || file.path.ends_with("/metrics.rs") {
        return Vec::new();
    }
    let source = RustSource::parse(&file.text).without_tests();
    let floats = ["f32", "f64"].into_iter().flat_map(|float| source.lines_with(float).collect::<Vec<_>>());
    floats
        .map(|line| {
            file.fault(
                line,
                "a float",
                "an amount is `money::Amount`, a count an integer, a duration `Duration`; a measurement belongs in metrics.rs",
            )
        })
        .collect()
}

/// Crates that may know HTTP: the server, the gateway's layers, and the providers that are played.
const HTTP_CRATES: &[&str] = &["server", "gateway", "provider-simulator"];

/// Libraries that speak HTTP, as they are named in code.
const HTTP_LIBRARIES: &[&str] = &["axum", "tower", "tower_http", "hyper", "utoipa"];

/// An effect is asked for by requests, messages and timers alike, so only the edge knows which it was.
pub(crate) fn http_at_the_edge(file: &File) -> Vec<Fault> {
    if file.is_test() || file.crate_name().is_none_or(|name| HTTP_CRATES.contains(&name)) {
        return Vec::new();
    }
    let source = RustSource::parse(&file.text).without_tests();
    let mut faults = Vec::new();
    for (index, line) in source.code.lines().enumerate() {
        let library = HTTP_LIBRARIES.iter().find(|library| has_word(line, library));
        if let Some(library) = library.copied().or_else(|| begins_a_path(line, "http").then_some("http")) {
            faults.push(file.fault(
                index + 1,
                format!("`{library}` away from the edge"),
                "return a domain type or a refusal, and translate it in the server or the gateway",
            ));
        }
    }
    faults
}

/// Whether `name::…` stands in `line`; `name` alone may be anybody's variable.
fn begins_a_path(line: &str, name: &str) -> bool {
    line.match_indices(&format!("{name}::"))
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(faults: &[Fault]) -> Vec<usize> {
        faults.iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn a_rule_that_reads_the_clock_or_waits_is_caught() {
        let text = "fn due() -> bool {\n    Utc::now() > self.due_at\n}\nasync fn f() {}\n";
        assert_eq!(lines(&rules_are_pure(&File::sample("crates/order/src/hold.rs", text))), [4, 2]);
        assert_eq!(rules_are_pure(&File::sample("crates/desk/src/decide.rs", text)).len(), 2);
        assert_eq!(rules_are_pure(&File::sample("crates/desk/src/decide/place.rs", text)).len(), 2);
    }

    #[test]
    fn a_rule_that_knows_the_wire_or_the_database_is_caught() {
        let text = "#[derive(Serialize, sqlx::Type)]\nstruct Order;\n";
        assert_eq!(rules_are_pure(&File::sample("crates/order/src/order.rs", text)).len(), 2);
    }

    #[test]
    fn a_rule_that_takes_the_time_as_an_argument_passes() {
        let text = "//! Nothing here is async; Utc::now() is the desk's.\nfn due(now: DateTime<Utc>) -> bool { now > at }\n\
                    #[cfg(test)]\nmod tests { fn f() { due(Utc::now()); } }\n";
        assert!(rules_are_pure(&File::sample("crates/order/src/hold.rs", text)).is_empty());
    }

    #[test]
    fn a_store_and_the_desk_may_wait() {
        let text = "pub async fn load() { query().await }";
        assert!(rules_are_pure(&File::sample("crates/order/src/store.rs", text)).is_empty());
        assert!(rules_are_pure(&File::sample("crates/account/src/store/holds.rs", text)).is_empty());
        assert!(rules_are_pure(&File::sample("crates/desk/src/lane.rs", text)).is_empty());
    }

    #[test]
    fn a_float_beside_money_is_caught() {
        assert_eq!(
            lines(&no_floats(&File::sample("crates/money/src/amount.rs", "\nlet x: f64 = 1.0;"))),
            [2]
        );
    }

    #[test]
    fn a_float_in_metrics_a_comment_or_the_server_passes() {
        assert!(no_floats(&File::sample("crates/desk/src/metrics.rs", "let x: f64 = 1.0;")).is_empty());
        assert!(no_floats(&File::sample("crates/money/src/amount.rs", "// never f64\n")).is_empty());
        assert!(no_floats(&File::sample("crates/server/src/bench.rs", "let x: f64 = 1.0;")).is_empty());
    }

    #[test]
    fn http_in_the_desk_is_caught() {
        let text = "use axum::Json;\nfn f() -> http::StatusCode {}\n";
        assert_eq!(lines(&http_at_the_edge(&File::sample("crates/desk/src/lane.rs", text))), [1, 2]);
    }

    #[test]
    fn http_at_the_edge_and_in_prose_passes() {
        let text = "use axum::Json;";
        assert!(http_at_the_edge(&File::sample("crates/server/src/routes.rs", text)).is_empty());
        assert!(http_at_the_edge(&File::sample("crates/gateway/src/limit.rs", text)).is_empty());
        let prose = "// axum and http:: are the server's\nlet url = \"http://localhost\"; let http = url;\n";
        assert!(http_at_the_edge(&File::sample("crates/desk/src/lane.rs", prose)).is_empty());
    }
}
