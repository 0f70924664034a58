//! `diskscope run TEST TARGET`: runs one benchmark without the TUI.

mod progress;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::benchmarks::{PARAMETERS_HEADING, benchmark_help, find_benchmark};
use super::device_names;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::OutputFormat::{self, Csv, Json, OpenMetrics, Text};
use super::options::{OutputOption, choice};
use super::output::{print_result, print_status_line};
use super::show::session_data;
use super::signals;
use super::subcommand::{Arguments, MEASURE, Subcommand};
use crate::bench::framework::{CONTINUE_ON_ERROR, ENGINE, SCRATCH_SIZE};
use crate::bench::{AnyParameter, BENCHMARKS, RunRequest};
use crate::cli::destination::Destination;
use crate::drive::{Consent, DriveError, ErrorKind};
use crate::engine::{CancellationToken, OpenError};
use crate::files::output::NewFileAccess;
use crate::report::{inspection, text};
use crate::roots::SysPaths;
use crate::run::{RunReport, StartError, run_detached};
use crate::session::document::RunState;
use crate::session::slo::SloSpec;
use crate::session::store;
use crate::units;

/// Names that fio has for parameters, accepted and not listed.
const FIO_NAMES: [(&str, &[&str]); 5] = [
    ("depth", &["iodepth"]),
    ("workers", &["numjobs"]),
    ("duration", &["runtime"]),
    ("ramp", &["ramp_time", "ramp-time"]),
    ("rate", &["rate_iops", "rate-iops"]),
];

/// Run one benchmark; the result goes to stdout, the progress to stderr
#[derive(Debug, Args)]
#[command(
    override_usage = "diskscope run <BENCHMARK> <TARGET> [OPTIONS]\n       diskscope run <BENCHMARK> --help",
    after_help = "Examples:\n  diskscope run random-read /srv --depth 32 --duration 30\n  \
        diskscope run quartet . --format csv -o drive.csv\n  \
        diskscope run survey /dev/sda --json sda.json",
    disable_help_flag = true
)]
pub(super) struct RunArguments {
    /// print this, or the help of the BENCHMARK that is named
    #[arg(short = 'h', long)]
    help: bool,
    /// see `diskscope tests`
    #[arg(value_name = "BENCHMARK", required_unless_present = "help")]
    test: Option<String>,
    /// a block device, a file, a directory (for a scratch file), or sim:NAME
    #[arg(required_unless_present = "help")]
    target: Option<OsString>,
    #[command(flatten)]
    parameters: Parameters,
    /// the block size as fio reads it: 4k is 4 KiB
    #[arg(long, value_name = "SIZE", conflicts_with = "block-size", hide = true)]
    bs: Option<String>,
    #[arg(long, help = ENGINE.help)]
    engine: Option<String>,
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, help = SCRATCH_SIZE.help)]
    scratch_size: Option<u64>,
    /// a service goal such as iops>=1000 or p95<=500ms; repeatable
    #[arg(long, value_parser = SloSpec::parse_all)]
    goal: Vec<Goals>,
    /// number of runs, one after the other; a check tells whether they agree
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// exit with status 7 if a check says that a result is invalid
    #[arg(long)]
    strict: bool,
    /// with --repeat: a page for each run, not only one for all
    #[arg(long)]
    verbose: bool,
    /// write the session document to this file; - is stdout
    #[arg(
        id = "document",
        long = "json",
        value_name = "FILE",
        conflicts_with = "format"
    )]
    json: Option<PathBuf>,
    /// format of the result [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = choice(&OutputFormat::ALL, OutputFormat::word))]
    format: Option<OutputFormat>,
    #[command(flatten)]
    output: OutputOption,
    /// consent to overwrite the data on TARGET; must equal TARGET
    #[arg(long, value_name = "PATH")]
    overwrite: Option<PathBuf>,
    /// with --overwrite: also overwrite file systems, partition tables, RAID, LVM and encryption found on
    /// TARGET, and contents that cannot be examined
    #[arg(long, requires = "overwrite")]
    overwrite_signatures: bool,
}

/// The goals of one option: a preset is several.
type Goals = Vec<SloSpec>;

