use std::path::Path;

use super::file::{ConfigurationError, Hint, known_keys};
use super::*;

const EXAMPLE: &str = include_str!("../../../../onefold.example.toml");
const REFERENCE: &str = include_str!("../../../../docs/reference/configuration.md");

fn parse(text: &str) -> Result<Configuration, ConfigurationError> {
    Configuration::parse(Path::new("onefold.toml"), text)
}

fn sentence(text: &str) -> String {
    parse(text).expect_err("the text is wrong").to_string()
}

#[test]
fn the_example_holds_every_key_with_its_default() {
    assert_eq!(parse(EXAMPLE).unwrap(), Configuration::default());
    let in_the_example: toml::Table = EXAMPLE.parse().unwrap();
    assert_eq!(in_the_example, known_keys());
}

#[test]
fn every_key_of_the_example_stands_below_a_comment() {
    let mut explained = false;
    for line in EXAMPLE.lines() {
        match line {
            "" => explained = false,
            comment if comment.starts_with('#') => explained = true,
            section if section.starts_with('[') => {}
            key => assert!(explained, "{key} has no comment"),
        }
    }
}

#[test]
fn the_reference_lists_every_key_with_its_default_and_no_other() {
    let mut listed: Vec<String> = REFERENCE
        .lines()
        .filter(|line| known_keys().keys().any(|section| line.starts_with(&format!("| `{section}."))))
        .map(|line| line.split(" | ").take(2).collect::<Vec<_>>().join(" | "))
        .collect();
    let mut known: Vec<String> = known_keys()
        .into_iter()
        .flat_map(|(section, keys)| {
            let keys = keys.as_table().cloned().unwrap();
            keys.into_iter().map(move |(key, default)| format!("| `{section}.{key}` | `{default}`"))
        })
        .collect();
    listed.sort();
    known.sort();
    assert_eq!(listed, known);
}

#[test]
fn the_defaults_are_the_desks_own_and_within_their_ranges() {
    Validate::validate(&Configuration::default()).unwrap();
    assert_eq!(Configuration::default().desk_settings(), desk::Settings::default());
}

#[test]
fn the_defaults_are_the_http_surfaces_own() {
    assert_eq!(Configuration::default().http_settings(), HttpSettings::default());
}

#[test]
fn an_empty_file_and_an_empty_section_mean_the_defaults() {
    assert_eq!(parse("").unwrap(), Configuration::default());
    assert_eq!(parse("[desk]\n").unwrap(), Configuration::default());
}

#[test]
fn a_key_that_is_set_is_taken_and_leaves_the_others_alone() {
    let configuration =
        parse("[idempotency]\nfailed = \"retry\"\nretention_hours = 1\n[desk]\nlanes = 7\n").unwrap();
    let settings = configuration.desk_settings();
    assert_eq!(settings.failed, FailedPolicy::Retry);
    assert_eq!(settings.retention, Duration::from_secs(3_600));
    assert_eq!(settings.lanes, 7);
    assert_eq!(settings.batch_max, desk::Settings::default().batch_max);
}

#[test]
fn an_empty_directory_of_programs_means_to_search() {
    let settings = |text| parse(text).unwrap().embedded_settings("data".into());
    assert_eq!(settings("").programs, None);
    assert_eq!(settings("[embedded]\nprograms = \"/opt/pg/bin\"").programs, Some("/opt/pg/bin".into()));
}

#[test]
fn a_misspelt_key_is_named_with_the_one_that_was_meant() {
    assert_eq!(
        sentence("[desk]\nlanez = 3"),
        "onefold.toml: there is no key desk.lanez; did you mean desk.lanes?"
    );
    assert_eq!(
        sentence("[htp]\nbody_bytes_max = 2048"),
        "onefold.toml: there is no key htp; did you mean http?"
    );
}

