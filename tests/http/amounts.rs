//! Amounts and currencies, in and out.

use onefold_tests::http::{ALICE, ALICE_JPY, Exchange, TestServer, order_body};
use serde_json::{Value, json};

use crate::expect;

/// Opens an account in that currency, and answers its id.
async fn account_in(server: &TestServer, currency: &str) -> anyhow::Result<String> {
    let key = format!("open-{currency}");
    let opened = server.demo.post("/v1/accounts", &key, &json!({"owner": "o", "currency": currency})).await?;
    Ok(expect::created(&opened)["id"].as_str().expect("an id").to_owned())
}

async fn deposit(
    server: &TestServer,
    account: &str,
    name: &str,
    amount: &Value,
    currency: &str,
) -> anyhow::Result<Exchange> {
    let body = json!({"amount": amount, "currency": currency, "reference": name});
    server.demo.post(&format!("/v1/accounts/{account}/deposits"), name, &body).await
}

#[tokio::test]
async fn an_amount_is_taken_in_plain_notation_and_printed_with_all_digits_of_its_currency()
-> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let table = [
        (
            "JPY",
            vec![("1", "1"), ("100", "100"), ("10000", "10000"), ("99999999999999999", "99999999999999999")],
        ),
        (
            "USD",
            vec![
                ("0.01", "0.01"),
                ("0.1", "0.10"),
                ("1", "1.00"),
                ("12.3", "12.30"),
                ("12.30", "12.30"),
                ("19.99", "19.99"),
                ("99999999999999999.99", "99999999999999999.99"),
            ],
        ),
        ("CNY", vec![("128.00", "128.00"), ("0.50", "0.50"), ("1000000", "1000000.00")]),
        ("KWD", vec![("18.6", "18.600"), ("18.600", "18.600"), ("0.001", "0.001"), ("1.86", "1.860")]),
    ];
    for (currency, amounts) in table {
        let account = account_in(&server, currency).await?;
        for (number, (given, printed)) in amounts.into_iter().enumerate() {
            let name = format!("{currency}-{number}");
            let body = expect::created(&deposit(&server, &account, &name, &json!(given), currency).await?);
            assert_eq!(body["amount"], printed, "{given} {currency}");
            assert_eq!(body["currency"], currency);
            let entries = server.demo.get(&format!("/v1/accounts/{account}/entries?limit=1")).await?;
            assert_eq!(expect::ok(&entries)["data"][0]["amount"], printed);
        }
    }
    Ok(())
}

#[tokio::test]
async fn any_other_spelling_of_an_amount_does_not_fit_the_schema_and_moves_nothing() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let usd = account_in(&server, "USD").await?;
    let kwd = account_in(&server, "KWD").await?;
    let bad_everywhere = [
        "",
        " ",
        "0",
        "-1",
        "-25",
        "-0.00",
        "-0",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "01",
        "00",
        "1.",
        ".5",
        ".",
        "1..0",
        "1.0.0",
        "1,000",
        "1,00",
        "1_000",
        "1'000",
        "1e2",
        "1E2",
        "1e400",
        "1e-2",
        "0x10",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "１２",
        "٣",
        "½",
        "²",
        "$1",
        "1 USD",
        "true",
        "null",
        "1000000000000000000",
        "9999999999999999999",
        "999999999999999999999999999999",
        "1\u{0}",
        "1\u{200b}",
        "−1",
    ];
    let table: [(&str, &str, &[&str]); 4] = [
        (ALICE_JPY, "JPY", &["100.5", "100.0", "100.", "0.1"]),
        (&usd, "USD", &["0.00", "0.0", "0.001", "1.000", "12.345", "1000000000000000000.00"]),
        (ALICE, "CNY", &["0.00", "1.005", "1.000"]),
        (&kwd, "KWD", &["0.000", "1.0005", "18.6000"]),
    ];
    for (account, currency, bad) in table {
        let before = server.demo.get(&format!("/v1/accounts/{account}")).await?;
        for amount in bad_everywhere.iter().chain(bad) {
            let refused = deposit(&server, account, "bad", &json!(amount), currency).await?;
            assert_eq!(expect::faults(&refused), ["/amount"], "{amount:?} {currency}");
        }
        for amount in
            [json!(1), json!(1.5), json!(-1), json!(null), json!(true), json!(["1"]), json!({"value": "1"})]
        {
            let refused = deposit(&server, account, "bad", &amount, currency).await?;
            assert_eq!(expect::faults(&refused), ["/amount"], "{amount} {currency}");
        }
        let after = server.demo.get(&format!("/v1/accounts/{account}")).await?;
        assert_eq!(before.bytes, after.bytes);
    }
    Ok(())
}

