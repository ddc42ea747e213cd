//! `PUT /v1/skus/{sku}`
//!
//! To set something twice is to set it once, so the request needs no key. It goes through the door all the same, under a
//! name that the server makes: what is decided on a sku while orders take of it needs the door's care.

use axum::extract::{Request, State};
use axum::response::Response;
use desk::{Command, SkuCondition};
use http::{HeaderMap, HeaderName, header};
use idempotency::fingerprint::Meaning;
use inventory::{SkuCode, SkuTerms, TOTAL_MAX};
use money::Amount;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{SkuBody, etag};
use crate::app::AppState;
use crate::body::{Fault, Fields, RequestBody, words};
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "PUT /v1/skus/{sku}";

/// A sku's price and total.
#[derive(ToSchema, Debug)]
#[schema(example = json!({ "price": { "amount": "64.00", "currency": "CNY" }, "total": 1000 }))]
pub struct PutSkuBody {
    /// What a piece costs.
    #[schema(value_type = PutPriceBody)]
    price: Amount,
    /// How many pieces there are in all, those that are reserved and sold among them.
    #[schema(maximum = 1_000_000_000_000_u64)]
    total: u64,
}

/// What a piece costs.
#[derive(ToSchema, Debug)]
#[expect(dead_code, reason = "it is read as an amount; the fields are there for the schema")]
pub struct PutPriceBody {
    /// How much, in plain decimal notation; more than zero.
    #[schema(pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: String,
    /// In which currency (ISO 4217).
    #[schema(pattern = "^[A-Z]{3}$")]
    currency: String,
}

impl RequestBody for PutSkuBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let price = fields.object("price", words::money);
        let total = fields.required("total", |json| words::whole_number(json, 0..=TOTAL_MAX));
        Some(Self { price: price?, total: total? })
    }
}

/// Make a sku, or set its price and total
///
/// The total is never set below what is reserved and sold. With `If-Match` the sku is set only in the version that the tag
/// names, and with `If-None-Match: *` only made. Orders that were placed keep their price.
#[utoipa::path(
    put, path = "/v1/skus/{sku}", tag = "inventory",
    request_body = PutSkuBody,
    params(
        ("If-Match" = Option<String>, Header, description = "The `ETag` that the sku must have, or `*` for any."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: the sku must not be there.")
    ),
    responses(
        (status = 200, description = "The sku is set.", body = SkuBody,
            headers(("ETag" = String, description = "Its version, for `If-Match`."))),
        (status = 201, description = "The sku is made.", body = SkuBody,
            headers(("ETag" = String, description = "Its version, for `If-Match`."),
                ("Location" = String, description = "The sku's path.")))
    )
)]
pub async fn put_sku(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let condition = condition(request.headers());
    let submission = Submission::<SkuCode, PutSkuBody>::read_without_key(&state, request).await?;
    let Submission { path: code, body: PutSkuBody { price, total }, asker } = submission;
    let condition = condition?;
    let meaning = Meaning::of(OPERATION)
        .path("sku", &code.0)
        .field("amount", &price.to_string())
        .field("currency", price.currency().code())
        .field("total", &total.to_string());
    let command = Command::SetSku { code, terms: SkuTerms { price, total }, condition };
    let (answer, mut response) = asker.submit_and_read(&state, OPERATION, meaning, command).await?;
    if let Some(version) = answer.as_deref().and_then(version_in) {
        response.headers_mut().insert(header::ETAG, etag(version));
    }
    Ok(response)
}

/// The version that an answer tells of; none in a refusal.
fn version_in(answer: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Set {
        version: i64,
        #[serde(rename = "reserved")]
        _reserved: u64,
    }
    serde_json::from_slice::<Set>(answer).ok().map(|set| set.version)
}

/// What the sku must be. Tags are compared strongly (RFC 9110, 13.1.1), so a weak one matches nothing.
fn condition(headers: &HeaderMap) -> Result<SkuCondition, Problem> {
    let tags = |name: HeaderName| -> Option<Vec<String>> {
        let values: Vec<_> = headers.get_all(name).iter().collect();
        let texts = values.iter().flat_map(|value| value.to_str().unwrap_or_default().split(','));
        (!values.is_empty()).then(|| texts.map(|tag| tag.trim().to_owned()).collect())
    };
    if let Some(none) = tags(header::IF_NONE_MATCH) {
        return match none.as_slice() {
            // Both must hold (RFC 9110, 13.2.2), and nothing is there in a version and not there.
            [any] if any == "*" && headers.contains_key(header::IF_MATCH) => {
                Ok(SkuCondition::OneOf(Vec::new()))
            }
            [any] if any == "*" => Ok(SkuCondition::New),
            _ => {
                let fault = Fault::new("/If-None-Match", "only * is understood here");
                Err(Problem::validation_failed(vec![fault]))
            }
        };
    }
    Ok(match tags(header::IF_MATCH) {
        None => SkuCondition::Any,
        Some(tags) if tags == ["*"] => SkuCondition::Exists,
        Some(tags) => SkuCondition::OneOf(tags.iter().filter_map(|tag| version_of(tag)).collect()),
    })
}

fn version_of(tag: &str) -> Option<i64> {
    let digits = tag.strip_prefix('"')?.strip_suffix('"')?;
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(name: HeaderName, value: &'static str) -> Result<SkuCondition, Problem> {
        condition(&HeaderMap::from_iter([(name, HeaderValue::from_static(value))]))
    }

    #[test]
    fn a_tag_names_the_version_that_is_meant_and_a_weak_one_none() {
        assert_eq!(condition(&HeaderMap::new()), Ok(SkuCondition::Any));
        assert_eq!(read(header::IF_MATCH, "\"7\""), Ok(SkuCondition::OneOf(vec![7])));
        assert_eq!(read(header::IF_MATCH, "\"7\", \"9\""), Ok(SkuCondition::OneOf(vec![7, 9])));
        assert_eq!(read(header::IF_MATCH, "*"), Ok(SkuCondition::Exists));
        for other in ["W/\"7\"", "7", "\"x\"", "\"+7\"", ""] {
            assert_eq!(read(header::IF_MATCH, other), Ok(SkuCondition::OneOf(vec![])), "{other}");
        }
    }

    #[test]
    fn nothing_is_there_in_a_version_and_not_there() {
        let both = [
            (header::IF_MATCH, HeaderValue::from_static("\"7\"")),
            (header::IF_NONE_MATCH, HeaderValue::from_static("*")),
        ];
        assert_eq!(condition(&HeaderMap::from_iter(both)), Ok(SkuCondition::OneOf(vec![])));
    }

    #[test]
    fn only_what_is_not_there_at_all_can_be_asked_for() {
        assert_eq!(read(header::IF_NONE_MATCH, "*"), Ok(SkuCondition::New));
        assert!(read(header::IF_NONE_MATCH, "\"7\"").is_err());
    }
}
