//! The document on the life of an order, and the code: one table.

use std::collections::BTreeSet;
use std::path::Path;

use order::status::Step;
use order::{OrderEvent, OrderStatus};

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/concepts/order-life.md");
    std::fs::read_to_string(path).expect("the document on the life of an order")
}

/// What the document calls an event.
fn words(event: OrderEvent) -> &'static str {
    match event {
        OrderEvent::CapturedInPart => "captured in part",
        OrderEvent::CapturedFinally => "captured finally",
        OrderEvent::Cancelled => "cancelled",
        OrderEvent::Expired => "expired",
        OrderEvent::PaymentSucceeded => "payment succeeded",
        OrderEvent::PaymentMismatched => "payment mismatched",
        OrderEvent::PaymentFailed => "payment failed",
        OrderEvent::RefundedInPart => "refunded in part",
        OrderEvent::RefundedInFull => "refunded in full",
    }
}

#[test]
fn the_table_of_the_document_is_the_codes() {
    let document = document();
    let mut lines = document.lines().skip_while(|line| !line.starts_with("| event |"));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let head = cells(lines.next().expect("the table"));
    let states: Vec<OrderStatus> =
        head[1..].iter().map(|word| OrderStatus::from_word(word).expect("a state")).collect();
    assert_eq!(states.iter().collect::<BTreeSet<_>>().len(), OrderStatus::ALL.len(), "every state, once");
    let told: Vec<Vec<String>> = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect();
    let coded: Vec<Vec<String>> = OrderEvent::ALL
        .into_iter()
        .map(|event| {
            let steps = states.iter().map(|state| match state.on(event) {
                Ok(Step::To(next)) => next.as_str(),
                Ok(Step::Stays) => "stays",
                Err(_) => "–",
            });
            [words(event)].into_iter().chain(steps).map(str::to_owned).collect()
        })
        .collect();
    assert_eq!(told, coded);
}

#[test]
fn the_diagram_of_the_document_is_the_codes() {
    let document = document();
    let drawn: BTreeSet<(String, String, String)> = document
        .lines()
        .filter_map(|line| {
            let (from, rest) = line.trim().split_once(" --> ")?;
            let (to, event) = rest.split_once(": ")?;
            (from != "[*]").then(|| (from.to_owned(), event.to_owned(), to.to_owned()))
        })
        .collect();
    let mut coded = BTreeSet::new();
    for state in OrderStatus::ALL {
        for event in OrderEvent::ALL {
            if let Ok(Step::To(next)) = state.on(event) {
                let arrow = (state.as_str(), words(event), next.as_str());
                coded.insert((arrow.0.to_owned(), arrow.1.to_owned(), arrow.2.to_owned()));
            }
        }
    }
    assert_eq!(drawn, coded);
}