#[tokio::test]
async fn an_order_a_withdrawal_and_a_transfer_refuse_the_same_amounts() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for amount in ["0", "0.00", "-25", "1e2", "NaN", "１２", "0.001", " 1", "+1"] {
        let order = server.demo.post("/v1/orders", "bad", &order_body(ALICE, "A", amount)).await?;
        assert_eq!(expect::faults(&order), ["/amount"], "{amount}");
        let body = json!({"amount": amount, "currency": "CNY", "reference": "R"});
        let withdrawal = server.demo.post(&format!("/v1/accounts/{ALICE}/withdrawals"), "bad", &body).await?;
        assert_eq!(expect::faults(&withdrawal), ["/amount"], "{amount}");
        let body = json!({
            "from_account_id": ALICE, "to_account_id": onefold_tests::http::BOB,
            "amount": amount, "currency": "CNY", "reference": "R"
        });
        let transfer = server.demo.post("/v1/transfers", "bad", &body).await?;
        assert_eq!(expect::faults(&transfer), ["/amount"], "{amount}");
    }
    Ok(())
}

#[tokio::test]
async fn a_currency_is_an_upper_case_code_of_the_active_list() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for currency in
        ["CNY", "JPY", "USD", "EUR", "KWD", "BHD", "CLF", "CHF", "GBP", "HKD", "KRW", "VND", "UYW", "ISK"]
    {
        let account = account_in(&server, currency).await?;
        let zero = expect::ok(&server.demo.get(&format!("/v1/accounts/{account}")).await?)["balance"].clone();
        let digits = match currency {
            "JPY" | "KRW" | "VND" | "ISK" => "0",
            "KWD" | "BHD" => "0.000",
            "CLF" | "UYW" => "0.0000",
            _ => "0.00",
        };
        assert_eq!(zero, digits, "{currency}");
    }
    for currency in
        ["", "cny", "Cny", " CNY", "CNYX", "CN", "XXX", "XTS", "XYZ", "DEM", "HRK", "156", "¥", "RMB", "BTC"]
    {
        let body = json!({"owner": "o", "currency": currency});
        let refused = server.demo.post("/v1/accounts", "bad", &body).await?;
        assert_eq!(expect::faults(&refused), ["/currency"], "{currency:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_amount_never_travels_without_its_currency() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = json!({"amount": "1.00", "reference": "R"});
    let refused = server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "bad", &body).await?;
    assert_eq!(expect::faults(&refused), ["/currency"]);
    Ok(())
}

#[tokio::test]
async fn every_price_up_to_a_hundred_comes_back_exactly() -> anyhow::Result<()> {
    // 100 deposits whose cents are all different, and whose sum is told to the cent.
    let server = TestServer::start().await?;
    let account = account_in(&server, "USD").await?;
    let mut sum = 0_u32;
    for cents in (0..100).map(|number| number * 100 + (number * 37) % 100 + u32::from(number == 0)) {
        sum += cents;
        let price = format!("{}.{:02}", cents / 100, cents % 100);
        let made = deposit(&server, &account, &format!("price-{cents}"), &json!(price), "USD").await?;
        assert_eq!(expect::created(&made)["amount"], price);
        let account = expect::ok(&server.demo.get(&format!("/v1/accounts/{account}")).await?);
        assert_eq!(account["balance"], format!("{}.{:02}", sum / 100, sum % 100));
    }
    Ok(())
}
