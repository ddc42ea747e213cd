//! A connection is cut while its commit is in flight: one effect, whatever the server had received, whenever the database
//! comes back, and whether or not the old transaction is still alive when the desk asks again.

use std::time::Duration;

use desk::schema::Database;
use desk::{Answered, Desk, Hooks, Settings};
use onefold_tests::cutting_proxy::{Cut, CuttingProxy};
use onefold_tests::database::audit;
use onefold_tests::desks::{account_with, open, order, status};
use onefold_tests::http::{ALICE, TestServer, order_body};
use onefold_tests::own_cluster::OwnCluster;
use sqlx::{Connection, PgConnection};
use tokio::time::{sleep, timeout};

use crate::program::{DEADLINE, verify};

/// When the database is to be had again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Back {
    /// It was never away: one connection broke.
    AtOnce,
    /// After the desk has tried in vain to connect, and before it gives up.
    Late,
    /// When the desk has given up.
    TooLate,
}

/// What the caller is told whose commit was cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Ran,
    OutcomeUnknown,
}

/// What is told of the name to whoever asks again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Again {
    Ran,
    Replayed,
}

/// Every way for a commit to be cut with its old transaction gone, and what must come of it.
const CASES: [(Cut, Back, Told, Again); 9] = [
    // It did not happen. The desk learns that, and does it.
    (Cut::BeforeTheServer, Back::AtOnce, Told::Ran, Again::Replayed),
    (Cut::BeforeTheServer, Back::Late, Told::Ran, Again::Replayed),
    // Whoever asks again does it.
    (Cut::BeforeTheServer, Back::TooLate, Told::OutcomeUnknown, Again::Ran),
    // It happens, and perhaps only while the desk is asking.
    (Cut::BehindTheCommit, Back::AtOnce, Told::Ran, Again::Replayed),
    (Cut::BehindTheCommit, Back::Late, Told::Ran, Again::Replayed),
    (Cut::BehindTheCommit, Back::TooLate, Told::OutcomeUnknown, Again::Replayed),
    // It has happened.
    (Cut::BeforeTheAnswer, Back::AtOnce, Told::Ran, Again::Replayed),
    (Cut::BeforeTheAnswer, Back::Late, Told::Ran, Again::Replayed),
    (Cut::BeforeTheAnswer, Back::TooLate, Told::OutcomeUnknown, Again::Replayed),
];

/// One lane, and so much patience with a commit whose answer is lost.
fn patient_for(unknown_wait: Duration) -> Settings {
    Settings {
        lanes: 1,
        unknown_wait,
        statement_timeout: DEADLINE,
        idle_in_transaction_timeout: DEADLINE,
        // What is answered again is read in the database.
        remembered_bytes: 0,
        ..Settings::default()
    }
}

/// More patience than any of these tests needs.
const PATIENT: Duration = DEADLINE;

/// Patience that ends soon.
const HASTY: Duration = Duration::from_millis(300);

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    timeout(DEADLINE, work).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// Asks as a client does that wants to know: it waits for others, and comes again while the database is said to be away.
async fn ask_until_told(desk: &Desk, asks: desk::Request) -> Answered {
    soon("an answer that stays", async {
        loop {
            match desk.submit(asks.clone(), Some(DEADLINE)).await.answered {
                Answered::Unavailable => sleep(Duration::from_millis(20)).await,
                told => return told,
            }
        }
    })
    .await
}

fn again(answered: &Answered) -> Option<Again> {
    match answered {
        Answered::Ran(_) => Some(Again::Ran),
        Answered::Replayed(_) => Some(Again::Replayed),
        _ => None,
    }
}

/// How often the order of that number was placed.
async fn placed(database: &Database, number: &str) -> i64 {
    let mut observer = PgConnection::connect_with(database.owner_options()).await.expect("the database");
    let count = "SELECT count(*) FROM orders WHERE client_order_no = $1";
    let placed = sqlx::query_scalar(count).bind(number).fetch_one(&mut observer).await.expect("a count");
    observer.close().await.expect("an end");
    placed
}

