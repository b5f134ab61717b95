//! What happened in a soak, and what it took.

use std::collections::BTreeMap;
use std::fmt;

/// Figures of a whole run.
#[derive(Debug, Default)]
pub struct Counts {
    /// Prompts that were said.
    pub turns: u64,
    pub steps: u64,
    /// By reason; those that failed or were stopped by what became of them.
    pub compactions: BTreeMap<String, u64>,
    pub moves: u64,
    pub aborts: u64,
    pub steered: u64,
    pub undone: u64,
    pub switches: u64,
    pub reopened: u64,
    pub rewrites: u64,
    pub models: u64,
    pub labels: u64,
    pub retries: u64,
    pub complaints: u64,
    pub requests: u64,
    pub failures: u64,
    /// Entries that were acknowledged.
    pub entries: u64,
    /// Of the file at the end.
    pub lines: usize,
    pub bytes: u64,
    /// Comparisons of the whole file with the open session.
    pub whole_checks: u64,
}

impl Counts {
    pub fn compacted(&mut self, what: String) {
        *self.compactions.entry(what).or_default() += 1;
    }

    /// Whether the run was one that tests something.
    pub fn assert_varied(&self) {
        let made = |reason: &str| self.compactions.get(reason).is_some_and(|count| *count > 0);
        assert!(made("Manual") && made("Threshold"), "{self}");
        // The rare ones need a longer run.
        let long = self.turns >= 2_000;
        assert!(!long || (made("Overflow") && self.rewrites > 0 && self.undone > 0), "{self}");
        let all = [self.moves, self.aborts, self.steered, self.switches, self.reopened];
        assert!(all.into_iter().all(|count| count > 0), "{self}");
        assert!(self.failures > 0 && self.labels > 0 && self.models > 0, "{self}");
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} prompts in {} steps; {} requests, {} failed ({} retries); compactions {:?}, {} undone; \
             {} moves, {} aborts, {} steered or queued, {} switches, {} reopened, {} rewrites, \
             {} model changes, {} labels and names, {} complaints; {} entries acknowledged; \
             the file has {} lines, {} bytes; {} whole comparisons",
            self.turns,
            self.steps,
            self.requests,
            self.failures,
            self.retries,
            self.compactions,
            self.undone,
            self.moves,
            self.aborts,
            self.steered,
            self.switches,
            self.reopened,
            self.rewrites,
            self.models,
            self.labels,
            self.complaints,
            self.entries,
            self.lines,
            self.bytes,
            self.whole_checks,
        )
    }
}

/// What the process holds.
#[derive(Debug)]
pub struct Memory {
    /// Bytes of `VmRSS`.
    pub resident: u64,
    /// Entries of the open session.
    pub open: u64,
    all: u64,
}

impl Memory {
    pub fn now(open: usize, all: u64) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        Self { resident: kilobytes.unwrap_or(0_u64) * 1_024, open: open as u64, all }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.resident as f64 / f64::from(1 << 20);
        write!(
            f,
            "{megabytes:.1} MB resident, {} entries open, {} acknowledged in all",
            self.open, self.all
        )
    }
}
