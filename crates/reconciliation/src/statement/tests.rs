use encoding_rs::GB18030;
use money::Currency;

use super::*;
use crate::provider_layouts::{layouts_of, plain};

fn open<'f>(file: &'f [u8], provider: &str) -> Statement<&'f [u8]> {
    Statement::open(file, &layouts_of(provider), None).expect("a statement")
}

fn lines(file: &[u8], provider: &str) -> Vec<Line> {
    let mut statement = open(file, provider);
    std::iter::from_fn(|| statement.next_line().expect("bytes")).collect()
}

/// A line as it was read, or what is said of it, on one line.
fn told(line: &Line) -> String {
    match line {
        Line::Read(read) => {
            let amount = read.amount.map_or("-".to_owned(), |amount| format!("{amount:?}"));
            let or_none = |text: &Option<String>| text.clone().unwrap_or("-".to_owned());
            format!(
                "{} {} {} {} {} {amount} {}",
                read.line,
                read.subject.word(),
                read.payment_id,
                or_none(&read.refund_id),
                or_none(&read.payment_no),
                read.at.map_or("-".to_owned(), |at| at.format("%m-%dT%H:%M:%SZ").to_string()),
            )
        }
        Line::Unreadable { line, reason, known } => {
            format!("{line} {reason}{}", if known.is_some() { " (known)" } else { "" })
        }
        Line::Other => "other".to_owned(),
    }
}

fn all_told(file: &str, provider: &str) -> Vec<String> {
    lines(file.as_bytes(), provider).iter().map(told).collect()
}

#[test]
fn the_plain_layout_is_read_for_every_provider() {
    let file = "\u{feff}provider_payment_id,payment_no,amount,currency,kind,time\r\n\
                pi_1,P-0001,88.80,CNY,payment,2026-03-04T05:06:07Z\r\n\
                pi_1,P-0001,8.80,CNY,refund,2026-03-04T06:06:07Z\r\n";
    for provider in ["stripe", "alipay", "wechatpay", "standard", "a fifth"] {
        assert_eq!(
            all_told(file, provider),
            [
                "2 payment pi_1 - P-0001 88.80 CNY 03-04T05:06:07Z",
                "3 refund pi_1 - P-0001 8.80 CNY 03-04T06:06:07Z",
            ]
        );
    }
}

#[test]
fn columns_that_may_be_missing_are_not_compared() {
    let mut statement = open(b"amount,currency,kind,provider_payment_id\n5,JPY,payment,x\n", "standard");
    assert!(!statement.tells_payment_nos() && !statement.tells_refund_ids());
    let line = statement.next_line().unwrap().unwrap();
    assert_eq!(told(&line), "2 payment x - - 5 JPY -");
}

#[test]
fn stripes_report_is_read_as_customers_paid() {
    let file = "balance_transaction_id,created_utc,currency,gross,fee,reporting_category,source_id,description,\
                customer_facing_amount,customer_facing_currency,payment_intent_id,payment_metadata[order_id]\n\
                txn_1,2026-03-04 05:06:07,usd,12.41,0.66,charge,ch_1,\"tea, green\",88.80,cny,pi_1,P-0001\n\
                txn_2,2026-03-04 07:00:00,usd,-1.23,0,refund,re_1,REFUND,-8.80,cny,pi_1,P-0001\n\
                txn_3,2026-03-05 00:00:00,usd,-10.52,0,payout,po_1,STRIPE PAYOUT,,,,\n\
                txn_4,2026-03-04 08:00:00,usd,1.00,0,charge,ch_2,no intent,1.00,usd,,\n";
    assert_eq!(
        all_told(file, "stripe"),
        [
            "2 payment pi_1 - P-0001 88.80 CNY 03-04T05:06:07Z",
            "3 refund pi_1 re_1 P-0001 8.80 CNY 03-04T07:00:00Z",
            "other",
            "5 the payment id: there is none",
        ]
    );
    let settled = "created_utc,currency,gross,reporting_category,payment_intent_id\n\
                   2026-03-04 05:06:07,jpy,500.00,charge,pi_2\n";
    assert_eq!(all_told(settled, "stripe"), ["2 payment pi_2 - - 500 JPY 03-04T05:06:07Z"]);
}

