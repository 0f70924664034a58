//! `diskscope files`: lists open files of processes, deleted files that still occupy space, and the
//! files that the requests belong to.

use std::time::{Duration, Instant};

use clap::{Args, value_parser};

use super::destination::Destination;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::{json_lines, pretty_json, terminal_width};
use super::pace::SIGNAL_POLL_INTERVAL;
use super::signals;
use super::subcommand::Arguments;
use crate::drive::identity;
use crate::files::output::NewFileAccess;
use crate::probe::file_systems;
use crate::probe::process::open_files;
use crate::report::csv::{CsvTable, entity_csv};
use crate::report::files::{deleted_files_text, open_files_text};
use crate::report::hot_files::hot_files_text;
use crate::roots::SysPaths;
use crate::snapshot::files;
use crate::text;
use crate::trace::hot_files::FileTrace;
use crate::units;

/// The deleted files; the keys are those of `--json`.
const DELETED_FILE_TABLE: CsvTable = CsvTable("path,device,mounted_at,held_bytes,size_bytes");

/// List deleted files that still use space, the open files of a process, or the files with the most disk I/O
#[derive(Debug, Args)]
pub(super) struct FilesArguments {
    #[command(flatten)]
    format: FormatOption,
    /// trace which files the requests of all disks belong to (root)
    #[arg(long, conflicts_with = "pid")]
    hot: bool,
    /// duration of the trace, such as 10s; a bare number is seconds
    #[arg(long, requires = "hot", default_value = "10s", value_parser = units::parse_time)]
    duration: Duration,
    /// list the open files of this process
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pid: Option<u32>,
}

impl Arguments for FilesArguments {
    const FORMATS: &'static [OutputFormat] = &[
        OutputFormat::Text,
        OutputFormat::Json,
        OutputFormat::Ndjson,
        OutputFormat::Csv,
    ];

    fn run(self) -> CommandResult {
        let mut output = self.format.output.whole(&[], NewFileAccess::Private)?;
        if self.hot {
            return self.run_hot(&mut output);
        }
        let (roots, format) = (SysPaths::default(), self.format.get());
        let text = if let Some(pid) = self.pid {
            let opened = open_files::files_of_process(&roots, pid)
                .map_err(|error| CommandFailure::failed(unreadable_message(pid, &error)))?;
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
                OutputFormat::Csv => DELETED_FILE_TABLE.to_csv(&files)?,
                OutputFormat::Text => deleted_files_text(&files),
                _ => listing(&files, format)?,
            }
        };
        output.write(&text)?;
        Ok(ExitStatus::Success)
    }
}

impl FilesArguments {
    /// `files --hot`.
    fn run_hot(&self, output: &mut Destination) -> CommandResult {
        let control = signals::cancelled_by_signals()?;
        let trace = FileTrace::start(&SysPaths::default())?;
        let end = Instant::now() + self.duration;
        while !control.is_cancelled() && trace.end_reason().is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(SIGNAL_POLL_INTERVAL));
        }
        let (view, end_reason) = trace.finish();
        let text = match self.format.get() {
            OutputFormat::Json => pretty_json(&view)?,
            OutputFormat::Text => hot_files_text(&view, terminal_width(output)),
            OutputFormat::Csv => entity_csv(&view.files),
            _ => json_lines(&view.files)?,
        };
        output.write(&text)?;
        match end_reason {
            Some(reason) => Err(CommandFailure::failed(reason)),
            None => Ok(ExitStatus::of_end(&control)),
        }
    }
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
