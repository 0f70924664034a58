//! `diskscope replay`: prints a recording view by view.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::config;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::interface;
use super::output::{growing_destination, print_status_line};
use super::replay_triggers::{self, read_failure};
use super::watch::SampleWriter;
use crate::cli::destination::Destination;
use crate::recording::{Recording, RecordingCursor};
use crate::tui;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] =
    &[OutputFormat::Text, OutputFormat::Ndjson, OutputFormat::Csv];

pub(super) fn command() -> Command {
    let switch = |name: &'static str, help| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    Command::new("replay")
        .about("Replay a recording: on the Live screen, or as text without a terminal")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("recording made by `record`, complete or truncated"),
        )
        .arg(Arg::new("at").long("at").value_name("TIME").help(
            "begin at this time, HH:MM:SS or with the date before it; without a terminal, \
                     or with --json, print only that view",
        ))
        .arg(
            switch("busiest", "print only the view with the highest throughput")
                .conflicts_with("at"),
        )
        .arg(switch(
            "requests",
            "print the recorded requests, one JSON object per line",
        ))
        .arg(
            switch(
                "triggers",
                "print the triggers of the flight recorder: what was observed and found, and the \
                 blocked threads",
            )
            .conflicts_with_all(["at", "busiest", "requests"]),
        )
        .arg(switch("ascii", "draw with ASCII characters only"))
        .arg(config::theme_argument())
        .args(format_arguments(FORMATS))
        .after_help("The formats are those of watch.")
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(CommandFailure::usage_error("replay needs a FILE"));
    };
    let recording = Recording::open(path).map_err(read_failure)?;
    if let Some(damage) = recording.damage() {
        print_status_line(&format!("note: {} is {damage}", path.display()));
    } else if !recording.ended_cleanly() {
        print_status_line(&format!(
            "note: {} has no regular end: the recorder was killed",
            path.display()
        ));
    }
    if recording.is_empty() {
        return Err(CommandFailure::failed(format!(
            "{} contains no view",
            path.display()
        )));
    }
    let mut replay = RecordingCursor::new(recording);
    if matches.get_flag("triggers") {
        let format = selected_format(matches, FORMATS)?;
        return replay_triggers::print(matches, format, &mut replay);
    }
    let is_single = seek_by_options(matches, &mut replay)?;
    let format = selected_format(matches, FORMATS)?;
    let is_plain = ["json", "busiest", "requests"]
        .iter()
        .all(|switch| !matches.get_flag(switch))
        && ["format", "output"]
            .iter()
            .all(|option| !matches.contains_id(option));
    if is_plain && io::stdout().is_terminal() {
        if !is_single {
            replay.seek_first_rates();
        }
        let options = interface::options_of_recording(matches)?;
        return interface::exit_of_ending(tui::replay(&options, path, replay));
    }
    let with_requests = matches.get_flag("requests");
    let mut printer = match with_requests {
        true => ReplayPrinter::Requests(growing_destination(matches)?),
        false => ReplayPrinter::Views(SampleWriter::new(matches, format, false)?),
    };
    loop {
        let goes_on = match &mut printer {
            ReplayPrinter::Requests(output) => print_recorded_requests(&mut replay, output)?,
            ReplayPrinter::Views(writer) => match replay.read_view().map_err(read_failure)? {
                Some(live) => writer.write(&live)?,
                None => true,
            },
        };
        if !goes_on || is_single || !replay.step(1) {
            return Ok(ExitStatus::Success);
        }
    }
}

/// What is printed of a recording.
enum ReplayPrinter {
    Requests(Destination),
    Views(SampleWriter),
}

/// Prints the requests since the previous view in chunks; false if the reader closed stdout.
fn print_recorded_requests(
    replay: &mut RecordingCursor,
    output: &mut Destination,
) -> Result<bool, CommandFailure> {
    /// Size of a chunk in bytes.
    const PRINT_CHUNK_BYTES: usize = 64 << 10;
    let mut waiting = String::new();
    let mut printed = Ok(true);
    let read = replay.for_each_request(&mut |line| {
        waiting.push_str(line);
        waiting.push('\n');
        if waiting.len() >= PRINT_CHUNK_BYTES {
            printed = output.write(&waiting);
            waiting.clear();
        }
        matches!(printed, Ok(true))
    });
    if !printed? {
        return Ok(false);
    }
    // Print what was read before the damage, too.
    let goes_on = match (waiting.is_empty(), &read) {
        (true, Err(_)) => true,
        _ => output.write(&waiting)?,
    };
    read.map_err(read_failure)?;
    Ok(goes_on)
}

/// Seeks as the options specify; true if only that view is to be printed.
fn seek_by_options(
    matches: &ArgMatches,
    replay: &mut RecordingCursor,
) -> Result<bool, CommandFailure> {
    if matches.get_flag("busiest") {
        if !replay.seek_busiest() {
            return Err(CommandFailure::failed(
                "no view of the recording has a throughput",
            ));
        }
        return Ok(true);
    }
    let Some(text) = matches.get_one::<String>("at") else {
        return Ok(false);
    };
    let Some(times) = replay.times().map_err(read_failure)? else {
        return Ok(true);
    };
    let time = times
        .parse(text)
        .map_err(|error| CommandFailure::usage_error(format!("--at: {error}")))?;
    replay.seek_time(time);
    Ok(true)
}
