//! Each kind of difference, in both directions.

use std::time::Duration;

use provider_simulator::Provider;

use crate::books::{Books, PLAIN, PLAIN_WITH_REFUND_IDS, number};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_difference_is_found_and_what_agrees_is_not() {
    let books = Books::start().await.expect("books");
    for (id, amount, currency) in [
        ("same", "88.80", "CNY"),
        ("amount", "88.80", "CNY"),
        ("currency", "88.80", "USD"),
        ("number", "88.80", "CNY"),
        ("twice", "88.80", "CNY"),
        ("here", "88.80", "CNY"),
        ("smudged", "88.80", "CNY"),
        ("yen", "500", "JPY"),
    ] {
        books.paid(Provider::Standard, id, &number(id), amount, currency).await;
    }
    let at = books.time(0);
    let statement = format!(
        "{PLAIN}\n\
         same,P-same,88.8,CNY,payment,{at}\n\
         amount,P-amount,88.81,CNY,payment,{at}\n\
         currency,P-currency,88.80,CNY,payment,{at}\n\
         number,P-other,88.80,CNY,payment,{at}\n\
         twice,P-twice,88.80,CNY,payment,{at}\n\
         there,P-there,88.80,CNY,payment,{at}\n\
         smudged,P-smudged,88.8O,CNY,payment,{at}\n\
         twice,P-twice,88.80,CNY,payment,{at}\n\
         yen,P-yen,500.00,jpy,payment,{at}\n"
    );
    assert_eq!(
        books.differences(Provider::Standard, statement.as_bytes(), &[]).await,
        [
            "unreadable 8 payment smudged",
            "amount_differs 3 payment amount",
            "currency_differs 4 payment currency",
            "payment_no_differs 5 payment number",
            "missing_here 7 payment there",
            "duplicate_line 9 payment twice",
            "missing_there - payment here",
        ]
    );
    let ended = books.reconcile(Provider::Standard, statement.as_bytes(), &["--format", "json"]).await;
    let document = ended.document();
    let amount = &document["differences"][1];
    assert_eq!(
        (&amount["statement"]["amount"], &amount["books"]["amount"]),
        (&"88.81".into(), &"88.80".into())
    );
    let named = &document["differences"][3];
    assert_eq!(named["statement"]["payment_no"], "P-other");
    assert_eq!(named["books"]["payment_no"], "P-number");
    assert_eq!(document["differences"][6]["statement"], serde_json::Value::Null);
    assert_eq!(document["summary"]["counts"]["missing_there"], 1);
    books.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_with_ids_are_compared_one_by_one() {
    let books = Books::start().await.expect("books");
    for id in ["a", "b"] {
        books.paid(Provider::Standard, id, &number(id), "88.80", "CNY").await;
    }
    for (id, refund_id, amount) in [
        ("a", "re-same", "8.00"),
        ("a", "re-amount", "7.00"),
        ("a", "re-here", "6.00"),
        ("b", "re-moved", "5.00"),
    ] {
        books.refunded(Provider::Standard, id, refund_id, amount, amount).await;
    }
    let at = books.time(0);
    let statement = format!(
        "{PLAIN_WITH_REFUND_IDS}\n\
         a,,P-a,88.80,CNY,payment,{at}\n\
         b,,P-b,88.80,CNY,payment,{at}\n\
         a,re-same,P-a,-8.00,CNY,refund,{at}\n\
         a,re-amount,P-a,-7.01,CNY,refund,{at}\n\
         a,re-there,P-a,-1.00,CNY,refund,{at}\n\
         a,re-moved,P-a,-5.00,CNY,refund,{at}\n\
         a,re-same,P-a,-8.00,CNY,refund,{at}\n\
         a,,P-a,-1.00,CNY,refund,{at}\n"
    );
    assert_eq!(
        books.differences(Provider::Standard, statement.as_bytes(), &[]).await,
        [
            "unreadable 9 refund a",
            "amount_differs 5 refund a re-amount",
            "missing_here 6 refund a re-there",
            "payment_no_differs 7 refund a re-moved",
            "duplicate_line 8 refund a re-same",
            "missing_there - refund a re-here",
        ]
    );
    books.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_without_ids_are_compared_by_the_totals_of_their_payments() {
    let books = Books::start().await.expect("books");
    for id in ["same", "more", "less", "none", "parts", "over-days"] {
        books.paid(Provider::Stripe, id, &number(id), "88.80", "CNY").await;
    }
    books.refunded(Provider::Stripe, "over-days", "od-1", "1.00", "1.00").await;
    let first_day = books.time(0);
    books.advance(2 * DAY);
    for (id, amount) in [("same", "8.00"), ("more", "7.00"), ("less", "6.00"), ("none", "5.00")] {
        books.refunded(Provider::Stripe, id, &format!("re-{id}"), amount, amount).await;
    }
    books.refunded(Provider::Stripe, "parts", "re-parts-1", "1.00", "1.00").await;
    books.refunded(Provider::Stripe, "parts", "re-parts-2", "1.00", "2.00").await;
    books.refunded(Provider::Stripe, "over-days", "od-2", "2.00", "3.00").await;
    let at = books.time(0);
    // Of the second day, on which nothing was paid.
    let statement = format!(
        "{PLAIN}\n\
         same,P-same,8.00,CNY,refund,{at}\n\
         more,P-more,7.01,CNY,refund,{at}\n\
         less,P-less,5.99,CNY,refund,{at}\n\
         parts,P-parts,1.00,CNY,refund,{at}\n\
         parts,P-parts,1.00,CNY,refund,{first_day}\n\
         there,P-there,1.00,CNY,refund,{at}\n\
         over-days,P-over-days,2.00,CNY,refund,{at}\n\
         same,P-same,8.00,CNY,refund,{at}\n"
    );
    let day = books.now().date_naive().to_string();
    assert_eq!(
        books.differences(Provider::Stripe, statement.as_bytes(), &["--from", &day, "--to", &day]).await,
        [
            "duplicate_line 9 refund same",
            "amount_differs 3 refund more",
            "amount_differs 4 refund less",
            "missing_here 7 refund there",
            "missing_there - refund none",
        ]
    );
    books.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_there_is_looked_for_in_the_days_of_the_statement_only() {
    let books = Books::start().await.expect("books");
    books.paid(Provider::Standard, "before", "P-before", "1.00", "CNY").await;
    books.advance(2 * DAY);
    let (at, day) = (books.time(0), books.now().date_naive().to_string());
    for id in ["listed", "unlisted"] {
        books.paid(Provider::Standard, id, &number(id), "1.00", "CNY").await;
    }
    books.advance(2 * DAY);
    books.paid(Provider::Standard, "after", "P-after", "1.00", "CNY").await;
    let statement = format!("{PLAIN}\nlisted,P-listed,1.00,CNY,payment,{at}\n");
    let differences =
        async |flags: &[&str]| books.differences(Provider::Standard, statement.as_bytes(), flags).await;
    let unlisted = ["missing_there - payment unlisted"];
    assert_eq!(differences(&[]).await, unlisted);
    assert_eq!(differences(&["--from", &day, "--to", &day]).await, unlisted);
    let all = ["before", "unlisted", "after"].map(|id| format!("missing_there - payment {id}"));
    let mut found = differences(&["--from", "2020-01-01", "--to", "2100-01-01"]).await;
    found.sort_by_key(|difference| all.iter().position(|one| one == difference));
    assert_eq!(found, all);
    // The end of moments is excluded, the end of days is not.
    let moment = books.now().to_rfc3339();
    assert_eq!(differences(&["--to", &moment]).await, unlisted);

    // A statement of nothing, or one that tells no time, has to be told which time it is of.
    let of_nothing = format!("{PLAIN}\n");
    assert_eq!(
        books
            .differences(Provider::Standard, of_nothing.as_bytes(), &["--from", &day, "--to", &day])
            .await
            .len(),
        2
    );
    for statement in
        [of_nothing.as_str(), "provider_payment_id,amount,currency,kind\nlisted,1.00,CNY,payment\n"]
    {
        let ended = books.reconcile(Provider::Standard, statement.as_bytes(), &[]).await;
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.stderr.contains("--from and --to"), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bills_of_alipay_and_wechat_pay_are_compared_as_they_come() {
    let books = Books::start().await.expect("books");
    books.paid(Provider::Alipay, "2026030422001", "P-a1", "88.80", "CNY").await;
    books.paid(Provider::WechatPay, "4200001", "P-w1", "88.80", "CNY").await;
    let at = books.time(8);
    let alipay = format!(
        "#支付宝业务明细查询\r\n\
         支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,订单金额（元）,商家实收（元）,退款批次号/请求号,备注\r\n\
         2026030422001\t,P-a1\t,交易,绿茶,{at},{at},88.80,80.00,\t,\r\n\
         2026030422002\t,P-a2\t,交易,红茶,{at},{at},1.00,1.00,\t,\r\n\
         #业务明细列表结束\r\n"
    );
    let (gbk, ..) = encoding_rs::GBK.encode(&alipay);
    for (statement, flags) in
        [(&*gbk, &["--encoding", "gbk"][..]), (&*gbk, &[]), (alipay.as_bytes(), &["--encoding", "utf-8"])]
    {
        assert_eq!(
            books.differences(Provider::Alipay, statement, flags).await,
            ["missing_here 4 payment 2026030422002"]
        );
    }
    let wrong = books.reconcile(Provider::Alipay, &gbk, &["--encoding", "utf-8"]).await;
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("支付宝交易号"), "{wrong:?}");

    let wechat = format!(
        "\u{feff}交易时间,微信订单号,商户订单号,交易状态,货币种类,应结订单金额,微信退款单号,退款金额,商品名称,订单金额,申请退款金额\r\n\
         `{at},`4200001,`P-w1,`SUCCESS,`CNY,`80.00,`0,`0.00,`茶,`88.80,`0.00\r\n\
         总交易单数,应结订单总金额\r\n`1,`80.00\r\n"
    );
    assert_eq!(books.differences(Provider::WechatPay, wechat.as_bytes(), &[]).await, [""; 0]);
    books.finish().await;
}
