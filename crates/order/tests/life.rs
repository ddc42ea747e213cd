//! The life of an order, by its rules alone: what it takes and gives back, in every order of events.

use account::hold::Capturing;
use account::{Account, AccountId, EntryId, Hold, HoldStatus};
use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use inventory::SkuCode;
use money::{Amount, Currency};
use order::place::{self, Placement};
use order::refund::{self, RefundId, RefundRefusal, Refunded, Refunding};
use order::{
    EndRefusal, ItemWanted, Order, OrderCaptureRefusal, OrderCaptured, OrderId, OrderItem, OrderStatus,
    PaymentMethod, Placed, StateConflict, capture, end,
};
use proptest::prelude::*;
use uuid::Uuid;

fn yuan(units: u128) -> Amount {
    Amount::from_minor_units(units, Currency::from_code("CNY").unwrap()).unwrap()
}

fn cny(text: &str) -> Amount {
    Amount::parse(text, Currency::from_code("CNY").unwrap()).unwrap()
}

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_764_400_000 + second, 0).unwrap()
}

fn entry() -> EntryId {
    EntryId(Uuid::nil())
}

fn account(available: &str) -> Account {
    let currency = Currency::from_code("CNY").unwrap();
    let id = AccountId(Uuid::from_u128(0xa));
    let account = Account::open(ClientId(Uuid::nil()), id, "alice".to_owned(), currency, at(0));
    account.credited(cny(available)).unwrap()
}

fn placement(amount: &str) -> Placement {
    let tea = SkuCode("TEA".to_owned());
    Placement {
        order_id: OrderId(Uuid::from_u128(1)),
        entry_id: entry(),
        client_order_no: "A-1".to_owned(),
        amount: cny(amount),
        items: vec![OrderItem { sku: tea, quantity: 2, price: cny("50"), given_back: 0 }],
        now: at(1),
    }
}

/// An order of 100.00 whose amount is frozen until second 60.
fn authorized() -> Placed {
    place::pay_by_hold(&account("100"), placement("100"), at(60)).unwrap()
}

fn take(placed: &Placed, amount: &str, last: bool) -> Result<OrderCaptured, OrderCaptureRefusal> {
    take_at(&placed.account, &placed.order, placed.hold.as_ref().unwrap(), Some(cny(amount)), last, at(2))
}

fn take_at(
    account: &Account,
    order: &Order,
    hold: &Hold,
    amount: Option<Amount>,
    last: bool,
    now: DateTime<Utc>,
) -> Result<OrderCaptured, OrderCaptureRefusal> {
    let capturing =
        Capturing { amount, last, reference: None, entry_id: entry(), rest_entry_id: entry(), now };
    capture::capture(account, order, hold, capturing)
}

fn refunding(amount: Amount, items: Vec<ItemWanted>) -> Refunding {
    let (refund_id, reference) = (RefundId(Uuid::nil()), "R-1".to_owned());
    Refunding { refund_id, entry_id: entry(), reference, amount, items, now: at(3) }
}

fn give_back(account: &Account, order: &Order, amount: &str) -> Result<Refunded, RefundRefusal> {
    refund::to_balance(account, order, refunding(cny(amount), Vec::new()))
}

fn tea(quantity: u64) -> Vec<ItemWanted> {
    vec![ItemWanted { sku: SkuCode("TEA".to_owned()), quantity }]
}

#[test]
fn an_order_by_hold_is_authorized_and_takes_nothing() {
    let placed = authorized();
    assert_eq!((placed.order.status, placed.order.captured_amount), (OrderStatus::Authorized, cny("0")));
    assert_eq!((placed.account.available, placed.account.held), (cny("0"), cny("100")));
    assert_eq!(placed.hold.unwrap().id.0, placed.order.id.0);
}

#[test]
fn captures_in_part_keep_it_authorized_until_the_last() {
    let placed = authorized();
    let part = take(&placed, "30", false).unwrap();
    assert_eq!((part.order.status, part.order.captured_amount), (OrderStatus::Authorized, cny("30")));
    let account = part.hold.accounts.last().unwrap();
    let last = take_at(account, &part.order, &part.hold.hold, Some(cny("10")), true, at(2)).unwrap();
    assert_eq!((last.order.status, last.order.captured_amount), (OrderStatus::Paid, cny("40")));
    let account = last.hold.accounts.last().unwrap();
    assert_eq!((account.available, account.held), (cny("60"), cny("0")));
}

