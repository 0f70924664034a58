//! A tracked transfer.

mod destination;
mod view;

use std::time::Duration;

use super::bottleneck::BottleneckTracker;
use super::dd;
use super::destination_pages::DestinationPages;
use super::estimate::RateEstimator;
use super::flow::has_pipe;
use super::limits;
use super::movement::{Movement, counted_bytes, movement, read_bytes, written_bytes};
use super::transfer_file::TransferFile;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::sample::{ClosedFile, FileKind, OpenFile, ProcessIo, ProcessSample};
use crate::snapshot::interval::io_difference;
use crate::snapshot::view::TransferState;

/// A finished transfer is shown for this long.
pub(super) const FINISHED_DISPLAY_TIME: Duration = Duration::from_secs(10);
/// Idle at its end for this long, it is finished although the file stays open.
const IDLE_AT_END_TIMEOUT: Duration = Duration::from_secs(10);

/// What the progress is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressBasis {
    /// The offset of the source, or of the destination where no source is known.
    Position,
    /// The length of the destination: the kernel moves no offset while copy_file_range(2) copies up
    /// to 2 GiB in one call.
    DestinationGrowth,
    /// Only the process's I/O counters.
    IoCounters,
}

/// Intervals of sequential transfer after which the offset is trusted again, and before which a
/// restart shows a program that moves back and forth.
const TRUSTED_INTERVALS: u32 = 3;
/// A writer without a source that seeks this often writes in place.
const MAX_SEEKS_OF_WRITER: u32 = 2;
/// Offset and counters as of the last look.
#[derive(Debug, Clone, Copy)]
struct LastLook {
    position: u64,
    io: Option<ProcessIo>,
}

/// How a transfer is over.
#[derive(Debug, Clone, Copy)]
struct TransferEnd {
    at: Duration,
    state: TransferState,
}

/// One transfer.
#[derive(Debug)]
pub struct Transfer {
    /// Source file.
    pub source: Option<TransferFile>,
    /// Destination file.
    pub destination: Option<TransferFile>,
    /// Whether its own arguments limit its rate.
    pub is_rate_limited: bool,
    /// Follows its bottleneck.
    pub(super) bottleneck: BottleneckTracker,
    /// Follows the pages of its destination.
    pub(super) pages: DestinationPages,
    pid: u32,
    command: SafeText,
    progress_basis: ProgressBasis,
    expected_size: Option<u64>,
    dd_limits: Option<dd::DdLimits>,
    estimator: RateEstimator,
    last_look: Option<LastLook>,
    sequential_intervals: u32,
    seeks: u32,
    /// Bytes that the source holds, without holes.
    source_data_bytes: Option<u64>,
    /// Whether the destination has its full length before its data.
    is_preallocated: bool,
    /// Whether the destination held about as many bytes as were read; `None` until both were seen.
    is_plain_copy: Option<bool>,
    end: Option<TransferEnd>,
}

impl Transfer {
    /// Creates a transfer; `process` is the reader, or the writer where no source is known.
    #[must_use]
    pub fn new(
        process: &ProcessSample,
        source: Option<TransferFile>,
        destination: Option<TransferFile>,
        basis: ProgressBasis,
    ) -> Self {
        let identity = &process.identity;
        let (name, arguments) = identity.program();
        let dd = (name == b"dd").then(|| dd::dd_limits(arguments)).flatten();
        Self {
            source,
            destination,
            is_rate_limited: limits::is_rate_limited(name, arguments),
            bottleneck: BottleneckTracker::default(),
            pages: DestinationPages::default(),
            pid: identity.pid,
            command: SafeText::from_bytes(name),
            progress_basis: basis,
            expected_size: None,
            dd_limits: dd,
            estimator: RateEstimator::default(),
            last_look: None,
            sequential_intervals: 0,
            seeks: 0,
            source_data_bytes: None,
            is_preallocated: false,
            is_plain_copy: None,
            end: None,
        }
    }

