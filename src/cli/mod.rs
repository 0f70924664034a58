//! The command line: arguments and exit statuses, with one file per subcommand.
//!
//! stdout carries only the result; everything else goes to stderr.

mod benchmarks;
mod cleanup;
mod compare;
mod completions;
mod config;
mod destination;
mod device_names;
mod devices;
mod elevation;
mod failure;
mod files;
mod interface;
mod list;
mod live_sampler;
mod manual;
mod options;
mod output;
mod pace;
mod record;
mod replay;
mod report;
mod request_feed;
mod run;
mod schema;
mod show;
mod signals;
mod subcommand;
mod trace;
mod watch;
mod why;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::panic;
use std::process::{self, ExitCode};
use std::thread;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Args, Command};
use textwrap::{Options, fill};

use self::failure::CommandFailure;
use self::interface::InterfaceArguments;
use self::output::print_status_line;
use self::subcommand::{GROUPS, MEASURE, RESULTS, SETUP, Subcommand, WATCH, run_parsed};
use crate::bench;
use crate::drive::ioctl;
use crate::files::printable::printable_bytes;
use crate::files::shell;
use crate::files::supervisor;
use crate::tui::terminal::leave_screen_sequences;
use crate::tui::terminal_kind::{decodes_utf8, text_for};

pub use self::failure::ExitStatus;
pub use self::options::OutputFormat;

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand::new::<watch::WatchArguments>(WATCH, "watch"),
    Subcommand::new::<why::WhyArguments>(WATCH, "why"),
    Subcommand::new::<trace::TraceArguments>(WATCH, "trace"),
    Subcommand::new::<devices::DevicesArguments>(WATCH, "devices"),
    Subcommand::new::<files::FilesArguments>(WATCH, "files"),
    Subcommand::new::<record::RecordArguments>(WATCH, "record"),
    Subcommand::new::<replay::ReplayArguments>(WATCH, "replay"),
    Subcommand::new::<interface::DemoArguments>(WATCH, "demo"),
    Subcommand::new::<run::RunArguments>(MEASURE, "run"),
    Subcommand::new::<list::TestsArguments>(MEASURE, "tests"),
    Subcommand::new::<show::ShowArguments>(RESULTS, "show"),
    Subcommand::new::<compare::CompareArguments>(RESULTS, "compare"),
    Subcommand::new::<report::ReportArguments>(RESULTS, "report"),
    Subcommand::new::<config::ConfigArguments>(SETUP, "config"),
    Subcommand::new::<schema::SchemaArguments>(SETUP, "schema"),
    Subcommand {
        group: SETUP,
        name: "completions",
        formats: &[],
        may_block: false,
        define: completions::CompletionsArguments::augment_args,
        run: |matches| completions::run(matches, command()),
    },
    Subcommand {
        group: SETUP,
        name: "manual",
        formats: &[],
        may_block: false,
        define: manual::ManualArguments::augment_args,
        run: |_| manual::run(&command()),
    },
];

/// Examples below the general help.
const EXAMPLES: &str = "\
Examples:
  diskscope                                    the live screen
  diskscope demo                               the screens on a recording; no root
  diskscope watch --interval 2                 the same as text, every 2 seconds
  diskscope run random-read /srv               IOPS and latency in a scratch file
  diskscope run survey /dev/sda                all benchmarks that only read
  diskscope tests random-read                  what a benchmark does, and its options
  diskscope compare before.json after.json     faster, slower, or no difference

Without a command the terminal interface opens, the Live screen first.";

/// The complete definition of the command line for clap.
#[must_use]
pub fn command() -> Command {
    InterfaceArguments::augment_args(Command::new("diskscope"))
        .version(clap::crate_version!())
        .about("What is using my disks, how far along is that copy, and how good is this drive?")
        .after_help(EXAMPLES)
        .help_template(format!(
            "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}\n",
            grouped_commands()
        ))
        .subcommands(SUBCOMMANDS.iter().map(Subcommand::command))
}

