//! What the operations have in common, added to each of them.

use account::{AccountStatus, EntryKind, HoldStatus, MovementKind};
use http::Method;
use idempotency::RecordStatus;
use order::{Change, OrderStatus, PaymentMethod};
use payment_callback::{AlertAction, AlertKind, AskedStatus, PaymentStatus, ProviderKind, ReceiptState};
use serde_json::Value;
use utoipa::Modify;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{AdditionalProperties, Object, ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{
    ContentBuilder, Header, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder, Responses, Schema,
};

use super::problems::{Told, example_of, problems_of};
use crate::problem::{self, Slug};
use crate::routes::{self, Access};

/// The path that payment providers call.
pub const CALLBACKS: &str = "/v1/callbacks/{endpoint}";

/// What is posted without a key: a provider names its deliveries itself, and who asks for a key has none yet.
pub const WITHOUT_KEY: [&str; 2] = [CALLBACKS, "/v1/idempotency-keys"];

/// Completes every operation of the document.
pub struct Completion;

impl Modify for Completion {
    fn modify(&self, document: &mut OpenApi) {
        for (path, item) in &mut document.paths.paths {
            let is_business = path.starts_with("/v1/");
            for (method, operation) in operations_of(item) {
                // A provider names its deliveries itself, and what is set needs no name.
                let has_key = method == Method::POST && !WITHOUT_KEY.contains(&path.as_str());
                let told = Told { is_business, has_key, has_effect: has_key || method == Method::PUT };
                complete(operation, path, told);
                require_scope(operation, &method, path);
            }
        }
        let Some(components) = &mut document.components else { return };
        close_request_bodies(&mut components.schemas);
        enumerate_words(&mut components.schemas);
    }
}

/// OpenAPI 3.1 allows the roles that an operation needs to stand beside the scheme, whatever its type.
fn require_scope(operation: &mut Operation, method: &Method, path: &str) {
    let routes = routes::table();
    let route = routes.iter().find(|route| route.method == *method && route.path == path);
    if let Some(Access::Scope(scope)) = route.map(|route| route.access) {
        operation.security = Some(vec![SecurityRequirement::new("api_key", [scope.as_str()])]);
    }
}

/// The operations of a path. The API has no other methods.
pub fn operations_of(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let get = item.get.as_mut().map(|operation| (Method::GET, operation));
    let post = item.post.as_mut().map(|operation| (Method::POST, operation));
    let put = item.put.as_mut().map(|operation| (Method::PUT, operation));
    get.into_iter().chain(post).chain(put)
}

fn complete(operation: &mut Operation, path: &str, told: Told) {
    let id = operation.operation_id.clone().unwrap_or_default();
    let is_list = id.starts_with("list_") && id != "list_collecting_accounts";
    let mut parameters = vec![request_id_parameter()];
    if path.contains("{id}") {
        parameters.push(id_parameter());
    }
    if path.contains("{key}") {
        parameters.push(key_in_path());
    }
    if path.contains("{payment_no}") {
        parameters.push(payment_no_in_path());
    }
    if path.contains("{endpoint}") {
        parameters.push(endpoint_in_path());
    }
    if path.contains("{sku}") {
        parameters.push(sku_in_path());
    }
    if told.has_key {
        parameters.extend(key_headers());
    }
    if is_list {
        parameters.extend(page_parameters());
    }
    if id.starts_with("capture_")
        && let Some(RefOr::T(body)) = &mut operation.request_body
    {
        body.required = Some(Required::False);
    }
    operation.parameters.get_or_insert_default().extend(parameters.into_iter().map(RefOr::T));

    if told.has_key {
        for response in operation.responses.responses.values_mut() {
            if let RefOr::T(response) = response {
                response.headers.extend(replay_headers());
            }
        }
    }
    add_problems(&mut operation.responses, &id, told);
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response {
            response.headers.insert("X-Request-Id".to_owned(), header("The request's id."));
            if told.is_business {
                response.headers.insert("Cache-Control".to_owned(), header("Always `no-store`."));
                // They are on refusals too; there the document tells of them where it is a limit that refuses.
                if path != CALLBACKS && status.starts_with('2') {
                    response.headers.extend(rate_limit_headers());
                }
            }
        }
    }
}