/// The parameters of the benchmarks that were given: names and texts.
#[derive(Debug)]
struct Parameters(Vec<(&'static str, String)>);

impl FromArgMatches for Parameters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = |name| Some((name, matches.get_one::<String>(name)?.clone()));
        let names = parameters_by_name().into_keys();
        Ok(Self(names.filter_map(text).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Parameters {
    fn augment_args(command: Command) -> Command {
        command.args(parameters_by_name().into_values().map(parameter_argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
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
    let mut fio_names = FIO_NAMES.iter();
    let fio_names = fio_names.find(|(name, _)| *name == parameter.name());
    let argument = Arg::new(parameter.name())
        .long(parameter.name())
        .aliases(fio_names.map_or(&[] as &[&str], |(_, names)| *names))
        .value_name(parameter.name().to_uppercase())
        .help(parameter.help())
        .allow_hyphen_values(true)
        .help_heading(PARAMETERS_HEADING);
    if parameter.name() == CONTINUE_ON_ERROR.name {
        // A flag; what follows it is the target.
        argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("yes")
    } else {
        argument
    }
}

impl Arguments for RunArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Json, Csv, OpenMetrics];

    fn run(self) -> CommandResult {
        if self.help {
            return self.print_help();
        }
        let mut spec = self.request()?;
        let outputs = self.outputs()?;
        spec.output_files = outputs
            .iter()
            .filter_map(|(output, _)| output.id())
            .collect();
        let cancellation = signals::cancelled_by_signals()?;
        let mut line = progress::ProgressLine::new();
        let sink = Box::new(move |event| line.show_event(&event));
        let report = run_detached(spec, SysPaths::default(), &cancellation, sink)
            .map_err(|error| start_failure(&error, &cancellation))?;
        write_result(&report, outputs, self.verbose)?;
        Ok(exit_status(&report, self.strict))
    }
}

impl RunArguments {
    /// Where the result goes, and with `--json` the session document: to stdout instead of the result.
    fn outputs(&self) -> Result<Vec<(Destination, OutputFormat)>, CommandFailure> {
        let output = self.output.whole(&[], NewFileAccess::Umask)?;
        let mut outputs = vec![(output, self.format.unwrap_or(Text))];
        let Some(path) = self.json.clone() else {
            return Ok(outputs);
        };
        let document = OutputOption { path: Some(path) }.whole(&[], NewFileAccess::Umask)?;
        if document.is_stdout() && self.output.path.is_some() {
            return Err(CommandFailure::usage_error(
                "--json - writes the document to stdout: it cannot be combined with -o",
            )
            .with_advice("name the file once: --json FILE, or --format json -o FILE"));
        }
        if outputs[0].0.is_same_file(&document) {
            return Err(CommandFailure::usage_error(
                "--json and -o name the same file: the second result would replace the first",
            ));
        }
        outputs.retain(|_| !document.is_stdout());
        outputs.push((document, Json));
        Ok(outputs)
    }

    fn request(&self) -> Result<RunRequest, CommandFailure> {
        let benchmark = find_benchmark(self.test.as_deref().unwrap_or_default())?;
        let target = self.target.as_deref().unwrap_or(OsStr::new(""));
        let mut spec = RunRequest::new(benchmark, target);
        for (name, text) in &self.parameters.0 {
            spec.set(name, text).map_err(CommandFailure::usage_error)?;
        }
        if let Some(text) = &self.bs {
            set_fio_block_size(&mut spec, text)?;
        }
        if let Some(text) = &self.engine {
            spec.set_engine(text).map_err(CommandFailure::usage_error)?;
        }
        if let Some(path) = self.overwrite.as_deref() {
            let consent = Consent::for_path(path);
            spec.set_consent(if self.overwrite_signatures {
                consent.including_signatures()
            } else {
                consent
            });
        }
        spec.scratch_file_bytes = self.scratch_size;
        spec.goals = self.goal.concat();
        spec.check_goals()
            .map_err(|error| CommandFailure::usage_error(&error).with_advice(error.advice()))?;
        spec.repeat_count = self.repeat;
        spec.session_directory = store::sessions_directory();
        Ok(spec)
    }

    /// Prints the help of the named benchmark, or of the command.
    fn print_help(&self) -> CommandResult {
        let text = match &self.test {
            Some(name) => benchmark_help(definition(), find_benchmark(name)?.description()),
            None => definition().render_help().to_string(),
        };
        print_result(&text)?;
        Ok(ExitStatus::Success)
    }
}

/// The definition of the command, for its help.
pub(super) fn definition() -> Command {
    Subcommand::new::<RunArguments>(MEASURE, "run").command()
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
pub(super) fn spec_of(matches: &ArgMatches) -> Result<RunRequest, CommandFailure> {
    let arguments = RunArguments::from_arg_matches(matches).map_err(CommandFailure::usage_error)?;
    arguments.request()
}

/// Sets the block size to a size as fio reads it, and says so where this program reads it otherwise.
fn set_fio_block_size(spec: &mut RunRequest, text: &str) -> Result<(), CommandFailure> {
    let expanded = units::expand_fio_units(text);
    spec.set("block-size", &expanded)
        .map_err(CommandFailure::usage_error)?;
    if expanded != text {
        print_status_line(&format!("note: --bs {text} is read as in fio: {expanded}"));
    }
    Ok(())
}

/// Writes the result to the requested outputs: if one of them fails, still to the other.
fn write_result(
    report: &RunReport,
    outputs: Vec<(Destination, OutputFormat)>,
    verbose: bool,
) -> Result<(), CommandFailure> {
    for error in &report.save_errors {
        print_status_line(&format!("diskscope: {error}"));
    }
    let mut written: Result<(), CommandFailure> = Ok(());
    for (mut output, format) in outputs {
        let text = result_text(report, format, verbose);
        if let Err(failure) = text.and_then(|text| Ok(output.write(&text)?)) {
            written = Err(match written {
                Err(first) => first.with_advice(&failure.message),
                Ok(()) => failure,
            });
        }
    }
    if let Some(path) = &report.saved_path {
        print_status_line(&format!("saved: {}", path.display()));
    }
    written
}

fn result_text(
    report: &RunReport,
    format: OutputFormat,
    verbose: bool,
) -> Result<String, CommandFailure> {
    let runs = &report.session.runs;
    match format {
        Text if verbose => Ok(text::runs_text(runs)),
        Text => Ok(text::repeats_text(runs)),
        _ => session_data(&report.session, format),
    }
}

/// The exit status of a run; with `is_strict`, an invalid result is told by it.
fn exit_status(report: &RunReport, is_strict: bool) -> ExitStatus {
    let runs = &report.session.runs;
    let some = |state| runs.iter().any(|run| run.state == state);
    let mut goals = runs.iter().flat_map(|run| &run.findings.goals);
    let mut findings = runs.iter().map(|run| &run.findings);
    if report.write_refused {
        ExitStatus::Refused
    } else if some(RunState::Failed) {
        ExitStatus::Failed
    } else if some(RunState::Interrupted) {
        ExitStatus::Interrupted
    } else if is_strict && findings.any(|it| it.invalid_check().is_some()) {
        ExitStatus::Invalid
    } else if goals.any(|goal| goal.met != Some(true)) {
        ExitStatus::GoalMissed
    } else {
        ExitStatus::Success
    }
}
