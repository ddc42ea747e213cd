//! Reading payments, receipts and alerts, and what they lead to.
//!
//! Which receipts there are under a number is asked after the number's payment was read: whoever adds a receipt changes
//! the payment's version, so one that is added later is noticed when the batch is saved.

use inventory::Sku;
use order::Refund;
use payment_callback::store::{alerts, asked_refunds, deliveries, payments, receipts};
use payment_callback::{Alert, AskedRefund, Payment, Receipt};

use super::ask;
use crate::connection::LaneConnection;
use crate::fault::{Conflict, Fault};
use crate::needs::PaymentNeeds;
use crate::versioned::Row;
use crate::working_set::WorkingSet;

/// Reads, without a lock, what the commands name and what that leads to, and adds to `needs` what was found.
pub(super) async fn follow_names(
    connection: &mut LaneConnection,
    needs: &mut PaymentNeeds,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    payments_of_orders(needs, set);
    let given_back = needs.given_back.iter().filter_map(|key| set.orders.get(key));
    let numbers = given_back.filter_map(|order| Some((order.client_id, order.payment_no.clone()?)));
    needs.asked_for.extend(numbers);
    if !needs.raised_by.is_empty() {
        let causes = &needs.raised_by;
        let raised = ask(connection, async |connection| alerts::raised_by(connection, causes).await).await?;
        needs.alerts.extend(raised);
    }
    let read = load_alerts(connection, &needs.alerts.iter().cloned().collect::<Vec<_>>(), false).await?;
    receipts_of_alerts(needs, &read);
    read.into_iter().for_each(|alert| set.alerts.load(alert));

    let keys: Vec<_> = needs.receipts.iter().cloned().collect();
    follow_receipts(needs, load_receipts(connection, &keys, false).await?, set);

    let keys: Vec<_> = needs.payments.iter().cloned().collect();
    let read = load_payments(connection, &keys, false).await?;
    let requests = read.iter().filter_map(|payment| Some((payment.client_id, payment.request?.order_id)));
    needs.orders.extend(requests);
    read.into_iter().for_each(|payment| set.payments.load(payment));

    let keys: Vec<_> = needs.orders.iter().filter(|key| set.orders.get(key).is_none()).copied().collect();
    if !keys.is_empty() {
        let orders =
            ask(connection, async |connection| order::store::load(connection, &keys, false).await).await?;
        orders.into_iter().for_each(|order| set.orders.load(order));
    }

    let keys = receipts_under_numbers(connection, needs, set).await?;
    follow_receipts(needs, load_receipts(connection, &keys, false).await?, set);

    let keys: Vec<_> = needs.alerts.iter().filter(|key| set.alerts.get(key).is_none()).copied().collect();
    let read = load_alerts(connection, &keys, false).await?;
    read.into_iter().for_each(|alert| set.alerts.load(alert));

    let told: Vec<_> = needs.told.iter().filter(|key| set.receipts.get(key).is_some()).cloned().collect();
    let asked = load_asked(connection, &told).await?;
    let refunds = load_refunds_of_orders(connection, asked.iter().filter(|asked| !asked.items_back)).await?;
    needs.skus.extend(skus_of(&refunds));
    Ok(())
}

/// Reads again, with locks and in their order, what [`follow_names`] has found.
///
/// # Errors
///
/// A conflict, if a row names another by now that was not found before: the batch begins anew.
pub(super) async fn load_locked(
    connection: &mut LaneConnection,
    needs: &mut PaymentNeeds,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    let keys: Vec<_> = needs.payments.iter().cloned().collect();
    let read = load_payments(connection, &keys, true).await?;
    read.into_iter().for_each(|payment| set.payments.load(payment));
    let late = receipts_under_numbers(connection, needs, set).await?;
    needs.receipts.extend(late);
    let keys: Vec<_> = needs.receipts.iter().cloned().collect();
    let read = load_receipts(connection, &keys, true).await?;
    read.into_iter().for_each(|receipt| set.receipts.load(receipt));
    let keys: Vec<_> = needs.alerts.iter().copied().collect();
    let read = load_alerts(connection, &keys, true).await?;
    read.into_iter().for_each(|alert| set.alerts.load(alert));
    if is_complete(set) { Ok(()) } else { Err(Fault::Conflict(Conflict::VersionMoved)) }
}

/// Which of the deliveries, refunds and causes that the commands bring are known; a row that is added meanwhile is a unique
/// violation. And the refunds that were asked for of the receipts; who makes or changes one meanwhile changes its receipt.
pub(super) async fn look_for_taken_keys(
    connection: &mut LaneConnection,
    needs: &PaymentNeeds,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    if !needs.deliveries.is_empty() {
        let keys = &needs.deliveries;
        let known = ask(connection, async |connection| deliveries::known(connection, keys).await).await?;
        set.deliveries.extend(known);
    }
    if !needs.refunds.is_empty() {
        let keys = &needs.refunds;
        let known =
            ask(connection, async |connection| receipts::refunds_known(connection, keys).await).await?;
        set.refunds_known.extend(known.into_iter().map(|refund| (refund.key(), refund)));
    }
    if !needs.causes.is_empty() {
        let causes = &needs.causes;
        let known =
            ask(connection, async |connection| alerts::causes_known(connection, causes).await).await?;
        set.causes_known.extend(known);
    }
    if needs.asked {
        look_for_asked(connection, needs, set).await?;
    }
    Ok(())
}

