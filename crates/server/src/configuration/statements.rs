//! `[statements.PROVIDER]`: how a provider's settlement statement is laid out, where it is not as the provider's own.

use chrono::FixedOffset;
use money::Currency;
use reconciliation::{AmountUnit, Layout, OtherWords};
use serde::{Deserialize, Serialize};

/// A layout. An empty heading means that there is no such column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StatementSection {
    /// The heading of the provider's payment id.
    pub payment_id: String,
    /// The heading of our number of the payment.
    pub payment_no: String,
    /// The heading of the provider's refund id.
    pub refund_id: String,
    /// The heading of the amount.
    pub amount: String,
    /// The heading of the amount of a refund, where it has a column of its own.
    pub refund_amount: String,
    /// The heading of the currency.
    pub currency: String,
    /// The currency of lines that name none.
    pub currency_of_all: String,
    /// The heading of whether a line is a payment or a refund.
    pub kind: String,
    /// The heading of the time.
    pub time: String,
    /// The words for a payment.
    pub payment_words: Vec<String>,
    /// The words for a refund.
    pub refund_words: Vec<String>,
    /// The words for lines that are passed over; `*` for all that are neither.
    pub other_words: Vec<String>,
    /// How far local time is ahead of UTC.
    pub utc_offset: String,
    /// `major` (88.80) or `minor` (8880).
    pub amounts: String,
    /// What separates fields: one character.
    pub delimiter: String,
    /// A character that stands before values and is no part of them.
    pub prefix: String,
    /// A character that begins lines which are no records.
    pub comment: String,
    /// The first field of the line that ends the records.
    pub ends_at: String,
}

impl Default for StatementSection {
    fn default() -> Self {
        let plain = reconciliation::provider_layouts::plain();
        let first = |names: &[String]| names.first().cloned().unwrap_or_default();
        Self {
            payment_id: first(&plain.payment_id),
            payment_no: first(&plain.payment_no),
            refund_id: String::new(),
            amount: first(&plain.amount),
            refund_amount: String::new(),
            currency: first(&plain.currency),
            currency_of_all: String::new(),
            kind: first(&plain.kind),
            time: first(&plain.time),
            payment_words: plain.payment_words,
            refund_words: plain.refund_words,
            other_words: Vec::new(),
            utc_offset: "+00:00".to_owned(),
            amounts: "major".to_owned(),
            delimiter: ",".to_owned(),
            prefix: String::new(),
            comment: String::new(),
            ends_at: String::new(),
        }
    }
}

/// A key of a section whose value cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("statements.{provider}.{key} {problem}")]
pub struct StatementFault {
    provider: String,
    key: &'static str,
    problem: &'static str,
}

impl StatementSection {
    /// The layout that the section describes.
    ///
    /// # Errors
    ///
    /// The first key that cannot be used, and why.
    pub fn layout(&self, provider: &str) -> Result<Layout, StatementFault> {
        let fault = |key, problem| StatementFault { provider: provider.to_owned(), key, problem };
        let heading = |name: &String| if name.is_empty() { Vec::new() } else { vec![name.clone()] };
        let needed = |key, name: &String| match name.is_empty() {
            true => Err(fault(key, "is the heading of a column that must be there")),
            false => Ok(vec![name.clone()]),
        };
        let byte = |key, text: &String| match text.as_bytes() {
            [] => Ok(None),
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(Some(*byte)),
            _ => Err(fault(key, "is one ASCII character, and neither a quote nor a line end")),
        };
        let currency_of_all = match self.currency_of_all.as_str() {
            "" if self.currency.is_empty() => {
                return Err(fault("currency", "is needed where there is no currency_of_all"));
            }
            "" => None,
            code => {
                Some(Currency::from_code(code).map_err(|_| fault("currency_of_all", "is an ISO 4217 code"))?)
            }
        };
        let all_others = self.other_words.iter().any(|word| word == "*");
        Ok(Layout {
            payment_id: needed("payment_id", &self.payment_id)?,
            payment_no: heading(&self.payment_no),
            refund_id: heading(&self.refund_id),
            amount: needed("amount", &self.amount)?,
            refund_amount: heading(&self.refund_amount),
            currency: heading(&self.currency),
            currency_of_all,
            kind: heading(&self.kind),
            time: heading(&self.time),
            payment_words: self.payment_words.clone(),
            refund_words: self.refund_words.clone(),
            other_words: if all_others {
                OtherWords::AllOthers
            } else {
                OtherWords::These(self.other_words.clone())
            },
            offset: offset(&self.utc_offset).ok_or(fault("utc_offset", "is an offset such as +08:00"))?,
            amount_unit: match self.amounts.as_str() {
                "major" => AmountUnit::Major,
                "minor" => AmountUnit::Minor,
                _ => return Err(fault("amounts", "is major (88.80) or minor (8880)")),
            },
            delimiter: byte("delimiter", &self.delimiter)?.ok_or(fault("delimiter", "is one character"))?,
            prefix: byte("prefix", &self.prefix)?,
            comment: byte("comment", &self.comment)?,
            ends_at: Some(self.ends_at.clone()).filter(|text| !text.is_empty()),
            ..Layout::named(format!("statements.{provider}"))
        })
    }
}

