//! What a merchant asks Alipay's gateway (<https://opendocs.alipay.com/open/02e7gm>): `alipay.trade.query`,
//! `alipay.trade.refund` and `alipay.trade.fastpay.refund.query`.
//!
//! A request is signed by the app over all its parameters but `sign`, `sign_type` among them, empty ones left out. Every
//! answer has status 200. What it says is an object whose bytes are signed as they stand in the answer.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http::header;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{TIME, beijing, signed, yuan};
use crate::amount::Amount;
use crate::books::{Booked, Books, NotBooked, State as Stage};
use crate::demo_keys::alipay as demo;
use crate::event::Outcome;
use crate::form;
use crate::office::{Office, Refused};
use crate::provider::Provider;
use crate::rsa::{SigningKey, VerifyingKey};
use crate::scenario::{Impossible, RefundAsked};

/// Alipay's one path.
pub fn routes() -> Router<Arc<Office>> {
    Router::new().route("/gateway.do", post(gateway).get(gateway))
}

/// What one method is asked.
#[derive(Deserialize, Default)]
struct Content {
    out_trade_no: Option<String>,
    trade_no: Option<String>,
    refund_amount: Option<Sum>,
    out_request_no: Option<String>,
}

/// Alipay takes an amount as a text and as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Sum {
    Text(String),
    Number(serde_json::Number),
}

/// Why a method is not done.
struct Fault {
    code: &'static str,
    sub_code: &'static str,
    sub_msg: &'static str,
}

const fn business(sub_code: &'static str, sub_msg: &'static str) -> Fault {
    Fault { code: "40004", sub_code, sub_msg }
}

const fn invalid(sub_code: &'static str, sub_msg: &'static str) -> Fault {
    Fault { code: "40002", sub_code, sub_msg }
}

const NO_TRADE: Fault = business("ACQ.TRADE_NOT_EXIST", "交易不存在");

async fn gateway(State(office): State<Arc<Office>>, RawQuery(query): RawQuery, body: Bytes) -> Response {
    let asked = [query.unwrap_or_default().as_bytes(), b"&", &body].concat();
    let parameters = form::parse(&asked).unwrap_or_default();
    let method = form::text(&parameters, "method").unwrap_or_default().to_owned();
    let said = match verify(&parameters) {
        Ok(content) => perform(&office, &method, &content),
        Err(fault) => Err(fault),
    };
    let mut object = said.unwrap_or_else(|fault| {
        let msg = if fault.code == "40004" { "Business Failed" } else { "Invalid Arguments" };
        json!({ "code": fault.code, "msg": msg, "sub_code": fault.sub_code, "sub_msg": fault.sub_msg })
    });
    if object.get("code").is_none() {
        object["code"] = json!("10000");
        object["msg"] = json!("Success");
    }
    let node = match METHODS.contains(&method.as_str()) {
        true => format!("{}_response", method.replace('.', "_")),
        false => "error_response".to_owned(),
    };
    let object = object.to_string();
    let key = SigningKey::from_pem(demo::PLATFORM_PRIVATE_KEY).expect("the demo's key is one");
    let sign = key.sign(object.as_bytes());
    let answer = format!(r#"{{"{node}":{object},"sign":"{sign}"}}"#);
    ([(header::CONTENT_TYPE, "text/html;charset=utf-8")], answer).into_response()
}

const QUERY: &str = "alipay.trade.query";
const REFUND: &str = "alipay.trade.refund";
const REFUND_QUERY: &str = "alipay.trade.fastpay.refund.query";
const METHODS: [&str; 3] = [QUERY, REFUND, REFUND_QUERY];

/// What is asked, if the app has signed it.
fn verify(parameters: &[(String, Vec<u8>)]) -> Result<Content, Fault> {
    let text = |name| form::text(parameters, name).unwrap_or_default();
    if text("app_id") != demo::APP_ID {
        return Err(invalid("isv.invalid-app-id", "无效的AppID参数"));
    }
    if text("sign_type") != "RSA2" {
        return Err(invalid("isv.invalid-signature-type", "无效的签名类型"));
    }
    let content: Vec<(&str, Vec<u8>)> = parameters
        .iter()
        .filter(|(name, value)| name != "sign" && !value.is_empty())
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let key = VerifyingKey::from_pem(demo::APP_PUBLIC_KEY).expect("the demo's key is one");
    if !key.verifies(&signed(&content), text("sign")) {
        return Err(invalid("isv.invalid-signature", "无效签名"));
    }
    serde_json::from_str(text("biz_content")).map_err(|_| invalid("isv.invalid-parameter", "参数无效"))
}

fn perform(office: &Arc<Office>, method: &str, content: &Content) -> Result<Value, Fault> {
    match method {
        QUERY => office.read(|books| Ok(trade(find(books, content)?))),
        REFUND => refund(office, content),
        REFUND_QUERY => office.read(|books| Ok(refund_query(find(books, content)?, content))),
        _ => Err(invalid("isv.invalid-method", "不存在的方法名")),
    }
}

fn find<'a>(books: &'a Books, content: &Content) -> Result<&'a Booked, Fault> {
    // The provider's own number counts where both are given.
    match (&content.trade_no, &content.out_trade_no) {
        (Some(trade_no), _) => books.of_id(Provider::Alipay, trade_no).ok_or(NO_TRADE),
        (None, Some(payment_no)) => books.of_number(Provider::Alipay, payment_no).ok_or(NO_TRADE),
        (None, None) => Err(invalid("isv.invalid-parameter", "参数无效")),
    }
}

