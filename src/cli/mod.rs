//! The command line: arguments and exit statuses, with one file per subcommand.
//!
//! stdout carries only the result; everything else goes to stderr.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::{ArgMatches, Command};

use crate::drive::ioctl;
use crate::safe_text::printable::{printable_bytes, printable_str};
use crate::supervisor;
use crate::supervisor::ProcessRole;

mod cleanup;
mod compare;
mod completions;
mod devices;
mod elevation;
mod failure;
mod files;
mod interface;
mod list;
mod manual;
mod options;
mod output;
mod pace;
mod record;
mod replay;
mod report;
mod run;
mod show;
mod signals;
mod trace;
mod watch;

pub use self::failure::ExitStatus;
use self::failure::{CommandFailure, CommandResult};
use self::output::print_status_line;

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
        run: |matches| completions::run(matches, command()),
    },
    Subcommand {
        command: manual::command,
        run: |_| manual::run(&command()),
    },
];

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
    cleanup::clean_up_leftovers();
    if may_block_on_devices(&matches)
        && let ProcessRole::Supervisor(code) =
            supervisor::split_process(cleanup::clean_up_leftovers)
    {
        return code;
    }
    let exit = run_subcommand(&matches) as u8;
    supervisor::report_delivered(exit);
    ExitCode::from(exit)
}

/// Parses the arguments; the error is the exit status if the program ends here.
fn parse_arguments(arguments: impl Iterator<Item = OsString>) -> Result<ArgMatches, ExitStatus> {
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
