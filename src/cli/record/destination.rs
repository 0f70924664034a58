//! The file of a recording: one that grows, or a ring.

use std::fs::File;
use std::path::Path;

use crate::benchmark_run::output;
use crate::cli::failure::CommandFailure;
use crate::cli::output::print_status_line;
use crate::flight_recorder::KeptTrigger;
use crate::model::Snapshot;
use crate::recording::{AppendResult, FrameMark, RecordingWriteError, RecordingWriter, RingWriter};
use crate::roots::SysPaths;

/// A recording in progress.
pub(super) enum RecordingFile {
    /// It grows until it ends.
    Log(Box<RecordingWriter>),
    /// It overwrites its oldest part.
    Ring {
        writer: Box<RingWriter>,
        /// Whether the user was told that a frame was too large.
        is_omission_reported: bool,
    },
}

impl RecordingFile {
    /// Creates a recording of at most `limit` bytes.
    pub(super) fn create(path: &Path, limit: Option<u64>) -> Result<Self, CommandFailure> {
        let writer = RecordingWriter::create(path, limit).map_err(recording_failure)?;
        Ok(Self::Log(Box::new(writer)))
    }

    /// Creates a ring of at most `size` bytes, or continues it.
    pub(super) fn open_ring(path: &Path, size: u64) -> Result<Self, CommandFailure> {
        let roots = SysPaths::default();
        let check_unused = |file: &File| output::check_file_unused(&roots, path, file);
        let writer = RingWriter::open(path, size, &check_unused).map_err(recording_failure)?;
        Ok(Self::Ring {
            writer: Box::new(writer),
            is_omission_reported: false,
        })
    }

    /// Size of the file in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        match self {
            Self::Log(writer) => writer.written_bytes(),
            Self::Ring { writer, .. } => writer.file_bytes(),
        }
    }

    /// Appends a snapshot.
    pub(super) fn append_view(&mut self, live: &Snapshot) -> Result<AppendResult, CommandFailure> {
        let appended = match self {
            Self::Log(writer) => writer.append_view(live),
            Self::Ring { writer, .. } => writer.append_view(live),
        };
        self.report_omission(appended)
    }

    /// Appends requests as lines of JSON.
    pub(super) fn append_requests(
        &mut self,
        mark: FrameMark,
        lines: &[u8],
    ) -> Result<AppendResult, CommandFailure> {
        let appended = match self {
            Self::Log(writer) => writer.append_requests(mark, lines),
            Self::Ring { writer, .. } => writer.append_requests(mark, lines),
        };
        self.report_omission(appended)
    }

    /// Appends a trigger and its requests; only to a ring.
    pub(super) fn append_trigger(
        &mut self,
        trigger: KeptTrigger,
    ) -> Result<AppendResult, CommandFailure> {
        let appended = match self {
            Self::Log(_) => Ok(AppendResult::Written),
            Self::Ring { writer, .. } => writer.append_trigger(trigger.record, &trigger.requests),
        };
        self.report_omission(appended)
    }

    /// How many requests of a trigger are kept at most.
    pub(super) fn max_trigger_requests(&self) -> usize {
        match self {
            Self::Log(_) => 0,
            Self::Ring { writer, .. } => writer.max_trigger_requests(),
        }
    }

    /// Ends the recording and waits until it is on the medium.
    pub(super) fn end_recording(self, time_ms: u64, reason: &str) -> Result<(), CommandFailure> {
        let ended = match self {
            Self::Log(writer) => writer.end_recording(time_ms, reason),
            Self::Ring { writer, .. } => writer.end_recording(time_ms, reason),
        };
        ended.map_err(recording_failure)
    }

    /// Tells once that something is larger than a segment of the ring.
    fn report_omission(
        &mut self,
        appended: Result<AppendResult, RecordingWriteError>,
    ) -> Result<AppendResult, CommandFailure> {
        let appended = appended.map_err(recording_failure)?;
        if let (
            AppendResult::TooLarge,
            Self::Ring {
                is_omission_reported,
                ..
            },
        ) = (appended, self)
            && !std::mem::replace(is_omission_reported, true)
        {
            print_status_line(
                "note: a snapshot is larger than 1/32 of the ring and was left out: use a larger --ring",
            );
        }
        Ok(appended)
    }
}

fn recording_failure(error: RecordingWriteError) -> CommandFailure {
    match error {
        RecordingWriteError::Output(_)
        | RecordingWriteError::NotARing { .. }
        | RecordingWriteError::Version(_)
        | RecordingWriteError::OtherRingSize { .. }
        | RecordingWriteError::RingSize { .. } => CommandFailure::usage_error(&error),
        _ => CommandFailure::failed(&error),
    }
    .with_advice(error.advice())
}
