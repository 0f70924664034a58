//! `diskscope replay`: a recording, view by view.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::{Exit, Failure, Result, interface, json_switch, print, say};
use crate::model::Live;
use crate::recording::{ReadError, Recording, Replay};
use crate::report::watch;
use crate::runtime::{self, Options};

pub(super) fn command() -> Command {
    let switch = |name: &'static str, help| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    Command::new("replay")
        .about("Go through a recording: on the Live screen, or as text where there is no terminal")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("a file that `record` made, whole or cut off"),
        )
        .arg(
            Arg::new("at")
                .long("at")
                .value_name("TIME")
                .help("only the view of this moment, such as 2026-01-02T03:04:05Z"),
        )
        .arg(
            switch(
                "busiest",
                "only the view at which the drives moved most bytes",
            )
            .conflicts_with("at"),
        )
        .arg(switch(
            "requests",
            "print the recorded single requests, one JSON object per line",
        ))
        .arg(switch("ascii", "draw with ASCII characters only"))
        .arg(json_switch().help("one JSON object per view and line, as `watch --json`"))
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("replay needs a FILE"));
    };
    let recording = Recording::open(path).map_err(failed)?;
    if let Some(damage) = recording.damage() {
        say(&format!("note: {} is {damage}", path.display()));
    } else if !recording.is_ended() {
        say(&format!("note: {} was cut off", path.display()));
    }
    if recording.is_empty() {
        return Err(Failure::failed(format!("{} holds no view", path.display())));
    }
    let is_plain = ["json", "busiest", "requests"]
        .iter()
        .all(|switch| !matches.get_flag(switch))
        && !matches.contains_id("at");
    if is_plain && io::stdout().is_terminal() {
        let options = Options {
            ascii: matches.get_flag("ascii"),
            mouse: false,
            interval: Duration::from_secs(1),
        };
        return interface::end(runtime::replay(&options, path, recording));
    }
    let mut replay = Replay::new(recording);
    let is_single = go_to(matches, &mut replay)?;
    loop {
        let goes_on = if matches.get_flag("requests") {
            print_requests(&mut replay)?
        } else {
            print(&content(matches, &mut replay)?)?
        };
        if !goes_on || is_single || !replay.step(1) {
            return Ok(Exit::Done);
        }
    }
}

/// Prints the requests since the view before, in pieces; false when the reader went away.
fn print_requests(replay: &mut Replay) -> std::result::Result<bool, Failure> {
    /// Bytes that are printed at a time.
    const PIECE: usize = 64 << 10;
    let mut waiting = String::new();
    let mut printed = Ok(true);
    let read = replay.requests(&mut |line| {
        waiting.push_str(line);
        waiting.push('\n');
        if waiting.len() >= PIECE {
            printed = print(&waiting);
            waiting.clear();
        }
        matches!(printed, Ok(true))
    });
    if !printed? {
        return Ok(false);
    }
    // What was read before the damage is printed too.
    let goes_on = print(&waiting)?;
    read.map_err(failed)?;
    Ok(goes_on)
}

fn failed(error: ReadError) -> Failure {
    match error {
        ReadError::Foreign { .. } => Failure::usage(error),
        ReadError::Input(ref input) if input.is_usage() => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

/// Goes where the options say; true when only that view is wanted.
fn go_to(matches: &ArgMatches, replay: &mut Replay) -> std::result::Result<bool, Failure> {
    if matches.get_flag("busiest") {
        if !replay.seek_busiest() {
            return Err(Failure::failed("no view of the recording knows a rate"));
        }
        return Ok(true);
    }
    let Some(text) = matches.get_one::<String>("at") else {
        return Ok(false);
    };
    let time: jiff::Timestamp = text
        .parse()
        .map_err(|error| Failure::usage(format!("--at {text:?}: {error}")))?;
    replay.seek_time(u64::try_from(time.as_millisecond()).unwrap_or(0));
    Ok(true)
}

fn content(matches: &ArgMatches, replay: &mut Replay) -> std::result::Result<String, Failure> {
    let Some(live) = replay.view().map_err(failed)? else {
        return Ok(String::new());
    };
    text(&live, matches.get_flag("json"))
}

fn text(live: &Live, as_json: bool) -> std::result::Result<String, Failure> {
    if !as_json {
        return Ok(watch::text(live));
    }
    watch::line(live)
        .map(|line| line + "\n")
        .map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))
}
