//! A sku: something that is sold in pieces, and how many of them there are.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use uuid::Uuid;

/// The largest total: far beyond any stock, and far from the end of the column's range.
pub const TOTAL_MAX: u64 = 1_000_000_000_000;

/// The client's own name for what it sells (a stock keeping unit): 1–64 printable characters, unique among its skus.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From)]
pub struct SkuCode(pub String);

/// Identifies a sku in lists and events, in the order in which skus were made: UUID version 7. Whoever orders names it
/// by its code.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct SkuId(pub Uuid);

/// Something that is sold in pieces.
///
/// `reserved` + `sold` ≤ `total`; what is left of it is available.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sku {
    /// The client that sells it.
    pub client_id: ClientId,
    /// Its place in lists.
    pub id: SkuId,
    /// The client's own name for it.
    pub code: SkuCode,
    /// What a piece costs; more than zero.
    pub price: Amount,
    /// How many pieces there are in all.
    pub total: u64,
    /// How many are set aside for orders that are not paid yet.
    pub reserved: u64,
    /// How many are sold.
    pub sold: u64,
    /// How many changes it has seen, its making the first.
    pub version: i64,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// What a client sets about a sku.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SkuTerms {
    /// What a piece costs; more than zero.
    pub price: Amount,
    /// How many pieces there are in all, [`TOTAL_MAX`] at most.
    pub total: u64,
}

/// There are fewer pieces than asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{requested} of {sku} are asked for and {available} are available")]
pub struct OutOfStock {
    /// What was asked for.
    pub sku: SkuCode,
    /// How many are available.
    pub available: u64,
    /// How many were asked for.
    pub requested: u64,
}

/// The total would fall below what is promised.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reserved} of {sku} are reserved and {sold} are sold, more than {total}")]
pub struct StockCommitted {
    /// Whose total.
    pub sku: SkuCode,
    /// How many are reserved.
    pub reserved: u64,
    /// How many are sold.
    pub sold: u64,
    /// The total that was to be set.
    pub total: u64,
}

