//! `diskscope replay`: shows a recording, or prints it view by view.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::interface::{ScreenOptions, exit_of_ending};
use super::options::FormatOption;
use super::options::OutputFormat::{self, Csv, Ndjson, Text};
use super::output::{json_lines, print_status_line};
use super::subcommand::Arguments;
use super::watch::SampleWriter;
use crate::recording::{KeptRequests, Recording, RecordingReadError, TriggerRecord};
use crate::{tui, units};

/// Bytes of requests that are printed at a time.
const PRINT_CHUNK_BYTES: usize = 64 << 10;

/// Replay a recording: on the Live screen, or as text without a terminal
#[derive(Debug, Args)]
#[command(after_help = "The formats are those of watch.")]
pub(super) struct ReplayArguments {
    /// recording made by `record`, complete or truncated, or the directory of a ring
    file: PathBuf,
    /// begin at this time, HH:MM:SS or with the date before it; without a terminal, or with --json, print only
    /// that view
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// print only the view with the highest throughput
    #[arg(long, conflicts_with = "at")]
    busiest: bool,
    /// print the recorded requests, one JSON object per line
    #[arg(long)]
    requests: bool,
    /// print the triggers of the flight recorder: what was observed and found, and the blocked threads
    #[arg(long, conflicts_with_all = ["at", "busiest", "requests"])]
    triggers: bool,
    #[command(flatten)]
    screen: ScreenOptions,
    #[command(flatten)]
    format: FormatOption,
}

impl Arguments for ReplayArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Ndjson, Csv];

    fn run(self) -> CommandResult {
        let mut replay = Recording::open(&self.file)?;
        let name = self.file.display();
        if let Some(damage) = replay.damage() {
            print_status_line(&format!("note: {damage}"));
        }
        if !replay.ended_cleanly() {
            print_status_line(&format!(
                "note: {name} has no regular end: the recorder was killed, or is still recording"
            ));
        }
        if self.triggers {
            return self.print_triggers(&mut replay);
        }
        if replay.view_count() == 0 {
            return Err(CommandFailure::failed(format!("{name} contains no view")));
        }
        self.seek(&mut replay)?;
        let is_plain = self.format.format.is_none() && self.format.output.path.is_none();
        if is_plain && !self.busiest && !self.requests && io::stdout().is_terminal() {
            if self.at.is_none() {
                // The first view has no rates.
                replay.seek(1);
            }
            let options = self.screen.for_recording()?;
            return exit_of_ending(tui::replay(&options, &self.file, replay));
        }
        if self.requests {
            return self.print_requests(&mut replay);
        }
        self.print_views(&mut replay)
    }
}

impl ReplayArguments {
    /// Seeks as the options specify.
    fn seek(&self, replay: &mut Recording) -> Result<(), CommandFailure> {
        if self.busiest && !replay.seek_busiest() {
            let message = "no view of the recording has a throughput";
            return Err(CommandFailure::failed(message));
        }
        if let Some(time) = wanted_time(self.at.as_deref(), replay)? {
            replay.seek_time(time);
        }
        Ok(())
    }

    /// Whether only the view is printed at which the options begin.
    fn is_single(&self) -> bool {
        self.busiest || self.at.is_some()
    }

    /// Calls `print` at the views from the current one on, or only at that, as long as it returns true. What
    /// is damaged is told and left out.
    fn for_each_view(
        &self,
        replay: &mut Recording,
        mut print: impl FnMut(&mut Recording, &mut DamageNotes) -> Result<bool, CommandFailure>,
    ) -> CommandResult {
        let mut damage = DamageNotes::default();
        while print(replay, &mut damage)? && !self.is_single() && replay.step(1) {}
        damage.result()
    }

    fn print_views(&self, replay: &mut Recording) -> CommandResult {
        let mut writer = SampleWriter::new(&self.format, false)?;
        self.for_each_view(replay, |replay, damage| match replay.read_current() {
            Ok(Some(live)) => writer.write(&live),
            Ok(None) => Ok(true),
            Err(error) => damage.note(error),
        })
    }

    /// Prints the requests before the current view and before those after it, or only those before it.
    fn print_requests(&self, replay: &mut Recording) -> CommandResult {
        let mut output = self.format.output.growing()?;
        self.for_each_view(replay, |replay, damage| {
            let (mut waiting, mut printed) = (String::new(), Ok(true));
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
            Ok(goes_on)
        })
    }

    /// Prints all triggers, the oldest first.
    fn print_triggers(&self, replay: &mut Recording) -> CommandResult {
        let format = self.format.get();
        if format == Csv {
            let message = "--triggers: print them as text or with --json";
            return Err(CommandFailure::usage_error(message));
        }
        let mut output = self.format.output.growing()?;
        let mut damage = DamageNotes::default();
        output.write("")?;
        for index in 0..replay.trigger_marks().count() {
            let text = match replay.read_trigger(index) {
                Ok(Some(trigger)) if format == Ndjson => json_lines([&trigger])?,
                Ok(Some(trigger)) => trigger_text(&trigger),
                Ok(None) => break,
                Err(error) => {
                    damage.note(error)?;
                    continue;
                }
            };
            if !output.write(&text)? {
                break;
            }
        }
        damage.result()
    }
}

/// The time of `--at` in milliseconds since 1970.
pub(super) fn wanted_time(
    at: Option<&str>,
    replay: &mut Recording,
) -> Result<Option<u64>, CommandFailure> {
    let (Some(text), Some(times)) = (at, replay.times()) else {
        return Ok(None);
    };
    let time = times.parse(text);
    time.map(Some)
        .map_err(|error| CommandFailure::usage_error(format!("--at: {error}")))
}

/// Tells of each damaged part once.
#[derive(Default)]
struct DamageNotes(Option<String>);

impl DamageNotes {
    /// Tells of damage; what else went wrong ends the command.
    fn note(&mut self, error: RecordingReadError) -> Result<bool, CommandFailure> {
        let RecordingReadError::Damaged(damage) = error else {
            return Err(error.into());
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
