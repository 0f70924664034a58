//! The command line: arguments and exit codes; one file per subcommand.
//!
//! stdout carries the result only; everything else goes to stderr.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::drive::ioctl;
use crate::drive::settings::{Leftover, Settings};
use crate::named_file::OutputError;
use crate::printable::{printable, printable_lines, printable_str};
use crate::probe::trace::remove_leftovers as trace_leftovers;
use crate::roots::Roots;
use crate::runtime::supervisor::{self, Role};
use crate::safe_json;
use crate::session::store::StoreError;
use crate::units;

mod compare;
mod completions;
mod devices;
mod elevation;
mod files;
mod interface;
mod manual;
mod pace;
mod record;
mod replay;
mod report;
mod run;
mod show;
mod signals;
mod tests;
mod trace;
mod watch;

/// How the program ends; the numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// It failed; what was measured until then was saved and printed.
    Failed = 1,
    /// The command line cannot be understood or does not fit.
    Usage = 2,
    /// Refused for safety.
    Refused = 3,
    /// Done, but a goal was missed.
    GoalMissed = 4,
    /// Interrupted; the partial result was saved and printed.
    Interrupted = 130,
}

/// A command that could not do its work: what to say, and how to end.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    /// Facts and advice, a line each.
    more: Vec<String>,
}

impl Failure {
    fn usage(message: impl ToString) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.to_string(),
            more: Vec::new(),
        }
    }

    fn failed(message: impl ToString) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.to_string(),
            more: Vec::new(),
        }
    }

    /// The same with a sentence about what to do.
    fn advise(mut self, advice: impl ToString) -> Self {
        self.more.push(advice.to_string());
        self
    }
}

/// What every subcommand comes to.
type Result = std::result::Result<Exit, Failure>;

/// A subcommand: how it is called, and what it does.
struct Subcommand {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        command: run::command,
        run: run::run,
    },
    Subcommand {
        command: tests::command,
        run: tests::run,
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

/// How long a command waits for the clean-up after killed runs.
const CLEAN_UP: Duration = Duration::from_secs(1);

/// The whole command line as clap knows it.
#[must_use]
pub fn command() -> Command {
    let command = Command::new("diskscope")
        .version(clap::crate_version!())
        .about("What is using my disks, how far along is that copy, and how good is this drive?")
        .after_help("Without a command the terminal interface opens, the Live screen first.")
        .args(interface::arguments());
    SUBCOMMANDS
        .iter()
        .fold(command, |command, one| command.subcommand((one.command)()))
}

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    // First of all: neither the environment nor the arguments are to be trusted then.
    if let Some(elevation) = elevation::Elevation::find() {
        say(&format!("diskscope: {}", elevation.sentence()));
        return ExitCode::from(Exit::Refused as u8);
    }
    // A limit on the size of files is then an error of the write, and not the end of the program.
    ioctl::ignore_file_size_signal();
    let matches = match parse(std::env::args_os()) {
        Ok(matches) => matches,
        Err(exit) => return ExitCode::from(exit as u8),
    };
    clean_up();
    if may_hang(&matches)
        && let Role::Supervisor(code) = supervisor::split()
    {
        return code;
    }
    let exit = perform(&matches) as u8;
    supervisor::delivered(exit);
    ExitCode::from(exit)
}

/// The arguments as clap understands them, or how to end without.
fn parse(arguments: impl Iterator<Item = OsString>) -> std::result::Result<ArgMatches, Exit> {
    let arguments: Vec<OsString> = arguments.collect();
    command().try_get_matches_from(&arguments).map_err(|error| {
        complain(&error, &arguments);
        if error.use_stderr() {
            Exit::Usage
        } else {
            Exit::Done
        }
    })
}

/// Whether the command waits for devices, or for file systems with files that the user names or
/// that it keeps: any of them may never answer.
fn may_hang(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        None => io::stdout().is_terminal(),
        Some((name, _)) => [
            "run", "devices", "show", "compare", "report", "record", "replay", "watch", "files",
        ]
        .contains(&name),
    }
}

fn perform(matches: &ArgMatches) -> Exit {
    let outcome = match matches.subcommand() {
        None => interface::run(matches),
        Some((name, matches)) => SUBCOMMANDS
            .iter()
            .find(|one| (one.command)().get_name() == name)
            .map_or_else(|| Err(Failure::usage(name)), |one| (one.run)(matches)),
    };
    outcome.unwrap_or_else(|failure| {
        say(&format!("diskscope: {}", failure.message));
        for line in &failure.more {
            say(&format!("  {line}"));
        }
        failure.exit
    })
}