/// A cluster with a proxy before it, and a desk that does not go by way of the proxy.
struct Stage {
    cluster: OwnCluster,
    proxy: CuttingProxy,
    /// As it is.
    direct: Database,
    /// By way of the proxy.
    proxied: Database,
    other: Desk,
    account: account::AccountId,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let cluster = OwnCluster::start(&[]).await?;
        let direct = cluster.new_service_database("onefold").await?;
        let proxy = CuttingProxy::before(direct.owner_options())?;
        let proxied = Database::connect(proxy.options(direct.owner_options()), 4).await?;
        let other = open(&direct, patient_for(PATIENT), Hooks::default());
        let account = account_with(&other, "1000.00").await?;
        Ok(Self { cluster, proxy, direct, proxied, other, account })
    }

    /// A desk behind the proxy whose lane has connected.
    async fn desk(&self, unknown_wait: Duration, warm: &str) -> Desk {
        let desk = open(&self.proxied, patient_for(unknown_wait), Hooks::default());
        let warm = soon("an order", desk.submit(order(warm, self.account, "1.00"), None)).await.answered;
        assert_eq!(status(&warm), Some(201), "{warm:?}");
        desk
    }

    async fn strike(self) -> anyhow::Result<()> {
        self.other.drain().await;
        audit(self.direct.owner_options()).await;
        verify(&self.cluster.url("onefold")).await?;
        self.cluster.stop().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_cut_has_one_effect_and_every_caller_learns_it() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    for (cut, back, told, then) in CASES {
        let case = format!("{cut:?}-{back:?}");
        let patience = if back == Back::TooLate { HASTY } else { PATIENT };
        let desk = stage.desk(patience, &format!("{case}-warm")).await;
        let asks = order(&case, stage.account, "1.00");
        stage.proxy.cut_at_next_commit(cut, back != Back::AtOnce);
        let submitted = tokio::spawn({
            let (desk, asks) = (desk.clone(), asks.clone());
            async move { desk.submit(asks, None).await.answered }
        });
        stage.proxy.cut().await;
        if back == Back::Late {
            stage.proxy.refused(2).await;
            assert!(!submitted.is_finished(), "{case}: it is still being asked for");
            stage.proxy.come_back();
        }
        let answered = soon("the answer", submitted).await?;
        match told {
            Told::Ran => {
                assert!(
                    matches!(&answered, Answered::Ran(answer) if answer.status == 201),
                    "{case}: {answered:?}"
                );
            }
            Told::OutcomeUnknown => assert_eq!(answered, Answered::OutcomeUnknown, "{case}"),
        }
        // Another process learns it first: to it the database was never away.
        let learnt = ask_until_told(&stage.other, asks.clone()).await;
        assert_eq!((again(&learnt), status(&learnt)), (Some(then), Some(201)), "{case}: {learnt:?}");
        stage.proxy.come_back();
        let replayed = ask_until_told(&desk, asks).await;
        let (Answered::Ran(answer) | Answered::Replayed(answer)) = learnt else {
            panic!("{case}: {learnt:?}")
        };
        assert_eq!(replayed, Answered::Replayed(answer.clone()), "{case}");
        if told == Told::Ran {
            assert_eq!(answered, Answered::Ran(answer), "{case}: what was told is what is recorded");
        }
        assert_eq!(placed(&stage.direct, &case).await, 1, "{case}");
        audit(stage.direct.owner_options()).await;
        soon("a drain", desk.drain()).await;
    }
    eprintln!("{} cuts of a commit", CASES.len());
    stage.strike().await
}