impl Sku {
    /// A new sku, of which nothing is sold.
    pub fn new(client_id: ClientId, id: SkuId, code: SkuCode, terms: SkuTerms, now: DateTime<Utc>) -> Self {
        let SkuTerms { price, total } = terms;
        Self {
            client_id,
            id,
            code,
            price,
            total,
            reserved: 0,
            sold: 0,
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// How many pieces can still be ordered.
    ///
    /// # Panics
    ///
    /// If more is reserved and sold than there is, which neither the rules nor the table allow.
    pub fn available(&self) -> u64 {
        self.total.checked_sub(self.committed()).expect("no more is reserved and sold than there is")
    }

    /// The sku with other terms. What is reserved and sold stays promised, at the price it was ordered at.
    ///
    /// # Errors
    ///
    /// If the total would not cover what is promised.
    pub fn set(&self, terms: SkuTerms, now: DateTime<Utc>) -> Result<Self, StockCommitted> {
        let SkuTerms { price, total } = terms;
        if total < self.committed() {
            let (sku, reserved, sold) = (self.code.clone(), self.reserved, self.sold);
            return Err(StockCommitted { sku, reserved, sold, total });
        }
        Ok(Self { price, total, ..self.changed(now) })
    }

    /// With `quantity` pieces set aside for an order that is not paid yet.
    ///
    /// # Errors
    ///
    /// If there are not so many.
    pub fn reserve(&self, quantity: u64, now: DateTime<Utc>) -> Result<Self, OutOfStock> {
        self.offer(quantity)?;
        Ok(Self { reserved: self.reserved + quantity, ..self.changed(now) })
    }

    /// With `quantity` available pieces sold to an order that is paid at once.
    ///
    /// # Errors
    ///
    /// If there are not so many.
    pub fn sell_available(&self, quantity: u64, now: DateTime<Utc>) -> Result<Self, OutOfStock> {
        self.offer(quantity)?;
        Ok(Self { sold: self.sold + quantity, ..self.changed(now) })
    }

    /// With `quantity` reserved pieces sold: their order is paid.
    ///
    /// # Panics
    ///
    /// If so many are not reserved: an order's items are, until it ends, and the books are damaged.
    pub fn sell_reserved(&self, quantity: u64, now: DateTime<Utc>) -> Self {
        let reserved = self.reserved.checked_sub(quantity).expect("the items of an order are reserved");
        Self { reserved, sold: self.sold + quantity, ..self.changed(now) }
    }

    /// With `quantity` reserved pieces available again: their order will not be paid.
    ///
    /// # Panics
    ///
    /// If so many are not reserved: an order's items are, until it ends, and the books are damaged.
    pub fn give_back_reserved(&self, quantity: u64, now: DateTime<Utc>) -> Self {
        let reserved = self.reserved.checked_sub(quantity).expect("the items of an order are reserved");
        Self { reserved, ..self.changed(now) }
    }

    /// With `quantity` sold pieces available again: they were refunded.
    ///
    /// # Panics
    ///
    /// If so many are not sold: no more is given back of an order than it bought, and the books are damaged.
    pub fn give_back_sold(&self, quantity: u64, now: DateTime<Utc>) -> Self {
        let sold = self.sold.checked_sub(quantity).expect("no more is given back than was sold");
        Self { sold, ..self.changed(now) }
    }

    fn offer(&self, requested: u64) -> Result<(), OutOfStock> {
        let available = self.available();
        if requested > available {
            return Err(OutOfStock { sku: self.code.clone(), available, requested });
        }
        Ok(())
    }

    fn committed(&self) -> u64 {
        self.reserved + self.sold
    }

    fn changed(&self, now: DateTime<Utc>) -> Self {
        Self { version: self.version + 1, updated_at: now, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use money::Currency;
    use proptest::prelude::*;

    use super::*;

    fn at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_764_400_000, 0).unwrap()
    }

    fn terms(total: u64) -> SkuTerms {
        SkuTerms { price: Amount::parse("64", Currency::from_code("CNY").unwrap()).unwrap(), total }
    }

    fn tea(total: u64) -> Sku {
        Sku::new(ClientId(Uuid::nil()), SkuId(Uuid::nil()), SkuCode("TEA-1".to_owned()), terms(total), at())
    }

    #[test]
    fn the_last_piece_is_promised_once() {
        let last = tea(1).reserve(1, at()).unwrap();
        let refused = OutOfStock { sku: last.code.clone(), available: 0, requested: 1 };
        assert_eq!(last.reserve(1, at()), Err(refused.clone()));
        assert_eq!(last.sell_available(1, at()), Err(refused));
    }

    #[test]
    fn a_reserved_piece_is_sold_or_given_back() {
        let reserved = tea(5).reserve(3, at()).unwrap();
        let sold = reserved.sell_reserved(3, at());
        assert_eq!((sold.reserved, sold.sold, sold.available()), (0, 3, 2));
        let free = reserved.give_back_reserved(3, at());
        assert_eq!((free.reserved, free.sold, free.available()), (0, 0, 5));
        let refunded = sold.give_back_sold(1, at());
        assert_eq!((refunded.sold, refunded.available()), (2, 3));
    }

    #[test]
    fn the_total_never_falls_below_what_is_promised() {
        let promised = tea(5).reserve(1, at()).unwrap().sell_available(2, at()).unwrap();
        assert_eq!(promised.set(terms(3), at()).unwrap().available(), 0);
        assert_eq!(
            promised.set(terms(2), at()),
            Err(StockCommitted { sku: promised.code.clone(), reserved: 1, sold: 2, total: 2 })
        );
    }

    #[test]
    #[should_panic(expected = "the items of an order are reserved")]
    fn what_was_not_reserved_is_never_sold_as_if_it_were() {
        let _ = tea(5).sell_reserved(1, at());
    }

    proptest! {
        /// Orders reserve, pay, end and give back in any order: no piece is promised twice, and none is lost.
        #[test]
        fn no_sequence_of_orders_promises_more_than_there_is(
            acts in prop::collection::vec((0_u8..5, 1_u64..6), 1..80),
        ) {
            let mut sku = tea(10);
            let (mut reserved, mut sold) = (0, 0);
            for (act, quantity) in acts {
                let changed = match act {
                    0 => sku.reserve(quantity, at()).inspect(|_| reserved += quantity).ok(),
                    1 => sku.sell_available(quantity, at()).inspect(|_| sold += quantity).ok(),
                    2 if quantity <= reserved => {
                        (reserved, sold) = (reserved - quantity, sold + quantity);
                        Some(sku.sell_reserved(quantity, at()))
                    }
                    3 if quantity <= reserved => {
                        reserved -= quantity;
                        Some(sku.give_back_reserved(quantity, at()))
                    }
                    4 if quantity <= sold => {
                        sold -= quantity;
                        Some(sku.give_back_sold(quantity, at()))
                    }
                    _ => None,
                };
                if let Some(changed) = changed {
                    prop_assert_eq!(changed.version, sku.version + 1);
                    sku = changed;
                }
                prop_assert_eq!((sku.reserved, sku.sold), (reserved, sold));
                prop_assert!(sku.reserved + sku.sold <= sku.total);
            }
        }
    }
}