#[test]
fn a_key_in_the_wrong_section_is_named_with_its_own() {
    assert_eq!(sentence("lanes = 3"), "onefold.toml: there is no key lanes; did you mean desk.lanes?");
    assert_eq!(
        sentence("[http]\npool_max = 3"),
        "onefold.toml: there is no key http.pool_max; did you mean database.pool_max?"
    );
}

#[test]
fn a_route_is_limited_by_its_method_and_path_and_a_misspelt_one_is_named() {
    let settings = parse("[requests_per_second]\n\"POST /v1/orders\" = 50\n").unwrap().http_settings();
    let limits: Vec<_> = settings.requests_per_second_by_route.into_iter().collect();
    assert_eq!(limits, [("POST /v1/orders".to_owned(), NonZeroU32::new(50).unwrap())]);
    assert_eq!(
        sentence("[requests_per_second]\n\"POST /v1/order\" = 50"),
        "onefold.toml: there is no key requests_per_second.\"POST /v1/order\"; \
         did you mean requests_per_second.\"POST /v1/orders\"?"
    );
    let zero = sentence("[requests_per_second]\n\"POST /v1/orders\" = 0");
    assert!(zero.contains("1 to 1000000 times a second, and not 0 times"), "{zero}");
}

#[test]
fn a_key_like_no_other_is_answered_with_what_there_is() {
    let Err(ConfigurationError::UnknownKey { key, hint: Hint::OneOf(keys), .. }) =
        parse("[database]\nxyzzy = 1")
    else {
        panic!("the key is not refused, or taken for a misspelling");
    };
    assert_eq!(key, "database.xyzzy");
    assert_eq!(keys, ["database.pool_max", "database.start_wait_ms"]);
}

#[test]
fn every_value_outside_its_range_is_named_with_the_range() {
    assert_eq!(
        sentence("[desk]\nlanes = 0\nbatch_max = 9999\n[database]\nstart_wait_ms = 600001"),
        "onefold.toml: database.start_wait_ms must be 0 to 600000, and is 600001; \
         desk.batch_max must be 1 to 1024, and is 9999; desk.lanes must be 1 to 64, and is 0"
    );
}

#[test]
fn a_value_of_another_type_is_named_with_its_line() {
    let message = sentence("[desk]\nlanes = \"two\"\n");
    assert!(message.starts_with("onefold.toml, line 2: ") && message.contains("expected u32"), "{message}");
    assert!(sentence("\n[desk]\nlanes = -1").starts_with("onefold.toml, line 3: "));
    assert!(sentence("[idempotency]\nfailed = \"ignore\"").contains("`replay` or `retry`"));
    assert!(sentence("[desk]\nlanes = 1\nlanes = 2").starts_with("onefold.toml, line 3: "));
    assert!(!sentence("[desk").contains('\n'));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Configuration::read(Path::new("no/such/onefold.toml")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the configuration file no/such/onefold.toml: "), "{error}");
}

#[test]
fn a_proxy_that_is_no_network_stops_the_start_with_the_reason() {
    for (proxy, reason) in [
        ("10.0.0.1/8", "10.0.0.1/8 is not a whole network; is 10.0.0.0/8 meant?"),
        ("0.0.0.0/0", "every address"),
        ("proxy.local", "neither an address nor a network"),
    ] {
        let told = sentence(&format!("[http]\ntrusted_proxies = [\"{proxy}\"]\n"));
        assert!(told.starts_with("onefold.toml, line 2: ") && told.contains(reason), "{told}");
    }
    let told = sentence("[http]\nproxy_header = \"x-real-ip\"\n");
    assert!(told.contains("x-forwarded-for") && told.contains("forwarded"), "{told}");
    let read =
        parse("[http]\ntrusted_proxies = [\"10.0.0.0/8\", \"::1\"]\nproxy_header = \"forwarded\"\n").unwrap();
    let proxies = read.http_settings().trusted_proxies;
    assert_eq!(proxies.networks.len(), 2);
    assert_eq!(proxies.header, gateway::forwarded::ForwardedHeader::Forwarded);
}
