//! `POST /v1/orders`

use account::AccountId;
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use money::{Amount, Currency};
use order::{ItemWanted, PaymentMethod, PaymentTerms};
use payment_callback::payment::is_payment_no;
use payment_callback::{ProviderKind, Unpayable};
use rand::Rng;
use rand::distr::Alphanumeric;
use utoipa::ToSchema;

use super::{OrderBody, OrderItemBody, items, with_items};
use crate::app::AppState;
use crate::body::{Fault, Fields, Json, RequestBody, words};
use crate::path::Nothing;
use crate::problem::{Problem, Slug};
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/orders";

/// An order to be placed.
#[derive(ToSchema, Debug)]
#[schema(example = json!({
    "account_id": "01900000-0000-7000-8000-00000000000a", "client_order_no": "A-1001",
    "currency": "CNY", "amount": "128.00", "items": [{ "sku": "TEA-1", "quantity": 2 }],
    "payment": { "method": "balance" }
}))]
pub struct PlaceOrderBody {
    /// The account that it is for.
    #[schema(value_type = String, format = "uuid")]
    account_id: AccountId,
    /// The client's own name for it, unique among its orders for ever.
    #[schema(min_length = 1, max_length = 64)]
    client_order_no: String,
    /// The account's currency (ISO 4217).
    #[schema(value_type = String, pattern = "^[A-Z]{3}$")]
    currency: Currency,
    /// How much, in plain decimal notation; more than zero. With items, what they cost by the catalogue.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Amount,
    /// What is ordered, item by item, no sku twice. Empty or left out, the amount is the client's to say.
    #[schema(value_type = Option<Vec<OrderItemBody>>, max_items = 100, nullable = false)]
    items: Vec<ItemWanted>,
    /// How it is paid.
    #[schema(value_type = PlacePaymentBody)]
    payment: Paid,
}

/// How an order to be placed is paid.
#[derive(ToSchema, Debug)]
#[expect(dead_code, reason = "it is read as what it says; the fields are there for the schema")]
pub struct PlacePaymentBody {
    /// `balance`: from what the account has available, at once. `hold`: frozen now, and captured later. `provider`: by a
    /// payment at a provider, which tells of it by a callback; until then the order is `pending_payment`.
    method: String,
    /// With `hold`: for how long it is frozen before the order expires, a year at most; a week, if nothing is said.
    #[schema(nullable = false, minimum = 1, maximum = 31_536_000)]
    expires_in_seconds: Option<u32>,
    /// With `provider`: which one. The client needs a callback endpoint for it.
    #[schema(nullable = false)]
    provider: Option<String>,
    /// With `provider`: the number that the provider shall know the payment by, unique among the client's payments for
    /// ever. The server makes one if it is left out.
    #[schema(nullable = false, pattern = "^[0-9A-Za-z_-]{6,32}$")]
    payment_no: Option<String>,
}

/// How an order is paid, as far as the client says.
#[derive(Debug)]
enum Paid {
    Balance,
    Hold { expires_in_s: u32 },
    Provider { provider: ProviderKind, payment_no: Option<String> },
}

/// For how long the money of an order is frozen unless its client says so, in seconds: a week, as card schemes have it.
const EXPIRES_IN_S_DEFAULT: u32 = 7 * 24 * 60 * 60;

impl RequestBody for PlaceOrderBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let account_id = fields.required("account_id", words::id);
        let client_order_no = fields.required("client_order_no", words::printable);
        let amount = words::money(fields);
        let items = items(fields);
        let payment = fields.object("payment", payment);
        Some(Self {
            account_id: AccountId(account_id?),
            client_order_no: client_order_no?,
            currency: amount?.currency(),
            amount: amount?,
            items: items?,
            payment: payment?,
        })
    }
}

fn payment(fields: &mut Fields<'_>) -> Option<Paid> {
    let method = fields.required("method", |json| {
        PaymentMethod::from_word(words::text(json)?)
            .ok_or_else(|| "is not a method; use balance, hold or provider".to_owned())
    });
    let of_provider = method == Some(PaymentMethod::Provider);
    let provider = if of_provider { fields.required("provider", provider).map(Some) } else { Some(None) };
    let payment_no = if of_provider { fields.optional("payment_no", payment_no) } else { Some(None) };
    let expires_in_s = match method {
        Some(PaymentMethod::Hold) => fields.optional("expires_in_seconds", words::expires_in_s),
        _ => Some(None),
    };
    let (method, provider, payment_no, expires_in_s) = (method?, provider?, payment_no?, expires_in_s?);
    for (name, belongs_to) in [
        ("provider", PaymentMethod::Provider),
        ("payment_no", PaymentMethod::Provider),
        ("expires_in_seconds", PaymentMethod::Hold),
    ] {
        if method != belongs_to {
            let detail = format!("belongs to the method {}", belongs_to.as_str());
            fields.optional(name, |_| Err::<(), _>(detail));
        }
    }
    Some(match (method, provider) {
        (PaymentMethod::Hold, _) => Paid::Hold { expires_in_s: expires_in_s.unwrap_or(EXPIRES_IN_S_DEFAULT) },
        (PaymentMethod::Provider, Some(provider)) => Paid::Provider { provider, payment_no },
        (PaymentMethod::Balance | PaymentMethod::Provider, _) => Paid::Balance,
    })
}

