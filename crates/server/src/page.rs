//! Pages of lists: `?limit=` and `?cursor=` in, `data` and `next_cursor` out.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::cursor::Cursor;
use crate::query::Query;

/// How many rows a page may have.
const LIMIT_MAX: usize = 100;

/// How many rows a page has unless asked.
const LIMIT_DEFAULT: usize = 20;

/// Which list is read, and of whom.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// Its name, such as `accounts`.
    pub name: &'static str,
    /// The client, or the account whose entries are listed.
    pub scope: Uuid,
}

/// Which page of a list is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    list: List,
    limit: usize,
    /// The sort key of the last row of the page before; none for the first page.
    pub before: Option<u128>,
}

impl Page {
    /// Takes `limit` and `cursor` from the query; what is wrong with them is noted there.
    pub fn read(list: List, query: &mut Query) -> Self {
        let limit = query.take("limit", |text| {
            let is_plain = !text.starts_with(['+', '0']);
            let number = text.parse().ok().filter(|number| is_plain && (1..=LIMIT_MAX).contains(number));
            number.ok_or_else(|| format!("must be a whole number from 1 to {LIMIT_MAX}"))
        });
        let before = query.take("cursor", |text| {
            let cursor = Cursor::decode(list.name, list.scope, text);
            cursor.map(|cursor| cursor.position).ok_or_else(|| "is not a cursor of this list".to_owned())
        });
        Self { list, limit: limit.unwrap_or(LIMIT_DEFAULT), before }
    }

    /// How many rows to fetch: one more than are shown, to learn whether there is a next page.
    pub fn fetch(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX - 1) + 1
    }

    /// The page's body, of the rows that were fetched.
    pub fn body<R, B: From<R>>(&self, mut rows: Vec<R>, position: impl Fn(&R) -> u128) -> ListBody<B> {
        let more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let last = rows.last().filter(|_| more);
        let next_cursor = last.map(|row| {
            Cursor { list: self.list.name, scope: self.list.scope, position: position(row) }.encode()
        });
        ListBody { data: rows.into_iter().map(B::from).collect(), next_cursor }
    }
}

/// A page of a list: newest first, but for histories, which begin at the beginning.
#[derive(Serialize, ToSchema, Debug)]
pub struct ListBody<T> {
    /// The rows of the page.
    pub data: Vec<T>,
    /// What to send as `cursor` for the next page; null when this is the last.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: List = List { name: "numbers", scope: Uuid::nil() };

    fn read(query: &str) -> (Page, bool) {
        let mut query = Query::parse(Some(query));
        let page = Page::read(LIST, &mut query);
        (page, query.finish().is_ok())
    }

    #[test]
    fn a_limit_is_a_whole_number_from_1_to_100() {
        assert_eq!(read("").0.fetch(), 21);
        assert_eq!(read("limit=1").0.fetch(), 2);
        assert_eq!(read("limit=100").0.fetch(), 101);
        for bad in ["0", "101", "-1", "+5", "05", "1.5", "x", "", "18446744073709551616"] {
            assert!(!read(&format!("limit={bad}")).1, "{bad} was taken");
        }
    }

    #[test]
    fn the_next_page_begins_after_the_last_row_shown() {
        let (page, _) = read("limit=2");
        let body: ListBody<u128> = page.body(vec![9, 8, 7], |row| *row);
        assert_eq!(body.data, [9, 8]);
        let next = body.next_cursor.unwrap();
        let (page, good) = read(&format!("limit=2&cursor={next}"));
        assert!(good);
        assert_eq!(page.before, Some(8));
        let last: ListBody<u128> = page.body(vec![7], |row| *row);
        assert_eq!(last.next_cursor, None);
    }

    #[test]
    fn a_full_last_page_has_no_next() {
        let (page, _) = read("limit=2");
        let body: ListBody<u128> = page.body(vec![9, 8], |row| *row);
        assert_eq!((body.data.len(), body.next_cursor), (2, None));
    }
}
