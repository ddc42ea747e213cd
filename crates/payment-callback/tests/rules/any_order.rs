//! Deliveries come in any order, and repeated; the order that they pay may be placed at any point among them. The books
//! come to the same.

use payment_callback::{AlertKind, Event, ReceiptState};
use proptest::prelude::*;

use crate::books::{Books, NUMBER, OWED, exact, paid, refunded, refunded_in_all};

/// What happens, each once.
#[derive(Clone, Debug)]
enum Step {
    Place,
    Told(Box<Event>),
}

fn told(events: Vec<Event>) -> Vec<Step> {
    std::iter::once(Step::Place).chain(events.into_iter().map(Box::new).map(Step::Told)).collect()
}

/// An attempt that failed before the one that paid.
fn failed() -> Event {
    Event::PaymentFailed { payment_no: Some(NUMBER.to_owned()), payment_id: Some("m".to_owned()) }
}

/// Stories without a contradiction: whoever reads them in their order knows how they end.
fn stories() -> Vec<Vec<Step>> {
    vec![
        told(vec![failed(), paid("m", exact(OWED))]),
        told(vec![paid("m", exact(OWED)), refunded("m", "a", "10.00"), refunded("m", "b", "78.80")]),
        told(vec![
            paid("m", exact(OWED)),
            refunded_in_all("m", "10.00"),
            refunded_in_all("m", "30.00"),
            refunded_in_all("m", "25.00"),
        ]),
        told(vec![paid("m", exact("80.00")), refunded("m", "a", "80.00")]),
        told(vec![paid("m", exact("99.00")), refunded_in_all("m", "10.20")]),
    ]
}

fn run(steps: &[Step]) -> Books {
    let mut books = Books::new();
    for step in steps {
        match step {
            Step::Place => books.place(),
            Step::Told(event) => drop(books.take(event)),
        }
    }
    books
}

/// What must not depend on the order: the payment, the order, the receipts, the accounts, and the open questions.
fn end(books: &Books) -> impl PartialEq + std::fmt::Debug {
    let receipts: Vec<_> =
        books.receipts.values().map(|receipt| (receipt.key(), receipt.state, receipt.funds)).collect();
    let order =
        books.order.as_ref().map(|order| (order.status, order.captured_amount, order.refunded_amount));
    let kinds: Vec<AlertKind> = books.open_alerts().iter().map(|alert| alert.kind).collect();
    (books.payment.as_ref().map(|payment| payment.status), order, receipts, books.balances(), kinds)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_books_come_to_the_same_in_any_order_and_with_any_repetition(
        (told, shuffled) in proptest::sample::select(stories()).prop_flat_map(|steps| {
            let repeated: Vec<Step> = steps.iter().cloned().chain(steps.iter().cloned()).collect();
            (Just(steps), Just(repeated).prop_shuffle())
        })
    ) {
        prop_assert_eq!(format!("{:?}", end(&run(&told))), format!("{:?}", end(&run(&shuffled))));
    }

    /// A buyer who pays twice: which of the two pays the order is the provider's haste, and the other is owed back.
    #[test]
    fn of_two_payments_one_pays_and_the_other_is_in_excess(
        steps in Just(told(vec![paid("m", exact(OWED)), paid("n", exact(OWED))])).prop_shuffle()
    ) {
        let books = run(&steps);
        let mut states = [books.state("m"), books.state("n")];
        states.sort_by_key(|state| state.as_str());
        prop_assert_eq!(states, [ReceiptState::Excess, ReceiptState::Settled]);
        prop_assert_eq!(books.open_alerts().len(), 1);
        prop_assert_eq!(books.balances()["revenue CNY"], 8_880);
    }
}