/// As Alipay lays it out: titles and totals behind `#`, a tab behind each number, refunds below zero.
const ALIPAY: &str = "#支付宝业务明细查询\r\n\
    #账号：[20880000000000000156]\r\n\
    #起始日期：[2026年03月04日 00:00:00]   终止日期：[2026年03月05日 00:00:00]\r\n\
    #-----------------------------------------业务明细列表----------------------------------------\r\n\
    支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,订单金额（元）,商家实收（元）,退款批次号/请求号,服务费（元）,备注\r\n\
    2026030422001\t,P-0001\t,交易,绿茶 \u{4e02},2026-03-04 05:06:00,2026-03-04 05:06:07,88.80,80.00,\t,-0.53,\r\n\
    2026030422001\t,P-0001\t,退款,绿茶,2026-03-04 05:06:00,2026-03-04 15:00:00,-8.80,-8.80,R-1\t,0.05,\r\n\
    2026030422002\t,P-0002\t,转账,红茶,2026-03-04 05:06:00,2026-03-04 15:00:00,1.00,1.00,\t,0,\r\n\
    #-----------------------------------------业务明细列表结束------------------------------------\r\n\
    #交易合计：1笔，退款：1笔\r\n";

#[test]
fn alipays_bill_is_read_in_gbk_and_in_utf_8() {
    let (gbk, _, unmappable) = GB18030.encode(ALIPAY);
    assert!(!unmappable && std::str::from_utf8(&gbk).is_err());
    assert_eq!(open(&gbk, "alipay").encoding(), Encoding::Gbk);
    assert_eq!(open(ALIPAY.as_bytes(), "alipay").encoding(), Encoding::Utf8);
    for file in [&*gbk, ALIPAY.as_bytes()] {
        let told: Vec<String> = lines(file, "alipay").iter().map(told).collect();
        assert_eq!(
            told[..2],
            [
                "6 payment 2026030422001 - P-0001 88.80 CNY 03-03T21:06:07Z",
                "7 refund 2026030422001 R-1 P-0001 8.80 CNY 03-04T07:00:00Z",
            ]
        );
        assert!(told[2].starts_with("8 the kind: ") && told[2].ends_with(" is not known here"), "{told:?}");
        assert_eq!(told.len(), 3);
    }
}

#[test]
fn an_encoding_that_is_asked_for_is_the_only_one() {
    let layouts = layouts_of("alipay");
    assert!(Statement::open(ALIPAY.as_bytes(), &layouts, Some(Encoding::Gbk)).is_err());
    assert!(Statement::open(ALIPAY.as_bytes(), &layouts, Some(Encoding::Utf8)).is_ok());
}

