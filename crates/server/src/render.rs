//! Outcomes in the words of the API. What is written here is stored with the effect, and replayed byte for byte.

use std::borrow::Cow;

use bytes::Bytes;
use desk::{Outcome, Rendered};
use http::StatusCode;
use idempotency::Answer;
use payment_callback::Effect;
use serde::Serialize;

use crate::problem::{self, Problem};
use crate::routes::accounts::AccountBody;
use crate::routes::holds::HoldBody;
use crate::routes::movements::MovementBody;
use crate::routes::orders::OrderBody;
use crate::routes::payment_alerts::AlertBody;
use crate::routes::refunds::RefundBody;
use crate::routes::skus::{self, SkuBody};

/// The media type of everything that is no problem.
pub const JSON: &str = "application/json";

/// The path that stands for recorded deliveries; it is no route.
const DELIVERIES: &str = "/v1/callback-deliveries/";

/// The path that stands for what providers are asked for; it is no route.
const ASKED_REFUNDS: &str = "/v1/asked-refunds/";

/// The path that stands for the totals of a day, which are read as a list.
const DAILY: &str = "/v1/reports/daily/";

/// The path that stands for the deliveries of an event to the endpoints of its client; it is no route.
const WEBHOOKS: &str = "/v1/webhook-deliveries/";

/// Puts an outcome into words, for the request of that id. The same for the same arguments; it never panics, for it runs
/// inside the transaction of the effect.
pub fn render(outcome: &Outcome, request_id: &str) -> Rendered {
    match outcome {
        Outcome::AccountOpened(account) => {
            made(format!("/v1/accounts/{}", account.id), &AccountBody::from(account))
        }
        Outcome::Moved(movement) => {
            made(format!("/v1/movements/{}", movement.id), &MovementBody::from(movement))
        }
        Outcome::AccountClosed(account) => {
            noted(format!("/v1/accounts/{}", account.id), &AccountBody::from(account))
        }
        Outcome::HoldPlaced(hold) => made(format!("/v1/holds/{}", hold.id), &HoldBody::from(hold)),
        Outcome::HoldCaptured(hold) | Outcome::HoldReleased(hold) | Outcome::HoldExpired(hold) => {
            noted(format!("/v1/holds/{}", hold.id), &HoldBody::from(hold))
        }
        Outcome::OrderPlaced { order, payment } => {
            made(format!("/v1/orders/{}", order.id), &OrderBody::of(order, payment.as_ref()))
        }
        Outcome::OrderCaptured(order) | Outcome::OrderExpired(order) => {
            noted(format!("/v1/orders/{}", order.id), &OrderBody::of(order, None))
        }
        Outcome::OrderCancelled { order, payment } => {
            noted(format!("/v1/orders/{}", order.id), &OrderBody::of(order, payment.as_ref()))
        }
        Outcome::OrderRefunded(refund, _) | Outcome::RefundAsked(refund, _) => {
            made(format!("/v1/refunds/{}", refund.id), &RefundBody::from(refund))
        }
        Outcome::RefundNoted(asked) => {
            noted(format!("{ASKED_REFUNDS}{}", asked.id), &EffectBody { effect: asked.status.as_str() })
        }
        Outcome::SkuSet(sku) if sku.version == 1 => made(skus::path_of(&sku.code), &SkuBody::from(sku)),
        Outcome::SkuSet(sku) => noted(skus::path_of(&sku.code), &SkuBody::from(sku)),
        Outcome::CallbackTaken(delivery) => {
            noted(format!("{DELIVERIES}{}", delivery.id), &EffectBody { effect: delivery.effect.as_str() })
        }
        Outcome::CallbackRepeated(delivery) => {
            noted(format!("{DELIVERIES}{delivery}/again"), &EffectBody { effect: Effect::None.as_str() })
        }
        Outcome::AlertResolved(alert) => {
            noted(format!("/v1/payment-alerts/{}", alert.id), &AlertBody::from(alert))
        }
        Outcome::AlertRaised(alert) => {
            noted(format!("/v1/payment-alerts/{}/raised", alert.id), &AlertBody::from(alert))
        }
        Outcome::PaymentExpired(payment) => {
            noted(format!("/v1/payments/{}", payment.payment_no), &EffectBody { effect: "expired" })
        }
        Outcome::EventCounted(day) => noted(format!("{DAILY}{day}"), &EffectBody { effect: "counted" }),
        Outcome::DayRebuilt(day) => noted(format!("{DAILY}{day}"), &EffectBody { effect: "rebuilt" }),
        Outcome::WebhooksDue(event) => noted(format!("{WEBHOOKS}{event}"), &EffectBody { effect: "due" }),
        Outcome::NothingDue | Outcome::Undecided => Rendered {
            answer: answer(StatusCode::OK, None, body_of(&EffectBody { effect: Effect::None.as_str() })),
            resource: None,
        },
        Outcome::Refused(refusal) => {
            let problem = Problem::from(refusal);
            Rendered {
                answer: Answer {
                    content_type: Cow::Borrowed(problem::CONTENT_TYPE),
                    ..answer(problem.status(), None, problem.document(request_id))
                },
                resource: None,
            }
        }
    }
}

