//! A refund that a provider is asked for, and what becomes of it.
//!
//! What it moves is booked when the provider says that the money is back, by whichever way it says so first: its callback,
//! its answer, or its answer to being asked again. A row of this kind counts what is on its way, so that no more is asked
//! for than is left, and keeps the number under which it is asked for.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use order::{OrderId, RefundId, RefundStep};
use uuid::Uuid;

use crate::case::{ANSWERED, Case, Raised};
use crate::receipt::minor;
use crate::{AlertAction, AlertKind, ProviderKind, Receipt, ReceiptKey, Refund, RefundOutcome};

/// How far a refund is that a provider is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AskedStatus {
    /// It is to be asked for, or under way.
    Pending,
    /// It was asked for and nobody knows what came of it: it is asked about, under the same number.
    Unknown,
    /// The payer has the money.
    Succeeded,
    /// The provider has not done it, and will not.
    Failed,
}

impl AskedStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Unknown, Self::Succeeded, Self::Failed];

    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Unknown => "unknown",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A refund that a provider is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedRefund {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity; that of the order's refund, if it is one.
    pub id: RefundId,
    /// The provider that has the money.
    pub provider: ProviderKind,
    /// The identity, there, of the money that was paid.
    pub provider_payment_id: String,
    /// Our number of the payment, if the money came under one.
    pub payment_no: Option<String>,
    /// The order whose money it was; none, if it has paid no order and is owed back.
    pub order_id: Option<OrderId>,
    /// How much; more than zero.
    pub amount: Amount,
    /// How much was paid in all, of which it is a part.
    pub paid: Amount,
    /// How far it is.
    pub status: AskedStatus,
    /// The provider's id of it, where refunds have one and it is known.
    pub provider_refund_id: Option<String>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Whether its items are back in stock. That happens once: when it succeeds, unless the order does not have them all any
    /// more by then.
    pub items_back: bool,
    /// How much its provider had told of as given back, of this money, when it was asked for: of that total it is no part.
    pub told_before: Amount,
    /// How many changes it has seen, its making the first.
    pub version: i64,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl AskedRefund {
    /// The number under which the provider is asked for it, for ever.
    pub fn refund_no(&self) -> String {
        self.id.0.simple().to_string()
    }

    /// The refund that is asked for under this number, if it can be one of ours.
    pub fn of_refund_no(refund_no: &str) -> Option<RefundId> {
        let id = Uuid::try_parse(refund_no).ok()?;
        (id.simple().to_string() == refund_no).then_some(RefundId(id))
    }

    /// The receipt whose money it is.
    pub fn receipt_key(&self) -> ReceiptKey {
        (self.client_id, self.provider, self.provider_payment_id.clone())
    }

    /// Whether the provider may still give the money back.
    pub fn is_open(&self) -> bool {
        matches!(self.status, AskedStatus::Pending | AskedStatus::Unknown)
    }
}

/// Why a provider is not asked for a refund.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotAsked {
    /// So much is left of what was paid, with what is on its way taken off.
    NothingLeft {
        /// What is left.
        refundable: Amount,
    },
    /// It cannot be told: the provider has told a total, and not whether refunds that are on their way are a part of it, or
    /// come on top. It is known as soon as they are over.
    Undecided,
}

/// What came of asking, where the provider has said nothing about the refund itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// There was no answer that we can use: it may have happened.
    Unanswered,
    /// The provider said no, for this reason.
    Refused(String),
}

impl Asked {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unanswered => "unanswered",
            Self::Refused(_) => "refused",
        }
    }
}

