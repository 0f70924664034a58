//! Starts the command for triggers: rarely enough, and one process per condition at a time.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit};

use super::child::{ChildSetup, spawn};
use super::command_line::AlertProgram;
use super::facts::variables;
use super::identity::ExecIdentity;
use super::supervision::{CommandEvent, CommandOutcome, supervise};
use crate::condition::{Condition, Trigger};

/// Triggers that a command is told of at most.
const MAX_TRIGGERS: usize = 64;

/// A command with the user as whom it runs.
#[derive(Debug)]
pub struct AlertCommand {
    program: AlertProgram,
    identity: ExecIdentity,
    open_files: Rlimit,
}

impl AlertCommand {
    /// Takes over the limit of open files of this process: create it before that is raised.
    #[must_use]
    pub fn new(program: AlertProgram, identity: ExecIdentity) -> Self {
        Self {
            program,
            identity,
            open_files: getrlimit(Resource::Nofile),
        }
    }
}

/// How often a command is started, and how long it may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Time between two starts for the same condition. Triggers in between are passed together.
    pub interval: Duration,
    /// Time after which a process is ended.
    pub timeout: Duration,
}

/// Receives what happens to commands, on their threads.
type EventSink = Arc<dyn Fn(CommandEvent) + Send + Sync>;

/// Starts commands for triggers.
pub struct CommandRunner {
    command: Arc<AlertCommand>,
    limits: RunLimits,
    sink: EventSink,
    slots: Vec<ConditionSlot>,
}

/// The triggers and the process of one condition.
struct ConditionSlot {
    condition: Condition,
    pending: Vec<Trigger>,
    /// Triggers that were not kept.
    omitted: u64,
    last_start: Option<Duration>,
    running: Option<JoinHandle<()>>,
}

impl ConditionSlot {
    fn new(condition: Condition) -> Self {
        Self {
            condition,
            pending: Vec::new(),
            omitted: 0,
            last_start: None,
            running: None,
        }
    }

    fn add(&mut self, trigger: Trigger) {
        match self.pending.len() < MAX_TRIGGERS {
            true => self.pending.push(trigger),
            false => self.omitted += 1,
        }
    }

    fn is_running(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|thread| !thread.is_finished())
    }

    /// Whether a command is to be started now.
    fn is_due(&self, now: Duration, interval: Duration) -> bool {
        let is_early = |last| now.saturating_sub(last) < interval;
        !self.pending.is_empty() && !self.is_running() && !self.last_start.is_some_and(is_early)
    }
}

impl CommandRunner {
    /// Starts nothing yet; `sink` is called on the threads of the commands.
    pub fn new(
        command: AlertCommand,
        limits: RunLimits,
        sink: impl Fn(CommandEvent) + Send + Sync + 'static,
    ) -> Self {
        Self {
            command: Arc::new(command),
            limits,
            sink: Arc::new(sink),
            slots: Vec::new(),
        }
    }

    /// Passes triggers on, and starts the command for each condition that has some and whose command
    /// neither runs nor was started less than the interval ago. Call it at every sample, also
    /// without triggers; `now` is a monotonic time.
    pub fn handle(&mut self, triggers: Vec<Trigger>, now: Duration) {
        for trigger in triggers {
            let known = self
                .slots
                .iter_mut()
                .find(|slot| slot.condition == trigger.condition);
            match known {
                Some(slot) => slot.add(trigger),
                None => {
                    let mut slot = ConditionSlot::new(trigger.condition.clone());
                    slot.add(trigger);
                    self.slots.push(slot);
                }
            }
        }
        for slot in &mut self.slots {
            if slot.is_due(now, self.limits.interval) {
                slot.last_start = Some(now);
                let triggers = std::mem::take(&mut slot.pending);
                let omitted = std::mem::take(&mut slot.omitted);
                let limits = self.limits;
                let (command, sink) = (Arc::clone(&self.command), Arc::clone(&self.sink));
                slot.running = start(command, (triggers, omitted), limits, sink);
            }
        }
    }

    /// Whether a command runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.slots.iter().any(ConditionSlot::is_running)
    }

    /// Triggers that no command was told of, because of the limits.
    #[must_use]
    pub fn pending_count(&self) -> u64 {
        let pending = |slot: &ConditionSlot| slot.pending.len() as u64 + slot.omitted;
        self.slots.iter().map(pending).sum()
    }
}

