//! `diskscope run TEST TARGET`: runs one benchmark without the TUI.

mod progress;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::benchmark_help::benchmark_help;
use super::device_names;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_option, output_option, selected_format};
use super::list::{find_described, unknown_benchmark};
use super::output::{
    named_destination, pretty_json, print_result, print_status_line, whole_destination,
};
use super::show::session_data;
use super::signals;
use crate::bench;
use crate::bench::framework::{ENGINE, SCRATCH_SIZE};
use crate::bench::{AnyParameter, BENCHMARKS, BenchmarkSpec};
use crate::benchmark_run::{RunReport, RunSpec, StartError, run_detached};
use crate::cli::destination::Destination;
use crate::drive::{Consent, DriveError, ErrorKind};
use crate::engine::{CancellationToken, OpenError};
use crate::files::output::NewFileAccess;
use crate::report::{inspection, repeated, text};
use crate::roots::SysPaths;
use crate::session::document::RunState;
use crate::session::slo::SloSpec;
use crate::session::store;
use crate::units;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Json,
    OutputFormat::Csv,
    OutputFormat::OpenMetrics,
];

/// The option of fio whose sizes are written as in fio: `4k` is 4096 bytes.
const FIO_BLOCK_SIZE: &str = "bs";

/// Names that fio has for parameters, accepted and not listed.
const FIO_NAMES: [(&str, &[&str]); 5] = [
    ("depth", &["iodepth"]),
    ("workers", &["numjobs"]),
    ("duration", &["runtime"]),
    ("ramp", &["ramp_time", "ramp-time"]),
    ("rate", &["rate_iops", "rate-iops"]),
];

pub(super) fn command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("run")
        .about("Run one benchmark; the result goes to stdout, the progress to stderr")
        .override_usage("diskscope run <BENCHMARK> <TARGET> [OPTIONS]\n       diskscope run <BENCHMARK> --help")
        .after_help(
            "Examples:\n  diskscope run random-read /srv --depth 32 --duration 30\n  \
             diskscope run quartet . --format csv -o drive.csv\n  \
             diskscope run survey /dev/sda --json sda.json",
        )
        .disable_help_flag(true)
        .arg(
            Arg::new("help")
                .short('h')
                .long("help")
                .action(ArgAction::SetTrue)
                .help("print this, or the help of the BENCHMARK that is named"),
        )
        .arg(
            Arg::new("test")
                .value_name("BENCHMARK")
                .required_unless_present("help")
                .help("see `diskscope tests`"),
        )
        .arg(
            Arg::new("target")
                .value_name("TARGET")
                .required_unless_present("help")
                .value_parser(value_parser!(OsString))
                .help("a block device, a file, a directory (for a scratch file), or sim:NAME"),
        )
        .args(parameters_by_name().into_values().map(parameter_argument))
        .arg(
            Arg::new(FIO_BLOCK_SIZE)
                .long(FIO_BLOCK_SIZE)
                .value_name("SIZE")
                .conflicts_with("block-size")
                .hide(true)
                .help("the block size as fio reads it: 4k is 4 KiB"),
        )
        .arg(text(ENGINE.name, "ENGINE", ENGINE.help))
        .arg(text(SCRATCH_SIZE.name, "SIZE", SCRATCH_SIZE.help))
        .arg(
            text(
                "goal",
                "GOAL",
                "a service goal such as iops>=1000 or p95<=500ms; repeatable",
            )
            .action(ArgAction::Append),
        )
        .arg(
            text(
                "repeat",
                "N",
                "number of runs, one after the other; a check tells whether they agree",
            )
            .value_parser(value_parser!(u32).range(1..=1000))
            .default_value("1"),
        )
        .arg(
            text(
                "json",
                "FILE",
                "write the session document to this file; - is stdout",
            )
            .value_parser(value_parser!(PathBuf))
            .conflicts_with("format"),
        )
        .arg(format_option(FORMATS))
        .arg(output_option())
        .arg(
            text(
                "overwrite",
                "PATH",
                "consent to overwrite the data on TARGET; must equal TARGET",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("overwrite-signatures")
                .long("overwrite-signatures")
                .action(ArgAction::SetTrue)
                .requires("overwrite")
                .help(
                    "with --overwrite: also overwrite file systems, partition tables, RAID, LVM and encryption found on TARGET, and contents that cannot be examined",
                ),
        )
}

