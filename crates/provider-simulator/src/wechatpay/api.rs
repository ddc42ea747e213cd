//! What a merchant asks WeChat Pay, API v3 (<https://pay.weixin.qq.com/doc/v3/merchant/4012791838>): a payment by either
//! number, a refund, and what became of it.
//!
//! A request is signed by the merchant over its method, path with query, time, nonce and body, each with a newline behind
//! it. Every answer is signed as a callback is.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PlatformKey, SIGNATURE_TYPE, Transaction, WechatPay, fen, refund_status, time};
use crate::amount::Amount;
use crate::books::{Booked, BookedRefund, NotBooked, State as Stage};
use crate::clock::now;
use crate::demo_keys::wechatpay as demo;
use crate::event::Outcome;
use crate::form;
use crate::office::{Office, Refused};
use crate::provider::Provider;
use crate::rsa::VerifyingKey;
use crate::scenario::RefundAsked;

/// How old a request's signature may be, in seconds either way.
const TOLERANCE_S: u64 = 300;

/// WeChat Pay's paths.
pub fn routes() -> Router<Arc<Office>> {
    Router::new()
        .route("/v3/pay/transactions/out-trade-no/{payment_no}", get(by_number))
        .route("/v3/pay/transactions/id/{id}", get(by_id))
        .route("/v3/refund/domestic/refunds", post(refund))
        .route("/v3/refund/domestic/refunds/{refund_no}", get(show_refund))
}

/// An error in WeChat Pay's shape.
struct Fault {
    status: StatusCode,
    code: &'static str,
    message: &'static str,
}

const fn fault(status: StatusCode, code: &'static str, message: &'static str) -> Fault {
    Fault { status, code, message }
}

const BAD_SIGNATURE: Fault = fault(StatusCode::UNAUTHORIZED, "SIGN_ERROR", "签名错误");
const NO_ORDER: Fault = fault(StatusCode::NOT_FOUND, "ORDER_NOT_EXIST", "订单不存在");
const NO_REFUND: Fault = fault(StatusCode::NOT_FOUND, "RESOURCE_NOT_EXISTS", "退款单不存在");
const BAD_PARAMETER: Fault = fault(StatusCode::BAD_REQUEST, "PARAM_ERROR", "参数错误");

/// An answer with its signature, whatever it says.
fn signed(said: Result<Value, Fault>) -> Response {
    let (status, value) = match said {
        Ok(value) => (StatusCode::OK, value),
        Err(fault) => (fault.status, json!({ "code": fault.code, "message": fault.message })),
    };
    let body = value.to_string();
    let signature = WechatPay::demo(PlatformKey::PublicKey).signature_headers(body.as_bytes(), now());
    let mut answer =
        (status, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], body).into_response();
    for (name, value) in signature {
        let value = HeaderValue::try_from(value).expect("a signature is printable");
        answer.headers_mut().insert(name, value);
    }
    answer
}

/// Whether the merchant has signed this request, not long ago.
fn authorise(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
    at: DateTime<Utc>,
) -> Result<(), Fault> {
    let presented =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let parts = presented.strip_prefix(SIGNATURE_TYPE).ok_or(BAD_SIGNATURE)?;
    let part = |name: &str| {
        let mut parts = parts.split(',').filter_map(|part| part.trim().split_once('='));
        parts.find(|(one, _)| *one == name).map(|(_, value)| value.trim_matches('"'))
    };
    let (Some(timestamp), Some(nonce), Some(signature)) =
        (part("timestamp"), part("nonce_str"), part("signature"))
    else {
        return Err(BAD_SIGNATURE);
    };
    let is_ours = part("mchid") == Some(demo::MCHID) && part("serial_no") == Some(demo::MERCHANT_SERIAL);
    let is_fresh = timestamp.parse::<i64>().is_ok_and(|then| then.abs_diff(at.timestamp()) <= TOLERANCE_S);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let content = [format!("{method}\n{path}\n{timestamp}\n{nonce}\n").as_bytes(), body, b"\n"].concat();
    let key = VerifyingKey::from_pem(demo::MERCHANT_PUBLIC_KEY).expect("the demo's key is one");
    match is_ours && is_fresh && key.verifies(&content, signature) {
        true => Ok(()),
        false => Err(BAD_SIGNATURE),
    }
}

/// A query names the merchant, too.
fn of_merchant(query: Option<&str>) -> Result<(), Fault> {
    let parameters = form::parse(query.unwrap_or_default().as_bytes()).unwrap_or_default();
    match form::text(&parameters, "mchid") {
        Some(demo::MCHID) => Ok(()),
        _ => Err(BAD_PARAMETER),
    }
}

async fn by_number(
    State(office): State<Arc<Office>>,
    Path(payment_no): Path<String>,
    RawQuery(query): RawQuery,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    signed(authorise(&Method::GET, &uri, &headers, b"", now()).and_then(|()| {
        of_merchant(query.as_deref())?;
        office.read(|books| {
            books.of_number(Provider::WechatPay, &payment_no).map(transaction).ok_or(NO_ORDER)?
        })
    }))
}

async fn by_id(
    State(office): State<Arc<Office>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    signed(authorise(&Method::GET, &uri, &headers, b"", now()).and_then(|()| {
        of_merchant(query.as_deref())?;
        office.read(|books| books.of_id(Provider::WechatPay, &id).map(transaction).ok_or(NO_ORDER)?)
    }))
}