fn made(path: String, body: &impl Serialize) -> Rendered {
    Rendered { answer: answer(StatusCode::CREATED, Some(path.clone()), body_of(body)), resource: Some(path) }
}

/// Something that was changed, or noted, at this path.
fn noted(path: String, body: &impl Serialize) -> Rendered {
    Rendered { answer: answer(StatusCode::OK, None, body_of(body)), resource: Some(path) }
}

/// What is recorded of an effect that nobody waits to read of: a provider has an answer of its own, a timer none.
#[derive(Serialize)]
struct EffectBody {
    effect: &'static str,
}

fn answer(status: StatusCode, location: Option<String>, body: Bytes) -> Answer {
    Answer { status: status.as_u16(), content_type: Cow::Borrowed(JSON), location, body }
}

/// A body's bytes. Bodies are structs of text and numbers, which always serialise.
pub fn body_of(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use account::{Account, AccountId, MovementId, Parties, movement};
    use chrono::{DateTime, Utc};
    use client::ClientId;
    use desk::Refusal;
    use money::{Amount, Currency};
    use uuid::Uuid;

    use super::*;

    fn account() -> Account {
        let id: Uuid = "01900000-0000-7000-8000-00000000000a".parse().unwrap();
        let now = DateTime::<Utc>::from_timestamp(1_764_400_000, 120_000).unwrap();
        let cny = Currency::from_code("CNY").unwrap();
        Account::open(ClientId(Uuid::nil()), AccountId(id), "alice".to_owned(), cny, now)
    }

    fn deposit() -> movement::Movement {
        let account = account();
        movement::Movement {
            client_id: account.client_id,
            id: MovementId(Uuid::max()),
            parties: Parties::Deposit { to: account.id },
            reference: "D-1".to_owned(),
            amount: Amount::parse("12.3", account.currency).unwrap(),
            created_at: account.created_at,
        }
    }

    #[test]
    fn an_opened_account_is_at_its_location() {
        let rendered = render(&Outcome::AccountOpened(account()), "r");
        assert_eq!(rendered.answer.status, 201);
        assert_eq!(
            rendered.answer.location.as_deref(),
            Some("/v1/accounts/01900000-0000-7000-8000-00000000000a")
        );
        assert_eq!(rendered.resource, rendered.answer.location);
        assert_eq!(
            rendered.answer.body,
            r#"{"id":"01900000-0000-7000-8000-00000000000a","owner":"alice","currency":"CNY","available":"0.00","held":"0.00","balance":"0.00","version":0,"status":"open","created_at":"2025-11-29T07:06:40.000120Z"}"#
        );
    }

    #[test]
    fn a_deposit_names_its_account_and_prints_every_digit() {
        let body = serde_json::to_string(&MovementBody::from(&deposit())).unwrap();
        assert_eq!(
            body,
            r#"{"id":"ffffffff-ffff-ffff-ffff-ffffffffffff","kind":"deposit","account_id":"01900000-0000-7000-8000-00000000000a","amount":"12.30","currency":"CNY","reference":"D-1","created_at":"2025-11-29T07:06:40.000120Z"}"#
        );
    }

    #[test]
    fn a_closed_account_is_changed_and_not_made() {
        let rendered = render(&Outcome::AccountClosed(account()), "r");
        assert_eq!((rendered.answer.status, rendered.answer.location), (200, None));
        assert!(rendered.resource.is_some());
    }

    #[test]
    fn the_same_outcome_is_the_same_bytes_and_a_refusal_names_its_request() {
        let refused = Outcome::Refused(Refusal::AmountOutOfRange);
        assert_eq!(render(&refused, "r-1"), render(&refused, "r-1"));
        let body = render(&refused, "r-1").answer.body;
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["instance"], "r-1");
        assert_eq!(body["type"], "/problems/amount-out-of-range");
    }
}
