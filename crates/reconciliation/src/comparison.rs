//! Comparing: what the statement and the books say of one payment, or one refund, side by side.

use chrono::{DateTime, Utc};
use money::Amount;

use crate::difference::{Difference, DifferenceKind, Told};
use crate::statement::Subject;

/// What a statement says of one payment, or of the refunds that are compared together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stated {
    /// Its first line.
    pub line: u64,
    /// The first line that says the same; another one than `line` makes this a duplicate.
    pub first_line: u64,
    /// What it says. Without an amount where that could not be read.
    pub told: Told,
}

/// What the books say of one payment, or of the refunds that are compared together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Booked {
    /// The payment that a refund is of, where the books have it under its own id.
    pub payment_id: Option<String>,
    /// What they say. Without an amount where the provider told of one that could not be read.
    pub told: Told,
}

/// One payment, or one refund, as both have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Which of the two it is.
    pub subject: Subject,
    /// The provider's payment id.
    pub payment_id: String,
    /// The provider's refund id, as whoever has it has it.
    pub refund_id: Option<String>,
    /// What the statement says.
    pub stated: Option<Stated>,
    /// What the books say.
    pub booked: Option<Booked>,
}

impl Pair {
    /// Hands over what differs, in the order of [`DifferenceKind`]. What the statement does not tell is not compared,
    /// and neither are amounts of different currencies.
    pub fn compare(self, found: &mut Vec<Difference>) {
        let Self { subject, payment_id, refund_id, stated, booked } = self;
        let statement = stated.as_ref().map(|stated| stated.told.clone());
        let books = booked.as_ref().map(|booked| booked.told.clone());
        let difference = |kind, detail: Option<String>| Difference {
            kind,
            subject: Some(subject),
            line: stated.as_ref().map(|stated| stated.line),
            payment_id: Some(payment_id.clone()),
            refund_id: refund_id.clone(),
            statement: statement.clone(),
            books: books.clone(),
            detail,
        };
        match (&stated, &booked) {
            (None, None) => {}
            (Some(stated), _) if stated.line != stated.first_line => {
                let detail = format!("line {} has it already", stated.first_line);
                found.push(difference(DifferenceKind::DuplicateLine, Some(detail)));
            }
            (Some(_), None) => found.push(difference(DifferenceKind::MissingHere, None)),
            (None, Some(_)) => found.push(difference(DifferenceKind::MissingThere, None)),
            (Some(stated), Some(booked)) => {
                if let Some(kind) = amounts_differ(&stated.told, &booked.told) {
                    found.push(difference(kind, None));
                }
                let other_payment = booked.payment_id.as_ref().filter(|booked| **booked != payment_id);
                let numbers = (&stated.told.payment_no, &booked.told.payment_no);
                if let Some(other) = other_payment {
                    let detail = format!("the books have it as a refund of {other}");
                    found.push(difference(DifferenceKind::PaymentNoDiffers, Some(detail)));
                } else if matches!(numbers, (Some(stated), booked) if Some(stated) != booked.as_ref()) {
                    found.push(difference(DifferenceKind::PaymentNoDiffers, None));
                }
            }
        }
    }
}

fn amounts_differ(stated: &Told, booked: &Told) -> Option<DifferenceKind> {
    let stated = stated.amount?;
    match booked.amount {
        Some(booked) if booked.currency() != stated.currency() => Some(DifferenceKind::CurrencyDiffers),
        Some(booked) if booked == stated => None,
        _ => Some(DifferenceKind::AmountDiffers),
    }
}

/// The refunds of one payment, added up, where the books know no single ones.
///
/// Refunds of one payment may stand in several statements, and the books may have learnt of several at once. So the
/// statement's sum must lie between what was booked within its span and what was ever told of; and where all of it was
/// booked within the span, that leaves one sum only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    /// The provider's payment id.
    pub payment_id: String,
    /// What the statement gives back, if it has the payment at all.
    pub stated: Option<StatedTotal>,
    /// What the books say was given back, if they know of any.
    pub booked: Option<BookedTotal>,
}

/// A statement's refunds of one payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedTotal {
    /// The first line of them.
    pub line: u64,
    /// What they say together: the sum, unless one could not be read; the time of the first.
    pub told: Told,
    /// Whether they are in several currencies; there is no sum then.
    pub in_several_currencies: bool,
}

