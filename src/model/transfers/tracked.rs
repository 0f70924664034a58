//! One transfer that is being followed.

use std::sync::Arc;
use std::time::Duration;

use crate::model::interval::open_file;
use crate::model::live::{TransferState, TransferView};
use crate::model::places::{Place, place_of};
use crate::probe::Sample;
use crate::probe::sample::{FileKind, OpenFile, Process};
use crate::safe_text::SafeText;

use super::dd;
use super::estimate::{Estimate, Left};
use super::flow::Flow;
use super::limits;
use super::pairing::final_path;

/// At its end and still for so long, it is done although the file stays open.
const DONE_AFTER: Duration = Duration::from_secs(10);

/// A file in the hands of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pid: u32,
    start_ticks: u64,
    descriptor: u32,
    place: Place,
    inode: ((u32, u32), u64),
    path: Arc<[u8]>,
}

impl End {
    /// The file as a process has it open.
    #[must_use]
    pub fn new(process: &Process, file: &OpenFile) -> Self {
        Self {
            pid: process.identity.pid,
            start_ticks: process.identity.start_ticks,
            descriptor: file.descriptor,
            place: place_of(file),
            inode: file.inode,
            path: Arc::clone(&file.path),
        }
    }

    /// Whether it is this file in the hands of this process.
    #[must_use]
    pub fn is(&self, process: &Process, file: &OpenFile) -> bool {
        self.is_of(process) && self.descriptor == file.descriptor && self.inode == file.inode
    }

    /// Whether this process holds it.
    #[must_use]
    pub fn is_of(&self, process: &Process) -> bool {
        self.pid == process.identity.pid && self.start_ticks == process.identity.start_ticks
    }

    /// Where the file lies.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    fn process<'s>(&self, sample: &'s Sample) -> Option<&'s Process> {
        let found = sample
            .processes
            .binary_search_by_key(&self.pid, |process| process.identity.pid)
            .ok()?;
        let process = &sample.processes[found];
        (process.identity.start_ticks == self.start_ticks).then_some(process)
    }

    fn find<'s>(&self, sample: &'s Sample) -> Option<&'s OpenFile> {
        open_file(self.process(sample)?, self.descriptor, self.inode)
    }
}

/// What tells how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The position of the source, or of the destination where no source is known.
    Position,
    /// The length of the destination: the kernel moves no position while copy_file_range(2)
    /// copies up to 2 GiB in one call.
    Growth,
    /// Only the process's counters move.
    Counters,
}

/// One transfer.
#[derive(Debug)]
pub struct Tracked {
    /// Where the bytes come from.
    pub source: Option<End>,
    /// Where they go.
    pub destination: Option<End>,
    /// Whether its own arguments limit its rate.
    pub limited: bool,
    pid: u32,
    command: SafeText,
    basis: Basis,
    size: Option<u64>,
    dd: Option<dd::Limits>,
    estimate: Estimate,
    finished: Option<Duration>,
}

impl Tracked {
    /// A transfer that was not known before; `process` is the one that reads, or writes where no
    /// source is known.
    #[must_use]
    pub fn new(
        process: &Process,
        source: Option<End>,
        destination: Option<End>,
        basis: Basis,
    ) -> Self {
        let identity = &process.identity;
        let dd = (identity.name == b"dd")
            .then(|| dd::limits(&identity.arguments))
            .flatten();
        Self {
            source,
            destination,
            limited: limits::is_limited(&identity.name, &identity.arguments),
            pid: identity.pid,
            command: SafeText::of_bytes(&identity.name),
            basis,
            size: None,
            dd,
            estimate: Estimate::default(),
            finished: None,
        }
    }

    /// Takes note of where it stood in the sample before it was found; it may not have begun then.
    pub fn observe_first(&mut self, sample: &Sample) {
        self.observe(sample);
        self.finished = None;
    }

    /// Takes note of where it stands in a sample.
    pub fn observe(&mut self, sample: &Sample) {
        if self.finished.is_some() {
            return;
        }
        let source = self.source.as_ref().map(|end| end.find(sample));
        let destination = self.destination.as_ref().map(|end| end.find(sample));
        let leading = source.or(destination).flatten();
        let Some(leading) = leading else {
            self.finished = Some(sample.at);
            return;
        };
        self.size = self.limit(leading);
        let destination = destination.flatten();
        self.switch_basis(leading, destination);
        let position = match self.basis {
            Basis::Position => Some(leading.position),
            Basis::Growth => Some(
                leading
                    .position
                    .max(self.growth(destination.unwrap_or(leading))),
            ),
            Basis::Counters => self.counters(sample),
        };
        if let Some(position) = position {
            self.estimate.observe(sample.at, position);
        }
        let at_end = self.size.is_some_and(|size| leading.position >= size);
        if at_end && self.estimate.still_for(sample.at) >= DONE_AFTER {
            self.finished = Some(sample.at);
        }
    }

