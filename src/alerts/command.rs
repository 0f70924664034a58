//! The command that triggers of conditions start: `watch --on CONDITION --exec COMMAND`.
//!
//! It is started without a shell, as the user who invoked the program, in a session of its own, with
//! facts as environment variables. At most one process per condition runs at a time, each on a
//! thread that starts it, waits for it and ends it when it takes too long: neither a program on a
//! hanging file system nor one that never ends delays a sample.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

use rustix::process::{Pid, Signal, geteuid, kill_process_group, setsid};

use super::trigger_text::trigger_variables;
use crate::alerts::{Condition, Trigger};
use crate::files::error::FileError;
use crate::files::path::check_controlled;

/// Where root looks for programs, whatever its `PATH` is.
const ROOT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Triggers that a command is told of at most.
const MAX_TRIGGERS: usize = 64;
/// Time from SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two looks at a process.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// `CLOSE_RANGE_CLOEXEC` (linux/close_range.h).
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;

/// Why there is no command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It cannot be understood, or there is no such program or user.
    #[error("--exec: {0}")]
    Usage(String),
    /// Somebody else than root and the user of the command decides what is executed.
    #[error("--exec: {} is not run as {user}: {reason}", program.display())]
    Untrusted {
        /// The program.
        program: PathBuf,
        /// The user of the command.
        user: String,
        /// What others control.
        reason: FileError,
    },
}

fn usage(problem: String) -> CommandError {
    CommandError::Usage(problem)
}

/// A user as whom a command runs, from passwd(5).
#[derive(Debug, Clone, PartialEq, Eq)]
struct User {
    name: String,
    id: u32,
    group: u32,
    home: String,
}

impl User {
    /// The user that `--exec-user` names. Without it the one who called sudo or pkexec; root where
    /// root itself started the program. `None` where this process is not root.
    fn of_command(requested: Option<&str>) -> Result<Option<Self>, CommandError> {
        if !geteuid().is_root() {
            let problem = "only root can run it as another user (--exec-user)";
            return requested.map_or(Ok(None), |_| Err(usage(problem.to_owned())));
        }
        let variable = |name: &str| env::var(name).ok();
        let caller = || variable("SUDO_UID").or_else(|| variable("PKEXEC_UID"));
        let wanted = requested.map(str::to_owned).or_else(caller);
        let wanted = wanted.unwrap_or_else(|| "0".to_owned());
        let passwd = fs::read("/etc/passwd").unwrap_or_default();
        let passwd = String::from_utf8_lossy(&passwd);
        let user = Self::find(&passwd, &wanted, variable("SUDO_GID").as_deref());
        let problem = "in /etc/passwd; --exec-user names another one";
        let unknown = || usage(format!("there is no user {wanted:?} {problem}"));
        user.map(Some).ok_or_else(unknown)
    }

    /// The user with that name or number. A user of a directory service is known by its number only, and
    /// by the group of sudo.
    fn find(passwd: &str, wanted: &str, sudo_group: Option<&str>) -> Option<Self> {
        // -1 means "unchanged" to the kernel (setresuid(2)).
        let number = |text: &str| text.parse().ok().filter(|id| *id != u32::MAX);
        let user = |[name, id, group, home]: [&str; 4]| {
            Some(Self {
                name: name.to_owned(),
                id: number(id)?,
                group: number(group)?,
                home: home.to_owned(),
            })
        };
        for line in passwd.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, id, group, _, home, _] = fields[..] else {
                continue;
            };
            if [name, id].contains(&wanted) {
                return user([name, id, group, home]);
            }
        }
        user([wanted, wanted, sudo_group.unwrap_or(wanted), "/"])
    }
}

/// A program with its arguments, and the user as whom it runs.
#[derive(Debug)]
pub struct AlertCommand {
    path: PathBuf,
    arguments: Vec<String>,
    /// `None` where this process is not root: nothing changes.
    user: Option<User>,
}

