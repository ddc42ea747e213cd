//! A statement: from the bytes of a file to its lines.

use std::borrow::Cow;
use std::io::{self, Read};

use chrono::{DateTime, Utc};
use money::{Amount, Currency};

use crate::layout::{Columns, Encoding, Layout, OtherWords};
use crate::records::{Record, Records};
use crate::values::{ValueFault, read_amount, read_id, read_time};

/// Lines in which the heading is looked for; some statements have a page of titles before it.
const HEADING_LINES_MAX: usize = 100;

/// The longest id of a payment or a refund at a provider, in characters.
pub const ID_LENGTH_MAX: usize = 255;

/// The longest number of a payment, in characters.
pub const PAYMENT_NO_LENGTH_MAX: usize = 64;

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Subject {
    /// Money that was paid.
    Payment,
    /// Money that was given back.
    Refund,
}

impl Subject {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Refund => "refund",
        }
    }

    /// The subject of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Payment, Self::Refund].into_iter().find(|subject| subject.word() == word)
    }
}

/// A line of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatementLine {
    /// Where it stands in the file, counted from 1.
    pub line: u64,
    /// Whether it is a payment or a refund.
    pub subject: Subject,
    /// The provider's payment id.
    pub payment_id: String,
    /// The provider's refund id, where the statement tells it.
    pub refund_id: Option<String>,
    /// Our number of the payment, where the statement tells it.
    pub payment_no: Option<String>,
    /// How much was paid or given back. Nothing where it could not be read.
    pub amount: Option<Amount>,
    /// When, where the statement tells it.
    pub at: Option<DateTime<Utc>>,
}

/// What a line turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// It is read.
    Read(StatementLine),
    /// Something in it cannot be read.
    Unreadable {
        /// Where it stands.
        line: u64,
        /// What cannot be read, and why.
        reason: String,
        /// What could be read, as far as that tells which payment or refund it is.
        known: Option<StatementLine>,
    },
    /// It is no business of the books: a payout, a fee.
    Other,
}

/// Why a file is not read as a statement.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// It cannot be read.
    #[error("cannot read the statement")]
    Io(#[from] io::Error),
    /// No line of it is a heading that is known.
    #[error("the statement has no heading that is known here; looked for {}", .looked_for.join("; or for "))]
    NoHeading {
        /// The headings of each layout.
        looked_for: Vec<String>,
    },
}

/// A statement, behind its heading.
#[derive(Debug)]
pub struct Statement<R> {
    records: Records<R>,
    record: Record,
    layout: Layout,
    columns: Columns,
    encoding: Encoding,
    heading: Record,
}

impl<R: Read> Statement<R> {
    /// Finds the heading, and by it the layout and the encoding: the first of the layouts, in the first encoding, that
    /// a line near the beginning fits. What stands before that line is passed over.
    ///
    /// # Errors
    ///
    /// [`StatementError`].
    pub fn open(input: R, layouts: &[Layout], encoding: Option<Encoding>) -> Result<Self, StatementError> {
        // Titles may be anything, so what separates fields is known only once the heading is found.
        let mut records = Records::new(input, b',')?;
        let mut line = Vec::new();
        for _ in 0..HEADING_LINES_MAX {
            let Some(result) = records.next_line(&mut line)? else { break };
            if result.is_err() {
                continue;
            }
            for layout in layouts {
                let Ok(heading) = Record::of_line(&line, layout.delimiter) else { continue };
                let encodings = Encoding::ALL.into_iter().filter(|one| encoding.is_none_or(|it| it == *one));
                for encoding in encodings {
                    if let Some(columns) = columns(layout, &heading, encoding) {
                        records.set_delimiter(layout.delimiter);
                        let (record, layout) = (Record::default(), layout.clone());
                        return Ok(Self { records, record, layout, columns, encoding, heading });
                    }
                }
            }
        }
        let looked_for = layouts.iter().map(looked_for).collect();
        Err(StatementError::NoHeading { looked_for })
    }

    /// The layout that was found.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The encoding that was found.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether it tells our numbers of the payments.
    pub fn tells_payment_nos(&self) -> bool {
        self.columns.payment_no.is_some()
    }

    /// Whether it tells the ids of refunds.
    pub fn tells_refund_ids(&self) -> bool {
        self.columns.refund_id.is_some()
    }

    /// Whether it tells when something was paid or given back.
    pub fn tells_times(&self) -> bool {
        self.columns.time.is_some()
    }

    /// How many bytes have been read.
    pub fn bytes_read(&self) -> u64 {
        self.records.bytes_read()
    }

