//! What may follow on what: the steps of orders and of holds, and which states of an order, its payment and its hold go
//! together. Written down a second time, like the [vocabulary](crate::vocabulary).

use crate::figure::Figure;
use crate::row::Standing;
use crate::vocabulary::{
    HOLD_EXPIRED, HOLD_PLACED, HOLD_RELEASED, ORDER_AUTHORIZED, ORDER_CANCELLED, ORDER_CAPTURED,
    ORDER_EXPIRED, ORDER_PAID, ORDER_PLACED, ORDER_REFUND_ASKED, ORDER_REFUND_CONFIRMED, ORDER_REFUND_FAILED,
    ORDER_REFUNDED, REFUND_ASKED, REFUND_CONFIRMED, REFUND_FAILED,
};

/// From which state, if there was one; by what change; to which state.
pub type Step = (Option<&'static str>, &'static str, &'static str);

/// Every step that an order can take.
pub const ORDER_STEPS: &[Step] = &[
    (None, PLACED, "pending_payment"),
    (None, PLACED, "authorized"),
    (None, PLACED, "paid"),
    (Some("pending_payment"), "paid", "paid"),
    (Some("pending_payment"), "cancelled", "cancelled"),
    (Some("pending_payment"), "expired", "expired"),
    (Some("authorized"), "captured", "authorized"),
    (Some("authorized"), "captured", "paid"),
    (Some("authorized"), "cancelled", "cancelled"),
    (Some("authorized"), "expired", "expired"),
    (Some("paid"), "refunded", "partially_refunded"),
    (Some("paid"), "refunded", "refunded"),
    (Some("partially_refunded"), "refunded", "partially_refunded"),
    (Some("partially_refunded"), "refunded", "refunded"),
    (Some("paid"), REFUND_ASKED, "paid"),
    (Some("partially_refunded"), REFUND_ASKED, "partially_refunded"),
    // What was asked for may end in whatever way while others were given back at the provider.
    (Some("paid"), REFUND_CONFIRMED, "paid"),
    (Some("partially_refunded"), REFUND_CONFIRMED, "partially_refunded"),
    (Some("refunded"), REFUND_CONFIRMED, "refunded"),
    (Some("paid"), REFUND_FAILED, "paid"),
    (Some("partially_refunded"), REFUND_FAILED, "partially_refunded"),
    (Some("refunded"), REFUND_FAILED, "refunded"),
];

/// The change that makes an order.
pub const PLACED: &str = "placed";

/// What each event of an order tells of. One that two rows have is told apart by whether it is the first of its order.
const ORDER_EVENTS: &[(&str, &str)] = &[
    (ORDER_PLACED, PLACED),
    (ORDER_AUTHORIZED, PLACED),
    (ORDER_PAID, PLACED),
    (ORDER_PAID, "paid"),
    (ORDER_CAPTURED, "captured"),
    (ORDER_CANCELLED, "cancelled"),
    (ORDER_EXPIRED, "expired"),
    (ORDER_REFUNDED, "refunded"),
    (ORDER_REFUND_ASKED, REFUND_ASKED),
    (ORDER_REFUND_CONFIRMED, REFUND_CONFIRMED),
    (ORDER_REFUND_FAILED, REFUND_FAILED),
];

/// What each event of a hold leads to. All but the placing come from a hold that is active.
const HOLD_EVENTS: &[(&str, &[&str])] = &[
    (HOLD_PLACED, &["active"]),
    ("onefold.hold.captured.v1", &["active", "captured"]),
    (HOLD_RELEASED, &["released"]),
    (HOLD_EXPIRED, &["expired"]),
];

/// What there was before a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before<'r> {
    /// Nothing: the step makes what it is about.
    Nothing,
    /// This.
    Was(Standing<'r>),
    /// Nobody tells.
    Untold,
}

/// Something that is not so: what should be, and what is.
pub type Fault = (String, String);

/// What is wrong with a step of an order, if something is.
pub fn fault_of_step(before: Before<'_>, change: &str, after: &Standing<'_>) -> Option<Fault> {
    let comes_from = |from: Option<&str>| match before {
        Before::Nothing => from.is_none(),
        Before::Was(before) => from == Some(before.status),
        Before::Untold => true,
    };
    if !ORDER_STEPS.iter().any(|(_, known, _)| *known == change) {
        return Some(("a known change".to_owned(), change.to_owned()));
    }
    let steps = ORDER_STEPS.iter().filter(|(from, by, _)| *by == change && comes_from(*from));
    let mut states: Vec<&str> = steps.map(|(_, _, to)| *to).collect();
    states.sort_unstable();
    states.dedup();
    let from = match before {
        Before::Nothing => " as its first".to_owned(),
        Before::Was(before) => format!(" when it was {}", before.status),
        Before::Untold => String::new(),
    };
    if states.is_empty() {
        return Some((format!("a change that there can be{from}"), format!("{change}, to {}", after.status)));
    }
    if !states.contains(&after.status) {
        let expected = format!("{}, as what was {change}{from}", states.join(" or "));
        return Some((expected, after.status.to_owned()));
    }
    let figures = match before {
        Before::Nothing => Standing { status: "", captured: Figure::ZERO, refunded: Figure::ZERO },
        Before::Was(before) => before,
        Before::Untold => return None,
    };
    let expected = fault_of_figures(&figures, change, after)?;
    let told = |one: &Standing<'_>| format!("captured {}, refunded {}", one.captured, one.refunded);
    Some((format!("{expected}{from}"), format!("from {} to {}", told(&figures), told(after))))
}

/// What the figures of an order should have done in a step that there is, if they have not.
fn fault_of_figures(before: &Standing<'_>, change: &str, after: &Standing<'_>) -> Option<&'static str> {
    let (captured, refunded) = (after.captured == before.captured, after.refunded == before.refunded);
    let (fits, expected) = match change {
        PLACED if after.status == "paid" => {
            (after.captured > Figure::ZERO && refunded, "all captured and nothing refunded")
        }
        "captured" | "paid" => {
            (after.captured > before.captured && refunded, "more captured, and as much refunded")
        }
        "refunded" => {
            let is_all = after.refunded == after.captured;
            let grows = after.refunded > before.refunded && after.refunded <= after.captured;
            (
                captured && grows && is_all == (after.status == "refunded"),
                "more refunded, and no more than was captured",
            )
        }
        _ => (captured && refunded, "the figures of before"),
    };
    (!fits).then_some(expected)
}

