//! The command line: arguments and exit statuses, with one file per subcommand.
//!
//! stdout carries only the result; everything else goes to stderr.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::drive::ioctl;
use crate::drive::settings::{LeftoverSetting, SettingsManager};
use crate::named_file::OutputError;
use crate::probe::trace::remove_leftovers as trace_leftovers;
use crate::roots::SysPaths;
use crate::safe_text::json;
use crate::safe_text::printable::{printable_bytes, printable_lines, printable_str};
use crate::session::store::StoreError;
use crate::supervisor;
use crate::supervisor::ProcessRole;
use crate::units;

mod compare;
mod completions;
mod devices;
mod elevation;
mod files;
mod interface;
mod list;
mod manual;
mod pace;
mod record;
mod replay;
mod report;
mod run;
mod show;
mod signals;
mod trace;
mod watch;

/// Exit status of the program; scripts may rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Completed.
    Success = 0,
    /// Failed; the results until then were saved and printed.
    Failed = 1,
    /// The command line is invalid.
    UsageError = 2,
    /// Refused for safety.
    Refused = 3,
    /// Completed, but a goal was missed.
    GoalMissed = 4,
    /// Interrupted; the partial result was saved and printed.
    Interrupted = 130,
}

/// A command that failed: the messages, and the exit status.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    exit: ExitStatus,
    message: String,
    /// Facts and advice, one line each.
    details: Vec<String>,
}

impl CommandFailure {
    fn usage_error(message: impl ToString) -> Self {
        Self {
            exit: ExitStatus::UsageError,
            message: message.to_string(),
            details: Vec::new(),
        }
    }

    fn failed(message: impl ToString) -> Self {
        Self {
            exit: ExitStatus::Failed,
            message: message.to_string(),
            details: Vec::new(),
        }
    }

    /// Adds a line of advice.
    fn with_advice(mut self, advice: impl ToString) -> Self {
        self.details.push(advice.to_string());
        self
    }
}

/// Result of a subcommand.
type CommandResult = std::result::Result<ExitStatus, CommandFailure>;

/// A subcommand: its arguments and its function.
struct Subcommand {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> CommandResult,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        command: run::command,
        run: run::run,
    },
    Subcommand {
        command: list::command,
        run: list::run,
    },
    Subcommand {
        command: devices::command,
        run: devices::run,
    },
    Subcommand {
        command: files::command,
        run: files::run,
    },
    Subcommand {
        command: watch::command,
        run: watch::run,
    },
    Subcommand {
        command: trace::command,
        run: trace::run,
    },
    Subcommand {
        command: record::command,
        run: record::run,
    },
    Subcommand {
        command: replay::command,
        run: replay::run,
    },
    Subcommand {
        command: show::command,
        run: show::run,
    },
    Subcommand {
        command: compare::command,
        run: compare::run,
    },
    Subcommand {
        command: report::command,
        run: report::run,
    },
    Subcommand {
        command: completions::command,
        run: completions::run,
    },
    Subcommand {
        command: manual::command,
        run: manual::run,
    },
];

/// Maximum time for which a command waits for the clean-up after killed runs.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// The complete definition of the command line for clap.
#[must_use]
pub fn command() -> Command {
    let command = Command::new("diskscope")
        .version(clap::crate_version!())
        .about("What is using my disks, how far along is that copy, and how good is this drive?")
        .after_help("Without a command the terminal interface opens, the Live screen first.")
        .args(interface::interface_arguments());
    SUBCOMMANDS
        .iter()
        .fold(command, |command, one| command.subcommand((one.command)()))
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    // Check this first: with elevated rights neither the environment nor the arguments are trusted.
    if let Some(elevation) = elevation::PrivilegeSource::of_process() {
        print_status_line(&format!("diskscope: {}", elevation.refusal_text()));
        return ExitCode::from(ExitStatus::Refused as u8);
    }
    // Exceeding a limit on the file size then fails the write instead of killing the program.
    ioctl::ignore_sigxfsz();
    let matches = match parse_arguments(std::env::args_os()) {
        Ok(matches) => matches,
        Err(exit) => return ExitCode::from(exit as u8),
    };
    clean_up_leftovers();
    if may_block_on_devices(&matches)
        && let ProcessRole::Supervisor(code) = supervisor::split_process(clean_up_leftovers)
    {
        return code;
    }
    let exit = run_subcommand(&matches) as u8;
    supervisor::report_delivered(exit);
    ExitCode::from(exit)
}

/// Parses the arguments; the error is the exit status if the program ends here.
fn parse_arguments(
    arguments: impl Iterator<Item = OsString>,
) -> std::result::Result<ArgMatches, ExitStatus> {
    let arguments: Vec<OsString> = arguments.collect();
    command().try_get_matches_from(&arguments).map_err(|error| {
        print_clap_error(&error, &arguments);
        if error.use_stderr() {
            ExitStatus::UsageError
        } else {
            ExitStatus::Success
        }
    })
}

/// Whether the command waits for devices, or for file systems with files that the user names or
/// that the program keeps: any of them may never respond.
fn may_block_on_devices(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        None => io::stdout().is_terminal(),
        Some((name, _)) => [
            "run", "devices", "show", "compare", "report", "record", "replay", "watch", "files",
        ]
        .contains(&name),
    }
}

