//! A request as bytes on the wire. One meaning has more than one spelling.

use serde_json::{Value, json};

use crate::figures;
use crate::request::{Ask, Fault, Id, Money, Request};
use crate::told::Names;

/// Method, path, headers and body of a request.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) authorized: bool,
    pub(crate) body: String,
}

/// What the service takes at most, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Writes a request; `otherwise`: with other white space, other order of fields, other digits, other quotes and escapes.
pub(crate) fn write(ask: &Ask, otherwise: bool, names: &Names) -> Wire {
    let has = |fault| ask.faults.contains(&fault);
    let mut body = written_body(ask, otherwise, names);
    if has(Fault::NotJson) {
        body.push_str("} and more");
    }
    if has(Fault::TooLarge) {
        body.push_str(&" ".repeat(BODY_BYTES_MAX + 1 - body.len()));
    }
    // A close asks nothing, so nothing is a body for it.
    let nothing = otherwise && matches!(ask.request, Request::Close { .. });
    Wire {
        method: if has(Fault::OtherMethod) { "PUT" } else { "POST" },
        path: if has(Fault::UnknownRoute) { "/v1/nowhere".to_owned() } else { path(&ask.request, names) },
        key: match () {
            () if has(Fault::NoKey) => None,
            () if has(Fault::BrokenKey) => Some(format!("\"{}", ask.key)),
            () if otherwise => Some(format!("\"{}\"", ask.key)),
            () => Some(ask.key.clone()),
        },
        content_type: match () {
            () if nothing => None,
            () if has(Fault::OtherMediaType) => Some("text/plain"),
            () if otherwise => Some("Application/JSON; charset=UTF-8"),
            () => Some("application/json"),
        },
        authorized: !has(Fault::NoAuthorization),
        body: if nothing { String::new() } else { body },
    }
}

fn path(request: &Request, names: &Names) -> String {
    let account = |id: Id, rest: &str| format!("/v1/accounts/{}/{rest}", names.text(id));
    match request {
        Request::Open { .. } => "/v1/accounts".to_owned(),
        Request::Deposit { to, .. } => account(*to, "deposits"),
        Request::Withdraw { from, .. } => account(*from, "withdrawals"),
        Request::Transfer { .. } => "/v1/transfers".to_owned(),
        Request::Close { account: id } => account(*id, "close"),
        Request::Order { .. } => "/v1/orders".to_owned(),
    }
}

type Field = (&'static str, Value);

fn written_body(ask: &Ask, otherwise: bool, names: &Names) -> String {
    let has = |fault| ask.faults.contains(&fault);
    let mut fields = fields(&ask.request, otherwise, names);
    if let Some(name) = ask.request.name_field().and_then(|pointer| pointer.strip_prefix('/')) {
        if has(Fault::MissingField) {
            fields.retain(|(field, _)| *field != name);
        } else if has(Fault::RepeatedField) {
            let repeated: Vec<Field> = fields.iter().filter(|(field, _)| *field == name).cloned().collect();
            fields.extend(repeated);
        }
    }
    if has(Fault::StrangeField) {
        fields.push(("strange", json!(1)));
    }
    if otherwise {
        fields.reverse();
    }
    let (colon, comma) = if otherwise { (" :\t", "\r\n , ") } else { (":", ",") };
    let members: Vec<String> = fields
        .iter()
        .map(|(name, value)| {
            let value = if otherwise { escaped(value) } else { value.to_string() };
            format!("\"{name}\"{colon}{value}")
        })
        .collect();
    format!("{{{}}}", members.join(comma))
}

fn fields(request: &Request, otherwise: bool, names: &Names) -> Vec<Field> {
    let id = |id: Id| Value::from(names.text(id));
    let mut fields: Vec<Field> = match request {
        Request::Open { owner, currency } => {
            vec![("owner", owner.as_str().into()), ("currency", currency.as_str().into())]
        }
        Request::Deposit { reference, .. } | Request::Withdraw { reference, .. } => {
            vec![("reference", reference.as_str().into())]
        }
        Request::Transfer { from, to, reference, .. } => vec![
            ("from_account_id", id(*from)),
            ("to_account_id", id(*to)),
            ("reference", reference.as_str().into()),
        ],
        Request::Close { .. } => Vec::new(),
        Request::Order { account, number, .. } => vec![
            ("account_id", id(*account)),
            ("client_order_no", number.as_str().into()),
            ("payment", json!({ "method": "balance" })),
        ],
    };
    if let Some(money) = request.money() {
        fields.push(("currency", money.currency.as_str().into()));
        fields.push(("amount", amount(money, otherwise)));
    }
    if otherwise && matches!(request, Request::Order { .. }) {
        // Left out means the same.
        fields.push(("items", json!([])));
    }
    fields
}

fn amount(money: &Money, otherwise: bool) -> Value {
    if money.as_number {
        return serde_json::from_str(&money.amount).expect("the scripts' numbers are JSON");
    }
    let digits = figures::minor_digits(&money.currency).filter(|_| otherwise);
    let spelled = digits.and_then(|digits| {
        let full = figures::print(figures::parse(&money.amount, digits)?, digits);
        // With every digit if some were left out; without the last if it can be.
        let shorter =
            full.strip_suffix('0').filter(|shorter| shorter.contains('.') && !shorter.ends_with('.'));
        Some(if full == money.amount { shorter.unwrap_or(&full).to_owned() } else { full })
    });
    spelled.unwrap_or_else(|| money.amount.clone()).into()
}

/// A value with every character of its strings escaped.
fn escaped(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            format!("\"{units}\"")
        }
        other => other.to_string(),
    }
}