fn trade(booked: &Booked) -> Value {
    let payment = &booked.payment;
    let total = said(payment.amount);
    let status = match booked.state {
        Stage::Paid(_) if booked.refunded() == payment.amount => "TRADE_CLOSED",
        Stage::Paid(_) => "TRADE_SUCCESS",
        Stage::Unpaid => "WAIT_BUYER_PAY",
        Stage::Closed => "TRADE_CLOSED",
    };
    let mut trade = json!({
        "trade_no": payment.provider_payment_id,
        "out_trade_no": payment.payment_no,
        "buyer_logon_id": "buy***@example.test",
        "buyer_user_id": "2088000000000001",
        "trade_status": status,
        "total_amount": total,
    });
    if let Some(at) = booked.paid_at() {
        trade["send_pay_date"] = json!(beijing(at).format(TIME).to_string());
        for name in ["receipt_amount", "buyer_pay_amount", "invoice_amount"] {
            trade[name] = json!(total);
        }
        trade["point_amount"] = json!("0.00");
    }
    trade
}

fn refund(office: &Arc<Office>, content: &Content) -> Result<Value, Fault> {
    let booked = office.read(|books| find(books, content).cloned())?;
    let amount = match &content.refund_amount {
        Some(Sum::Text(text)) => Amount::parse(text),
        Some(Sum::Number(number)) => Amount::parse(&number.to_string()),
        None => return Err(invalid("isv.missing-parameter", "缺少参数")),
    }
    .map_err(|_| invalid("isv.invalid-parameter", "参数无效"))?;
    let asked = RefundAsked {
        // Without a number of its own, the one refund of a payment goes by the payment's.
        refund_no: content.out_request_no.clone().unwrap_or_else(|| booked.payment.payment_no.clone()),
        amount: Some(amount),
        refunded_before: Amount::ZERO,
        outcome: Outcome::Done,
    };
    let (booked, refund, is_new) = office
        .refund(Provider::Alipay, &booked.payment.provider_payment_id, &asked)
        .map_err(|error| refused(&error))?;
    Ok(json!({
        "trade_no": booked.payment.provider_payment_id,
        "out_trade_no": booked.payment.payment_no,
        "buyer_logon_id": "buy***@example.test",
        "buyer_user_id": "2088000000000001",
        // Whether money moved by this very request; the sum is that of all refunds.
        "fund_change": if is_new { "Y" } else { "N" },
        "refund_fee": said(refund.refund.refunded_total),
        "send_back_fee": said(refund.refund.amount),
    }))
}

fn refused(error: &Refused) -> Fault {
    match error {
        Refused::NotBooked(NotBooked::OtherAmount { .. }) => {
            business("ACQ.DISCORDANT_REPEAT_REQUEST", "请求信息不一致")
        }
        Refused::NotBooked(NotBooked::Impossible(Impossible::RefundExceedsPaid { .. })) => {
            business("ACQ.REFUND_AMT_NOT_EQUAL_TOTAL", "退款金额超限")
        }
        Refused::NotBooked(NotBooked::NotPaid) => business("ACQ.TRADE_STATUS_ERROR", "交易状态不合法"),
        Refused::NotBooked(_) => NO_TRADE,
        Refused::Unsayable(_) | Refused::Style(_) | Refused::Unwritten(_) => {
            Fault { code: "20000", sub_code: "aop.ACQ.SYSTEM_ERROR", sub_msg: "系统异常" }
        }
    }
}

/// About a refund that never was, the gateway says that it has succeeded in finding nothing.
fn refund_query(booked: &Booked, content: &Content) -> Value {
    let payment = &booked.payment;
    let refund_no = content.out_request_no.as_deref().unwrap_or(&payment.payment_no);
    let Some(refund) = booked.refund(refund_no) else { return json!({}) };
    json!({
        "trade_no": payment.provider_payment_id,
        "out_trade_no": payment.payment_no,
        "out_request_no": refund.refund.refund_no,
        "total_amount": said(payment.amount),
        "refund_amount": said(refund.refund.amount),
        "refund_status": "REFUND_SUCCESS",
        "gmt_refund_pay": beijing(refund.at).format(TIME).to_string(),
    })
}

fn said(amount: Amount) -> String {
    yuan(amount).unwrap_or_else(|_| amount.to_string())
}