fn run_subcommand(matches: &ArgMatches) -> ExitStatus {
    let outcome = match matches.subcommand() {
        None => interface::run(matches),
        Some((name, matches)) => SUBCOMMANDS
            .iter()
            .find(|one| (one.command)().get_name() == name)
            .map_or_else(
                || Err(CommandFailure::usage_error(name)),
                |one| (one.run)(matches),
            ),
    };
    outcome.unwrap_or_else(|failure| {
        print_status_line(&format!("diskscope: {}", failure.message));
        for line in &failure.details {
            print_status_line(&format!("  {line}"));
        }
        failure.exit
    })
}

/// Prints clap's message: help, version, or an error in the arguments. clap repeats an argument
/// verbatim, line breaks included. If an argument contains anything but plain text, the same error
/// is printed for the escaped arguments.
fn print_clap_error(error: &clap::Error, arguments: &[OsString]) {
    let is_plain = |argument: &OsString| {
        argument
            .to_str()
            .is_some_and(|text| printable_str(text) == text)
    };
    // A closed stderr or stdout is no error.
    if arguments.iter().all(is_plain) {
        let _ = error.print();
        return;
    }
    let escaped = arguments
        .iter()
        .map(|argument| printable_bytes(argument.as_encoded_bytes()));
    match command().try_get_matches_from(escaped) {
        Err(same) if same.kind() == error.kind() => drop(same.print()),
        _ => print_status_line(&format!("error: {}", error.kind())),
    }
}

/// Removes what killed runs left behind, and reports it. The wait is bounded: a file system that
/// does not respond may be irrelevant to the command.
fn clean_up_leftovers() {
    let cleaned = supervisor::run_in_child(CLEAN_UP_TIMEOUT, || {
        let lines = restore_leftovers();
        trace_leftovers(&SysPaths::default());
        lines
    });
    for line in cleaned.lines {
        print_status_line(&line);
    }
    if cleaned.killed_helper.is_some() {
        print_status_line(&format!(
            "diskscope: the clean-up after killed runs was given up after {} s: /run, /sys or \
             tracefs does not answer",
            CLEAN_UP_TIMEOUT.as_secs()
        ));
        print_status_line(
            "  settings and traces that a killed run left stay until the next start at which they answer",
        );
    }
}

/// Restores system settings that a killed run left changed; returns the messages.
fn restore_leftovers() -> Vec<String> {
    let restored = SettingsManager::default().restore_leftovers().into_iter();
    let sentences = restored.flat_map(|restored| match restored {
        Ok(LeftoverSetting::Restored { path, value }) => vec![format!(
            "diskscope: {} is {value} again: a run that was killed had changed it",
            path.display()
        )],
        Ok(LeftoverSetting::OtherDevice { setting }) => vec![format!(
            "diskscope: {setting} was left as it is: a run that was killed had changed it, but \
             another device has that name now"
        )],
        Err(error) => vec![
            format!("diskscope: {error}"),
            format!("  {}", error.advice()),
        ],
    });
    sentences.collect()
}

/// Prints one line to stderr. A line break in a name is shown as `\n`, so that the rest of the name
/// cannot look like another message. A closed stderr is no error.
fn print_status_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_str(line));
}

/// Writes a result to stdout; false if the reader closed it (`| head`), which is no error. Every
/// result passes through here: the output contains only text and line ends. JSON is escaped already
/// ([`json`]) and is not changed.
fn print_result(text: &str) -> std::result::Result<bool, CommandFailure> {
    let text = printable_lines(text);
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandFailure::failed(format!(
            "cannot write to stdout: {error}"
        ))),
    }
}

/// Serializes a document as pretty-printed JSON with a newline at the end.
fn pretty_json(document: &impl serde::Serialize) -> std::result::Result<String, CommandFailure> {
    json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|error| CommandFailure::failed(format!("cannot write JSON: {error}")))
}

/// The failure for an output that was refused before the command started.
fn output_refused(error: OutputError) -> CommandFailure {
    CommandFailure::usage_error(&error).with_advice(error.advice())
}

/// The failure for a session that cannot be loaded.
fn session_load_failure(error: StoreError) -> CommandFailure {
    match error.is_usage() {
        true if matches!(error, StoreError::TooLargeTogether { .. }) => {
            CommandFailure::usage_error(error).with_advice(compare::FEWER_FILES)
        }
        true => CommandFailure::usage_error(error),
        false => CommandFailure::failed(error),
    }
}

/// The value of an option of type duration, if given.
fn duration_option(
    matches: &ArgMatches,
    name: &str,
) -> std::result::Result<Option<Duration>, CommandFailure> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    units::parse_duration(text)
        .map(Some)
        .map_err(|error| CommandFailure::usage_error(format!("--{name} {text:?}: {error}")))
}

/// The `--json` option of commands that print a list.
fn json_switch() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("print JSON instead of text")
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn clap_command_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn invalid_arguments_give_usage_error() {
        let exit = |words: &[&str]| {
            parse_arguments(words.iter().map(OsString::from))
                .map_or_else(|exit| exit, |it| run_subcommand(&it))
        };
        assert_eq!(exit(&["diskscope", "dance"]), ExitStatus::UsageError);
        assert_eq!(exit(&["diskscope", "run"]), ExitStatus::UsageError);
        assert_eq!(
            exit(&["diskscope", "run", "no-such-test", "/tmp"]),
            ExitStatus::UsageError
        );
        assert_eq!(
            exit(&["diskscope", "run", "random-read", "/tmp", "--depth", "0"]),
            ExitStatus::UsageError
        );
        assert_eq!(exit(&["diskscope", "--version"]), ExitStatus::Success);
    }
}
