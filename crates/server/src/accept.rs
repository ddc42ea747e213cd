//! What media type a client would be answered in (RFC 9110, 12.5.1).

use http::{HeaderMap, header};

/// Whether a client would rather have CSV than JSON: it names `text/csv`, and wants nothing that JSON is as much.
///
/// What cannot be read is passed over. JSON is the answer to everything else, since a client that names neither is better
/// served with it than with an error.
pub fn prefers_csv(headers: &HeaderMap) -> bool {
    let ranges = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<(String, u16)> = ranges.flat_map(|value| value.split(',')).filter_map(range).collect();
    let named = |name: &str| ranges.iter().find(|(range, _)| range == name).map(|(_, weight)| *weight);
    let Some(csv) = named("text/csv").filter(|weight| *weight > 0) else { return false };
    match named("application/json") {
        Some(json) => csv > json,
        None => csv >= named("application/*").or_else(|| named("*/*")).unwrap_or(0),
    }
}

/// A media range in lower case, and its weight in thousandths.
fn range(text: &str) -> Option<(String, u16)> {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next().filter(|range| !range.is_empty())?.to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some((range, weight.map_or(Some(1000), thousandths)?))
}

/// `0`, `1` or a fraction between them of three digits at most.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_weight = matches!(whole, "0" | "1") && fraction.len() <= 3;
    let digits: u16 = format!("{fraction:0<3}").parse().ok()?;
    let weight = whole.parse::<u16>().ok()? * 1000 + digits;
    (is_weight && weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn csv_is_answered_to_whoever_names_it_and_wants_nothing_more() {
        for (accept, csv) in [
            ("text/csv", true),
            ("Text/CSV; charset=utf-8", true),
            ("text/csv, */*", true),
            ("text/csv;q=0.5, */*;q=0.1", true),
            ("text/csv, application/json;q=0.9", true),
            ("", false),
            ("*/*", false),
            ("text/*", false),
            ("application/json", false),
            ("text/csv, application/json", false),
            ("text/csv;q=0.4, application/json;q=0.5", false),
            ("text/csv;q=0", false),
            ("text/csv;q=0.1, */*", false),
            ("text/csv;q=9", false),
            ("text/csv;q=0.1234", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(prefers_csv(&headers), csv, "{accept}");
        }
        assert!(!prefers_csv(&HeaderMap::new()));
    }

    #[test]
    fn headers_that_stand_apart_are_one_list() {
        let mut headers = HeaderMap::new();
        headers.append(header::ACCEPT, HeaderValue::from_static("text/html"));
        headers.append(header::ACCEPT, HeaderValue::from_static("text/csv"));
        assert!(prefers_csv(&headers));
    }
}