impl AlertCommand {
    /// Splits a text into words as a POSIX shell does, without expanding anything, and finds the
    /// program: below the current directory when its name has a slash, otherwise in `PATH`, or for root in the
    /// usual directories. What the program itself reads or starts, as a shell its script, is not checked.
    ///
    /// # Errors
    /// If there are no words, the first is no program or one that others control, or there is no such user.
    pub fn parse(text: &str, user: Option<&str>) -> Result<Self, CommandError> {
        let user = User::of_command(user)?;
        let mut words = shlex::split(text).unwrap_or_default().into_iter();
        let problem = "there are no words, or a quote is not closed";
        let name = words
            .next()
            .ok_or_else(|| usage(format!("{text:?}: {problem}")))?;
        let current = env::var_os("PATH").filter(|_| user.is_none());
        let directories = current.unwrap_or_else(|| ROOT_PATH.into());
        let problem = "that can be executed";
        let path = find_program(&name, &directories)
            .ok_or_else(|| usage(format!("there is no program {name:?} {problem}")))?;
        if let Some(user) = &user
            && let Err(reason) = check_controlled(&path, user.id)
        {
            return Err(CommandError::Untrusted {
                program: path,
                user: user.name.clone(),
                reason,
            });
        }
        Ok(Self {
            path,
            arguments: words.collect(),
            user,
        })
    }

    /// Words that only a shell would act on, such as `|` and `$DISKSCOPE_NAME`; none if the program
    /// has arguments for a shell of its own.
    #[must_use]
    pub fn shell_words(&self) -> Vec<&str> {
        let is_script = self.arguments.iter().any(|word| word == "-c");
        let operators = ["|", "||", "&", "&&", ";", ">", ">>", "<", "2>&1"];
        let is_for_shell = |word: &&str| operators.contains(word) || word.contains("$DISKSCOPE_");
        let words = self.arguments.iter().map(String::as_str);
        words
            .filter(|word| !is_script && is_for_shell(word))
            .collect()
    }

    /// Starts the process, in a session of its own: it has no terminal, and signals of the terminal do
    /// not reach it. stdin is `/dev/null`; its output goes to stderr, because stdout is the result.
    fn start(&self, facts: Vec<(&str, String)>) -> io::Result<Child> {
        let mut command = Command::new(&self.path);
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        command.args(&self.arguments).stdin(Stdio::null());
        command.stdout(stderr.map_or_else(|_| Stdio::null(), Stdio::from));
        if let Some(user) = &self.user {
            // Whoever set these for root is root, or was checked by sudo(8).
            let kept = ["LANG", "LC_ALL", "TZ"].map(|name| Some((name, env::var_os(name)?)));
            command.env_clear().envs(kept.into_iter().flatten());
            command.env("PATH", ROOT_PATH).env("HOME", &user.home);
            command.env("USER", &user.name).current_dir("/");
            // The other groups of root are dropped with its user id.
            command.gid(user.group).uid(user.id);
        }
        command.envs(facts);
        let before_exec = || {
            setsid()?;
            let (first, last) = (3, libc::c_uint::MAX);
            // SAFETY: the call changes a flag of descriptors. Those that this program has inherited would
            // otherwise be passed on; kernels before 5.11 do.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, CLOSE_RANGE_CLOEXEC) };
            Ok(())
        };
        // SAFETY: the function makes two system calls, allocates nothing and takes no locks.
        unsafe { command.pre_exec(before_exec) };
        command.spawn()
    }
}

fn find_program(name: &str, directories: &OsStr) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return std::path::absolute(name).ok().filter(is_executable);
    }
    // A relative directory would depend on the working directory of the child.
    env::split_paths(directories)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(is_executable)
}

