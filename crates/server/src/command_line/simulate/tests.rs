use clap::Parser;
use provider_simulator::delivery::{FASTER_DEFAULT, Plan};

use super::super::{Command, CommandLine};
use super::*;

fn parse(arguments: &[&str]) -> Result<SimulateCommand, clap::Error> {
    let line = CommandLine::try_parse_from(["onefold", "simulate"].iter().chain(arguments))?;
    let Some(Command::Simulate(command)) = line.command else { panic!("simulate was asked for") };
    Ok(command)
}

fn plan(arguments: &[&str]) -> Plan {
    parse(arguments).unwrap().into_parts().0.delivery.plan()
}

/// Every flag is given, so the server is not asked.
async fn happening(arguments: &[&str]) -> Scenario {
    let given = ["P-1", "--provider", "wechatpay", "--amount", "88.80", "--currency", "CNY"];
    let (flags, action, overtaken) =
        parse(&[&arguments[..1], &given, &arguments[1..]].concat()).unwrap().into_parts();
    scenario(&flags.payment, action, overtaken).await.unwrap()
}

#[test]
fn without_flags_it_is_delivered_once_and_an_hour_is_a_second() {
    assert_eq!(plan(&["pay", "P-1"]), Plan::default());
    assert_eq!(plan(&["pay", "P-1"]).faster, FASTER_DEFAULT);
}

#[test]
fn a_flag_that_spoils_attempts_spoils_the_first_unless_it_says_how_many() {
    let plan =
        plan(&["pay", "P-1", "--tampered", "--stale=2", "--lose-answers=3", "--copies", "5", "--parallel"]);
    assert_eq!((plan.tampered, plan.stale, plan.answers_lost, plan.hung_up), (1, 2, 3, 0));
    assert_eq!((plan.copies, plan.parallel), (5, true));
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    for arguments in [
        ["pay"].as_slice(),
        &["pay", "P-1", "--provider", "paypal"],
        &["pay", "P-1", "--copies", "0"],
        &["pay", "P-1", "--faster", "0"],
        &["pay", "P-1", "--amount", "1e3"],
        &["pay", "P-1", "--server", "https://x"],
        &["pay", "P-1", "--style", "morse"],
        &["close", "P-1", "--out-of-order"],
        &["refund", "P-1", "--outcome", "perhaps"],
    ] {
        assert!(parse(arguments).is_err(), "{arguments:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_wrong_by_one_thing() {
    let scenario = happening(&["pay", "--wrong-amount"]).await;
    assert_eq!((scenario.amount.to_string().as_str(), scenario.currency.as_str()), ("88.79", "CNY"));
    let scenario = happening(&["pay", "--wrong-currency"]).await;
    assert_eq!((scenario.amount.to_string().as_str(), scenario.currency.as_str()), ("88.8", "USD"));
}

#[tokio::test]
async fn a_refund_has_a_number_of_its_own_unless_it_is_given_one() {
    let refund_no = |scenario: Scenario| match scenario.action {
        Action::Refund(asked) => asked.refund_no,
        other => panic!("{other:?}"),
    };
    assert_eq!(refund_no(happening(&["refund"]).await), "R1-P-1");
    assert_eq!(refund_no(happening(&["refund", "--refund-no", "R-7"]).await), "R-7");
}

#[tokio::test]
async fn a_currency_is_three_capital_letters() {
    let arguments = ["pay", "P-1", "--provider", "alipay", "--amount", "1", "--currency", "cny"];
    let (flags, action, overtaken) = parse(&arguments).unwrap().into_parts();
    assert!(scenario(&flags.payment, action, overtaken).await.is_err());
}
