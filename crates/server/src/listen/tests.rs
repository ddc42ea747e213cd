use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::*;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const LAST_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

fn limits() -> Limits {
    Limits { header_read_timeout: PATIENCE, header_bytes_max: 8 * 1024, headers_max: 20, connections_max: 10 }
}

async fn listen(router: Router, limits: &Limits) -> Listening {
    reserve("127.0.0.1:0").await.unwrap().listen(router, limits).unwrap()
}

fn hello() -> Router {
    Router::new().route("/", get(async || "hello"))
}

/// Sends bytes; answers the connection.
async fn send(listening: &Listening, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(listening.address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// Reads until the server closes the connection.
async fn read_to_end(mut stream: TcpStream) -> String {
    let mut text = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut text))
        .await
        .expect("the server closes the connection")
        .unwrap();
    text
}

/// A handler that says when it is entered and answers when it is told to.
#[derive(Clone, Default)]
struct Gate {
    entered: Arc<AtomicUsize>,
    enter: Arc<Notify>,
    open: Arc<Notify>,
}

impl Gate {
    fn router(&self) -> Router {
        let gate = self.clone();
        let pass = async move || {
            gate.entered.fetch_add(1, Ordering::SeqCst);
            gate.enter.notify_one();
            gate.open.notified().await;
            "passed"
        };
        Router::new().route("/", get(pass))
    }

    async fn wait_until_entered(&self) {
        timeout(PATIENCE, self.enter.notified()).await.expect("the request reaches its handler");
    }
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_headers_is_cut_off() {
    let listening =
        listen(hello(), &Limits { header_read_timeout: Duration::from_millis(50), ..limits() }).await;
    let stream = send(&listening, b"GET / HTTP/1.1\r\nHost: local").await;
    assert_eq!(read_to_end(stream).await, "");
}

#[tokio::test]
async fn headers_that_are_too_many_or_too_long_are_refused() {
    let listening = listen(hello(), &limits()).await;
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(21));
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(9 * 1024));
    for request in [many, long] {
        let answer = read_to_end(send(&listening, request.as_bytes()).await).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let listening = listen(hello(), &limits()).await;
    let stream = send(&listening, &[REQUEST, REQUEST, LAST_REQUEST].concat()).await;
    assert_eq!(read_to_end(stream).await.matches("hello").count(), 3);
}

#[tokio::test]
async fn one_connection_too_many_waits_until_another_ends() {
    let gate = Gate::default();
    let listening = listen(gate.router(), &Limits { connections_max: 1, ..limits() }).await;
    let first = send(&listening, LAST_REQUEST).await;
    gate.wait_until_entered().await;
    let second = send(&listening, LAST_REQUEST).await;
    assert!(
        timeout(Duration::from_millis(100), gate.enter.notified()).await.is_err(),
        "the second is served too"
    );

    gate.open.notify_one();
    assert!(read_to_end(first).await.ends_with("passed"));
    gate.wait_until_entered().await;
    gate.open.notify_one();
    assert!(read_to_end(second).await.ends_with("passed"));
    assert_eq!(gate.entered.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_request_that_runs_is_answered_after_the_end_of_accepting_and_an_idle_connection_is_closed() {
    let gate = Gate::default();
    let listening = listen(gate.router(), &limits()).await;
    let address = listening.address();
    // Accepted in this order: once the second is served, the first is known too.
    let idle = TcpStream::connect(address).await.unwrap();
    let running = send(&listening, REQUEST).await;
    gate.wait_until_entered().await;

    let finishing = listening.stop_accepting().await;
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(read_to_end(idle).await, "");
    gate.open.notify_one();
    assert!(read_to_end(running).await.ends_with("passed"));
    assert!(finishing.finished_by(Instant::now() + PATIENCE).await);
    assert_eq!(finishing.cut().await, 0);
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_off() {
    let gate = Gate::default();
    let listening = listen(gate.router(), &limits()).await;
    let running = send(&listening, REQUEST).await;
    gate.wait_until_entered().await;
    let finishing = listening.stop_accepting().await;
    assert!(!finishing.finished_by(Instant::now()).await);
    assert_eq!(finishing.cut().await, 1);
    assert_eq!(read_to_end(running).await, "");
}

#[tokio::test]
async fn an_address_where_somebody_listens_is_refused() {
    let listening = listen(hello(), &limits()).await;
    let refused = reserve(&listening.address().to_string()).await.unwrap_err().to_string();
    assert!(refused.contains("another program listens there"), "{refused}");
}

#[tokio::test]
async fn an_address_that_two_have_reserved_is_listened_on_by_one() {
    let one = reserve("127.0.0.1:0").await.unwrap();
    let other = reserve(&one.address().to_string()).await.unwrap();
    let _listening = one.listen(hello(), &limits()).unwrap();
    let refused = other.listen(hello(), &limits()).unwrap_err().to_string();
    assert!(refused.contains("another program listens there"), "{refused}");
}

#[tokio::test]
async fn only_a_loopback_address_counts_as_one() {
    for (address, is_loopback) in [("localhost:0", true), ("127.0.0.2:0", true), ("0.0.0.0:0", false)] {
        assert_eq!(reserve(address).await.unwrap().is_loopback(), is_loopback, "{address}");
    }
}

#[tokio::test]
async fn what_is_no_address_is_refused_with_an_example() {
    for address in ["8080", ":8080", "", "127.0.0.1", "127.0.0.1:99999"] {
        let refused = reserve(address).await.unwrap_err().to_string();
        assert!(refused.contains("such as 127.0.0.1:8080 or localhost:0"), "{refused}");
    }
}
