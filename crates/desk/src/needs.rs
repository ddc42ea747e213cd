//! What the commands of a batch need to have loaded, as far as they name it themselves.

use std::collections::BTreeSet;

use account::{Account, Hold};
use client::ClientId;
use inventory::Sku;
use order::{Order, PaymentTerms};
use payment_callback::{Alert, AlertCause, DeliveryKey, Payment, Receipt, ReceiptRefundKey};
use reports::DailyTotal;

use crate::Command;
use crate::command::PaymentCommand;
use crate::versioned::Row;

/// What the commands of a batch need to have loaded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Accounts that the commands name.
    pub accounts: BTreeSet<<Account as Row>::Key>,
    /// Orders that the commands name. Their accounts are loaded with them; of those that wait, holds and skus too.
    pub orders: BTreeSet<<Order as Row>::Key>,
    /// Holds that the commands name. Their accounts are loaded with them.
    pub holds: BTreeSet<<Hold as Row>::Key>,
    /// Skus that the commands name.
    pub skus: BTreeSet<<Sku as Row>::Key>,
    /// Daily totals that the commands may change.
    pub daily_totals: BTreeSet<<DailyTotal as Row>::Key>,
    /// What has to do with payments at providers.
    pub payments: PaymentNeeds,
}

/// What commands need of payments at providers. One leads to another: a receipt to its payment and its alert, a payment
/// to its order.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PaymentNeeds {
    /// Payments, by number.
    pub payments: BTreeSet<<Payment as Row>::Key>,
    /// Numbers that an order asks for: with all receipts that are there under them.
    pub asked_for: BTreeSet<<Payment as Row>::Key>,
    /// Receipts.
    pub receipts: BTreeSet<<Receipt as Row>::Key>,
    /// Alerts, with their receipts.
    pub alerts: BTreeSet<<Alert as Row>::Key>,
    /// Orders of payments. Their accounts are not needed: no money of theirs moves.
    pub orders: BTreeSet<<Order as Row>::Key>,
    /// Deliveries that may have come before.
    pub deliveries: Vec<DeliveryKey>,
    /// Refunds that may have been counted before.
    pub refunds: Vec<ReceiptRefundKey>,
    /// Causes that may have raised their alert before.
    pub causes: Vec<AlertCause>,
    /// What may have raised an alert before, which is needed then.
    pub raised_by: Vec<AlertCause>,
    /// Orders of which something is to be given back: with all receipts of their payments, if they have one.
    pub given_back: BTreeSet<<Order as Row>::Key>,
    /// Whether the refunds that were asked for are needed of each receipt.
    pub asked: bool,
    /// Receipts of which a refund is told: what was asked for of them may be done, and then its items come back.
    pub told: BTreeSet<<Receipt as Row>::Key>,
    /// The skus of those items.
    pub skus: BTreeSet<<Sku as Row>::Key>,
}

impl Needs {
    /// What these commands need.
    pub fn of<'a>(commands: impl Iterator<Item = (ClientId, &'a Command)>) -> Self {
        let mut needs = Self::default();
        for (client, command) in commands {
            needs.accounts.extend(command.accounts().into_iter().map(|account| (client, account)));
            needs.orders.extend(command.order().map(|order| (client, order)));
            needs.holds.extend(command.hold().map(|hold| (client, hold)));
            needs.skus.extend(command.skus().into_iter().map(|sku| (client, sku.clone())));
            if let Command::Report(command) = command {
                needs.daily_totals.extend(command.totals(client));
            }
            needs.payments.add(client, command);
        }
        needs
    }
}

impl PaymentNeeds {
    fn add(&mut self, client: ClientId, command: &Command) {
        let command = match command {
            Command::PlaceOrder { payment: PaymentTerms::Provider { payment_no, .. }, .. } => {
                self.asked_for.insert((client, payment_no.clone()));
                self.payments.insert((client, payment_no.clone()));
                return;
            }
            Command::RefundOrder { order_id, .. } => {
                self.given_back.insert((client, *order_id));
                self.asked = true;
                return;
            }
            Command::Payment(command) => command,
            _ => return,
        };
        self.payments.extend(command.payment_no().map(|number| (client, number.to_owned())));
        self.receipts.extend(command.receipt_key(client));
        match command {
            PaymentCommand::TakeCallback(callback) => {
                self.deliveries.extend([callback.delivery_key(client), callback.conflicting_key(client)]);
                self.refunds.extend(callback.refund_key(client));
                self.raised_by.extend(callback.alert_causes(client));
                if matches!(callback.notice.event, payment_callback::Event::Refunded(_)) {
                    self.asked = true;
                    self.told.extend(callback.receipt_key(client));
                }
            }
            PaymentCommand::ResolveAlert { alert_id, .. } => {
                self.alerts.insert((client, *alert_id));
                self.asked = true;
            }
            PaymentCommand::AskAboutStatement(question) => {
                self.causes.push((client, question.kind, question.cause.clone()));
            }
            PaymentCommand::NoteRefund { .. } => self.asked = true,
            PaymentCommand::Expire { .. } | PaymentCommand::AskAboutUnmatched { .. } => {}
        }
    }
}