/// What is wrong with what an event of an order tells, if something is.
pub fn fault_of_order_event(
    event_type: &str,
    is_first: bool,
    before: Before<'_>,
    after: &Standing<'_>,
) -> Option<Fault> {
    let told = ORDER_EVENTS.iter().find(|(word, by)| *word == event_type && (*by == PLACED) == is_first);
    let Some((_, change)) = told else {
        let place = if is_first { "the first of its order" } else { "a later one" };
        return Some((format!("an event that can be {place}"), event_type.to_owned()));
    };
    let leads_to = match event_type {
        ORDER_PLACED => Some("pending_payment"),
        ORDER_AUTHORIZED => Some("authorized"),
        ORDER_PAID => Some("paid"),
        _ => None,
    };
    match leads_to {
        Some(status) if after.status != status => {
            Some((format!("{status}, as {event_type} says"), after.status.to_owned()))
        }
        _ => fault_of_step(before, change, after),
    }
}

/// What is wrong with what an event of a hold tells, if something is.
pub fn fault_of_hold_event(event_type: &str, is_first: bool, status: &str) -> Option<Fault> {
    let known = HOLD_EVENTS.iter().find(|(word, _)| *word == event_type);
    match known {
        Some((word, _)) if (*word == HOLD_PLACED) != is_first => {
            let place = if is_first { "the first of its hold" } else { "a later one" };
            Some((format!("an event that can be {place}"), event_type.to_owned()))
        }
        Some((_, states)) if states.contains(&status) => None,
        Some((_, states)) => {
            Some((format!("{}, as {event_type} says", states.join(" or ")), status.to_owned()))
        }
        None => Some(("a known event of a hold".to_owned(), event_type.to_owned())),
    }
}

/// The states that the payment of an order in this state can be in.
pub fn payment_states(order_status: &str) -> &'static [&'static str] {
    match order_status {
        "pending_payment" => &["pending"],
        "paid" | "partially_refunded" | "refunded" => &["settled"],
        "cancelled" => &["closed"],
        // Its time was over, or its provider has closed it.
        "expired" => &["expired", "closed"],
        _ => &[],
    }
}

/// The state that the payment of a delivery with this effect is in from then on, if it leads to one.
pub fn payment_after(effect: &str) -> Option<&'static str> {
    match effect {
        "settled" => Some("settled"),
        "closed" => Some("closed"),
        _ => None,
    }
}

