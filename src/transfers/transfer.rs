//! A tracked transfer of one file.

mod destination;

use std::time::Duration;

use super::bottleneck::BottleneckTracker;
use super::dd::DdArguments;
use super::estimate::{Eta, RateEstimator, time_to_transfer};
use super::flow::{Movement, counted_bytes, has_pipe, movement, read_bytes, written_bytes};
use super::kind::{is_rate_limited, kind_of_program, transforms};
use super::pages::DestinationPages;
use super::transfer_file::{TransferFile, holds_about};
use super::view::{TransferState, TransferView};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::interval::io_difference;
use crate::probe::process::closed_files::final_path;
use crate::probe::sample::{ClosedFile, FileKind, OpenFile, ProcessIo, ProcessSample};

/// A finished transfer is shown for this long.
pub(super) const FINISHED_DISPLAY_TIME: Duration = Duration::from_secs(10);
/// Idle at its end for this long, it is finished although the file stays open.
const IDLE_AT_END_TIMEOUT: Duration = Duration::from_secs(10);
/// A pair of files that does not move for this long is no longer a transfer.
const IDLE_TIMEOUT_OF_PAIR: Duration = Duration::from_secs(300);
/// Nor is a process that reads without a position and then stops.
const IDLE_TIMEOUT_WITHOUT_POSITION: Duration = Duration::from_secs(5);
/// Nor is a single file: one that is left open in the middle, such as a pager's.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Intervals of sequential transfer after which the offset is trusted again, and before which a
/// restart shows a program that moves back and forth.
const TRUSTED_INTERVALS: u32 = 3;
/// A writer without a source that seeks this often writes in place.
const MAX_SEEKS_OF_WRITER: u32 = 2;
/// An advance beyond what was read, by this many bytes and a quarter, contains holes: counters and
/// offsets are not read at the same moment.
const HOLE_SLACK: u64 = 1 << 20;
/// What the progress is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressBasis {
    /// The offset of the source, or of the destination where no source is known.
    Position,
    /// The length of the destination: the kernel moves no offset while copy_file_range(2) copies up
    /// to 2 GiB in one call.
    DestinationGrowth,
    /// Only the process's I/O counters.
    IoCounters,
}

/// One transfer.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) source: Option<TransferFile>,
    pub(super) destination: Option<TransferFile>,
    /// Whether its own arguments limit its rate.
    pub(super) is_rate_limited: bool,
    pub(super) bottleneck: BottleneckTracker,
    pub(super) pages: DestinationPages,
    pid: u32,
    command: SafeText,
    dd: Option<DdArguments>,
    basis: ProgressBasis,
    /// Where it is in its file, and where it ends.
    position: Option<u64>,
    size: Option<u64>,
    /// Follows the bytes that are really transferred: without the holes that are skipped.
    estimator: RateEstimator,
    /// Bytes of holes that were skipped so far.
    skipped: u64,
    /// Bytes that the source holds, without holes.
    source_data: Option<u64>,
    last_look: Option<(u64, Option<ProcessIo>)>,
    sequential_intervals: u32,
    seeks: u32,
    /// Whether the destination has its full length before its data.
    is_preallocated: bool,
    /// Whether the destination held about as many bytes as were read; `None` until both were seen.
    is_plain_copy: Option<bool>,
    end: Option<(Duration, TransferState)>,
}

impl Transfer {
    /// Creates a transfer; `process` is the reader, or the writer where no source is known.
    pub(super) fn new(
        process: &ProcessSample,
        source: Option<TransferFile>,
        destination: Option<TransferFile>,
        basis: ProgressBasis,
    ) -> Self {
        let (name, arguments) = process.identity.program();
        Self {
            source,
            destination,
            is_rate_limited: is_rate_limited(name, arguments),
            bottleneck: BottleneckTracker::default(),
            pages: DestinationPages::default(),
            pid: process.identity.pid,
            command: SafeText::from_bytes(name),
            is_plain_copy: transforms(kind_of_program(name, true, true)).then_some(false),
            dd: (name == b"dd").then(|| DdArguments::parse(arguments)),
            basis,
            position: None,
            size: None,
            estimator: RateEstimator::default(),
            skipped: 0,
            source_data: None,
            last_look: None,
            sequential_intervals: 0,
            seeks: 0,
            is_preallocated: false,
            end: None,
        }
    }