#[test]
fn wechat_pays_bill_is_read_to_its_totals() {
    let file = "交易时间,公众账号ID,商户号,微信订单号,商户订单号,交易类型,交易状态,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,退款状态,商品名称,订单金额,申请退款金额,费率备注\r\n\
        `2026-03-04 05:06:07,`wxa,`1900000109,`4200001,`P-0001,`JSAPI,`SUCCESS,`CNY,`80.00,`8.80,`0,`0,`0.00,`,`绿茶,`88.80,`0.00,`\r\n\
        `2026-03-04 09:00:00,`wxa,`1900000109,`4200001,`P-0001,`JSAPI,`REFUND,`CNY,`0.00,`0.00,`50300001,`R-1,`8.00,`SUCCESS,`绿茶,`0.00,`8.80,`\r\n\
        总交易单数,应结订单总金额,退款总金额\r\n\
        `2,`80.00,`8.00\r\n";
    assert_eq!(
        all_told(file, "wechatpay"),
        [
            "2 payment 4200001 - P-0001 88.80 CNY 03-03T21:06:07Z",
            "3 refund 4200001 50300001 P-0001 8.80 CNY 03-04T01:00:00Z",
        ]
    );
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_the_rest_goes_on() {
    let file = "payment_no,provider_payment_id,amount,currency,kind,time\n\
                P-0001,pi_1,\"88,80\",CNY,payment,2026-03-04 05:06:07\n\
                P-0002,pi_2,88.80,CNY\n\
                \n\
                P-0003,pi_3,88.80,EURO,payment,2026-03-04 05:06:07\n\
                P-0004,,88.80,CNY,payment,2026-03-04 05:06:07\n\
                P-0005,pi_5,88.80,CNY,chargeback,2026-03-04 05:06:07\n\
                \"P-0006,pi_6,88.80,CNY,payment,2026-03-04 05:06:07\n\
                P-0007,pi_7,-88.80,CNY,payment,2026-03-04 05:06:07\n\
                P 0008,pi_8,88.80,CNY,payment,2026-03-04 05:06:07\n\
                P-0009,pi_9,88.80,CNY,payment,yesterday\n\
                payment_no,provider_payment_id,amount,currency,kind,time\n\
                P-0010,pi_10,88.80,CNY,payment,2026-03-04 05:06:07,,\n";
    assert_eq!(
        all_told(file, "standard"),
        [
            "2 the amount: \"88,80\" is none (known)",
            "3 4 fields, where the heading has 6",
            "5 the currency: \"EURO\" is not known here (known)",
            "6 the payment id: there is none",
            "7 the kind: \"chargeback\" is not known here",
            "8 a quote is opened and not closed",
            "9 the amount: a payment below zero (known)",
            "10 the payment's number: \"P 0008\" is none (known)",
            "11 the time: \"yesterday\" is none (known)",
            "13 payment pi_10 - P-0010 88.80 CNY 03-04T05:06:07Z",
        ]
    );
}

#[test]
fn two_quotes_too_many_cost_two_lines_and_not_those_between_them() {
    let file = "provider_payment_id,amount,currency,kind\n\
                pi_1,1,CNY,\"payment\n\
                pi_2,2,CNY,payment\n\
                pi_3,3,CNY,payment\"\n\
                pi_4,4,CNY,\"payment\"\n";
    // The two quotes make one record of three lines, of four fields, whose kind is no word.
    assert_eq!(
        all_told(file, "standard")[1..],
        [
            "3 payment pi_2 - - 2.00 CNY -",
            "4 the kind: \"payment\\\"\" is not known here",
            "5 payment pi_4 - - 4.00 CNY -",
        ]
    );
}

#[test]
fn a_file_without_a_known_heading_is_no_statement() {
    for file in ["", "a,b,c\n1,2,3\n", "provider_payment_id,amount,amount,currency,kind\n"] {
        let error = Statement::open(file.as_bytes(), &[plain()], None).unwrap_err().to_string();
        assert_eq!(
            error,
            "the statement has no heading that is known here; looked for plain (provider_payment_id, payment_no, \
             provider_refund_id, amount, currency, kind, time)",
            "{file:?}"
        );
    }
}

#[test]
fn a_layout_of_ones_own_is_read() {
    let one = |name: &str| vec![name.to_owned()];
    let layout = Layout {
        payment_id: one("Vorgang"),
        amount: one("Cent"),
        currency_of_all: Currency::from_code("EUR").ok(),
        time: one("Wann"),
        offset: chrono::FixedOffset::east_opt(3600).unwrap(),
        amount_unit: crate::layout::AmountUnit::Minor,
        delimiter: b';',
        ..Layout::named("own")
    };
    let file = "Bericht, vom 4.3.\n\nWann;Vorgang;Cent;Text\n2026-03-04 05:06:07;v-1;8880;Tee\n";
    let mut statement = Statement::open(file.as_bytes(), &[plain(), layout], None).unwrap();
    assert_eq!(statement.layout().name, "own");
    let line = statement.next_line().unwrap().unwrap();
    assert_eq!(told(&line), "4 payment v-1 - - 88.80 EUR 03-04T04:06:07Z");
}
