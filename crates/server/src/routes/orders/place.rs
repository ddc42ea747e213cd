//! `POST /v1/orders`

use account::AccountId;
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use money::{Amount, Currency};
use order::{PaymentMethod, PaymentTerms};
use payment_callback::payment::is_payment_no;
use payment_callback::{ProviderKind, Unpayable};
use rand::Rng;
use rand::distr::Alphanumeric;
use utoipa::ToSchema;

use super::{OrderBody, OrderItemBody};
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
    "currency": "CNY", "amount": "128.00", "payment": { "method": "balance" }
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
    /// How much, in plain decimal notation; more than zero.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Amount,
    /// What is ordered, item by item. In this version empty or left out.
    #[schema(value_type = Option<Vec<OrderItemBody>>, max_items = 0, nullable = false)]
    items: NoItems,
    /// How it is paid.
    #[schema(value_type = PlacePaymentBody)]
    payment: Paid,
}

/// How an order to be placed is paid.
#[derive(ToSchema, Debug)]
#[expect(dead_code, reason = "it is read as what it says; the fields are there for the schema")]
pub struct PlacePaymentBody {
    /// `balance`: from what the account has available, at once. `provider`: by a payment at a provider, which tells of it
    /// by a callback; until then the order is `pending_payment`.
    method: String,
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
    Provider { provider: ProviderKind, payment_no: Option<String> },
}

/// The items of an order, of which there are none yet. An empty list means the same as no list.
#[derive(Clone, Copy, Debug)]
struct NoItems;

impl RequestBody for PlaceOrderBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let account_id = fields.required("account_id", words::id);
        let client_order_no = fields.required("client_order_no", words::printable);
        let amount = words::money(fields);
        let items = fields.optional("items", no_items);
        let payment = fields.object("payment", payment);
        Some(Self {
            account_id: AccountId(account_id?),
            client_order_no: client_order_no?,
            currency: amount?.currency(),
            amount: amount?,
            items: items?.unwrap_or(NoItems),
            payment: payment?,
        })
    }
}

fn no_items(json: &Json) -> Result<NoItems, String> {
    match json {
        Json::List(items) if items.is_empty() => Ok(NoItems),
        Json::List(_) => Err("must be empty or left out: items are not available in this version".to_owned()),
        other => Err(format!("must be an array, not {}", other.kind())),
    }
}

fn payment(fields: &mut Fields<'_>) -> Option<Paid> {
    let method = fields.required("method", |json| match words::text(json)? {
        "hold" => Err("the method hold is not available in this version".to_owned()),
        method => PaymentMethod::from_word(method)
            .ok_or_else(|| "is not a method; use balance or provider".to_owned()),
    });
    match method {
        Some(PaymentMethod::Provider) => {
            let provider = fields.required("provider", provider);
            let payment_no = fields.optional("payment_no", payment_no);
            Some(Paid::Provider { provider: provider?, payment_no: payment_no? })
        }
        method => {
            for name in ["provider", "payment_no"] {
                fields.optional(name, |_| Err::<(), _>("belongs to the method provider".to_owned()));
            }
            method.map(|_| Paid::Balance)
        }
    }
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
/// Paid from the balance, the amount is taken from what the account has available, at once. Paid at a provider, the order
/// waits for the provider's callback; one that came before it pays it at once.
#[utoipa::path(
    post, path = "/v1/orders", tag = "orders",
    request_body = PlaceOrderBody,
    responses((status = 201, description = "The order is placed; paid, or waiting for its payment.", body = OrderBody,
        headers(("Location" = String, description = "The order's path."))))
)]
pub async fn place_order(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Submission { path: Nothing, body, asker } = Submission::read(&state, request).await?;
    let PlaceOrderBody { account_id, client_order_no, currency, amount, items: NoItems, payment } = body;
    let meaning = Meaning::of(OPERATION)
        .field("account_id", &account_id.to_string())
        .field("client_order_no", &client_order_no)
        .field("currency", currency.code())
        .field("amount", &amount.to_string())
        .group("payment", |fields| match &payment {
            Paid::Balance => fields.field("method", PaymentMethod::Balance.as_str()),
            // A number that the server makes is no part of what was asked for.
            Paid::Provider { provider, payment_no } => fields
                .field("method", PaymentMethod::Provider.as_str())
                .field("provider", provider.word())
                .maybe("payment_no", payment_no.as_deref()),
        });
    let payment = match payment {
        Paid::Balance => PaymentTerms::Balance,
        Paid::Provider { provider, payment_no } => {
            let endpoint = state.endpoints.of(asker.client_id(), provider).ok_or_else(|| {
                let detail = format!("the client has no callback endpoint for the provider {provider}");
                Problem::new(Slug::ProviderNotConfigured, detail)
            })?;
            provider.payable(amount).map_err(|unpayable| never_settled(provider, amount, unpayable))?;
            PaymentTerms::Provider {
                provider: provider.word(),
                payment_no: payment_no.unwrap_or_else(new_payment_no),
                expires_in_s: endpoint.payment_expires_in_s,
            }
        }
    };
    let command = Command::PlaceOrder { account_id, client_order_no, amount, payment };
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
    fn what_is_not_available_is_refused_by_name() {
        assert_eq!(pointers(&with("")), ["/payment"]);
        assert_eq!(pointers(&with(r#", "payment": {}"#)), ["/payment/method"]);
        for method in ["hold", "cash", "BALANCE"] {
            assert_eq!(
                pointers(&with(&format!(r#", "payment": {{"method": "{method}"}}"#))),
                ["/payment/method"]
            );
        }
        assert_eq!(
            pointers(&with(
                r#", "items": [{"sku": "TEA-1", "quantity": 2}], "payment": {"method": "balance", "provider": "stripe"}"#
            )),
            ["/items", "/payment/provider"]
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
