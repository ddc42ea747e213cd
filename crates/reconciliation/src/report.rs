//! The report: differences as they are found, as a table for people, as CSV or as JSON.

use std::io::{self, Write};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::csv_field::push_fields;
use crate::difference::{Difference, DifferenceKind, Told};
use crate::reconcile::Summary;

/// What a report looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A line for each difference, and sentences behind them.
    Table,
    /// A heading and a record for each difference (RFC 4180), with bare line feeds, and a `'` before a text that a
    /// spreadsheet would run. The summary is no part of it.
    Csv,
    /// One document: `differences`, and the `summary`.
    Json,
}

/// A report at work. It keeps nothing.
#[derive(Debug)]
pub struct Report<W> {
    out: W,
    format: Format,
    written: u64,
}

/// The columns of a report in CSV.
const COLUMNS: [&str; 14] = [
    "difference",
    "line",
    "subject",
    "provider_payment_id",
    "provider_refund_id",
    "statement_payment_no",
    "statement_amount",
    "statement_currency",
    "statement_time",
    "books_payment_no",
    "books_amount",
    "books_currency",
    "books_time",
    "detail",
];

impl<W: Write> Report<W> {
    /// Begins a report.
    ///
    /// # Errors
    ///
    /// Those of writing, as everywhere here.
    pub fn begin(mut out: W, format: Format) -> io::Result<Self> {
        match format {
            Format::Table => {}
            Format::Csv => writeln!(out, "{}", COLUMNS.join(","))?,
            Format::Json => write!(out, "{{\n  \"differences\": [")?,
        }
        Ok(Self { out, format, written: 0 })
    }

    /// Adds a difference.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn add(&mut self, difference: &Difference) -> io::Result<()> {
        match self.format {
            Format::Table => {
                if self.written == 0 {
                    let heading =
                        ["DIFFERENCE", "LINE", "OF", "PAYMENT ID", "STATEMENT", "BOOKS"].map(str::to_owned);
                    writeln!(self.out, "{}", row(&heading, "DETAIL"))?;
                }
                writeln!(self.out, "{}", table_row(difference))?;
            }
            Format::Csv => {
                let mut record = String::new();
                let fields = values(difference);
                push_fields(&mut record, fields.iter().map(|field| field.as_deref().unwrap_or_default()));
                writeln!(self.out, "{record}")?;
            }
            Format::Json => {
                let comma = if self.written == 0 { "" } else { "," };
                write!(self.out, "{comma}\n    {}", document(difference))?;
            }
        }
        self.written += 1;
        Ok(())
    }

    /// Ends the report with what was compared, and gives back where it was written to.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn finish(mut self, summary: &Summary) -> io::Result<W> {
        match self.format {
            Format::Table => {
                if self.written > 0 {
                    writeln!(self.out)?;
                }
                for sentence in sentences(summary) {
                    writeln!(self.out, "{sentence}")?;
                }
            }
            Format::Csv => {}
            Format::Json => {
                let end = if self.written == 0 { "" } else { "\n  " };
                writeln!(self.out, "{end}],\n  \"summary\": {}\n}}", summary_document(summary))?;
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// What was compared and what came of it, for a person.
pub fn sentences(summary: &Summary) -> Vec<String> {
    let others = match summary.others {
        0 => String::new(),
        count => format!(", and {count} lines that are neither"),
    };
    let mut sentences = vec![format!(
        "Read {} payments and {} refunds{others}; layout: {}; encoding: {}.",
        summary.payments,
        summary.refunds,
        summary.layout,
        summary.encoding.word()
    )];
    if !summary.tells_payment_nos {
        sentences
            .push("It has no column with our numbers of the payments: they are not compared.".to_owned());
    }
    if summary.unidentified > 0 {
        sentences.push(format!(
            "Of {} lines it cannot be read what they are about: what is said to be missing there may be one of them.",
            summary.unidentified
        ));
    }
    let counts: Vec<String> = DifferenceKind::ALL
        .iter()
        .zip(summary.counts)
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.word()))
        .collect();
    let (from, to, taken_at) = (time(summary.from), time(summary.to), time(summary.taken_at));
    sentences.push(match summary.differences() {
        0 => format!("For {from} to {to}, the statement agrees with the books of {taken_at}."),
        count => format!(
            "For {from} to {to}, the statement and the books of {taken_at} have {count} {}: {}.",
            if count == 1 { "difference" } else { "differences" },
            counts.join(", ")
        ),
    });
    sentences
}

