//! `diskscope compare`: sessions against each other, or many drives by one figure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::{Exit, Failure, Result, json, json_switch, not_loaded, print};
use crate::bench;
use crate::nearest;
use crate::report;
use crate::session::compare::fleet::LeftOut;
use crate::session::compare::{Input, compare, fleet};
use crate::session::document::Session;
use crate::session::store::{self, ReadBudget};

pub(super) fn command() -> Command {
    Command::new("compare")
        .about("Compare saved sessions, or list many drives by one figure")
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .required(true)
                .num_args(2..)
                .value_parser(value_parser!(PathBuf))
                .help("sessions: documents or journals"),
        )
        .arg(
            Arg::new("by")
                .long("by")
                .value_name("FIGURE")
                .help("list all drives sorted by this figure, such as iops; marks outliers"),
        )
        .arg(ignore_switch())
        .arg(json_switch())
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let paths: Vec<&PathBuf> = matches.get_many("files").into_iter().flatten().collect();
    let ignored = ignored(matches);
    match matches.get_one::<String>("by") {
        Some(figure) => by_figure(&paths, figure, &ignored, matches.get_flag("json")),
        None => side_by_side(&paths, &ignored, matches.get_flag("json")),
    }
}

/// What to do where the files are too large together.
pub(super) const FEWER_FILES: &str =
    "name fewer files, or list them by one figure: diskscope compare --by iops FILE...";

/// Every file counts here: one that cannot be read ends it.
fn side_by_side(paths: &[&PathBuf], ignored: &[String], as_json: bool) -> Result {
    check_together(paths)?;
    let mut budget = ReadBudget::default();
    let sessions = paths
        .iter()
        .map(|path| Ok((name(path), budget.load(path).map_err(not_loaded)?.0)))
        .collect::<std::result::Result<Vec<_>, Failure>>()?;
    check_ignored(ignored, sessions.iter().map(|(_, session)| session))?;
    let comparison = compare(&inputs(&sessions), ignored);
    print(&if as_json {
        json(&comparison)?
    } else {
        report::compare::comparison(&comparison)
    })?;
    Ok(if comparison.tests.is_empty() {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// Of many files a few are always damaged: they are named, the others are listed.
fn by_figure(paths: &[&PathBuf], figure: &str, ignored: &[String], as_json: bool) -> Result {
    let (mut sessions, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        match store::load(path) {
            Ok(mut session) => {
                // One figure of each run is all that is asked for: thousands of files fit.
                for run in &mut session.runs {
                    run.keep_figure(figure);
                }
                sessions.push((name(path), session));
            }
            Err(error) => unreadable.push(LeftOut {
                name: name(path).into(),
                reason: error.to_string().into(),
            }),
        }
    }
    check_ignored(ignored, sessions.iter().map(|(_, session)| session))?;
    check_figure(figure, &sessions)?;
    let mut fleet = fleet(&inputs(&sessions), figure, ignored);
    let complete = unreadable.is_empty() && !fleet.tables.is_empty();
    fleet.left_out.extend(unreadable);
    print(&if as_json {
        json(&fleet)?
    } else {
        report::fleet::fleet(&fleet)
    })?;
    Ok(if complete { Exit::Done } else { Exit::Failed })
}

/// Refuses files that together would take more memory than a comparison is worth.
pub(super) fn check_together(paths: &[&PathBuf]) -> std::result::Result<(), Failure> {
    store::check_total_size(paths)
        .map_err(|error| Failure::usage(error.to_string()).advise(FEWER_FILES))
}

/// The switch for parameters that may differ.
pub(super) fn ignore_switch() -> Arg {
    Arg::new("ignore")
        .long("ignore")
        .value_name("PARAMETER")
        .action(ArgAction::Append)
        .help("compare although this parameter differs (repeatable)")
}

/// The parameters that may differ.
pub(super) fn ignored(matches: &ArgMatches) -> Vec<String> {
    let names = matches.get_many("ignore").into_iter().flatten();
    names.cloned().collect()
}

/// Refuses names that no benchmark and none of the sessions has as a parameter: misspelt, they would
/// ignore nothing.
pub(super) fn check_ignored<'s>(
    ignored: &[String],
    sessions: impl Iterator<Item = &'s Session>,
) -> std::result::Result<(), Failure> {
    if ignored.is_empty() {
        return Ok(());
    }
    let described = bench::TESTS.iter().flat_map(|test| {
        let parameters = test.description().parameters.iter();
        parameters.map(|parameter| parameter.name.to_owned())
    });
    let recorded = sessions
        .flat_map(|session| &session.runs)
        .flat_map(|run| run.parameters.keys().map(ToString::to_string));
    let known: BTreeSet<String> = described.chain(recorded).collect();
    let names = || known.iter().map(String::as_str);
    match ignored.iter().find(|name| !known.contains(*name)) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!(
            "--ignore {name:?}: no benchmark has a parameter of that name{}",
            nearest::suggestion(name, names())
        ))
        .advise(format!(
            "parameters are {}",
            names().collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Refuses a metric that none of the sessions has.
fn check_figure(figure: &str, sessions: &[(String, Session)]) -> std::result::Result<(), Failure> {
    let runs = sessions.iter().flat_map(|(_, session)| &session.runs);
    let known: BTreeSet<&str> = runs
        .flat_map(|run| run.findings.figures.iter().map(|figure| &*figure.name))
        .collect();
    if known.is_empty() || known.contains(figure) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().copied().collect();
    Err(Failure::usage(format!(
        "--by {figure:?}: none of these sessions has that metric{}",
        nearest::suggestion(figure, names.iter().copied())
    ))
    .advise(format!("they have {}", names.join(", "))))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn inputs(sessions: &[(String, Session)]) -> Vec<Input<'_>> {
    sessions
        .iter()
        .map(|(name, session)| Input { name, session })
        .collect()
}