impl Case<'_> {
    /// Asks for a refund of the money that has paid the case's order.
    ///
    /// # Errors
    ///
    /// If no receipt of it has so much left, or that cannot be told yet.
    ///
    /// # Panics
    ///
    /// If the case has no order.
    pub fn ask_order_refund(&mut self, id: RefundId, amount: Amount) -> Result<AskedRefund, NotAsked> {
        let order_id = self.order().expect("an order's refund is asked for with the order").id;
        let left = |receipt: &Receipt| {
            let key = receipt.key();
            let (applied, received) =
                receipt.funds.map_or((0, 0), |funds| (minor(funds.applied), minor(funds.received)));
            // What the provider says has gone back is gone, also where its word does not fit and is not booked.
            applied.min(received - self.succeeded_of(&key)) - self.open_of_orders(&key)
        };
        let best =
            self.receipt_keys().into_iter().filter_map(|key| self.receipt(&key)).max_by_key(|one| left(one));
        let (receipt, left) = match best {
            Some(receipt) => (Some(receipt.clone()), left(receipt).max(0)),
            None => (None, 0),
        };
        match receipt {
            Some(receipt) if minor(amount) <= left => {
                Ok(self.ask_provider(id, &receipt, amount, Some(order_id)))
            }
            Some(receipt) if minor(amount) <= left + self.counted_twice_at_most(&receipt) => {
                Err(NotAsked::Undecided)
            }
            _ => {
                let refundable = Amount::from_minor_units(left.unsigned_abs(), amount.currency());
                Err(NotAsked::NothingLeft { refundable: refundable.expect("a part of an amount") })
            }
        }
    }

    /// How much of what is on its way, in minor units, may be a part of the total that the provider has told of, and is then
    /// taken off twice.
    fn counted_twice_at_most(&self, receipt: &Receipt) -> i128 {
        let Some(funds) = receipt.funds.filter(|_| receipt.provider.tells_totals()) else { return 0 };
        let key = receipt.key();
        let unexplained = minor(funds.refund_told) - self.told_at_least(&key);
        unexplained.clamp(0, self.open_of_orders(&key))
    }

    /// Asks for what is owed back of a receipt's money.
    pub(crate) fn ask_owed_back(&mut self, receipt: &Receipt, amount: Amount) {
        let id = RefundId(self.new_id());
        self.ask_provider(id, receipt, amount, None);
    }

    fn ask_provider(
        &mut self,
        id: RefundId,
        receipt: &Receipt,
        amount: Amount,
        order_id: Option<OrderId>,
    ) -> AskedRefund {
        let asked = AskedRefund {
            client_id: self.client_id,
            id,
            provider: receipt.provider,
            provider_payment_id: receipt.provider_payment_id.clone(),
            payment_no: receipt.payment_no.clone(),
            order_id,
            amount,
            paid: receipt.funds.map_or(amount, |funds| funds.received),
            status: AskedStatus::Pending,
            provider_refund_id: None,
            failure: None,
            items_back: false,
            told_before: receipt.funds.map_or(Amount::zero(amount.currency()), |funds| funds.refund_told),
            version: 1,
            created_at: self.now,
            updated_at: self.now,
        };
        self.set_asked(asked.clone());
        asked
    }

    /// The sum, in minor units, of what is on its way of the money that has paid orders.
    fn open_of_orders(&self, key: &ReceiptKey) -> i128 {
        let open = self.asked_of(key).filter(|asked| asked.is_open() && asked.order_id.is_some());
        open.map(|asked| minor(asked.amount)).sum()
    }

    /// The same of the money that is owed back.
    pub(crate) fn open_of_owed(&self, key: &ReceiptKey) -> i128 {
        let open = self.asked_of(key).filter(|asked| asked.is_open() && asked.order_id.is_none());
        open.map(|asked| minor(asked.amount)).sum()
    }

    /// The sum, in minor units, of what is known to have gone back of what was asked for.
    pub(crate) fn succeeded_of(&self, key: &ReceiptKey) -> i128 {
        let done = self.asked_of(key).filter(|asked| asked.status == AskedStatus::Succeeded);
        done.map(|asked| minor(asked.amount)).sum()
    }

    /// How much must have gone back of a receipt's money, in minor units, by what was asked for and what had been told of
    /// before: whatever was asked for since a total was told of, and is done, comes on top of that total.
    pub(crate) fn told_at_least(&self, key: &ReceiptKey) -> i128 {
        let from = |before: i128| {
            let since = self.asked_of(key).filter(|asked| minor(asked.told_before) >= before);
            let done = since.filter(|asked| asked.status == AskedStatus::Succeeded);
            before + done.map(|asked| minor(asked.amount)).sum::<i128>()
        };
        self.asked_of(key).map(|asked| from(minor(asked.told_before))).max().unwrap_or(0)
    }

    /// The refund that a provider tells of, if it is one that it was asked for.
    pub(crate) fn asked_by_us(&self, told: &Refund) -> Option<&AskedRefund> {
        let names = |asked: &&AskedRefund| {
            told.refund_no.as_deref() == Some(asked.refund_no().as_str())
                || (told.refund_id.is_some() && told.refund_id == asked.provider_refund_id)
        };
        let key = told.payment_id.as_str();
        self.all_asked().filter(|asked| asked.provider_payment_id == key).find(names)
    }

    /// Takes in what a provider says of a refund, if it is one that it was asked for: whatever else it said of it before.
    pub fn end_asked(&mut self, told: &Refund) {
        let found = self.asked_by_us(told);
        // That the money is back is true also where an answer before it was taken for a refusal.
        let is_back = told.outcome == RefundOutcome::Succeeded;
        let ends = |asked: &&AskedRefund| asked.is_open() || (is_back && asked.status == AskedStatus::Failed);
        let Some(asked) = found.filter(ends).cloned() else { return };
        let provider_refund_id = told.refund_id.clone().or(asked.provider_refund_id.clone());
        let asked = AskedRefund { provider_refund_id, ..asked };
        match told.outcome {
            RefundOutcome::Succeeded => self.succeed_asked(asked),
            RefundOutcome::Closed => self.fail_asked(asked, "closed by the provider".to_owned()),
            // It is not over: a person acts at the provider.
            RefundOutcome::Abnormal => self.set_asked(AskedRefund { status: AskedStatus::Pending, ..asked }),
        }
    }

    /// Notes that the provider was asked for a refund, and what came of that. Answers with the refund if that is new.
    pub fn note_asked(&mut self, id: RefundId, came_of_it: &Asked) -> Option<AskedRefund> {
        let asked = self.all_asked().find(|asked| asked.id == id).cloned()?;
        match (came_of_it, asked.status) {
            (Asked::Unanswered, AskedStatus::Pending) => {
                self.set_asked(AskedRefund { status: AskedStatus::Unknown, ..asked });
            }
            (Asked::Refused(why), AskedStatus::Pending | AskedStatus::Unknown) => {
                self.fail_asked(asked, why.clone())
            }
            (_, AskedStatus::Unknown | AskedStatus::Succeeded | AskedStatus::Failed) => return None,
        }
        self.all_asked().find(|asked| asked.id == id).cloned()
    }

    /// The payer has the money, so its items are back too, with the version of the order that tells of it; and nobody has to
    /// act any more, if it was taken for failed.
    fn succeed_asked(&mut self, asked: AskedRefund) {
        let items_back = asked.items_back || self.bring_items_back(&asked);
        let id = asked.id;
        self.set_asked(AskedRefund { status: AskedStatus::Succeeded, failure: None, items_back, ..asked });
        self.note_step(id, RefundStep::Done);
        if let Some(alert) = self.alert_of(&refusal_cause(id)).map(|alert| alert.id) {
            self.end_alert(alert, AlertAction::Superseded, "service", ANSWERED.to_owned());
        }
    }

    /// It is not given back. The money is where it was, its items stay sold, and a person is asked.
    fn fail_asked(&mut self, asked: AskedRefund, why: String) {
        let key = asked.receipt_key();
        let (id, amount) = (asked.id, asked.amount);
        self.note_step(id, RefundStep::Failed);
        let detail = format!("the provider does not give back what it was asked for: {why}");
        self.set_asked(AskedRefund { status: AskedStatus::Failed, failure: Some(why), ..asked });
        let Some(mut receipt) = self.receipt(&key).cloned() else { return };
        // Beside what is asked about the receipt itself.
        let own = receipt.open_alert.take();
        self.raise(Raised {
            kind: AlertKind::RefundAttention,
            cause: refusal_cause(id),
            receipt: &mut receipt,
            expected: Some(amount),
            received: None,
            detail: Some(detail),
        });
        receipt.open_alert = own;
        self.set_receipt(receipt);
    }
}

/// What raises the alert about a refund that its provider does not give.
pub fn refusal_cause(id: RefundId) -> String {
    format!("refund:{id}")
}
