//! Reading the configuration file.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use validator::{Validate, ValidationErrors, ValidationErrorsKind};

use super::{Configuration, StatementSection, route_limits};

/// Why a configuration file cannot be used: one sentence, with the place and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file is not there, or not for us.
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not TOML, or a value is not of its key's type.
    #[error("{}, line {line}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where, counted from 1.
        line: usize,
        /// What the parser says, on one line.
        message: String,
    },
    /// A key that nothing reads.
    #[error("{}: there is no key {key}; {hint}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key, with its section.
        key: String,
        /// What was meant, or what there is.
        hint: Hint,
    },
    /// A value outside its key's range.
    #[error("{}: {faults}", path.display())]
    OutOfRange {
        /// The file.
        path: PathBuf,
        /// Every such key, its range and its value.
        faults: String,
    },
}

/// What the author of an unknown key may have meant.
#[derive(Debug, PartialEq, Eq)]
pub enum Hint {
    /// A key much like it.
    DidYouMean(String),
    /// The keys of its section.
    OneOf(Vec<String>),
}

impl fmt::Display for Hint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DidYouMean(key) => write!(out, "did you mean {key}?"),
            Self::OneOf(keys) => write!(out, "there are {}", keys.join(", ")),
        }
    }
}

impl Configuration {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigurationError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ConfigurationError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// Reads a text; `path` is what an error names.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigurationError> {
        let malformed = |error: toml::de::Error| ConfigurationError::Malformed {
            path: path.to_owned(),
            line: error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1),
            message: error.message().replace('\n', ", "),
        };
        let given: toml::Table = toml::from_str(text).map_err(malformed)?;
        // Before the types are looked at: serde knows the misspelt key, but neither its section nor a better one.
        if let Some((key, hint)) = unknown_key(&given, &known_keys(), "") {
            return Err(ConfigurationError::UnknownKey { path: path.to_owned(), key, hint });
        }
        let configuration: Self = toml::from_str(text).map_err(malformed)?;
        configuration.validate().map_err(|errors| ConfigurationError::OutOfRange {
            path: path.to_owned(),
            faults: ranges_missed(&errors, "").join("; "),
        })?;
        Ok(configuration)
    }
}

/// Every section and key there is, with its default.
///
/// # Panics
///
/// If the defaults cannot be written as TOML, which a test would have shown.
pub fn known_keys() -> toml::Table {
    toml::Table::try_from(Configuration::default()).expect("the defaults can be written as TOML")
}

/// The table of the endpoints.
const CALLBACKS: &str = "callbacks";

/// The table of the statements' layouts.
const STATEMENTS: &str = "statements";

/// The table of the routes' limits.
const REQUESTS_PER_SECOND: &str = "requests_per_second";

/// Every key of a section of [`STATEMENTS`], with its default.
fn known_keys_of_a_statement() -> toml::Table {
    toml::Table::try_from(StatementSection::default()).expect("the defaults can be written as TOML")
}

/// How alike two names are, at least, for one to be taken for a misspelling of the other (Jaro-Winkler, 0 to 1).
const ALIKE_MIN: f64 = 0.8;

fn unknown_key(given: &toml::Table, known: &toml::Table, section: &str) -> Option<(String, Hint)> {
    given.iter().find_map(|(name, value)| match (value, known.get(name)) {
        // Its sections have the names of the endpoints, and the keys of their providers, who know them.
        (toml::Value::Table(_), None) if section.is_empty() && name == CALLBACKS => None,
        // Its sections have the names of the providers, and all have the same keys.
        (toml::Value::Table(providers), None) if section.is_empty() && name == STATEMENTS => {
            providers.iter().find_map(|(provider, keys)| {
                unknown_key(keys.as_table()?, &known_keys_of_a_statement(), &dotted(STATEMENTS, provider))
            })
        }
        // Its keys are the routes.
        (toml::Value::Table(limits), None) if section.is_empty() && name == REQUESTS_PER_SECOND => {
            limits.keys().find_map(|route| unknown_route(route))
        }
        (toml::Value::Table(given), Some(toml::Value::Table(known))) => {
            unknown_key(given, known, &dotted(section, name))
        }
        (_, Some(_)) => None,
        (_, None) => Some((dotted(section, name), hint(name, known, section))),
    })
}

fn unknown_route(name: &str) -> Option<(String, Hint)> {
    let routes: Vec<String> = route_limits::routes().collect();
    if routes.iter().any(|route| route == name) {
        return None;
    }
    let alike = |route: &String| strsim::jaro_winkler(name, route);
    let best = routes.iter().max_by(|one, other| alike(one).total_cmp(&alike(other)));
    let quoted = |route: &String| dotted(REQUESTS_PER_SECOND, &format!("\"{route}\""));
    let hint = match best {
        Some(route) if alike(route) >= ALIKE_MIN => Hint::DidYouMean(quoted(route)),
        _ => Hint::OneOf(routes.iter().map(quoted).collect()),
    };
    Some((quoted(&name.to_owned()), hint))
}

fn hint(name: &str, known: &toml::Table, section: &str) -> Hint {
    let alike = |candidate: &String| strsim::jaro_winkler(name, candidate);
    let here = known.keys().map(|key| (alike(key), dotted(section, key)));
    // A key that stands in no section, or in the wrong one, is as likely as a misspelt one.
    let everywhere = known_keys().into_iter().flat_map(|(other, keys)| {
        let keys = keys.as_table().cloned().unwrap_or_default();
        keys.into_iter().map(move |(key, _)| (if key == name { 1.0 } else { 0.0 }, dotted(&other, &key)))
    });
    let best = here.chain(everywhere).max_by(|(one, _), (other, _)| one.total_cmp(other));
    match best {
        Some((likeness, key)) if likeness >= ALIKE_MIN => Hint::DidYouMean(key),
        _ => Hint::OneOf(known.keys().map(|key| dotted(section, key)).collect()),
    }
}

fn ranges_missed(errors: &ValidationErrors, section: &str) -> Vec<String> {
    let mut faults: Vec<String> = errors
        .errors()
        .iter()
        .flat_map(|(field, kind)| {
            let key = dotted(section, field);
            match kind {
                ValidationErrorsKind::Struct(nested) => ranges_missed(nested, &key),
                ValidationErrorsKind::Field(errors) => errors
                    .iter()
                    .map(|error| {
                        let bound = |name| error.params.get(name).map_or("0".to_owned(), ToString::to_string);
                        format!(
                            "{key} must be {} to {}, and is {}",
                            bound("min"),
                            bound("max"),
                            bound("value")
                        )
                    })
                    .collect(),
                ValidationErrorsKind::List(_) => Vec::new(),
            }
        })
        .collect();
    faults.sort();
    faults
}

fn dotted(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}