/// What becomes of an old transaction that is alive while the desk asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Old {
    /// Its commit arrives at last.
    Commits,
    /// It ends without one.
    RollsBack,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_old_transaction_lives_nobody_runs_its_commands_a_second_time() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    let end = |old: Old| match old {
        Old::Commits => stage.proxy.deliver(),
        Old::RollsBack => stage.proxy.let_go(),
    };
    for (old, then) in [(Old::Commits, Again::Replayed), (Old::RollsBack, Again::Ran)] {
        // It ends while the desk asks.
        let case = format!("{old:?}-while-asking");
        let desk = stage.desk(PATIENT, &format!("{case}-warm")).await;
        let asks = order(&case, stage.account, "1.00");
        stage.proxy.cut_at_next_commit(Cut::Withheld, false);
        let submitted = tokio::spawn({
            let (desk, asks) = (desk.clone(), asks.clone());
            async move { desk.submit(asks, None).await.answered }
        });
        stage.proxy.cut().await;
        stage.proxy.rolled_back(3).await;
        assert!(!submitted.is_finished(), "{case}: the names are not the desk's yet");
        let elsewhere = soon("an answer", stage.other.submit(asks.clone(), None)).await.answered;
        assert_eq!(elsewhere, Answered::InProgress, "{case}");
        assert_eq!(placed(&stage.direct, &case).await, 0, "{case}");
        end(old);
        let answered = soon("the answer", submitted).await?;
        assert!(matches!(&answered, Answered::Ran(answer) if answer.status == 201), "{case}: {answered:?}");
        let learnt = ask_until_told(&stage.other, asks).await;
        assert_eq!(again(&learnt), Some(Again::Replayed), "{case}: {learnt:?}");
        assert_eq!(placed(&stage.direct, &case).await, 1, "{case}");
        soon("a drain", desk.drain()).await;

        // It ends when the desk has given up.
        let case = format!("{old:?}-too-late");
        let desk = stage.desk(HASTY, &format!("{case}-warm")).await;
        let asks = order(&case, stage.account, "1.00");
        stage.proxy.cut_at_next_commit(Cut::Withheld, false);
        let told = soon("an answer", desk.submit(asks.clone(), None)).await.answered;
        assert_eq!(told, Answered::OutcomeUnknown, "{case}");
        for asked in [&desk, &stage.other] {
            let told = soon("an answer", asked.submit(asks.clone(), None)).await.answered;
            assert_eq!(told, Answered::InProgress, "{case}: it can still commit");
        }
        assert_eq!(placed(&stage.direct, &case).await, 0, "{case}");
        end(old);
        let learnt = ask_until_told(&stage.other, asks.clone()).await;
        assert_eq!((again(&learnt), status(&learnt)), (Some(then), Some(201)), "{case}: {learnt:?}");
        let replayed = ask_until_told(&desk, asks).await;
        assert_eq!(again(&replayed), Some(Again::Replayed), "{case}: {replayed:?}");
        assert_eq!(placed(&stage.direct, &case).await, 1, "{case}");
        audit(stage.direct.owner_options()).await;
        soon("a drain", desk.drain()).await;
    }
    eprintln!("4 commits withheld while their transactions live");
    stage.strike().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_a_commit_without_an_answer_is_outcome_unknown_and_a_retry_learns_it() -> anyhow::Result<()>
{
    let cluster = OwnCluster::start(&[]).await?;
    let direct = cluster.new_bare_database("onefold").await?;
    let proxy = CuttingProxy::before(&direct)?;
    let server =
        TestServer::start_with(proxy.options(&direct), |settings| settings.desk = patient_for(HASTY)).await?;
    assert_eq!(server.demo.order("warm", "1.00").await?.status, 201);
    let body = order_body(ALICE, "A-1", "128.00");

    proxy.cut_at_next_commit(Cut::BeforeTheAnswer, true);
    let told = soon("an answer", server.demo.post("/v1/orders", "k", &body)).await?;
    assert_eq!((told.status, told.slug().as_deref()), (503, Some("outcome-unknown")));
    assert!(told.header("retry-after").is_some());
    assert!(!told.replayed());
    // As long as the database is away, nothing else is said of any key.
    let told = soon("an answer", server.demo.post("/v1/orders", "k", &body)).await?;
    assert_eq!((told.status, told.slug().as_deref()), (503, Some("unavailable")));

    proxy.come_back();
    let learnt = soon("an answer that stays", async {
        loop {
            let learnt = server.demo.post("/v1/orders", "k", &body).await?;
            if learnt.status != 503 {
                break anyhow::Ok(learnt);
            }
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await?;
    assert_eq!((learnt.status, learnt.replayed()), (201, true));
    assert_eq!(learnt.json()["client_order_no"], "A-1");
    assert_eq!(server.demo.get(&format!("/v1/accounts/{ALICE}")).await?.json()["balance"], "9871.00");
    server.shutdown().await;
    assert_eq!(audit(&direct).await.orders, 2);
    verify(&cluster.url("onefold")).await?;
    cluster.stop().await
}
