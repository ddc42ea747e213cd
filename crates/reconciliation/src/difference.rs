//! Differences: what the statement and the books do not agree on.

use chrono::{DateTime, Utc};
use money::Amount;

use crate::statement::Subject;

/// So much of what is wrong with a line tells it from others: a cause is the key of an index, which holds no more.
const DETAIL_CHARS_MAX: usize = 200;

/// In what the statement and the books differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DifferenceKind {
    /// A line of the statement cannot be read.
    Unreadable,
    /// A line repeats one before it.
    DuplicateLine,
    /// The statement has it, and the books do not.
    MissingHere,
    /// The books have it, and the statement does not.
    MissingThere,
    /// Both have it, in different currencies.
    CurrencyDiffers,
    /// Both have it, with different amounts.
    AmountDiffers,
    /// Both have it, for different payments of ours.
    PaymentNoDiffers,
}

impl DifferenceKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Unreadable,
        Self::DuplicateLine,
        Self::MissingHere,
        Self::MissingThere,
        Self::CurrencyDiffers,
        Self::AmountDiffers,
        Self::PaymentNoDiffers,
    ];

    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::DuplicateLine => "duplicate_line",
            Self::MissingHere => "missing_here",
            Self::MissingThere => "missing_there",
            Self::CurrencyDiffers => "currency_differs",
            Self::AmountDiffers => "amount_differs",
            Self::PaymentNoDiffers => "payment_no_differs",
        }
    }
}

/// What one of the two says.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Told {
    /// Our number of the payment.
    pub payment_no: Option<String>,
    /// How much.
    pub amount: Option<Amount>,
    /// When: in the statement, when it was paid or given back; in the books, when they first knew.
    pub at: Option<DateTime<Utc>>,
}

/// Something that the statement and the books do not agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// In what.
    pub kind: DifferenceKind,
    /// Whether it is about a payment or a refund; nothing where the line does not tell.
    pub subject: Option<Subject>,
    /// Where it stands in the statement; nothing for what is not there.
    pub line: Option<u64>,
    /// The provider's payment id.
    pub payment_id: Option<String>,
    /// The provider's refund id.
    pub refund_id: Option<String>,
    /// What the statement says, if it has it.
    pub statement: Option<Told>,
    /// What the books say, if they have it.
    pub books: Option<Told>,
    /// More about it, for people to read.
    pub detail: Option<String>,
}

impl Difference {
    /// What is the same whenever the same difference is found, and only then: the same file raises nothing new, and
    /// another amount does. A line that cannot be read is known by its place in `file`, and by what is wrong with it.
    /// Nothing for what no statement could be about.
    pub fn cause(&self, file: &str) -> Option<String> {
        if self.kind == DifferenceKind::Unreadable {
            let detail: String =
                self.detail.iter().flat_map(|text| text.chars()).take(DETAIL_CHARS_MAX).collect();
            return Some(format!("{} {file} {detail}", self.line?));
        }
        let payment_id = self.payment_id.as_deref()?;
        let subject = self.subject?.word();
        let refund_id = self.refund_id.as_deref().unwrap_or_default();
        let told = |told: &Option<Told>| match self.kind {
            DifferenceKind::Unreadable
            | DifferenceKind::DuplicateLine
            | DifferenceKind::MissingHere
            | DifferenceKind::MissingThere => String::new(),
            DifferenceKind::CurrencyDiffers | DifferenceKind::AmountDiffers => {
                let amount = told.as_ref().and_then(|told| told.amount);
                amount.map_or("none".to_owned(), |amount| format!("{amount} {}", amount.currency()))
            }
            DifferenceKind::PaymentNoDiffers => {
                told.as_ref().and_then(|told| told.payment_no.clone()).unwrap_or("none".to_owned())
            }
        };
        // None of the parts but the amounts has a blank in it.
        Some(format!("{subject} {payment_id} {refund_id} {} {}", told(&self.statement), told(&self.books)))
    }
}

#[cfg(test)]
mod tests {
    use money::Currency;

    use super::*;

    fn difference(kind: DifferenceKind, statement: &str) -> Difference {
        let cny = Currency::from_code("CNY").unwrap();
        let told = |text| Told { amount: Amount::parse(text, cny).ok(), ..Told::default() };
        Difference {
            kind,
            subject: Some(Subject::Payment),
            line: Some(7),
            payment_id: Some("pi_1".to_owned()),
            refund_id: None,
            statement: Some(told(statement)),
            books: Some(told("88.80")),
            detail: None,
        }
    }

    #[test]
    fn a_cause_is_the_same_for_the_same_difference_wherever_it_stands() {
        let first = difference(DifferenceKind::AmountDiffers, "88.81");
        let moved = Difference { line: Some(8), detail: Some("elsewhere".to_owned()), ..first.clone() };
        assert_eq!(first.cause("a.csv"), moved.cause("b.csv"));
        assert_ne!(first.cause("a.csv"), difference(DifferenceKind::AmountDiffers, "88.82").cause("a.csv"));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_known_by_its_file_and_its_place() {
        let first = difference(DifferenceKind::Unreadable, "88.81");
        let moved = Difference { line: Some(8), ..first.clone() };
        assert_eq!(first.cause("a.csv"), first.clone().cause("a.csv"));
        assert_ne!(first.cause("a.csv"), moved.cause("a.csv"));
        assert_ne!(first.cause("a.csv"), first.cause("b.csv"));
    }

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        let mut words: Vec<&str> = DifferenceKind::ALL.into_iter().map(DifferenceKind::word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), DifferenceKind::ALL.len());
    }
}