/// The books' refunds of one payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BookedTotal {
    /// Our number of the payment.
    pub payment_no: Option<String>,
    /// All that was ever told of.
    pub ever: Amount,
    /// What was booked within the span.
    pub within_span: Amount,
    /// When the first of that was booked.
    pub at: Option<DateTime<Utc>>,
}

impl Totals {
    /// Hands over what differs.
    pub fn compare(self, found: &mut Vec<Difference>) {
        let Self { payment_id, stated, booked } = self;
        let booked = booked.filter(|booked| !booked.ever.is_zero());
        let difference = |kind, amount: Option<Amount>, detail: Option<&str>| Difference {
            kind,
            subject: Some(Subject::Refund),
            line: stated.as_ref().map(|stated| stated.line),
            payment_id: Some(payment_id.clone()),
            refund_id: None,
            statement: stated.as_ref().map(|stated| stated.told.clone()),
            books: booked.as_ref().map(|booked| Told {
                payment_no: booked.payment_no.clone(),
                amount,
                at: booked.at,
            }),
            detail: detail.map(str::to_owned),
        };
        match (&stated, &booked) {
            (None, None) => {}
            (None, Some(booked)) if booked.within_span.is_zero() => {}
            (None, Some(booked)) => {
                found.push(difference(DifferenceKind::MissingThere, Some(booked.within_span), None));
            }
            (Some(_), None) => found.push(difference(DifferenceKind::MissingHere, None, None)),
            (Some(stated), Some(booked)) => {
                let (ever, within_span) = (booked.ever, booked.within_span);
                if stated.in_several_currencies {
                    let detail = Some("its lines are in several currencies");
                    found.push(difference(DifferenceKind::CurrencyDiffers, Some(ever), detail));
                } else if let Some(sum) = stated.told.amount {
                    if sum.currency() != ever.currency() {
                        found.push(difference(DifferenceKind::CurrencyDiffers, Some(ever), None));
                    } else if sum.minor_units() > ever.minor_units() {
                        let detail = Some("more than the books know of in all");
                        found.push(difference(DifferenceKind::AmountDiffers, Some(ever), detail));
                    } else if sum.minor_units() < within_span.minor_units() {
                        let detail = Some("less than was booked in this time");
                        found.push(difference(DifferenceKind::AmountDiffers, Some(within_span), detail));
                    }
                }
                if stated.told.payment_no.is_some() && stated.told.payment_no != booked.payment_no {
                    found.push(difference(DifferenceKind::PaymentNoDiffers, Some(ever), None));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use money::Currency;

    use super::*;

    fn amount(text: &str, code: &str) -> Amount {
        Amount::parse(text, Currency::from_code(code).unwrap()).unwrap()
    }

    fn told(payment_no: Option<&str>, amount: Option<Amount>) -> Told {
        Told { payment_no: payment_no.map(str::to_owned), amount, at: None }
    }

    fn kinds(stated: Option<Told>, booked: Option<Told>) -> Vec<DifferenceKind> {
        let mut found = Vec::new();
        let pair = Pair {
            subject: Subject::Payment,
            payment_id: "pi_1".to_owned(),
            refund_id: None,
            stated: stated.map(|told| Stated { line: 2, first_line: 2, told }),
            booked: booked.map(|told| Booked { payment_id: None, told }),
        };
        pair.compare(&mut found);
        found.into_iter().map(|difference| difference.kind).collect()
    }

    #[test]
    fn one_payment_differs_in_what_both_tell() {
        use DifferenceKind::*;
        let cny = amount("88.80", "CNY");
        let both = told(Some("P-1"), Some(cny));
        let table = [
            (Some(both.clone()), Some(both.clone()), vec![]),
            (Some(both.clone()), None, vec![MissingHere]),
            (None, Some(both.clone()), vec![MissingThere]),
            (Some(told(Some("P-1"), Some(amount("88.81", "CNY")))), Some(both.clone()), vec![AmountDiffers]),
            (
                Some(told(Some("P-1"), Some(amount("88.80", "USD")))),
                Some(both.clone()),
                vec![CurrencyDiffers],
            ),
            (Some(told(Some("P-2"), Some(cny))), Some(both.clone()), vec![PaymentNoDiffers]),
            (
                Some(told(Some("P-2"), Some(amount("1.00", "CNY")))),
                Some(both.clone()),
                vec![AmountDiffers, PaymentNoDiffers],
            ),
            // The books learnt of money without a number, or without an amount.
            (Some(both.clone()), Some(told(None, Some(cny))), vec![PaymentNoDiffers]),
            (Some(both.clone()), Some(told(Some("P-1"), None)), vec![AmountDiffers]),
            // What the statement does not tell is not compared.
            (Some(told(None, None)), Some(both), vec![]),
        ];
        for (stated, booked, expected) in table {
            assert_eq!(kinds(stated.clone(), booked.clone()), expected, "{stated:?} {booked:?}");
        }
    }

    #[test]
    fn a_line_that_is_there_already_is_a_duplicate_and_nothing_else() {
        let mut found = Vec::new();
        let stated = Stated { line: 9, first_line: 4, told: told(None, Some(amount("1.00", "CNY"))) };
        let pair = Pair {
            subject: Subject::Payment,
            payment_id: "pi_1".to_owned(),
            refund_id: None,
            stated: Some(stated),
            booked: None,
        };
        pair.compare(&mut found);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, found[0].line), (DifferenceKind::DuplicateLine, Some(9)));
        assert_eq!(found[0].detail.as_deref(), Some("line 4 has it already"));
    }

    #[test]
    fn a_refund_under_another_payment_is_told() {
        let mut found = Vec::new();
        let told = told(None, Some(amount("1.00", "CNY")));
        let pair = Pair {
            subject: Subject::Refund,
            payment_id: "pi_1".to_owned(),
            refund_id: Some("re_1".to_owned()),
            stated: Some(Stated { line: 4, first_line: 4, told: told.clone() }),
            booked: Some(Booked { payment_id: Some("pi_2".to_owned()), told }),
        };
        pair.compare(&mut found);
        assert_eq!(found[0].kind, DifferenceKind::PaymentNoDiffers);
        assert_eq!(found[0].detail.as_deref(), Some("the books have it as a refund of pi_2"));
    }

    #[test]
    fn totals_of_refunds_lie_between_what_was_booked_now_and_what_was_ever_told() {
        use DifferenceKind::*;
        let cny = |text: &str| amount(text, "CNY");
        let compared = |sum: Option<Amount>, ever: Option<Amount>, within: &str| {
            let mut found = Vec::new();
            Totals {
                payment_id: "2026".to_owned(),
                stated: sum.map(|sum| StatedTotal {
                    line: 3,
                    told: told(None, Some(sum)),
                    in_several_currencies: false,
                }),
                booked: ever.map(|ever| BookedTotal {
                    payment_no: Some("P-1".to_owned()),
                    ever,
                    within_span: cny(within),
                    at: None,
                }),
            }
            .compare(&mut found);
            found.into_iter().map(|difference| difference.kind).collect::<Vec<_>>()
        };
        for (sum, ever, within, expected) in [
            (Some(cny("10.00")), Some(cny("10.00")), "10.00", vec![]),
            // A second refund was told of yesterday, or is told of tomorrow.
            (Some(cny("10.00")), Some(cny("30.00")), "10.00", vec![]),
            (Some(cny("10.00")), Some(cny("30.00")), "0", vec![]),
            (None, Some(cny("30.00")), "0", vec![]),
            (None, Some(cny("30.00")), "10.00", vec![MissingThere]),
            (Some(cny("10.00")), None, "0", vec![MissingHere]),
            (Some(cny("10.00")), Some(cny("0")), "0", vec![MissingHere]),
            (Some(cny("10.01")), Some(cny("10.00")), "10.00", vec![AmountDiffers]),
            (Some(cny("10.00")), Some(cny("30.00")), "10.01", vec![AmountDiffers]),
            (Some(amount("10.00", "USD")), Some(cny("10.00")), "10.00", vec![CurrencyDiffers]),
        ] {
            assert_eq!(compared(sum, ever, within), expected, "{sum:?} {ever:?} {within}");
        }
    }
}
