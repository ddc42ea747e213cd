//! Records of a CSV file (RFC 4180), one at a time, in memory that does not depend on the file.
//!
//! A file of money is read strictly: where RFC 4180 gives a record no meaning, it is reported and passed over, and the
//! line behind it is read on its own. So one quote too many costs a line, and never the rest of the file.

use std::io::{self, Read};

/// A record at most, in bytes. A line of a statement has a few hundred.
pub const RECORD_BYTES_MAX: usize = 64 * 1024;

/// Lines that a record with quoted line ends may span at most.
const RECORD_LINES_MAX: usize = 100;

/// Bytes that are asked for at a time, at least.
const READ_BYTES: usize = 64 * 1024;

/// Why a record has no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordFault {
    /// It is longer than any line of a statement.
    #[error("longer than {RECORD_BYTES_MAX} bytes")]
    TooLong,
    /// A field begins with a quote and does not end with one.
    #[error("a quote is opened and not closed")]
    OpenQuote,
    /// Something stands between a closing quote and the end of its field.
    #[error("text behind a closing quote")]
    BehindQuote,
}

/// A record: its fields as they are meant, without the quotes around them.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Record {
    /// The line that it begins in, counted from 1.
    pub line: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    spans_lines: bool,
}

impl Record {
    /// The record that a line is by itself.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn of_line(text: &[u8], delimiter: u8) -> Result<Self, RecordFault> {
        let mut record = Self::default();
        split(text, delimiter, &mut record)?;
        Ok(record)
    }

    /// How many fields it has: one at least.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing has been read into it.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A field's bytes; nothing where the record has no such field.
    pub fn field(&self, index: usize) -> &[u8] {
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..end]
    }

    /// Whether no field holds anything but blanks.
    pub fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// Whether its fields are those of another record.
    pub fn has_fields_of(&self, other: &Record) -> bool {
        self.ends == other.ends && self.bytes == other.bytes
    }

    fn clear(&mut self, line: u64) {
        self.line = line;
        self.bytes.clear();
        self.ends.clear();
        self.spans_lines = false;
    }

    fn end_field(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

/// The records of a file.
#[derive(Debug)]
pub struct Records<R> {
    input: R,
    delimiter: u8,
    buffer: Vec<u8>,
    /// How much of the buffer has been read into.
    filled: usize,
    /// Where the next record begins in the buffer.
    start: usize,
    /// The line that it begins in.
    line: u64,
    at_end: bool,
    bytes_read: u64,
    /// Where the line behind the last record's first one begins.
    second_line: usize,
}

impl<R: Read> Records<R> {
    /// The records of what is read from `input`, without the byte order mark that it may begin with.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn new(input: R, delimiter: u8) -> io::Result<Self> {
        let mut records = Self {
            input,
            delimiter,
            buffer: Vec::new(),
            filled: 0,
            start: 0,
            line: 1,
            at_end: false,
            bytes_read: 0,
            second_line: 0,
        };
        while records.filled < UTF8_MARK.len() && !records.at_end {
            records.fill()?;
        }
        if records.buffer[..records.filled].starts_with(UTF8_MARK) {
            records.start = UTF8_MARK.len();
        }
        Ok(records)
    }

    /// Reads a line as it is, for whoever does not know yet what separates fields: its bytes without its end, or its
    /// fault; nothing at the end.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn next_line(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Result<(), RecordFault>>> {
        let Some(line) = self.line_end(self.start)? else { return self.pass_over_long_line() };
        if line.next == self.start {
            return Ok(None);
        }
        text.clear();
        text.extend_from_slice(&self.buffer[self.start..line.end]);
        self.go_on_at(line.next, 1);
        Ok(Some(Ok(())))
    }

    /// How many bytes have been read from the input.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// What separates fields from now on; what was read stays as it is.
    pub fn set_delimiter(&mut self, delimiter: u8) {
        self.delimiter = delimiter;
    }

    /// Reads the next record, or its fault, of which `record` then tells the line; nothing at the end.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn next(&mut self, record: &mut Record) -> io::Result<Option<Result<(), RecordFault>>> {
        record.clear(self.line);
        // What stands before it is of no more use. Nowhere else, or the places in the buffer would move.
        if self.start >= READ_BYTES {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        let Some(first) = self.line_end(self.start)? else { return self.pass_over_long_line() };
        if first.next == self.start {
            return Ok(None);
        }
        let mut last = first;
        let mut lines = 1;
        loop {
            record.clear(self.line);
            match split(&self.buffer[self.start..last.end], self.delimiter, record) {
                Err(RecordFault::OpenQuote) if lines < RECORD_LINES_MAX => {}
                result => {
                    let whole = result.is_ok();
                    record.spans_lines = lines > 1;
                    self.second_line = first.next;
                    let (next, taken) = if whole { (last.next, lines) } else { (first.next, 1) };
                    self.go_on_at(next, taken);
                    return Ok(Some(result));
                }
            }
            match self.line_end(last.next)? {
                Some(line) if line.next > last.next => last = line,
                // The file ends within the quote, or the record is too long for one.
                _ => lines = RECORD_LINES_MAX - 1,
            }
            lines += 1;
        }
    }

    /// Takes back all but the first line of the last record, which spans several and turned out to make no sense: its
    /// quotes may be those of two lines that have one too many each.
    pub fn keep_first_line_only(&mut self, record: &Record) {
        if record.spans_lines {
            self.start = self.second_line;
            self.line = record.line + 1;
        }
    }

    fn go_on_at(&mut self, next: usize, lines: usize) {
        self.start = next;
        self.line += lines as u64;
    }

    /// Where the line ends that begins at `from`; nothing if it, with what stands before it from `start` on, is longer
    /// than a record may be. At the end of the file, an empty line that ends where it begins.
    fn line_end(&mut self, from: usize) -> io::Result<Option<LineEnd>> {
        let mut searched = from;
        loop {
            if let Some(found) = self.buffer[searched..self.filled].iter().position(|byte| *byte == b'\n') {
                let end = searched + found;
                if end - self.start > RECORD_BYTES_MAX {
                    return Ok(None);
                }
                let carriage_return = end > from && self.buffer[end - 1] == b'\r';
                return Ok(Some(LineEnd { end: end - usize::from(carriage_return), next: end + 1 }));
            }
            searched = self.filled;
            if searched - self.start > RECORD_BYTES_MAX {
                return Ok(None);
            }
            if self.at_end {
                return Ok(Some(LineEnd { end: searched, next: searched }));
            }
            self.fill()?;
        }
    }

    fn pass_over_long_line(&mut self) -> io::Result<Option<Result<(), RecordFault>>> {
        loop {
            if let Some(found) = self.buffer[self.start..self.filled].iter().position(|byte| *byte == b'\n') {
                self.go_on_at(self.start + found + 1, 1);
                return Ok(Some(Err(RecordFault::TooLong)));
            }
            (self.start, self.filled) = (0, 0);
            if self.at_end {
                return Ok(Some(Err(RecordFault::TooLong)));
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.buffer.len() - self.filled < READ_BYTES {
            self.buffer.resize(self.filled + 2 * READ_BYTES, 0);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.at_end = read == 0;
        self.filled += read;
        self.bytes_read += read as u64;
        Ok(())
    }
}

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The end of a line, as places in the buffer.
#[derive(Clone, Copy, Debug)]
struct LineEnd {
    /// Behind its last byte.
    end: usize,
    /// Where the next line begins.
    next: usize,
}

/// Splits a record into its fields. It works on bytes: in UTF-8 and in GB 18030, no part of a longer character looks
/// like a quote, a line end or a delimiter in ASCII.
fn split(text: &[u8], delimiter: u8, record: &mut Record) -> Result<(), RecordFault> {
    let mut rest = text;
    loop {
        rest = match rest.strip_prefix(b"\"") {
            Some(quoted) => unquote(quoted, delimiter, record)?,
            None => {
                let end = rest.iter().position(|byte| *byte == delimiter).unwrap_or(rest.len());
                record.bytes.extend_from_slice(&rest[..end]);
                &rest[end..]
            }
        };
        record.end_field();
        match rest.split_first() {
            None => return Ok(()),
            Some((_, behind)) => rest = behind,
        }
    }
}

/// Reads a field behind its opening quote; answers with what follows it, from its delimiter on.
fn unquote<'t>(text: &'t [u8], delimiter: u8, record: &mut Record) -> Result<&'t [u8], RecordFault> {
    let mut rest = text;
    loop {
        let quote = rest.iter().position(|byte| *byte == b'"').ok_or(RecordFault::OpenQuote)?;
        record.bytes.extend_from_slice(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix(b"\"") {
            Some(behind) => {
                record.bytes.push(b'"');
                rest = behind;
            }
            None => break,
        }
    }
    // Some programs put a tab behind a number so that a spreadsheet takes it for text.
    let blanks = rest.iter().take_while(|byte| **byte != delimiter && matches!(byte, b' ' | b'\t')).count();
    match rest.get(blanks) {
        None => Ok(&[]),
        Some(byte) if *byte == delimiter => Ok(&rest[blanks..]),
        Some(_) => Err(RecordFault::BehindQuote),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The record, what stands before it, and what is read at a time.
    const BUFFER_BYTES_MAX: usize = RECORD_BYTES_MAX + 4 * READ_BYTES;

    /// Gives a file in pieces of some bytes, so that every border between two reads is met.
    struct Pieces<'f>(&'f [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    type Outcome = (u64, Result<Vec<String>, RecordFault>);

    fn read_in_pieces(file: &[u8], piece: usize) -> Vec<Outcome> {
        let mut records = Records::new(Pieces(file, piece), b',').unwrap();
        let mut record = Record::default();
        let mut all = Vec::new();
        while let Some(result) = records.next(&mut record).unwrap() {
            let fields = (0..record.len()).map(|index| String::from_utf8_lossy(record.field(index)).into());
            all.push((record.line, result.map(|()| fields.collect())));
        }
        all
    }

    fn read(file: &str) -> Vec<Outcome> {
        let whole = read_in_pieces(file.as_bytes(), usize::MAX);
        assert_eq!(read_in_pieces(file.as_bytes(), 1), whole, "read byte by byte: {file:?}");
        whole
    }

    fn fields(line: u64, fields: &[&str]) -> Outcome {
        (line, Ok(fields.iter().map(|field| (*field).to_owned()).collect()))
    }

    #[test]
    fn line_ends_marks_and_quotes_are_no_part_of_a_field() {
        for file in ["a,b\nc,\"d\"\n", "\u{feff}a,b\r\nc,d\r\n", "\"a\",\"b\"\t \n\"c\",d", "a,b\nc,d"] {
            assert_eq!(read(file), [fields(1, &["a", "b"]), fields(2, &["c", "d"])], "{file:?}");
        }
        assert_eq!(read(""), []);
        assert_eq!(read("\n,\n"), [fields(1, &[""]), fields(2, &["", ""])]);
    }

    #[test]
    fn a_quoted_field_may_hold_delimiters_quotes_and_line_ends() {
        assert_eq!(
            read("1,\"a,\"\"b\"\"\r\nc\",2\n3,d,4\n"),
            [fields(1, &["1", "a,\"b\"\r\nc", "2"]), fields(3, &["3", "d", "4"])]
        );
        assert_eq!(read("5\" tall,x\n"), [fields(1, &["5\" tall", "x"])], "a quote within a bare field");
    }

    #[test]
    fn a_quote_too_many_costs_one_line() {
        assert_eq!(read("a,\"b\nc,d\n"), [(1, Err(RecordFault::OpenQuote)), fields(2, &["c", "d"])]);
        assert_eq!(read("a,\"b\"x\nc,d\n"), [(1, Err(RecordFault::BehindQuote)), fields(2, &["c", "d"])]);
        // The quote that closes it is one that opens a field two lines on, with text behind it.
        assert_eq!(
            read("a,\"b\nc,d\n\"e\",f\n"),
            [(1, Err(RecordFault::BehindQuote)), fields(2, &["c", "d"]), fields(3, &["e", "f"])]
        );
    }

    #[test]
    fn a_quote_that_stays_open_for_long_costs_one_line_and_bounded_memory() {
        let lines = "c,d\n".repeat(200_000);
        let file = format!("a,\"b\n{lines}");
        let mut records = Records::new(file.as_bytes(), b',').unwrap();
        let mut record = Record::default();
        assert_eq!(records.next(&mut record).unwrap(), Some(Err(RecordFault::OpenQuote)));
        let mut sound = 0;
        while let Some(result) = records.next(&mut record).unwrap() {
            assert_eq!(result, Ok(()));
            sound += 1;
            assert!(records.buffer.len() <= BUFFER_BYTES_MAX);
        }
        assert_eq!((sound, record.line), (200_000, 200_002));
    }

    #[test]
    fn a_line_without_end_costs_one_line_and_bounded_memory() {
        let file = format!("a,b\n{}\nc,d\n", "x".repeat(3_000_000));
        let mut records = Records::new(file.as_bytes(), b',').unwrap();
        let mut record = Record::default();
        let mut results = Vec::new();
        while let Some(result) = records.next(&mut record).unwrap() {
            results.push((record.line, result));
            assert!(records.buffer.len() <= BUFFER_BYTES_MAX);
        }
        assert_eq!(results, [(1, Ok(())), (2, Err(RecordFault::TooLong)), (3, Ok(()))]);
    }

    #[test]
    fn all_but_the_first_line_of_a_record_can_be_taken_back() {
        let mut records = Records::new("a,\"b\nc,d\ne,\"\n".as_bytes(), b',').unwrap();
        let mut record = Record::default();
        assert_eq!(records.next(&mut record).unwrap(), Some(Ok(())));
        assert_eq!((record.line, record.len()), (1, 2));
        records.keep_first_line_only(&record);
        assert_eq!(records.next(&mut record).unwrap(), Some(Ok(())));
        assert_eq!((record.line, record.field(0), record.field(1)), (2, &b"c"[..], &b"d"[..]));
    }

    proptest! {
        #[test]
        fn what_is_written_by_the_rules_is_read_back(
            lines in prop::collection::vec(prop::collection::vec("[a-c,\"\r\n\u{8cb7} ]{0,6}", 1..5), 0..20),
            piece in 1_usize..9,
        ) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let mut file = String::new();
            for line in &lines {
                file.push_str(&line.iter().map(quoted).collect::<Vec<_>>().join(","));
                file.push_str("\r\n");
            }
            let read = read_in_pieces(file.as_bytes(), piece);
            let read: Vec<Vec<String>> = read.into_iter().map(|(_, fields)| fields.unwrap()).collect();
            prop_assert_eq!(read, lines);
        }

        #[test]
        fn any_bytes_are_read_to_their_end(file in prop::collection::vec(any::<u8>(), 0..200)) {
            let lines = file.split(|byte| *byte == b'\n').count();
            prop_assert!(read_in_pieces(&file, 7).len() <= lines);
        }
    }
}
