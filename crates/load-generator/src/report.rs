//! What came of a run: as JSON for programs, as text for people.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::audit::Audit;
use crate::plan::{Pace, Plan, Spread, Work};
use crate::tally::{Duplicates, Tally, Timed};

/// A run's results. Rates are whole numbers a second, latencies microseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    /// The run's name, which its accounts' owners, its order numbers and its keys begin with.
    pub run: String,
    /// The server.
    pub target: String,
    /// `closed`, or `open`.
    pub mode: &'static str,
    /// The rate of an open loop, a second.
    pub rate_asked_for: Option<u32>,
    /// `orders`, or `replays`.
    pub work: &'static str,
    /// `uniform`, `zipf` or `hot`.
    pub load: &'static str,
    /// Accounts of the run.
    pub accounts: usize,
    /// Connections at the same time.
    pub connections: usize,
    /// How long was measured, in seconds.
    pub seconds: u64,
    /// Orders that were answered 201 for the first time.
    pub orders: Measured,
    /// Answers that were given again.
    pub replays: Measured,
    /// Requests that were sent again on purpose.
    pub duplicates: Duplicates,
    /// Answers other than success, by their problem's slug; the whole run, warm-up included.
    pub problems: BTreeMap<String, u64>,
    /// Faults of connections, each retried under the same key; the whole run.
    pub transport_faults: BTreeMap<String, u64>,
    /// Requests that were due in an open loop, and that no connection was free for until the end.
    pub not_sent: u64,
    /// Answers that contradict the contract.
    pub contradictions: u64,
    /// The first of them in words.
    pub contradictions_told: Vec<String>,
    /// What was compared; absent when it was not to be.
    pub audit: Option<Audit>,
}

/// What was measured of one kind of answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Measured {
    /// How many in the whole run.
    pub answered_in_all: u64,
    /// How many while it was measured.
    pub answered: u64,
    /// A second.
    pub per_second: u64,
    /// The mean latency.
    pub mean_us: u64,
    /// Half of them took no longer.
    pub p50_us: u64,
    /// Nine in ten took no longer.
    pub p90_us: u64,
    /// 99 in a hundred took no longer.
    pub p99_us: u64,
    /// 999 in a thousand took no longer.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Measured {
    fn of(timed: &Timed, milliseconds: u64) -> Self {
        let latency = &timed.latency_us;
        Self {
            answered_in_all: timed.answered_in_all,
            answered: timed.answered,
            per_second: timed.answered * 1000 / milliseconds.max(1),
            // A part of a microsecond is of no interest.
            mean_us: latency.mean() as u64,
            p50_us: latency.value_at_quantile(0.5),
            p90_us: latency.value_at_quantile(0.9),
            p99_us: latency.value_at_quantile(0.99),
            p999_us: latency.value_at_quantile(0.999),
            max_us: latency.max(),
        }
    }
}

impl Report {
    /// The report of a run.
    pub fn of(plan: &Plan, run: &str, tally: &Tally, not_sent: u64, audit: Option<Audit>) -> Self {
        let milliseconds = u64::try_from(plan.measured.as_millis()).unwrap_or(u64::MAX);
        Self {
            run: run.to_owned(),
            target: plan.target.to_string(),
            mode: match plan.pace {
                Pace::Closed => "closed",
                Pace::Open { .. } => "open",
            },
            rate_asked_for: match plan.pace {
                Pace::Closed => None,
                Pace::Open { per_second } => Some(per_second.get()),
            },
            work: match plan.work {
                Work::Orders { .. } => "orders",
                Work::Replays => "replays",
            },
            load: match plan.spread {
                Spread::Uniform => "uniform",
                Spread::Zipf => "zipf",
                Spread::Hot => "hot",
            },
            accounts: plan.accounts_opened(),
            connections: plan.connections,
            seconds: plan.measured.as_secs(),
            orders: Measured::of(&tally.orders, milliseconds),
            replays: Measured::of(&tally.replays, milliseconds),
            duplicates: tally.duplicates,
            problems: tally.problems.clone(),
            transport_faults: tally.faults.clone(),
            not_sent,
            contradictions: tally.contradictions.count,
            contradictions_told: tally.contradictions.told.clone(),
            audit,
        }
    }

