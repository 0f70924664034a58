//! `diskscope run TEST TARGET`: runs one benchmark without the TUI.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::failure::{CommandFailure, CommandResult, ExitStatus, output_refused};
use super::output::{pretty_json, print_result, print_status_line};
use super::signals;
use crate::bench;
use crate::bench::framework::{ENGINE, SCRATCH_SIZE};
use crate::bench::{AnyParameter, BENCHMARKS, BenchmarkSpec};
use crate::benchmark_run::output;
use crate::benchmark_run::{RunReport, RunSpec, StartError, run_detached};
use crate::drive::{Consent, ErrorKind};
use crate::engine::CancellationToken;
use crate::named_file::OutputFile;
use crate::nearest;
use crate::report::{repeated, text};
use crate::roots::SysPaths;
use crate::session::document::RunState;
use crate::session::slo::SloSpec;
use crate::session::store;
use crate::units;

mod progress;

pub(super) fn command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("run")
        .about("Run one test; the result goes to stdout, the progress to stderr")
        .arg(
            Arg::new("test")
                .value_name("TEST")
                .required(true)
                .help("see `diskscope tests`"),
        )
        .arg(
            Arg::new("target")
                .value_name("TARGET")
                .required(true)
                .value_parser(value_parser!(OsString))
                .help("a block device, a file, a directory (for a scratch file), or sim:NAME"),
        )
        .args(parameters_by_name().into_values().map(parameter_argument))
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
            .value_parser(value_parser!(PathBuf)),
        )
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
    Arg::new(parameter.name())
        .long(parameter.name())
        .value_name(parameter.name().to_uppercase())
        .help(parameter.help())
        .allow_hyphen_values(true)
        .help_heading("Parameters of the tests")
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let mut spec = run_spec(matches)?;
    let output = matches
        .get_one::<PathBuf>("json")
        .map(|path| output::prepare_output(&SysPaths::default(), path, &[]).map_err(output_refused))
        .transpose()?;
    spec.output_files = output.iter().filter_map(OutputFile::id).collect();
    let cancellation = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&cancellation))?;
    let mut line = progress::ProgressLine::new();
    let sink = Box::new(move |event| line.show_event(&event));
    let report = run_detached(spec, SysPaths::default(), &cancellation, sink)
        .map_err(|error| start_failure(&error, &cancellation))?;
    write_result(&report, output)?;
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
            inspection: Some(inspection),
            ..
        } => inspection.description_lines(),
        _ => Vec::new(),
    };
    details.push(error.advice());
    CommandFailure {
        exit,
        message: error.to_string(),
        details,
    }
}

fn run_spec(matches: &ArgMatches) -> Result<RunSpec, CommandFailure> {
    let word = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
    let test = bench::find_benchmark(word("test")).ok_or_else(|| {
        let known: Vec<_> = BENCHMARKS
            .iter()
            .map(|test| test.description().name)
            .collect();
        let names = BENCHMARKS.iter().flat_map(|test| {
            let description = test.description();
            std::iter::once(description.name).chain(description.aliases.iter().copied())
        });
        CommandFailure::usage_error(format!(
            "there is no benchmark {:?}{}",
            word("test"),
            nearest::suggestion(word("test"), names)
        ))
        .with_advice(format!("there are {}", known.join(", ")))
    })?;
    let target = matches.get_one::<OsString>("target");
    let mut spec = BenchmarkSpec::new(test, target.map_or(OsStr::new(""), OsString::as_os_str));
    for name in parameters_by_name().into_keys() {
        if let Some(text) = matches.get_one::<String>(name) {
            spec.set(name, text).map_err(CommandFailure::usage_error)?;
        }
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

/// The overwriting that the user consents to.
fn overwrite_consent(matches: &ArgMatches) -> Option<Consent> {
    let consent = Consent::for_path(matches.get_one::<PathBuf>("overwrite")?);
    Some(match matches.get_flag("overwrite-signatures") {
        true => consent.including_signatures(),
        false => consent,
    })
}

/// Writes the result to the requested outputs.
fn write_result(report: &RunReport, output: Option<OutputFile>) -> Result<(), CommandFailure> {
    for error in &report.save_errors {
        print_status_line(&format!("diskscope: {error}"));
    }
    let delivered = match output {
        Some(output) if output.is_stdout() => {
            print_result(&pretty_json(&report.session)?).map(drop)
        }
        output => {
            // If one of the two outputs fails, still write the other.
            let printed = print_result(&report_text(report)).map(drop);
            let written = output.map_or(Ok(()), |output| write_output(report, output));
            match (printed, written) {
                (Err(printed), Err(written)) => Err(printed.with_advice(&written.message)),
                (printed, written) => printed.and(written),
            }
        }
    };
    if let Some(path) = &report.saved_path {
        print_status_line(&format!("saved: {}", path.display()));
    }
    delivered
}

fn report_text(report: &RunReport) -> String {
    let runs = &report.session.runs;
    let mut texts: Vec<String> = runs.iter().map(text::run_text).collect();
    texts.extend(Some(repeated::repeated_runs_text(runs)).filter(|text| !text.is_empty()));
    texts.join("\n")
}

fn write_output(report: &RunReport, output: OutputFile) -> Result<(), CommandFailure> {
    let text = pretty_json(&report.session)?;
    output::write_output(&SysPaths::default(), output, text.as_bytes())
        .map_err(|error| CommandFailure::failed(&error).with_advice(error.advice()))
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