/// Reads the refunds that were asked for of the receipts that were read, and what their orders know of them.
async fn look_for_asked(
    connection: &mut LaneConnection,
    needs: &PaymentNeeds,
    set: &mut WorkingSet,
) -> Result<(), Fault> {
    let keys: Vec<_> = set.receipts.iter().map(Row::key).collect();
    let asked = load_asked(connection, &keys).await?;
    let refunds = load_refunds_of_orders(connection, asked.iter()).await?;
    // One that was asked for since its receipt was read: then the receipt has changed as well.
    let may_be_done = |refund: &&Refund| {
        let asked = asked.iter().find(|asked| (asked.client_id, asked.id) == (refund.client_id, refund.id));
        asked.is_some_and(|asked| !asked.items_back && needs.told.contains(&asked.receipt_key()))
    };
    if skus_of(refunds.iter().filter(may_be_done)).any(|sku| set.skus.get(&sku).is_none()) {
        return Err(Fault::Conflict(Conflict::VersionMoved));
    }
    asked.into_iter().for_each(|asked| set.asked.load(asked));
    set.refunds_of_orders.extend(refunds.into_iter().map(|refund| ((refund.client_id, refund.id), refund)));
    Ok(())
}

/// Whether everything that the rows name was loaded too.
fn is_complete(set: &WorkingSet) -> bool {
    let has_order = |payment: &Payment| {
        payment.request.is_none_or(|request| set.order(payment.client_id, request.order_id).is_some())
    };
    let has_payment_and_alert = |receipt: &Receipt| {
        let payment = receipt.payment_no.clone().map(|number| (receipt.client_id, number));
        payment.is_none_or(|key| set.payments.get(&key).is_some())
            && receipt.open_alert.is_none_or(|alert| set.alerts.get(&(receipt.client_id, alert)).is_some())
    };
    set.payments.iter().all(has_order) && set.receipts.iter().all(has_payment_and_alert)
}

fn payments_of_orders(needs: &mut PaymentNeeds, set: &WorkingSet) {
    let numbers = set.orders.iter().filter_map(|order| Some((order.client_id, order.payment_no.clone()?)));
    needs.payments.extend(numbers);
}

fn receipts_of_alerts(needs: &mut PaymentNeeds, read: &[Alert]) {
    for alert in read {
        needs.payments.extend(alert.payment_no.clone().map(|number| (alert.client_id, number)));
        needs.receipts.extend(alert.receipt_key());
    }
}

/// What the receipts under the numbers that orders ask for are known by, of those numbers that are there.
async fn receipts_under_numbers(
    connection: &mut LaneConnection,
    needs: &PaymentNeeds,
    set: &WorkingSet,
) -> Result<Vec<<Receipt as Row>::Key>, Fault> {
    let there = needs.asked_for.iter().filter(|number| set.payments.get(number).is_some());
    let numbers: Vec<_> = there.cloned().collect();
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    ask(connection, async |connection| receipts::keys_of_payments(connection, &numbers).await).await
}

fn follow_receipts(needs: &mut PaymentNeeds, read: Vec<Receipt>, set: &mut WorkingSet) {
    for receipt in read {
        needs.receipts.insert(receipt.key());
        needs.payments.extend(receipt.payment_no.clone().map(|number| (receipt.client_id, number)));
        needs.alerts.extend(receipt.open_alert.map(|alert| (receipt.client_id, alert)));
        set.receipts.load(receipt);
    }
}

async fn load_asked(
    connection: &mut LaneConnection,
    keys: &[<Receipt as Row>::Key],
) -> Result<Vec<AskedRefund>, Fault> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    ask(connection, async |connection| asked_refunds::of_receipts(connection, keys).await).await
}

/// The orders' own rows of refunds that providers are asked for; what is owed back has none.
async fn load_refunds_of_orders(
    connection: &mut LaneConnection,
    asked: impl Iterator<Item = &AskedRefund>,
) -> Result<Vec<Refund>, Fault> {
    let of_orders = asked.filter(|asked| asked.order_id.is_some());
    let keys: Vec<_> = of_orders.map(Row::key).collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    ask(connection, async |connection| order::store::refunds::load(connection, &keys).await).await
}

fn skus_of<'r>(refunds: impl IntoIterator<Item = &'r Refund>) -> impl Iterator<Item = <Sku as Row>::Key> {
    let items = refunds.into_iter().flat_map(|refund| refund.items.iter().map(move |item| (refund, item)));
    items.map(|(refund, item)| (refund.client_id, item.sku.clone()))
}

async fn load_payments(
    connection: &mut LaneConnection,
    keys: &[<Payment as Row>::Key],
    locked: bool,
) -> Result<Vec<Payment>, Fault> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    ask(connection, async |connection| payments::load(connection, keys, locked).await).await
}

async fn load_receipts(
    connection: &mut LaneConnection,
    keys: &[<Receipt as Row>::Key],
    locked: bool,
) -> Result<Vec<Receipt>, Fault> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    ask(connection, async |connection| receipts::load(connection, keys, locked).await).await
}

async fn load_alerts(
    connection: &mut LaneConnection,
    keys: &[<Alert as Row>::Key],
    locked: bool,
) -> Result<Vec<Alert>, Fault> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    ask(connection, async |connection| alerts::load(connection, keys, locked).await).await
}
