//! `diskscope report`: sessions as one HTML file.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::compare::{check_ignored, check_together, ignore_switch, ignored};
use super::{Exit, Failure, Result, not_loaded, print, refused_output, say};
use crate::bench;
use crate::report::html;
use crate::roots::Roots;
use crate::runtime::output;
use crate::session::compare::{Input, compare};
use crate::session::store::ReadBudget;

pub(super) fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).value_parser(value_parser!(PathBuf));
    Command::new("report")
        .about("Make one HTML file of saved sessions; several are compared")
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
        .arg(ignore_switch())
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let Some(path) = matches.get_one::<PathBuf>("output") else {
        return Err(Failure::usage("report needs -o OUT.html"));
    };
    let paths: Vec<&PathBuf> = matches.get_many("files").into_iter().flatten().collect();
    check_together(&paths)?;
    let (mut sessions, mut ids) = (Vec::new(), Vec::new());
    let mut budget = ReadBudget::default();
    for path in paths {
        let (session, id) = budget.load(path).map_err(not_loaded)?;
        sessions.push((path.display().to_string(), session));
        ids.push(id);
    }
    let ignored = ignored(matches);
    check_ignored(&ignored, sessions.iter().map(|(_, session)| session))?;
    let roots = Roots::default();
    let output = output::prepare(&roots, path, &ids).map_err(refused_output)?;
    let inputs: Vec<Input<'_>> = sessions
        .iter()
        .map(|(name, session)| Input { name, session })
        .collect();
    let comparison = (inputs.len() > 1).then(|| compare(&inputs, &ignored));
    let presentation = |name: &str| Some(bench::find(name)?.description().presentation());
    let page = html::page(&inputs, comparison.as_ref(), &presentation);
    if output.is_stdout() {
        print(&page)?;
        return Ok(Exit::Done);
    }
    output::write(&roots, output, page.as_bytes())
        .map_err(|error| Failure::failed(&error).advise(error.advice()))?;
    say(&format!("report written to {}", path.display()));
    Ok(Exit::Done)
}
