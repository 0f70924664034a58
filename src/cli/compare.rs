//! `diskscope compare`: compares sessions, or many drives by one metric.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::FormatOption;
use super::options::OutputFormat::{self, Csv, Json, Text};
use super::output::pretty_json;
use super::subcommand::Arguments;
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
use crate::text;

/// Compare saved sessions, or rank many drives by one metric
#[derive(Debug, Args)]
pub(super) struct CompareArguments {
    /// session files: documents or journals
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// rank all drives by this metric, such as iops, and mark outliers
    #[arg(long, value_name = "METRIC")]
    by: Option<String>,
    #[command(flatten)]
    ignore: IgnoreOption,
    /// exit with status 6 if a metric is significantly worse than the baseline's: the 95 % interval of the
    /// ratio excludes 1
    #[arg(long, conflicts_with = "by")]
    fail_if_slower: bool,
    #[command(flatten)]
    format: FormatOption,
}

/// The option that names parameters that may differ.
#[derive(Debug, Args)]
pub(super) struct IgnoreOption {
    /// ignore differences in this parameter (repeatable); default: require equal parameters
    #[arg(long = "ignore", value_name = "PARAMETER")]
    pub(super) parameters: Vec<String>,
}

impl Arguments for CompareArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Json, Csv];

    fn run(self) -> CommandResult {
        let metadata = self.files.iter().filter_map(|path| path.metadata().ok());
        let inputs: Vec<FileId> = metadata.map(|it| FileId::of_metadata(&it)).collect();
        let mut output = self.format.output.whole(&inputs, NewFileAccess::Umask)?;
        let (text, exit) = match &self.by {
            Some(metric) => self.compare_by_metric(&MetricId::parse(metric))?,
            None => self.compare_side_by_side()?,
        };
        output.write(&text)?;
        Ok(exit)
    }
}

impl CompareArguments {
    /// Compares all files; a file that cannot be read is an error.
    fn compare_side_by_side(&self) -> Result<(String, ExitStatus), CommandFailure> {
        let (sessions, _) = load_together(&self.files)?;
        let inputs = comparison_inputs(&sessions);
        let comparison = compare::compare_sessions(&inputs, &self.ignore.parameters);
        let text = match self.format.get() {
            Json => pretty_json(&comparison)?,
            Csv => csv::comparison_csv(&comparison)?,
            _ => report::text::comparison_text(&comparison),
        };
        let exit = if comparison.benchmarks.is_empty() {
            ExitStatus::Failed
        } else if self.fail_if_slower && comparison.has_slower_metric() {
            ExitStatus::Slower
        } else {
            ExitStatus::Success
        };
        Ok((text, exit))
    }

    /// Ranks all drives by one metric; a file that cannot be read is named and left out.
    fn compare_by_metric(&self, metric: &MetricId) -> Result<(String, ExitStatus), CommandFailure> {
        let (mut sessions, mut unreadable) = (Vec::new(), Vec::new());
        for path in &self.files {
            match store::load_session(path) {
                Ok(mut session) => {
                    // Only one metric of each run is needed: dropping the rest makes room for thousands
                    // of files.
                    for run in &mut session.runs {
                        run.keep_metric(metric);
                    }
                    sessions.push((session_name(path), session));
                }
                Err(error) => unreadable.push(ExcludedSession {
                    name: session_name(path).into(),
                    reason: error.to_string().into(),
                }),
            }
        }
        check_metric(metric, &sessions)?;
        let inputs = comparison_inputs(&sessions);
        let mut fleet = compare::compare_fleet(&inputs, metric, &self.ignore.parameters);
        let is_complete = unreadable.is_empty() && !fleet.tables.is_empty();
        fleet.excluded.extend(unreadable);
        let text = match self.format.get() {
            Json => pretty_json(&fleet)?,
            Csv => csv::fleet_csv(&fleet)?,
            _ => report::text::fleet_text(&fleet),
        };
        let exit = if is_complete {
            ExitStatus::Success
        } else {
            ExitStatus::Failed
        };
        Ok((text, exit))
    }
}

/// Sessions with the names under which they are compared.
pub(super) type NamedSessions = Vec<(String, Session)>;

/// Loads all sessions, and refuses files that together need too much memory. The second value are the files.
pub(super) fn load_together(
    paths: &[PathBuf],
) -> Result<(NamedSessions, Vec<FileId>), CommandFailure> {
    let loaded = store::load_sessions(paths)?.into_iter().zip(paths);
    let named = loaded.map(|((session, id), path)| ((session_name(path), session), id));
    Ok(named.unzip())
}

/// Refuses a metric that no session has.
fn check_metric(metric: &MetricId, sessions: &NamedSessions) -> Result<(), CommandFailure> {
    let runs = sessions.iter().flat_map(|(_, session)| &session.runs);
    let metrics = runs.flat_map(|run| &run.findings.metrics);
    let known: BTreeSet<String> = metrics.map(|metric| metric.id.to_string()).collect();
    let name = metric.to_string();
    if known.is_empty() || known.contains(&name) {
        return Ok(());
    }
    let nearest = text::suggestion(&name, known.iter().map(String::as_str));
    let known: Vec<String> = known.into_iter().collect();
    let message = format!("--by {name:?}: none of these sessions has that metric{nearest}");
    Err(CommandFailure::usage_error(message).with_advice(format!("they have {}", known.join(", "))))
}

fn session_name(path: &Path) -> String {
    SafeText::from_path(path).into()
}

/// The sessions as they are compared.
pub(super) fn comparison_inputs(sessions: &NamedSessions) -> Vec<ComparisonInput<'_>> {
    let sessions = sessions.iter();
    sessions
        .map(|(name, session)| ComparisonInput { name, session })
        .collect()
}