    /// Records its position in the sample before its detection; it may not have begun then.
    pub fn observe_first(&mut self, sample: &SystemSample) {
        self.observe(sample);
        self.end = None;
    }

    /// Records its position in a sample.
    pub fn observe(&mut self, sample: &SystemSample) {
        if self.end.is_some() {
            return;
        }
        let source = self.source.as_ref().map(|end| end.find_open_file(sample));
        let destination = self
            .destination
            .as_ref()
            .map(|end| end.find_open_file(sample));
        let Some(leading) = source.or(destination).flatten() else {
            // The writer of a pipeline has not received everything yet.
            if destination.flatten().is_none() || !self.has_two_processes() {
                self.finish(sample);
            }
            return;
        };
        self.expected_size = self.end_position(leading);
        if source.is_some() && leading.kind == FileKind::Regular {
            self.source_data_bytes = Some(leading.allocated_bytes);
        }
        let destination = destination.flatten();
        if let Some(destination) = destination {
            self.detect_preallocation(destination);
        }
        self.follow_movement(leading, sample);
        self.switch_basis(leading, destination);
        let position = match self.progress_basis {
            ProgressBasis::Position => Some(leading.position),
            ProgressBasis::DestinationGrowth => {
                let grown = destination.unwrap_or(leading);
                Some(self.grown_position(grown.size.unwrap_or(0), grown.allocated_bytes))
            }
            ProgressBasis::IoCounters => self.counter_bytes(sample),
        };
        if let Some(position) = position {
            self.estimator.observe_position(sample.boot_time, position);
        }
        if let Some(file) = destination {
            self.recognise_copy(file, leading.position);
        }
        self.finish_at_end(leading, sample.boot_time);
    }

    /// Whether one process reads and another one writes.
    fn has_two_processes(&self) -> bool {
        let pid = |end: &Option<TransferFile>| end.as_ref().map(TransferFile::pid);
        self.destination.is_some() && pid(&self.source) != pid(&self.destination)
    }

    /// A file that stays open at its end is finished after a while.
    fn finish_at_end(&mut self, leading: &OpenFile, at: Duration) {
        let at_end = self.progress_basis == ProgressBasis::Position
            && self
                .expected_size
                .is_some_and(|size| leading.position >= size);
        if at_end && self.estimator.time_without_movement(at) >= IDLE_AT_END_TIMEOUT {
            self.end = Some(TransferEnd {
                at,
                state: TransferState::Finished,
            });
        }
    }