/// One response for each status, with an example for each problem of that status.
fn add_problems(responses: &mut Responses, id: &str, told: Told) {
    let slugs = problems_of(id, told);
    for slugs in slugs.chunk_by(|one, other| one.entry().status == other.entry().status) {
        let status = slugs[0].entry().status.to_string();
        let problem = problem_response(slugs, id, told.has_key);
        match responses.responses.get_mut(&status) {
            Some(RefOr::T(own)) => {
                own.description = format!("{} Or {}", own.description, problem.description);
                own.content.extend(problem.content);
                own.headers.extend(problem.headers);
            }
            _ => {
                responses.responses.insert(status, RefOr::T(problem));
            }
        }
    }
}

fn problem_response(slugs: &[Slug], id: &str, has_key: bool) -> Response {
    let words: Vec<_> = slugs.iter().map(|slug| format!("`{slug}`")).collect();
    let examples = slugs.iter().map(|slug| {
        let entry = slug.entry();
        let example = ExampleBuilder::new().summary(entry.title).value(Some(example_of(*slug, id))).build();
        (entry.word, RefOr::T(example))
    });
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("ProblemBody")))
        .examples_from_iter(examples)
        .build();
    let mut response =
        ResponseBuilder::new().description(words.join(", ")).content(problem::CONTENT_TYPE, content).build();
    let any = |wanted: fn(&Slug) -> bool| slugs.iter().any(wanted);
    let headers = &mut response.headers;
    if any(|slug| slug.entry().retry_after) {
        headers.insert("Retry-After".to_owned(), retry_after());
    }
    if any(|slug| *slug == Slug::Unauthorized) {
        headers.insert("WWW-Authenticate".to_owned(), header("`Bearer`, and what is wrong with the key."));
    }
    if any(|slug| *slug == Slug::RateLimited) {
        headers.extend(rate_limit_headers());
    }
    if has_key && any(|slug| slug.entry().stored) {
        headers.extend(replay_headers());
    }
    if any(|slug| *slug == Slug::IdempotencyInProgress) {
        headers.insert("Preference-Applied".to_owned(), preference_applied());
    }
    response
}

/// They are on every answer to a client that has a limit.
fn rate_limit_headers() -> [(String, RefOr<Header>); 2] {
    [
        (
            "RateLimit-Policy".to_owned(),
            header("How many requests are allowed in which time, for each limit that is configured."),
        ),
        ("RateLimit".to_owned(), header("How many requests are left of each limit, and for how long.")),
    ]
}

fn replay_headers() -> [(String, RefOr<Header>); 2] {
    [
        (
            "Idempotency-Replayed".to_owned(),
            header("`true` when this is the answer of an earlier request under the same key; else absent."),
        ),
        ("Preference-Applied".to_owned(), preference_applied()),
    ]
}

fn preference_applied() -> RefOr<Header> {
    header("`wait=N` when the request waited for the first one under its key; else absent.")
}

fn header(description: &str) -> RefOr<Header> {
    RefOr::T(HeaderBuilder::new().schema(Some(text(None))).description(Some(description)).build())
}

fn retry_after() -> RefOr<Header> {
    let seconds = ObjectBuilder::new().schema_type(SchemaType::new(Type::Integer)).minimum(Some(1));
    let description = "After how many seconds to ask again.";
    RefOr::T(HeaderBuilder::new().schema(Some(Schema::from(seconds))).description(Some(description)).build())
}

fn text(format: Option<&str>) -> Schema {
    let schema = ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .format(format.map(|format| SchemaFormat::Custom(format.to_owned())));
    schema.into()
}

fn matching(pattern: &str) -> Schema {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).pattern(Some(pattern)).into()
}

fn parameter(name: &str, place: ParameterIn, schema: Schema, description: &str) -> ParameterBuilder {
    let required = if place == ParameterIn::Path { Required::True } else { Required::False };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .schema(Some(schema))
        .description(Some(description))
}

