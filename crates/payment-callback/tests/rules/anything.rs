//! Whatever is told, in whatever order, and whatever a person decides in between: what the books promise holds after
//! each step. The promises are checked by [`crate::books`].

use chrono::TimeDelta;
use money::{Amount, Currency};
use payment_callback::{AlertAction, Event, ProviderKind, Refund, RefundOutcome, RefundSum, ReportedAmount};
use proptest::prelude::*;

use crate::books::{Books, NUMBER, exact, paid, smudged, standard};

#[derive(Clone, Debug)]
enum Step {
    Place,
    Told(ProviderKind, Box<Event>),
    Pass(i64),
    Expire,
    AskAboutUnmatched(&'static str),
    /// Of the open alerts, counted from the oldest.
    Resolve(usize, AlertAction),
}

fn payment_id() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["m", "n", "o"])
}

fn amount() -> impl Strategy<Value = ReportedAmount> {
    let usd = Amount::parse("88.80", Currency::from_code("USD").unwrap()).unwrap();
    prop_oneof![
        4 => Just(exact("88.80")),
        2 => proptest::sample::select(vec!["0.00", "0.01", "10.00", "88.79", "88.81", "200.00"]).prop_map(exact),
        1 => Just(ReportedAmount::Exact(usd)),
        1 => Just(smudged("88,80")),
    ]
}

fn refund() -> impl Strategy<Value = Event> {
    let outcome = proptest::sample::select(vec![
        RefundOutcome::Succeeded,
        RefundOutcome::Succeeded,
        RefundOutcome::Abnormal,
        RefundOutcome::Closed,
    ]);
    let refund_id = proptest::option::of(proptest::sample::select(vec!["a", "b"]));
    (payment_id(), refund_id, amount(), outcome).prop_map(|(payment_id, refund_id, amount, outcome)| {
        Event::Refunded(Refund {
            payment_no: Some(NUMBER.to_owned()),
            payment_id: payment_id.to_owned(),
            refund_id: refund_id.map(str::to_owned),
            refund_no: None,
            sum: match refund_id {
                Some(_) => RefundSum::One(amount),
                None => RefundSum::RunningTotal(amount),
            },
            outcome,
            paid: None,
        })
    })
}

fn event() -> impl Strategy<Value = Event> {
    let number = || Some(NUMBER.to_owned());
    prop_oneof![
        6 => (payment_id(), amount()).prop_map(|(id, amount)| paid(id, amount)),
        3 => refund(),
        1 => payment_id().prop_map(move |id| Event::PaymentFailed {
            payment_no: number(), payment_id: Some(id.to_owned()),
        }),
        1 => payment_id().prop_map(move |id| Event::PaymentClosed {
            payment_no: number(), payment_id: Some(id.to_owned()), has_others: false,
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let action =
        proptest::sample::select(vec![AlertAction::Accept, AlertAction::Refund, AlertAction::Dismiss]);
    let provider = prop_oneof![
        7 => Just(standard()),
        1 => Just(ProviderKind::from_word("alipay").unwrap()),
    ];
    prop_oneof![
        2 => Just(Step::Place),
        10 => (provider, event()).prop_map(|(provider, event)| Step::Told(provider, Box::new(event))),
        1 => (0_i64..20).prop_map(Step::Pass),
        1 => Just(Step::Expire),
        1 => payment_id().prop_map(Step::AskAboutUnmatched),
        3 => (0_usize..4, action).prop_map(|(index, action)| Step::Resolve(index, action)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_promises_hold_after_each_step(steps in proptest::collection::vec(step(), 1..25)) {
        let mut books = Books::new();
        for step in steps {
            match step {
                Step::Place => books.place(),
                Step::Told(provider, event) => drop(books.take_from(provider, &event)),
                Step::Pass(minutes) => books.pass(TimeDelta::minutes(minutes)),
                Step::Expire => drop(books.expire()),
                Step::AskAboutUnmatched(id) => books.ask_about_unmatched(id),
                Step::Resolve(index, action) => {
                    let open = books.open_alerts().get(index).map(|alert| alert.id);
                    // It may be refused; that it changes nothing then is what the promises say.
                    if let Some(id) = open {
                        let _ = books.resolve(id, action);
                    }
                }
            }
        }
    }
}
