//! What a person is asked, and what is not worth a question.

use chrono::TimeDelta;
use payment_callback::{
    AlertAction, AlertKind, Asked, AskedStatus, Effect, Event, PaymentStatus, ProviderKind, ReceiptState,
    Refund, RefundOutcome,
};

use crate::books::{
    Books, NUMBER, OWED, cny, disputed, ended, exact, one_of_total, paid, refunded, refunded_in_all, smudged,
    standard,
};

fn kinds(books: &Books) -> Vec<AlertKind> {
    books.open_alerts().iter().map(|alert| alert.kind).collect()
}

#[test]
fn only_the_exact_amount_settles() {
    for amount in ["88.79", "88.81", "0.01", "0.00", "8880.00", "888.00"] {
        let mut books = Books::with_order();
        assert_eq!(books.take(&paid("m", exact(amount))), Effect::Held, "{amount}");
        assert_eq!(books.state("m"), ReceiptState::Mismatched, "{amount}");
        assert_eq!(kinds(&books), [AlertKind::Mismatched], "{amount}");
    }
    let mut books = Books::with_order();
    assert_eq!(books.take(&paid("m", exact(OWED))), Effect::Settled);
    assert_eq!(books.open_alerts().len(), 0);
}

#[test]
fn what_is_no_amount_is_late_or_in_excess_where_money_would_be() {
    let mut settled = Books::with_order();
    settled.take(&paid("m", exact(OWED)));
    let mut expired = Books::with_order();
    expired.pass_expiry();
    let mut elsewhere = Books::with_order();
    let alipay = ProviderKind::from_word("alipay").unwrap();
    assert_eq!(elsewhere.take_from(alipay, &paid("n", smudged("88,80"))), Effect::Held);
    assert_eq!(kinds(&elsewhere), [AlertKind::Excess]);
    for (mut books, state, kind) in [
        (settled, ReceiptState::Excess, AlertKind::Excess),
        (expired, ReceiptState::Late, AlertKind::Late),
        (Books::with_order(), ReceiptState::Mismatched, AlertKind::Mismatched),
        (Books::new(), ReceiptState::Unmatched, AlertKind::Mismatched),
    ] {
        assert_eq!(books.take(&paid("n", smudged("88,80"))), Effect::Held);
        assert_eq!((books.state("n"), kinds(&books)), (state, vec![kind]));
        assert_eq!(books.receipt("n").unreadable.as_deref(), Some("88,80 CNY"));
    }
}

#[test]
fn an_amount_that_can_be_read_takes_the_place_of_one_that_could_not() {
    for order_first in [true, false] {
        let mut books = if order_first { Books::with_order() } else { Books::new() };
        books.take(&paid("m", smudged("88,80")));
        books.take(&paid("m", smudged("88;80")));
        assert_eq!(books.open_alerts()[0].detail.as_deref(), Some("the provider reports 88;80 CNY"));
        books.take(&paid("m", exact(OWED)));
        books.place();
        assert_eq!(books.state("m"), ReceiptState::Settled);
        assert_eq!(books.receipt("m").unreadable, None);
        assert_eq!(books.open_alerts().len(), 0, "the question is answered");
    }
}

#[test]
fn the_same_amount_once_more_answers_what_could_not_be_read_in_between() {
    let mut books = Books::with_order();
    books.take(&paid("m", exact(OWED)));
    books.take(&paid("m", smudged("?")));
    assert_eq!((books.state("m"), kinds(&books)), (ReceiptState::Settled, vec![AlertKind::Mismatched]));
    books.take(&paid("m", exact(OWED)));
    assert_eq!(books.receipt("m").unreadable, None);
    assert_eq!(books.open_alerts().len(), 0);
}

#[test]
fn an_order_is_not_paid_by_an_amount_that_the_provider_has_taken_back_into_the_unreadable() {
    let mut books = Books::new();
    books.take(&paid("m", exact(OWED)));
    books.take(&paid("m", smudged("?")));
    books.place();
    assert_eq!((books.state("m"), kinds(&books)), (ReceiptState::Mismatched, vec![AlertKind::Mismatched]));
    books.take(&paid("m", exact(OWED)));
    assert_eq!(books.state("m"), ReceiptState::Settled);
}

#[test]
fn the_question_about_parked_money_is_about_what_there_is_now() {
    let mut books = Books::new();
    books.take(&paid("m", exact("5.00")));
    books.ask_about_unmatched("m");
    assert_eq!(books.open_alerts()[0].received, Some(cny("5.00")));
    books.take(&paid("m", exact("7.00")));
    let open = books.open_alerts();
    assert_eq!((open.len(), open[0].kind, open[0].received), (1, AlertKind::Unmatched, Some(cny("7.00"))));
}

