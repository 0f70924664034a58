//! Waits for the process of a command, and ends one that takes too long.

use std::io;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::condition::Condition;

/// Time from SIGTERM to SIGKILL, and from SIGKILL to the report that it has no effect.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two looks at the process.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The same, once it has taken [`GRACE`].
const SLOW_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What happened to the command of a condition.
#[derive(Debug)]
pub struct CommandEvent {
    /// The condition.
    pub condition: Condition,
    /// What happened.
    pub outcome: CommandOutcome,
}

/// What happened to a command.
#[derive(Debug)]
pub enum CommandOutcome {
    /// It could not be started.
    NotStarted(io::Error),
    /// It has ended.
    Ended {
        /// Process id.
        pid: u32,
        /// Exit status, or the signal that ended it.
        status: ExitStatus,
        /// How long it took.
        duration: Duration,
    },
    /// It has taken too long: SIGTERM was sent to it and its children.
    TimedOut {
        /// Process id.
        pid: u32,
        /// How long it has taken.
        duration: Duration,
    },
    /// It does not end after SIGKILL, as in uninterruptible sleep.
    Unkillable {
        /// Process id.
        pid: u32,
    },
    /// It cannot be waited for.
    Lost {
        /// Process id.
        pid: u32,
        /// The error of the kernel.
        error: io::Error,
    },
}

/// How far the end of a process that takes too long was brought about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    Terminated,
    Killed,
    Reported,
}

/// Waits for a process that leads a group, and ends the group after the time limit.
pub(super) fn supervise(mut child: Child, limit: Duration, report: impl Fn(CommandOutcome)) {
    let begun = Instant::now();
    let pid = child.id();
    let mut stage = Stage::Running;
    loop {
        let duration = begun.elapsed();
        match child.try_wait() {
            Ok(Some(status)) => {
                return report(CommandOutcome::Ended {
                    pid,
                    status,
                    duration,
                });
            }
            Ok(None) => {}
            Err(error) => return report(CommandOutcome::Lost { pid, error }),
        }
        // The process was not waited for, therefore its id is its own.
        match stage {
            Stage::Running if duration >= limit => {
                stage = Stage::Terminated;
                kill_group(pid, Signal::TERM);
                report(CommandOutcome::TimedOut { pid, duration });
            }
            Stage::Terminated if duration >= limit + GRACE => {
                stage = Stage::Killed;
                kill_group(pid, Signal::KILL);
            }
            Stage::Killed if duration >= limit + 2 * GRACE => {
                stage = Stage::Reported;
                report(CommandOutcome::Unkillable { pid });
            }
            _ => {}
        }
        thread::sleep(match duration < GRACE || stage != Stage::Running {
            true => POLL_INTERVAL,
            false => SLOW_POLL_INTERVAL,
        });
    }
}

fn kill_group(pid: u32, signal: Signal) {
    let group = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // It fails when the group has ended just now.
        let _ = kill_process_group(group, signal);
    }
}
