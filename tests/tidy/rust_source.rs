//! A Rust file taken apart into code, string literals and comments, so that a rule about code is not broken by a
//! sentence about it. A full parser would be slower to build than all the rules together, and this is enough.

/// The three layers of a file. Each keeps its line numbers.
#[derive(Debug, Default)]
pub(crate) struct RustSource {
    /// The text with comments and the insides of literals replaced by blanks.
    pub(crate) code: String,
    pub(crate) strings: Vec<Piece>,
    pub(crate) comments: Vec<Piece>,
}

/// A literal or a comment: the line (from 1) it begins on, and what it says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl RustSource {
    pub(crate) fn parse(text: &str) -> Self {
        Reader { rest: text, line: 1, source: Self::default() }.read()
    }

    /// The same without what is compiled for unit tests only: every item under `#[cfg(test)]` or `#[test]`.
    pub(crate) fn without_tests(mut self) -> Self {
        for attribute in ["#[cfg(test)]", "#[test]", "#[tokio::test"] {
            while let Some(begin) = self.code.find(attribute) {
                let end = begin + item_length(&self.code[begin..]);
                let first = line_of(&self.code, begin);
                let last = line_of(&self.code, end);
                self.strings.retain(|piece| piece.line < first || piece.line > last);
                let blank: String =
                    self.code[begin..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
                self.code.replace_range(begin..end, &blank);
            }
        }
        self
    }

    /// The lines (from 1) whose code has `wanted` in it as whole words.
    pub(crate) fn lines_with<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code
            .lines()
            .enumerate()
            .filter(move |(_, line)| has_word(line, wanted))
            .map(|(index, _)| index + 1)
    }
}

/// Whether `wanted` stands in `line` with no letter, digit or underscore directly before or behind it.
pub(crate) fn has_word(line: &str, wanted: &str) -> bool {
    line.match_indices(wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + wanted.len()..].chars().next();
        !before.is_some_and(is_word) && !behind.is_some_and(is_word)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The bytes from an attribute to the end of the item it stands on: its closing brace, or the semicolon of an item
/// without a body. Brackets are stepped over, since an attribute or an array type may hold either.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && c == '}' {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    source: RustSource,
}

impl Reader<'_> {
    fn read(mut self) -> RustSource {
        while let Some(c) = self.rest.chars().next() {
            let in_word = self.source.code.chars().next_back().is_some_and(is_word);
            if self.rest.starts_with("//") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                let text = self.blank(end);
                self.source.comments.push(text);
            } else if self.rest.starts_with("/*") {
                let end = block_comment_length(self.rest);
                let text = self.blank(end);
                self.source.comments.push(text);
            } else if let Some(hashes) = raw_string_hashes(self.rest).filter(|_| !in_word) {
                let opening = self.rest.find('"').expect("a raw string has a quote") + 1;
                self.keep(opening);
                let closing = format!("\"{}", "#".repeat(hashes));
                let end = self.rest.find(&closing).unwrap_or(self.rest.len());
                let text = self.blank(end);
                self.source.strings.push(text);
                self.keep(closing.len().min(self.rest.len()));
            } else if c == '"' {
                self.keep(1);
                let end = quoted_length(self.rest);
                let text = self.blank(end);
                self.source.strings.push(text);
                self.keep(1.min(self.rest.len()));
            } else if let Some(length) = char_literal_length(self.rest) {
                self.blank(length);
            } else {
                self.keep(c.len_utf8());
            }
        }
        self.source
    }

    fn keep(&mut self, length: usize) {
        let (kept, rest) = self.rest.split_at(length);
        self.line += kept.matches('\n').count();
        self.source.code.push_str(kept);
        self.rest = rest;
    }

    fn blank(&mut self, length: usize) -> Piece {
        let (blanked, rest) = self.rest.split_at(length);
        let piece = Piece { line: self.line, text: blanked.to_owned() };
        self.line += blanked.matches('\n').count();
        self.source.code.extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
        piece
    }
}

fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// How many `#` a raw string that begins here has; `None` where none begins.
fn raw_string_hashes(text: &str) -> Option<usize> {
    let behind = ["r", "br", "cr"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix).filter(|behind| behind.starts_with(['"', '#'])))?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    behind[hashes..].starts_with('"').then_some(hashes)
}

fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}

/// The bytes of a character literal that begins here; `None` for a lifetime, or where there is no quote.
fn char_literal_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    if first == '\\' {
        // The escaped character may itself be a quote.
        let escaped = inside[1..].chars().next()?.len_utf8();
        let behind = 1 + escaped;
        return inside[behind..].find('\'').map(|end| 1 + behind + end + 1);
    }
    inside[first.len_utf8()..].starts_with('\'').then_some(1 + first.len_utf8() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pieces: &[Piece]) -> Vec<&str> {
        pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        let source =
            RustSource::parse("let a = \"f64 \\\" f64\"; // f64\n/* f64 /* f64 */ f64 */ let b = 'f';");
        assert_eq!(source.lines_with("f64").count(), 0);
        assert_eq!(texts(&source.strings), ["f64 \\\" f64"]);
        assert_eq!(texts(&source.comments), ["// f64", "/* f64 /* f64 */ f64 */"]);
        assert_eq!(source.lines_with("b").collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_raw_string_ends_at_as_many_hashes_as_it_began_with() {
        let source = RustSource::parse("f(r#\"one \" two\"#, br\"three\", bar(\"four\"))");
        assert_eq!(texts(&source.strings), ["one \" two", "three", "four"]);
    }

    #[test]
    fn a_lifetime_is_no_literal_and_a_quoted_quote_is() {
        let source = RustSource::parse("fn f<'a>(x: &'a str) { g('\"', '\\'', '\\u{1F600}', \"s\") }");
        assert_eq!(texts(&source.strings), ["s"]);
        assert_eq!(source.lines_with("str").count(), 1);
    }

    #[test]
    fn a_piece_knows_its_line() {
        let source = RustSource::parse("a();\nb(\"x\ny\");\n// c\nd(\"z\");");
        let lines: Vec<usize> = source.strings.iter().map(|piece| piece.line).collect();
        assert_eq!(lines, [2, 5]);
        assert_eq!(source.comments[0].line, 4);
        assert_eq!(source.lines_with("d").collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn unit_tests_can_be_left_out() {
        let text = "fn a() { x(\"kept\") }\n#[cfg(test)]\nmod tests {\n    fn b() { y(\"gone\") }\n}\nfn c() {}\n\
                    #[test]\nfn d() { z(\"gone\") }\n#[cfg(test)]\nmod more;\nfn e() {}";
        let source = RustSource::parse(text).without_tests();
        assert_eq!(texts(&source.strings), ["kept"]);
        assert_eq!(source.lines_with("fn").collect::<Vec<_>>(), [1, 6, 11]);
    }

    #[test]
    fn a_word_is_whole() {
        assert!(has_word("use rand::Rng;", "rand"));
        assert!(has_word("let x = Utc::now();", "Utc::now"));
        assert!(!has_word("let operand = 1;", "rand"));
        assert!(!has_word("rand_core", "rand"));
    }
}