#[test]
fn a_refund_is_bounded_by_what_was_captured_and_not_by_what_was_authorized() {
    let placed = authorized();
    let paid = take(&placed, "40", true).unwrap();
    let account = paid.hold.accounts.last().unwrap();
    assert_eq!(
        give_back(account, &paid.order, "50"),
        Err(RefundRefusal::ExceedsPaid { refundable: cny("40"), required: cny("50") })
    );
    assert_eq!(give_back(account, &paid.order, "40").unwrap().order.status, OrderStatus::Refunded);
}

#[test]
fn two_equal_refunds_are_two_refunds() {
    let placed = place::pay_from_balance(&account("100"), placement("100")).unwrap();
    let first = give_back(&placed.account, &placed.order, "10").unwrap();
    let second = give_back(&first.account, &first.order, "10").unwrap();
    assert_eq!(second.order.status, OrderStatus::PartiallyRefunded);
    assert_eq!((second.order.refunded_amount, second.account.available), (cny("20"), cny("20")));
}

#[test]
fn sixty_of_a_hundred_is_refunded_once() {
    let placed = place::pay_from_balance(&account("100"), placement("100")).unwrap();
    let first = give_back(&placed.account, &placed.order, "60").unwrap();
    assert_eq!(
        give_back(&first.account, &first.order, "60"),
        Err(RefundRefusal::ExceedsPaid { refundable: cny("40"), required: cny("60") })
    );
}

#[test]
fn no_more_items_come_back_than_were_bought() {
    let placed = place::pay_from_balance(&account("100"), placement("100")).unwrap();
    let back = |account: &Account, order: &Order, items| {
        refund::to_balance(account, order, refunding(cny("1"), items))
    };
    let first = back(&placed.account, &placed.order, tea(2)).unwrap();
    assert_eq!(first.order.items[0].given_back, 2);
    let sku = SkuCode("TEA".to_owned());
    assert_eq!(
        back(&first.account, &first.order, tea(1)),
        Err(RefundRefusal::ItemsExceedOrder { sku, left: 0, requested: 1 })
    );
    let fan = vec![ItemWanted { sku: SkuCode("FAN".to_owned()), quantity: 1 }];
    assert!(matches!(
        back(&first.account, &first.order, fan),
        Err(RefundRefusal::ItemsExceedOrder { left: 0, .. })
    ));
}

#[test]
fn what_a_provider_is_asked_to_give_back_comes_back_when_it_has() {
    let placed = place::pay_from_balance(&account("100"), placement("100")).unwrap();
    let order = Order { payment_method: PaymentMethod::Provider, ..placed.order };
    let ask = |order: &Order, spoken_for: &[ItemWanted], pieces| {
        refund::at_provider(order, spoken_for, refunding(cny("1"), tea(pieces)))
    };
    let (first, asked) = ask(&order, &[], 1).unwrap();
    assert_eq!((asked.items[0].given_back, asked.version), (0, order.version + 1), "nothing is back yet");
    let sku = SkuCode("TEA".to_owned());
    assert_eq!(
        ask(&asked, &first.items, 2),
        Err(RefundRefusal::ItemsExceedOrder { sku, left: 1, requested: 2 }),
        "what is on its way is spoken for"
    );
    assert!(ask(&asked, &[], 2).is_ok(), "unless it has failed");

    let back = asked.with_items_back(&first.items).unwrap();
    assert_eq!((back.items[0].given_back, back.version), (1, asked.version));
    assert!(ask(&back, &[], 2).is_err());
    assert_eq!(back.with_items_back(&tea(2)), None, "a piece comes back once");
    assert_eq!(back.with_items_back(&[]), Some(back.clone()));
}

#[test]
fn a_refund_to_a_closed_account_is_refused_and_moves_nothing() {
    let placed = place::pay_from_balance(&account("100"), placement("100")).unwrap();
    let closed = placed.account.closed().unwrap();
    assert!(matches!(give_back(&closed, &placed.order, "1"), Err(RefundRefusal::Credit(_))));
}