fn table_row(difference: &Difference) -> String {
    let cell = |told: &Option<Told>| match (told, difference.kind) {
        (None, _) => "-".to_owned(),
        (Some(told), DifferenceKind::PaymentNoDiffers) => {
            told.payment_no.clone().unwrap_or_else(|| "no number".to_owned())
        }
        (Some(told), _) => told
            .amount
            .map_or_else(|| "no amount".to_owned(), |amount| format!("{amount} {}", amount.currency())),
    };
    let cells = [
        difference.kind.word().to_owned(),
        difference.line.map_or("-".to_owned(), |line| line.to_string()),
        difference.subject.map_or("-", |subject| subject.word()).to_owned(),
        difference.payment_id.clone().unwrap_or("-".to_owned()),
        cell(&difference.statement),
        cell(&difference.books),
    ];
    row(&cells, &detail(difference))
}

/// What a person needs beside the two cells to find it.
fn detail(difference: &Difference) -> String {
    let told = difference.statement.as_ref().or(difference.books.as_ref());
    let parts = [
        difference.detail.clone(),
        difference.refund_id.as_ref().map(|id| format!("refund {id}")),
        told.and_then(|told| told.payment_no.as_ref())
            .filter(|_| difference.kind != DifferenceKind::PaymentNoDiffers)
            .map(|number| format!("payment {number}")),
        difference
            .books
            .as_ref()
            .filter(|_| difference.kind == DifferenceKind::MissingThere)
            .and_then(|told| told.at)
            .map(|at| format!("known since {}", time(at))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Widths that ordinary values keep to; a longer one pushes the rest of its line to the right.
fn row(cells: &[String; 6], detail: &str) -> String {
    let [difference, line, subject, payment_id, statement, books] = cells;
    let row = format!(
        "{difference:18}  {line:>8}  {subject:7}  {payment_id:30}  {statement:>18}  {books:>18}  {detail}"
    );
    row.trim_end().to_owned()
}

fn values(difference: &Difference) -> [Option<String>; 14] {
    let [statement_no, statement_amount, statement_currency, statement_time] =
        told_values(&difference.statement);
    let [books_no, books_amount, books_currency, books_time] = told_values(&difference.books);
    [
        Some(difference.kind.word().to_owned()),
        difference.line.map(|line| line.to_string()),
        difference.subject.map(|subject| subject.word().to_owned()),
        difference.payment_id.clone(),
        difference.refund_id.clone(),
        statement_no,
        statement_amount,
        statement_currency,
        statement_time,
        books_no,
        books_amount,
        books_currency,
        books_time,
        difference.detail.clone(),
    ]
}

fn told_values(told: &Option<Told>) -> [Option<String>; 4] {
    let Some(told) = told else { return [None, None, None, None] };
    [
        told.payment_no.clone(),
        told.amount.map(|amount| amount.to_string()),
        told.amount.map(|amount| amount.currency().code().to_owned()),
        told.at.map(time),
    ]
}

fn document(difference: &Difference) -> Value {
    json!({
        "difference": difference.kind.word(),
        "line": difference.line,
        "subject": difference.subject.map(|subject| subject.word()),
        "provider_payment_id": difference.payment_id,
        "provider_refund_id": difference.refund_id,
        "statement": told_document(&difference.statement),
        "books": told_document(&difference.books),
        "detail": difference.detail,
    })
}

fn told_document(told: &Option<Told>) -> Value {
    if told.is_none() {
        return Value::Null;
    }
    let [payment_no, amount, currency, time] = told_values(told);
    json!({ "payment_no": payment_no, "amount": amount, "currency": currency, "time": time })
}

fn summary_document(summary: &Summary) -> Value {
    let counts = DifferenceKind::ALL.iter().zip(summary.counts);
    let counts: serde_json::Map<String, Value> =
        counts.map(|(kind, count)| (kind.word().to_owned(), count.into())).collect();
    json!({
        "agrees": summary.differences() == 0,
        "differences": summary.differences(),
        "counts": counts,
        "payments": summary.payments,
        "refunds": summary.refunds,
        "others": summary.others,
        "unidentified": summary.unidentified,
        "payment_numbers_compared": summary.tells_payment_nos,
        "layout": summary.layout,
        "encoding": summary.encoding.word(),
        "from": time(summary.from),
        "to": time(summary.to),
        "taken_at": time(summary.taken_at),
    })
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use money::{Amount, Currency};

    use super::*;
    use crate::layout::Encoding;
    use crate::statement::Subject;

    fn told(payment_no: &str, amount: &str, at: &str) -> Option<Told> {
        let cny = Currency::from_code("CNY").unwrap();
        Some(Told {
            payment_no: Some(payment_no.to_owned()),
            amount: Amount::parse(amount, cny).ok(),
            at: at.parse().ok(),
        })
    }

    fn differences() -> Vec<Difference> {
        let first = Difference {
            kind: DifferenceKind::Unreadable,
            subject: None,
            line: Some(3),
            payment_id: None,
            refund_id: None,
            statement: None,
            books: None,
            detail: Some("the kind: \"x,y\" is not known here".to_owned()),
        };
        let second = Difference {
            kind: DifferenceKind::AmountDiffers,
            subject: Some(Subject::Payment),
            line: Some(7),
            payment_id: Some("pi_1".to_owned()),
            statement: told("P-0001", "88.81", "2026-03-04T05:06:07Z"),
            books: told("P-0001", "88.80", "2026-03-04T05:06:08.5Z"),
            detail: None,
            ..first.clone()
        };
        let third = Difference {
            kind: DifferenceKind::MissingThere,
            subject: Some(Subject::Refund),
            line: None,
            refund_id: Some("re_1".to_owned()),
            statement: None,
            ..second.clone()
        };
        vec![first, second, third]
    }

    fn summary(counts: [u64; 7]) -> Summary {
        let time = |text: &str| text.parse().unwrap();
        Summary {
            layout: "plain".to_owned(),
            encoding: Encoding::Utf8,
            tells_payment_nos: true,
            payments: 2,
            refunds: 1,
            others: 0,
            unidentified: counts[0],
            from: time("2026-03-04T00:00:00Z"),
            to: time("2026-03-05T00:00:00Z"),
            taken_at: time("2026-03-05T01:02:03Z"),
            counts,
        }
    }

    fn written(format: Format, differences: &[Difference], counts: [u64; 7]) -> String {
        let mut report = Report::begin(Vec::new(), format).unwrap();
        differences.iter().for_each(|difference| report.add(difference).unwrap());
        String::from_utf8(report.finish(&summary(counts)).unwrap()).unwrap()
    }

    #[test]
    fn a_table_has_a_line_for_each_difference_and_ends_in_sentences() {
        let table = written(Format::Table, &differences(), [1, 0, 0, 1, 0, 1, 0]);
        let expected = r#"
DIFFERENCE              LINE  OF       PAYMENT ID                               STATEMENT               BOOKS  DETAIL
unreadable                 3  -        -                                                -                   -  the kind: "x,y" is not known here
amount_differs             7  payment  pi_1                                     88.81 CNY           88.80 CNY  payment P-0001
missing_there              -  refund   pi_1                                             -           88.80 CNY  refund re_1; payment P-0001; known since 2026-03-04T05:06:08.500Z

Read 2 payments and 1 refunds; layout: plain; encoding: utf-8.
Of 1 lines it cannot be read what they are about: what is said to be missing there may be one of them.
For 2026-03-04T00:00:00Z to 2026-03-05T00:00:00Z, the statement and the books of 2026-03-05T01:02:03Z have 3 differences: 1 unreadable, 1 missing_there, 1 amount_differs.
"#;
        assert_eq!(table, expected.trim_start());
    }

    #[test]
    fn a_table_of_nothing_is_sentences() {
        assert_eq!(
            written(Format::Table, &[], [0; 7]),
            "Read 2 payments and 1 refunds; layout: plain; encoding: utf-8.\n\
             For 2026-03-04T00:00:00Z to 2026-03-05T00:00:00Z, the statement agrees with the books of \
             2026-03-05T01:02:03Z.\n"
        );
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let csv = written(Format::Csv, &differences(), [1, 0, 0, 1, 0, 1, 0]);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0].split(',').count(), 14);
        assert_eq!(
            lines[1..],
            [
                "unreadable,3,,,,,,,,,,,,\"the kind: \"\"x,y\"\" is not known here\"",
                "amount_differs,7,payment,pi_1,,P-0001,88.81,CNY,2026-03-04T05:06:07Z,P-0001,88.80,CNY,2026-03-04T05:06:08.500Z,",
                "missing_there,,refund,pi_1,re_1,,,,,P-0001,88.80,CNY,2026-03-04T05:06:08.500Z,",
            ]
        );
    }

    #[test]
    fn json_is_one_document() {
        let document: Value =
            serde_json::from_str(&written(Format::Json, &differences(), [1, 0, 0, 1, 0, 1, 0])).unwrap();
        assert_eq!(document["differences"].as_array().unwrap().len(), 3);
        assert_eq!(document["differences"][1]["statement"]["amount"], "88.81");
        assert_eq!(document["differences"][2]["statement"], Value::Null);
        assert_eq!(document["summary"]["agrees"], false);
        assert_eq!(document["summary"]["counts"]["missing_there"], 1);
        let nothing: Value = serde_json::from_str(&written(Format::Json, &[], [0; 7])).unwrap();
        assert_eq!(nothing["differences"], json!([]));
        assert_eq!(nothing["summary"]["agrees"], true);
    }
}