/// What happened to a command.
#[derive(Debug)]
pub enum CommandOutcome {
    /// It could not be started, or not be waited for.
    Failed(io::Error),
    /// It has taken too long: SIGTERM was sent to it and its children.
    TimedOut(Duration),
    /// It has ended, with its exit status or the signal that ended it, after this time.
    Ended(ExitStatus, Duration),
}

/// Receives what happens to the command of a condition, on a thread of that command.
type OutcomeSink = Arc<dyn Fn(&Condition, CommandOutcome) + Send + Sync>;

/// Starts commands for triggers: rarely enough, and one process per condition at a time.
pub struct CommandRunner {
    command: Arc<AlertCommand>,
    interval: Duration,
    timeout: Duration,
    sink: OutcomeSink,
    /// By the text of the condition.
    slots: BTreeMap<String, ConditionSlot>,
}

/// The triggers and the process of one condition.
#[derive(Default)]
struct ConditionSlot {
    /// The first triggers since the last start.
    pending: Vec<Trigger>,
    /// How many there were.
    count: u64,
    last_start: Option<Duration>,
    running: Option<JoinHandle<()>>,
}

impl ConditionSlot {
    fn is_running(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|thread| !thread.is_finished())
    }
}

impl CommandRunner {
    /// Starts nothing yet. For each condition the command starts at most once per `interval`; triggers in
    /// between are passed together. After `timeout` a process is ended. `sink` is called on the threads of
    /// the commands.
    pub fn new(
        command: AlertCommand,
        interval: Duration,
        timeout: Duration,
        sink: impl Fn(&Condition, CommandOutcome) + Send + Sync + 'static,
    ) -> Self {
        Self {
            command: Arc::new(command),
            interval,
            timeout,
            sink: Arc::new(sink),
            slots: BTreeMap::new(),
        }
    }

    /// Passes triggers on, and starts the command for each condition that has some and whose command
    /// neither runs nor was started less than the interval ago. Call it at every sample, also
    /// without triggers; `now` is a monotonic time.
    pub fn handle(&mut self, triggers: Vec<Trigger>, now: Duration) {
        for trigger in triggers {
            let slot = self.slots.entry(trigger.condition.to_string()).or_default();
            slot.count += 1;
            if slot.pending.len() < MAX_TRIGGERS {
                slot.pending.push(trigger);
            }
        }
        for slot in self.slots.values_mut() {
            let is_early = |last| now.saturating_sub(last) < self.interval;
            let Some(first) = slot.pending.first() else {
                continue;
            };
            if slot.is_running() || slot.last_start.is_some_and(is_early) {
                continue;
            }
            let condition = first.condition.clone();
            slot.last_start = Some(now);
            let triggers = std::mem::take(&mut slot.pending);
            let count = std::mem::take(&mut slot.count);
            let (command, sink) = (Arc::clone(&self.command), Arc::clone(&self.sink));
            let timeout = self.timeout;
            // Even the start may block, on a program whose file system does not respond.
            let run = move || {
                let report = |outcome| sink(&condition, outcome);
                let ended = command
                    .start(trigger_variables(&triggers, count))
                    .and_then(|child| wait_for(child, timeout, &report));
                report(ended.unwrap_or_else(CommandOutcome::Failed));
            };
            let thread = thread::Builder::new().name("alert-command".to_owned());
            // Without a thread there is no command, and the next trigger tries again.
            slot.running = thread.spawn(run).ok();
        }
    }

    /// Whether a command runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.slots.values().any(ConditionSlot::is_running)
    }
}

