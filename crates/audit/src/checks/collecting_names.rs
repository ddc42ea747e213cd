//! What the collecting accounts are called. There are a few for each client, so they are the one thing that the checks
//! keep.

use std::collections::HashMap;

use uuid::Uuid;

use crate::row::Row;
use crate::vocabulary::Code;

/// The collecting accounts that there are.
#[derive(Debug, Default)]
pub struct CollectingNames(HashMap<(Uuid, Uuid), (Box<str>, Code)>);

impl CollectingNames {
    /// Keeps the row, if it is that of a collecting account. All of them come before what refers to them.
    pub fn see(&mut self, row: &Row<'_>) {
        if let Row::CollectingAccount(account) = row {
            let named = (account.name.into(), Code::of(account.currency));
            self.0.insert((account.client_id, account.account_id), named);
        }
    }

    /// The name and the currency of a client's collecting account.
    pub fn find(&self, client: Uuid, account: Uuid) -> Option<(&str, Code)> {
        self.0.get(&(client, account)).map(|(name, currency)| (&**name, *currency))
    }
}
