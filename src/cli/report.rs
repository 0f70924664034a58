//! `diskscope report`: writes sessions to one HTML file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};

use super::compare::{
    check_combined_size, check_ignored_parameters, ignore_option, ignored_parameters,
};
use super::failure::{CommandFailure, CommandResult, ExitStatus, session_load_failure};
use super::output::{print_status_line, whole_destination};
use crate::bench;
use crate::files::output::NewFileAccess;
use crate::files::safe_text::SafeText;
use crate::report::html;
use crate::session::compare::ComparisonInput;
use crate::session::compare::compare_sessions;
use crate::session::store::ReadBudget;

pub(super) fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).value_parser(value_parser!(PathBuf));
    Command::new("report")
        .about("Write saved sessions to one HTML file; several are compared")
        .arg(
            path("files")
                .value_name("FILE")
                .required(true)
                .num_args(1..)
                .help("sessions: documents or journals"),
        )
        .arg(
            path("output")
                .short('o')
                .long("output")
                .value_name("OUT.html")
                .required(true)
                .help("where to write it; - for stdout"),
        )
        .arg(ignore_option())
}

/// The names of the files without their directories where these differ: the page is for others, to
/// whom the directories say nothing.
fn session_names(paths: &[&PathBuf]) -> Vec<String> {
    let shown = |path: &Path| String::from(SafeText::from_path(path));
    let short = |path: &&PathBuf| shown(path.file_name().map_or(path, Path::new));
    let names: Vec<String> = paths.iter().map(short).collect();
    let distinct: HashSet<&String> = names.iter().collect();
    match distinct.len() == names.len() {
        true => names,
        false => paths.iter().map(|path| shown(path)).collect(),
    }
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let Some(path) = matches.get_one::<PathBuf>("output") else {
        return Err(CommandFailure::usage_error("report needs -o OUT.html"));
    };
    let paths: Vec<&PathBuf> = matches.get_many("files").into_iter().flatten().collect();
    check_combined_size(&paths)?;
    let (mut sessions, mut ids) = (Vec::new(), Vec::new());
    let mut budget = ReadBudget::default();
    for (path, name) in paths.iter().zip(session_names(&paths)) {
        let (session, id) = budget.load(path).map_err(session_load_failure)?;
        sessions.push((name, session));
        ids.push(id);
    }
    let ignored = ignored_parameters(matches);
    check_ignored_parameters(&ignored, sessions.iter().map(|(_, session)| session))?;
    let mut output = whole_destination(matches, &ids, NewFileAccess::Umask)?;
    let inputs: Vec<ComparisonInput<'_>> = sessions
        .iter()
        .map(|(name, session)| ComparisonInput { name, session })
        .collect();
    let comparison = (inputs.len() > 1).then(|| compare_sessions(&inputs, &ignored));
    let presentation = |name: &str| Some(bench::find_benchmark(name)?.description().presentation());
    let page = html::html_page(&inputs, comparison.as_ref(), &presentation);
    if output.is_stdout() {
        output.write(&page)?;
    } else {
        // As it is: its numbers have thin spaces, which text for a terminal has not.
        output.write_bytes(page.as_bytes())?;
        print_status_line(&format!("report written to {}", path.display()));
    }
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_short_names_where_these_differ() {
        let names = |paths: [&str; 2]| {
            let paths = paths.map(PathBuf::from);
            session_names(&paths.iter().collect::<Vec<_>>())
        };
        assert_eq!(names(["runs/a.json", "/srv/b.json"]), ["a.json", "b.json"]);
        let same = ["old/a.json", "new/a.json"];
        assert_eq!(names(same), same);
    }
}
