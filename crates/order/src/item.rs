//! What is ordered, item by item, and what it costs by the catalogue.

use inventory::{Sku, SkuCode};
use money::{Amount, ArithmeticError, Currency};

/// So many pieces of a sku, as an order asks for them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ItemWanted {
    /// Of what.
    pub sku: SkuCode,
    /// How many; more than none.
    pub quantity: u64,
}

/// An item of an order. An order has no sku twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderItem {
    /// Of what.
    pub sku: SkuCode,
    /// How many; more than none.
    pub quantity: u64,
    /// What a piece cost when the order was placed.
    pub price: Amount,
    /// How many of them were given back to the stock by refunds.
    pub given_back: u64,
}

/// Why an order is not priced as its client believes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PricingRefusal {
    /// The client has no such sku.
    #[error("the client has no sku {0}")]
    UnknownSku(SkuCode),
    /// The sku is sold in another currency.
    #[error("{sku} is priced in {price_currency}, and the order is in {order_currency}")]
    CurrencyMismatch {
        /// Which one.
        sku: SkuCode,
        /// What it is priced in.
        price_currency: Currency,
        /// What the order is in.
        order_currency: Currency,
    },
    /// The items cost something else.
    #[error("the items cost {expected}, not {given}")]
    AmountMismatch {
        /// What they cost.
        expected: Amount,
        /// What the order says.
        given: Amount,
    },
    /// The items cost more than an amount can be.
    #[error("the items cost more than an amount can represent")]
    OutOfRange,
}

/// The items at the prices of the catalogue, if they cost the order's amount exactly.
///
/// # Errors
///
/// For the first item that has no price in the order's currency; then if the sum is not the amount.
pub fn priced<'s>(
    wanted: &[ItemWanted],
    amount: Amount,
    sku: impl Fn(&SkuCode) -> Option<&'s Sku>,
) -> Result<Vec<OrderItem>, PricingRefusal> {
    let order_currency = amount.currency();
    let mut items = Vec::with_capacity(wanted.len());
    for ItemWanted { sku: code, quantity } in wanted {
        let Some(sku) = sku(code) else { return Err(PricingRefusal::UnknownSku(code.clone())) };
        let price_currency = sku.price.currency();
        if price_currency != order_currency {
            let sku = code.clone();
            return Err(PricingRefusal::CurrencyMismatch { sku, price_currency, order_currency });
        }
        items.push(OrderItem { sku: code.clone(), quantity: *quantity, price: sku.price, given_back: 0 });
    }
    let expected = cost(&items, order_currency).map_err(|_| PricingRefusal::OutOfRange)?;
    if !items.is_empty() && expected != amount {
        return Err(PricingRefusal::AmountMismatch { expected, given: amount });
    }
    Ok(items)
}

/// What the items cost together, exactly.
fn cost(items: &[OrderItem], currency: Currency) -> Result<Amount, ArithmeticError> {
    items
        .iter()
        .try_fold(Amount::zero(currency), |sum, item| sum.checked_add(item.price.checked_mul(item.quantity)?))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use client::ClientId;
    use inventory::{SkuId, SkuTerms};
    use uuid::Uuid;

    use super::*;

    fn amount(text: &str, code: &str) -> Amount {
        Amount::parse(text, Currency::from_code(code).unwrap()).unwrap()
    }

    fn catalogue(code: &SkuCode) -> Option<&'static Sku> {
        let price = match code.0.as_str() {
            "TEA" => amount("19.99", "CNY"),
            "FAN" => amount("3000", "JPY"),
            "GOLD" => Amount::largest(Currency::from_code("CNY").unwrap()),
            _ => return None,
        };
        let (client, id) = (ClientId(Uuid::nil()), SkuId(Uuid::nil()));
        let sku = Sku::new(client, id, code.clone(), SkuTerms { price, total: 10 }, DateTime::UNIX_EPOCH);
        Some(Box::leak(Box::new(sku)))
    }

    fn price(items: &[(&str, u64)], sum: &str) -> Result<Vec<OrderItem>, PricingRefusal> {
        let wanted: Vec<ItemWanted> = items
            .iter()
            .map(|(sku, quantity)| ItemWanted { sku: SkuCode((*sku).to_owned()), quantity: *quantity })
            .collect();
        priced(&wanted, amount(sum, "CNY"), catalogue)
    }

    #[test]
    fn a_hundred_times_nineteen_ninety_nine_is_nineteen_hundred_and_ninety_nine() {
        assert_eq!(price(&[("TEA", 100)], "1999.00").unwrap()[0].price, amount("19.99", "CNY"));
        assert_eq!(
            price(&[("TEA", 100)], "1998.00"),
            Err(PricingRefusal::AmountMismatch {
                expected: amount("1999", "CNY"),
                given: amount("1998", "CNY")
            })
        );
    }

    #[test]
    fn without_items_the_client_says_what_the_order_costs() {
        assert_eq!(price(&[], "0.01"), Ok(vec![]));
    }

    #[test]
    fn an_item_without_a_price_in_the_orders_currency_is_refused() {
        assert_eq!(price(&[("NONE", 1)], "1"), Err(PricingRefusal::UnknownSku(SkuCode("NONE".to_owned()))));
        assert!(matches!(price(&[("FAN", 1)], "3000"), Err(PricingRefusal::CurrencyMismatch { .. })));
    }

    #[test]
    fn a_sum_beyond_what_an_amount_can_be_is_refused() {
        assert_eq!(price(&[("GOLD", 2)], "1"), Err(PricingRefusal::OutOfRange));
        assert_eq!(price(&[("GOLD", 1), ("TEA", 1)], "1"), Err(PricingRefusal::OutOfRange));
    }
}
