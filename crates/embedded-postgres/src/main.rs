//! `embedded-postgres DIRECTORY [--not-durable]`: keeps the cluster of a directory running until its standard input
//! ends or Ctrl-C, for a look with `psql`, and for the tests, which need processes that can be killed.
//!
//! It prints a line when PostgreSQL serves (`started URL` or `attached URL`), and one when it has given it up (`stopped`
//! or `still in use`).

use std::env;
use std::error::Error;
use std::io::{self, Read};
use std::thread;

use embedded_postgres::{Cluster, Settings, Stopped};
use tokio::sync::oneshot;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let directory = arguments.next().ok_or("usage: embedded-postgres DIRECTORY [--not-durable]")?;
    let durable = match arguments.next() {
        None => true,
        Some(flag) if flag == "--not-durable" => false,
        Some(other) => return Err(format!("{} is not known", other.display()).into()),
    };

    let cluster = Cluster::attach_or_start(Settings { durable, ..Settings::new(directory) }).await?;
    let act = if cluster.started_by_us() { "started" } else { "attached" };
    println!("{act} {}", cluster.database_url("postgres"));

    tokio::select! {
        _ = end_of_input() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    match cluster.stop().await? {
        Stopped::Stopped => println!("stopped"),
        Stopped::StillInUse => println!("still in use"),
    }
    Ok(())
}

/// On a thread of its own: a read that blocks would keep the runtime from ending after Ctrl-C.
fn end_of_input() -> oneshot::Receiver<()> {
    let (ended, wait) = oneshot::channel();
    thread::spawn(move || {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    wait
}