fn transaction(booked: &Booked) -> Result<Value, Fault> {
    let (state, described) = match booked.state {
        Stage::Paid(_) if booked.refunded() > Amount::ZERO => ("REFUND", "转入退款"),
        Stage::Paid(_) => ("SUCCESS", "支付成功"),
        Stage::Unpaid => ("PAYERROR", "支付失败"),
        Stage::Closed => ("CLOSED", "订单已关闭"),
    };
    let transaction = Transaction::in_state(&booked.payment, state, described, booked.paid_at());
    transaction.ok().and_then(|transaction| serde_json::to_value(transaction).ok()).ok_or(BAD_PARAMETER)
}

#[derive(Deserialize)]
struct RefundBody {
    transaction_id: Option<String>,
    out_trade_no: Option<String>,
    out_refund_no: String,
    amount: RefundBodyAmount,
}

#[derive(Deserialize)]
struct RefundBodyAmount {
    refund: u64,
    total: u64,
    currency: String,
}

/// The answer says `PROCESSING`, as the real one does: what became of it, the callback tells, or the query.
async fn refund(State(office): State<Arc<Office>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    signed(authorise(&Method::POST, &uri, &headers, &body, now()).and_then(|()| {
        let body: RefundBody = serde_json::from_slice(&body).map_err(|_| BAD_PARAMETER)?;
        let booked = office.read(|books| {
            let found = match (&body.transaction_id, &body.out_trade_no) {
                (Some(id), _) => books.of_id(Provider::WechatPay, id),
                (None, Some(payment_no)) => books.of_number(Provider::WechatPay, payment_no),
                (None, None) => return Err(BAD_PARAMETER),
            };
            found.cloned().ok_or(fault(StatusCode::NOT_FOUND, "RESOURCE_NOT_EXISTS", "订单不存在"))
        })?;
        let payment = &booked.payment;
        if (Amount::from_units(body.amount.total, 2), &body.amount.currency)
            != (payment.amount, &payment.currency)
        {
            return Err(fault(StatusCode::BAD_REQUEST, "INVALID_REQUEST", "订单金额或币种不一致"));
        }
        let asked = RefundAsked {
            refund_no: body.out_refund_no,
            amount: Some(Amount::from_units(body.amount.refund, 2)),
            refunded_before: Amount::ZERO,
            outcome: Outcome::Done,
        };
        let (booked, refund, is_new) = office
            .refund(Provider::WechatPay, &payment.provider_payment_id, &asked)
            .map_err(|error| refused(&error))?;
        let status = if is_new { "PROCESSING" } else { refund_status(refund.refund.outcome) };
        refund_object(&booked, &refund, status)
    }))
}

fn refused(error: &Refused) -> Fault {
    match error {
        Refused::NotBooked(NotBooked::OtherAmount { .. }) => {
            fault(StatusCode::BAD_REQUEST, "INVALID_REQUEST", "商户退款单号重复，参数不一致")
        }
        Refused::NotBooked(NotBooked::Impossible(_)) => {
            fault(StatusCode::BAD_REQUEST, "INVALID_REQUEST", "申请退款金额超过可退金额")
        }
        Refused::NotBooked(NotBooked::NotPaid) => {
            fault(StatusCode::BAD_REQUEST, "INVALID_REQUEST", "订单未支付")
        }
        Refused::NotBooked(_) => NO_ORDER,
        Refused::Unsayable(_) | Refused::Style(_) | Refused::Unwritten(_) => {
            fault(StatusCode::INTERNAL_SERVER_ERROR, "SYSTEM_ERROR", "系统错误")
        }
    }
}

async fn show_refund(
    State(office): State<Arc<Office>>,
    Path(refund_no): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    signed(authorise(&Method::GET, &uri, &headers, b"", now()).and_then(|()| {
        office.read(|books| {
            let (booked, refund) = books.of_refund(Provider::WechatPay, &refund_no).ok_or(NO_REFUND)?;
            refund_object(booked, refund, refund_status(refund.refund.outcome))
        })
    }))
}

fn refund_object(booked: &Booked, refund: &BookedRefund, status: &str) -> Result<Value, Fault> {
    let payment = &booked.payment;
    let counted = |amount| fen(amount, &payment.currency).map_err(|_| BAD_PARAMETER);
    let (total, back) = (counted(payment.amount)?, counted(refund.refund.amount)?);
    let mut object = json!({
        "refund_id": refund.refund.refund_id,
        "out_refund_no": refund.refund.refund_no,
        "transaction_id": payment.provider_payment_id,
        "out_trade_no": payment.payment_no,
        "channel": "ORIGINAL",
        "user_received_account": "支付用户零钱",
        "create_time": time(refund.at),
        "status": status,
        "funds_account": "AVAILABLE",
        "amount": {
            "total": total,
            "refund": back,
            "payer_total": total,
            "payer_refund": back,
            "settlement_total": total,
            "settlement_refund": back,
            "discount_refund": 0,
            "currency": payment.currency,
        },
    });
    if status == "SUCCESS" {
        object["success_time"] = json!(time(refund.at));
    }
    Ok(object)
}