/// Its schema sets no bounds, since no request is refused for what stands here.
fn request_id_parameter() -> Parameter {
    let description = "The request's id, which is echoed and stands on every log line. The server makes one if it is absent, or \
        not 1–128 printable ASCII characters.";
    parameter("X-Request-Id", ParameterIn::Header, text(None), description).build()
}

fn id_parameter() -> Parameter {
    parameter("id", ParameterIn::Path, text(Some("uuid")), "The id, a UUID of version 7 in lower case.")
        .example(Some("01900000-0000-7000-8000-00000000000a".into()))
        .build()
}

fn key_in_path() -> Parameter {
    parameter("key", ParameterIn::Path, matching("^[ -~]{1,255}$"), "The key's value, percent-encoded.")
        .example(Some("8e03978e-40d5-43dd-bc93-6894a57f9324".into()))
        .build()
}

fn payment_no_in_path() -> Parameter {
    let number = matching("^[0-9A-Za-z_-]{6,32}$");
    parameter("payment_no", ParameterIn::Path, number, "The payment's number.")
        .example(Some("P-1001".into()))
        .build()
}

fn endpoint_in_path() -> Parameter {
    let description =
        "The endpoint's name, as it is configured; in the demo `stripe`, `alipay`, `wechatpay`, `standard`.";
    parameter("endpoint", ParameterIn::Path, matching("^[0-9a-z_-]{1,64}$"), description)
        .example(Some("stripe".into()))
        .build()
}

fn sku_in_path() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .min_length(Some(1))
        .max_length(Some(64));
    parameter("sku", ParameterIn::Path, schema.into(), "The sku's name, percent-encoded.")
        .example(Some("TEA-1".into()))
        .build()
}

fn key_headers() -> [Parameter; 4] {
    let key = "The name of the operation, chosen by the client: 1–255 printable ASCII characters, bare or as a quoted string of \
        RFC 8941. A retry sends the same key and the same request.";
    let alias = "Another spelling of `Idempotency-Key`, which then may be left out. If both are there, they must agree.";
    let prefer = "`wait=N`: should the first request under the key still be running, wait up to N seconds (30 at most) for its \
        answer instead of being told 409 at once (RFC 7240).";
    let key_like =
        |name, description| parameter(name, ParameterIn::Header, matching(KEY_HEADER), description);
    [
        key_like("Idempotency-Key", key)
            .required(Required::True)
            .example(Some("8e03978e-40d5-43dd-bc93-6894a57f9324".into()))
            .build(),
        key_like("X-Idempotency-Key", alias).build(),
        key_like("X-Idempotent-Key", alias).build(),
        parameter("Prefer", ParameterIn::Header, text(None), prefer).example(Some("wait=10".into())).build(),
    ]
}

/// Both spellings of a key, as [`idempotency::Key::parse`] takes them.
pub const KEY_HEADER: &str = r#"^([!#-+\--\[\]-~]{1,255}|"([ !#-\[\]-~]|\\["\\]){1,255}")$"#;

fn page_parameters() -> [Parameter; 2] {
    let limit = ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Integer))
        .minimum(Some(1))
        .maximum(Some(100))
        .default(Some(20.into()));
    [
        parameter("limit", ParameterIn::Query, limit.into(), "How many rows to answer at most.").build(),
        parameter("cursor", ParameterIn::Query, text(None), "`next_cursor` of the page before.").build(),
    ]
}

