//! What is to happen to one payment, and the events that tell of it.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::amount::{self, Amount};
use crate::event::{Event, Outcome, Payment, Refund, Unsayable, What};
use crate::ids;
use crate::provider::Provider;
use crate::sender::Style;

/// Something that is to happen to a payment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What.
    pub action: Action,
    /// At which provider.
    pub provider: Provider,
    /// The receiver's number for the payment.
    pub payment_no: String,
    /// How much is paid; for a refund, how much was.
    pub amount: Amount,
    /// ISO 4217, in capitals.
    pub currency: String,
    /// Which of the payments under this number, from 1: a buyer can pay twice.
    #[serde(default = "first")]
    pub nth: u32,
    /// Whether what came before it arrives after it.
    #[serde(default)]
    pub overtaken: bool,
    /// How its deliveries are signed.
    #[serde(default)]
    pub style: Style,
}

fn first() -> u32 {
    1
}

/// What can be made to happen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The buyer pays.
    Pay,
    /// An attempt to pay fails.
    Fail,
    /// The payment is closed unpaid.
    Close,
    /// Money goes back.
    Refund(RefundAsked),
}

/// A refund that is to happen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefundAsked {
    /// The receiver's number for it.
    pub refund_no: String,
    /// How much; all that is left when it is not said.
    pub amount: Option<Amount>,
    /// How much went back before.
    #[serde(default)]
    pub refunded_before: Amount,
    /// What becomes of it.
    #[serde(default)]
    pub outcome: Outcome,
}

/// Why a scenario cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Impossible {
    /// The provider cannot say it.
    #[error(transparent)]
    Unsayable(#[from] Unsayable),
    /// More would go back than was paid.
    #[error("{refund} cannot go back: of {paid} that was paid, {before} has gone back already")]
    RefundExceedsPaid {
        /// How much was to go back.
        refund: Amount,
        /// How much was paid.
        paid: Amount,
        /// How much went back before.
        before: Amount,
    },
}

impl Scenario {
    /// The payment that it is about.
    pub fn payment(&self) -> Payment {
        Payment {
            payment_no: self.payment_no.clone(),
            provider_payment_id: ids::payment(self.provider, &self.payment_no, self.nth),
            amount: self.amount,
            currency: self.currency.clone(),
        }
    }

    /// The events that tell of it, in the order in which they arrive, if it happens at `at`.
    ///
    /// # Errors
    ///
    /// When more would go back than was paid. Whether the provider can say it, its sender knows.
    pub fn events(&self, at: DateTime<Utc>) -> Result<Vec<Event>, Impossible> {
        let payment = self.payment();
        let what = match &self.action {
            Action::Pay => What::Succeeded,
            Action::Fail => What::Failed,
            Action::Close => What::Closed,
            Action::Refund(asked) => What::Refunded(asked.refund_of(&payment, self.provider)?),
        };
        Ok(self.events_of(&payment, what, at))
    }

    /// The events that tell of `what` has happened to `payment` at `at`, in the order in which they arrive.
    pub fn events_of(&self, payment: &Payment, what: What, at: DateTime<Utc>) -> Vec<Event> {
        let before = match &what {
            What::Succeeded | What::Closed => What::Failed,
            What::Failed | What::Refunded(_) => What::Succeeded,
        };
        let told = |what, at| Event { id: ids::event(self.provider, at), at, payment: payment.clone(), what };
        let mut events = vec![told(what, at)];
        if self.overtaken {
            events.push(told(before, at - TimeDelta::minutes(1)));
        }
        events
    }
}

impl RefundAsked {
    /// The refund of `payment` that this asks for.
    ///
    /// # Errors
    ///
    /// When more would go back than was paid.
    pub fn refund_of(&self, payment: &Payment, provider: Provider) -> Result<Refund, Impossible> {
        let left = payment.amount.checked_sub(self.refunded_before).unwrap_or_default();
        let amount = self.amount.unwrap_or(left);
        if amount > left || amount == Amount::ZERO {
            return Err(Impossible::RefundExceedsPaid {
                refund: amount,
                paid: payment.amount,
                before: self.refunded_before,
            });
        }
        let gone_back = match self.outcome {
            Outcome::Done => amount,
            Outcome::Abnormal | Outcome::Closed => Amount::ZERO,
        };
        Ok(Refund {
            refund_no: self.refund_no.clone(),
            refund_id: ids::refund(provider, &payment.provider_payment_id, &self.refund_no),
            amount,
            refunded_total: self.refunded_before.checked_add(gone_back).unwrap_or(payment.amount),
            outcome: self.outcome,
        })
    }
}

