//! What is kept of one process between samples.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::descriptors::Descriptors;
use super::handle::{Budget, Handle};
use super::sample::{Identity, Known, OpenFile, Process, ProcessIo};
use crate::roots::Roots;

/// A process that has moved less than this since the last sample is not looked at more closely.
const MOVED_BYTES: u64 = 4096;
/// A process that began between two samples and has moved less than this neither.
const BEGAN_WITH_BYTES: u64 = 64 * 1024;
/// What is kept of one process.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) process: Process,
    pub(super) io: Handle,
    pub(super) stat: Handle,
    pub(super) descriptors: Option<Descriptors>,
    pub(super) age: u32,
    /// At which age facts that seldom change are read again.
    pub(super) due: u32,
    /// Samples since it moved anything.
    pub(super) still: u32,
    /// Whether it deserves a closer look in this sample.
    pub(super) attended: bool,
    /// Whether somebody may want to know who it is: it did something, or hangs.
    pub(super) wanted: bool,
    /// Whether arguments and owner were read.
    pub(super) identified: bool,
}

impl Entry {
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            process: Process {
                identity: Arc::new(identity),
                ..Process::default()
            },
            io: Handle::NotOpen,
            stat: Handle::NotOpen,
            descriptors: None,
            age: 0,
            due: 0,
            still: 0,
            attended: false,
            wanted: false,
            identified: false,
        }
    }

    /// Whether it has moved bytes worth a closer look since `before`.
    pub(super) fn has_moved(&self, before: Known<ProcessIo>, first_sample: bool) -> bool {
        let total = |io: ProcessIo| {
            io.asked_read
                .wrapping_add(io.asked_write)
                .wrapping_add(io.read)
                .wrapping_add(io.written)
        };
        match (before.value(), self.process.io.value()) {
            (Some(before), Some(now)) => total(now).wrapping_sub(total(before)) >= MOVED_BYTES,
            // At the first sample of all nobody knows who is active.
            (None, Some(now)) => !first_sample && self.age == 0 && total(now) >= BEGAN_WITH_BYTES,
            _ => false,
        }
    }

    /// Bytes that it has read from or written to devices since `before`.
    pub(super) fn charged_since(&self, before: Known<ProcessIo>) -> u64 {
        let total = |io: ProcessIo| io.read.saturating_add(io.written);
        let now = self.process.io.value().map_or(0, total);
        now.saturating_sub(before.value().map_or(0, total))
    }

    /// Looks at what it has open, if it moves or is being followed.
    pub(super) fn look(&mut self, proc: BorrowedFd<'_>, pid: u32, moved: bool, roots: &Roots) {
        if moved {
            if self.descriptors.is_none() {
                self.descriptors = Descriptors::open(proc, pid);
            }
            if let Some(descriptors) = &mut self.descriptors {
                descriptors.look(roots);
            }
        } else {
            let _ = self
                .descriptors
                .take_if(|descriptors| !descriptors.rest(roots));
        }
        self.process.files = self
            .descriptors
            .as_ref()
            .map_or_else(Arc::<[OpenFile]>::default, Descriptors::files);
    }

    pub(super) fn close(&mut self, budget: &mut Budget) {
        self.io.refuse(budget);
        self.stat.refuse(budget);
        self.descriptors = None;
    }
}