/// The parameters of all benchmarks by name.
fn parameters_by_name() -> BTreeMap<&'static str, &'static dyn AnyParameter> {
    let all = BENCHMARKS
        .iter()
        .flat_map(|test| test.description().parameters);
    all.map(|parameter| (parameter.name(), *parameter))
        .collect()
}

fn parameter_argument(parameter: &'static dyn AnyParameter) -> Arg {
    let fio_names = FIO_NAMES
        .iter()
        .find(|(name, _)| *name == parameter.name())
        .map_or(&[] as &[&str], |(_, names)| *names);
    Arg::new(parameter.name())
        .long(parameter.name())
        .aliases(fio_names)
        .value_name(parameter.name().to_uppercase())
        .help(parameter.help())
        .allow_hyphen_values(true)
        .help_heading(
            "Parameters of the benchmarks: `diskscope run BENCHMARK --help` lists its own",
        )
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    if matches.get_flag("help") {
        return print_help(matches);
    }
    let mut spec = run_spec(matches)?;
    let format = selected_format(matches, FORMATS)?;
    let output = whole_destination(matches, &[], NewFileAccess::Umask)?;
    let json_file = matches
        .get_one::<PathBuf>("json")
        .map(|path| named_destination(Some(path), &[], NewFileAccess::Umask))
        .transpose()?;
    if json_file.as_ref().is_some_and(Destination::is_stdout) && matches.contains_id("output") {
        return Err(CommandFailure::usage_error(
            "--json - writes the document to stdout: it cannot be combined with -o",
        )
        .with_advice("name the file once: --json FILE, or --format json -o FILE"));
    }
    if json_file.iter().any(|json| output.is_same_file(json)) {
        return Err(CommandFailure::usage_error(
            "--json and -o name the same file: the second result would replace the first",
        ));
    }
    let json_id = json_file.iter().filter_map(Destination::id);
    spec.output_files = json_id.chain(output.id()).collect();
    let cancellation = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&cancellation))?;
    let mut line = progress::ProgressLine::new();
    let sink = Box::new(move |event| line.show_event(&event));
    let report = run_detached(spec, SysPaths::default(), &cancellation, sink)
        .map_err(|error| start_failure(&error, &cancellation))?;
    write_result(&report, format, output, json_file)?;
    Ok(exit_status(&report))
}

/// A run that did not start: the reason, what is known about the target, and what to do.
fn start_failure(error: &StartError, cancellation: &CancellationToken) -> CommandFailure {
    let exit = match error.kind() {
        _ if cancellation.is_cancelled() => ExitStatus::Interrupted,
        ErrorKind::Usage => ExitStatus::UsageError,
        ErrorKind::Refused => ExitStatus::Refused,
        ErrorKind::Failed => ExitStatus::Failed,
    };
    let mut details = match error {
        StartError::WriteRefused {
            inspection: Some(found),
            ..
        } => inspection::summary_lines(found),
        _ => Vec::new(),
    };
    if let StartError::OpenTarget(OpenError::Medium(DriveError::NotFound { name })) = error {
        details.extend(device_names::did_you_mean(&SysPaths::default(), name));
    }
    details.push(error.advice());
    CommandFailure {
        exit,
        message: error.to_string(),
        details,
    }
}

/// What the options ask for, for tests of the command line.
#[cfg(test)]
pub(super) fn spec_of(matches: &ArgMatches) -> Result<BenchmarkSpec, CommandFailure> {
    run_spec(matches).map(|run| run.spec)
}

