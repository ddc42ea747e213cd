//! Scripts played to the whole service, and everything that it says compared with the model.

use anyhow::Context;
use onefold_tests::http::TestServer;
use onefold_tests::{database, raw_http};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use tokio::io::AsyncWriteExt;
use tokio::runtime::Runtime;

use crate::model::Mistake;
use crate::script::{Script, scripts};
use crate::stage::{Stage, callers, configuration};

const STEPS_MAX: usize = 60;

#[test]
fn the_service_answers_as_the_model_does() -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let server = runtime.block_on(TestServer::start())?;
    let cases = if onefold_tests::long() { 400 } else { 40 };
    if let Err(found) = explore(&runtime, &server, None, configuration(cases), STEPS_MAX) {
        panic!("{found}");
    }
    runtime.block_on(async {
        let books = database::audit(&server.shutdown().await).await;
        assert!(books.completed < books.records, "no script was refused anything");
        assert!(books.orders > 0 && books.entries > books.orders, "no script moved money: {books:?}");
    });
    Ok(())
}

/// What the scripts found once in a while: a refusal that needs no body came, the connection was closed, and a client that
/// was still sending heard of a broken pipe. Sent bit by bit, it would be heard of each time.
#[tokio::test]
async fn a_refusal_that_needs_no_body_is_heard_by_a_client_that_sends_one() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = " ".repeat(256 * 1024);
    let request = |path: &str| raw_http::post(path, &[b"idempotency-key: k"], body.as_bytes());
    let stranger = String::from_utf8(request("/v1/orders"))?.replace("demo-key", "nobodys-key").into_bytes();
    for (request, status) in [
        (request("/v1/nowhere"), 404),
        (request("/healthz"), 405),
        (stranger, 401),
        (request("/v1/accounts/no-id/close"), 404),
        (request("/v1/orders"), 413),
    ] {
        let mut connection = raw_http::connect(&server.url()).await?;
        for piece in request.chunks(1024) {
            connection
                .write_all(piece)
                .await
                .with_context(|| format!("not all was sent, before {status}"))?;
            tokio::task::yield_now().await;
        }
        assert_eq!(raw_http::read_to_end(&mut connection).await?.status, status);
    }
    server.shutdown().await;
    Ok(())
}

/// Looks for a script that a model (with a mistake) and the service play differently. Every case has clients of its own.
/// What a mistake is about shows in the answers; what can be read is compared where there is none.
pub(crate) fn explore(
    runtime: &Runtime,
    server: &TestServer,
    mistake: Option<Mistake>,
    configuration: Config,
    steps_max: usize,
) -> Result<(), TestError<Script>> {
    TestRunner::new(configuration).run(&scripts(1..=steps_max), |script| {
        runtime.block_on(async {
            let callers = callers(server).await.map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
            let mut stage = Stage::new(callers, mistake);
            stage.play(&script).await.map_err(TestCaseError::fail)?;
            if mistake.is_none() {
                stage.read_everything().await.map_err(TestCaseError::fail)?;
            }
            Ok(())
        })
    })
}