    /// Reads the next line; nothing at the end.
    ///
    /// # Errors
    ///
    /// Those of reading. What cannot be understood is no error, but an unreadable line.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some(result) = self.records.next(&mut self.record)? else { return Ok(None) };
            let line = self.record.line;
            if let Err(fault) = result {
                if self.is_comment() {
                    continue;
                }
                return Ok(Some(Line::Unreadable { line, reason: fault.to_string(), known: None }));
            }
            if self.is_comment() || self.record.is_blank() || self.record.has_fields_of(&self.heading) {
                continue;
            }
            if self.is_end() {
                return Ok(None);
            }
            if let Some(reason) = self.fields_amiss() {
                self.records.keep_first_line_only(&self.record);
                return Ok(Some(Line::Unreadable { line, reason, known: None }));
            }
            let read = self.read_line();
            if let Line::Unreadable { .. } = read {
                self.records.keep_first_line_only(&self.record);
            }
            return Ok(Some(read));
        }
    }

    fn is_comment(&self) -> bool {
        self.layout.comment.is_some_and(|comment| self.record.field(0).first() == Some(&comment))
    }

    fn is_end(&self) -> bool {
        let first = self.encoding.decode(self.record.field(0));
        self.layout.ends_at.is_some() && first.as_deref() == self.layout.ends_at.as_deref()
    }

    /// Empty fields at the end, as some programs add, do no harm.
    fn fields_amiss(&self) -> Option<String> {
        let (expected, found) = (self.columns.count, self.record.len());
        let is_right = found >= expected
            && (expected..found).all(|index| self.record.field(index).trim_ascii().is_empty());
        (!is_right).then(|| format!("{found} fields, where the heading has {expected}"))
    }

    fn read_line(&self) -> Line {
        let line = self.record.line;
        let unreadable = |column: &str, fault: ValueFault, known| Line::Unreadable {
            line,
            reason: format!("{column}: {fault}"),
            known,
        };
        let subject = match self.subject() {
            Ok(Some(subject)) => subject,
            Ok(None) => return Line::Other,
            Err(fault) => return unreadable("the kind", fault, None),
        };
        let payment_id = match read_id(self.value(Some(self.columns.payment_id)), ID_LENGTH_MAX) {
            Ok(Some(id)) => id.to_owned(),
            Ok(None) => return unreadable("the payment id", ValueFault::Missing, None),
            Err(fault) => return unreadable("the payment id", fault, None),
        };
        let refund_id = match subject {
            Subject::Refund => read_id(self.value(self.columns.refund_id), ID_LENGTH_MAX),
            Subject::Payment => Ok(None),
        };
        let refund_id = match refund_id {
            Ok(id) => id.map(str::to_owned),
            Err(fault) => return unreadable("the refund id", fault, None),
        };
        let mut known =
            StatementLine { line, subject, payment_id, refund_id, payment_no: None, amount: None, at: None };
        // The rest is read as far as possible: a payment whose amount is smudged is there, and not missing.
        let time = self.value(self.columns.time);
        let mut fault = None;
        match read_time(time, self.layout.offset) {
            Ok(at) => known.at = at,
            Err(found) => fault = Some(("the time", found)),
        }
        match read_id(self.value(self.columns.payment_no), PAYMENT_NO_LENGTH_MAX) {
            Ok(number) => known.payment_no = number.map(str::to_owned),
            Err(found) => fault = Some(("the payment's number", found)),
        }
        match self.amount(subject) {
            Ok(amount) => known.amount = Some(amount),
            Err((column, found)) => fault = Some((column, found)),
        }
        match fault {
            None => Line::Read(known),
            Some((column, fault)) => unreadable(column, fault, Some(known)),
        }
    }

    fn subject(&self) -> Result<Option<Subject>, ValueFault> {
        let Some(column) = self.columns.kind else { return Ok(Some(Subject::Payment)) };
        let bytes = self.value(Some(column));
        let word = self.encoding.decode(bytes).ok_or_else(|| ValueFault::no_text(bytes))?;
        let is_one_of = |words: &[String]| words.iter().any(|one| word.eq_ignore_ascii_case(one));
        if is_one_of(&self.layout.payment_words) {
            return Ok(Some(Subject::Payment));
        }
        if is_one_of(&self.layout.refund_words) {
            return Ok(Some(Subject::Refund));
        }
        match &self.layout.other_words {
            OtherWords::AllOthers if !word.is_empty() => Ok(None),
            OtherWords::These(words) if is_one_of(words) => Ok(None),
            OtherWords::AllOthers | OtherWords::These(_) => Err(ValueFault::unknown_word(bytes)),
        }
    }

    fn amount(&self, subject: Subject) -> Result<Amount, (&'static str, ValueFault)> {
        let currency = match self.columns.currency {
            Some(column) => self.currency(column).map_err(|fault| ("the currency", fault))?,
            // A layout without the column names the currency of all; see Layout::columns.
            None => self.layout.currency_of_all.ok_or(("the currency", ValueFault::Missing))?,
        };
        let column = match (subject, self.columns.refund_amount) {
            (Subject::Refund, Some(column)) => column,
            _ => self.columns.amount,
        };
        let amount = read_amount(self.value(Some(column)), currency, self.layout.amount_unit);
        let amount = amount.map_err(|fault| ("the amount", fault))?;
        match (subject, amount.is_below_zero) {
            (Subject::Payment, true) => Err(("the amount", ValueFault::BelowZero)),
            _ => Ok(amount.amount),
        }
    }

    fn currency(&self, column: usize) -> Result<Currency, ValueFault> {
        let bytes = self.value(Some(column));
        if bytes.is_empty() {
            return self.layout.currency_of_all.ok_or(ValueFault::Missing);
        }
        let code = bytes.to_ascii_uppercase();
        let code = std::str::from_utf8(&code).map_err(|_| ValueFault::no_text(bytes))?;
        Currency::from_code(code).map_err(|_| ValueFault::unknown_word(bytes))
    }

    /// A field without the blanks and the character around it that are no part of it; empty where there is no column.
    fn value(&self, column: Option<usize>) -> &[u8] {
        let field = column.map_or(&[][..], |column| self.record.field(column)).trim_ascii();
        match (field.split_first(), self.layout.prefix) {
            (Some((first, behind)), Some(prefix)) if *first == prefix => behind.trim_ascii(),
            _ => field,
        }
    }
}

fn columns(layout: &Layout, heading: &Record, encoding: Encoding) -> Option<Columns> {
    let headings: Option<Vec<Cow<'_, str>>> =
        (0..heading.len()).map(|index| encoding.decode(heading.field(index))).collect();
    layout.columns(&headings?)
}

fn looked_for(layout: &Layout) -> String {
    let headings: Vec<&str> = layout.headings().collect();
    format!("{} ({})", layout.name, headings.join(", "))
}

#[cfg(test)]
mod tests;
