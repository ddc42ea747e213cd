//! What can be asked for. A command is well-formed: whoever made it has checked everything that can be checked
//! without looking at the books.

pub mod payments;

use account::{AccountId, MovementKind, Parties};
use idempotency::{Fingerprint, Name};
use money::{Amount, Currency};
use order::{OrderId, PaymentTerms};

pub use payments::{CallbackCommand, PaymentCommand, StatementQuestion};

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
    /// Place an order.
    PlaceOrder {
        /// The account it is for.
        account_id: AccountId,
        /// The client's own name for it.
        client_order_no: String,
        /// How much.
        amount: Amount,
        /// How it is paid.
        payment: PaymentTerms,
    },
    /// Something that has to do with payments at providers.
    Payment(PaymentCommand),
}

/// What commands meet by: those that have it in common go to one lane, where they are decided one after the other and
/// cannot conflict.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LaneKey<'c> {
    /// The account whose money moves.
    Account(AccountId),
    /// The number of a payment at a provider.
    Payment(&'c str),
    /// Nothing that others have.
    Nothing,
}

impl Command {
    /// The accounts that the command depends on.
    pub fn accounts(&self) -> Vec<AccountId> {
        match self {
            Self::OpenAccount { .. } | Self::Payment(_) => Vec::new(),
            Self::Move { parties, .. } => parties.from().into_iter().chain(parties.to()).collect(),
            Self::CloseAccount { account_id } | Self::PlaceOrder { account_id, .. } => vec![*account_id],
        }
    }

    /// The orders that the command depends on, by id.
    pub fn orders(&self) -> Vec<OrderId> {
        match self {
            Self::OpenAccount { .. }
            | Self::Move { .. }
            | Self::CloseAccount { .. }
            | Self::PlaceOrder { .. }
            | Self::Payment(_) => Vec::new(),
        }
    }

    /// What the command finds its lane by.
    pub fn lane_key(&self) -> LaneKey<'_> {
        match self {
            Self::OpenAccount { .. } => LaneKey::Nothing,
            Self::Move { parties, .. } => {
                parties.from().or(parties.to()).map_or(LaneKey::Nothing, LaneKey::Account)
            }
            Self::CloseAccount { account_id } | Self::PlaceOrder { account_id, .. } => {
                LaneKey::Account(*account_id)
            }
            Self::Payment(command) => command.payment_no().map_or(LaneKey::Nothing, LaneKey::Payment),
        }
    }

    /// The movement reference that the command takes, which is unique per client and kind for ever.
    pub fn reference(&self) -> Option<(MovementKind, &str)> {
        match self {
            Self::Move { parties, reference, .. } => Some((parties.kind(), reference)),
            Self::OpenAccount { .. }
            | Self::CloseAccount { .. }
            | Self::PlaceOrder { .. }
            | Self::Payment(_) => None,
        }
    }

    /// The order number that the command takes, which is unique per client for ever.
    pub fn client_order_no(&self) -> Option<&str> {
        match self {
            Self::PlaceOrder { client_order_no, .. } => Some(client_order_no),
            Self::OpenAccount { .. } | Self::Move { .. } | Self::CloseAccount { .. } | Self::Payment(_) => {
                None
            }
        }
    }
}
