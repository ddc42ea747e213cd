//! The types of event there are.

/// A type of event.
#[derive(Clone, Copy, Debug)]
pub struct EventType {
    /// Its name, with the version of its data.
    pub name: &'static str,
    /// What kind of thing it happens to.
    pub aggregate: &'static str,
    /// What has happened, in one sentence.
    pub summary: &'static str,
    /// The name of the [shape](super::shapes::Shape) of its data.
    pub shape: &'static str,
}

impl EventType {
    /// What its subjects and routing keys end with.
    pub fn address(&self) -> &'static str {
        self.name.strip_prefix("onefold.").unwrap_or(self.name)
    }
}

const fn of(
    name: &'static str,
    aggregate: &'static str,
    shape: &'static str,
    summary: &'static str,
) -> EventType {
    EventType { name, aggregate, summary, shape }
}

/// Every type of event, thing by thing.
pub const EVENT_TYPES: &[EventType] = &[
    of("onefold.account.opened.v1", "account", "OpenedAccount", "An account was opened"),
    of("onefold.account.closed.v1", "account", "ClosedAccount", "An account was closed, for ever"),
    of("onefold.movement.deposited.v1", "movement", "Movement", "Money came in from outside"),
    of("onefold.movement.withdrawn.v1", "movement", "Movement", "Money went outside"),
    of("onefold.movement.transferred.v1", "movement", "Movement", "Money went from one account to another"),
    of(
        "onefold.order.placed.v1",
        "order",
        "Order",
        "An order was placed, and waits for its payment at a provider",
    ),
    of("onefold.order.authorized.v1", "order", "Order", "An order was placed, and what it costs was frozen"),
    of(
        "onefold.order.paid.v1",
        "order",
        "Order",
        "An order was paid: at its placing, or by its payment at a provider",
    ),
    of("onefold.order.captured.v1", "order", "Order", "Something of what was frozen for an order was taken"),
    of(
        "onefold.order.cancelled.v1",
        "order",
        "Order",
        "An order was called off, and what was frozen for it given back",
    ),
    of("onefold.order.expired.v1", "order", "Order", "An order was not paid, or not captured, in time"),
    of(
        "onefold.order.refund_asked.v1",
        "order",
        "RefundedOrder",
        "The provider of an order was asked to give something back",
    ),
    of(
        "onefold.order.refunded.v1",
        "order",
        "RefundedOrder",
        "Something of what paid an order was given back",
    ),
    of(
        "onefold.order.refund_confirmed.v1",
        "order",
        "RefundedOrder",
        "The provider of an order has done what it was asked to give back, and the money was counted before",
    ),
    of(
        "onefold.order.refund_failed.v1",
        "order",
        "RefundedOrder",
        "The provider of an order does not give back what it was asked for",
    ),
    of("onefold.hold.placed.v1", "hold", "Hold", "Money was frozen, apart from any order"),
    of("onefold.hold.captured.v1", "hold", "Hold", "Something of what was frozen was taken"),
    of("onefold.hold.released.v1", "hold", "Hold", "What was still frozen was given back"),
    of(
        "onefold.hold.expired.v1",
        "hold",
        "Hold",
        "What was still frozen was given back because its time was over",
    ),
    of("onefold.sku.set.v1", "sku", "Sku", "A sku was made, or its price or its stock set"),
    of(
        "onefold.payment_alert.raised.v1",
        "payment_alert",
        "PaymentAlert",
        "A person is asked about a payment",
    ),
    of(
        "onefold.payment_alert.resolved.v1",
        "payment_alert",
        "PaymentAlert",
        "Somebody, or what came later, has answered that",
    ),
];
