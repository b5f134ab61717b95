//! Ending everything that a command started (F73): its process group, and on Linux all of its
//! session and its descendants, which job control or double forks have moved to other groups.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::time::{Instant, sleep};

/// How often a dying group is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The group of a command, led by its shell. Killed when dropped, unless released.
pub(crate) struct ProcessGroup {
    leader: Option<Pid>,
    /// Members that were seen outside the group when the command was told to stop.
    strays: Vec<Pid>,
}

impl ProcessGroup {
    /// The group led by the process with this id.
    pub(crate) fn new(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, strays: Vec::new() }
    }

    /// Asks all to end.
    pub(crate) fn terminate(&mut self) {
        let Some(leader) = self.leader else { return };
        self.strays.extend(strays(leader));
        self.send(Signal::TERM);
        // A stopped process sees SIGTERM only when it goes on.
        self.send(Signal::CONT);
    }

    /// Ends all.
    pub(crate) fn kill(&mut self) {
        let Some(leader) = self.leader else { return };
        self.strays.extend(strays(leader));
        self.send(Signal::KILL);
        self.leader = None;
    }

    fn send(&self, signal: Signal) {
        let Some(leader) = self.leader else { return };
        // Nothing to be done where a process is gone already, or is not ours any more.
        let _ = kill_process_group(leader, signal);
        for stray in &self.strays {
            let _ = kill_process(*stray, signal);
        }
    }

    /// Whether any member is there.
    pub(crate) fn is_alive(&self) -> bool {
        self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    /// Waits until no member is there, at most until `deadline`.
    pub(crate) async fn wait_gone(&self, deadline: Instant) {
        while Instant::now() < deadline && self.is_alive() {
            sleep(LOOK_EVERY).await;
        }
    }

    /// Lets the group be.
    pub(crate) fn release(&mut self) {
        self.leader = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Processes of the leader's session, and descendants, that are not in its group.
#[cfg(target_os = "linux")]
fn strays(leader: Pid) -> Vec<Pid> {
    let leader = leader.as_raw_nonzero().get();
    let all: Vec<Process> = std::fs::read_dir("/proc")
        .map(|entries| entries.flatten().filter_map(|entry| Process::read(&entry.path())).collect())
        .unwrap_or_default();
    let mut family = vec![leader];
    let mut strays = Vec::new();
    loop {
        let before = family.len();
        for process in &all {
            let belongs = process.session == leader || family.contains(&process.parent);
            if belongs && !family.contains(&process.id) {
                family.push(process.id);
                if process.group != leader {
                    strays.extend(Pid::from_raw(process.id));
                }
            }
        }
        if family.len() == before {
            return strays;
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn strays(_leader: Pid) -> Vec<Pid> {
    Vec::new()
}

#[cfg(target_os = "linux")]
struct Process {
    id: i32,
    parent: i32,
    group: i32,
    session: i32,
}

#[cfg(target_os = "linux")]
impl Process {
    fn read(folder: &std::path::Path) -> Option<Self> {
        let id = folder.file_name()?.to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        // The name in parentheses may hold anything; the fields follow its last parenthesis.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(1).map(str::parse);
        let mut next = || fields.next()?.ok();
        Some(Self { id, parent: next()?, group: next()?, session: next()? })
    }
}
