//! A payment that the payer's bank disputes.
//!
//! Nothing is booked of it: the provider holds the money back, or takes it, outside of what it tells here as payments and
//! refunds. But a dispute that nobody answers in time is lost, so a person is asked, once for each.

use crate::case::Case;
use crate::told::{Effect, Told};
use crate::{AlertKind, Event, ProviderKind, ReportedAmount};

impl Case<'_> {
    pub(crate) fn receive_dispute(
        &mut self,
        told: Told<'_>,
        payment_id: Option<&str>,
        amount: &ReportedAmount,
    ) -> Effect {
        let cause = dispute_cause(told.provider, &told.notice.event).unwrap_or_else(|| told.cause());
        // It is told of when it begins, when it moves on and when it ends.
        if self.alert_of(&cause).is_some() {
            return Effect::None;
        }
        let detail = "the payer's bank disputes the payment; it has to be answered at the provider, in time"
            .to_owned();
        let known = payment_id.and_then(|id| self.receipt(&(self.client_id, told.provider, id.to_owned())));
        match known.cloned() {
            Some(receipt) => {
                self.ask_beside_for(cause, receipt, AlertKind::Disputed, amount, Some(detail));
            }
            None => {
                self.raise_about_unknown(
                    AlertKind::Disputed,
                    cause,
                    told.provider,
                    payment_id,
                    amount,
                    detail,
                );
            }
        }
        Effect::Held
    }
}

/// What raises the alert about a dispute that is told of, where the provider names it.
pub fn dispute_cause(provider: ProviderKind, event: &Event) -> Option<String> {
    match event {
        Event::Disputed { dispute_id: Some(id), .. } => Some(format!("dispute:{}:{id}", provider.word())),
        _ => None,
    }
}
