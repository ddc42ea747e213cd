//! What can be asked for. A command is well-formed: whoever made it has checked everything that can be checked
//! without looking at the books.

pub mod notifications;
pub mod payments;
pub mod reports;

use account::{AccountId, HoldId, MovementKind, Parties};
use chrono::NaiveDate;
use client::ClientId;
use idempotency::{Fingerprint, Name};
use inventory::{SkuCode, SkuTerms};
use money::{Amount, Currency};
use order::{ItemWanted, OrderId, PaymentTerms};
use payment_callback::ProviderKind;
use uuid::Uuid;

pub use notifications::NotificationCommand;
pub use payments::{CallbackCommand, PaymentCommand, StatementQuestion};
pub use reports::ReportCommand;

/// A command, with the name it is asked under.
#[derive(Clone, Debug)]
pub struct Request {
    /// The client and its idempotency key.
    pub name: Name,
    /// The hash of what exactly is asked.
    pub fingerprint: Fingerprint,
    /// Method and path template, such as `POST /v1/orders`.
    pub operation: &'static str,
    /// What is asked.
    pub command: Command,
    /// The id of the request that asks: it stands in the problem document of a refusal.
    pub request_id: String,
}

/// An effect that can be asked for. Amounts are more than zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Open an account.
    OpenAccount {
        /// The client's own name for the holder, 1–64 characters.
        owner: String,
        /// The currency it shall hold.
        currency: Currency,
    },
    /// Move money at the client's word.
    Move {
        /// Between whom. A transfer names two different accounts.
        parties: Parties,
        /// How much.
        amount: Amount,
        /// The client's own name for it.
        reference: String,
    },
    /// Close an account.
    CloseAccount {
        /// Which one.
        account_id: AccountId,
    },
    /// Freeze money of an account.
    PlaceHold {
        /// The account.
        account_id: AccountId,
        /// How much.
        amount: Amount,
        /// The client's own name for it.
        reference: String,
        /// For how long, in seconds; until it is taken or given back, if nothing is said.
        expires_in_s: Option<u32>,
    },
    /// Take frozen money.
    CaptureHold {
        /// The hold.
        hold_id: HoldId,
        /// Its account, if whoever asks knows it: only to choose a lane.
        account_id: Option<AccountId>,
        /// How much, and whether it is the last.
        terms: CaptureTerms,
    },
    /// Give frozen money back.
    ReleaseHold {
        /// The hold.
        hold_id: HoldId,
        /// Its account, if whoever asks knows it: only to choose a lane.
        account_id: Option<AccountId>,
    },
    /// Give frozen money back, because its time is over.
    ExpireHold {
        /// The hold.
        hold_id: HoldId,
        /// Its account, if whoever asks knows it: only to choose a lane.
        account_id: Option<AccountId>,
    },
    /// Place an order.
    PlaceOrder {
        /// The account it is for.
        account_id: AccountId,
        /// The client's own name for it.
        client_order_no: String,
        /// How much.
        amount: Amount,
        /// What is ordered, item by item, if the client says so. No sku comes twice.
        items: Vec<ItemWanted>,
        /// How it is paid.
        payment: PaymentTerms,
    },
    /// Take what was frozen for an order.
    CaptureOrder {
        /// The order.
        order_id: OrderId,
        /// Its account, if whoever asks knows it: only to choose a lane.
        account_id: Option<AccountId>,
        /// How much, and whether it is the last.
        terms: CaptureTerms,
    },
    /// Call an order off.
    CancelOrder {
        /// The order.
        order_id: OrderId,
        /// Its account, if whoever asks knows it: only to choose a lane.
        account_id: Option<AccountId>,
    },
    /// End an order whose time is over.
    ExpireOrder {
        /// The order.
        order_id: OrderId,
        /// Its account, if whoever asks knows it: only to choose a lane.
        account_id: Option<AccountId>,
    },
    /// Give money of an order back.
    RefundOrder {
        /// The order.
        order_id: OrderId,
        /// Its account, if whoever asks knows it: only to choose a lane.
        account_id: Option<AccountId>,
        /// How much; nothing is said only of an order that the client does not have.
        amount: Option<Amount>,
        /// The client's own name for it.
        reference: String,
        /// The providers that can be asked for a refund.
        askable: Vec<ProviderKind>,
        /// What comes back to the stock with it. No sku comes twice.
        items: Vec<ItemWanted>,
    },
    /// Make a sku, or set its price and total.
    SetSku {
        /// The client's own name for it.
        code: SkuCode,
        /// Its price and total.
        terms: SkuTerms,
        /// What the sku must be for it to be set.
        condition: SkuCondition,
    },
    /// Something that has to do with payments at providers.
    Payment(PaymentCommand),
    /// Something that has to do with reports.
    Report(ReportCommand),
    /// An event that endpoints are to be told of.
    Notify(Box<NotificationCommand>),
}

