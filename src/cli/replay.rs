//! `diskscope replay`: shows a recording, or prints it view by view.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::config;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::interface;
use super::output::{growing_destination, json_lines, print_status_line};
use super::watch::SampleWriter;
use crate::recording::{KeptRequests, Recording, RecordingReadError, TriggerRecord};
use crate::{tui, units};

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] =
    &[OutputFormat::Text, OutputFormat::Ndjson, OutputFormat::Csv];
/// Bytes of requests that are printed at a time.
const PRINT_CHUNK_BYTES: usize = 64 << 10;

pub(super) fn command() -> Command {
    let switch = |name: &'static str, help| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    let path = Arg::new("file").value_name("FILE").required(true);
    Command::new("replay")
        .about("Replay a recording: on the Live screen, or as text without a terminal")
        .arg(
            path.value_parser(value_parser!(PathBuf)).help(
                "recording made by `record`, complete or truncated, or the directory of a ring",
            ),
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
    let mut replay = Recording::open(path).map_err(read_failure)?;
    if let Some(damage) = replay.damage() {
        print_status_line(&format!("note: {damage}"));
    }
    let name = path.display();
    if !replay.ended_cleanly() {
        print_status_line(&format!(
            "note: {name} has no regular end: the recorder was killed, or is still recording"
        ));
    }
    let format = selected_format(matches, FORMATS)?;
    if matches.get_flag("triggers") {
        return print_triggers(matches, format, &mut replay);
    }
    if replay.view_count() == 0 {
        return Err(CommandFailure::failed(format!("{name} contains no view")));
    }
    let is_single = seek_by_options(matches, &mut replay)?;
    let switches = ["json", "busiest", "requests"];
    let is_plain = !switches.iter().any(|switch| matches.get_flag(switch))
        && !matches.contains_id("format")
        && !matches.contains_id("output");
    if is_plain && io::stdout().is_terminal() {
        if !is_single {
            // The first view has no rates.
            replay.seek(1);
        }
        let options = interface::options_of_recording(matches)?;
        return interface::exit_of_ending(tui::replay(&options, path, replay));
    }
    if matches.get_flag("requests") {
        return print_requests(matches, &mut replay, is_single);
    }
    print_views(matches, format, &mut replay, is_single)
}

/// Seeks as the options specify; true if only that view is to be printed.
fn seek_by_options(matches: &ArgMatches, replay: &mut Recording) -> Result<bool, CommandFailure> {
    if matches.get_flag("busiest") {
        if !replay.seek_busiest() {
            return Err(CommandFailure::failed(
                "no view of the recording has a throughput",
            ));
        }
        return Ok(true);
    }
    if let Some(time) = wanted_time(matches, replay)? {
        replay.seek_time(time);
    }
    Ok(matches.contains_id("at"))
}

/// The time of `--at` in milliseconds since 1970.
pub(super) fn wanted_time(
    matches: &ArgMatches,
    replay: &mut Recording,
) -> Result<Option<u64>, CommandFailure> {
    let (Some(text), Some(times)) = (matches.get_one::<String>("at"), replay.times()) else {
        return Ok(None);
    };
    let time = times.parse(text);
    time.map(Some)
        .map_err(|error| CommandFailure::usage_error(format!("--at: {error}")))
}

/// Prints the views from the current one on, or only that. What is damaged is told and left out.
fn print_views(
    matches: &ArgMatches,
    format: OutputFormat,
    replay: &mut Recording,
    is_single: bool,
) -> CommandResult {
    let mut writer = SampleWriter::new(matches, format, false)?;
    let mut damage = DamageNotes::default();
    loop {
        let goes_on = match replay.read_current() {
            Ok(Some(live)) => writer.write(&live)?,
            Ok(None) => true,
            Err(error) => damage.note(error)?,
        };
        if !goes_on || is_single || !replay.step(1) {
            return damage.result();
        }
    }
}

/// Prints the requests before the current view and before those after it, or only those before it.
fn print_requests(matches: &ArgMatches, replay: &mut Recording, is_single: bool) -> CommandResult {
    let mut output = growing_destination(matches)?;
    let mut damage = DamageNotes::default();
    loop {
        let mut waiting = String::new();
        let mut printed = Ok(true);
        let read = replay.for_each_request(0, &mut |line| {
            waiting.push_str(line);
            waiting.push('\n');
            if waiting.len() >= PRINT_CHUNK_BYTES {
                printed = output.write(&waiting);
                waiting.clear();
            }
            matches!(printed, Ok(true))
        });
        let goes_on = printed? && output.write(&waiting)?;
        if let Err(error) = read {
            damage.note(error)?;
        }
        if !goes_on || is_single || !replay.step(1) {
            return damage.result();
        }
    }
}

/// Tells of each damaged part once.
#[derive(Default)]
struct DamageNotes(Option<String>);

impl DamageNotes {
    /// Tells of damage; what else went wrong ends the command.
    fn note(&mut self, error: RecordingReadError) -> Result<bool, CommandFailure> {
        let RecordingReadError::Damaged(damage) = error else {
            return Err(read_failure(error));
        };
        let text = damage.to_string();
        if self.0.as_ref() != Some(&text) {
            print_status_line(&format!("note: {text}"));
            self.0 = Some(text);
        }
        Ok(true)
    }

    fn result(self) -> CommandResult {
        match self.0 {
            None => Ok(ExitStatus::Success),
            Some(_) => Err(CommandFailure::failed("a part of the recording is damaged")),
        }
    }
}

/// Prints all triggers, the oldest first.
fn print_triggers(
    matches: &ArgMatches,
    format: OutputFormat,
    replay: &mut Recording,
) -> CommandResult {
    if format == OutputFormat::Csv {
        let message = "--triggers: print them as text or with --json";
        return Err(CommandFailure::usage_error(message));
    }
    let mut output = growing_destination(matches)?;
    let mut damage = DamageNotes::default();
    output.write("")?;
    for index in 0..replay.trigger_marks().count() {
        let trigger = match replay.read_trigger(index) {
            Ok(Some(trigger)) => trigger,
            Ok(None) => break,
            Err(error) => {
                damage.note(error)?;
                continue;
            }
        };
        let text = match format {
            OutputFormat::Ndjson => json_lines([&trigger])?,
            _ => trigger_text(&trigger),
        };
        if !output.write(&text)? {
            break;
        }
    }
    damage.result()
}

/// A trigger as text. Writing to a string does not fail.
fn trigger_text(trigger: &TriggerRecord) -> String {
    let mut text = format!("{} {}\n", trigger.first.time, trigger.first.text());
    for further in &trigger.further {
        let _ = writeln!(text, "  also: {} {}", further.time, further.text());
    }
    let _ = writeln!(text, "  requests: {}", requests_text(&trigger.requests));
    for thread in &trigger.blocked {
        let (tid, name) = (thread.tid, &thread.name);
        let channel = thread.wait_channel.as_deref().unwrap_or("n/a");
        let _ = writeln!(text, "  blocked: {tid} {name} in {channel}");
        for function in thread.stack.iter().flatten() {
            let _ = writeln!(text, "    {function}");
        }
    }
    for line in trigger.diagnosis.iter().flat_map(|found| &found.text) {
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
    text
}

fn requests_text(requests: &KeptRequests) -> String {
    if let Some(reason) = &requests.unavailable {
        return format!("n/a, {reason}");
    }
    let mut text = format!("{} kept", requests.kept);
    if let Some(reach) = requests.reach_ns {
        let reach = units::format_wait(Duration::from_nanos(reach));
        text += &format!(", complete since {reach} before");
    }
    for (count, what) in [
        (requests.left_out, "left out"),
        (requests.in_flight, "not completed"),
        (requests.lost_events, "events lost"),
    ] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text
}

/// The failure for a recording that cannot be read.
pub(super) fn read_failure(error: RecordingReadError) -> CommandFailure {
    let is_usage = match &error {
        RecordingReadError::NotARecording(..) => true,
        RecordingReadError::Input(input) => input.is_usage(),
        _ => false,
    };
    if is_usage {
        CommandFailure::usage_error(error)
    } else {
        CommandFailure::failed(error)
    }
}
