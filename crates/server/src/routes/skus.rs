//! Skus: `/v1/skus` and below.

pub mod get;
pub mod list;
pub mod put;

use http::HeaderValue;
use inventory::{Sku, SkuCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use utoipa::ToSchema;

use super::accounts::time;

/// Something that is sold in pieces. `reserved` + `sold` + `available` = `total`.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(SkuBody::example()))]
pub struct SkuBody {
    /// The client's own name for it.
    sku: String,
    /// What a piece costs.
    price: PriceBody,
    /// How many pieces there are in all.
    #[schema(minimum = 0)]
    total: u64,
    /// How many are set aside for orders that are not paid yet.
    #[schema(minimum = 0)]
    reserved: u64,
    /// How many are sold.
    #[schema(minimum = 0)]
    sold: u64,
    /// How many can still be ordered.
    #[schema(minimum = 0)]
    available: u64,
    /// How many changes it has seen, its making the first: the value of its `ETag`.
    version: i64,
    /// When it was made.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
}

/// What a piece costs.
#[derive(Serialize, ToSchema, Debug)]
pub struct PriceBody {
    /// How much.
    amount: String,
    /// In which currency (ISO 4217).
    currency: &'static str,
}

impl From<&Sku> for SkuBody {
    fn from(sku: &Sku) -> Self {
        Self {
            sku: sku.code.0.clone(),
            price: PriceBody { amount: sku.price.to_string(), currency: sku.price.currency().code() },
            total: sku.total,
            reserved: sku.reserved,
            sold: sku.sold,
            available: sku.available(),
            version: sku.version,
            created_at: time(sku.created_at),
            updated_at: time(sku.updated_at),
        }
    }
}

impl From<Sku> for SkuBody {
    fn from(sku: Sku) -> Self {
        Self::from(&sku)
    }
}

impl SkuBody {
    fn example() -> Self {
        Self {
            sku: "TEA-1".to_owned(),
            price: PriceBody { amount: "64.00".to_owned(), currency: "CNY" },
            total: 1000,
            reserved: 2,
            sold: 10,
            available: 988,
            version: 13,
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
            updated_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}

/// The path of a sku.
pub fn path_of(code: &SkuCode) -> String {
    format!("/v1/skus/{}", utf8_percent_encode(&code.0, NON_ALPHANUMERIC))
}

/// The entity tag of a sku in that version (RFC 9110, 8.8.3).
fn etag(version: i64) -> HeaderValue {
    HeaderValue::try_from(format!("\"{version}\"")).expect("digits and ASCII")
}
