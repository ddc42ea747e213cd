//! No order's number and no reference comes twice: they are unique for ever, which stops the second effect
//! of a retry that outlives its record.
//!
//! They come in order, so each is compared with the one before, and the longest that is kept is one.

use uuid::Uuid;

use crate::check::Check;
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{BusinessKey, Row};

/// The check.
#[derive(Debug)]
pub struct BusinessKeys {
    order_numbers: Distinct,
    references: Distinct,
}

impl BusinessKeys {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let distinct = |name, promise| Distinct {
            findings: Findings::new(name, promise, listed_max),
            before: None,
            kind: String::new(),
            text: String::new(),
        };
        Self {
            order_numbers: distinct("order-numbers", "no order number comes twice"),
            references: distinct("references", "no reference of one kind comes twice"),
        }
    }
}

impl Check for BusinessKeys {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::OrderNumber(key) => self.order_numbers.see(key, "order number"),
            Row::Reference(key) => self.references.see(key, "reference"),
            _ => {}
        }
    }

    fn conclude(self: Box<Self>) -> Vec<CheckReport> {
        vec![self.order_numbers.findings.conclude(), self.references.findings.conclude()]
    }
}

/// Keys that come in order, and the one that came last.
#[derive(Debug)]
struct Distinct {
    findings: Findings,
    before: Option<Uuid>,
    kind: String,
    text: String,
}

impl Distinct {
    fn see(&mut self, key: &BusinessKey<'_>, what: &str) {
        self.findings.looked();
        if self.before == Some(key.client_id) && self.kind == key.kind && self.text == key.text {
            self.findings.differs(|| Difference {
                client_id: key.client_id,
                subject: format!("{what} {:?} {}", key.text, key.kind).trim_end().to_owned(),
                expected: "one".to_owned(),
                found: "one more".to_owned(),
            });
        }
        self.before = Some(key.client_id);
        for (kept, text) in [(&mut self.kind, key.kind), (&mut self.text, key.text)] {
            kept.clear();
            kept.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_again_is_found_and_another_clients_is_not() {
        let mut check = BusinessKeys::new(10);
        for (client, text) in [(1, "A-1"), (1, "A-2"), (1, "A-2"), (2, "A-2")] {
            let client_id = Uuid::from_u128(client);
            check.see(&Row::OrderNumber(BusinessKey { client_id, kind: "", text }));
        }
        for kind in ["deposit", "transfer"] {
            check.see(&Row::Reference(BusinessKey { client_id: Uuid::nil(), kind, text: "R" }));
        }
        let reports = Box::new(check).conclude();
        let found: Vec<_> = reports.iter().map(|report| (report.rows, report.differences)).collect();
        assert_eq!(found, [(4, 1), (2, 0)]);
        assert_eq!(reports[0].listed[0].subject, "order number \"A-2\"");
    }
}