#[test]
fn a_due_order_has_expired_for_whoever_comes() {
    let placed = authorized();
    let (account, order, hold) = (&placed.account, &placed.order, placed.hold.as_ref().unwrap());
    let before = at(60) - TimeDelta::microseconds(1);
    assert!(take_at(account, order, hold, None, true, before).is_ok());
    assert_eq!(
        end::expire(account, order, Some(hold), entry(), before),
        Err(EndRefusal::NotDue(OrderStatus::Authorized))
    );

    let expired = StateConflict(OrderStatus::Expired);
    assert_eq!(take_at(account, order, hold, None, true, at(60)), Err(expired.into()));
    assert_eq!(end::cancel(account, order, Some(hold), entry(), at(60)), Err(expired.into()));
    let ended = end::expire(account, order, Some(hold), entry(), at(60)).unwrap();
    assert_eq!(ended.order.status, OrderStatus::Expired);
    let hold = ended.hold.unwrap();
    assert_eq!((hold.hold.status, hold.accounts[0].available), (HoldStatus::Expired, cny("100")));
}

#[test]
fn what_was_captured_before_the_end_stays_captured() {
    let part = take(&authorized(), "30", false).unwrap();
    let account = part.hold.accounts.last().unwrap();
    let ended = end::cancel(account, &part.order, Some(&part.hold.hold), entry(), at(3)).unwrap();
    assert_eq!((ended.order.status, ended.order.captured_amount), (OrderStatus::Cancelled, cny("30")));
    assert_eq!(ended.hold.unwrap().accounts[0].available, cny("70"));
}

#[derive(Clone, Debug)]
enum Act {
    Capture { amount: Option<u128>, last: bool },
    Cancel,
    Expire,
    Refund { amount: u128, items: u64 },
    Pass { seconds: i64 },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (prop::option::of(1_u128..8000), any::<bool>())
            .prop_map(|(amount, last)| Act::Capture { amount, last }),
        1 => Just(Act::Cancel),
        1 => Just(Act::Expire),
        4 => (1_u128..6000, 0_u64..3).prop_map(|(amount, items)| Act::Refund { amount, items }),
        2 => (0_i64..30).prop_map(|seconds| Act::Pass { seconds }),
    ]
}

proptest! {
    /// Whatever happens to an order by hold: money is conserved, amounts are in order, the hold's end and the order's
    /// are one, and no state is left for an earlier one.
    #[test]
    fn every_sequence_of_events_keeps_an_order_and_its_money_whole(acts in prop::collection::vec(act(), 1..40)) {
        let Placed { mut order, mut account, hold, .. } = authorized();
        let mut hold = hold.unwrap();
        let mut now = at(2);
        for act in acts {
            let (before, before_hold) = (order.clone(), hold.clone());
            match act {
                Act::Pass { seconds } => now += TimeDelta::seconds(seconds),
                Act::Capture { amount, last } => {
                    if let Ok(done) = take_at(&account, &order, &hold, amount.map(yuan), last, now) {
                        (order, hold) = (done.order, done.hold.hold);
                        account = done.hold.accounts.last().unwrap().clone();
                    }
                }
                Act::Cancel | Act::Expire => {
                    let ended = match act {
                        Act::Cancel => end::cancel(&account, &order, Some(&hold), entry(), now),
                        _ => end::expire(&account, &order, Some(&hold), entry(), now),
                    };
                    if let Ok(ended) = ended {
                        let change = ended.hold.unwrap();
                        (order, hold, account) = (ended.order, change.hold, change.accounts[0].clone());
                    }
                }
                Act::Refund { amount, items } => {
                    let items = if items == 0 { Vec::new() } else { tea(items) };
                    let refunding = Refunding { now, ..refunding(yuan(amount), items) };
                    if let Ok(done) = refund::to_balance(&account, &order, refunding) {
                        (order, account) = (done.order, done.account);
                    }
                }
            }
            let (captured, refunded) = (order.captured_amount.minor_units(), order.refunded_amount.minor_units());
            prop_assert_eq!(account.balance().minor_units() + captured - refunded, 10_000);
            prop_assert!(refunded <= captured && captured <= 10_000);
            prop_assert_eq!(account.held, hold.left());
            prop_assert_eq!(order.captured_amount, hold.captured);
            prop_assert_eq!(order.status == OrderStatus::Authorized, hold.status == HoldStatus::Active);
            prop_assert!(order.items[0].given_back <= order.items[0].quantity);
            if order != before {
                prop_assert_eq!(order.version, before.version + 1);
            }
            if before_hold.status != HoldStatus::Active {
                prop_assert_eq!(&hold, &before_hold);
            }
        }
    }
}
