//! `--on` and `--exec`: conditions that are watched, and the command that their triggers start.

use std::thread;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};

use crate::alerts::command::{AlertCommand, CommandError, CommandOutcome, CommandRunner};
use crate::alerts::{Condition, ConditionMonitor, ConditionSet, Trigger};
use crate::cli::failure::CommandFailure;
use crate::cli::options::time_option;
use crate::cli::output::print_status_line;
use crate::probe::Wanted;
use crate::snapshot::Snapshot;
use crate::units::format_wait;

/// Time between two looks at the commands that are still running at the end.
const END_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Options of `--exec`: name, placeholder, default, help.
const EXEC_OPTIONS: [(&str, &str, Option<&str>, &str); 3] = [
    (
        "exec-interval",
        "DURATION",
        Some("1m"),
        "start it at most once in this time for each condition",
    ),
    (
        "exec-timeout",
        "DURATION",
        Some("30s"),
        "end it when it takes longer",
    ),
    (
        "exec-user",
        "USER",
        None,
        "run it as this user (root), instead of the one who called sudo",
    ),
];

/// The options.
pub(super) fn arguments() -> Vec<Arg> {
    let on = Arg::new("on")
        .long("on")
        .value_name("CONDITION")
        .action(ArgAction::Append)
        .help(
            "print only when this begins to hold, such as 'await(sda)>50ms for 3s'; repeatable \
             (docs/alerts.md)",
        );
    let exec = Arg::new("exec")
        .long("exec")
        .value_name("COMMAND")
        .requires("on")
        .help("start this program then, without a shell; facts are in DISKSCOPE_... variables");
    let others = EXEC_OPTIONS.map(|(name, value, default, help)| {
        let option = Arg::new(name).long(name).value_name(value);
        option.requires("exec").default_value(default).help(help)
    });
    [on, exec].into_iter().chain(others).collect()
}

/// The conditions that are watched.
pub(super) struct Alerts {
    monitor: ConditionMonitor,
    runner: Option<CommandRunner>,
    /// Whether conditions whose scope does not exist were named.
    checked_scopes: bool,
}

impl Alerts {
    /// Parses the options; `None` without `--on`.
    pub(super) fn from_options(matches: &ArgMatches) -> Result<Option<Self>, CommandFailure> {
        let texts: Vec<String> = matches
            .get_many::<String>("on")
            .unwrap_or_default()
            .cloned()
            .collect();
        let set = ConditionSet::parse(&texts).map_err(|error| {
            CommandFailure::usage_error(format!("--on {error}"))
                .with_advice("metrics and scopes: docs/alerts.md")
        })?;
        if set.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            monitor: ConditionMonitor::new(set),
            runner: command_runner(matches)?,
            checked_scopes: false,
        }))
    }

    /// What samples must contain.
    pub(super) fn wanted(&self) -> Wanted {
        self.monitor.wanted()
    }

    /// Evaluates a sample and starts commands; `now` is its time.
    pub(super) fn observe(&mut self, live: &Snapshot, now: Duration) -> Vec<Trigger> {
        if !std::mem::replace(&mut self.checked_scopes, true) {
            for condition in self.monitor.absent(live) {
                print_status_line(&format!("note: {condition}: {}", ABSENT));
            }
        }
        let triggers = self.monitor.observe(live, now);
        if let Some(runner) = &mut self.runner {
            runner.handle(triggers.clone(), now);
        }
        triggers
    }

    /// For each condition whether it holds now.
    pub(super) fn firing(&self) -> impl Iterator<Item = (&Condition, bool)> {
        self.monitor.firing()
    }

    /// Waits for the commands that run, which takes at most as long as their time limit.
    pub(super) fn finish(self) {
        let Some(runner) = self.runner else {
            return;
        };
        if runner.is_running() {
            print_status_line("waiting for a command of --exec; interrupt again to leave it");
        }
        while runner.is_running() {
            thread::sleep(END_POLL_INTERVAL);
        }
        let pending = runner.pending_count();
        if pending > 0 {
            print_status_line(&format!(
                "{pending} triggers started no command: less than --exec-interval has passed"
            ));
        }
    }
}

/// What is said of a condition whose device, unit or mount does not exist.
const ABSENT: &str =
    "there is nothing of that name now; the condition is evaluated as soon as there is";

fn command_runner(matches: &ArgMatches) -> Result<Option<CommandRunner>, CommandFailure> {
    let Some(text) = matches.get_one::<String>("exec") else {
        return Ok(None);
    };
    let user = matches.get_one::<String>("exec-user").map(String::as_str);
    let command = AlertCommand::parse(text, user).map_err(command_failure)?;
    let words = command.shell_words();
    if !words.is_empty() {
        print_status_line(&format!(
            "note: --exec uses no shell: {} reaches the program as it is (write sh -c '...' for a shell)",
            words.join(" ")
        ));
    }
    let interval = time_option(matches, "exec-interval")?.unwrap_or_default();
    let timeout = time_option(matches, "exec-timeout")?.unwrap_or_default();
    let print = |condition: &Condition, outcome: CommandOutcome| {
        print_status_line(&format!(
            "--exec for {condition}: {}",
            outcome_text(&outcome)
        ));
    };
    Ok(Some(CommandRunner::new(command, interval, timeout, print)))
}

fn command_failure(error: CommandError) -> CommandFailure {
    if !matches!(error, CommandError::Untrusted { .. }) {
        return CommandFailure::usage_error(error);
    }
    CommandFailure::refused(error).with_advice(
        "only root and the user of the command may own or write the program and the directories of \
         its path; --exec-user names another user",
    )
}

fn outcome_text(outcome: &CommandOutcome) -> String {
    match outcome {
        CommandOutcome::Failed(error) => format!("cannot start the command: {error}"),
        CommandOutcome::TimedOut(time) => {
            format!(
                "ended by SIGTERM after {}: --exec-timeout",
                format_wait(*time)
            )
        }
        CommandOutcome::Ended(status, time) => format!("{status} after {}", format_wait(*time)),
    }
}
