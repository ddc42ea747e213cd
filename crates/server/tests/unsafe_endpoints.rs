//! Configurations with which a forged callback could be believed: the program does not start with them, and says why.

#[path = "command_line/program.rs"]
#[allow(dead_code, reason = "other tests start servers with it")]
mod program;

use program::Home;

/// The keys that the adapters are tested with.
const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../payment-callback/tests/keys");

const ALIPAY: &str =
    "provider = \"alipay\"\napp_id = \"2021000000000000\"\nseller_id = \"2088000000000000\"\n";
const WECHATPAY: &str = "provider = \"wechatpay\"\nappid = \"wx0000000000000000\"\nmchid = \"1900000000\"\n";
const API_V3_KEY: &str = "api_v3_key = \"of-these-tests-with-32-characters\"\n";

fn key(name: &str) -> String {
    std::fs::read_to_string(format!("{KEYS}/{name}")).expect("a key of the tests")
}

fn alipay(key: &str, more: &str) -> String {
    format!("{ALIPAY}alipay_public_keys = [\"\"\"{key}\"\"\"]\n{more}")
}

fn wechatpay(api_v3_key: &str, id: &str, key: &str) -> String {
    format!(
        "{WECHATPAY}{api_v3_key}keys = [{{ kind = \"public_key\", id = \"{id}\", public_key_pem = \"\"\"{key}\"\"\" }}]\n"
    )
}

/// An endpoint's settings, and a part of why they are refused.
fn unsafe_endpoints() -> Vec<(String, &'static str)> {
    let stripe = |secrets: &str| format!("provider = \"stripe\"\nsecrets = {secrets}\n");
    let standard = |secrets: &str| format!("provider = \"standard\"\nsecrets = {secrets}\n");
    let public = key("first.public.pem");
    vec![
        // Anybody could sign.
        (stripe("[]"), "secrets is empty"),
        (stripe("[\"\"]"), "anybody could sign"),
        (stripe("[\"whsec_\"]"), "anybody could sign"),
        (stripe("[\"whsec_short\"]"), "anybody could sign"),
        (standard("[]"), "secrets is empty"),
        (standard("[\"whsec_\"]"), "24 to 64"),
        (standard("[\"whsec_c2hvcnQ=\"]"), "24 to 64"),
        (standard("[\"whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\"]"), "over and over"),
        // A public key of which any signature is right; and a text of which nobody can say what it is.
        (standard("[\"whpk_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"]"), "weak"),
        (standard("[\"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\"]"), "algorithm"),
        // An old signature would be taken for ever.
        (format!("{}tolerance_s = 86400\n", stripe("[\"whsec_of_these_tests_alone\"]")), "tolerance_s"),
        // SHA-1, short keys, and keys of the wrong half.
        (alipay(&public, "sign_type = \"RSA\"\n"), "SHA-1"),
        (alipay(&key("short.public.pem"), ""), "2048"),
        (alipay(&key("elliptic.public.pem"), ""), "RSA public key"),
        (alipay(&key("first.private.pem"), ""), "private"),
        (format!("{ALIPAY}alipay_public_keys = []\n"), "alipay_public_keys is empty"),
        (wechatpay("api_v3_key = \"sixteen bytes...\"\n", "PUB_KEY_ID_1", &public), "16 bytes"),
        (wechatpay(API_V3_KEY, "5157F09E", &public), "PUB_KEY_ID_"),
        (wechatpay(API_V3_KEY, "PUB_KEY_ID_1", &key("short.public.pem")), "2048"),
        (format!("{WECHATPAY}{API_V3_KEY}keys = []\n"), "keys is empty"),
        // Nobody's, and misspelt ones, which somebody believes in.
        ("provider = \"paypal\"\n".to_owned(), "provider must be one of"),
        (format!("{}tolerence_s = 300\n", stripe("[\"whsec_of_these_tests_alone\"]")), "tolerence_s"),
    ]
}

#[tokio::test]
async fn an_endpoint_that_could_take_a_forgery_for_a_callback_stops_the_start_with_the_reason() {
    let home = Home::new();
    for (settings, why) in unsafe_endpoints() {
        let section = format!("[callbacks.one]\nclient = \"demo\"\n{settings}");
        let configuration = home.write("onefold.toml", &section);
        let ended = home.run(&["serve", "--config", &configuration]).await;
        assert_eq!(ended.code, Some(1), "{section}: {ended:?}");
        assert!(ended.sentence().contains("callbacks.one"), "{section}: {ended:?}");
        assert!(ended.sentence().contains(why), "{why}: {section}: {ended:?}");
        assert!(!ended.sentence().contains("of_these_tests"), "a key is told: {ended:?}");
        assert_eq!(ended.stdout, "", "it does not listen");
    }
    assert!(!home.data_dir().exists(), "no database is started for it");
}

#[tokio::test]
async fn keys_that_others_know_stop_the_start() {
    let home = Home::new();
    let demos = "provider = \"stripe\"\nsecrets = [\"whsec_onefold_demo_only_protects_nothing\"]\n";
    let shared = "provider = \"stripe\"\nsecrets = [\"whsec_of_these_tests_alone\"]\n";
    for (listen, configuration, named) in [
        (
            "0.0.0.0:0",
            format!("[callbacks.one]\nclient = \"acme\"\n{demos}"),
            vec!["callbacks.one", "the demo"],
        ),
        (
            "127.0.0.1:0",
            format!(
                "[callbacks.one]\nclient = \"acme\"\n{shared}[callbacks.two]\nclient = \"other\"\n{shared}"
            ),
            vec!["callbacks.one", "callbacks.two", "acme", "other"],
        ),
    ] {
        let configuration = home.write("onefold.toml", &configuration);
        let ended = home.run(&["serve", "--listen", listen, "--config", &configuration]).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(named.iter().all(|word| ended.sentence().contains(word)), "{named:?}: {ended:?}");
        assert!(!ended.sentence().contains("whsec_"), "a key is told: {ended:?}");
    }
    assert!(!home.data_dir().exists(), "no database is started for it");
}
