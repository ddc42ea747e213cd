//! How a statement is laid out: under which headings its columns stand, and in which words it speaks.

use std::borrow::Cow;

use chrono::FixedOffset;
use encoding_rs::GB18030;
use money::Currency;

/// How a provider lays its statement out. A heading, or a word, is one of several where it has changed over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// What it is called in messages.
    pub name: String,
    /// The provider's payment id, as callbacks give it: the identity of the money. It must be there.
    pub payment_id: Vec<String>,
    /// Our number of the payment.
    pub payment_no: Vec<String>,
    /// The provider's refund id.
    pub refund_id: Vec<String>,
    /// How much. It must be there.
    pub amount: Vec<String>,
    /// How much was given back, where that stands in a column of its own.
    pub refund_amount: Vec<String>,
    /// In which currency.
    pub currency: Vec<String>,
    /// The currency of every line, where there is no such column.
    pub currency_of_all: Option<Currency>,
    /// Whether a line is a payment or a refund. Without this column, each is a payment.
    pub kind: Vec<String>,
    /// When it was paid or given back.
    pub time: Vec<String>,
    /// The words for a payment in the column of kinds.
    pub payment_words: Vec<String>,
    /// The words for a refund.
    pub refund_words: Vec<String>,
    /// The words for what is no business of the books: it is counted, and not compared.
    pub other_words: OtherWords,
    /// How far local time is ahead of UTC, in times that do not say so themselves. Days begin by it.
    pub offset: FixedOffset,
    /// In which unit amounts are written.
    pub amount_unit: AmountUnit,
    /// What separates fields.
    pub delimiter: u8,
    /// A character that may stand before each value, and is no part of it.
    pub prefix: Option<u8>,
    /// What a line begins with that is no record.
    pub comment: Option<u8>,
    /// What the first field of the line is that ends the records, if anything is: totals follow.
    pub ends_at: Option<String>,
    /// Whether the columns of our number, of the refund's id and of the time may be missing; what they would have told
    /// is then not compared.
    pub may_lack_columns: bool,
    /// Whether the time of a refund is its own, and not that of its payment.
    pub refunds_have_times: bool,
}

/// The words, in the column of kinds, for what is neither a payment nor a refund.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OtherWords {
    /// These. A word that is none of the three kinds makes its line unreadable.
    These(Vec<String>),
    /// Every word that is neither a payment's nor a refund's.
    AllOthers,
}

/// In which unit a statement writes amounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AmountUnit {
    /// The currency's own, with a point: `88.80`.
    Major,
    /// The smallest that ISO 4217 has for the currency: `8880`.
    Minor,
}

/// How a statement's characters are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// GBK, read as its superset GB 18030.
    Gbk,
}

impl Encoding {
    /// Every encoding, in the order in which they are tried: text that is GBK is hardly ever UTF-8 too.
    pub const ALL: [Self; 2] = [Self::Utf8, Self::Gbk];

    /// The word for it on the command line and in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Gbk => "gbk",
        }
    }

    /// The encoding of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.word() == word)
    }

    /// The text that the bytes are, if they are text. Nothing is replaced.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Gbk => GB18030.decode_without_bom_handling_and_without_replacement(bytes),
        }
    }
}

/// Where the columns of a layout stand in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    pub(crate) count: usize,
    pub(crate) payment_id: usize,
    pub(crate) payment_no: Option<usize>,
    pub(crate) refund_id: Option<usize>,
    pub(crate) amount: usize,
    pub(crate) refund_amount: Option<usize>,
    pub(crate) currency: Option<usize>,
    pub(crate) kind: Option<usize>,
    pub(crate) time: Option<usize>,
}

