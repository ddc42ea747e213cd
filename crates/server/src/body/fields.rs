//! Taking an object apart, field by field. A fault does not end the reading: the client is told all of them at once.

use super::{Fault, Json};

/// How many faults are told at most: a body can hold thousands, and its answer should not be larger than itself.
const FAULTS_MAX: usize = 100;

/// Reads a whole body, which must be an object.
///
/// # Errors
///
/// Every fault, at least one.
pub fn read_object<T>(json: &Json, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Result<T, Vec<Fault>> {
    let mut faults = Vec::new();
    let value = object_at(String::new(), json, &mut faults, read);
    match value {
        Some(value) if faults.is_empty() => Ok(value),
        _ => {
            debug_assert!(!faults.is_empty(), "who finds no value notes why");
            faults.truncate(FAULTS_MAX);
            Err(faults)
        }
    }
}

fn object_at<T>(
    pointer: String,
    json: &Json,
    faults: &mut Vec<Fault>,
    read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
) -> Option<T> {
    let Json::Object(members) = json else {
        faults.push(Fault::new(pointer, format!("must be an object, not {}", json.kind())));
        return None;
    };
    let mut fields = Fields { pointer, members, known: Vec::new(), faults };
    let value = read(&mut fields);
    fields.note_strangers();
    value
}

/// The fields of one object that is being read.
#[derive(Debug)]
pub struct Fields<'a> {
    pointer: String,
    members: &'a [(String, Json)],
    known: Vec<&'static str>,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Fields<'a> {
    /// A field that must be there. `check` says what is wrong with a value.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        check: impl FnOnce(&Json) -> Result<T, String>,
    ) -> Option<T> {
        match self.find(name) {
            Some(json) => self.checked(name, check(json)),
            None => {
                self.fault(name, "is missing");
                None
            }
        }
    }

    /// A field that may be left out: then the value is `Some(None)`. `null` is not the same as leaving it out.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        check: impl FnOnce(&Json) -> Result<T, String>,
    ) -> Option<Option<T>> {
        match self.find(name) {
            Some(json) => self.checked(name, check(json)).map(Some),
            None => Some(None),
        }
    }

    /// An object that must be there, taken apart in the same manner.
    pub fn object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        let Some(json) = self.find(name) else {
            self.fault(name, "is missing");
            return None;
        };
        object_at(self.pointer_to(name), json, self.faults, read)
    }

    /// A list of objects that may be left out, each taken apart in the same manner; then the value is empty. No more than
    /// `items_max` are looked at.
    pub fn objects<T>(
        &mut self,
        name: &'static str,
        items_max: usize,
        mut read: impl FnMut(&mut Fields<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Some(json) = self.find(name) else { return Some(Vec::new()) };
        let Json::List(items) = json else {
            self.fault(name, format!("must be an array, not {}", json.kind()));
            return None;
        };
        if items.len() > items_max {
            self.fault(name, format!("has {} items; {items_max} are allowed", items.len()));
            return None;
        }
        let pointer = self.pointer_to(name);
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| object_at(format!("{pointer}/{index}"), item, self.faults, &mut read))
            .collect();
        read.into_iter().collect()
    }

    /// Notes a fault of a field that lies in more than its own value.
    pub fn fault(&mut self, name: &str, detail: impl Into<String>) {
        let pointer = self.pointer_to(name);
        self.faults.push(Fault::new(pointer, detail));
    }

    /// The first field of that name. A repeated field is a fault, whichever of its values is right: another reader
    /// might have taken the other.
    fn find(&mut self, name: &'static str) -> Option<&'a Json> {
        self.known.push(name);
        let members = self.members;
        let mut found = members.iter().filter(|(known, _)| known == name).map(|(_, json)| json);
        let first = found.next();
        if found.next().is_some() {
            self.fault(name, "is there more than once");
        }
        first
    }

    fn checked<T>(&mut self, name: &'static str, result: Result<T, String>) -> Option<T> {
        result.map_err(|detail| self.fault(name, detail)).ok()
    }

    fn note_strangers(&mut self) {
        let mut told: Vec<&str> = Vec::new();
        for (name, _) in self.members {
            if self.known.contains(&name.as_str()) || told.contains(&name.as_str()) {
                continue;
            }
            if self.faults.len() >= FAULTS_MAX {
                return;
            }
            told.push(name);
            let pointer = self.pointer_to(name);
            self.faults.push(Fault::new(pointer, "is not a field of this request"));
        }
    }

    fn pointer_to(&self, name: &str) -> String {
        format!("{}/{}", self.pointer, name.replace('~', "~0").replace('/', "~1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &Json) -> Result<String, String> {
        match json {
            Json::Text(text) => Ok(text.clone()),
            other => Err(format!("must be a string, not {}", other.kind())),
        }
    }

    fn read(body: &str) -> Result<(String, Option<String>, String), Vec<Fault>> {
        read_object(&Json::read(body.as_bytes()).unwrap(), |fields| {
            let needed = fields.required("needed", text);
            let spare = fields.optional("spare", text);
            let inner = fields.object("inner", |inner| inner.required("word", text));
            Some((needed?, spare?, inner?))
        })
    }

    fn pointers(body: &str) -> Vec<String> {
        read(body).unwrap_err().into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn a_good_object_is_read() {
        let value = read(r#"{"inner": {"word": "w"}, "needed": "n"}"#).unwrap();
        assert_eq!(value, ("n".to_owned(), None, "w".to_owned()));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        assert_eq!(
            pointers(r#"{"spare": null, "inner": {"word": 1, "x": 2}, "a/b~c": 0, "inner": {}}"#),
            ["/needed", "/spare", "/inner", "/inner/word", "/inner/x", "/a~1b~0c"]
        );
    }

    #[test]
    fn what_is_not_an_object_is_wrong_as_a_whole() {
        for body in ["null", "[]", "\"needed\"", "1", "true"] {
            assert_eq!(pointers(body), [""]);
        }
    }

    #[test]
    fn a_body_of_strangers_gets_a_bounded_answer() {
        let strangers: Vec<_> = (0..5_000).map(|number| format!("\"f{number}\":0")).collect();
        assert_eq!(pointers(&format!("{{{}}}", strangers.join(","))).len(), FAULTS_MAX);
    }
}
