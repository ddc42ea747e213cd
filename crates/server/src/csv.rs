//! Records of CSV (RFC 4180) that a spreadsheet may open without harm.

use reconciliation::csv_field::push_fields;

/// What a client names to be answered in CSV.
pub const CONTENT_TYPE: &str = "text/csv; charset=utf-8; header=present";

/// Adds a record, with the line end behind it.
///
/// A field that a spreadsheet could run [is marked](reconciliation::csv_field). No amount, time or id begins so.
pub fn push_record<'f>(text: &mut String, fields: impl IntoIterator<Item = &'f str>) {
    push_fields(text, fields);
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(fields: &[&str]) -> String {
        let mut text = String::new();
        push_record(&mut text, fields.iter().copied());
        text
    }

    #[test]
    fn a_record_is_one_of_rfc_4180() {
        assert_eq!(record(&["a", "", "1.50"]), "a,,1.50\r\n");
        assert_eq!(
            record(&["a,b", "say \"no\"", "two\nlines"]),
            "\"a,b\",\"say \"\"no\"\"\",\"two\nlines\"\r\n"
        );
    }

    #[test]
    fn what_could_run_is_marked_as_text() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1"] {
            assert_eq!(record(&[formula]), format!("\"'{formula}\"\r\n"), "{formula}");
        }
        assert_eq!(record(&["a=1", "1-2", " =1"]), "a=1,1-2, =1\r\n");
    }

    /// The fields of one record, read as RFC 4180 says, without their marks.
    fn read(text: &str) -> Vec<String> {
        let mut fields = vec![String::new()];
        let (mut quoted, mut characters) = (false, text.trim_end_matches("\r\n").chars().peekable());
        while let Some(character) = characters.next() {
            match (quoted, character) {
                (true, '"') if characters.peek() == Some(&'"') => {
                    characters.next();
                    fields.last_mut().unwrap().push('"');
                }
                (_, '"') => quoted = !quoted,
                (false, ',') => fields.push(String::new()),
                (_, character) => fields.last_mut().unwrap().push(character),
            }
        }
        fields
            .into_iter()
            .map(|field| field.strip_prefix('\'').map_or(field.clone(), str::to_owned))
            .collect()
    }

    proptest! {
        #[test]
        fn every_text_comes_back(fields in proptest::collection::vec("[ -~\t\n=+@'\"é]{0,8}[a-z]", 1..5)) {
            let written = record(&fields.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert_eq!(read(&written), fields);
        }
    }
}