#[test]
fn nobody_is_asked_about_nothing() {
    let mut books = Books::new();
    let stuck = ended(refunded("m", "r", "1.00"), RefundOutcome::Abnormal);
    books.take(&stuck);
    assert_eq!(kinds(&books), [AlertKind::RefundAttention]);
    books.ask_about_unmatched("m");
    assert_eq!(kinds(&books), [AlertKind::RefundAttention]);
    books.place();
    assert_eq!(books.state("m"), ReceiptState::Unmatched, "no money has come that could be wrong");
    assert_eq!(books.take(&paid("m", exact(OWED))), Effect::Settled);
}

#[test]
fn a_stuck_refund_is_asked_about_once_by_whichever_way_it_is_told_and_no_more_when_it_is_over() {
    for end in [RefundOutcome::Succeeded, RefundOutcome::Closed] {
        let mut books = Books::with_order();
        books.take(&paid("m", exact(OWED)));
        let stuck = |refund: &str| ended(refunded("m", refund, "1.00"), RefundOutcome::Abnormal);
        assert_eq!(books.take(&stuck("r")), Effect::Held);
        assert_eq!(books.take(&stuck("r")), Effect::None, "another delivery says the same");
        assert_eq!(books.take(&stuck("s")), Effect::Held, "another refund is another question");
        books.take(&ended(refunded("m", "r", "1.00"), end));
        let open = books.open_alerts();
        assert_eq!((open.len(), open[0].cause.as_str()), (1, "stuck:standard:s"));
        let answered = books.alerts.values().find(|alert| alert.cause == "stuck:standard:r").unwrap();
        assert_eq!(answered.resolution.as_ref().unwrap().action, AlertAction::Superseded);
        let action = AlertAction::Dismiss;
        books.resolve(books.open_alerts()[0].id, action).unwrap();
        assert_eq!(books.take(&stuck("s")), Effect::None, "whoever has dismissed it is not asked again");
        assert_eq!(books.open_alerts().len(), 0);
    }
}

#[test]
fn a_dispute_is_asked_about_once_and_moves_nothing() {
    let mut books = Books::with_order();
    books.take(&paid("m", exact(OWED)));
    let balances = books.balances();
    assert_eq!(books.take(&disputed("m", "dp_1", OWED)), Effect::Held);
    assert_eq!(books.take(&disputed("m", "dp_1", OWED)), Effect::None, "it has moved on");
    assert_eq!(
        books.take(&disputed("m", "dp_2", "1.00")),
        Effect::Held,
        "another dispute is another question"
    );
    assert_eq!(kinds(&books), [AlertKind::Disputed, AlertKind::Disputed]);
    let first = books.alerts.values().find(|alert| alert.cause == "dispute:standard:dp_1").unwrap().clone();
    assert_eq!((first.received, first.payment_no.as_deref()), (Some(cny(OWED)), Some(NUMBER)));
    assert!(books.resolve(first.id, AlertAction::Refund).is_err());
    books.resolve(first.id, AlertAction::Dismiss).unwrap();
    assert_eq!(
        books.take(&disputed("m", "dp_1", OWED)),
        Effect::None,
        "whoever has answered is not asked again"
    );
    assert_eq!((books.balances(), books.state("m")), (balances, ReceiptState::Settled));
}

#[test]
fn a_dispute_about_money_that_is_not_known_is_asked_about_without_a_receipt() {
    let mut books = Books::new();
    assert_eq!(books.take(&disputed("ch_1", "dp_1", "1.00")), Effect::Held);
    let open = books.open_alerts();
    assert_eq!((open[0].kind, open[0].receipt_id), (AlertKind::Disputed, None));
    assert_eq!(open[0].provider_payment_id.as_deref(), Some("ch_1"));
    assert_eq!(books.receipts.len(), 0);
}

#[test]
fn a_refund_whose_payment_is_never_told_of_is_asked_about_until_it_is() {
    let mut books = Books::new();
    books.take(&refunded_in_all("m", "1.00"));
    books.ask_about_unmatched("m");
    let open = books.open_alerts();
    assert_eq!((open[0].kind, open[0].received), (AlertKind::RefundMismatched, Some(cny("1.00"))));
    assert_eq!(books.take(&paid("m", exact(OWED))), Effect::Parked);
    assert_eq!(books.open_alerts().len(), 0);
    books.ask_about_unmatched("m");
    assert_eq!(kinds(&books), [AlertKind::Unmatched], "parked money is a question of its own");
}

