//! Which problem a business refusal is. What is written here is stored under the key and replayed.

use desk::Refusal;

use super::{Problem, Slug};

impl From<&Refusal> for Problem {
    fn from(refusal: &Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::AccountNotFound(_) => Self::new(Slug::NotFound, detail),
            Refusal::DuplicateOrderNo(existing) => {
                Self::new(Slug::DuplicateOrderNo, detail).member("existing_id", existing.to_string())
            }
            Refusal::DuplicateReference { existing, .. } => {
                Self::new(Slug::DuplicateReference, detail).member("existing_id", existing.to_string())
            }
            Refusal::DuplicatePaymentNo { existing, .. } => {
                Self::new(Slug::DuplicatePaymentNo, detail).member("existing_id", existing.to_string())
            }
            Refusal::AlertNotFound(_) => Self::new(Slug::NotFound, detail),
            Refusal::AlertNotAcceptable(_) => Self::new(Slug::AlertNotAcceptable, detail),
            Refusal::AlertResolved(_) => Self::new(Slug::AlertResolved, detail),
            Refusal::CurrencyMismatch { account_currency, given } => {
                Self::new(Slug::CurrencyMismatch, detail)
                    .member("account_currency", account_currency.code())
                    .member("currency", given.code())
            }
            Refusal::AccountClosed(_) => Self::new(Slug::AccountClosed, detail),
            Refusal::AccountNotEmpty { available, held } => Self::new(Slug::AccountNotEmpty, detail)
                .member("available", available.to_string())
                .member("held", held.to_string())
                .member("currency", available.currency().code()),
            Refusal::InsufficientFunds { available, required } => Self::new(Slug::InsufficientFunds, detail)
                .member("available", available.to_string())
                .member("required", required.to_string())
                .member("currency", required.currency().code()),
            Refusal::AmountOutOfRange => Self::new(Slug::AmountOutOfRange, detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use account::{AccountId, MovementId, MovementKind};
    use money::{Amount, Currency};
    use order::OrderId;
    use payment_callback::{AlertAction, AlertId};
    use uuid::Uuid;

    use super::*;

    fn cny(text: &str) -> Amount {
        Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
    }

    /// One of each refusal, and the problem and members it must be.
    fn table() -> Vec<(Refusal, Slug, Vec<&'static str>)> {
        let cny_code = Currency::from_code("CNY").unwrap();
        vec![
            (Refusal::AccountNotFound(AccountId(Uuid::max())), Slug::NotFound, vec![]),
            (Refusal::DuplicateOrderNo(OrderId(Uuid::max())), Slug::DuplicateOrderNo, vec!["existing_id"]),
            (
                Refusal::DuplicateReference {
                    kind: MovementKind::Deposit,
                    existing: MovementId(Uuid::max()),
                },
                Slug::DuplicateReference,
                vec!["existing_id"],
            ),
            (
                Refusal::DuplicatePaymentNo {
                    payment_no: "P-0001".to_owned(),
                    existing: OrderId(Uuid::max()),
                },
                Slug::DuplicatePaymentNo,
                vec!["existing_id"],
            ),
            (Refusal::AlertNotFound(AlertId(Uuid::max())), Slug::NotFound, vec![]),
            (Refusal::AlertNotAcceptable("why"), Slug::AlertNotAcceptable, vec![]),
            (Refusal::AlertResolved(AlertAction::Refund), Slug::AlertResolved, vec![]),
            (
                Refusal::CurrencyMismatch {
                    account_currency: cny_code,
                    given: Currency::from_code("JPY").unwrap(),
                },
                Slug::CurrencyMismatch,
                vec!["account_currency", "currency"],
            ),
            (Refusal::AccountClosed(AccountId(Uuid::max())), Slug::AccountClosed, vec![]),
            (
                Refusal::AccountNotEmpty { available: cny("1"), held: cny("0") },
                Slug::AccountNotEmpty,
                vec!["available", "held", "currency"],
            ),
            (
                Refusal::InsufficientFunds { available: cny("1"), required: cny("2") },
                Slug::InsufficientFunds,
                vec!["available", "required", "currency"],
            ),
            (Refusal::AmountOutOfRange, Slug::AmountOutOfRange, vec![]),
        ]
    }

    #[test]
    fn every_refusal_is_a_stored_problem_with_the_members_that_its_page_names() {
        for (refusal, slug, members) in table() {
            let problem = Problem::from(&refusal);
            assert_eq!(problem.slug, slug);
            assert!(slug.entry().stored, "{slug} comes from a rule, so it is stored");
            let given: Vec<_> = problem.members.iter().map(|(name, _)| *name).collect();
            let promised: Vec<_> = slug.entry().members.iter().map(|(name, _)| *name).collect();
            assert_eq!(given, members);
            assert_eq!(given, promised);
        }
    }
}
