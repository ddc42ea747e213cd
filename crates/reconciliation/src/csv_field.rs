//! Fields of CSV (RFC 4180) that a spreadsheet may open without harm.

/// What a spreadsheet takes for the beginning of a formula, or passes over to find one behind it (OWASP, "CSV injection").
const BEGINS_A_FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// Marks a text as a text. Spreadsheets do not show it.
const TEXT_MARK: char = '\'';

/// Adds fields with commas between them: a record, to which its writer adds the line end.
pub fn push_fields<'f>(text: &mut String, fields: impl IntoIterator<Item = &'f str>) {
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_field(text, field);
    }
}

/// Adds a field, quoted where it has to be.
///
/// One that a spreadsheet could run gets a `'` in front, and so does one that begins with `'`: whoever takes one such mark
/// away has the exact text.
fn push_field(text: &mut String, field: &str) {
    let is_marked = field.starts_with(BEGINS_A_FORMULA) || field.starts_with(TEXT_MARK);
    let is_quoted = is_marked || field.contains([',', '"', '\r', '\n']);
    if is_quoted {
        text.push('"');
    }
    if is_marked {
        text.push(TEXT_MARK);
    }
    for character in field.chars() {
        if character == '"' {
            text.push('"');
        }
        text.push(character);
    }
    if is_quoted {
        text.push('"');
    }
}
