//! What came of an audit.

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// What came of an audit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The moment that the books were audited at: when the snapshot was taken.
    pub taken_at: DateTime<Utc>,
    /// Each check, in the order in which they are listed.
    pub checks: Vec<CheckReport>,
}

impl Report {
    /// Whether nothing differs.
    pub fn is_clean(&self) -> bool {
        self.checks.iter().all(|check| check.differences == 0)
    }

    /// How many differences there are, those that are not listed included.
    pub fn differences(&self) -> u64 {
        self.checks.iter().map(|check| check.differences).sum()
    }

    /// Whether there may be more than that.
    pub fn may_be_more(&self) -> bool {
        self.checks.iter().any(|check| check.may_be_more)
    }

    /// Leaves `limit` differences listed at most, and of each check as many as of any other while it has them: one
    /// that fails a thousand times must not hide one that fails once.
    pub fn list_at_most(&mut self, limit: usize) {
        let mut kept = vec![0; self.checks.len()];
        let mut left = limit;
        while left > 0 {
            let before = left;
            for (kept, check) in kept.iter_mut().zip(&self.checks) {
                if left > 0 && *kept < check.listed.len() {
                    *kept += 1;
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
        for (kept, check) in kept.into_iter().zip(&mut self.checks) {
            check.listed.truncate(kept);
        }
    }
}

/// What came of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckReport {
    /// Its name.
    pub name: &'static str,
    /// What it holds the books to.
    pub promise: &'static str,
    /// How many rows it looked at.
    pub rows: u64,
    /// How many differences it found.
    pub differences: u64,
    /// Whether there may be more: so much differs that not all of it was searched.
    pub may_be_more: bool,
    /// Some of the differences, or all.
    pub listed: Vec<Difference>,
}

/// Something that is not as it must be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Whose books they are.
    pub client_id: Uuid,
    /// What differs, with its id.
    pub subject: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// A check's findings while it is at work.
#[derive(Debug)]
pub struct Findings {
    report: CheckReport,
    listed_max: usize,
    searching: bool,
}

impl Findings {
    /// Of a check that has seen nothing yet.
    pub fn new(name: &'static str, promise: &'static str, listed_max: usize) -> Self {
        let report =
            CheckReport { name, promise, rows: 0, differences: 0, may_be_more: false, listed: Vec::new() };
        Self { report, listed_max, searching: false }
    }

    /// Counts a row.
    pub fn looked(&mut self) {
        if !self.searching {
            self.report.rows += 1;
        }
    }

    /// Notes a difference that a row shows by itself. Nothing is noted twice: the second reading is for what takes two
    /// rows to see.
    pub fn row_differs(&mut self, difference: impl FnOnce() -> Difference) {
        if !self.searching {
            self.differs(difference);
        }
    }

    /// Notes a difference.
    pub fn differs(&mut self, difference: impl FnOnce() -> Difference) {
        self.report.differences += 1;
        if self.report.listed.len() < self.listed_max {
            self.report.listed.push(difference());
        }
    }

    /// Notes that not all that differs was searched.
    pub fn may_be_more(&mut self) {
        self.report.may_be_more = true;
    }

    /// The rows come a second time from now on.
    pub fn search(&mut self) {
        self.searching = true;
    }

    /// What was found.
    pub fn conclude(self) -> CheckReport {
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(differences: u64) -> CheckReport {
        let mut findings = Findings::new("some", "something holds", 100);
        for number in 0..differences {
            findings.differs(|| Difference {
                client_id: Uuid::nil(),
                subject: number.to_string(),
                expected: String::new(),
                found: String::new(),
            });
        }
        findings.conclude()
    }

    #[test]
    fn a_check_that_fails_often_does_not_hide_one_that_fails_once() {
        let mut report =
            Report { taken_at: DateTime::UNIX_EPOCH, checks: vec![check(50), check(0), check(1)] };
        report.list_at_most(10);
        let listed: Vec<usize> = report.checks.iter().map(|check| check.listed.len()).collect();
        assert_eq!(listed, [9, 0, 1]);
        assert_eq!(report.differences(), 51);
        report.list_at_most(0);
        assert!(report.checks.iter().all(|check| check.listed.is_empty()) && !report.is_clean());
    }

    #[test]
    fn no_more_is_listed_than_there_is() {
        let mut report = Report { taken_at: DateTime::UNIX_EPOCH, checks: vec![check(3)] };
        report.list_at_most(10);
        assert_eq!(report.checks[0].listed.len(), 3);
    }
}