/// Waits for a process that leads a group, and ends the group after the time limit.
fn wait_for(
    mut child: Child,
    timeout: Duration,
    report: &impl Fn(CommandOutcome),
) -> io::Result<CommandOutcome> {
    let begun = Instant::now();
    // The process was not waited for, therefore its id is its own.
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let end_group = |signal| group.map(|group| kill_process_group(group, signal));
    for (limit, signal) in [(timeout, Signal::TERM), (timeout + GRACE, Signal::KILL)] {
        while begun.elapsed() < limit {
            if let Some(status) = child.try_wait()? {
                return Ok(CommandOutcome::Ended(status, begun.elapsed()));
            }
            thread::sleep(POLL_INTERVAL);
        }
        // It fails when the group has ended just now.
        let _ = end_group(signal);
        if signal == Signal::TERM {
            report(CommandOutcome::TimedOut(begun.elapsed()));
        }
    }
    let status = child.wait()?;
    Ok(CommandOutcome::Ended(status, begun.elapsed()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::alerts::{ScopeInstance, ScopeKind};

    /// Far beyond what any of the commands takes.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn trigger(condition: &str, name: &str, pid: Option<u32>) -> Trigger {
        Trigger {
            time: "2026-01-01T00:00:12Z".into(),
            condition: Condition::parse(condition).unwrap(),
            instance: ScopeInstance {
                kind: pid.map_or(ScopeKind::Device, |_| ScopeKind::Process),
                name: name.into(),
                label: "".into(),
                pid,
            },
            value: 72e9,
            since: "2026-01-01T00:00:12Z".into(),
            held_ns: 0,
        }
    }

    fn runner(words: &[&str], timeout: Duration) -> (CommandRunner, Receiver<CommandOutcome>) {
        let command = AlertCommand {
            path: words[0].into(),
            arguments: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            user: None,
        };
        let (sender, receiver) = channel();
        let sink = move |_: &Condition, outcome| drop(sender.send(outcome));
        let runner = CommandRunner::new(command, Duration::from_secs(60), timeout, sink);
        (runner, receiver)
    }

    #[test]
    fn user_is_found_by_name_and_number() {
        let passwd =
            "root:x:0:0:root:/root:/bin/bash\n+::::::\nann:x:1000:1001::/home/ann:/bin/zsh\n";
        let found = |wanted: &str, group| {
            User::find(passwd, wanted, group).map(|user| (user.name, user.id, user.group))
        };
        for (wanted, group, name, id, own_group) in [
            ("ann", None, "ann", 1000, 1001),
            ("1000", Some("7"), "ann", 1000, 1001),
            // Users of a directory service.
            ("70000", Some("7"), "70000", 70_000, 7),
            ("70000", None, "70000", 70_000, 70_000),
        ] {
            let expected = (name.to_owned(), id, own_group);
            assert_eq!(found(wanted, group), Some(expected), "{wanted}");
        }
        for unclear in ["bob", "+", "", "-1", "4294967295", "0x0"] {
            assert_eq!(found(unclear, Some("7")), None, "{unclear}");
        }
    }

    #[test]
    fn command_starts_once_per_interval_and_condition_with_all_triggers() {
        let root = tempfile::tempdir().unwrap();
        let log = root.path().join("log");
        let script = format!(
            "echo $DISKSCOPE_NAME $DISKSCOPE_TRIGGER_COUNT >> {}",
            log.display()
        );
        let (mut runner, events) = runner(&["/bin/sh", "-c", &script], PATIENCE);
        let busy = |name| trigger("busy(any)>50%", name, None);
        for (second, triggers) in [
            (0, vec![busy("sda"), busy("sdb")]),
            (1, vec![busy("sdc"), trigger("await(sdd)>1ms", "sdd", None)]),
            (30, vec![busy("sde")]),
            (59, vec![]),
            (60, vec![]),
            (200, vec![]),
        ] {
            runner.handle(triggers, Duration::from_secs(second));
            while runner.is_running() {
                thread::yield_now();
            }
        }
        assert_eq!(fs::read_to_string(&log).unwrap(), "sda 2\nsdd 1\nsdc 2\n");
        let is_success = |it: &CommandOutcome| matches!(it, CommandOutcome::Ended(status, _) if status.success());
        assert_eq!(events.try_iter().filter(is_success).count(), 3);
    }
}
