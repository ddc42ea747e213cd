//! The office over HTTP: what merchants ask a provider, and the control of the simulation.
//!
//! One listener serves all four, since their paths differ: Stripe's begin with `/v1`, Alipay has `/gateway.do`, WeChat
//! Pay's begin with `/v3`, and those of the `standard` provider with `/standard`.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use crate::office::Office;
use crate::trouble::Kind;
use crate::{alipay, control, standard, stripe, wechatpay};

/// Bytes that a request's body has at most.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// Every path of the office.
pub fn router(office: Arc<Office>) -> Router {
    Router::new()
        .merge(stripe::api::routes())
        .merge(alipay::api::routes())
        .merge(wechatpay::api::routes())
        .merge(standard::api::routes())
        .nest("/control", control::routes())
        .with_state(office)
}

/// Serves the office until it is told to `stop`. What is running then is dropped: nobody relies on a simulator's answer.
///
/// # Errors
///
/// When no more connections can be accepted.
pub async fn serve(
    listener: TcpListener,
    office: Arc<Office>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let router = router(Arc::clone(&office));
    let mut connections = tokio::task::JoinSet::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                connections.spawn(connection(stream, router.clone(), Arc::clone(&office)));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

async fn connection(stream: TcpStream, router: Router, office: Arc<Office>) {
    let service = service_fn(|request| answer(request, router.clone(), Arc::clone(&office)));
    // A connection ends when its client wants it to, or with an answer that is lost on purpose; neither is to be told.
    let _ =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
}

/// The answer was lost on purpose: the connection ends without one.
#[derive(Clone, Copy, Debug)]
struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the answer is lost")
    }
}

impl std::error::Error for Lost {}

async fn answer(request: Request<Incoming>, router: Router, office: Arc<Office>) -> Result<Response, Lost> {
    let (head, body) = request.into_parts();
    let Ok(body) =
        Limited::new(body, BODY_BYTES_MAX).collect().await.map(http_body_util::Collected::to_bytes)
    else {
        return Ok(StatusCode::PAYLOAD_TOO_LARGE.into_response());
    };
    let trouble = match head.uri.path().starts_with("/control/") {
        true => None,
        false => office.trouble.draw(&spoken(&head.uri.to_string(), &body)),
    };
    match trouble {
        None => {}
        // For as long as the client waits: when it leaves, this is dropped.
        Some(Kind::Timeout) => pending().await,
        Some(Kind::Error) => return Ok(StatusCode::BAD_GATEWAY.into_response()),
        Some(Kind::Slow) => tokio::time::sleep(office.trouble.slow()).await,
        Some(Kind::Lost) => {
            route(router, Request::from_parts(head, Body::from(body))).await;
            return Err(Lost);
        }
    }
    Ok(route(router, Request::from_parts(head, Body::from(body))).await)
}

async fn route(router: Router, request: Request<Body>) -> Response {
    let answered: Result<Response, Infallible> = router.oneshot(request).await;
    answered.unwrap_or_else(|never| match never {})
}

/// What a request says, so that a payment's number can be found in it.
fn spoken(uri: &str, body: &Bytes) -> String {
    format!("{uri}\n{}", String::from_utf8_lossy(body))
}