/// Starts the command on a thread of its own: even the start may block, on a program whose file
/// system does not respond.
fn start(
    command: Arc<AlertCommand>,
    (triggers, omitted): (Vec<Trigger>, u64),
    limits: RunLimits,
    sink: EventSink,
) -> Option<JoinHandle<()>> {
    let condition = triggers.first()?.condition.clone();
    let report = {
        let (condition, sink) = (condition.clone(), Arc::clone(&sink));
        move |outcome| {
            sink(CommandEvent {
                condition: condition.clone(),
                outcome,
            });
        }
    };
    let run = move || {
        let mut environment = command.identity.environment(std::env::vars_os());
        environment.extend(variables(&triggers, omitted));
        let setup = ChildSetup {
            program: &command.program,
            identity: &command.identity,
            environment,
            open_files: &command.open_files,
        };
        match spawn(setup) {
            Ok(child) => supervise(child, limits.timeout, report),
            Err(error) => report(CommandOutcome::NotStarted(error)),
        }
    };
    match thread::Builder::new()
        .name("alert-command".to_owned())
        .spawn(run)
    {
        Ok(thread) => Some(thread),
        Err(error) => {
            sink(CommandEvent {
                condition,
                outcome: CommandOutcome::NotStarted(error),
            });
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::alert_command::identity::IdentityChange;
    use crate::condition::{ScopeInstance, ScopeKind};

    /// Far beyond what any of the commands takes.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn trigger(condition: &str, name: &str) -> Trigger {
        Trigger {
            time: "2026-01-01T00:00:12Z".into(),
            condition: Condition::parse(condition).unwrap(),
            instance: ScopeInstance {
                kind: ScopeKind::Device,
                name: name.into(),
                label: "".into(),
                pid: None,
            },
            value: 0.9,
            since: "2026-01-01T00:00:12Z".into(),
            held_ns: 0,
        }
    }

    fn runner(text: &str, timeout: Duration) -> (CommandRunner, Receiver<CommandEvent>) {
        let identity = ExecIdentity(IdentityChange::None);
        let program = AlertProgram::parse(text, "/usr/bin:/bin".as_ref()).unwrap();
        let (sender, receiver) = channel();
        let limits = RunLimits {
            interval: Duration::from_secs(60),
            timeout,
        };
        let sink = move |event| drop(sender.send(event));
        let runner = CommandRunner::new(AlertCommand::new(program, identity), limits, sink);
        (runner, receiver)
    }

    fn wait_until_idle(runner: &CommandRunner) {
        while runner.is_running() {
            thread::yield_now();
        }
    }

    #[test]
    fn command_starts_once_per_interval_and_condition_with_all_triggers() {
        let root = tempfile::tempdir().unwrap();
        let log = root.path().join("log");
        let script = format!(
            "sh -c 'echo $DISKSCOPE_NAME $DISKSCOPE_TRIGGER_COUNT >> {}'",
            log.display()
        );
        let (mut runner, events) = runner(&script, PATIENCE);
        let busy = "busy(any)>50%";
        for (second, triggers) in [
            (0, vec![trigger(busy, "sda"), trigger(busy, "sdb")]),
            (
                1,
                vec![trigger(busy, "sdc"), trigger("await(sdd)>1ms", "sdd")],
            ),
            (30, vec![trigger(busy, "sde")]),
            (59, vec![]),
            (60, vec![]),
            (200, vec![]),
        ] {
            runner.handle(triggers, Duration::from_secs(second));
            wait_until_idle(&runner);
        }
        let lines = std::fs::read_to_string(&log).unwrap();
        assert_eq!(lines, "sda 2\nsdd 1\nsdc 2\n");
        let ended = events.try_iter().filter(|event| {
            matches!(&event.outcome, CommandOutcome::Ended { status, .. } if status.success())
        });
        assert_eq!(ended.count(), 3);
        assert_eq!(runner.pending_count(), 0);
    }

    #[test]
    fn command_that_hangs_is_ended_and_does_not_run_twice() {
        let (mut runner, events) = runner("sleep 600", Duration::from_millis(50));
        let busy = "busy(any)>50%";
        runner.handle(vec![trigger(busy, "sda")], Duration::ZERO);
        // The sleeping command may have ended by then; the time of its start counts too.
        runner.handle(vec![trigger(busy, "sdb")], Duration::from_secs(10));
        assert_eq!(runner.pending_count(), 1);
        let event = events.recv_timeout(PATIENCE).unwrap();
        assert!(
            matches!(event.outcome, CommandOutcome::TimedOut { .. }),
            "{event:?}"
        );
        let event = events.recv_timeout(PATIENCE).unwrap();
        let CommandOutcome::Ended { status, .. } = event.outcome else {
            panic!("{event:?}");
        };
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(15)
        );
    }

    #[test]
    fn command_that_cannot_start_is_reported() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("gone");
        std::fs::write(&path, "#!/no/such/interpreter\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        let (mut runner, events) = runner(path.to_str().unwrap(), PATIENCE);
        runner.handle(vec![trigger("busy(any)>50%", "sda")], Duration::ZERO);
        let event = events.recv_timeout(PATIENCE).unwrap();
        assert!(
            matches!(event.outcome, CommandOutcome::NotStarted(_)),
            "{event:?}"
        );
    }
}