    /// A position that moves after all is better than what was taken in its place.
    fn switch_basis(&mut self, leading: &OpenFile, destination: Option<&OpenFile>) {
        let lagging = destination.is_some_and(|file| Some(file.position) < file.size);
        let better = match self.basis {
            Basis::Position => false,
            Basis::Counters => leading.position > 0,
            Basis::Growth => leading.position > 0 && !lagging,
        };
        if better {
            if self.basis == Basis::Counters {
                self.estimate = Estimate::default();
            }
            self.basis = Basis::Position;
        }
    }

    /// How much of the destination is there. One that had its full length from the beginning is
    /// judged by what has a place on the medium.
    fn growth(&self, destination: &OpenFile) -> u64 {
        let length = destination.size.unwrap_or(0);
        match self.size {
            Some(size) if length >= size => destination.allocated.min(size),
            _ => length,
        }
    }

    fn counters(&self, sample: &Sample) -> Option<u64> {
        let io = self.source.as_ref()?.process(sample)?.io.value()?;
        Some(io.read.max(io.asked_read))
    }

    /// Where it will end: at the source's end, unless dd was told to stop before.
    fn limit(&self, leading: &OpenFile) -> Option<u64> {
        match (&self.source, self.dd) {
            (Some(_), Some(dd)) => Some(
                leading
                    .size
                    .map_or(dd.input_end, |size| size.min(dd.input_end)),
            ),
            (Some(_), None) => leading.size,
            (None, Some(dd)) => Some(dd.output_end),
            // A device ends; a file grows for as long as it is written to.
            (None, None) if matches!(leading.kind, FileKind::Block(_)) => leading.size,
            (None, None) => None,
        }
    }

    /// Whether it involves this file of this process.
    #[must_use]
    pub fn involves(&self, process: &Process, flow: &Flow<'_>) -> bool {
        [&self.source, &self.destination]
            .into_iter()
            .flatten()
            .any(|end| end.is(process, flow.file))
    }

    /// Whether it goes on.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.finished.is_none()
    }

    /// For how long it has been over.
    #[must_use]
    pub fn finished_for(&self, at: Duration) -> Option<Duration> {
        self.finished.map(|finished| at.saturating_sub(finished))
    }

    /// For how long nothing has moved.
    #[must_use]
    pub fn still_for(&self, at: Duration) -> Duration {
        self.estimate.still_for(at)
    }

    /// Bytes to go, for sorting.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        match (self.size, self.estimate.position()) {
            (Some(size), Some(position)) => size.saturating_sub(position),
            _ => 0,
        }
    }

    /// What is shown of it.
    #[must_use]
    pub fn view(&self, at: Duration) -> TransferView {
        let state = self.state(at);
        let left = match (state, self.basis, self.size) {
            (TransferState::Moving, Basis::Position | Basis::Growth, Some(size)) => {
                self.estimate.left(at, size)
            }
            _ => Left::default(),
        };
        let positioned = self.basis != Basis::Counters;
        TransferView {
            pid: self.pid,
            command: self.command.clone(),
            source: self
                .source
                .as_ref()
                .map(|end| SafeText::of_bytes(&end.path)),
            destination: self
                .destination
                .as_ref()
                .map(|end| SafeText::of_bytes(&final_path(&end.path))),
            position_bytes: self.estimate.position().filter(|_| positioned),
            size_bytes: self.size,
            rate_bytes_per_s: self.estimate.shown(state),
            eta: left.likely,
            eta_low: left.low,
            eta_high: left.high,
            state,
            ..TransferView::default()
        }
    }

    fn state(&self, at: Duration) -> TransferState {
        if self.finished.is_some() {
            return TransferState::Finished;
        }
        let complete = self.size.is_some() && self.remaining() == 0;
        match self.basis {
            // Its last bytes are on their way: not moving is no trouble.
            _ if complete => TransferState::Moving,
            _ if self.estimate.is_stalled(at) => TransferState::Stalled,
            Basis::Counters => TransferState::NoPosition,
            Basis::Position | Basis::Growth => TransferState::Moving,
        }
    }
}
