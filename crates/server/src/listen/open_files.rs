//! How many files the process may have open (`ulimit -n`): each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that are no client's: the listener, the runtime's, the log, the database's connections as they are by
/// default.
const KEPT: u64 = 64;

/// How many connections at a time there can be, `wanted` at most. Where the limit is too low for them, it is raised as far
/// as the system lets this user; what is lacking then is said in a warning.
///
/// With more connections than files, each accept would fail while clients wait in the kernel, and so would whatever else
/// opens a file.
pub fn connections_possible(wanted: usize) -> usize {
    let limit = raised_for(wanted);
    let possible = possible(wanted, limit);
    if possible < wanted {
        tracing::warn!(
            "http.connections_max is {wanted}, and only {possible} connections at a time are served: this process may open {} files; raise the limit (ulimit -n), or lower connections_max",
            limit.unwrap_or(u64::MAX)
        );
    }
    possible
}

/// `None`: there is no limit.
fn possible(wanted: usize, limit: Option<u64>) -> usize {
    let Some(limit) = limit else { return wanted };
    let left = usize::try_from(limit.saturating_sub(KEPT)).unwrap_or(usize::MAX);
    wanted.min(left.max(1))
}

/// The limit, after an attempt to raise it to what so many connections need.
fn raised_for(wanted: usize) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let soft = current?;
    let needed = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(KEPT);
    let attainable = maximum.map_or(needed, |hard| needed.min(hard));
    if attainable <= soft {
        return Some(soft);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(attainable), maximum }) {
        Ok(()) => Some(attainable),
        // A system may allow less than the hard limit says.
        Err(_) => Some(soft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_clients_is_kept_and_one_connection_is_always_served() {
        for (wanted, limit, expected) in [
            (4096, None, 4096),
            (4096, Some(1_048_576), 4096),
            (4096, Some(4160), 4096),
            (4096, Some(4159), 4095),
            (4096, Some(1024), 960),
            (4096, Some(64), 1),
            (4096, Some(0), 1),
        ] {
            assert_eq!(possible(wanted, limit), expected, "{wanted} of {limit:?}");
        }
    }
}
