//! `diskscope compare`: compares sessions, or many drives by one metric.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::failure::{
    CommandFailure, CommandResult, ExitStatus, FEWER_FILES, session_load_failure,
};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::output::{converted, pretty_json, whole_destination};
use crate::bench;
use crate::files::file_id::FileId;
use crate::files::output::NewFileAccess;
use crate::files::safe_text::SafeText;
use crate::report;
use crate::report::csv;
use crate::session::compare;
use crate::session::compare::ComparisonInput;
use crate::session::compare::fleet::ExcludedSession;
use crate::session::document::{MetricId, Session};
use crate::session::store;
use crate::session::store::ReadBudget;
use crate::text;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] =
    &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Csv];

pub(super) fn command() -> Command {
    Command::new("compare")
        .about("Compare saved sessions, or rank many drives by one metric")
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .required(true)
                .num_args(2..)
                .value_parser(value_parser!(PathBuf))
                .help("session files: documents or journals"),
        )
        .arg(
            Arg::new("by")
                .long("by")
                .value_name("METRIC")
                .help("rank all drives by this metric, such as iops, and mark outliers"),
        )
        .arg(ignore_option())
        .arg(
            Arg::new("fail-if-slower")
                .long("fail-if-slower")
                .action(ArgAction::SetTrue)
                .conflicts_with("by")
                .help(
                    "exit with status 6 if a metric is significantly worse than the baseline's: the \
                     95 % interval of the ratio excludes 1",
                ),
        )
        .args(format_arguments(FORMATS))
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let paths: Vec<&PathBuf> = matches.get_many("files").into_iter().flatten().collect();
    let ignored = ignored_parameters(matches);
    let format = selected_format(matches, FORMATS)?;
    let inputs: Vec<FileId> = paths
        .iter()
        .filter_map(|path| Some(FileId::of_metadata(&path.metadata().ok()?)))
        .collect();
    let mut output = whole_destination(matches, &inputs, NewFileAccess::Umask)?;
    let (text, exit) = match matches.get_one::<String>("by") {
        Some(metric) => compare_by_metric(&paths, metric, &ignored, format)?,
        None => compare_side_by_side(&paths, &ignored, format, matches.get_flag("fail-if-slower"))?,
    };
    output.write(&text)?;
    Ok(exit)
}

/// Compares all files; a file that cannot be read is an error.
fn compare_side_by_side(
    paths: &[&PathBuf],
    ignored: &[String],
    format: OutputFormat,
    fail_if_slower: bool,
) -> Result<(String, ExitStatus), CommandFailure> {
    check_combined_size(paths)?;
    let mut budget = ReadBudget::default();
    let sessions = paths
        .iter()
        .map(|path| {
            Ok((
                session_name(path),
                budget.load(path).map_err(session_load_failure)?.0,
            ))
        })
        .collect::<Result<Vec<_>, CommandFailure>>()?;
    check_ignored_parameters(ignored, sessions.iter().map(|(_, session)| session))?;
    let comparison = compare::compare_sessions(&comparison_inputs(&sessions), ignored);
    let text = match format {
        OutputFormat::Json => pretty_json(&comparison)?,
        OutputFormat::Csv => converted(csv::comparison_csv(&comparison))?,
        _ => report::compare::comparison_text(&comparison),
    };
    let exit = match comparison.benchmarks.is_empty() {
        true => ExitStatus::Failed,
        false if fail_if_slower && comparison.has_slower_metric() => ExitStatus::Slower,
        false => ExitStatus::Success,
    };
    Ok((text, exit))
}