fn offset(text: &str) -> Option<FixedOffset> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = include_str!("../../../../docs/reference/statements.md");

    #[test]
    fn the_reference_lists_every_key_with_its_default_and_no_other() {
        let keys = REFERENCE.split_once("| key | default | meaning |").expect("the table of keys").1;
        let mut listed: Vec<&str> = keys.lines().filter(|line| line.starts_with("| `")).collect();
        let default = toml::Table::try_from(StatementSection::default()).unwrap();
        let known: Vec<String> =
            default.iter().map(|(key, default)| format!("| `{key}` | `{default}` | ")).collect();
        for key in &known {
            assert!(listed.iter().any(|line| line.starts_with(key)), "{key} is not in the reference");
        }
        listed.retain(|line| !known.iter().any(|key| line.starts_with(key)));
        assert_eq!(listed, [""; 0]);
    }

    #[test]
    fn the_references_example_is_a_layout() {
        let example = REFERENCE.split_once("```toml").expect("an example").1.split_once("```").unwrap().0;
        let configuration: crate::configuration::Configuration = toml::from_str(example).unwrap();
        let layout = configuration.statements["standard"].layout("standard").unwrap();
        assert_eq!(layout.headings().collect::<Vec<_>>(), ["Vorgang", "Betrag", "Wann"]);
    }

    #[test]
    fn the_defaults_are_the_plain_layout() {
        let plain = reconciliation::provider_layouts::plain();
        let section = StatementSection::default().layout("standard").unwrap();
        assert_eq!(
            section.headings().collect::<Vec<_>>(),
            ["provider_payment_id", "payment_no", "amount", "currency", "kind", "time"]
        );
        assert_eq!((section.offset, section.delimiter), (plain.offset, plain.delimiter));
        assert_eq!(section.payment_words, plain.payment_words);
    }

    #[test]
    fn what_cannot_be_used_is_told_by_its_key() {
        let spoilt = |spoil: fn(&mut StatementSection)| {
            let mut section = StatementSection::default();
            spoil(&mut section);
            section.layout("stripe").unwrap_err().to_string()
        };
        assert_eq!(
            spoilt(|section| section.payment_id.clear()),
            "statements.stripe.payment_id is the heading of a column that must be there"
        );
        assert_eq!(
            spoilt(|section| section.currency.clear()),
            "statements.stripe.currency is needed where there is no currency_of_all"
        );
        assert!(spoilt(|section| section.currency_of_all = "EURO".to_owned()).contains("currency_of_all is"));
        assert!(spoilt(|section| section.utc_offset = "Beijing".to_owned()).contains("utc_offset is"));
        assert!(spoilt(|section| section.amounts = "cents".to_owned()).contains("amounts is"));
        assert!(spoilt(|section| section.delimiter = "\"".to_owned()).contains("delimiter is"));
        assert!(spoilt(|section| section.delimiter.clear()).contains("delimiter is"));
        assert!(spoilt(|section| section.prefix = "··".to_owned()).contains("prefix is"));
    }
}
