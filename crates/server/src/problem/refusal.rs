//! Which problem a business refusal is. What is written here is stored under the key and replayed.

use desk::Refusal;
use inventory::{OutOfStock, StockCommitted};

use super::{Problem, Slug};

impl From<&Refusal> for Problem {
    fn from(refusal: &Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::AccountNotFound(_)
            | Refusal::HoldNotFound(_)
            | Refusal::OrderNotFound(_)
            | Refusal::SkuNotFound(_) => Self::new(Slug::NotFound, detail),
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
            Refusal::HoldNotActive { hold_id, status } => Self::new(Slug::HoldNotActive, detail)
                .member("hold_id", hold_id.to_string())
                .member("state", status.as_str()),
            Refusal::HoldOfOrder(order) => {
                Self::new(Slug::HoldOfOrder, detail).member("order_id", order.to_string())
            }
            Refusal::CaptureExceedsHold { left, required } => Self::new(Slug::CaptureExceedsHold, detail)
                .member("remaining", left.to_string())
                .member("required", required.to_string())
                .member("currency", required.currency().code()),
            Refusal::OrderStateConflict(status) => {
                Self::new(Slug::OrderStateConflict, detail).member("state", status.as_str())
            }
            Refusal::RefundExceedsPaid { refundable, required } => Self::new(Slug::RefundExceedsPaid, detail)
                .member("refundable", refundable.to_string())
                .member("required", required.to_string())
                .member("currency", required.currency().code()),
            Refusal::RefundExceedsItems { sku, left, requested } => {
                Self::new(Slug::RefundExceedsItems, detail)
                    .member("sku", sku.to_string())
                    .member("remaining_quantity", *left)
                    .member("requested_quantity", *requested)
            }
            Refusal::RefundAtProvider => Self::new(Slug::RefundAtProvider, detail),
            Refusal::AmountMismatch { expected, given } => Self::new(Slug::AmountMismatch, detail)
                .member("expected", expected.to_string())
                .member("amount", given.to_string())
                .member("currency", given.currency().code()),
            Refusal::PriceCurrencyMismatch { sku, price_currency, order_currency } => {
                Self::new(Slug::PriceCurrencyMismatch, detail)
                    .member("sku", sku.to_string())
                    .member("price_currency", price_currency.code())
                    .member("currency", order_currency.code())
            }
            Refusal::OutOfStock(OutOfStock { sku, available, requested }) => {
                Self::new(Slug::OutOfStock, detail)
                    .member("sku", sku.to_string())
                    .member("available_quantity", *available)
                    .member("requested_quantity", *requested)
            }
            Refusal::StockCommitted(StockCommitted { sku, reserved, sold, .. }) => {
                Self::new(Slug::StockCommitted, detail)
                    .member("sku", sku.to_string())
                    .member("reserved", *reserved)
                    .member("sold", *sold)
            }
            Refusal::VersionMismatch { sku, version } => Self::new(Slug::VersionMismatch, detail)
                .member("sku", sku.to_string())
                .member("version", *version),
        }
    }
}

#[cfg(test)]
mod tests {
    use account::{AccountId, HoldId, HoldStatus};
    use inventory::SkuCode;
    use money::{Amount, Currency};
    use order::{OrderId, OrderStatus};
    use payment_callback::{AlertAction, AlertId};
    use uuid::Uuid;

    use super::*;

    fn cny(text: &str) -> Amount {
        Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
    }

    fn tea() -> SkuCode {
        SkuCode("TEA-1".to_owned())
    }

    /// One of each refusal, and the problem and members it must be.
    fn table() -> Vec<(Refusal, Slug, Vec<&'static str>)> {
        let cny_code = Currency::from_code("CNY").unwrap();
        vec![
            (Refusal::AccountNotFound(AccountId(Uuid::max())), Slug::NotFound, vec![]),
            (Refusal::DuplicateOrderNo(OrderId(Uuid::max())), Slug::DuplicateOrderNo, vec!["existing_id"]),
            (
                Refusal::DuplicateReference { kind: "deposit", existing: Uuid::max() },
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
            (Refusal::HoldNotFound(HoldId(Uuid::max())), Slug::NotFound, vec![]),
            (Refusal::OrderNotFound(OrderId(Uuid::max())), Slug::NotFound, vec![]),
            (Refusal::SkuNotFound(tea()), Slug::NotFound, vec![]),
            (
                Refusal::HoldNotActive { hold_id: HoldId(Uuid::max()), status: HoldStatus::Released },
                Slug::HoldNotActive,
                vec!["hold_id", "state"],
            ),
            (Refusal::HoldOfOrder(OrderId(Uuid::max())), Slug::HoldOfOrder, vec!["order_id"]),
            (
                Refusal::CaptureExceedsHold { left: cny("1"), required: cny("2") },
                Slug::CaptureExceedsHold,
                vec!["remaining", "required", "currency"],
            ),
            (Refusal::OrderStateConflict(OrderStatus::Refunded), Slug::OrderStateConflict, vec!["state"]),
            (
                Refusal::RefundExceedsPaid { refundable: cny("1"), required: cny("2") },
                Slug::RefundExceedsPaid,
                vec!["refundable", "required", "currency"],
            ),
            (
                Refusal::RefundExceedsItems { sku: tea(), left: 1, requested: 2 },
                Slug::RefundExceedsItems,
                vec!["sku", "remaining_quantity", "requested_quantity"],
            ),
            (Refusal::RefundAtProvider, Slug::RefundAtProvider, vec![]),
            (
                Refusal::AmountMismatch { expected: cny("1"), given: cny("2") },
                Slug::AmountMismatch,
                vec!["expected", "amount", "currency"],
            ),
            (
                Refusal::PriceCurrencyMismatch {
                    sku: tea(),
                    price_currency: Currency::from_code("JPY").unwrap(),
                    order_currency: cny_code,
                },
                Slug::PriceCurrencyMismatch,
                vec!["sku", "price_currency", "currency"],
            ),
            (
                OutOfStock { sku: tea(), available: 1, requested: 2 }.into(),
                Slug::OutOfStock,
                vec!["sku", "available_quantity", "requested_quantity"],
            ),
            (
                StockCommitted { sku: tea(), reserved: 1, sold: 1, total: 1 }.into(),
                Slug::StockCommitted,
                vec!["sku", "reserved", "sold"],
            ),
            (
                Refusal::VersionMismatch { sku: tea(), version: None },
                Slug::VersionMismatch,
                vec!["sku", "version"],
            ),
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