#[test]
fn a_known_refund_of_other_money_or_of_another_amount_is_asked_about_and_gives_nothing_back() {
    let mut books = Books::with_order();
    books.take(&paid("m", exact(OWED)));
    books.take(&paid("n", exact("9.00")));
    assert_eq!(books.take(&refunded("m", "r", "5.00")), Effect::Refunded);
    let balances = books.balances();
    assert_eq!(books.take(&refunded("m", "r", "5.00")), Effect::None, "the same once more");
    for other in [refunded("n", "r", "5.00"), refunded("m", "r", "6.00")] {
        assert_eq!(books.take(&other), Effect::Held);
    }
    let kinds = kinds(&books);
    assert_eq!(kinds.iter().filter(|kind| **kind == AlertKind::RefundMismatched).count(), 2);
    let detail = "the refund r counts already, as 5.00 CNY of the money m";
    assert!(books.open_alerts().iter().any(|alert| alert.detail.as_deref() == Some(detail)));
    assert_eq!(books.balances(), balances);
    let stuck = ended(refunded("m", "r", "5.00"), RefundOutcome::Abnormal);
    assert_eq!(books.take(&stuck), Effect::None, "that it was stuck is older news");
}

#[test]
fn a_decision_ends_once_and_money_that_comes_late_is_owed_back() {
    let mut books = Books::with_order();
    books.pass(TimeDelta::minutes(30));
    assert!(books.expire());
    assert!(!books.expire(), "once");
    books.take(&paid("m", exact(OWED)));
    assert_eq!(books.state("m"), ReceiptState::Late);
    let alert = books.open_alerts()[0].id;
    assert!(books.resolve(alert, AlertAction::Accept).is_err());
    books.resolve(alert, AlertAction::Refund).unwrap();
    assert!(books.resolve(alert, AlertAction::Dismiss).is_err());
    assert_eq!(books.payment.as_ref().unwrap().status, PaymentStatus::Expired);
    assert_eq!(books.balances()["refunds_owed CNY"], 8_880);
    books.take(&refunded_in_all("m", OWED));
    assert_eq!(books.balances().len(), 0);
}

/// Money that came late and that a person has decided to give back.
fn owed_back(askable: &[ProviderKind]) -> Books {
    let mut books = Books::with_order();
    books.pass(TimeDelta::minutes(30));
    assert!(books.expire());
    books.take(&paid("m", exact(OWED)));
    let alert = books.open_alerts()[0].id;
    books.resolve_asking(alert, AlertAction::Refund, askable).unwrap();
    assert_eq!(books.balances()["refunds_owed CNY"], 8_880);
    books
}

#[test]
fn what_nobody_can_be_asked_for_is_owed_and_given_back_by_hand() {
    let mut books = owed_back(&[]);
    assert!(books.asked.is_empty(), "{:?}", books.asked);
    books.take(&refunded("m", "by-hand", OWED));
    assert_eq!(books.balances().len(), 0);
}

#[test]
fn that_the_money_is_back_is_true_also_after_an_answer_that_was_taken_for_a_refusal() {
    let mut books = owed_back(&[standard()]);
    let id = *books.asked.keys().next().expect("it is asked for");
    books.note(id, &Asked::Refused("another request is under way".to_owned()));
    assert_eq!(books.asked[&id].status, AskedStatus::Failed);
    let Event::Refunded(told) = refunded("m", "re-1", OWED) else { unreachable!("it tells of a refund") };
    books.take(&Event::Refunded(Refund { refund_no: Some(books.asked[&id].refund_no()), ..told }));
    let asked = &books.asked[&id];
    assert_eq!((asked.status, asked.failure.as_deref()), (AskedStatus::Succeeded, None));
    assert_eq!(books.balances().len(), 0);
}

#[test]
fn a_refund_that_has_failed_is_asked_about_where_it_counts_and_once() {
    for (told, failed) in [
        (refunded("m", "r", "5.00"), ended(refunded("m", "r", "5.00"), RefundOutcome::Closed)),
        (refunded_in_all("m", "5.00"), ended(one_of_total("m", "r", "5.00"), RefundOutcome::Closed)),
    ] {
        let mut books = Books::with_order();
        books.take(&paid("m", exact(OWED)));
        assert_eq!(books.take(&failed), Effect::RefundFailed, "it never counted");
        books.take(&told);
        let balances = books.balances();
        assert_eq!(books.take(&failed), Effect::Held);
        assert_eq!(books.take(&failed), Effect::None);
        assert_eq!(kinds(&books), [AlertKind::RefundAttention]);
        assert_eq!(books.balances(), balances, "nothing turns back by itself");
    }
    let mut books = Books::with_order();
    books.take(&paid("m", exact(OWED)));
    books.take(&refunded("m", "r", "5.00"));
    let other = ended(refunded("m", "s", "5.00"), RefundOutcome::Closed);
    assert_eq!(books.take(&other), Effect::RefundFailed, "another counts, and this one never did");
}
