//! A tracked transfer.

use std::sync::Arc;
use std::time::Duration;

use crate::model::file_locations::{FileLocation, location_of};
use crate::model::interval::open_file;
use crate::model::snapshot::{TransferState, TransferView};
use crate::probe::SystemSample;
use crate::probe::sample::{FileKind, OpenFile, ProcessSample};
use crate::safe_text::SafeText;

use super::dd;
use super::estimate::{Eta, RateEstimator};
use super::flow::FileFlow;
use super::limits;
use super::pairing::final_path;

/// A finished transfer is shown for this long.
pub(super) const FINISHED_DISPLAY_TIME: Duration = Duration::from_secs(10);
/// Idle at its end for this long, it is finished although the file stays open.
const IDLE_AT_END_TIMEOUT: Duration = Duration::from_secs(10);

/// An open file of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferFile {
    pid: u32,
    start_ticks: u64,
    descriptor: u32,
    location: FileLocation,
    inode: ((u32, u32), u64),
    path: Arc<[u8]>,
}

impl TransferFile {
    /// The file as a process has it open.
    #[must_use]
    pub fn new(process: &ProcessSample, file: &OpenFile) -> Self {
        Self {
            pid: process.identity.pid,
            start_ticks: process.identity.start_ticks,
            descriptor: file.descriptor,
            location: location_of(file),
            inode: file.inode,
            path: Arc::clone(&file.path),
        }
    }

    /// Whether this is the file of this process.
    #[must_use]
    pub fn is_file_of(&self, process: &ProcessSample, file: &OpenFile) -> bool {
        self.is_held_by(process) && self.descriptor == file.descriptor && self.inode == file.inode
    }

    /// Whether this process has it open.
    #[must_use]
    pub fn is_held_by(&self, process: &ProcessSample) -> bool {
        self.pid == process.identity.pid && self.start_ticks == process.identity.start_ticks
    }

    /// The location of the file.
    #[must_use]
    pub fn location(&self) -> FileLocation {
        self.location
    }

    fn find_process<'s>(&self, sample: &'s SystemSample) -> Option<&'s ProcessSample> {
        let found = sample
            .processes
            .binary_search_by_key(&self.pid, |process| process.identity.pid)
            .ok()?;
        let process = &sample.processes[found];
        (process.identity.start_ticks == self.start_ticks).then_some(process)
    }

    fn find_open_file<'s>(&self, sample: &'s SystemSample) -> Option<&'s OpenFile> {
        open_file(self.find_process(sample)?, self.descriptor, self.inode)
    }
}

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