fn run_spec(matches: &ArgMatches) -> Result<RunSpec, CommandFailure> {
    let word = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
    let test =
        bench::find_benchmark(word("test")).ok_or_else(|| unknown_benchmark(word("test")))?;
    let target = matches.get_one::<OsString>("target");
    let mut spec = BenchmarkSpec::new(test, target.map_or(OsStr::new(""), OsString::as_os_str));
    for name in parameters_by_name().into_keys() {
        if let Some(text) = matches.get_one::<String>(name) {
            spec.set(name, text).map_err(CommandFailure::usage_error)?;
        }
    }
    if let Some(text) = matches.get_one::<String>(FIO_BLOCK_SIZE) {
        set_fio_block_size(&mut spec, text)?;
    }
    if let Some(text) = matches.get_one::<String>(ENGINE.name) {
        spec.set_engine(text).map_err(CommandFailure::usage_error)?;
    }
    spec.consent = overwrite_consent(matches);
    if let Some(text) = matches.get_one::<String>(SCRATCH_SIZE.name) {
        let bytes = units::parse_size(text).map_err(|error| {
            CommandFailure::usage_error(format!("--{} {text:?}: {error}", SCRATCH_SIZE.name))
        })?;
        spec.scratch_file_bytes = Some(bytes);
    }
    let goals = matches.get_many::<String>("goal").unwrap_or_default();
    let goals: Result<Vec<Vec<SloSpec>>, _> = goals.map(|text| SloSpec::parse_all(text)).collect();
    spec.goals = goals
        .map_err(|error| CommandFailure::usage_error(format!("--goal {error}")))?
        .concat();
    spec.check_goals()
        .map_err(|error| CommandFailure::usage_error(&error).with_advice(error.advice()))?;
    Ok(RunSpec {
        spec,
        repeat_count: matches.get_one("repeat").copied().unwrap_or(1),
        session_directory: store::sessions_directory(),
        output_files: Vec::new(),
    })
}

/// Sets the block size to a size as fio reads it, and says so where this program reads it otherwise.
fn set_fio_block_size(spec: &mut BenchmarkSpec, text: &str) -> Result<(), CommandFailure> {
    let expanded = units::expand_fio_units(text);
    spec.set("block-size", &expanded)
        .map_err(CommandFailure::usage_error)?;
    if expanded != text {
        print_status_line(&format!("note: --bs {text} is read as in fio: {expanded}"));
    }
    Ok(())
}

/// Prints the help of the named benchmark, or of the command.
fn print_help(matches: &ArgMatches) -> CommandResult {
    let text = match matches.get_one::<String>("test") {
        Some(name) => benchmark_help(find_described(name)?),
        None => command().render_long_help().to_string(),
    };
    print_result(&text)?;
    Ok(ExitStatus::Success)
}

/// The overwriting that the user consents to.
fn overwrite_consent(matches: &ArgMatches) -> Option<Consent> {
    let consent = Consent::for_path(matches.get_one::<PathBuf>("overwrite")?);
    Some(match matches.get_flag("overwrite-signatures") {
        true => consent.including_signatures(),
        false => consent,
    })
}

/// Writes the result to the requested outputs.
fn write_result(
    report: &RunReport,
    format: OutputFormat,
    output: Destination,
    json_file: Option<Destination>,
) -> Result<(), CommandFailure> {
    for error in &report.save_errors {
        print_status_line(&format!("diskscope: {error}"));
    }
    let delivered = match json_file {
        Some(file) if file.is_stdout() => write_document(report, file),
        json_file => {
            // If one of the two outputs fails, still write the other.
            let delivered = deliver_result(report, format, output);
            let written = json_file.map_or(Ok(()), |file| write_document(report, file));
            match (delivered, written) {
                (Err(delivered), Err(written)) => Err(delivered.with_advice(&written.message)),
                (delivered, written) => delivered.and(written),
            }
        }
    };
    if let Some(path) = &report.saved_path {
        print_status_line(&format!("saved: {}", path.display()));
    }
    delivered
}

fn deliver_result(
    report: &RunReport,
    format: OutputFormat,
    mut output: Destination,
) -> Result<(), CommandFailure> {
    output.write(&match format {
        OutputFormat::Text => report_text(report),
        format => session_data(&report.session, format)?,
    })?;
    Ok(())
}

fn report_text(report: &RunReport) -> String {
    let runs = &report.session.runs;
    let mut texts: Vec<String> = runs.iter().map(text::run_text).collect();
    texts.extend(Some(repeated::repeated_runs_text(runs)).filter(|text| !text.is_empty()));
    texts.join("\n")
}

fn write_document(report: &RunReport, mut output: Destination) -> Result<(), CommandFailure> {
    output.write(&pretty_json(&report.session)?)?;
    Ok(())
}

fn exit_status(report: &RunReport) -> ExitStatus {
    let runs = &report.session.runs;
    let some = |state| runs.iter().any(|run| run.state == state);
    if report.write_refused {
        ExitStatus::Refused
    } else if some(RunState::Failed) {
        ExitStatus::Failed
    } else if some(RunState::Interrupted) {
        ExitStatus::Interrupted
    } else if runs
        .iter()
        .flat_map(|run| &run.findings.goals)
        .any(|goal| goal.met != Some(true))
    {
        ExitStatus::GoalMissed
    } else {
        ExitStatus::Success
    }
}
