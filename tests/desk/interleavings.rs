//! Two processes meet at every step of a batch: A is stopped there, B runs in between, then A goes on.

use account::{AccountId, Parties};
use desk::Step::{self, Begun, Claimed, Committed, Decided, Loaded, Saved};
use desk::schema::Database;
use desk::{Answered, Command, Desk, Hooks, LookedUp, Request};
use onefold_tests::database::{audit, new_service_database};
use onefold_tests::desks::{account_with, body, cny, deposit, name, open, order, order_numbered, request};
use tokio::task::JoinHandle;

use crate::gate::Gate;
use crate::observe::{DEADLINE, answer, connection, drain, one_lane, somebody_waits_for_a_lock, soon, until};

/// What somebody is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Ran(u16),
    Replayed(u16),
    InProgress,
    Reused,
}

impl Told {
    fn of(answered: &Answered) -> Self {
        match answered {
            Answered::Ran(answer) => Self::Ran(answer.status),
            Answered::Replayed(answer) => Self::Replayed(answer.status),
            Answered::InProgress => Self::InProgress,
            Answered::Reused => Self::Reused,
            other => panic!("nobody is told {other:?} here"),
        }
    }
}

/// When B can end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum B {
    /// While A stands.
    Passes,
    /// Only after A: it is seen waiting for a lock of A's.
    Waits,
}
use B::{Passes, Waits};
use Told::{InProgress, Ran, Replayed, Reused};

