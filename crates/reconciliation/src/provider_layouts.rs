//! The layouts of the providers' own statements, and of the plain one that every provider's may have.
//!
//! Where a statement has several amounts, that column is taken that the provider's callbacks give: what the payer owed,
//! before coupons and without fees.

use chrono::FixedOffset;
use money::Currency;

use crate::layout::{Layout, OtherWords};

/// What a provider's refunds are compared by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefundsToldAs {
    /// Each by its own id.
    Each,
    /// The running total of a payment.
    Totals,
}

/// How a provider's callbacks tell of refunds: so the books have them.
pub fn refunds_told_as(provider: &str) -> RefundsToldAs {
    match provider {
        "wechatpay" | "standard" => RefundsToldAs::Each,
        _ => RefundsToldAs::Totals,
    }
}

/// The layouts that a provider's statement may have, in the order in which they are tried.
pub fn layouts_of(provider: &str) -> Vec<Layout> {
    let mut layouts = match provider {
        "stripe" => vec![stripe_as_paid(), stripe_as_settled()],
        "alipay" => vec![alipay()],
        "wechatpay" => vec![wechatpay()],
        _ => Vec::new(),
    };
    layouts.push(plain());
    layouts
}

/// The plain layout: one heading for each thing that is compared, and times in UTC.
pub fn plain() -> Layout {
    Layout {
        payment_id: names(&["provider_payment_id"]),
        payment_no: names(&["payment_no"]),
        refund_id: names(&["provider_refund_id"]),
        amount: names(&["amount"]),
        currency: names(&["currency"]),
        kind: names(&["kind"]),
        time: names(&["time"]),
        payment_words: names(&["payment"]),
        refund_words: names(&["refund"]),
        may_lack_columns: true,
        ..Layout::named("plain")
    }
}

/// Stripe's itemised reports of the balance and of payouts, with the columns of what the customer paid
/// (<https://docs.stripe.com/reports/report-types/balance>). Our number stands in the payment's metadata, a column that
/// has to be asked for.
fn stripe_as_paid() -> Layout {
    Layout {
        name: "Stripe's itemised report, as customers paid".to_owned(),
        amount: names(&["customer_facing_amount"]),
        currency: names(&["customer_facing_currency"]),
        ..stripe_as_settled()
    }
}

/// As above without these columns: amounts are then in the currency of the settlement, which is the payment's unless
/// Stripe has converted it.
fn stripe_as_settled() -> Layout {
    Layout {
        payment_id: names(&["payment_intent_id"]),
        payment_no: names(&["payment_metadata[order_id]"]),
        refund_id: names(&["source_id"]),
        amount: names(&["gross"]),
        currency: names(&["currency"]),
        kind: names(&["reporting_category"]),
        time: names(&["created_utc"]),
        payment_words: names(&["charge"]),
        refund_words: names(&["refund"]),
        // Payouts, fees, disputes and some dozens more.
        other_words: OtherWords::AllOthers,
        may_lack_columns: true,
        ..Layout::named("Stripe's itemised report, as settled")
    }
}

/// Alipay's bill of trades (`alipay.data.dataservice.bill.downloadurl.query`, type `trade`), which comes in GBK, with
/// lines of `#` around it, a tab behind each number, and refunds below zero.
fn alipay() -> Layout {
    Layout {
        payment_id: names(&["支付宝交易号"]),
        payment_no: names(&["商户订单号"]),
        refund_id: names(&["退款批次号/请求号"]),
        amount: names(&["订单金额（元）", "订单金额(元)"]),
        currency_of_all: Currency::from_code("CNY").ok(),
        kind: names(&["业务类型"]),
        time: names(&["完成时间"]),
        payment_words: names(&["交易"]),
        refund_words: names(&["退款"]),
        offset: beijing(),
        comment: Some(b'#'),
        ..Layout::named("Alipay's bill of trades")
    }
}

/// WeChat Pay's bill of trades (`/v3/bill/tradebill`), with a backtick before each value and totals at the end. The
/// settled amounts leave out coupons, which the callbacks' amounts do not.
fn wechatpay() -> Layout {
    Layout {
        payment_id: names(&["微信订单号"]),
        payment_no: names(&["商户订单号"]),
        refund_id: names(&["微信退款单号"]),
        amount: names(&["订单金额"]),
        refund_amount: names(&["申请退款金额"]),
        currency: names(&["货币种类"]),
        kind: names(&["交易状态"]),
        time: names(&["交易时间"]),
        payment_words: names(&["SUCCESS"]),
        refund_words: names(&["REFUND", "REVOKED"]),
        offset: beijing(),
        prefix: Some(b'`'),
        ends_at: Some("总交易单数".to_owned()),
        // It is not documented which of the two times a refund's line has.
        refunds_have_times: false,
        ..Layout::named("WeChat Pay's bill of trades")
    }
}

fn beijing() -> FixedOffset {
    FixedOffset::east_opt(8 * 60 * 60).expect("within a day")
}

fn names(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