fn provider(json: &Json) -> Result<ProviderKind, String> {
    let known = || ProviderKind::all().map(ProviderKind::word).collect::<Vec<_>>().join(", ");
    ProviderKind::from_word(words::text(json)?).ok_or_else(|| format!("must be one of {}", known()))
}

fn payment_no(json: &Json) -> Result<String, String> {
    let number = words::text(json)?;
    if is_payment_no(number) {
        Ok(number.to_owned())
    } else {
        Err("must be 6 to 32 of 0-9 A-Z a-z _ -".to_owned())
    }
}

fn not_configured(provider: ProviderKind) -> Problem {
    let detail = format!("the client has no callback endpoint for the provider {provider}");
    Problem::new(Slug::ProviderNotConfigured, detail)
}

/// The fault of an order whose payment would wait for an amount that its provider can never report.
fn never_settled(provider: ProviderKind, amount: Amount, unpayable: Unpayable) -> Problem {
    let (pointer, other) = match unpayable {
        Unpayable::Currency(_) => ("/currency", "currency"),
        Unpayable::Step { .. } | Unpayable::TooMuch { .. } => ("/amount", "amount"),
    };
    let detail = format!(
        "{amount} {} could never be settled exactly at {provider}: {unpayable}; choose another {other}, or another provider",
        amount.currency()
    );
    Problem::validation_failed(vec![Fault::new(pointer, detail)])
}

/// A number that nobody can guess: 32 characters of 62, so about 190 random bits. Whoever knows a payment's number could
/// start a payment under it at the provider.
fn new_payment_no() -> String {
    rand::rng().sample_iter(Alphanumeric).take(32).map(char::from).collect()
}

/// Place an order
///
/// Paid from the balance, the amount is taken from what the account has available, at once. Paid by hold, it is frozen, to
/// be captured later. Paid at a provider, the order waits for the provider's callback; one that came before it pays it at
/// once. With items, stock, order and payment are one: either all of it happens or nothing.
#[utoipa::path(
    post, path = "/v1/orders", tag = "orders",
    request_body = PlaceOrderBody,
    responses((status = 201, description = "The order is placed; paid, or waiting for its payment.", body = OrderBody,
        headers(("Location" = String, description = "The order's path."))))
)]
pub async fn place_order(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Submission { path: Nothing, body, asker } = Submission::read(&state, request).await?;
    let PlaceOrderBody { account_id, client_order_no, currency, amount, items, payment } = body;
    let meaning = Meaning::of(OPERATION)
        .field("account_id", &account_id.to_string())
        .field("client_order_no", &client_order_no)
        .field("currency", currency.code())
        .field("amount", &amount.to_string())
        .group("payment", |fields| match &payment {
            Paid::Balance => fields.field("method", PaymentMethod::Balance.as_str()),
            Paid::Hold { expires_in_s } => fields
                .field("method", PaymentMethod::Hold.as_str())
                .field("expires_in_seconds", &expires_in_s.to_string()),
            // A number that the server makes is no part of what was asked for.
            Paid::Provider { provider, payment_no } => fields
                .field("method", PaymentMethod::Provider.as_str())
                .field("provider", provider.word())
                .maybe("payment_no", payment_no.as_deref()),
        });
    let meaning = with_items(meaning, &items);
    let payment = match payment {
        Paid::Balance => PaymentTerms::Balance,
        Paid::Hold { expires_in_s } => PaymentTerms::Hold { expires_in_s },
        Paid::Provider { provider, payment_no } => {
            let Some(endpoint) = state.endpoints.of(asker.client_id(), provider) else {
                // An order that was placed while there was one stays placed, and its answer is given again.
                let problem = not_configured(provider);
                return asker.refuse_unless_answered(&state, OPERATION, meaning, problem).await;
            };
            provider.payable(amount).map_err(|unpayable| never_settled(provider, amount, unpayable))?;
            PaymentTerms::Provider {
                provider: provider.word(),
                payment_no: payment_no.unwrap_or_else(new_payment_no),
                expires_in_s: endpoint.payment_expires_in_s,
            }
        }
    };
    let command = Command::PlaceOrder { account_id, client_order_no, amount, items, payment };
    asker.submit(&state, OPERATION, meaning, command).await
}