/// Where A stands, what A is told in the end, whether B passes A, what B is told, how many transactions A needs,
/// and why.
type Line = (Step, Told, B, Told, u32, &'static str);

/// What A and B ask for, given two new accounts.
type Asks = fn(&str, [AccountId; 2]) -> [Request; 2];

async fn play(balances: [&str; 2], asks: Asks, lines: [Line; 6]) {
    let database = new_service_database().await.expect("a database");
    let preparing = open(&database, one_lane(), Hooks::default());
    assert_eq!(lines.map(|line| line.0), Step::ALL, "every step is played");
    // The client's collecting accounts are there, as they are but for its very first order.
    let first = account_with(&preparing, "1.00").await.expect("an account");
    preparing.submit(order("first", first, "1.00"), None).await;

    for (step, a_told, b_passes, b_told, a_tries, why) in lines {
        let accounts = [
            account_with(&preparing, balances[0]).await.expect("an account"),
            account_with(&preparing, balances[1]).await.expect("an account"),
        ];
        let [a_asks, b_asks] = asks(&format!("{step:?}"), accounts);
        let before = audit(database.owner_options()).await;
        let met = meet(&database, step, a_asks.clone(), b_asks.clone(), b_passes).await;
        let told = (Told::of(&met.a), Told::of(&met.b));
        assert_eq!(told, (a_told, b_told), "A stands after {step:?}: {why}");
        assert_eq!(met.a_tries, a_tries, "the transactions of A, which stands after {step:?}: {why}");

        if a_asks.name == b_asks.name && b_told != InProgress && b_told != Reused && a_told != Reused {
            assert_eq!(answer(&met.a), answer(&met.b), "one name has one answer, byte for byte");
        }
        for (told, by) in [(&met.a, &met.b), (&met.b, &met.a)] {
            if matches!(Told::of(told), Ran(409)) {
                let existing = &body(told).expect("a problem")["existing_id"];
                assert_eq!(existing, &body(by).expect("an order")["id"], "a duplicate names the first one");
            }
        }
        let after = audit(database.owner_options()).await;
        let ran = [&met.a, &met.b].iter().filter(|answered| matches!(Told::of(answered), Ran(_))).count();
        assert_eq!(after.records - before.records, ran as i64, "one record for each name that ran: {why}");
        let effects = [&met.a, &met.b].iter().filter(|answered| Told::of(answered) == Ran(201)).count();
        assert_eq!(after.entries - before.entries, effects as i64, "one effect for each success: {why}");
    }
    drain(&preparing).await;
}

struct Met {
    a: Answered,
    b: Answered,
    a_tries: u32,
}

async fn meet(database: &Database, step: Step, a_asks: Request, b_asks: Request, b_passes: B) -> Met {
    let gate = Gate::after(step);
    let a = open(database, one_lane(), gate.hooks());
    let b = open(database, one_lane(), Hooks::default());
    let mut observer = connection(database.owner_options()).await;

    let a_answers = asking(&a, a_asks);
    gate.reached().await;
    let b_answers = asking(&b, b_asks);
    let b_answer = match b_passes {
        Passes => {
            let b_answer = soon("B, while A stands", b_answers).await;
            gate.open();
            b_answer
        }
        Waits => {
            until("B waits for A", async || somebody_waits_for_a_lock(&mut observer).await).await;
            assert!(!b_answers.is_finished(), "B cannot end before A");
            gate.open();
            soon("B, after A", b_answers).await
        }
    };
    let a_answer = soon("A", a_answers).await;
    drain(&a).await;
    drain(&b).await;
    Met { a: a_answer.expect("A lives"), b: b_answer.expect("B lives"), a_tries: gate.tries() }
}

fn asking(desk: &Desk, asks: Request) -> JoinHandle<Answered> {
    let desk = desk.clone();
    tokio::spawn(async move { desk.submit(asks, None).await.answered })
}

fn transfer(key: &str, from: AccountId, to: AccountId, amount: &str) -> Request {
    let parties = Parties::Transfer { from, to };
    request(key, Command::Move { parties, amount: cny(amount), reference: key.to_owned() })
}

#[tokio::test]
async fn the_same_request_under_one_key_has_one_effect_at_every_step() {
    play(
        // Money for one: a second effect would be seen, and so would a duplicate that is told of missing funds.
        ["100.00", "0"],
        |key, [account, _]| [order(key, account, "100.00"), order(key, account, "100.00")],
        [
            (Begun, Replayed(201), Passes, Ran(201), 1, "B has committed before A asks for records"),
            (Claimed, Ran(201), Passes, InProgress, 1, "A holds the name"),
            (Loaded, Ran(201), Passes, InProgress, 1, "A holds the name"),
            (Decided, Ran(201), Passes, InProgress, 1, "A holds the name"),
            (Saved, Ran(201), Passes, InProgress, 1, "A holds the name"),
            (Committed, Ran(201), Passes, Replayed(201), 1, "A's record is committed"),
        ],
    )
    .await;
}

#[tokio::test]
async fn another_request_under_the_key_moves_nothing_at_any_step() {
    play(
        ["200.00", "0"],
        |key, [account, _]| [order(key, account, "100.00"), order(key, account, "99.00")],
        [
            (Begun, Reused, Passes, Ran(201), 1, "the key is B's"),
            (Claimed, Ran(201), Passes, InProgress, 1, "what A asks is not known outside its process"),
            (Loaded, Ran(201), Passes, InProgress, 1, "what A asks is not known outside its process"),
            (Decided, Ran(201), Passes, InProgress, 1, "what A asks is not known outside its process"),
            (Saved, Ran(201), Passes, InProgress, 1, "its record is written and not committed"),
            (Committed, Ran(201), Passes, Reused, 1, "the key is A's"),
        ],
    )
    .await;
}

#[tokio::test]
async fn two_orders_that_the_account_can_pay_both_succeed_at_every_step() {
    play(
        ["200.00", "0"],
        |key, [account, _]| [order(key, account, "100.00"), order(&format!("{key}-b"), account, "100.00")],
        [
            (Begun, Ran(201), Passes, Ran(201), 1, "A reads what B left"),
            (Claimed, Ran(201), Passes, Ran(201), 1, "A reads what B left"),
            (Loaded, Ran(201), Passes, Ran(201), 2, "the version that A read has moved"),
            (Decided, Ran(201), Passes, Ran(201), 2, "the version that A read has moved"),
            (Saved, Ran(201), Waits, Ran(201), 1, "A has written the account's row"),
            (Committed, Ran(201), Passes, Ran(201), 1, "B reads what A left"),
        ],
    )
    .await;
}

#[tokio::test]
async fn of_two_orders_with_money_for_one_the_first_to_commit_succeeds() {
    play(
        ["100.00", "0"],
        |key, [account, _]| [order(key, account, "100.00"), order(&format!("{key}-b"), account, "100.00")],
        [
            (Begun, Ran(402), Passes, Ran(201), 1, "A reads what B left"),
            (Claimed, Ran(402), Passes, Ran(201), 1, "A reads what B left"),
            (Loaded, Ran(402), Passes, Ran(201), 2, "A could pay with what it read first"),
            (Decided, Ran(402), Passes, Ran(201), 2, "A could pay with what it read first"),
            (Saved, Ran(201), Waits, Ran(402), 1, "B could pay with what it read first"),
            (Committed, Ran(201), Passes, Ran(402), 1, "B reads what A left"),
        ],
    )
    .await;
}

#[tokio::test]
async fn one_order_number_makes_one_order_at_every_step() {
    play(
        ["100.00", "100.00"],
        // On two accounts: nothing but the number is contended.
        |key, [one, other]| {
            [
                order_numbered(key, one, "100.00", key),
                order_numbered(&format!("{key}-b"), other, "100.00", key),
            ]
        },
        [
            (Begun, Ran(409), Passes, Ran(201), 1, "A finds B's order"),
            (Claimed, Ran(409), Passes, Ran(201), 2, "the number was free when A looked"),
            (Loaded, Ran(409), Passes, Ran(201), 2, "the number was free when A looked"),
            (Decided, Ran(409), Passes, Ran(201), 2, "the number was free when A looked"),
            (Saved, Ran(201), Waits, Ran(409), 1, "the number was free when B looked"),
            (Committed, Ran(201), Passes, Ran(409), 1, "B finds A's order"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_number_that_is_taken_is_the_reason_even_where_the_money_is_gone_too() {
    play(
        ["100.00", "0"],
        |key, [account, _]| {
            [
                order_numbered(key, account, "100.00", key),
                order_numbered(&format!("{key}-b"), account, "100.00", key),
            ]
        },
        [
            (Begun, Ran(409), Passes, Ran(201), 1, "A finds B's order"),
            (
                Claimed,
                Ran(409),
                Passes,
                Ran(201),
                2,
                "A finds the money gone, and looks for the number again",
            ),
            (Loaded, Ran(409), Passes, Ran(201), 2, "the money was there when A looked"),
            (Decided, Ran(409), Passes, Ran(201), 2, "the money was there when A looked"),
            (Saved, Ran(201), Waits, Ran(409), 1, "B waits for the account's row"),
            (Committed, Ran(201), Passes, Ran(409), 1, "B finds A's order"),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_order_is_refused_only_while_the_balance_that_refuses_it_stands() {
    play(
        ["50.00", "0"],
        |key, [account, _]| [order(key, account, "100.00"), deposit(&format!("{key}-b"), account, "50.00")],
        [
            (Begun, Ran(201), Passes, Ran(201), 1, "A reads the deposit"),
            (Claimed, Ran(201), Passes, Ran(201), 1, "A reads the deposit"),
            (Loaded, Ran(201), Passes, Ran(201), 2, "the balance that would refuse A is not the account's"),
            (Decided, Ran(201), Passes, Ran(201), 2, "the balance that would refuse A is not the account's"),
            (Saved, Ran(402), Waits, Ran(201), 1, "A keeps the balance it relies on until it commits"),
            (Committed, Ran(402), Passes, Ran(201), 1, "the refusal is committed"),
        ],
    )
    .await;
}

#[tokio::test]
async fn opposite_transfers_both_succeed_at_every_step() {
    play(
        ["100.00", "100.00"],
        |key, [x, y]| [transfer(key, x, y, "70.00"), transfer(&format!("{key}-b"), y, x, "90.00")],
        [
            (Begun, Ran(201), Passes, Ran(201), 1, "A reads what B left"),
            (Claimed, Ran(201), Passes, Ran(201), 1, "A reads what B left"),
            (Loaded, Ran(201), Passes, Ran(201), 2, "the versions that A read have moved"),
            (Decided, Ran(201), Passes, Ran(201), 2, "the versions that A read have moved"),
            (Saved, Ran(201), Waits, Ran(201), 1, "both lock the two rows in one order"),
            (Committed, Ran(201), Passes, Ran(201), 1, "B reads what A left"),
        ],
    )
    .await;
}

#[tokio::test]
async fn whoever_waits_for_a_request_of_another_process_gets_its_answer() {
    let database = new_service_database().await.expect("a database");
    let gate = Gate::after(Saved);
    let a = open(&database, one_lane(), gate.hooks());
    let b = open(&database, one_lane(), Hooks::default());
    let account = account_with(&b, "100.00").await.expect("an account");

    let a_answers = asking(&a, order("k", account, "100.00"));
    gate.reached().await;
    let at_b = soon("what B knows", b.look_up(&name("k"))).await.expect("the database answers");
    assert_eq!(at_b, LookedUp::InProgress { operation: None, first_seen_at: None });
    let at_a = soon("what A knows", a.look_up(&name("k"))).await.expect("the database answers");
    assert!(
        matches!(at_a, LookedUp::InProgress { operation: Some(ref operation), .. } if operation == "POST /v1/orders"),
        "{at_a:?}"
    );
    let waiting = tokio::spawn({
        let b = b.clone();
        async move { b.submit(order("k", account, "100.00"), Some(DEADLINE)).await }
    });
    let mut observer = connection(database.owner_options()).await;
    until("B's poller asks for the name", async || {
        crate::observe::connections_of(&mut observer, "onefold reads").await > 0
    })
    .await;
    assert!(!waiting.is_finished(), "B waits while A runs");
    gate.open();
    let a_answer = soon("A", a_answers).await.expect("A lives");
    let b_reply = soon("B", waiting).await.expect("B lives");
    assert!(b_reply.waited);
    assert_eq!(b_reply.answered, Answered::Replayed(answer(&a_answer).clone()));
    assert!(matches!(
        b.look_up(&name("k")).await,
        Ok(LookedUp::Finished(record)) if record.answer == *answer(&a_answer)
    ));
    assert_eq!(audit(database.owner_options()).await.orders, 1);
}

#[tokio::test]
async fn whoever_waits_for_a_process_that_vanishes_runs() {
    let database = new_service_database().await.expect("a database");
    let b = open(&database, one_lane(), Hooks::default());
    let account = account_with(&b, "100.00").await.expect("an account");

    for step in [Claimed, Saved] {
        let key = format!("{step:?}");
        let gate = Gate::after(step);
        // A process of its own, as far as tasks and connections go.
        let process = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let a = {
            let _inside = process.enter();
            open(&database, one_lane(), gate.hooks())
        };
        let asks = order(&key, account, "50.00");
        process.spawn(async move { a.submit(asks, None).await });
        gate.reached().await;

        let waiting = tokio::spawn({
            let (b, asks) = (b.clone(), order(&key, account, "50.00"));
            async move { b.submit(asks, Some(DEADLINE)).await }
        });
        let told = soon("B without waiting", b.submit(order(&key, account, "50.00"), None)).await;
        assert_eq!(told.answered, Answered::InProgress);
        assert!(!waiting.is_finished());
        process.shutdown_background();

        let reply = soon("B", waiting).await.expect("B lives");
        assert!(matches!(reply.answered, Answered::Ran(ref answer) if answer.status == 201), "{reply:?}");
        assert!(reply.waited);
    }
    assert_eq!(audit(database.owner_options()).await.orders, 2);
}

#[tokio::test]
async fn whoever_waits_no_longer_than_the_other_runs_is_told_that_it_runs() {
    let database = new_service_database().await.expect("a database");
    let gate = Gate::after(Claimed);
    let a = open(&database, one_lane(), gate.hooks());
    let b = open(&database, one_lane(), Hooks::default());
    let account = account_with(&b, "100.00").await.expect("an account");
    let a_answers = asking(&a, order("k", account, "100.00"));
    gate.reached().await;

    let a_little = Some(std::time::Duration::from_millis(100));
    for desk in [&a, &b] {
        let reply = soon("an answer", desk.submit(order("k", account, "100.00"), a_little)).await;
        assert_eq!(reply.answered, Answered::InProgress);
        assert!(reply.waited);
    }
    gate.open();
    assert!(matches!(soon("A", a_answers).await, Ok(Answered::Ran(_))));
    assert_eq!(audit(database.owner_options()).await.orders, 1);
}
