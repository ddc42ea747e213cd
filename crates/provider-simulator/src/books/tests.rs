use super::*;
use crate::event::samples::{amount, at};
use crate::scenario::samples::scenario;

fn refund(refund_no: &str, part: Option<&str>) -> Action {
    Action::Refund(RefundAsked {
        refund_no: refund_no.to_owned(),
        amount: part.map(amount),
        refunded_before: Amount::ZERO,
        outcome: Outcome::Done,
    })
}

/// Whether it happened; `false` when it had happened before.
fn happen(books: &mut Books, scenario: &Scenario) -> Result<bool, NotBooked> {
    let entry = books.entry_of(scenario, at())?;
    entry.iter().try_for_each(|entry| books.apply(entry))?;
    Ok(entry.is_some())
}

#[test]
fn what_is_paid_is_paid_once_and_stays_paid() {
    let mut books = Books::default();
    assert_eq!(happen(&mut books, &scenario(Action::Pay)), Ok(true));
    assert_eq!(happen(&mut books, &scenario(Action::Pay)), Ok(false));
    assert_eq!(happen(&mut books, &scenario(Action::Fail)), Err(NotBooked::AlreadyPaid));
    assert_eq!(happen(&mut books, &scenario(Action::Close)), Err(NotBooked::AlreadyPaid));
    let cheaper = Scenario { amount: amount("1"), ..scenario(Action::Pay) };
    assert_eq!(happen(&mut books, &cheaper), Err(NotBooked::OtherAmount { booked: "88.8 CNY".to_owned() }));
}

#[test]
fn a_failed_attempt_can_be_followed_by_a_payment_and_a_closed_one_cannot() {
    let mut books = Books::default();
    assert_eq!(happen(&mut books, &scenario(Action::Fail)), Ok(true));
    assert_eq!(books.of_number(Provider::Alipay, "P-1").unwrap().state, State::Unpaid);
    assert_eq!(happen(&mut books, &scenario(Action::Pay)), Ok(true));

    let mut books = Books::default();
    assert_eq!(happen(&mut books, &scenario(Action::Close)), Ok(true));
    assert_eq!(happen(&mut books, &scenario(Action::Close)), Ok(false));
    assert_eq!(happen(&mut books, &scenario(Action::Pay)), Err(NotBooked::AlreadyClosed));
}

#[test]
fn refunds_add_up_and_never_pass_what_was_paid() {
    let mut books = Books::default();
    assert!(matches!(happen(&mut books, &scenario(refund("R-1", None))), Err(NotBooked::Unknown(_))));
    happen(&mut books, &scenario(Action::Pay)).unwrap();
    assert_eq!(happen(&mut books, &scenario(refund("R-1", Some("10")))), Ok(true));
    assert_eq!(happen(&mut books, &scenario(refund("R-1", Some("10")))), Ok(false), "the same refund");
    assert!(matches!(
        happen(&mut books, &scenario(refund("R-1", Some("11")))),
        Err(NotBooked::OtherAmount { .. })
    ));
    assert_eq!(happen(&mut books, &scenario(refund("R-2", Some("15")))), Ok(true));
    assert_eq!(books.of_number(Provider::Alipay, "P-1").unwrap().refunded(), amount("25"));
    assert!(matches!(
        happen(&mut books, &scenario(refund("R-3", Some("63.81")))),
        Err(NotBooked::Impossible(Impossible::RefundExceedsPaid { .. }))
    ));
    assert_eq!(happen(&mut books, &scenario(refund("R-3", None))), Ok(true));
    let (_, last) = books.of_refund(Provider::Alipay, "R-3").unwrap();
    assert_eq!((last.refund.amount, last.refund.refunded_total), (amount("63.80"), amount("88.80")));
}

#[test]
fn a_refund_that_is_stuck_moves_nothing_until_somebody_ends_it() {
    let mut books = Books::default();
    let ending = |outcome| {
        let Action::Refund(asked) = refund("R-1", Some("10")) else { unreachable!() };
        Scenario {
            provider: Provider::WechatPay,
            ..scenario(Action::Refund(RefundAsked { outcome, ..asked }))
        }
    };
    let pay = Scenario { provider: Provider::WechatPay, ..scenario(Action::Pay) };
    happen(&mut books, &pay).unwrap();
    assert_eq!(happen(&mut books, &ending(Outcome::Abnormal)), Ok(true));
    assert_eq!(happen(&mut books, &ending(Outcome::Abnormal)), Ok(false), "it is stuck already");
    let booked = |books: &Books| books.of_number(Provider::WechatPay, "P-1").unwrap().clone();
    assert_eq!(booked(&books).refunded(), Amount::ZERO);
    // A merchant who asks again ends nothing.
    let Action::Refund(again) = refund("R-1", Some("10")) else { unreachable!() };
    assert_eq!(books.refund_of(&booked(&books), &again, at()), Ok(None));
    assert_eq!(happen(&mut books, &ending(Outcome::Done)), Ok(true));
    assert_eq!((booked(&books).refunded(), booked(&books).refunds.len()), (amount("10"), 1));
    assert_eq!(happen(&mut books, &ending(Outcome::Done)), Ok(false), "it is over");
}

#[test]
fn what_is_not_paid_cannot_be_refunded() {
    let mut books = Books::default();
    happen(&mut books, &scenario(Action::Fail)).unwrap();
    assert_eq!(happen(&mut books, &scenario(refund("R-1", None))), Err(NotBooked::NotPaid));
}

#[test]
fn a_buyer_can_pay_twice_under_one_number() {
    let mut books = Books::default();
    happen(&mut books, &scenario(Action::Pay)).unwrap();
    assert_eq!(happen(&mut books, &Scenario { nth: 2, ..scenario(Action::Pay) }), Ok(true));
    let ids: Vec<&str> = books
        .under_number(Provider::Alipay, "P-1")
        .map(|booked| booked.payment.provider_payment_id.as_str())
        .collect();
    assert_eq!(ids, [ids::payment(Provider::Alipay, "P-1", 1), ids::payment(Provider::Alipay, "P-1", 2)]);
}

#[test]
fn providers_keep_books_of_their_own() {
    let mut books = Books::default();
    happen(&mut books, &scenario(Action::Pay)).unwrap();
    assert!(books.of_number(Provider::WechatPay, "P-1").is_none());
}
