use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::event::What;
use crate::event::samples::event;
use crate::exchange::Fault;
use crate::sender::Style;

/// A receiver that answers each request with the next status and body, and in the end tells what it was sent.
async fn receiver(answers: &'static [(u16, &'static str)]) -> (Target, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let received = tokio::spawn(async move {
        let mut received = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            received.push(request(&mut stream).await);
            let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            // Whoever has hung up gets no answer.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        received
    });
    (target, received)
}

/// One request, whole, as text.
async fn request(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap() {
            return text.into_owned();
        }
    }
}

async fn delivered(provider: Provider, target: Target, plan: &Plan) -> (bool, Vec<Line>) {
    let lines = Mutex::new(Vec::new());
    let sender = Sender::demo(provider, Style::Usual).unwrap();
    let callbacks = Callbacks { server: target, endpoint: "here".to_owned() };
    let events = [event("CNY", What::Succeeded)];
    let all =
        deliver(&sender, &events, &callbacks, plan, &|line| lines.lock().unwrap().push(line)).await.unwrap();
    (all, lines.into_inner().unwrap())
}

/// So fast that a day of retries takes no time.
fn plan() -> Plan {
    Plan { faster: 1_000_000, ..Plan::default() }
}

#[tokio::test]
async fn a_delivery_is_repeated_by_the_providers_schedule_until_it_is_acknowledged() {
    let (target, received) = receiver(&[(200, "failure"), (500, ""), (200, "success")]).await;
    let (acknowledged, lines) = delivered(Provider::Alipay, target, &plan()).await;
    assert!(acknowledged);
    let pauses: Vec<Option<u64>> = lines
        .iter()
        .map(|line| match line.next {
            Next::Again { pause, .. } => Some(pause.as_secs()),
            Next::Acknowledged => None,
            Next::GivenUp => panic!("it was not given up"),
        })
        .collect();
    assert_eq!(pauses, [Some(240), Some(600), None]);
    let received = received.await.unwrap();
    assert!(received.iter().all(|request| request.starts_with("POST /v1/callbacks/here HTTP/1.1\r\n")));
    assert!(received.iter().all(|request| request.contains("notify_id=event-1&")));
}

#[tokio::test]
async fn what_is_never_acknowledged_is_given_up_where_the_schedule_ends() {
    let (target, _received) = receiver(&[(500, ""); 8]).await;
    let (acknowledged, lines) = delivered(Provider::Alipay, target, &plan()).await;
    assert!(!acknowledged);
    assert_eq!((lines.len(), lines[7].next), (8, Next::GivenUp));
}

#[tokio::test]
async fn a_follower_of_standard_webhooks_stops_when_nobody_is_there_any_more() {
    let (target, _received) = receiver(&[(503, ""), (410, "")]).await;
    let (acknowledged, lines) = delivered(Provider::Standard, target, &plan()).await;
    assert!(!acknowledged);
    assert_eq!((lines.len(), lines[1].next), (2, Next::GivenUp));
}

#[tokio::test]
async fn an_answer_that_is_lost_is_no_acknowledgement() {
    let (target, received) = receiver(&[(204, ""), (204, "")]).await;
    let plan = Plan { answers_lost: 1, ..plan() };
    let (acknowledged, lines) = delivered(Provider::WechatPay, target, &plan).await;
    assert!(acknowledged);
    assert_eq!(lines[0].answer, Err(Fault::Unread));
    assert_eq!(received.await.unwrap().len(), 2, "the first request arrived whole");
}

#[tokio::test]
async fn whoever_hangs_up_tries_again() {
    let (target, _received) = receiver(&[(200, ""), (200, "")]).await;
    let (acknowledged, lines) = delivered(Provider::Stripe, target, &Plan { hung_up: 1, ..plan() }).await;
    assert!(acknowledged);
    assert_eq!((lines.len(), &lines[0].answer), (2, &Err(Fault::HungUp)));
}

#[tokio::test]
async fn only_the_first_attempts_are_spoiled() {
    let (target, received) = receiver(&[(400, ""), (400, ""), (200, "")]).await;
    let plan = Plan { tampered: 1, stale: 2, ..plan() };
    let (_, lines) = delivered(Provider::Standard, target, &plan).await;
    let sent: Vec<Sent> = lines.iter().map(|line| line.sent).collect();
    assert_eq!(sent, [Sent::Tampered, Sent::Stale, Sent::Whole]);
    let received = received.await.unwrap();
    assert!(received[0].contains("88.81") && received[1].contains("88.80"));
    let time = |request: &str| {
        let line = request.lines().find_map(|line| line.strip_prefix("webhook-timestamp: "));
        line.unwrap().parse::<i64>().unwrap()
    };
    assert!(time(&received[2]) - time(&received[1]) >= STALE.num_seconds());
}

#[tokio::test]
async fn copies_carry_one_id_and_are_each_acknowledged() {
    let (target, received) = receiver(&[(200, ""); 5]).await;
    let plan = Plan { copies: 5, parallel: true, ..plan() };
    let (acknowledged, mut lines) = delivered(Provider::Standard, target, &plan).await;
    assert!(acknowledged);
    lines.sort_by_key(|line| line.copy);
    let copies: Vec<u32> = lines.iter().map(|line| line.copy).collect();
    assert_eq!(copies, [1, 2, 3, 4, 5]);
    assert!(received.await.unwrap().iter().all(|request| request.contains("webhook-id: event-1\r\n")));
}

#[tokio::test]
async fn nothing_is_sent_when_there_is_nothing_to_say() {
    let sender = Sender::demo(Provider::WechatPay, Style::Usual).unwrap();
    let callbacks = Callbacks { server: "http://127.0.0.1:1".parse().unwrap(), endpoint: "here".to_owned() };
    let events = [event("CNY", What::Succeeded), event("CNY", What::Failed)];
    let sent = deliver(&sender, &events, &callbacks, &plan(), &|line| panic!("{line}")).await;
    assert!(matches!(sent, Err(Unsayable::Silent { .. })));
}

#[tokio::test]
async fn a_server_that_is_away_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target: Target = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let plan = Plan { attempts_max: Some(2), ..plan() };
    let (acknowledged, lines) = delivered(Provider::Stripe, target, &plan).await;
    assert!(!acknowledged);
    assert!(lines.len() == 2 && lines.iter().all(|line| line.answer == Err(Fault::NotConnected)));
}
