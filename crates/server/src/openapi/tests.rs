use std::collections::BTreeSet;

use client::Scope;
use http::Method;
use idempotency::Key;
use proptest::prelude::*;

use super::completion::{KEY_HEADER, WITHOUT_KEY, operations_of};
use super::*;
use crate::problem::Slug;
use crate::problem::catalogue::ENTRIES;
use crate::routes::{self, Access};

#[test]
fn the_copy_in_the_repository_is_what_the_code_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/openapi.json");
    let copy = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        copy == json(),
        "openapi/openapi.json is not what the code says; run: cargo run -- openapi > openapi/openapi.json"
    );
}

#[test]
fn the_router_and_the_document_have_the_same_operations() {
    let served: BTreeSet<String> =
        routes::table().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let mut documented = BTreeSet::new();
    for (path, item) in &mut document().paths.paths {
        documented.extend(operations_of(item).map(|(method, _)| format!("{method} {path}")));
    }
    assert_eq!(served, documented);
    assert_eq!(served.len(), routes::table().len(), "a route stands twice in the table");
}

#[test]
fn every_operation_of_clients_names_its_scope_and_every_scope_has_an_operation() {
    let mut used = BTreeSet::new();
    for route in routes::table() {
        let is_of_clients = route.path.starts_with("/v1/") && !route.path.starts_with("/v1/callbacks/");
        match route.access {
            Access::Scope(scope) => {
                assert!(is_of_clients, "{} wants a key", route.path);
                let reads = scope.as_str().ends_with(":read");
                assert_eq!(
                    reads,
                    route.method == Method::GET,
                    "{} {} needs {scope}",
                    route.method,
                    route.path
                );
                used.insert(scope);
            }
            Access::Open | Access::Signed => {
                assert!(!is_of_clients, "{} {} needs no scope", route.method, route.path)
            }
        }
    }
    assert!(used.into_iter().eq(Scope::ALL), "a scope that no operation needs");
}

#[test]
fn the_page_about_the_gateway_lists_each_scope_with_its_operations() {
    let page = include_str!("../../../../docs/concepts/gateway.md");
    for scope in Scope::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{scope}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/concepts/gateway.md has no row for {scope}"));
        let mut listed: Vec<_> = row.split('`').skip(3).step_by(2).collect();
        let routes = routes::table().into_iter().filter(|route| route.access == Access::Scope(scope));
        let mut known: Vec<_> = routes.map(|route| format!("{} {}", route.method, route.path)).collect();
        listed.sort_unstable();
        known.sort();
        assert_eq!(listed, known, "docs/concepts/gateway.md, {scope}");
    }
}

#[test]
fn the_document_is_openapi_3_1_and_names_every_problem() {
    let json = json();
    assert!(json.contains(r#""openapi": "3.1.0""#));
    for entry in ENTRIES {
        let example = format!(r#""type": "{}""#, entry.slug.path());
        // By definition no operation answers it: its description stands at the document's head.
        let told = if entry.slug == Slug::MethodNotAllowed { entry.word } else { &example };
        assert!(json.contains(told), "no operation is documented to answer {}", entry.word);
    }
}

#[test]
fn every_operation_with_an_effect_takes_a_key_and_tells_a_replay() {
    let document: serde_json::Value = serde_json::from_str(&json()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(operation) = item.get("post").filter(|_| !WITHOUT_KEY.contains(&path.as_str())) else {
            continue;
        };
        let parameters: Vec<_> = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        for name in ["Idempotency-Key", "Prefer", "X-Request-Id"] {
            assert!(parameters.contains(&name), "POST {path} lacks {name}");
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(response["headers"]["X-Request-Id"].is_object(), "POST {path} {status}");
            if status.starts_with('2') {
                assert!(response["headers"]["Idempotency-Replayed"].is_object(), "POST {path} {status}");
            }
            if status == "503" || status == "429" {
                assert!(response["headers"]["Retry-After"].is_object(), "POST {path} {status}");
            }
        }
    }
}

#[test]
fn every_operation_id_is_there_once_and_every_json_has_an_example() {
    let document: serde_json::Value = serde_json::from_str(&json()).unwrap();
    let schemas = &document["components"]["schemas"];
    let has_example = |content: &serde_json::Value| {
        let named = content["schema"]["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        let of_schema = named.is_some_and(|name| schemas[name]["example"].is_object());
        of_schema || content["example"].is_object() || content["examples"].is_object()
    };
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()));
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            let bodies =
                operation["responses"].as_object().unwrap().values().chain(operation.get("requestBody"));
            for (media_type, content) in bodies.filter_map(|body| body["content"].as_object()).flatten() {
                let needs_one = media_type.ends_with("json") && path != "/openapi.json";
                assert!(
                    !needs_one || has_example(content),
                    "{method} {path} has {media_type} without an example"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn a_key_of_the_documented_pattern_is_taken(field in KEY_HEADER.trim_matches(['^', '$'])) {
        prop_assert!(Key::parse(field.as_bytes()).is_ok());
    }
}