/// One transfer.
#[derive(Debug)]
pub struct Transfer {
    /// Source file.
    pub source: Option<TransferFile>,
    /// Destination file.
    pub destination: Option<TransferFile>,
    /// Whether its own arguments limit its rate.
    pub is_rate_limited: bool,
    pid: u32,
    command: SafeText,
    progress_basis: ProgressBasis,
    expected_size: Option<u64>,
    dd_limits: Option<dd::DdLimits>,
    estimator: RateEstimator,
    finished_at: Option<Duration>,
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
        let dd = (identity.name == b"dd")
            .then(|| dd::dd_limits(&identity.arguments))
            .flatten();
        Self {
            source,
            destination,
            is_rate_limited: limits::is_rate_limited(&identity.name, &identity.arguments),
            pid: identity.pid,
            command: SafeText::from_bytes(&identity.name),
            progress_basis: basis,
            expected_size: None,
            dd_limits: dd,
            estimator: RateEstimator::default(),
            finished_at: None,
        }
    }

    /// Records its position in the sample before its detection; it may not have begun then.
    pub fn observe_first(&mut self, sample: &SystemSample) {
        self.observe(sample);
        self.finished_at = None;
    }

    /// Records its position in a sample.
    pub fn observe(&mut self, sample: &SystemSample) {
        if self.finished_at.is_some() {
            return;
        }
        let source = self.source.as_ref().map(|end| end.find_open_file(sample));
        let destination = self
            .destination
            .as_ref()
            .map(|end| end.find_open_file(sample));
        let leading = source.or(destination).flatten();
        let Some(leading) = leading else {
            self.finished_at = Some(sample.boot_time);
            return;
        };
        self.expected_size = self.end_position(leading);
        let destination = destination.flatten();
        self.switch_basis(leading, destination);
        let position = match self.progress_basis {
            ProgressBasis::Position => Some(leading.position),
            ProgressBasis::DestinationGrowth => Some(
                leading
                    .position
                    .max(self.destination_bytes(destination.unwrap_or(leading))),
            ),
            ProgressBasis::IoCounters => self.counter_bytes(sample),
        };
        if let Some(position) = position {
            self.estimator.observe_position(sample.boot_time, position);
        }
        let at_end = self
            .expected_size
            .is_some_and(|size| leading.position >= size);
        if at_end && self.estimator.time_without_movement(sample.boot_time) >= IDLE_AT_END_TIMEOUT {
            self.finished_at = Some(sample.boot_time);
        }
    }

    /// An offset that moves after all is better than its substitute.
    fn switch_basis(&mut self, leading: &OpenFile, destination: Option<&OpenFile>) {
        let lagging = destination.is_some_and(|file| Some(file.position) < file.size);
        let better = match self.progress_basis {
            ProgressBasis::Position => false,
            ProgressBasis::IoCounters => leading.position > 0,
            ProgressBasis::DestinationGrowth => leading.position > 0 && !lagging,
        };
        if better {
            if self.progress_basis == ProgressBasis::IoCounters {
                self.estimator = RateEstimator::default();
            }
            self.progress_basis = ProgressBasis::Position;
        }
    }

    /// Bytes present in the destination. A file with its full length from the start is measured by
    /// its allocated size.
    fn destination_bytes(&self, destination: &OpenFile) -> u64 {
        let length = destination.size.unwrap_or(0);
        match self.expected_size {
            Some(size) if length >= size => destination.allocated_bytes.min(size),
            _ => length,
        }
    }

    fn counter_bytes(&self, sample: &SystemSample) -> Option<u64> {
        let io = self.source.as_ref()?.find_process(sample)?.io.value()?;
        Some(io.read_bytes.max(io.rchar))
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

    /// Whether it includes this file of this process.
    #[must_use]
    pub fn involves(&self, process: &ProcessSample, flow: &FileFlow<'_>) -> bool {
        [&self.source, &self.destination]
            .into_iter()
            .flatten()
            .any(|end| end.is_file_of(process, flow.file))
    }

    /// Whether it is active.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.finished_at.is_none()
    }

    /// Time since it finished.
    #[must_use]
    pub fn time_since_finish(&self, at: Duration) -> Option<Duration> {
        self.finished_at.map(|finished| at.saturating_sub(finished))
    }

    /// Time without any progress.
    #[must_use]
    pub fn time_without_movement(&self, at: Duration) -> Duration {
        self.estimator.time_without_movement(at)
    }

    /// Remaining bytes, for sorting.
    #[must_use]
    pub fn remaining_bytes(&self) -> u64 {
        match (self.expected_size, self.estimator.last_position()) {
            (Some(size), Some(position)) => size.saturating_sub(position),
            _ => 0,
        }
    }

    /// View of the transfer.
    #[must_use]
    pub fn transfer_view(&self, at: Duration) -> TransferView {
        let state = self.state(at);
        let eta = match (state, self.progress_basis, self.expected_size) {
            (
                TransferState::Moving,
                ProgressBasis::Position | ProgressBasis::DestinationGrowth,
                Some(size),
            ) => self.estimator.eta(at, size),
            _ => Eta::default(),
        };
        let positioned = self.progress_basis != ProgressBasis::IoCounters;
        TransferView {
            pid: self.pid,
            command: self.command.clone(),
            source: self
                .source
                .as_ref()
                .map(|end| SafeText::from_bytes(&end.path)),
            destination: self
                .destination
                .as_ref()
                .map(|end| SafeText::from_bytes(&final_path(&end.path))),
            position_bytes: self.estimator.last_position().filter(|_| positioned),
            size_bytes: self.expected_size,
            rate_bytes_per_s: self.estimator.displayed_rate(state),
            eta: eta.likely,
            eta_low: eta.low,
            eta_high: eta.high,
            state,
            ..TransferView::default()
        }
    }

    fn state(&self, at: Duration) -> TransferState {
        if self.finished_at.is_some() {
            return TransferState::Finished;
        }
        let complete = self.expected_size.is_some() && self.remaining_bytes() == 0;
        match self.progress_basis {
            // Its last bytes are in flight: no progress is normal.
            _ if complete => TransferState::Moving,
            _ if self.estimator.is_stalled(at) => TransferState::Stalled,
            ProgressBasis::IoCounters => TransferState::UnknownPosition,
            ProgressBasis::Position | ProgressBasis::DestinationGrowth => TransferState::Moving,
        }
    }
}
