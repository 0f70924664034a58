//! Writes a ring: a recording of constant size that overwrites its oldest part.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::{Compress, Compression};
use rustix::fs::{FlockOperation, flock};

use super::frame::{FRAME_HEADER_BYTES, FrameKind, FrameMark, MAX_CONTENT_BYTES, encode_frame};
use super::ring::{
    MAX_SEQUENCE, RingGeometry, SEGMENT_END_BYTES, SEGMENT_HEADER_BYTES, encode_segment_header,
    scan_ring,
};
use super::ring_file::{OpenedRing, lock_ring_file, not_a_ring, open_ring_file, prepare_ring_file};
use super::ring_segments::RingSegments;
use super::sync_thread::SyncThread;
use super::trigger::TriggerRecord;
use super::writer::{
    AppendResult, RESTART_INTERVAL_FRAMES, RecordingWriteError, compress_frame, io_failure,
    mark_of_view, to_json,
};
use crate::files::output;
use crate::snapshot::Snapshot;

/// The requests of a trigger take at most 1 in this many of a segment's bytes.
const TRIGGER_SHARE: u64 = 2;
/// Their last part, for the trigger itself: its diagnosis and its stacks.
const TRIGGER_RECORD_SHARE: u64 = 8;

/// Lines of requests for a frame, and their number.
#[derive(Debug, Clone, Default)]
pub struct RequestLines {
    /// Lines of JSON.
    pub lines: Vec<u8>,
    /// Their number.
    pub count: u64,
}

/// A ring in progress. Every frame is passed to the kernel at once: killing the program loses none
/// of them. After each snapshot the file is synced to its medium, see `SyncThread`.
#[derive(Debug)]
pub struct RingWriter {
    path: PathBuf,
    file: Arc<File>,
    geometry: RingGeometry,
    segments: RingSegments,
    /// Segment that is written, its number in the file.
    current: usize,
    /// Where the next frame goes, from the start of the segment.
    offset: u64,
    /// Checksum of the frame before.
    previous: u32,
    compress: Compress,
    since_restart: u32,
    sync: SyncThread,
}

impl RingWriter {
    /// Opens a ring of at most `size` bytes, or creates it. An existing ring is continued.
    ///
    /// # Errors
    /// If the file is no ring, is one of another size or another user, is written by another process, or cannot be created or read.
    pub fn open(path: &Path, size: u64) -> Result<Self, RecordingWriteError> {
        let geometry =
            RingGeometry::of_size(size).ok_or(RecordingWriteError::RingSize { bytes: size })?;
        Self::open_with_geometry(path, geometry)
    }

    /// As [`Self::open`].
    pub(super) fn open_with_geometry(
        path: &Path,
        geometry: RingGeometry,
    ) -> Result<Self, RecordingWriteError> {
        let OpenedRing { file, is_new } = open_ring_file(path)?;
        let file = Arc::new(file);
        let begun = lock_ring_file(path, &file)
            .and_then(|()| Self::begin(path, Arc::clone(&file), is_new, geometry));
        // A file that another recorder has locked meanwhile is that one's ring.
        let is_of_other = matches!(begun, Err(RecordingWriteError::OtherRecorder { .. }));
        if begun.is_err() && is_new && !is_of_other {
            output::remove_created(path, &file);
        }
        begun
    }

    /// Makes a ring of a file that is new, or continues it; the file is locked.
    fn begin(
        path: &Path,
        file: Arc<File>,
        is_new: bool,
        geometry: RingGeometry,
    ) -> Result<Self, RecordingWriteError> {
        prepare_ring_file(path, &file, is_new, geometry)?;
        let scanned = scan_ring(&file, geometry, usize::MAX).map_err(io_failure(path, "read"))?;
        if scanned
            .segments
            .last()
            .is_some_and(|newest| newest.sequence > MAX_SEQUENCE)
        {
            return Err(not_a_ring(path, "the number of a segment is impossible"));
        }
        let sync =
            SyncThread::start(Arc::clone(&file)).map_err(io_failure(path, "start a thread for"))?;
        let mut ring = Self {
            segments: RingSegments::new(geometry, &scanned),
            current: 0,
            offset: 0,
            previous: 0,
            compress: Compress::new(Compression::default(), false),
            since_restart: 0,
            path: path.to_owned(),
            file,
            geometry,
            sync,
        };
        match scanned.segments.last() {
            Some(last) => {
                ring.current = last.index;
                ring.offset = last.end_offset - geometry.segment_offset(last.index);
                ring.previous = last.last_checksum;
                if last.is_ended {
                    ring.begin_segment()?;
                }
            }
            None => ring.begin_segment()?,
        }
        Ok(ring)
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.geometry.file_bytes()
    }

    /// How many requests of a trigger are kept at most.
    #[must_use]
    pub fn max_trigger_requests(&self) -> usize {
        self.geometry.max_trigger_requests()
    }

    /// Appends a snapshot, and requests that the file is synced.
    ///
    /// # Errors
    /// If the file cannot be written, or an earlier sync failed.
    pub fn append_view(&mut self, live: &Snapshot) -> Result<AppendResult, RecordingWriteError> {
        let line = to_json(live)?;
        let appended = self.append_frame(FrameKind::View, mark_of_view(live), &line)?;
        self.request_sync()?;
        Ok(appended)
    }