    /// Whether what is there is what was answered, and no answer contradicted the contract.
    pub fn passed(&self) -> bool {
        self.contradictions == 0 && self.audit.as_ref().is_none_or(|audit| audit.passed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { work, load, accounts, connections, seconds, .. } = self;
        let pace = match self.rate_asked_for {
            Some(rate) => format!("open loop at {rate}/s"),
            None => "closed loop".to_owned(),
        };
        writeln!(
            formatter,
            "{work}, {load} over {accounts} accounts, {pace}, {connections} connections, {seconds} s\n"
        )?;
        for (name, measured) in [("orders", &self.orders), ("replays", &self.replays)] {
            if measured.answered_in_all > 0 {
                writeln!(formatter, "{name:<14} {}", Line(measured))?;
            }
        }
        if self.duplicates != Duplicates::default() {
            let Duplicates { concurrent, afterwards, replayed, in_progress } = self.duplicates;
            writeln!(
                formatter,
                "{:<14} {concurrent} at the same time, {afterwards} afterwards: {replayed} replayed, {in_progress} in progress",
                "sent again"
            )?;
        }
        writeln!(formatter, "{:<14} {}", "problems", Counts(&self.problems))?;
        writeln!(formatter, "{:<14} {}", "lost answers", Counts(&self.transport_faults))?;
        if self.not_sent > 0 {
            writeln!(formatter, "{:<14} {}: no connection was free", "not sent", self.not_sent)?;
        }
        if self.contradictions > 0 {
            writeln!(formatter, "{:<14} {}", "contradictions", self.contradictions)?;
            self.contradictions_told.iter().try_for_each(|told| writeln!(formatter, "    {told}"))?;
        }
        let Some(audit) = &self.audit else { return write!(formatter, "{:<14} not asked for", "audit") };
        let verdict = if audit.passed { "passed" } else { "FAILED" };
        write!(
            formatter,
            "{:<14} {verdict}: {} orders answered 201, {} there, {} deductions",
            "audit", audit.answered, audit.orders, audit.deductions
        )?;
        if let Some(rows) = &audit.rows {
            write!(
                formatter,
                ", {} journal rows, {} records",
                rows.journal_entries, rows.idempotency_records
            )?;
        }
        audit.told.iter().try_for_each(|told| write!(formatter, "\n    {told}"))
    }
}

/// What was measured, on one line.
struct Line<'a>(&'a Measured);

impl fmt::Display for Line<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { per_second, mean_us, p50_us, p90_us, p99_us, p999_us, max_us, .. } = self.0;
        write!(formatter, "{per_second}/s")?;
        for (name, us) in [
            ("mean", mean_us),
            ("p50", p50_us),
            ("p90", p90_us),
            ("p99", p99_us),
            ("p99.9", p999_us),
            ("max", max_us),
        ] {
            write!(formatter, "  {name} {}.{:02} ms", us / 1000, us % 1000 / 10)?;
        }
        Ok(())
    }
}

/// Counts by name.
struct Counts<'a>(&'a BTreeMap<String, u64>);

impl fmt::Display for Counts<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str("none");
        }
        for (index, (name, count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(formatter, "{comma}{count} {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::caller::Trouble;
    use crate::pace::Window;

    fn report(audit: Option<Audit>) -> Report {
        let plan = Plan {
            target: "http://127.0.0.1:1".parse().unwrap(),
            load_target: None,
            before_load: None,
            api_key: "k".to_owned(),
            pace: Pace::Closed,
            work: Work::Orders { duplicates_percent: 0 },
            spread: Spread::Hot,
            connections: 2,
            threads: 1,
            warm_up: Duration::ZERO,
            measured: Duration::from_secs(10),
            accounts: 1000,
            database: None,
            audit: true,
        };
        let mut tally = Tally::new(Window::beginning_now(plan.warm_up, plan.measured));
        tally.orders.answered = 25;
        tally.orders.answered_in_all = 30;
        tally.trouble(Trouble::Problem("overloaded"));
        Report::of(&plan, "r", &tally, 0, audit)
    }

    fn audit(differences: u64) -> Audit {
        let (answered, orders, deductions) = (30, 30, 30);
        let passed = differences == 0;
        Audit {
            passed,
            answered,
            orders,
            deductions,
            unsettled: 0,
            rows: None,
            differences,
            told: Vec::new(),
        }
    }

    #[test]
    fn a_rate_is_what_was_answered_while_it_was_measured() {
        assert_eq!(report(None).orders.per_second, 2);
    }

    #[test]
    fn a_difference_and_a_contradiction_fail_the_run() {
        assert!(report(Some(audit(0))).passed());
        assert!(!report(Some(audit(1))).passed());
        assert!(!Report { contradictions: 1, ..report(Some(audit(0))) }.passed());
    }

    #[test]
    fn the_text_tells_the_troubles_and_the_verdict() {
        let text = report(Some(audit(0))).to_string();
        assert!(text.contains("orders, hot over 1 accounts, closed loop, 2 connections, 10 s"), "{text}");
        assert!(text.contains("problems       1 overloaded"), "{text}");
        assert!(text.contains("passed: 30 orders answered 201, 30 there, 30 deductions"), "{text}");
    }
}
