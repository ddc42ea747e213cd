//! Requests, put together by copying bytes.

use std::fmt::Write;

use crate::plan::Target;

/// The currency of every account of a run.
pub const CURRENCY: &str = "CNY";
/// What every order of a run costs, in minor units.
pub const ORDER_MINOR_UNITS: u64 = 100;
/// What every account of a run is funded with, in minor units: more than a run can spend.
pub const FUNDS_MINOR_UNITS: u64 = 100_000_000_000_000;

/// An amount of [`CURRENCY`], as the API writes it.
pub fn amount(minor_units: u64) -> String {
    format!("{}.{:02}", minor_units / 100, minor_units % 100)
}

/// What stands in every request of a run.
#[derive(Clone, Debug)]
pub struct Requests {
    head: String,
    order_amount: String,
}

impl Requests {
    /// Requests to this server, with this API key.
    pub fn new(target: &Target, api_key: &str) -> Self {
        let head = format!(
            " HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {api_key}\r\nAccept: application/json\r\n",
            target.authority()
        );
        Self { head, order_amount: amount(ORDER_MINOR_UNITS) }
    }

    /// Writes a `GET` to `into`, in place of what is there.
    pub fn get(&self, into: &mut String, path: &str) {
        into.clear();
        into.extend(["GET ", path, &self.head, "\r\n"]);
    }

    /// Writes a `POST` to `into`, in place of what is there.
    pub fn post(&self, into: &mut String, path: &str, key: &str, body: &[&str]) {
        into.clear();
        into.extend(["POST ", path, &self.head, "Content-Type: application/json\r\nIdempotency-Key: ", key]);
        write_body(into, body);
    }

    /// Writes a `PUT` to `into`, in place of what is there. It needs no key: it says what shall be.
    pub fn put(&self, into: &mut String, path: &str, body: &[&str]) {
        into.clear();
        into.extend(["PUT ", path, &self.head, "Content-Type: application/json"]);
        write_body(into, body);
    }

    /// Writes the request that places an order. `name` is both its number and its key.
    pub fn order(&self, into: &mut String, account_id: &str, name: &str) {
        self.order_by(into, account_id, name, "", "balance");
    }

    /// The same with what else stands in the order (a comma first, or nothing), paid by this method.
    pub fn order_by(&self, into: &mut String, account_id: &str, name: &str, more: &str, method: &str) {
        let body = [
            r#"{"account_id":""#,
            account_id,
            r#"","client_order_no":""#,
            name,
            r#"","currency":""#,
            CURRENCY,
            r#"","amount":""#,
            &self.order_amount,
            "\"",
            more,
            r#","payment":{"method":""#,
            method,
            r#""}}"#,
        ];
        self.post(into, "/v1/orders", name, &body);
    }
}

fn write_body(into: &mut String, body: &[&str]) {
    let length: usize = body.iter().map(|part| part.len()).sum();
    write!(into, "\r\nContent-Length: {length}\r\n\r\n").expect("a string takes whatever is written");
    into.extend(body.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_one_request_whose_length_is_right() {
        let requests = Requests::new(&"http://h:1".parse().unwrap(), "k");
        let mut request = "the last one".to_owned();
        requests.order(&mut request, "01900000-0000-7000-8000-00000000000a", "r-0-1");
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("POST /v1/orders HTTP/1.1\r\nHost: h:1\r\nAuthorization: Bearer k\r\n"),
            "{head}"
        );
        assert!(head.contains("\r\nIdempotency-Key: r-0-1\r\n"), "{head}");
        assert!(head.ends_with(&format!("\r\nContent-Length: {}", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["client_order_no"], &body["amount"]), (&"r-0-1".into(), &"1.00".into()));
    }

    #[test]
    fn an_amount_has_two_digits_after_the_point() {
        assert_eq!([amount(0), amount(5), amount(100), amount(123_450)], ["0.00", "0.05", "1.00", "1234.50"]);
    }
}
