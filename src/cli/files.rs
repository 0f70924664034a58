//! `diskscope files`: lists open files of processes, deleted files that still occupy space, and the
//! files that the requests belong to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::options::time_option;
use super::output::{converted, json_lines, pretty_json, terminal_width, whole_destination};
use super::pace::SIGNAL_POLL_INTERVAL;
use super::signals;
use crate::drive::identity;
use crate::engine::CancellationToken;
use crate::files::output::NewFileAccess;
use crate::probe::file_systems;
use crate::probe::process::open_files;
use crate::report::csv::{CsvTable, entity_csv};
use crate::report::files::{deleted_files_text, open_files_text};
use crate::report::hot_files::hot_files_text;
use crate::roots::SysPaths;
use crate::snapshot::files;
use crate::text;
use crate::trace::hot_files::{FileTrace, RecordedTime};

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Json,
    OutputFormat::Ndjson,
    OutputFormat::Csv,
];

/// Duration of a trace.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// The deleted files; the keys are those of `--json`.
const DELETED_FILE_TABLE: CsvTable = CsvTable {
    columns: &["path", "device", "mounted_at", "held_bytes", "size_bytes"],
};

pub(super) fn command() -> Command {
    Command::new("files")
        .about(
            "List deleted files that still use space, the open files of a process, or the files \
             with the most disk I/O",
        )
        .args(format_arguments(FORMATS))
        .arg(
            Arg::new("hot")
                .long("hot")
                .action(ArgAction::SetTrue)
                .conflicts_with("pid")
                .help(
                    "trace which files the requests of all disks belong to, and who waits for \
                     fsync (root)",
                ),
        )
        .arg(
            Arg::new("duration")
                .long("duration")
                .value_name("DURATION")
                .requires("hot")
                .help(
                    "duration of the trace, such as 10s; a bare number is seconds [default: 10s]",
                ),
        )
        .arg(
            Arg::new("no-sampling")
                .long("no-sampling")
                .action(ArgAction::SetTrue)
                .requires("hot")
                .help("trace all of the time, even where that takes much processor time"),
        )
        .arg(
            Arg::new("pid")
                .value_name("PID")
                .value_parser(value_parser!(u32).range(1..))
                .help("list the open files of this process"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    if matches.get_flag("hot") {
        return run_hot(matches);
    }
    let roots = SysPaths::default();
    let format = selected_format(matches, FORMATS)?;
    let mut output = whole_destination(matches, &[], NewFileAccess::Private)?;
    let text = if let Some(pid) = matches.get_one::<u32>("pid") {
        let opened = open_files::files_of_process(&roots, *pid)
            .map_err(|error| CommandFailure::failed(unreadable_message(*pid, &error)))?;
        let files = files::open_file_views(&opened);
        match format {
            OutputFormat::Csv => entity_csv(&files),
            OutputFormat::Text => open_files_text(&files, terminal_width(&output)),
            _ => listing(&files, format)?,
        }
    } else {
        let drives = identity::list_block_devices(&roots);
        let systems = file_systems::list_file_systems(&roots);
        let deleted = open_files::deleted_files(&roots);
        let files = files::deleted_file_views(&deleted, &drives, &systems);
        match format {
            OutputFormat::Csv => converted(DELETED_FILE_TABLE.to_csv(&files))?,
            OutputFormat::Text => deleted_files_text(&files),
            _ => listing(&files, format)?,
        }
    };
    output.write(&text)?;
    Ok(ExitStatus::Success)
}

/// `files --hot`.
fn run_hot(matches: &ArgMatches) -> CommandResult {
    let format = selected_format(matches, FORMATS)?;
    let duration = time_option(matches, "duration")?.unwrap_or(DEFAULT_DURATION);
    let mut output = whole_destination(matches, &[], NewFileAccess::Private)?;
    let control = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let recorded = if matches.get_flag("no-sampling") {
        RecordedTime::All
    } else {
        RecordedTime::WithinCpuLimit
    };
    let trace = FileTrace::start(&SysPaths::default(), recorded)
        .map_err(|error| CommandFailure::failed(&error).with_advice(error.advice()))?;
    let end = Instant::now() + duration;
    while !control.is_cancelled() && trace.end_reason().is_none() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(SIGNAL_POLL_INTERVAL));
    }
    let (view, end_reason) = trace.finish();
    let text = match format {
        OutputFormat::Json => pretty_json(&view)?,
        OutputFormat::Text => hot_files_text(&view, terminal_width(&output)),
        OutputFormat::Csv => entity_csv(&view.files),
        _ => json_lines(&view.files)?,
    };
    output.write(&text)?;
    if let Some(message) = end_reason {
        return Err(CommandFailure::failed(message));
    }
    Ok(if control.is_cancelled() {
        ExitStatus::Interrupted
    } else {
        ExitStatus::Success
    })
}

/// A list of files as JSON.
fn listing<T: serde::Serialize>(
    files: &[T],
    format: OutputFormat,
) -> Result<String, CommandFailure> {
    match format {
        OutputFormat::Json => pretty_json(&files),
        _ => json_lines(files),
    }
}

/// The message for a process whose files cannot be listed.
fn unreadable_message(pid: u32, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no process {pid}"),
        std::io::ErrorKind::PermissionDenied => format!(
            "cannot list the files of process {pid}: not permitted; {}",
            text::root_advice(
                ", or as its owner",
                "a container or a security module forbids it: run it on the host",
            )
        ),
        _ => format!("cannot list the files of process {pid}: {error}"),
    }
}
