//! `diskscope files`: lists open files of processes, deleted files that still occupy space, and the
//! files that the requests belong to.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};

use super::destination::Destination;
use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::{converted, json_lines, pretty_json};
use super::pace::SIGNAL_POLL_INTERVAL;
use super::signals;
use super::subcommand::Arguments;
use crate::drive::identity;
use crate::files::output::NewFileAccess;
use crate::files::shell;
use crate::probe::file_systems;
use crate::probe::process::open_files;
use crate::report::csv::CsvTable;
use crate::report::files::needed_content_note;
use crate::report::hot_files::hot_files_text;
use crate::roots::SysPaths;
use crate::snapshot::files;
use crate::snapshot::files::{DeletedView, FileView};
use crate::text;
use crate::trace::hot_files::{FileTrace, RecordedTime};
use crate::units;

/// The open files of a process; the keys are those of `--json`.
const OPEN_FILE_TABLE: CsvTable = CsvTable {
    columns: &[
        "descriptor",
        "path",
        "position_bytes",
        "size_bytes",
        "flags",
        "deleted",
    ],
};

/// The deleted files; the keys are those of `--json`.
const DELETED_FILE_TABLE: CsvTable = CsvTable {
    columns: &["path", "device", "mount_point", "held_bytes", "size_bytes"],
};

/// The files with requests; the keys are those of `--json`.
const HOT_FILE_TABLE: CsvTable = CsvTable {
    columns: &[
        "path",
        "device",
        "inode",
        "read_bytes",
        "written_bytes",
        "read_ios",
        "write_ios",
        "p50_ns",
        "p99_ns",
        "via",
    ],
};

/// List deleted files that still use space, the open files of a process, or the files with the most disk I/O
#[derive(Debug, Args)]
pub(super) struct FilesArguments {
    #[command(flatten)]
    format: FormatOption,
    /// trace which files the requests of all disks belong to, and who waits for fsync (root)
    #[arg(long, conflicts_with = "pid")]
    hot: bool,
    /// duration of the trace, such as 10s; a bare number is seconds
    #[arg(long, requires = "hot", default_value = "10s", value_parser = units::parse_time)]
    duration: Duration,
    /// trace all of the time, even where that takes much processor time
    #[arg(long, requires = "hot")]
    no_sampling: bool,
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
            let views = files::open_file_views(&opened);
            listing(&views, format, OPEN_FILE_TABLE, open_files_text)?
        } else {
            let drives = identity::list_block_devices(&roots);
            let systems = file_systems::list_file_systems(&roots);
            let deleted = open_files::deleted_files(&roots);
            let views = files::deleted_file_views(&deleted, &drives, &systems);
            listing(&views, format, DELETED_FILE_TABLE, deleted_files_text)?
        };
        output.write(&text)?;
        Ok(ExitStatus::Success)
    }
}

impl FilesArguments {
    /// `files --hot`.
    fn run_hot(&self, output: &mut Destination) -> CommandResult {
        let control = signals::cancelled_by_signals()?;
        let recorded = if self.no_sampling {
            RecordedTime::All
        } else {
            RecordedTime::WithinCpuLimit
        };
        let trace = FileTrace::start(&SysPaths::default(), recorded)?;
        let end = Instant::now() + self.duration;
        while !control.is_cancelled() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !trace.follow(left.min(SIGNAL_POLL_INTERVAL)) {
                break;
            }
        }
        let (view, end_reason) = trace.finish();
        let text = match self.format.get() {
            OutputFormat::Json => pretty_json(&view)?,
            OutputFormat::Text => hot_files_text(&view),
            format => listing(&view.files, format, HOT_FILE_TABLE, |_| String::new())?,
        };
        output.write(&text)?;
        match end_reason {
            Some(reason) => Err(CommandFailure::failed(reason)),
            None => Ok(ExitStatus::of_end(&control)),
        }
    }
}

/// A list of files in the selected format.
fn listing<T: serde::Serialize>(
    files: &[T],
    format: OutputFormat,
    table: CsvTable,
    text: fn(&[T]) -> String,
) -> Result<String, CommandFailure> {
    match format {
        OutputFormat::Json => pretty_json(&files),
        OutputFormat::Ndjson => json_lines(files),
        OutputFormat::Csv => converted(table.to_csv(files)),
        _ => Ok(text(files)),
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

fn open_files_text(files: &[FileView]) -> String {
    let bytes = |bytes: Option<u64>| {
        bytes.map_or_else(
            || "-".to_owned(),
            |bytes| units::format_capacity(bytes as f64),
        )
    };
    let mut text = format!(
        "{:>4} {:>9} {:>9}  {:<12} FILE\n",
        "FD", "POSITION", "SIZE", "FLAGS"
    );
    for file in files {
        let _ = writeln!(
            text,
            "{:>4} {:>9} {:>9}  {:<12} {}",
            file.descriptor,
            bytes(file.position_bytes),
            bytes(file.size_bytes),
            file.flags.as_deref().unwrap_or("n/a"),
            file.path,
        );
    }
    text
}

fn deleted_files_text(files: &[DeletedView]) -> String {
    if files.is_empty() {
        return "no deleted file is open (other users' processes show theirs to root only)\n"
            .to_owned();
    }
    let held: u64 = files.iter().map(|file| file.held_bytes).sum();
    let mut text = format!(
        "{} deleted files hold {}\n",
        files.len(),
        units::format_capacity(held as f64)
    );
    for file in files {
        let _ = writeln!(
            text,
            "\n{:>9}  {}{}",
            units::format_capacity(file.held_bytes as f64),
            file.path,
            file.mount_point
                .as_ref()
                .map_or_else(String::new, |at| format!("  on {at}")),
        );
        for holder in &file.holders {
            let _ = writeln!(
                text,
                "           open in {} {} as {}",
                holder.pid, holder.command, holder.descriptor
            );
        }
        if let Some(truncate) = &file.truncate_command {
            let _ = writeln!(
                text,
                "           end or restart it, or empty it (its content is lost): {truncate}"
            );
        }
        if let Some(user) = file.needed_by {
            let _ = writeln!(text, "           {}", needed_content_note(user));
        }
        if let Some(copy) = &file.copy_command {
            let copy = shell::for_terminal(copy.to_string());
            let _ = writeln!(text, "           copy it out: {copy}");
        }
    }
    text
}