impl Layout {
    /// The layout of a file with nothing but what its caller names.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            payment_id: Vec::new(),
            payment_no: Vec::new(),
            refund_id: Vec::new(),
            amount: Vec::new(),
            refund_amount: Vec::new(),
            currency: Vec::new(),
            currency_of_all: None,
            kind: Vec::new(),
            time: Vec::new(),
            payment_words: Vec::new(),
            refund_words: Vec::new(),
            other_words: OtherWords::These(Vec::new()),
            offset: utc(),
            amount_unit: AmountUnit::Major,
            delimiter: b',',
            prefix: None,
            comment: None,
            ends_at: None,
            may_lack_columns: false,
            refunds_have_times: true,
        }
    }

    /// The columns, if this record is a heading of this layout: all that the layout names are there, but for those that
    /// may be missing, and none twice.
    pub(crate) fn columns(&self, headings: &[Cow<'_, str>]) -> Option<Columns> {
        let place = |names: &Vec<String>| -> Place {
            let mut found = headings
                .iter()
                .enumerate()
                .filter(|(_, heading)| names.iter().any(|name| heading.trim().eq_ignore_ascii_case(name)));
            match (found.next(), found.next()) {
                (Some((index, _)), None) => Place::Here(index),
                (None, _) if names.is_empty() => Place::NotAskedFor,
                (None, _) => Place::Missing,
                _ => Place::Twice,
            }
        };
        let wanted = |names| match place(names) {
            Place::Missing if self.may_lack_columns => Some(None),
            found => found.optional(),
        };
        Some(Columns {
            count: headings.len(),
            payment_id: place(&self.payment_id).needed()?,
            payment_no: wanted(&self.payment_no)?,
            refund_id: wanted(&self.refund_id)?,
            amount: place(&self.amount).needed()?,
            refund_amount: place(&self.refund_amount).optional()?,
            currency: match self.currency_of_all {
                Some(_) => place(&self.currency).optional()?,
                None => Some(place(&self.currency).needed()?),
            },
            kind: place(&self.kind).optional()?,
            time: wanted(&self.time)?,
        })
    }

    /// The headings that a file of this layout has, the first name of each.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        let columns = [
            &self.payment_id,
            &self.payment_no,
            &self.refund_id,
            &self.amount,
            &self.refund_amount,
            &self.currency,
            &self.kind,
            &self.time,
        ];
        columns.into_iter().filter_map(|names| names.first().map(String::as_str))
    }
}

/// Universal time.
pub(crate) fn utc() -> FixedOffset {
    FixedOffset::east_opt(0).expect("within a day")
}

/// Where a column stands.
enum Place {
    Here(usize),
    NotAskedFor,
    Missing,
    /// Which leaves open which one counts.
    Twice,
}

impl Place {
    fn needed(self) -> Option<usize> {
        match self {
            Self::Here(index) => Some(index),
            Self::NotAskedFor | Self::Missing | Self::Twice => None,
        }
    }

    fn optional(self) -> Option<Option<usize>> {
        match self {
            Self::Here(index) => Some(Some(index)),
            Self::NotAskedFor => Some(None),
            Self::Missing | Self::Twice => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let one = |name: &str| vec![name.to_owned()];
        Layout {
            payment_id: one("id"),
            amount: vec!["amount".to_owned(), "sum".to_owned()],
            currency: one("currency"),
            time: one("time"),
            ..Layout::named("test")
        }
    }

    fn columns(layout: &Layout, headings: &[&str]) -> Option<Columns> {
        layout.columns(&headings.iter().map(|heading| Cow::Borrowed(*heading)).collect::<Vec<_>>())
    }

    #[test]
    fn columns_are_found_by_their_headings_in_any_order() {
        let columns = columns(&layout(), &["time", "x", " Currency\t", "ID", "sum"]).unwrap();
        assert_eq!((columns.payment_id, columns.amount, columns.currency), (3, 4, Some(2)));
        assert_eq!((columns.time, columns.payment_no, columns.count), (Some(0), None, 5));
    }

    #[test]
    fn a_heading_that_is_missing_or_there_twice_is_none() {
        for headings in [
            &["id", "amount", "currency"][..],
            &["id", "amount", "currency", "time", "ID"],
            &["id", "amount", "sum", "currency", "time"],
            &["id", "amount", "time"],
        ] {
            assert_eq!(columns(&layout(), headings), None, "{headings:?}");
        }
        let lenient = Layout { may_lack_columns: true, ..layout() };
        assert!(columns(&lenient, &["id", "amount", "currency"]).is_some());
        assert!(columns(&lenient, &["id", "amount", "currency", "time", "time"]).is_none());
        let cny = Layout { currency: vec![], currency_of_all: Currency::from_code("CNY").ok(), ..layout() };
        assert!(columns(&cny, &["id", "amount", "time"]).is_some());
    }

    #[test]
    fn bytes_that_are_no_text_are_not_guessed_at() {
        let gbk = b"\xD6\xA7\xB8\xB6";
        assert_eq!(Encoding::Gbk.decode(gbk).as_deref(), Some("支付"));
        assert_eq!(Encoding::Utf8.decode(gbk), None);
        assert_eq!(Encoding::Gbk.decode(b"\xFF"), None);
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::from_word(encoding.word()), Some(encoding));
        }
    }
}