/// Compares many files by one metric. Among many files some are usually damaged: those are
/// reported, the others are compared.
fn compare_by_metric(
    paths: &[&PathBuf],
    name: &str,
    ignored: &[String],
    format: OutputFormat,
) -> Result<(String, ExitStatus), CommandFailure> {
    let metric = MetricId::parse(name);
    let (mut sessions, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        match store::load_session(path) {
            Ok(mut session) => {
                // Only one metric of each run is needed: dropping the rest makes room for thousands
                // of files.
                for run in &mut session.runs {
                    run.keep_metric(&metric);
                }
                sessions.push((session_name(path), session));
            }
            Err(error) => unreadable.push(ExcludedSession {
                name: session_name(path).into(),
                reason: error.to_string().into(),
            }),
        }
    }
    check_ignored_parameters(ignored, sessions.iter().map(|(_, session)| session))?;
    check_metric(&metric, &sessions)?;
    let mut fleet = compare::compare_fleet(&comparison_inputs(&sessions), &metric, ignored);
    let complete = unreadable.is_empty() && !fleet.tables.is_empty();
    fleet.excluded.extend(unreadable);
    let text = match format {
        OutputFormat::Json => pretty_json(&fleet)?,
        OutputFormat::Csv => converted(csv::fleet_csv(&fleet))?,
        _ => report::fleet::fleet_text(&fleet),
    };
    let exit = match complete {
        true => ExitStatus::Success,
        false => ExitStatus::Failed,
    };
    Ok((text, exit))
}

/// Refuses files that together need too much memory for a comparison.
pub(super) fn check_combined_size(paths: &[&PathBuf]) -> Result<(), CommandFailure> {
    store::check_total_size(paths)
        .map_err(|error| CommandFailure::usage_error(error.to_string()).with_advice(FEWER_FILES))
}

/// The option that names parameters that may differ.
pub(super) fn ignore_option() -> Arg {
    Arg::new("ignore")
        .long("ignore")
        .value_name("PARAMETER")
        .action(ArgAction::Append)
        .help(
            "ignore differences in this parameter (repeatable); default: require equal parameters",
        )
}

/// The parameters that may differ.
pub(super) fn ignored_parameters(matches: &ArgMatches) -> Vec<String> {
    let names = matches.get_many("ignore").into_iter().flatten();
    names.cloned().collect()
}

/// Refuses names that are a parameter of no benchmark and of no session: a misspelt name would have
/// no effect.
pub(super) fn check_ignored_parameters<'s>(
    ignored: &[String],
    sessions: impl Iterator<Item = &'s Session>,
) -> Result<(), CommandFailure> {
    if ignored.is_empty() {
        return Ok(());
    }
    let described = bench::BENCHMARKS.iter().flat_map(|test| {
        let parameters = test.description().parameters.iter();
        parameters.map(|parameter| parameter.name().to_owned())
    });
    let recorded = sessions
        .flat_map(|session| &session.runs)
        .flat_map(|run| run.parameters.keys().map(ToString::to_string));
    let known: BTreeSet<String> = described.chain(recorded).collect();
    let names = || known.iter().map(String::as_str);
    match ignored.iter().find(|name| !known.contains(*name)) {
        None => Ok(()),
        Some(name) => Err(CommandFailure::usage_error(format!(
            "--ignore {name:?}: no benchmark has a parameter of that name{}",
            text::suggestion(name, names())
        ))
        .with_advice(format!(
            "parameters are {}",
            names().collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Refuses a metric that no session has.
fn check_metric(metric: &MetricId, sessions: &[(String, Session)]) -> Result<(), CommandFailure> {
    let runs = sessions.iter().flat_map(|(_, session)| &session.runs);
    let known: HashSet<&MetricId> = runs
        .flat_map(|run| run.findings.metrics.iter().map(|metric| &metric.id))
        .collect();
    if known.is_empty() || known.contains(metric) {
        return Ok(());
    }
    let mut names: Vec<String> = known.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    let name = metric.to_string();
    Err(CommandFailure::usage_error(format!(
        "--by {name:?}: none of these sessions has that metric{}",
        text::suggestion(&name, names.iter().map(String::as_str))
    ))
    .with_advice(format!("they have {}", names.join(", "))))
}

fn session_name(path: &Path) -> String {
    SafeText::from_path(path).into()
}

fn comparison_inputs(sessions: &[(String, Session)]) -> Vec<ComparisonInput<'_>> {
    sessions
        .iter()
        .map(|(name, session)| ComparisonInput { name, session })
        .collect()
}
