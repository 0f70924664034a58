//! `diskscope report`: sessions as one HTML file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};

use super::compare::check_together;
use super::{Exit, Failure, Result, print, say};
use crate::bench;
use crate::report::html;
use crate::session::compare::{Input, compare};
use crate::session::store;

pub(super) fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).value_parser(value_parser!(PathBuf));
    Command::new("report")
        .about("Make one HTML file of saved sessions; several are compared with the first")
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
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let paths: Vec<&PathBuf> = matches.get_many("files").into_iter().flatten().collect();
    check_together(&paths)?;
    let sessions = paths
        .into_iter()
        .map(|path| {
            Ok((
                path.display().to_string(),
                store::load(path).map_err(Failure::failed)?,
            ))
        })
        .collect::<std::result::Result<Vec<_>, Failure>>()?;
    let inputs: Vec<Input<'_>> = sessions
        .iter()
        .map(|(name, session)| Input { name, session })
        .collect();
    let comparison = (inputs.len() > 1).then(|| compare(&inputs, &[]));
    let presentation = |name: &str| Some(bench::find(name)?.description().presentation());
    let page = html::page(&inputs, comparison.as_ref(), &presentation);
    let Some(output) = matches.get_one::<PathBuf>("output") else {
        return Err(Failure::usage("report needs -o OUT.html"));
    };
    write(output, &page)?;
    Ok(Exit::Done)
}

fn write(output: &Path, page: &str) -> std::result::Result<(), Failure> {
    if output == Path::new("-") {
        return print(page).map(|_| ());
    }
    fs::write(output, page).map_err(|error| {
        Failure::failed(format!(
            "cannot write the report to {}: {error}",
            output.display()
        ))
    })?;
    say(&format!("report written to {}", output.display()));
    Ok(())
}
