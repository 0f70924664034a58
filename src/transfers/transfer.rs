//! A tracked transfer of one file.

mod destination;

use std::time::Duration;

use super::context::{Participants, TransferContext};
use super::dd::DdArguments;
use super::estimate::STALLED_AFTER;
use super::flow::{Movement, ProcessFlows, read_bytes};
use super::kind::{kind_of_program, transforms};
use super::pairing::{End, ends_of};
use super::progress::Progress;
use super::transfer_file::{TransferFile, holds_about};
use super::view::{TransferState, TransferView};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::file_locations::FileLocation;
use crate::probe::process::closed_files::final_path;
use crate::probe::sample::{ClosedFile, FileKind, OpenFile, PagesUnknown};

/// A pair of files that does not move for this long is no longer a transfer.
const IDLE_TIMEOUT_OF_PAIR: Duration = Duration::from_secs(300);
/// Nor is a single file: one that is left open in the middle, such as a pager's.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Intervals in a row that forgive earlier seeks.
const SEQUENTIAL_INTERVALS: u32 = 3;
/// With this many seeks, a process reads or writes here and there instead of through the file.
const MAX_SEEKS: u32 = 2;
/// An advance beyond what was read, by this many bytes and a quarter, contains holes: counters and
/// offsets are not read at the same moment.
const HOLE_SLACK: u64 = 1 << 20;

/// What the progress is derived from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ProgressBasis {
    /// The offset of the source, or of the destination where no source is known.
    #[default]
    Position,
    /// The length of the destination: the kernel moves no offset while copy_file_range(2) copies up
    /// to 2 GiB in one call.
    DestinationGrowth,
}

/// One transfer.
#[derive(Debug, Default)]
pub(super) struct Transfer {
    pub(super) source: Option<TransferFile>,
    pub(super) destination: Option<TransferFile>,
    /// Its position and its size are those in its file; its estimator follows the bytes that are really
    /// transferred: without the holes that are skipped.
    pub(super) progress: Progress,
    dd: DdArguments,
    basis: ProgressBasis,
    /// Bytes of holes that were skipped so far.
    skipped: u64,
    /// Bytes that the source holds, without holes.
    source_data: Option<u64>,
    sequential_intervals: u32,
    seeks: u32,
    /// Whether the destination has its full length before its data.
    is_preallocated: bool,
}

impl Transfer {
    /// A transfer that begins, of a process that reads, or that writes where no source is known.
    pub(super) fn new(source: Option<End<'_>>, destination: Option<End<'_>>) -> Option<Self> {
        let leader = source.or(destination)?;
        let process = leader.process.process;
        let (name, arguments) = process.identity.program();
        let kind = kind_of_program(name, source.is_some(), destination.is_some());
        let dd = if name == b"dd" {
            DdArguments::parse(arguments)
        } else {
            DdArguments::default()
        };
        let basis = if leader.flow.advanced() > 0 {
            ProgressBasis::Position
        } else {
            ProgressBasis::DestinationGrowth
        };
        let mut progress = Progress::of_process(process, kind);
        progress.flushes_at_end = dd.flushes_at_end;
        Some(Self {
            source: source.map(TransferFile::new),
            destination: destination.map(TransferFile::new),
            progress,
            dd,
            basis,
            ..Self::default()
        })
    }

