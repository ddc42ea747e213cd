//! What the page shows, and whether it is what was printed. `…` stands for anything, several lines included.

use serde_json::Value;

const ANYTHING: char = '…';

/// What a command is shown to print.
#[derive(Debug, PartialEq)]
pub enum Shown {
    /// Nothing.
    Nothing,
    /// Text, with every line as it is.
    Text(String),
    /// A JSON document, in whatever layout; its members are all that are printed, and any text in it may hold a `…`.
    Json(String),
}

impl Shown {
    /// Compares it with what was printed; answers what differs.
    pub fn compare(&self, printed: &str) -> Result<(), String> {
        match self {
            Self::Nothing if printed.is_empty() => Ok(()),
            Self::Nothing => Err("the page shows nothing".to_owned()),
            Self::Text(shown) if fits(shown, printed) => Ok(()),
            Self::Text(shown) => Err(format!("the page shows\n{shown}")),
            Self::Json(shown) => {
                let shown = serde_json::from_str(shown)
                    .map_err(|error| format!("what is shown is no JSON: {error}"))?;
                let printed = serde_json::from_str(printed)
                    .map_err(|error| format!("what is printed is no JSON: {error}"))?;
                compare_values("", &shown, &printed)
            }
        }
    }
}

fn compare_values(pointer: &str, shown: &Value, printed: &Value) -> Result<(), String> {
    match (shown, printed) {
        (Value::Object(shown_members), Value::Object(printed_members)) => {
            let names =
                |members: &serde_json::Map<String, Value>| members.keys().cloned().collect::<Vec<_>>();
            let (shown_names, printed_names) = (names(shown_members), names(printed_members));
            if shown_names != printed_names {
                return Err(format!(
                    "{pointer:?}: the page shows the members {shown_names:?}, not {printed_names:?}"
                ));
            }
            shown_members.iter().try_for_each(|(name, shown)| {
                compare_values(&format!("{pointer}/{name}"), shown, &printed_members[name])
            })
        }
        (Value::Array(shown_items), Value::Array(printed_items))
            if shown_items.len() == printed_items.len() =>
        {
            let mut pairs = shown_items.iter().zip(printed_items).enumerate();
            pairs.try_for_each(|(index, (shown, printed))| {
                compare_values(&format!("{pointer}/{index}"), shown, printed)
            })
        }
        (Value::String(shown), Value::String(printed)) if fits(shown, printed) => Ok(()),
        _ if shown == printed => Ok(()),
        _ => Err(format!("{pointer:?}: the page shows {shown}, not {printed}")),
    }
}

/// Whether `text` is `pattern`, in which each `…` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split(ANYTHING);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        // The earliest place leaves the most for what follows.
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_may_be_anything() {
        for (pattern, text) in [
            ("a", "a"),
            ("…", ""),
            ("a…", "ab\nc"),
            ("…c", "abc"),
            ("a…c…e", "abcde"),
            ("a…a", "aa"),
            ("a\n…\nb", "a\nx\ny\nb"),
        ] {
            assert!(fits(pattern, text), "{pattern:?} fits {text:?}");
        }
    }

    #[test]
    fn what_is_shown_must_be_there() {
        for (pattern, text) in
            [("a", "ab"), ("a", ""), ("…c", "cb"), ("a…a", "a"), ("a…x…c", "abc"), ("x…", "ab")]
        {
            assert!(!fits(pattern, text), "{pattern:?} does not fit {text:?}");
        }
    }

    #[test]
    fn json_is_compared_by_what_it_says() {
        let shown = Shown::Json(r#"{ "id": "01…", "list": [ 1, null ] }"#.to_owned());
        assert_eq!(shown.compare(r#"{"id":"0190","list":[1,null]}"#), Ok(()));
        for other in [
            r#"{"id":"0290","list":[1,null]}"#,
            r#"{"id":"0190","list":[1]}"#,
            r#"{"id":"0190","list":[1,null],"more":1}"#,
            r#"{"id":"0190"}"#,
            "nothing",
        ] {
            assert!(shown.compare(other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_command_that_is_shown_to_print_nothing_prints_nothing() {
        assert!(Shown::Nothing.compare("").is_ok());
        assert!(Shown::Nothing.compare("a").is_err());
    }
}