/// The subcommands by group, each with its description.
fn grouped_commands() -> String {
    let mut text = String::new();
    for group in GROUPS {
        let _ = writeln!(text, "{group}:");
        for one in SUBCOMMANDS.iter().filter(|one| one.group == group) {
            let about = one.command().get_about().map(ToString::to_string);
            let first = format!("  {:<12} ", one.name);
            let wrapping = Options::new(80)
                .initial_indent(&first)
                .subsequent_indent("               ");
            let _ = writeln!(text, "{}", fill(&about.unwrap_or_default(), wrapping));
        }
        text.push('\n');
    }
    text
}

/// The formats of each subcommand that has a choice, the default first, for the documentation.
#[must_use]
pub fn formats_by_command() -> Vec<(&'static str, &'static [OutputFormat])> {
    let with_choice = SUBCOMMANDS.iter().filter(|one| !one.formats.is_empty());
    with_choice.map(|one| (one.name, one.formats)).collect()
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    // Check this first: with elevated rights neither the environment nor the arguments are trusted.
    if let Some(elevation) = elevation::PrivilegeSource::of_process() {
        print_status_line(&format!("diskscope: {}", elevation.refusal_text()));
        return ExitCode::from(ExitStatus::Refused as u8);
    }
    abort_on_panic();
    // Exceeding a limit on the file size then fails the write instead of killing the program.
    ioctl::ignore_sigxfsz();
    if (io::stdout().is_terminal() || io::stderr().is_terminal()) && !decodes_utf8() {
        shell::use_ascii();
    }
    let matches = match parse_arguments(std::env::args_os()) {
        Ok(matches) => matches,
        Err(exit) => return ExitCode::from(exit as u8),
    };
    cleanup::clean_up_leftovers(false);
    if may_block(&matches)
        && let Some(end) = supervisor::split_process(leave_screen_sequences, print_status_line)
    {
        if end.needs_clean_up {
            cleanup::clean_up_leftovers(true);
        }
        return end.pass_on();
    }
    let exit = run_subcommand(&matches) as u8;
    supervisor::report_delivered(exit);
    ExitCode::from(exit)
}

/// Ends the process on a panic, on whatever thread: a panic is a defect of the program, and a program
/// that goes on without one of its threads would show what is not true. The supervisor restores
/// settings as after any other end of the worker by a signal.
pub fn abort_on_panic() {
    panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or("without a name");
        // It ends a line before the message, which may contain foreign text.
        let message = panic.to_string().replacen(":\n", ": ", 1);
        print_status_line(&format!("thread {name} {message}"));
        let calls = Backtrace::capture();
        if calls.status() == BacktraceStatus::Captured {
            calls.to_string().lines().for_each(print_status_line);
        }
        print_status_line("diskscope: this is a defect of diskscope; please report it");
        process::abort();
    }));
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

/// Whether the command may never return: see [`Subcommand::may_block`].
fn may_block(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        None => io::stdout().is_terminal(),
        Some(("run", matches)) if matches.get_flag("help") => false,
        Some((name, _)) => subcommand(name).is_some_and(|one| one.may_block),
    }
}

fn subcommand(name: &str) -> Option<&'static Subcommand> {
    SUBCOMMANDS.iter().find(|one| one.name == name)
}

