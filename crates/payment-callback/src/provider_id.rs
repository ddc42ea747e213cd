//! What a provider's texts must be like to be kept: short, and visible.

use crate::json::Json;
use crate::provider::{Reason, Rejection};

/// Longest id of anything at a provider: what Stripe promises of its own
/// (<https://docs.stripe.com/upgrades#what-changes-does-stripe-consider-to-be-backward-compatible>). The others' are 64
/// characters and shorter; Standard Webhooks promises nothing.
const ID_CHARS_MAX: usize = 255;
/// Longest number of ours that is looked up; ours have 6 to 32 characters.
const OUR_NUMBER_CHARS_MAX: usize = 64;
/// Longest word for a kind of event.
const WORD_CHARS_MAX: usize = 64;
/// Longest description of what was bought.
const SUBJECT_CHARS_MAX: usize = 256;

/// An id that the provider gave. Without it a delivery cannot be told from another, or money from other money.
pub(crate) fn provider_id(text: Option<&str>) -> Result<String, Rejection> {
    text.filter(|text| is_visible(text, ID_CHARS_MAX)).map(str::to_owned).ok_or(Rejection {
        reason: Reason::MalformedBody,
        detail: "an id of the provider is missing or unusable",
    })
}

/// A number of ours that the provider gives back: `None` where it is none that we could have made.
pub(crate) fn our_number(text: Option<&str>) -> Option<String> {
    text.filter(|text| is_visible(text, OUR_NUMBER_CHARS_MAX)).map(str::to_owned)
}

/// A provider's word, for people to read.
pub(crate) fn shown_word(text: Option<&str>) -> String {
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    text.unwrap_or_default().chars().take(WORD_CHARS_MAX).map(visible).collect()
}

/// What was bought, for people to read.
pub(crate) fn shown_subject(text: Option<&str>) -> Option<String> {
    let subject: String = text?.chars().filter(|c| !c.is_control()).take(SUBJECT_CHARS_MAX).collect();
    (!subject.is_empty()).then_some(subject)
}

/// A member that is an id, or an object that was put in its place and has one.
pub(crate) fn id_or_object<'a>(json: &'a Json, name: &str) -> Option<&'a str> {
    json.text(name).or_else(|| json.get(name)?.text("id"))
}

fn is_visible(text: &str, chars_max: usize) -> bool {
    (1..=chars_max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_visible() {
        assert_eq!(provider_id(Some("pi_1")).as_deref(), Ok("pi_1"));
        assert!(provider_id(Some(&"a".repeat(255))).is_ok());
        let long = "a".repeat(256);
        for text in [None, Some(""), Some("a b"), Some("a\0"), Some("测"), Some(long.as_str())] {
            assert!(provider_id(text).is_err(), "{text:?}");
            assert!(our_number(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn what_is_shown_is_cut_and_has_no_control_characters() {
        assert_eq!(shown_word(Some("a\0b测")), "a?b?");
        assert_eq!(shown_word(Some(&"a".repeat(100))).len(), 64);
        assert_eq!(shown_subject(Some("测试\u{0}\n商品")).as_deref(), Some("测试商品"));
        assert_eq!(shown_subject(Some("")), None);
    }
}
