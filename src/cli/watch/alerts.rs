//! `--on` and `--exec`: conditions that are watched, and the command that their triggers start.

use std::thread;
use std::time::Duration;

use clap::Args;

use crate::alerts::command::{AlertCommand, CommandOutcome, CommandRunner};
use crate::alerts::{Condition, ConditionMonitor, Trigger};
use crate::cli::failure::CommandFailure;
use crate::cli::options::parse_conditions;
use crate::cli::output::print_status_line;
use crate::probe::Wanted;
use crate::snapshot::Snapshot;
use crate::units::{format_wait, parse_time};

/// Time between two looks at the commands that are still running at the end.
const END_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The options.
#[derive(Debug, Args)]
pub(super) struct AlertOptions {
    /// print only when this begins to hold, such as 'await(sda)>50ms for 3s'; repeatable (docs/alerts.md)
    #[arg(long, value_name = "CONDITION")]
    on: Vec<String>,
    /// start this program then, without a shell; facts are in DISKSCOPE_... variables
    #[arg(long, value_name = "COMMAND", requires = "on")]
    exec: Option<String>,
    /// start it at most once in this time for each condition
    #[arg(long, value_name = "DURATION", requires = "exec", default_value = "1m", value_parser = parse_time)]
    exec_interval: Duration,
    /// end it when it takes longer
    #[arg(long, value_name = "DURATION", requires = "exec", default_value = "30s", value_parser = parse_time)]
    exec_timeout: Duration,
    /// run it as this user (root), instead of the one who called sudo
    #[arg(long, value_name = "USER", requires = "exec")]
    exec_user: Option<String>,
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
    pub(super) fn from_options(options: &AlertOptions) -> Result<Option<Self>, CommandFailure> {
        let set = parse_conditions(&options.on)?;
        if set.is_empty() {
            return Ok(None);
        }
        let exec = options.exec.as_deref();
        Ok(Some(Self {
            monitor: ConditionMonitor::new(set),
            runner: exec.map(|text| command_runner(text, options)).transpose()?,
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
    }
}

/// What is said of a condition whose device, unit or mount does not exist.
const ABSENT: &str =
    "there is nothing of that name now; the condition is evaluated as soon as there is";

fn command_runner(text: &str, options: &AlertOptions) -> Result<CommandRunner, CommandFailure> {
    let user = options.exec_user.as_deref();
    let command = AlertCommand::parse(text, user)?;
    let words = command.shell_words();
    if !words.is_empty() {
        print_status_line(&format!(
            "note: --exec uses no shell: {} reaches the program as it is (write sh -c '...' for a shell)",
            words.join(" ")
        ));
    }
    let print = |condition: &Condition, outcome: CommandOutcome| {
        let outcome = outcome_text(&outcome);
        print_status_line(&format!("--exec for {condition}: {outcome}"));
    };
    let (interval, timeout) = (options.exec_interval, options.exec_timeout);
    Ok(CommandRunner::new(command, interval, timeout, print))
}

fn outcome_text(outcome: &CommandOutcome) -> String {
    match outcome {
        CommandOutcome::Failed(error) => format!("cannot start the command: {error}"),
        CommandOutcome::TimedOut(time) => {
            let time = format_wait(*time);
            format!("ended by SIGTERM after {time}: --exec-timeout")
        }
        CommandOutcome::Ended(status, time) => format!("{status} after {}", format_wait(*time)),
    }
}