#[cfg(test)]
mod tests {
    use crate::body::parse;

    use super::*;

    fn with(rest: &str) -> String {
        format!(
            r#"{{"account_id": "01900000-0000-7000-8000-00000000000a", "client_order_no": "A", "currency": "CNY", "amount": "1"{rest}}}"#
        )
    }

    fn pointers(body: &str) -> Vec<String> {
        let problem = parse::<PlaceOrderBody>(body.as_bytes()).unwrap_err();
        problem.errors.into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn no_items_and_an_empty_list_are_the_same() {
        for body in [
            with(r#", "payment": {"method": "balance"}"#),
            with(r#", "items": [], "payment": {"method": "balance"}"#),
        ] {
            assert!(parse::<PlaceOrderBody>(body.as_bytes()).is_ok(), "{body}");
        }
    }

    #[test]
    fn an_item_is_a_sku_and_a_count_and_stands_once() {
        let items =
            |items: &str| pointers(&with(&format!(r#", "items": {items}, "payment": {{"method": "hold"}}"#)));
        assert_eq!(items(r#"[{"sku": "TEA-1", "quantity": 0}]"#), ["/items/0/quantity"]);
        assert_eq!(items(r#"[{"sku": "", "quantity": 1.5}]"#), ["/items/0/sku", "/items/0/quantity"]);
        assert_eq!(
            items(r#"[{"sku": "A", "quantity": 1}, {"quantity": 1}, 7]"#),
            ["/items/1/sku", "/items/2"]
        );
        assert_eq!(items(r#"[{"sku": "A", "quantity": 1}, {"sku": "A", "quantity": 2}]"#), ["/items"]);
        assert_eq!(items("{}"), ["/items"]);
        let many = format!("[{}]", vec![r#"{"sku": "A", "quantity": 1}"#; 101].join(","));
        assert_eq!(items(&many), ["/items"]);
    }

    #[test]
    fn a_hold_lasts_a_week_unless_the_client_says_how_long() {
        let terms = |payment: &str| {
            parse::<PlaceOrderBody>(with(&format!(r#", "payment": {payment}"#)).as_bytes()).unwrap().payment
        };
        for week in [r#"{"method": "hold"}"#, r#"{"method": "hold", "expires_in_seconds": 604800}"#] {
            assert!(matches!(terms(week), Paid::Hold { expires_in_s: 604_800 }));
        }
        let balance = r#", "payment": {"method": "balance", "expires_in_seconds": 60}"#;
        assert_eq!(pointers(&with(balance)), ["/payment/expires_in_seconds"]);
    }

    #[test]
    fn what_is_not_available_is_refused_by_name() {
        assert_eq!(pointers(&with("")), ["/payment"]);
        assert_eq!(pointers(&with(r#", "payment": {}"#)), ["/payment/method"]);
        for method in ["cash", "BALANCE"] {
            assert_eq!(
                pointers(&with(&format!(r#", "payment": {{"method": "{method}"}}"#))),
                ["/payment/method"]
            );
        }
        assert_eq!(
            pointers(&with(r#", "payment": {"method": "balance", "provider": "stripe"}"#)),
            ["/payment/provider"]
        );
    }

    #[test]
    fn a_payment_at_a_provider_names_it_and_a_number_that_every_provider_takes() {
        let good = r#", "payment": {"method": "provider", "provider": "stripe", "payment_no": "P-0001"}"#;
        assert!(parse::<PlaceOrderBody>(with(good).as_bytes()).is_ok());
        for (payment, faults) in [
            (r#"{"method": "provider"}"#, vec!["/payment/provider"]),
            (r#"{"method": "provider", "provider": "cash"}"#, vec!["/payment/provider"]),
            (
                r#"{"method": "provider", "provider": "stripe", "payment_no": "P 0001"}"#,
                vec!["/payment/payment_no"],
            ),
        ] {
            assert_eq!(pointers(&with(&format!(r#", "payment": {payment}"#))), faults, "{payment}");
        }
        assert!(is_payment_no(&new_payment_no()));
        assert_ne!(new_payment_no(), new_payment_no());
    }
}