/// Says what clap has to say: help and version, or what is wrong with the arguments. clap repeats an
/// argument as it stands, line breaks included: where one holds anything but plain text, the same
/// complaint about the escaped arguments is shown.
fn complain(error: &clap::Error, arguments: &[OsString]) {
    let is_plain = |argument: &OsString| {
        argument
            .to_str()
            .is_some_and(|text| printable_str(text) == text)
    };
    // A reader that went away is no error.
    if arguments.iter().all(is_plain) {
        let _ = error.print();
        return;
    }
    let escaped = arguments
        .iter()
        .map(|argument| printable(argument.as_encoded_bytes()));
    match command().try_get_matches_from(escaped) {
        Err(same) if same.kind() == error.kind() => drop(same.print()),
        _ => say(&format!("error: {}", error.kind())),
    }
}

/// Removes what killed runs left, and says so. No command waits long for it: what does not answer may
/// be no concern of the command.
fn clean_up() {
    let cleaned = supervisor::run_in_child(CLEAN_UP, || {
        let lines = restore_leftovers();
        trace_leftovers(&Roots::default());
        lines
    });
    for line in cleaned.lines {
        say(&line);
    }
    if cleaned.late.is_some() {
        say(&format!(
            "diskscope: the clean-up after killed runs was given up after {} s: /run, /sys or \
             tracefs does not answer",
            CLEAN_UP.as_secs()
        ));
        say(
            "  settings and traces that a killed run left stay until the next start at which they answer",
        );
    }
}

/// Puts back the system's settings that a killed run left changed; what there is to say about it.
fn restore_leftovers() -> Vec<String> {
    let restored = Settings::default().restore_leftovers().into_iter();
    let sentences = restored.flat_map(|restored| match restored {
        Ok(Leftover::PutBack { path, value }) => vec![format!(
            "diskscope: {} is {value} again: a run that was killed had changed it",
            path.display()
        )],
        Ok(Leftover::OtherDevice { setting }) => vec![format!(
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

/// A line for the person at the terminal, whatever names are in it: a line break is shown as `\n`, for
/// the rest of a name must not look like another message. Nobody listening is no error.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_str(line));
}

/// Writes a result to stdout; false when the reader went away (`| head`), which is no error. Every
/// result passes here: whatever is in it, a terminal is told nothing but text and line ends. JSON has
/// escapes of its own already ([`safe_json`]) and passes unchanged.
fn print(text: &str) -> std::result::Result<bool, Failure> {
    let text = printable_lines(text);
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::failed(format!("cannot write to stdout: {error}"))),
    }
}

/// A document as one pretty-printed JSON text with a line end.
fn json(document: &impl serde::Serialize) -> std::result::Result<String, Failure> {
    safe_json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))
}

/// An output that was refused before anything was done.
fn refused_output(error: OutputError) -> Failure {
    Failure::usage(&error).advise(error.advice())
}

/// A saved session that cannot be loaded.
fn not_loaded(error: StoreError) -> Failure {
    match error.is_usage() {
        true if matches!(error, StoreError::TooLargeTogether { .. }) => {
            Failure::usage(error).advise(compare::FEWER_FILES)
        }
        true => Failure::usage(error),
        false => Failure::failed(error),
    }
}

/// An option's duration, where it was given.
fn duration(matches: &ArgMatches, name: &str) -> std::result::Result<Option<Duration>, Failure> {
    let Some(text) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    units::parse_duration(text)
        .map(Some)
        .map_err(|error| Failure::usage(format!("--{name} {text:?}: {error}")))
}

/// The `--json` switch of commands that print a list.
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
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn what_cannot_be_understood_is_a_usage_error() {
        let exit = |words: &[&str]| {
            parse(words.iter().map(OsString::from)).map_or_else(|exit| exit, |it| perform(&it))
        };
        assert_eq!(exit(&["diskscope", "dance"]), Exit::Usage);
        assert_eq!(exit(&["diskscope", "run"]), Exit::Usage);
        assert_eq!(
            exit(&["diskscope", "run", "no-such-test", "/tmp"]),
            Exit::Usage
        );
        assert_eq!(
            exit(&["diskscope", "run", "random-read", "/tmp", "--depth", "0"]),
            Exit::Usage
        );
        assert_eq!(exit(&["diskscope", "--version"]), Exit::Done);
    }
}