    /// Records its position in a sample, and what the processes moved.
    pub(super) fn observe(&mut self, sample: &SystemSample, all: &[ProcessFlows<'_>]) {
        if !self.is_active() {
            return;
        }
        let open = |end: &Option<TransferFile>| end.as_ref()?.find_open(sample);
        let destination = open(&self.destination);
        let leading = match &self.source {
            Some(_) => open(&self.source),
            None => destination,
        };
        let Some(leading) = leading else {
            // The writer of a pipeline has not received everything yet.
            if destination.is_none() || !self.has_two_processes() {
                self.finish(sample);
            }
            return;
        };
        self.progress.shown.size_bytes = self.end_position(leading);
        if self.source.is_some() && leading.kind == FileKind::Regular {
            self.source_data = Some(leading.allocated_bytes).filter(|bytes| *bytes > 0);
        }
        if let Some(destination) = destination {
            self.detect_preallocation(destination);
        }
        let mut ends = all.iter().flat_map(ends_of);
        let leader = self.source.as_ref().or(self.destination.as_ref());
        if let Some(end) = ends.find(|end| leader.is_some_and(|leader| leader.is(*end))) {
            self.follow_movement(end);
        }
        self.switch_basis(leading, destination);
        self.record_position(leading, destination, sample.boot_time);
    }

    /// Where it is now, and the bytes that it took to come there.
    fn record_position(
        &mut self,
        leading: &OpenFile,
        destination: Option<&OpenFile>,
        at: Duration,
    ) {
        let (position, bytes) = match self.basis {
            ProgressBasis::Position => {
                let position = leading.position;
                (position, position.saturating_sub(self.skipped))
            }
            ProgressBasis::DestinationGrowth => {
                let grown = destination.unwrap_or(leading);
                self.grown_position(grown.size.unwrap_or(0), grown.allocated_bytes)
            }
        };
        let total = self.total_bytes();
        let progress = &mut self.progress;
        progress.total = total;
        progress.estimator.observe(at, bytes);
        progress.shown.position_bytes = Some(position);
        progress.set_running_state(at, STALLED_AFTER);
    }

    /// Whether one process reads and another one writes.
    fn has_two_processes(&self) -> bool {
        let pid = |end: &Option<TransferFile>| end.as_ref().map(|file| file.process);
        self.destination.is_some() && pid(&self.source) != pid(&self.destination)
    }

    /// Judges by the counters whether the offset moved by a transfer, over a hole, or by a seek.
    fn follow_movement(&mut self, end: End<'_>) {
        let has_destination = self.destination.is_some();
        match end.flow.movement {
            Movement::Unmoved => return,
            Movement::Sequential(_) => {
                self.sequential_intervals += 1;
                if self.sequential_intervals >= SEQUENTIAL_INTERVALS {
                    self.seeks = 0;
                }
            }
            // A copy leaves out holes.
            Movement::Skipped(_) if self.source.is_some() && has_destination => {}
            Movement::Skipped(_) | Movement::Back => {
                self.seeks += 1;
                self.sequential_intervals = 0;
            }
        }
        if let Movement::Sequential(bytes) | Movement::Skipped(bytes) = end.flow.movement
            && let Some(io) = end.process.io
            && self.source.is_some()
            && !end.process.is_spliced
        {
            let read = read_bytes(&io);
            if bytes > read + read / 4 + HOLE_SLACK {
                self.skipped += bytes - read;
            }
        }
    }

    /// An offset that moves after all is better than the length of the destination.
    fn switch_basis(&mut self, leading: &OpenFile, destination: Option<&OpenFile>) {
        let is_lagging = destination.is_some_and(|file| Some(file.position) < file.size);
        if leading.position > 0 && self.sequential_intervals > 0 && !is_lagging {
            self.basis = ProgressBasis::Position;
        }
    }

    /// End position: the source's end, unless dd stops before.
    fn end_position(&self, leading: &OpenFile) -> Option<u64> {
        if self.source.is_some() {
            let ends = [leading.size, self.dd.input_end];
            return ends.into_iter().flatten().min();
        }
        // A device has an end; a file grows as long as it is written.
        let is_device = matches!(leading.kind, FileKind::Block(_));
        self.dd.output_end.or(leading.size.filter(|_| is_device))
    }

    /// Records the end, with a last look at the destination.
    fn finish(&mut self, sample: &SystemSample) {
        let at = sample.boot_time;
        let destination = self.destination.as_ref();
        let closed = destination.and_then(|end| end.find_closed(sample));
        let is_exact = closed.is_some_and(|closed| self.is_copied_to(&closed));
        if let Some(closed) = closed.filter(|_| is_exact) {
            let (position, bytes) = self.grown_position(closed.size, closed.allocated_bytes);
            let reached = closed.changed_at(at);
            self.progress.shown.position_bytes = Some(position);
            self.progress.estimator.set_final(at, bytes, reached);
        }
        let shown = &self.progress.shown;
        let state = if shown.size_bytes.is_none() {
            TransferState::Closed
        } else if shown.position_bytes >= shown.size_bytes {
            TransferState::Finished
        } else {
            self.progress.final_state(is_exact)
        };
        self.progress.end(at, state);
    }

    /// Whether a closed destination holds what was transferred, instead of something else such as a
    /// compressed archive.
    fn is_copied_to(&self, closed: &ClosedFile) -> bool {
        let shown = &self.progress.shown;
        let is_near = shown
            .position_bytes
            .is_some_and(|position| holds_about(closed.size, position));
        self.source.is_none()
            || Some(closed.size) == shown.size_bytes
            || (is_near && !transforms(shown.kind))
    }

    /// Whether it is active.
    pub(super) fn is_active(&self) -> bool {
        self.progress.ended_at.is_none()
    }

    /// Whether it is followed at this time: while it moves, and for a while afterwards.
    pub(super) fn is_followed(&self, at: Duration) -> bool {
        let is_pair = self.source.is_some() && self.destination.is_some();
        let is_flushing = self.progress.flushes_at_end;
        let timeout = if is_flushing || (is_pair && self.remaining_bytes() > 0) {
            IDLE_TIMEOUT_OF_PAIR
        } else {
            IDLE_TIMEOUT
        };
        let idle = self.progress.estimator.time_without_movement(at);
        !self.progress.is_gone(at) && (!self.is_active() || idle < timeout)
    }

    /// Whether it goes through its file from the beginning to the end.
    pub(super) fn is_sequential(&self) -> bool {
        self.seeks < MAX_SEEKS || self.basis == ProgressBasis::DestinationGrowth
    }

    /// Remaining bytes, for sorting.
    pub(super) fn remaining_bytes(&self) -> u64 {
        let shown = &self.progress.shown;
        let remaining = shown.size_bytes.zip(shown.position_bytes);
        remaining.map_or(0, |(size, position)| size.saturating_sub(position))
    }

    /// What is shown of it.
    pub(super) fn view(&mut self, context: &TransferContext<'_>) -> TransferView {
        let (source, destination) = (self.source.as_ref(), self.destination.as_ref());
        let shown = &mut self.progress.shown;
        shown.kind = kind_of_program(
            shown.command.as_bytes(),
            source.is_some(),
            destination.is_some(),
        );
        shown.source = source.map(|it| SafeText::from_bytes(&it.path));
        shown.destination = destination.map(|it| SafeText::from_bytes(&final_path(&it.path)));
        let device = |end: Option<&TransferFile>| context.device_at(end?.location);
        let reader = source.or(destination).map(|file| file.process);
        let writer = destination.map(|file| file.process);
        let participants = Participants {
            reader: reader.and_then(|key| context.process(key)),
            writer: writer
                .filter(|_| writer != reader)
                .and_then(|key| context.process(key)),
            source: device(source),
            destination: device(destination),
        };
        let mut view = self.progress.view(&participants, context);
        let is_device = |end: &TransferFile| matches!(end.location, FileLocation::Device(_));
        if self.destination.as_ref().is_some_and(is_device) {
            view.not_on_disk_unknown = Some(PagesUnknown::BlockDevice);
        }
        view
    }
}
