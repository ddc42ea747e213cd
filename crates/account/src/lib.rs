//! Accounts, the double-entry journal, and the rules that move money.
//!
//! Money only moves from one account to another, so nothing here creates or destroys any. In reading order:
//!
//! - [`account`]: a customer's account, its figures, and the rules that change them;
//! - [`collecting`]: the accounts that only collect (the world outside, revenue), which nobody contends for;
//! - [`journal`]: the rows that debit one account and credit another by the same amount;
//! - [`movement`]: deposits, withdrawals and transfers;
//! - [`hold`]: money that is frozen, until it is taken or given back;
//! - [`origin`]: at whose word something was done;
//! - [`store`]: the SQL of this crate's tables.
//!
//! Rules are pure functions: time and new ids come in as arguments, and a rule answers with the accounts as
//! they shall be, or with a refusal. This crate must not know orders, idempotency, or HTTP.

pub mod account;
pub mod collecting;
pub mod hold;
pub mod journal;
pub mod movement;
pub mod origin;
pub mod store;

pub use account::{Account, AccountId, AccountStatus, CloseRefusal, CreditRefusal, DebitRefusal};
pub use collecting::{Collecting, CollectingName};
pub use hold::{Hold, HoldCapture, HoldId, HoldPurpose, HoldStatus};
pub use journal::{Cause, Entry, EntryId, EntryKind, Side};
pub use movement::{Moved, Movement, MovementId, MovementKind, Parties};
pub use origin::Origin;
