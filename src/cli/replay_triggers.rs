//! The triggers of a recording as text or JSON.

use std::fmt::Write;

use clap::ArgMatches;

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::OutputFormat;
use super::output::growing_destination;
use crate::files::json;
use crate::recording::{KeptRequests, RecordingCursor, RecordingReadError, TriggerRecord};
use crate::units;

/// Prints all triggers, the oldest first.
pub(super) fn print(
    matches: &ArgMatches,
    format: OutputFormat,
    replay: &mut RecordingCursor,
) -> CommandResult {
    let is_json = match format {
        OutputFormat::Ndjson => true,
        OutputFormat::Text => false,
        _ => {
            return Err(CommandFailure::usage_error(
                "--triggers: print them as text or with --json",
            ));
        }
    };
    let mut output = growing_destination(matches)?;
    if replay.recording().trigger_marks().count() == 0 {
        output.write("")?;
    }
    for index in 0..replay.recording().trigger_marks().count() {
        let Some(trigger) = replay.read_trigger(index).map_err(read_failure)? else {
            continue;
        };
        let text = match is_json {
            true => {
                json::to_string(&trigger).map_err(|error| {
                    CommandFailure::failed(format!("cannot write JSON: {error}"))
                })? + "\n"
            }
            false => trigger_text(&trigger),
        };
        if !output.write(&text)? {
            break;
        }
    }
    Ok(ExitStatus::Success)
}

/// A trigger as text.
fn trigger_text(trigger: &TriggerRecord) -> String {
    let mut text = format!("{} {}\n", trigger.time, trigger.observation());
    for further in &trigger.further {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  also: {} {}", further.time, further.observation());
    }
    let _ = writeln!(text, "  requests: {}", requests_text(&trigger.requests));
    for thread in &trigger.blocked {
        let channel = thread.wait_channel.as_deref().unwrap_or("n/a");
        let _ = writeln!(
            text,
            "  blocked: {} {} in {channel}",
            thread.tid, thread.name
        );
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
    if requests.left_out > 0 {
        text += &format!(", {} left out", requests.left_out);
    }
    if let Some(reach) = requests.reach_ns {
        let reach = units::format_wait(std::time::Duration::from_nanos(reach));
        text += &format!(", complete since {reach} before");
    }
    if requests.in_flight > 0 {
        text += &format!(", {} not completed", requests.in_flight);
    }
    if requests.lost_events > 0 {
        text += &format!(", {} events lost", requests.lost_events);
    }
    text
}

/// The failure for a recording that cannot be read.
pub(super) fn read_failure(error: RecordingReadError) -> CommandFailure {
    match error {
        RecordingReadError::NotARecording { .. } | RecordingReadError::Version(_) => {
            CommandFailure::usage_error(error)
        }
        RecordingReadError::Input(ref input) if input.is_usage() => {
            CommandFailure::usage_error(error)
        }
        _ => CommandFailure::failed(error),
    }
}
