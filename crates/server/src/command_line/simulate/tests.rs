use clap::Parser;
use provider_simulator::delivery::{FASTER_DEFAULT, Plan};

use super::super::{Command, CommandLine};
use super::*;

fn parse(arguments: &[&str]) -> Result<SimulateCommand, clap::Error> {
    let line = CommandLine::try_parse_from(["onefold", "simulate"].iter().chain(arguments))?;
    let Some(Command::Simulate(command)) = line.command else { panic!("simulate was asked for") };
    Ok(command)
}

fn happening(command: SimulateCommand) -> (HappeningFlags, Action, bool) {
    match command {
        SimulateCommand::Pay(flags) => (flags.happening, Action::Pay, flags.out_of_order),
        SimulateCommand::Refund(flags) => {
            let asked = flags.asked();
            (flags.happening, Action::Refund(asked), flags.out_of_order)
        }
        other => panic!("{other:?}"),
    }
}

fn plan(arguments: &[&str]) -> Plan {
    happening(parse(arguments).unwrap()).0.delivery.plan()
}

/// Every flag is given, so the server is not asked.
async fn given(arguments: &[&str]) -> Scenario {
    let payment = ["P-1", "--provider", "wechatpay", "--amount", "88.80", "--currency", "CNY"];
    let (flags, action, overtaken) =
        happening(parse(&[&arguments[..1], &payment, &arguments[1..]].concat()).unwrap());
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
        &["provider", "--errors", "101"],
        &["statement"],
    ] {
        assert!(parse(arguments).is_err(), "{arguments:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_wrong_by_one_thing() {
    let scenario = given(&["pay", "--wrong-amount"]).await;
    assert_eq!((scenario.amount.to_string().as_str(), scenario.currency.as_str()), ("88.79", "CNY"));
    let scenario = given(&["pay", "--wrong-currency"]).await;
    assert_eq!((scenario.amount.to_string().as_str(), scenario.currency.as_str()), ("88.8", "USD"));
}

#[tokio::test]
async fn a_refund_has_a_number_of_its_own_unless_it_is_given_one() {
    let refund_no = |scenario: Scenario| match scenario.action {
        Action::Refund(asked) => asked.refund_no,
        other => panic!("{other:?}"),
    };
    assert_eq!(refund_no(given(&["refund"]).await), "R1-P-1");
    assert_eq!(refund_no(given(&["refund", "--refund-no", "R-7"]).await), "R-7");
}

#[tokio::test]
async fn a_currency_is_three_capital_letters() {
    let arguments = ["pay", "P-1", "--provider", "alipay", "--amount", "1", "--currency", "cny"];
    let (flags, action, overtaken) = happening(parse(&arguments).unwrap());
    assert!(scenario(&flags.payment, action, overtaken).await.is_err());
}

#[test]
fn the_provider_listens_beside_the_server_unless_told_otherwise() {
    let listen = |arguments: &[&str]| {
        let line =
            CommandLine::try_parse_from(["onefold", "simulate", "provider"].iter().chain(arguments)).unwrap();
        match line.command {
            Some(Command::Simulate(SimulateCommand::Provider(flags))) => flags.listen().to_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(listen(&[]), provider::LISTEN_DEFAULT);
    assert_eq!(listen(&["--listen", "127.0.0.1:0"]), "127.0.0.1:0");
}