/// What is to be taken of a hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureTerms {
    /// How much; all that is left, if nothing is said.
    pub amount: Option<Amount>,
    /// Whether it is the last capture, after which the rest is given back.
    pub last: bool,
    /// The client's own name for it.
    pub reference: Option<String>,
}

/// What a sku must be for it to be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SkuCondition {
    /// Anything, or not there.
    Any,
    /// There, in any version.
    Exists,
    /// There, in one of these versions.
    OneOf(Vec<i64>),
    /// Not there.
    New,
}

/// What commands meet by: those that have it in common go to one lane, where they are decided one after the other and
/// cannot conflict.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LaneKey<'c> {
    /// The account whose money moves.
    Account(AccountId),
    /// A sku that is ordered: it may be hot, and the accounts of those who order it are many.
    Sku(&'c SkuCode),
    /// The number of a payment at a provider.
    Payment(&'c str),
    /// A client's totals of a day: whatever is counted changes them.
    Day(ClientId, NaiveDate),
    /// The hold or order itself, where its account is not known.
    Subject(Uuid),
    /// Nothing: any lane will do.
    Nothing,
}

impl Command {
    /// The accounts that the command names.
    pub fn accounts(&self) -> Vec<AccountId> {
        match self {
            Self::OpenAccount { .. }
            | Self::SetSku { .. }
            | Self::Payment(_)
            | Self::Report(_)
            | Self::Notify(_) => Vec::new(),
            Self::Move { parties, .. } => parties.from().into_iter().chain(parties.to()).collect(),
            Self::CloseAccount { account_id }
            | Self::PlaceHold { account_id, .. }
            | Self::PlaceOrder { account_id, .. } => vec![*account_id],
            // Their hold or order leads to it.
            Self::CaptureHold { .. }
            | Self::ReleaseHold { .. }
            | Self::ExpireHold { .. }
            | Self::CaptureOrder { .. }
            | Self::CancelOrder { .. }
            | Self::ExpireOrder { .. }
            | Self::RefundOrder { .. } => Vec::new(),
        }
    }

    /// The order that the command depends on.
    pub fn order(&self) -> Option<OrderId> {
        match self {
            Self::CaptureOrder { order_id, .. }
            | Self::CancelOrder { order_id, .. }
            | Self::ExpireOrder { order_id, .. }
            | Self::RefundOrder { order_id, .. } => Some(*order_id),
            Self::OpenAccount { .. }
            | Self::Move { .. }
            | Self::CloseAccount { .. }
            | Self::PlaceHold { .. }
            | Self::CaptureHold { .. }
            | Self::ReleaseHold { .. }
            | Self::ExpireHold { .. }
            | Self::PlaceOrder { .. }
            | Self::SetSku { .. }
            | Self::Payment(_)
            | Self::Report(_)
            | Self::Notify(_) => None,
        }
    }

    /// The hold that the command depends on.
    pub fn hold(&self) -> Option<HoldId> {
        match self {
            Self::CaptureHold { hold_id, .. }
            | Self::ReleaseHold { hold_id, .. }
            | Self::ExpireHold { hold_id, .. } => Some(*hold_id),
            Self::OpenAccount { .. }
            | Self::Move { .. }
            | Self::CloseAccount { .. }
            | Self::PlaceHold { .. }
            | Self::PlaceOrder { .. }
            | Self::CaptureOrder { .. }
            | Self::CancelOrder { .. }
            | Self::ExpireOrder { .. }
            | Self::RefundOrder { .. }
            | Self::SetSku { .. }
            | Self::Payment(_)
            | Self::Report(_)
            | Self::Notify(_) => None,
        }
    }

    /// The skus that the command names.
    pub fn skus(&self) -> Vec<&SkuCode> {
        match self {
            Self::PlaceOrder { items, .. } | Self::RefundOrder { items, .. } => {
                items.iter().map(|item| &item.sku).collect()
            }
            Self::SetSku { code, .. } => vec![code],
            Self::OpenAccount { .. }
            | Self::Move { .. }
            | Self::CloseAccount { .. }
            | Self::PlaceHold { .. }
            | Self::CaptureHold { .. }
            | Self::ReleaseHold { .. }
            | Self::ExpireHold { .. }
            | Self::CaptureOrder { .. }
            | Self::CancelOrder { .. }
            | Self::ExpireOrder { .. }
            | Self::Payment(_)
            | Self::Report(_)
            | Self::Notify(_) => Vec::new(),
        }
    }

    /// What the command, of this client, finds its lane by.
    pub fn lane_key(&self, client: ClientId) -> LaneKey<'_> {
        let known = |account: &Option<AccountId>, subject: Uuid| {
            account.map_or(LaneKey::Subject(subject), LaneKey::Account)
        };
        match self {
            Self::OpenAccount { .. } | Self::Notify(_) => LaneKey::Nothing,
            Self::Move { parties, .. } => {
                parties.from().or(parties.to()).map_or(LaneKey::Nothing, LaneKey::Account)
            }
            Self::CloseAccount { account_id } | Self::PlaceHold { account_id, .. } => {
                LaneKey::Account(*account_id)
            }
            Self::PlaceOrder { account_id, items, .. } => match items.iter().map(|item| &item.sku).min() {
                Some(sku) => LaneKey::Sku(sku),
                None => LaneKey::Account(*account_id),
            },
            Self::CaptureHold { hold_id, account_id, .. }
            | Self::ReleaseHold { hold_id, account_id }
            | Self::ExpireHold { hold_id, account_id } => known(account_id, hold_id.0),
            Self::CaptureOrder { order_id, account_id, .. }
            | Self::CancelOrder { order_id, account_id }
            | Self::ExpireOrder { order_id, account_id }
            | Self::RefundOrder { order_id, account_id, .. } => known(account_id, order_id.0),
            Self::SetSku { code, .. } => LaneKey::Sku(code),
            Self::Payment(command) => command.payment_no().map_or(LaneKey::Nothing, LaneKey::Payment),
            Self::Report(command) => LaneKey::Day(client, command.day()),
        }
    }

    /// The movement reference that the command takes, which is unique per client and kind for ever.
    pub fn reference(&self) -> Option<(MovementKind, &str)> {
        match self {
            Self::Move { parties, reference, .. } => Some((parties.kind(), reference)),
            _ => None,
        }
    }

    /// The reference that the command takes among the client's holds, for ever.
    pub fn hold_reference(&self) -> Option<&str> {
        match self {
            Self::PlaceHold { reference, .. } => Some(reference),
            _ => None,
        }
    }

    /// The reference that the command takes among the captures of a hold, for ever. An order's hold has its id.
    pub fn capture_reference(&self) -> Option<(HoldId, &str)> {
        let (hold, terms) = match self {
            Self::CaptureHold { hold_id, terms, .. } => (*hold_id, terms),
            Self::CaptureOrder { order_id, terms, .. } => (HoldId(order_id.0), terms),
            _ => return None,
        };
        terms.reference.as_deref().map(|reference| (hold, reference))
    }

    /// The reference that the command takes among the client's refunds, for ever.
    pub fn refund_reference(&self) -> Option<&str> {
        match self {
            Self::RefundOrder { reference, .. } => Some(reference),
            _ => None,
        }
    }

    /// The order number that the command takes, which is unique per client for ever.
    pub fn client_order_no(&self) -> Option<&str> {
        match self {
            Self::PlaceOrder { client_order_no, .. } => Some(client_order_no),
            _ => None,
        }
    }
}
