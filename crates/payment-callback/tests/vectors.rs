//! Every test vector, through the adapters.

use std::path::Path;

use payment_callback::capture::read_captures;

#[test]
fn every_vector_comes_out_as_it_expects() {
    let mut checked = 0;
    let mut differences = Vec::new();
    for provider in ["stripe", "alipay", "wechatpay", "standardwebhooks"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/{provider}.json"));
        let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let captures = read_captures(&file).unwrap_or_else(|fault| panic!("{provider}: {fault}"));
        for capture in captures {
            let capture = capture.unwrap_or_else(|fault| panic!("{provider}: {fault}"));
            let expect = capture.expect.as_ref().unwrap_or_else(|| panic!("{} expects nothing", capture.id));
            let outcome = capture.check();
            let detail = outcome.detail.clone().unwrap_or_default();
            let each = outcome.differences(expect);
            differences.extend(each.into_iter().map(|one| format!("{}: {one} ({detail})", capture.id)));
            checked += 1;
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(checked > 100, "only {checked} vectors were found");
}