    /// Appends requests that completed since the previous frame, as one line of JSON each.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_requests(
        &mut self,
        mark: FrameMark,
        lines: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        self.append_frame(FrameKind::Requests, mark, lines)
    }

    /// Appends a trigger after its requests, all in one segment. Requests that exceed their share of
    /// the ring are left out and counted in the record.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_trigger(
        &mut self,
        mut trigger: TriggerRecord,
        requests: &[RequestLines],
    ) -> Result<AppendResult, RecordingWriteError> {
        let segment = u64::from(self.geometry.segment_bytes);
        if self.offset > segment - segment / TRIGGER_SHARE {
            self.begin_segment()?;
        }
        let end = self.offset + segment / TRIGGER_SHARE - segment / TRIGGER_RECORD_SHARE;
        let mark = FrameMark {
            time_ms: trigger.time_ms,
            bytes_per_s: None,
        };
        trigger.requests.kept = 0;
        let mut is_full = false;
        for chunk in requests {
            // Each frame can be skipped without decompressing it.
            self.since_restart = 0;
            is_full = is_full
                || self.append_before(end, FrameKind::TriggerRequests, mark, &chunk.lines)?
                    != AppendResult::Written;
            match is_full {
                true => trigger.requests.left_out += chunk.count,
                false => trigger.requests.kept += chunk.count,
            }
        }
        self.since_restart = 0;
        let appended = self.append_frame(FrameKind::Trigger, mark, &to_json(&trigger)?)?;
        self.since_restart = 0;
        self.request_sync()?;
        Ok(appended)
    }

    /// Writes the reason for the end, and waits until the file is synced.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end_recording(mut self, time_ms: u64, reason: &str) -> Result<(), RecordingWriteError> {
        self.since_restart = 0;
        let mark = FrameMark {
            time_ms,
            bytes_per_s: None,
        };
        self.append_frame(FrameKind::EndOfRecording, mark, reason.as_bytes())?;
        self.file
            .sync_data()
            .map_err(io_failure(&self.path, "sync"))
    }

    fn request_sync(&self) -> Result<(), RecordingWriteError> {
        self.sync.request().map_err(io_failure(&self.path, "sync"))
    }

    /// Appends a frame, in a new segment if it does not fit into this one.
    fn append_frame(
        &mut self,
        kind: FrameKind,
        mark: FrameMark,
        content: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        let end = u64::from(self.geometry.segment_bytes) - SEGMENT_END_BYTES;
        let appended = self.append_before(end, kind, mark, content)?;
        if appended != AppendResult::TooLarge {
            return Ok(appended);
        }
        if !self.fits_alone(end, content)? {
            return Ok(AppendResult::TooLarge);
        }
        self.begin_segment()?;
        self.append_before(end, kind, mark, content)
    }

    /// Whether a frame fits into an empty segment.
    fn fits_alone(&mut self, end: u64, content: &[u8]) -> Result<bool, RecordingWriteError> {
        if content.len() > MAX_CONTENT_BYTES {
            return Ok(false);
        }
        self.compress.reset();
        let payload = compress_frame(&mut self.compress, content)?;
        self.since_restart = 0;
        Ok((SEGMENT_HEADER_BYTES + FRAME_HEADER_BYTES + payload.len()) as u64 <= end)
    }

    /// Appends a frame that ends at or before this offset in the segment.
    fn append_before(
        &mut self,
        end: u64,
        kind: FrameKind,
        mark: FrameMark,
        content: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        if content.len() > MAX_CONTENT_BYTES {
            return Ok(AppendResult::TooLarge);
        }
        let is_restart = self.since_restart == 0;
        if is_restart {
            self.compress.reset();
        }
        let payload = compress_frame(&mut self.compress, content)?;
        // Unless the frame is written, later frames must not refer to its data.
        let since_restart = std::mem::take(&mut self.since_restart);
        let frame = encode_frame(kind, is_restart, mark, &payload, Some(self.previous));
        if self.offset + frame.len() as u64 > end {
            return Ok(AppendResult::TooLarge);
        }
        self.write_frame(&frame)?;
        self.segments.note_frame(self.current, kind, mark.time_ms);
        self.since_restart = (since_restart + 1) % RESTART_INTERVAL_FRAMES;
        Ok(AppendResult::Written)
    }

    /// Writes a frame. Where that fails, the next frame overwrites what was written of it.
    fn write_frame(&mut self, frame: &[u8]) -> Result<(), RecordingWriteError> {
        self.write_in_segment(self.current, self.offset, frame)?;
        self.offset += frame.len() as u64;
        let sum = &frame[FRAME_HEADER_BYTES - 4..FRAME_HEADER_BYTES];
        self.previous = u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]);
        Ok(())
    }

    /// Writes to a segment, never past its end.
    fn write_in_segment(
        &self,
        segment: usize,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), RecordingWriteError> {
        let failed = |source| io_failure(&self.path, "write to")(source);
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > u64::from(self.geometry.segment_bytes)) {
            return Err(failed(io::Error::other("the segment of the ring is full")));
        }
        let at = self.geometry.segment_offset(segment) + offset;
        self.file.write_all_at(bytes, at).map_err(failed)
    }

    /// Ends the segment, and begins one in place of the oldest that is not protected.
    fn begin_segment(&mut self) -> Result<(), RecordingWriteError> {
        let mark = FrameMark {
            time_ms: 0,
            bytes_per_s: None,
        };
        // Every frame leaves room for this one.
        if self.offset > 0 {
            let end = encode_frame(FrameKind::SegmentEnd, true, mark, &[], Some(self.previous));
            self.write_frame(&end)?;
        }
        let (index, sequence) = self.segments.begin_next(self.current);
        let (head, sum) = encode_segment_header(sequence);
        self.write_in_segment(index, 0, &head)?;
        self.current = index;
        self.offset = SEGMENT_HEADER_BYTES as u64;
        self.previous = sum;
        self.since_restart = 0;
        Ok(())
    }
}

impl Drop for RingWriter {
    fn drop(&mut self) {
        // The thread that syncs the file may hold it a little longer.
        let _ = flock(&*self.file, FlockOperation::Unlock);
    }
}