/// A field that a body does not know is refused, so the schema says so.
fn close_request_bodies(schemas: &mut Schemas) {
    const REQUEST_BODIES: [&str; 12] = [
        "OpenAccountBody",
        "DepositBody",
        "WithdrawalBody",
        "TransferBody",
        "PlaceOrderBody",
        "PlacePaymentBody",
        "ResolveAlertBody",
        "PlaceHoldBody",
        "CaptureBody",
        "RefundOrderBody",
        "PutSkuBody",
        "PutPriceBody",
    ];
    for name in REQUEST_BODIES {
        object(schemas, name).additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
}

/// Fields that hold one of a few words, with the words of the domain.
fn enumerate_words(schemas: &mut Schemas) {
    let directions = vec!["debit", "credit"];
    let entry_kinds = ENTRY_KINDS.map(EntryKind::as_str).to_vec();
    let movement_kinds = MOVEMENT_KINDS.map(MovementKind::as_str).to_vec();
    let account_statuses = [AccountStatus::Open, AccountStatus::Closed].map(AccountStatus::as_str).to_vec();
    let order_statuses = OrderStatus::ALL.map(OrderStatus::as_str).to_vec();
    let hold_statuses = HoldStatus::ALL.map(HoldStatus::as_str).to_vec();
    // Of those that a provider is asked for; to a balance it succeeds at once.
    let refund_statuses = AskedStatus::ALL.map(AskedStatus::as_str).to_vec();
    let methods = [PaymentMethod::Balance, PaymentMethod::Hold, PaymentMethod::Provider];
    let methods = methods.map(PaymentMethod::as_str).to_vec();
    let providers: Vec<&str> = ProviderKind::all().map(ProviderKind::word).collect();
    // A parked payment has no order, and so is not shown.
    let payment_statuses: Vec<&str> = PaymentStatus::ALL
        .into_iter()
        .filter(|status| *status != PaymentStatus::Parked)
        .map(PaymentStatus::as_str)
        .collect();
    let receipt_states = ReceiptState::ALL.map(ReceiptState::as_str).to_vec();
    let alert_kinds = AlertKind::ALL.map(AlertKind::as_str).to_vec();
    let actions = [AlertAction::Accept, AlertAction::Refund, AlertAction::Dismiss];
    let actions = actions.map(AlertAction::as_str).to_vec();
    let key_statuses = vec!["in_progress", RecordStatus::Completed.as_str(), RecordStatus::Failed.as_str()];
    for (name, property, words) in [
        ("AccountBody", "status", account_statuses),
        ("EntryBody", "direction", directions),
        ("EntryBody", "kind", entry_kinds),
        ("MovementBody", "kind", movement_kinds),
        ("OrderBody", "status", order_statuses.clone()),
        ("OrderChangeBody", "change", Change::ALL.map(Change::as_str).to_vec()),
        ("OrderChangeBody", "status", order_statuses),
        ("HoldBody", "status", hold_statuses),
        ("RefundBody", "status", refund_statuses.clone()),
        ("AskedRefundBody", "status", refund_statuses),
        ("AskedRefundBody", "provider", providers.clone()),
        ("PaymentBody", "method", methods.clone()),
        ("PlacePaymentBody", "method", methods),
        ("PlacePaymentBody", "provider", providers.clone()),
        ("PaymentBody", "provider", providers.clone()),
        ("PaymentBody", "status", payment_statuses.clone()),
        ("PaymentDetailsBody", "provider", providers.clone()),
        ("PaymentDetailsBody", "status", payment_statuses),
        ("ReceiptBody", "provider", providers.clone()),
        ("ReceiptBody", "state", receipt_states),
        ("AlertBody", "provider", providers),
        ("AlertBody", "kind", alert_kinds),
        ("AlertBody", "status", vec!["open", "resolved"]),
        ("ResolveAlertBody", "action", actions),
        ("IdempotencyKeyBody", "status", key_statuses),
    ] {
        let Some(RefOr::T(Schema::Object(field))) = object(schemas, name).properties.get_mut(property) else {
            panic!("{name} has no field {property} of text");
        };
        field.enum_values = Some(words.into_iter().map(Value::from).collect());
    }
}

type Schemas = std::collections::BTreeMap<String, RefOr<Schema>>;

const ENTRY_KINDS: [EntryKind; 9] = [
    EntryKind::Deposit,
    EntryKind::Withdrawal,
    EntryKind::Transfer,
    EntryKind::OrderPayment,
    EntryKind::Hold,
    EntryKind::HoldCapture,
    EntryKind::HoldRelease,
    EntryKind::HoldExpiry,
    EntryKind::OrderRefund,
];

const MOVEMENT_KINDS: [MovementKind; 3] =
    [MovementKind::Deposit, MovementKind::Withdrawal, MovementKind::Transfer];

fn object<'a>(schemas: &'a mut Schemas, name: &str) -> &'a mut Object {
    match schemas.get_mut(name) {
        Some(RefOr::T(Schema::Object(object))) => object,
        _ => panic!("the document has no object {name}"),
    }
}
