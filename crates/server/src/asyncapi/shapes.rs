//! What events carry. A field may be added to a shape at any time, and readers pass over what they do not know; anything
//! else is a new version of the events that carry it.

use account::{HoldStatus, MovementKind};
use order::OrderStatus;
use payment_callback::{AlertAction, AlertKind, AskedStatus, ProviderKind};
use serde_json::{Map, Value, json};

/// The data of one or more types of event.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// Its JSON schema.
    pub schema: fn() -> Value,
}

/// Every shape.
pub const SHAPES: &[Shape] = &[
    Shape { name: "OpenedAccount", schema: opened_account },
    Shape { name: "ClosedAccount", schema: closed_account },
    Shape { name: "Movement", schema: movement },
    Shape { name: "Order", schema: order },
    Shape { name: "RefundedOrder", schema: refunded_order },
    Shape { name: "Hold", schema: hold },
    Shape { name: "Sku", schema: sku },
    Shape { name: "PaymentAlert", schema: payment_alert },
];

fn opened_account() -> Value {
    all_of(
        "An account that was opened",
        [
            ("account_id", id("The account")),
            ("owner", text("Whom it belongs to, in the client's words")),
            ("currency", currency()),
        ],
    )
}

fn closed_account() -> Value {
    all_of("An account that was closed", [("account_id", id("The account"))])
}

fn movement() -> Value {
    let kinds = [MovementKind::Deposit, MovementKind::Withdrawal, MovementKind::Transfer];
    all_of(
        "Money that has moved",
        [
            ("movement_id", id("The movement")),
            ("kind", word("Where it came from and went", kinds.map(MovementKind::as_str))),
            ("from_account_id", or_null(id("The account that paid; null where it came from outside"))),
            ("to_account_id", or_null(id("The account that received; null where it went outside"))),
            ("currency", currency()),
            ("amount", amount("How much")),
            ("reference", or_null(text("The client's own name for it"))),
        ],
    )
}

fn order() -> Value {
    let mut schema = all_of("An order as it was then", order_fields());
    schema["properties"]["previous"] = previous();
    schema
}

fn previous() -> Value {
    let mut schema = all_of(
        "What the order was before this event; null if it was placed by it. Absent in events of earlier versions",
        [
            ("captured_amount", amount("What was taken until then")),
            ("refunded_amount", amount("What was given back until then")),
            ("status", word("Its state", OrderStatus::ALL.map(OrderStatus::as_str))),
        ],
    );
    schema["type"] = json!(["object", "null"]);
    schema
}

fn order_fields() -> [(&'static str, Value); 8] {
    [
        ("order_id", id("The order")),
        ("client_order_no", text("The client's own number for it")),
        ("account_id", id("The account that it belongs to, and that pays unless a provider is paid")),
        ("currency", currency()),
        ("amount", amount("What it costs")),
        ("captured_amount", amount("What was taken of that so far")),
        ("refunded_amount", amount("What was given back of that so far")),
        ("status", word("Its state", OrderStatus::ALL.map(OrderStatus::as_str))),
    ]
}

fn refunded_order() -> Value {
    let mut refund = all_of(
        "The refund. Absent where a provider gave something back that nobody had asked for here",
        [
            ("refund_id", id("The refund")),
            ("reference", text("The client's own name for it")),
            ("amount", amount("How much")),
            (
                "status",
                word(
                    "Whether it was given",
                    [AskedStatus::Pending, AskedStatus::Succeeded, AskedStatus::Failed]
                        .map(AskedStatus::as_str),
                ),
            ),
        ],
    );
    refund["properties"]["failure"] = text("Why it failed; only of one that has");
    let mut schema = all_of("An order as it was then, and its refund", order_fields());
    schema["properties"]["refund"] = refund;
    schema["properties"]["previous"] = previous();
    schema
}

fn hold() -> Value {
    all_of(
        "Frozen money",
        [
            ("hold_id", id("The hold")),
            ("account_id", id("The account")),
            ("currency", currency()),
            ("amount", amount("How much was frozen")),
            ("captured_amount", amount("What was taken of that so far")),
            ("status", word("Its state", HoldStatus::ALL.map(HoldStatus::as_str))),
        ],
    )
}

fn sku() -> Value {
    all_of(
        "Something that is sold",
        [
            ("sku", text("Its code")),
            ("currency", currency()),
            ("price", amount("What a piece costs")),
            (
                "total",
                json!({ "type": "integer", "minimum": 0, "description": "How many pieces there are, sold ones included" }),
            ),
        ],
    )
}

fn payment_alert() -> Value {
    let providers: Vec<_> = ProviderKind::all().map(ProviderKind::word).collect();
    all_of(
        "What a person is asked about",
        [
            ("alert_id", id("The alert")),
            ("kind", word("Why", AlertKind::ALL.map(AlertKind::as_str))),
            ("payment_no", or_null(text("The number of the payment, as far as it is known"))),
            ("provider", word("The provider", providers)),
            ("provider_payment_id", or_null(text("The provider's own number for the payment"))),
            ("status", word("Whether it waits", ["open", "resolved"])),
            ("action", or_null(word("What was decided", AlertAction::ALL.map(AlertAction::as_str)))),
        ],
    )
}

/// An object that has all of these fields.
fn all_of(description: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let fields: Map<_, _> = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let required: Vec<_> = fields.keys().cloned().collect();
    json!({ "type": "object", "description": description, "required": required, "properties": fields })
}

/// A UUID, in lower case.
pub(super) fn id(description: &str) -> Value {
    json!({ "type": "string", "format": "uuid", "description": description })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn currency() -> Value {
    json!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "ISO 4217" })
}

fn amount(description: &str) -> Value {
    json!({
        "type": "string",
        "pattern": "^[0-9]+(\\.[0-9]+)?$",
        "description": format!("{description}, exactly, with all digits of its currency"),
    })
}

fn word(description: &str, words: impl IntoIterator<Item = &'static str>) -> Value {
    let words: Vec<_> = words.into_iter().collect();
    json!({ "type": "string", "enum": words, "description": description })
}

/// What may also be absent, which is written as null.
fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!(["string", "null"]);
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    schema
}
