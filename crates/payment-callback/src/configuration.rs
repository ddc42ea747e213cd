//! An endpoint's settings, as every provider reads them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::provider::{ConfigFault, Purpose};
use crate::secret::Secret;

/// Reads a provider's settings.
pub(crate) fn read<S: DeserializeOwned>(settings: Value) -> Result<S, ConfigFault> {
    serde_path_to_error::deserialize(settings).map_err(|error| {
        let fault = without_the_value(&error.inner().to_string());
        match error.path().to_string().as_str() {
            "." => ConfigFault(fault),
            path => ConfigFault(format!("{path}: {fault}")),
        }
    })
}

/// serde tells what it found in the place of what it expected, and that may be a secret.
fn without_the_value(error: &str) -> String {
    match error.split_once(", expected ") {
        Some((_, expected)) => format!("is of the wrong kind: expected {expected}"),
        None => error.to_owned(),
    }
}

/// What a provider does not know of. It goes into the settings' struct with `#[serde(flatten)]`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct UnknownSettings(BTreeMap<String, Value>);

impl UnknownSettings {
    /// Refuses a setting that nobody knows, unless only a diagnosis is asked for.
    pub(crate) fn refuse(&self, purpose: Purpose) -> Result<(), ConfigFault> {
        match self.0.keys().next() {
            Some(name) if purpose == Purpose::Serving => {
                Err(ConfigFault(format!("{name} is no setting of this provider")))
            }
            _ => Ok(()),
        }
    }
}

/// A list of keys is not empty, and no two have one id: logs could not tell which one is still in use.
pub(crate) fn ids_are_distinct<'a>(
    list: &str,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<(), ConfigFault> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(ConfigFault(format!("{list}: two keys are called {id}")));
        }
    }
    if seen.is_empty() {
        return Err(ConfigFault(format!("{list} is empty: no delivery could ever be verified")));
    }
    Ok(())
}

/// A name is not empty: a delivery that leaves it out would be taken for ours.
pub(crate) fn is_given(setting: &str, value: &str) -> Result<(), ConfigFault> {
    if value.trim().is_empty() {
        return Err(ConfigFault(format!("{setting} is empty, and nothing can be compared with it")));
    }
    Ok(())
}

/// A key that is shown in a header is not empty, and fits into one.
pub(crate) fn is_a_bearer_key(setting: &str, key: &Secret) -> Result<(), ConfigFault> {
    let key = key.expose();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConfigFault(format!("{setting} is empty, or has characters that no key has")));
    }
    Ok(())
}

/// Replaces each setting `NAME_file`, at any depth, by `NAME` with what `read` finds at that path, so that a key can stay
/// in a file of its own.
///
/// # Errors
///
/// A [`ConfigFault`] where both are given, where the path is no text, or where `read` fails.
pub fn with_files_read(
    settings: Value,
    read: &mut dyn FnMut(&str) -> std::io::Result<String>,
) -> Result<Value, ConfigFault> {
    match settings {
        Value::Object(members) => {
            let mut replaced = serde_json::Map::new();
            for (name, value) in members {
                let (name, value) = match (name.strip_suffix("_file"), value) {
                    (Some(setting), Value::String(path)) => {
                        let text = read(&path)
                            .map_err(|error| ConfigFault(format!("{name}: cannot read {path}: {error}")))?;
                        (setting.to_owned(), Value::String(text.trim().to_owned()))
                    }
                    (Some(_), _) => return Err(ConfigFault(format!("{name} is the path of a file"))),
                    (None, value) => (name, with_files_read(value, read)?),
                };
                if replaced.insert(name.clone(), value).is_some() {
                    return Err(ConfigFault(format!("{name} and {name}_file are both given: leave one out")));
                }
            }
            Ok(Value::Object(replaced))
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|item| with_files_read(item, read));
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(path: &str) -> std::io::Result<String> {
        match path {
            "/run/key" => Ok("whsec_from_a_file\n".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    #[test]
    fn a_key_can_stay_in_a_file() {
        let settings = json!({ "secrets": [{ "id": "a", "secret_file": "/run/key" }], "tolerance_s": 300 });
        let read = with_files_read(settings, &mut read).unwrap();
        assert_eq!(
            read,
            json!({ "secrets": [{ "id": "a", "secret": "whsec_from_a_file" }], "tolerance_s": 300 })
        );
    }

    #[test]
    fn a_file_that_is_not_there_or_not_wanted_is_a_fault() {
        for settings in [
            json!({ "secret_file": "/run/other" }),
            json!({ "secret_file": 1 }),
            json!({ "secret_file": "/run/key", "secret": "a" }),
        ] {
            assert!(with_files_read(settings.clone(), &mut read).is_err(), "{settings}");
        }
    }

    #[test]
    fn a_setting_of_the_wrong_kind_is_named_and_its_value_is_not_told() {
        #[derive(Debug, Deserialize)]
        struct Settings {
            #[expect(dead_code, reason = "only its kind is looked at")]
            secrets: Vec<Secret>,
            #[expect(dead_code, reason = "takes the rest, as every provider's settings do")]
            #[serde(flatten)]
            unknown: UnknownSettings,
        }
        let fault = super::read::<Settings>(json!({ "secrets": "whsec_hush" })).unwrap_err().to_string();
        assert!(fault.starts_with("secrets: ") && !fault.contains("hush"), "{fault}");
    }

    #[test]
    fn keys_have_names_of_their_own() {
        assert!(ids_are_distinct("keys", ["a", "b"]).is_ok());
        assert!(ids_are_distinct("keys", ["a", "a"]).is_err());
        assert!(ids_are_distinct("keys", []).is_err());
    }
}
