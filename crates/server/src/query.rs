//! The query of a URI, parameter by parameter, with every fault at once. Its faults look like those of a body.

use percent_encoding::percent_decode_str;

use crate::body::Fault;
use crate::problem::Problem;

/// The parameters of a request that have not been taken yet.
#[derive(Debug)]
pub struct Query {
    parameters: Vec<(String, String)>,
    faults: Vec<Fault>,
}

impl Query {
    /// Takes a query apart, as forms write it: `+` is a blank, and the rest is percent-encoded UTF-8.
    pub fn parse(query: Option<&str>) -> Self {
        let mut parsed = Self { parameters: Vec::new(), faults: Vec::new() };
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match (decode(name), decode(value)) {
                (Some(name), Some(value)) => parsed.parameters.push((name, value)),
                (Some(name), None) => parsed.fault(&name, "is not percent-encoded UTF-8"),
                (None, _) => {
                    parsed.faults.push(Fault::new("", "a parameter's name is not percent-encoded UTF-8"))
                }
            }
        }
        parsed
    }

    /// Takes a parameter that may be left out. `check` says what is wrong with a value.
    pub fn take<T>(&mut self, name: &str, check: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let (taken, left) =
            std::mem::take(&mut self.parameters).into_iter().partition(|(known, _)| known == name);
        self.parameters = left;
        let taken: Vec<(String, String)> = taken;
        if taken.len() > 1 {
            self.fault(name, "is there more than once");
        }
        let (_, value) = taken.first()?;
        check(value).map_err(|detail| self.fault(name, &detail)).ok()
    }

    /// Notes a fault that lies in more than one parameter's value.
    pub fn fault(&mut self, name: &str, detail: &str) {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        self.faults.push(Fault::new(pointer, detail));
    }

    /// Ends the reading: what nobody took is unknown.
    ///
    /// # Errors
    ///
    /// `validation-failed` with every fault.
    pub fn finish(mut self) -> Result<(), Problem> {
        for (name, _) in std::mem::take(&mut self.parameters) {
            self.fault(&name, "is not a parameter of this list");
        }
        if self.faults.is_empty() { Ok(()) } else { Err(Problem::validation_failed(self.faults)) }
    }
}

fn decode(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    Some(percent_decode_str(&text).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    #[test]
    fn a_value_is_decoded() {
        let mut query = Query::parse(Some("a=%E6%B1%89+x%2B&b"));
        assert_eq!(query.take("a", any).as_deref(), Some("汉 x+"));
        assert_eq!(query.take("b", any).as_deref(), Some(""));
        assert_eq!(query.take("c", any), None);
        assert!(query.finish().is_ok());
    }

    #[test]
    fn what_is_repeated_unknown_or_not_utf_8_is_told_at_once() {
        let mut query = Query::parse(Some("a=1&a=2&b=%FF&c=3"));
        query.take("a", any);
        let problem = query.finish().unwrap_err();
        let pointers: Vec<_> = problem.errors.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, ["/b", "/a", "/c"]);
    }
}
