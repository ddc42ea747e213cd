//! The rules of the real desk, asked about a state of the model.

use std::sync::LazyLock;

use account::{Account, AccountId, Origin};
use chrono::DateTime;
use client::ClientId;
use desk::decide::decide;
use desk::ids::Ids;
use desk::working_set::WorkingSet;
use desk::{Command, Outcome, Refusal};
use money::{Amount, Currency};
use order::{OrderId, PaymentTerms};
use uuid::Uuid;

use crate::database::Decision;
use crate::state::{Decided, Loaded};

const CLIENT: ClientId = ClientId(Uuid::nil());
const ACCOUNT: AccountId = AccountId(Uuid::nil());

/// A currency without fraction digits, so that the model's small numbers are its amounts.
static YEN: LazyLock<Currency> = LazyLock::new(|| Currency::from_code("JPY").expect("a currency"));

/// Decides orders of these amounts and numbers, one after the other, on what was loaded.
pub fn decide_all(asked: &[(u8, u8)], loaded: &Loaded) -> Decided {
    let mut set = WorkingSet::default();
    set.accounts.load(Account {
        available: yen(loaded.available),
        version: loaded.version.into(),
        ..Account::open(CLIENT, ACCOUNT, "owner".to_owned(), *YEN, DateTime::UNIX_EPOCH)
    });
    for ((_, number), taken) in asked.iter().zip(&loaded.numbers_taken) {
        if *taken {
            set.taken.order_numbers.insert((CLIENT, number.to_string()), OrderId(Uuid::nil()));
        }
    }
    let mut ids = Ids::beginning_with(Uuid::nil());
    let decisions = asked.iter().map(|(amount, number)| {
        let command = Command::PlaceOrder {
            account_id: ACCOUNT,
            client_order_no: number.to_string(),
            amount: yen(*amount),
            items: Vec::new(),
            payment: PaymentTerms::Balance,
        };
        let decision = decide(&set, CLIENT, &command, &mut ids, DateTime::UNIX_EPOCH);
        set.apply(decision.changes, &Origin::Service);
        match decision.outcome {
            Outcome::OrderPlaced { .. } => Decision::Placed,
            Outcome::Refused(Refusal::InsufficientFunds { .. }) => Decision::NotEnough,
            Outcome::Refused(Refusal::DuplicateOrderNo(_)) => Decision::NumberTaken,
            other => panic!("no request of the model comes to {other:?}"),
        }
    });
    let decisions = decisions.collect();
    let account = set.account(CLIENT, ACCOUNT).expect("it was loaded");
    let available = account.available.to_string().parse().expect("a small number of yen");
    let version = u8::try_from(account.version).expect("few changes");
    Decided { decisions, version_read: loaded.version, account: (available, version), to_save: Vec::new() }
}

fn yen(amount: u8) -> Amount {
    Amount::parse(&amount.to_string(), *YEN).expect("an amount of yen")
}
