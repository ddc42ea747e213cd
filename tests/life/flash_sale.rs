//! A flash sale: thousands of buyers from many connections for a few pieces. As many orders as pieces, and everybody else
//! is told that there are none.

use futures::StreamExt;
use futures::stream;
use serde_json::json;

use crate::books::{Books, created};

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_buyers_get_as_many_pieces_as_there_are() -> anyhow::Result<()> {
    let (buyers, pieces) = if onefold_tests::long() { (100_000, 1_000) } else { (5_000, 100) };
    let books = Books::open().await?;
    created(&books.put_sku("FLASH", "9.90", pieces).await?);
    let mut accounts = Vec::new();
    for _ in 0..50 {
        accounts.push(books.account("100000.00").await?);
    }
    let (books, accounts) = (&books, &accounts);
    let begun = std::time::Instant::now();
    let statuses: Vec<u16> = stream::iter(0..buyers)
        .map(|number: usize| async move {
            let method = if number.is_multiple_of(2) { "balance" } else { "hold" };
            let items = json!([{ "sku": "FLASH", "quantity": 1 }]);
            let account = &accounts[number % accounts.len()];
            let answer = books.order(account, "9.90", items, json!({ "method": method })).await;
            let answer = answer.expect("an answer");
            assert!(answer.status == 201 || answer.slug().as_deref() == Some("out-of-stock"), "{answer:?}");
            answer.status
        })
        .buffer_unordered(64)
        .collect()
        .await;
    let elapsed = begun.elapsed();
    let sold = statuses.iter().filter(|status| **status == 201).count();
    println!("{buyers} buyers, {sold} orders and {} refusals in {elapsed:?}", buyers - sold);
    assert_eq!(sold as u64, pieces);
    let (available, reserved, sold) = books.stock("FLASH").await?;
    assert_eq!((available, reserved + sold), (0, pieces));
    books.audit().await;
    Ok(())
}
