//! The file of a recording: one that grows, or a ring.

use std::path::Path;

use crate::cli::failure::CommandFailure;
use crate::cli::output::print_status_line;
use crate::flight_recorder::KeptTrigger;
use crate::recording::{AppendResult, FrameMark, RecordingWriteError, RecordingWriter, RingWriter};
use crate::snapshot::Snapshot;

/// Bytes of the requests in one frame: a fast drive completes more in an interval than a frame may hold.
const MAX_REQUESTS_BYTES: usize = 4 << 20;

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
        let writer = RingWriter::open(path, size).map_err(recording_failure)?;
        Ok(Self::Ring {
            writer: Box::new(writer),
            is_omission_reported: false,
        })
    }

    /// Whether nothing was recorded, so that no file stays.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Log(writer) => !writer.has_frames(),
            Self::Ring { .. } => false,
        }
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
        let mut result = AppendResult::Written;
        let mut parts = line_parts(lines, MAX_REQUESTS_BYTES);
        parts.reverse();
        while let Some(part) = parts.pop() {
            let appended = match self {
                Self::Log(writer) => writer.append_requests(mark, part),
                Self::Ring { writer, .. } => writer.append_requests(mark, part),
            };
            match appended {
                Ok(AppendResult::Written) => {}
                // Too large for a segment of this ring: its halves may not be.
                Ok(AppendResult::TooLarge) if part.len() > 1 => {
                    match line_parts(part, part.len() / 2).as_slice() {
                        [_] => result = self.report_omission(appended)?,
                        halves => parts.extend(halves.iter().rev()),
                    }
                }
                _ => return self.report_omission(appended),
            }
        }
        Ok(result)
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
                "note: a snapshot, or a request with its names, is larger than 1/32 of the ring and was left out: use a larger --ring",
            );
        }
        Ok(appended)
    }
}

/// Whole lines of at most `limit` bytes together, unless one line is longer. At least one part.
fn line_parts(mut lines: &[u8], limit: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while lines.len() > limit {
        let is_end = |byte: &u8| *byte == b'\n';
        let within = lines[..limit].iter().rposition(is_end);
        let Some(end) = within.or_else(|| lines.iter().position(is_end)) else {
            break;
        };
        let (part, rest) = lines.split_at(end + 1);
        parts.push(part);
        lines = rest;
    }
    if parts.is_empty() || !lines.is_empty() {
        parts.push(lines);
    }
    parts
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::recording::Recording;
    use crate::snapshot::ViewBuilder;

    #[test]
    fn requests_that_exceed_a_segment_of_the_ring_are_written_in_parts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ring");
        let mut ring = RecordingFile::open_ring(&path, 4_000_000).unwrap();
        // About 60 bytes of each are left after compression, in segments of about 125 kB.
        let mut random = 1_u64;
        let lines: Vec<String> = (0..10_000)
            .map(|_| {
                let mut number = || {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    random >> 16
                };
                let numbers = [number(), number(), number(), number(), number()];
                format!("{{\"numbers\":{numbers:?}}}")
            })
            .collect();
        let mark = FrameMark {
            time_ms: 1,
            bytes_per_s: None,
        };
        let text = lines.join("\n") + "\n";
        let written = ring.append_requests(mark, text.as_bytes()).unwrap();
        assert_eq!(written, AppendResult::Written);
        let live = ViewBuilder::default().update(Arc::default());
        ring.append_view(&live).unwrap();
        drop(ring);
        let mut read = Vec::new();
        let mut recording = Recording::open(&path).unwrap();
        let mut each = |line: &str| {
            read.push(line.to_owned());
            true
        };
        recording.for_each_request(0, &mut each).unwrap();
        assert!(read == lines, "{} of {}", read.len(), lines.len());
    }

    #[test]
    fn parts_consist_of_whole_lines() {
        let parts = |limit| line_parts(b"one\ntwo\nthree\n", limit);
        assert_eq!(parts(100), [b"one\ntwo\nthree\n"]);
        assert_eq!(parts(8), [&b"one\ntwo\n"[..], b"three\n"]);
        assert_eq!(parts(7), [&b"one\n"[..], b"two\n", b"three\n"]);
        assert_eq!(parts(2), [&b"one\n"[..], b"two\n", b"three\n"]);
        assert_eq!(line_parts(b"", 2), [b""]);
        assert_eq!(line_parts(b"endless", 2), [b"endless"]);
    }
}