    /// Judges by the counters whether the offset moved by a transfer or by a seek.
    fn follow_movement(&mut self, leading: &OpenFile, sample: &SystemSample) {
        let process = self
            .source
            .as_ref()
            .or(self.destination.as_ref())
            .and_then(|end| end.find_process(sample));
        let io = process.and_then(|process| process.io.value());
        let look = LastLook {
            position: leading.position,
            io,
        };
        let Some(last) = self.last_look.replace(look) else {
            return;
        };
        let counted = last
            .io
            .zip(io)
            .and_then(|(before, now)| Some(counted_bytes(&io_difference(&before, &now)?)));
        let piped = process.is_some_and(has_pipe);
        match movement(last.position, leading, counted, piped) {
            Movement::Unmoved => {}
            Movement::Sequential(_) => self.sequential_intervals += 1,
            Movement::Restarted => {
                if self.sequential_intervals < TRUSTED_INTERVALS {
                    self.distrust_position();
                }
                self.sequential_intervals = 0;
            }
            Movement::Jumped if is_hole(last.position, leading) => {
                if self.progress_basis == ProgressBasis::Position {
                    self.estimator.skip_to(sample.boot_time, leading.position);
                }
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
        if self.progress_basis == ProgressBasis::Position {
            self.progress_basis = ProgressBasis::IoCounters;
            self.estimator = RateEstimator::default();
        }
    }

    /// Whether its position is known.
    #[must_use]
    pub fn has_position(&self) -> bool {
        self.progress_basis != ProgressBasis::IoCounters
    }

    /// Whether it writes in place: without a source, and seeking.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.source.is_none() && self.seeks >= MAX_SEEKS_OF_WRITER
    }

    /// Records the end, with a last look at the destination.
    fn finish(&mut self, sample: &SystemSample) {
        let closed = self
            .destination
            .as_ref()
            .and_then(|end| end.find_closed(sample));
        self.end = Some(TransferEnd {
            at: sample.boot_time,
            state: self.final_state(closed, sample.boot_time),
        });
    }

    fn final_state(&mut self, closed: Option<ClosedFile>, at: Duration) -> TransferState {
        let Some(size) = self.expected_size else {
            if let Some(closed) = closed.filter(|_| self.source.is_none()) {
                let reached = closed.changed_at(at);
                self.estimator.set_final_position(at, closed.size, reached);
            }
            return TransferState::Closed;
        };
        if let Some(closed) = closed
            && (closed.size == size || self.is_copied_to(closed))
        {
            let position = self.grown_position(closed.size, closed.allocated_bytes);
            let reached = closed.changed_at(at);
            self.estimator.set_final_position(at, position, reached);
            return match self.remaining_bytes() {
                0 => TransferState::Finished,
                _ => TransferState::Ended,
            };
        }
        if self.progress_basis == ProgressBasis::IoCounters {
            TransferState::Closed
        } else if self.remaining_bytes() == 0 {
            TransferState::Finished
        } else if self.estimator.can_have_reached(at, size) {
            TransferState::Closed
        } else {
            TransferState::Ended
        }
    }

    /// An offset that moves after all is better than its substitute.
    fn switch_basis(&mut self, leading: &OpenFile, destination: Option<&OpenFile>) {
        let lagging = destination.is_some_and(|file| Some(file.position) < file.size);
        let better = match self.progress_basis {
            ProgressBasis::Position => false,
            ProgressBasis::IoCounters => self.sequential_intervals >= TRUSTED_INTERVALS,
            ProgressBasis::DestinationGrowth => {
                leading.position > 0 && self.sequential_intervals > 0 && !lagging
            }
        };
        if better {
            if self.progress_basis == ProgressBasis::IoCounters {
                self.estimator = RateEstimator::default();
            }
            self.progress_basis = ProgressBasis::Position;
        }
    }

    /// Bytes that its process has read, or written where no source is known.
    fn counter_bytes(&self, sample: &SystemSample) -> Option<u64> {
        let end = self.source.as_ref().or(self.destination.as_ref())?;
        let io = end.find_process(sample)?.io.value()?;
        Some(if self.source.is_some() {
            read_bytes(&io)
        } else {
            written_bytes(&io)
        })
    }

    /// End position: the source's end, unless dd stops before.
    fn end_position(&self, leading: &OpenFile) -> Option<u64> {
        match (&self.source, self.dd_limits) {
            (Some(_), Some(dd)) => Some(
                leading
                    .size
                    .map_or(dd.input_end, |size| size.min(dd.input_end)),
            ),
            (Some(_), None) => leading.size,
            (None, Some(dd)) => Some(dd.output_end),
            // A device has an end; a file grows as long as it is written.
            (None, None) if matches!(leading.kind, FileKind::Block(_)) => leading.size,
            (None, None) => None,
        }
    }

    /// Whether it is active.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.end.is_none()
    }

    /// Time since it finished.
    #[must_use]
    pub fn time_since_finish(&self, at: Duration) -> Option<Duration> {
        self.end.map(|end| at.saturating_sub(end.at))
    }

    /// Time without any progress.
    #[must_use]
    pub fn time_without_movement(&self, at: Duration) -> Duration {
        self.estimator.time_without_movement(at)
    }
}

/// Whether the bytes between a position and the file's present one can be a hole, which programs skip.
fn is_hole(before: u64, file: &OpenFile) -> bool {
    file.kind == FileKind::Regular
        && file.size.is_some_and(|size| {
            file.position < size
                && file
                    .position
                    .checked_sub(before)
                    .is_some_and(|skipped| skipped <= size.saturating_sub(file.allocated_bytes))
        })
}
