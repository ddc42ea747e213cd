//! What can be asked for about payments at providers.

use chrono::TimeDelta;
use client::ClientId;
use idempotency::Key;
use money::Amount;
use payment_callback::asked_refund::refusal_cause;
use payment_callback::dispute::dispute_cause;
use payment_callback::refund::{failure_cause, stuck_cause};
use payment_callback::{
    AlertAction, AlertCause, AlertId, AlertKind, Asked, AskedRefund, DeliveryFingerprint, DeliveryKey, Event,
    Notice, ProviderKind, ReceiptKey, ReceiptRefundKey, RefundSum,
};

/// An effect on a payment at a provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PaymentCommand {
    /// Take in what a provider has told of. Whoever made the command has verified that it was the provider.
    TakeCallback(Box<CallbackCommand>),
    /// Resolve an alert.
    ResolveAlert {
        /// Which one.
        alert_id: AlertId,
        /// How.
        action: AlertAction,
        /// Who does; it begins with `client`.
        by: String,
        /// Why.
        note: String,
        /// The providers that can be asked for a refund.
        askable: Vec<ProviderKind>,
    },
    /// Expire a payment whose time is over.
    Expire {
        /// Its number.
        payment_no: String,
    },
    /// Note that a provider was asked for a refund, and what came of that, where it has said nothing about the refund
    /// itself.
    NoteRefund {
        /// The refund.
        refund: Box<AskedRefund>,
        /// What came of it.
        came_of_it: Asked,
    },
    /// Ask a person about money that nobody has asked for in a long time.
    AskAboutUnmatched {
        /// The provider.
        provider: ProviderKind,
        /// The money's identity there.
        provider_payment_id: String,
    },
    /// Ask a person about something that a provider's statement and the books do not agree on, unless that was asked
    /// before.
    AskAboutStatement(Box<StatementQuestion>),
}

/// What a provider's statement and the books do not agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatementQuestion {
    /// In what they differ.
    pub kind: AlertKind,
    /// The same whenever the same is found.
    pub cause: String,
    /// Our number of the payment.
    pub payment_no: Option<String>,
    /// Whose statement it is.
    pub provider: ProviderKind,
    /// The money's identity there.
    pub provider_payment_id: Option<String>,
    /// What the books have.
    pub books: Option<Amount>,
    /// What the statement has.
    pub statement: Option<Amount>,
    /// What a person needs to find it.
    pub detail: String,
}

impl StatementQuestion {
    /// The name that it goes through the door under.
    pub fn door_key(&self) -> Key {
        let parts = [self.provider.word(), self.kind.as_str(), &self.cause];
        Key::of_service("statement", &parts.map(str::as_bytes))
    }
}

/// A verified delivery of a provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallbackCommand {
    /// The endpoint that it came to.
    pub endpoint: String,
    /// The provider.
    pub provider: ProviderKind,
    /// What it says.
    pub notice: Notice,
    /// The hash of that.
    pub fingerprint: DeliveryFingerprint,
    /// Its bytes, to be kept if a person has to look at them.
    pub body: Vec<u8>,
    /// For how long.
    pub body_kept: TimeDelta,
}

impl CallbackCommand {
    /// The name that it goes through the door under: the same for each repetition, another for another content. So a
    /// repetition is answered from its record as long as that is there, and from the delivery's own row for ever.
    pub fn door_key(&self) -> Key {
        let parts = [self.endpoint.as_bytes(), self.notice.delivery_key.as_bytes(), &self.fingerprint.0];
        Key::of_service("callback", &parts)
    }

    /// What the delivery is recorded as.
    pub fn delivery_key(&self, client: ClientId) -> DeliveryKey {
        (client, self.endpoint.clone(), self.notice.delivery_key.clone())
    }

    /// What it is recorded as if its own name is another content's: the space keeps it apart from every provider's name.
    pub fn conflicting_key(&self, client: ClientId) -> DeliveryKey {
        let name = format!("{} {}", self.notice.delivery_key, &self.fingerprint.to_hex()[..16]);
        (client, self.endpoint.clone(), name)
    }

    /// The receipt that it speaks of.
    pub fn receipt_key(&self, client: ClientId) -> Option<ReceiptKey> {
        self.notice.event.payment_id().map(|id| (client, self.provider, id.to_owned()))
    }

    /// The refund that it speaks of, where the provider tells of each by itself.
    pub fn refund_key(&self, client: ClientId) -> Option<ReceiptRefundKey> {
        match &self.notice.event {
            Event::Refunded(refund) if matches!(refund.sum, RefundSum::One(_)) => {
                Some((client, self.provider, payment_callback::refund::refund_id(refund, &self.notice)))
            }
            _ => None,
        }
    }

    /// What raises, or has raised, the alerts about the refund that it speaks of, should that be stuck, fail late, or have been
    /// taken for failed; or about the dispute.
    pub fn alert_causes(&self, client: ClientId) -> Vec<AlertCause> {
        let (kind, causes) = match &self.notice.event {
            Event::Refunded(refund) => {
                let asked = refund.refund_no.as_deref().and_then(AskedRefund::of_refund_no);
                let causes = [
                    stuck_cause(self.provider, refund),
                    failure_cause(self.provider, refund),
                    asked.map(refusal_cause),
                ];
                (AlertKind::RefundAttention, causes)
            }
            event => (AlertKind::Disputed, [dispute_cause(self.provider, event), None, None]),
        };
        causes.into_iter().flatten().map(|cause| (client, kind, cause)).collect()
    }
}

impl PaymentCommand {
    /// The number of the payment that the command names.
    pub fn payment_no(&self) -> Option<&str> {
        match self {
            Self::TakeCallback(callback) => callback.notice.event.payment_no(),
            Self::Expire { payment_no } => Some(payment_no),
            Self::NoteRefund { refund, .. } => refund.payment_no.as_deref(),
            Self::ResolveAlert { .. } | Self::AskAboutUnmatched { .. } | Self::AskAboutStatement(_) => None,
        }
    }

    /// The receipt that the command names.
    pub fn receipt_key(&self, client: ClientId) -> Option<ReceiptKey> {
        match self {
            Self::TakeCallback(callback) => callback.receipt_key(client),
            Self::AskAboutUnmatched { provider, provider_payment_id } => {
                Some((client, *provider, provider_payment_id.clone()))
            }
            Self::NoteRefund { refund, .. } => Some(refund.receipt_key()),
            Self::ResolveAlert { .. } | Self::Expire { .. } | Self::AskAboutStatement(_) => None,
        }
    }
}