/// The smallest amount that differs from `amount` in this currency, and is still one: a unit less, or more.
pub fn wrong_amount(amount: Amount, currency: &str) -> Amount {
    let unit = Amount::from_units(1, amount::iso_decimals(currency));
    match amount.checked_sub(unit) {
        Some(less) if less > Amount::ZERO => less,
        _ => amount.checked_add(unit).unwrap_or(unit),
    }
}

/// Another currency with as many digits, so that only the currency is wrong.
pub fn wrong_currency(currency: &str) -> &'static str {
    match amount::iso_decimals(currency) {
        0 if currency == "JPY" => "KRW",
        0 => "JPY",
        3 if currency == "KWD" => "BHD",
        3 => "KWD",
        _ if currency == "USD" => "EUR",
        _ => "USD",
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;
    use crate::event::samples::amount;

    /// What happens to 88.80 CNY at Alipay.
    pub(crate) fn scenario(action: Action) -> Scenario {
        Scenario {
            action,
            provider: Provider::Alipay,
            payment_no: "P-1".to_owned(),
            amount: amount("88.80"),
            currency: "CNY".to_owned(),
            nth: 1,
            overtaken: false,
            style: Style::Usual,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::scenario;
    use super::*;
    use crate::event::samples::{amount, at};

    fn refund(part: Option<&str>, before: &str) -> RefundAsked {
        RefundAsked {
            refund_no: "R-1".to_owned(),
            amount: part.map(amount),
            refunded_before: amount(before),
            outcome: Outcome::Done,
        }
    }

    #[test]
    fn a_payment_keeps_its_identity_and_every_event_is_new() {
        let pay = scenario(Action::Pay);
        let (first, again) = (pay.events(at()).unwrap(), pay.events(at()).unwrap());
        assert_eq!(first[0].payment, again[0].payment);
        assert_ne!(first[0].id, again[0].id);
        let twice = Scenario { nth: 2, ..pay };
        assert_ne!(twice.payment().provider_payment_id, first[0].payment.provider_payment_id);
    }

    #[test]
    fn what_is_overtaken_arrives_after_what_followed_it() {
        let events = Scenario { overtaken: true, ..scenario(Action::Refund(refund(Some("10"), "0"))) }
            .events(at())
            .unwrap();
        assert!(matches!(events[0].what, What::Refunded(_)));
        assert_eq!(events[1].what, What::Succeeded);
        assert!(events[1].at < events[0].at);
    }

    #[test]
    fn a_refund_counts_those_before_it() {
        let payment = scenario(Action::Pay).payment();
        let second = refund(Some("15"), "10").refund_of(&payment, Provider::Alipay).unwrap();
        assert_eq!(second.refunded_total, amount("25"));
        let rest = refund(None, "10").refund_of(&payment, Provider::Alipay).unwrap();
        assert_eq!((rest.amount, rest.refunded_total), (amount("78.80"), amount("88.80")));
        let closed = RefundAsked { outcome: Outcome::Closed, ..refund(Some("15"), "10") };
        assert_eq!(closed.refund_of(&payment, Provider::WechatPay).unwrap().refunded_total, amount("10"));
    }

    #[test]
    fn no_more_goes_back_than_was_paid() {
        let payment = scenario(Action::Pay).payment();
        for (part, before) in
            [(Some("88.81"), "0"), (Some("0.01"), "88.80"), (None, "88.80"), (Some("0"), "0")]
        {
            let refused = refund(part, before).refund_of(&payment, Provider::Alipay);
            assert!(matches!(refused, Err(Impossible::RefundExceedsPaid { .. })), "{part:?} after {before}");
        }
    }

    #[test]
    fn what_is_wrong_differs_in_one_thing() {
        assert_eq!(wrong_amount(amount("88.80"), "CNY"), amount("88.79"));
        assert_eq!(wrong_amount(amount("0.01"), "CNY"), amount("0.02"));
        assert_eq!(wrong_amount(amount("500"), "JPY"), amount("499"));
        for currency in ["CNY", "USD", "JPY", "KRW", "KWD", "BHD"] {
            let wrong = wrong_currency(currency);
            assert_ne!(wrong, currency);
            assert_eq!(amount::iso_decimals(wrong), amount::iso_decimals(currency), "{currency}");
        }
    }

    #[test]
    fn a_scenario_can_be_sent_to_a_provider() {
        let scenario = scenario(Action::Refund(refund(Some("10"), "0")));
        let written = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&written).unwrap(), scenario, "{written}");
    }
}