/// The state that the hold of an order in this state is in.
pub fn hold_state(order_status: &str) -> Option<&'static str> {
    match order_status {
        "authorized" => Some("active"),
        "paid" | "partially_refunded" | "refunded" => Some("captured"),
        "cancelled" => Some("released"),
        "expired" => Some("expired"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(status: &'static str, captured: i128, refunded: i128) -> Standing<'static> {
        let figure = |yuan: i128| Figure::TenThousandths(yuan * 10_000);
        Standing { status, captured: figure(captured), refunded: figure(refunded) }
    }

    #[test]
    fn steps_of_the_table_pass() {
        let was = |status, captured, refunded| Before::Was(standing(status, captured, refunded));
        for (before, change, after) in [
            (Before::Nothing, "placed", standing("pending_payment", 0, 0)),
            (Before::Nothing, "placed", standing("paid", 9, 0)),
            (was("pending_payment", 0, 0), "paid", standing("paid", 9, 0)),
            (was("authorized", 0, 0), "captured", standing("authorized", 4, 0)),
            (was("authorized", 4, 0), "captured", standing("paid", 5, 0)),
            (was("authorized", 4, 0), "expired", standing("expired", 4, 0)),
            (was("paid", 9, 0), "refund_asked", standing("paid", 9, 0)),
            (was("paid", 9, 0), "refund_failed", standing("paid", 9, 0)),
            (was("refunded", 9, 9), "refund_confirmed", standing("refunded", 9, 9)),
            (was("paid", 9, 0), "refunded", standing("partially_refunded", 9, 1)),
            (was("partially_refunded", 9, 1), "refunded", standing("refunded", 9, 9)),
            (Before::Untold, "captured", standing("paid", 9, 0)),
        ] {
            assert_eq!(fault_of_step(before, change, &after), None, "{before:?} {change} {after:?}");
        }
    }

    #[test]
    fn a_step_that_there_is_not_is_told() {
        let was = |status, captured, refunded| Before::Was(standing(status, captured, refunded));
        for (before, change, after) in [
            // A state that cannot be reached from there, or not so.
            (Before::Nothing, "captured", standing("paid", 9, 0)),
            (was("cancelled", 0, 0), "paid", standing("paid", 9, 0)),
            (was("refunded", 9, 9), "refunded", standing("partially_refunded", 9, 8)),
            (was("authorized", 0, 0), "expired", standing("cancelled", 0, 0)),
            (was("pending_payment", 0, 0), "captured", standing("authorized", 4, 0)),
            (Before::Untold, "captured", standing("cancelled", 0, 0)),
            (was("paid", 9, 0), "gone", standing("paid", 9, 0)),
            // Figures that the step does not move so.
            (Before::Nothing, "placed", standing("authorized", 1, 0)),
            (Before::Nothing, "placed", standing("paid", 0, 0)),
            (was("authorized", 4, 0), "captured", standing("paid", 4, 0)),
            (was("authorized", 4, 0), "cancelled", standing("cancelled", 0, 0)),
            (was("paid", 9, 0), "refund_asked", standing("paid", 9, 1)),
            (was("paid", 9, 0), "refund_confirmed", standing("paid", 9, 1)),
            (was("refunded", 9, 9), "refund_failed", standing("partially_refunded", 9, 9)),
            (was("paid", 9, 0), "refunded", standing("refunded", 9, 8)),
            (was("paid", 9, 0), "refunded", standing("partially_refunded", 9, 9)),
            (was("partially_refunded", 9, 5), "refunded", standing("partially_refunded", 9, 4)),
            (was("paid", 9, 0), "refunded", standing("partially_refunded", 8, 4)),
        ] {
            assert!(fault_of_step(before, change, &after).is_some(), "{before:?} {change} {after:?}");
        }
    }

    #[test]
    fn an_event_leads_where_its_type_says_and_stands_where_it_can() {
        let paid = standing("paid", 9, 0);
        let awaited = Before::Was(standing("pending_payment", 0, 0));
        assert_eq!(fault_of_order_event(ORDER_PAID, true, Before::Nothing, &paid), None);
        assert_eq!(fault_of_order_event(ORDER_PAID, false, awaited, &paid), None);
        assert!(fault_of_order_event(ORDER_PLACED, true, Before::Nothing, &paid).is_some());
        assert!(fault_of_order_event(ORDER_PLACED, false, awaited, &paid).is_some());
        assert!(fault_of_order_event(ORDER_REFUNDED, true, Before::Nothing, &paid).is_some());
        for (event_type, is_first, status, fits) in [
            (HOLD_PLACED, true, "active", true),
            (HOLD_PLACED, false, "active", false),
            (HOLD_RELEASED, true, "released", false),
            (HOLD_RELEASED, false, "expired", false),
            ("onefold.hold.captured.v1", false, "captured", true),
            ("onefold.hold.gone.v1", false, "active", false),
        ] {
            assert_eq!(fault_of_hold_event(event_type, is_first, status).is_none(), fits, "{event_type}");
        }
    }
}