fn run_subcommand(matches: &ArgMatches) -> ExitStatus {
    let outcome = match matches.subcommand() {
        None => run_parsed::<InterfaceArguments>(matches),
        Some((name, matches)) => subcommand(name).map_or_else(
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
/// verbatim, line breaks included: the same error is printed for the escaped arguments.
fn print_clap_error(error: &clap::Error, arguments: &[OsString]) {
    let escaped = arguments.iter().map(|argument| {
        let printable = printable_bytes(argument.as_encoded_bytes());
        shown_by(error, &printable).into_owned()
    });
    match command().try_get_matches_from(escaped) {
        // A closed stderr or stdout is no error.
        Err(same) if same.kind() == error.kind() => drop(same.print()),
        _ => print_status_line(&format!("error: {}", error.kind())),
    }
    if let Some(advice) = advice_on_unknown_command(error) {
        print_status_line(&advice);
    }
}

/// Printable text as the stream of clap's message can take it.
fn shown_by<'t>(error: &clap::Error, text: &'t str) -> Cow<'t, str> {
    if error.use_stderr() {
        text_for(&io::stderr(), text)
    } else {
        text_for(&io::stdout(), text)
    }
}

/// Advice where the name of a benchmark stands in place of a command.
fn advice_on_unknown_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let benchmark = bench::find_benchmark(word)?;
    Some(format!(
        "{word} is a benchmark: diskscope run {word} {}",
        benchmark.description().example
    ))
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn clap_command_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn commands_with_formats_have_the_option() {
        for one in SUBCOMMANDS {
            let command = one.command();
            let has = |id: &str| command.get_arguments().any(|it| it.get_id() == id);
            assert_eq!(
                has("format"),
                !one.formats.is_empty(),
                "{}",
                command.get_name()
            );
            assert!(
                has("output") || one.formats.is_empty(),
                "{}",
                command.get_name()
            );
        }
    }

    #[test]
    fn general_help_lists_every_command_in_a_group_and_fits_80_columns() {
        let text = command().term_width(80).render_help().to_string();
        for one in SUBCOMMANDS {
            let name = one.name;
            assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
        }
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{text}");
        assert!(
            text.contains("Examples:") && text.contains("--interval"),
            "{text}"
        );
    }

    #[test]
    fn benchmark_in_place_of_a_command_is_recognized() {
        let error = command()
            .try_get_matches_from(["diskscope", "randread", "/srv"])
            .unwrap_err();
        let advice = advice_on_unknown_command(&error).unwrap();
        assert!(advice.contains("diskscope run randread /srv"), "{advice}");
    }

    #[test]
    fn examples_of_benchmarks_are_valid_command_lines() {
        for benchmark in bench::BENCHMARKS {
            let description = benchmark.description();
            let line = format!("diskscope run {} {}", description.name, description.example);
            let words = shlex::split(&line).unwrap();
            let matches = command()
                .try_get_matches_from(&words)
                .unwrap_or_else(|error| panic!("{line}: {error}"));
            let (_, matches) = matches.subcommand().unwrap();
            assert!(run::spec_of(matches).is_ok(), "{line}");
        }
    }

    #[test]
    fn example_consents_to_overwrite_no_device_that_a_machine_has() {
        for benchmark in bench::BENCHMARKS {
            let description = benchmark.description();
            let words = shlex::split(description.example).unwrap();
            let consents = words.iter().any(|word| word.starts_with("--overwrite"));
            // The kernel names devices in lower case.
            assert!(!consents || words[0] == "/dev/sdX", "{}", description.name);
        }
    }

    #[test]
    fn fio_names_of_options_set_the_same_parameters() {
        let line = |words: &str| {
            let words = shlex::split(&format!("diskscope run randread /srv {words}")).unwrap();
            let matches = command().try_get_matches_from(&words).unwrap();
            let (_, matches) = matches.subcommand().unwrap();
            run::spec_of(matches).map(|mut spec| {
                spec.set.sort_by_key(|(name, _)| *name);
                spec.command_line().unwrap()
            })
        };
        assert_eq!(
            line("--bs 4k --iodepth 8 --numjobs 2 --runtime 5 --ramp_time 1 --rate_iops 1k")
                .unwrap(),
            line("--block-size 4KiB --depth 8 --workers 2 --duration 5s --ramp 1s --rate 1000/s")
                .unwrap()
        );
        assert!(line("--block-size 4k").is_err());
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