    /// Records its position in the sample before its detection; it may not have begun then.
    pub(super) fn observe_first(&mut self, sample: &SystemSample) {
        self.observe(sample);
        self.end = None;
    }

    /// Records its position in a sample.
    pub(super) fn observe(&mut self, sample: &SystemSample) {
        if self.end.is_some() {
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
        self.size = self.end_position(leading);
        if self.source.is_some() && leading.kind == FileKind::Regular {
            self.source_data = Some(leading.allocated_bytes).filter(|bytes| *bytes > 0);
        }
        if let Some(destination) = destination {
            self.detect_preallocation(destination);
        }
        self.follow_movement(leading, sample);
        self.switch_basis(leading, destination);
        self.record_position(leading, destination, sample);
        if let Some(destination) = destination {
            self.recognise_copy(destination, leading.position);
        }
        // A file that stays open at its end is finished after a while.
        let is_at_end = self.size.is_some_and(|size| leading.position >= size);
        let idle = self.estimator.time_without_movement(sample.boot_time);
        if is_at_end && self.basis == ProgressBasis::Position && idle >= IDLE_AT_END_TIMEOUT {
            self.end = Some((sample.boot_time, TransferState::Finished));
        }
    }

    /// Where it is now, and the bytes that it took to come there.
    fn record_position(
        &mut self,
        leading: &OpenFile,
        destination: Option<&OpenFile>,
        sample: &SystemSample,
    ) {
        let (position, bytes) = match self.basis {
            ProgressBasis::Position => {
                let position = leading.position;
                (Some(position), Some(position.saturating_sub(self.skipped)))
            }
            ProgressBasis::DestinationGrowth => {
                let grown = destination.unwrap_or(leading);
                let length = grown.size.unwrap_or(0);
                let (position, bytes) = self.grown_position(length, grown.allocated_bytes);
                (Some(position), Some(bytes))
            }
            ProgressBasis::IoCounters => (None, self.counter_bytes(sample)),
        };
        self.position = position;
        if let Some(bytes) = bytes {
            self.estimator.observe(sample.boot_time, bytes);
        }
    }

    /// Whether one process reads and another one writes.
    fn has_two_processes(&self) -> bool {
        let pid = |end: &Option<TransferFile>| end.as_ref().map(|file| file.process);
        self.destination.is_some() && pid(&self.source) != pid(&self.destination)
    }

    /// The source, or the destination where no source is known.
    fn leader(&self) -> Option<&TransferFile> {
        self.source.as_ref().or(self.destination.as_ref())
    }

    /// Judges by the counters whether the offset moved by a transfer, over a hole, or by a seek.
    fn follow_movement(&mut self, leading: &OpenFile, sample: &SystemSample) {
        let process = self.leader().and_then(|file| file.find_process(sample));
        let io = process.and_then(|process| process.io.value());
        let Some((before, last_io)) = self.last_look.replace((leading.position, io)) else {
            return;
        };
        let delta = last_io
            .zip(io)
            .and_then(|(last, io)| io_difference(&last, &io));
        let is_piped = process.is_some_and(has_pipe);
        let advance = leading.position.saturating_sub(before);
        match movement(
            before,
            leading,
            delta.map(|io| counted_bytes(&io)),
            is_piped,
        ) {
            Movement::Unmoved => {}
            Movement::Sequential(_) => {
                self.sequential_intervals += 1;
                if let Some(read) = delta.map(|io| read_bytes(&io))
                    && self.source.is_some()
                    && !is_piped
                    && advance > read + read / 4 + HOLE_SLACK
                {
                    self.skipped += advance - read;
                }
            }
            Movement::Restarted => {
                if self.sequential_intervals < TRUSTED_INTERVALS {
                    self.distrust_position();
                }
                self.sequential_intervals = 0;
            }
            Movement::Jumped if is_hole(before, leading) => {
                let read = delta.map_or(0, |io| read_bytes(&io));
                self.skipped += advance.saturating_sub(read);
            }
            Movement::Jumped => {
                self.seeks += 1;
                self.sequential_intervals = 0;
                self.distrust_position();
            }
        }
    }

    /// Uses the process's counters instead of an offset that is no progress.
    fn distrust_position(&mut self) {
        if self.basis == ProgressBasis::Position {
            self.basis = ProgressBasis::IoCounters;
            self.estimator = RateEstimator::default();
        }
    }

    /// An offset that moves after all is better than its substitute.
    fn switch_basis(&mut self, leading: &OpenFile, destination: Option<&OpenFile>) {
        let is_lagging = destination.is_some_and(|file| Some(file.position) < file.size);
        let is_better = match self.basis {
            ProgressBasis::Position => false,
            ProgressBasis::IoCounters => self.sequential_intervals >= TRUSTED_INTERVALS,
            ProgressBasis::DestinationGrowth => {
                leading.position > 0 && self.sequential_intervals > 0 && !is_lagging
            }
        };
        if is_better {
            if self.basis == ProgressBasis::IoCounters {
                self.estimator = RateEstimator::default();
            }
            self.basis = ProgressBasis::Position;
        }
    }

    /// Bytes that its process has read, or written where no source is known.
    fn counter_bytes(&self, sample: &SystemSample) -> Option<u64> {
        let io = self.leader()?.find_process(sample)?.io.value()?;
        Some(if self.source.is_some() {
            read_bytes(&io)
        } else {
            written_bytes(&io)
        })
    }

    /// End position: the source's end, unless dd stops before.
    fn end_position(&self, leading: &OpenFile) -> Option<u64> {
        let limits = self.dd.and_then(|dd| dd.limits);
        match (&self.source, limits) {
            (Some(_), Some(dd)) => {
                Some(leading.size.map_or(dd.input_end, |it| it.min(dd.input_end)))
            }
            (Some(_), None) => leading.size,
            (None, Some(dd)) => Some(dd.output_end),
            // A device has an end; a file grows as long as it is written.
            (None, None) if matches!(leading.kind, FileKind::Block(_)) => leading.size,
            (None, None) => None,
        }
    }

    /// Records the end, with a last look at the destination.
    fn finish(&mut self, sample: &SystemSample) {
        let at = sample.boot_time;
        let destination = self.destination.as_ref();
        let closed = destination.and_then(|end| end.find_closed(sample));
        self.end = Some((at, self.final_state(closed, at)));
    }

    fn final_state(&mut self, closed: Option<ClosedFile>, at: Duration) -> TransferState {
        let reached = closed.and_then(|closed| closed.changed_at(at));
        let Some(size) = self.size else {
            if let Some(closed) = closed.filter(|_| self.source.is_none()) {
                self.set_final((closed.size, closed.size), at, reached);
            }
            return TransferState::Closed;
        };
        let is_copy = |closed: &ClosedFile| {
            let is_plain = || {
                let position = self.position;
                position.is_some_and(|position| holds_about(closed.size, position))
            };
            closed.size == size || self.is_plain_copy.unwrap_or_else(is_plain)
        };
        if let Some(closed) = closed.filter(is_copy) {
            let position = self.grown_position(closed.size, closed.allocated_bytes);
            self.set_final(position, at, reached);
            return if position.0 >= size {
                TransferState::Finished
            } else {
                TransferState::Ended
            };
        }
        let total = self.total_bytes();
        if self.position >= Some(size) {
            TransferState::Finished
        } else if total.is_none_or(|total| self.estimator.can_have_reached(at, total)) {
            TransferState::Closed
        } else {
            TransferState::Ended
        }
    }

    fn set_final(
        &mut self,
        (position, bytes): (u64, u64),
        at: Duration,
        reached: Option<Duration>,
    ) {
        self.position = Some(position);
        self.estimator.set_final(at, bytes, reached);
    }

    /// Whether it is active.
    pub(super) fn is_active(&self) -> bool {
        self.end.is_none()
    }

    /// Whether it is shown at this time: while it moves, and for a while afterwards.
    pub(super) fn is_shown(&self, at: Duration) -> bool {
        if let Some((end, _)) = self.end {
            return at.saturating_sub(self.pages.settled_at(end)) < FINISHED_DISPLAY_TIME;
        }
        let timeout = if self.basis == ProgressBasis::IoCounters {
            IDLE_TIMEOUT_WITHOUT_POSITION
        } else if self.source.is_some() && self.destination.is_some() {
            IDLE_TIMEOUT_OF_PAIR
        } else {
            IDLE_TIMEOUT
        };
        let writes_in_place = self.source.is_none() && self.seeks >= MAX_SEEKS_OF_WRITER;
        self.estimator.time_without_movement(at) < timeout && !writes_in_place
    }

    /// Whether it has no file any more.
    pub(super) fn is_orphan(&self) -> bool {
        self.leader().is_none()
    }

    /// Remaining bytes, for sorting.
    pub(super) fn remaining_bytes(&self) -> u64 {
        let remaining = self.size.zip(self.position);
        remaining.map_or(0, |(size, position)| size.saturating_sub(position))
    }

    fn state(&self, at: Duration) -> TransferState {
        if let Some((_, state)) = self.end {
            return state;
        }
        // Its last bytes are in flight: no progress is normal.
        let is_complete = self.size.is_some() && self.position >= self.size;
        if is_complete {
            TransferState::Moving
        } else if self.estimator.is_stalled(at) {
            TransferState::Stalled
        } else if self.basis == ProgressBasis::IoCounters {
            TransferState::UnknownPosition
        } else {
            TransferState::Moving
        }
    }

    /// What is shown of it, without what its devices tell.
    pub(super) fn view(&self, at: Duration) -> TransferView {
        let state = self.state(at);
        let reads = self.source.is_some();
        let mut view = TransferView {
            pid: Some(self.pid),
            kind: kind_of_program(self.command.as_bytes(), reads, self.destination.is_some()),
            command: self.command.clone(),
            source: self
                .source
                .as_ref()
                .map(|it| SafeText::from_bytes(&it.path)),
            destination: self
                .destination
                .as_ref()
                .map(|it| SafeText::from_bytes(&final_path(&it.path))),
            position_bytes: self.position,
            size_bytes: self.size,
            rate_bytes_per_s: self.estimator.displayed_rate(state),
            interval_rate_bytes_per_s: self.estimator.interval_rate(state),
            state,
            ..TransferView::default()
        };
        if let (TransferState::Moving, Some(total)) = (state, self.total_bytes()) {
            self.estimator.eta(at, total).show_in(&mut view);
        }
        view
    }

    /// Adds the flush that dd waits for at its end (`conv=fsync`) to the time left: what is in memory and
    /// what is still to be copied is written at the speed of the device.
    pub(super) fn add_flush(&self, view: &mut TransferView, write_speed: Option<f64>) {
        let (Some(held), Some(total), Some(speed)) =
            (view.not_on_disk_bytes, self.total_bytes(), write_speed)
        else {
            return;
        };
        if view.state != TransferState::Moving || !self.dd.is_some_and(|dd| dd.flushes_at_end) {
            return;
        }
        let copied = self.estimator.last_value().unwrap_or(0);
        let unwritten = held.saturating_add(total.saturating_sub(copied));
        let Some(flush) = time_to_transfer(unwritten, speed) else {
            return;
        };
        let eta = match view.eta {
            Some(_) => Eta {
                likely: view.eta,
                low: view.eta_low,
                high: view.eta_high,
            },
            // Everything is copied, and the flush runs.
            None if view.position_bytes >= view.size_bytes => Eta::exactly(flush),
            None => return,
        };
        eta.at_least(flush).show_in(view);
    }
}

/// Whether the bytes between a position and the file's present one can be a hole, which programs skip.
fn is_hole(before: u64, file: &OpenFile) -> bool {
    let (Some(size), Some(skipped)) = (file.size, file.position.checked_sub(before)) else {
        return false;
    };
    file.kind == FileKind::Regular
        && file.position < size
        && skipped <= size.saturating_sub(file.allocated_bytes)
}
