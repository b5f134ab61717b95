//! What the system knows of a running process.

use std::time::Duration;

/// What a process has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Use {
    /// Time on a processor, all threads that still run.
    pub cpu: Duration,
    /// How often a thread of it was woken.
    pub wakes: u64,
}

impl Use {
    /// Of a process, now.
    pub fn of(pid: i32) -> Self {
        let mut used = Self::default();
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let read = |name: &str| std::fs::read_to_string(task.path().join(name));
            let schedule = read("schedstat").unwrap_or_default();
            let nanos = schedule.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
            used.cpu += Duration::from_nanos(nanos.unwrap_or_default());
            used.wakes += field(&read("status").unwrap_or_default(), "voluntary_ctxt_switches:");
        }
        used
    }

    /// What came after `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            wakes: self.wakes.saturating_sub(earlier.wakes),
        }
    }
}

/// Megabytes that a process alone occupies.
pub fn pss(pid: i32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    field(&text, "Pss:") as f64 / 1024.0
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
