//! State that is kept per process between samples.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::descriptors::ProcessDescriptors;
use super::reused_file::{DescriptorBudget, ReusedFile};
use crate::probe::process::mappings::{self, MappedFiles};
use crate::probe::sample::{
    Availability, FileKind, OpenFile, ProcessIdentity, ProcessIo, ProcessSample,
};
use crate::roots::SysPaths;

/// A process with fewer bytes since the last sample is not examined further.
const MIN_ACTIVE_BYTES: u64 = 4096;
/// A process that began between two samples and has fewer bytes is not examined either.
const MIN_NEW_PROCESS_BYTES: u64 = 64 * 1024;
/// State of one process.
#[derive(Debug)]
pub(crate) struct ProcessEntry {
    pub(crate) process: ProcessSample,
    pub(crate) io: ReusedFile,
    pub(crate) stat: ReusedFile,
    pub(crate) descriptors: Option<ProcessDescriptors>,
    pub(crate) mapped_files: MappedFiles,
    /// Its process group, as of the last time that its state was read.
    pub(crate) process_group: u32,
    /// Whether it transferred something in this sample.
    pub(crate) is_active: bool,
    /// Page faults of its ended children, as of the last reading.
    pub(crate) reaped_faults: u64,
    /// Whether children have ended since the I/O of its ended children was read.
    pub(crate) ended_changed: bool,
    /// Whether a child may have ended between the last readings of its counters and of its page
    /// faults.
    pub(crate) recheck_ended: bool,
    pub(crate) age_samples: u32,
    /// Age at which facts that rarely change are read again.
    pub(crate) facts_due_age: u32,
    /// Samples since its last I/O.
    pub(crate) idle_samples: u32,
    /// Whether it is examined further in this sample.
    pub(crate) needs_details: bool,
    /// Whether its identity is needed: it did I/O, or is blocked.
    pub(crate) needs_identity: bool,
    /// Whether arguments and owner were read.
    pub(crate) is_identified: bool,
}

impl ProcessEntry {
    pub(crate) fn new(identity: ProcessIdentity) -> Self {
        Self {
            process: ProcessSample {
                identity: Arc::new(identity),
                ..ProcessSample::default()
            },
            io: ReusedFile::NotOpen,
            stat: ReusedFile::NotOpen,
            descriptors: None,
            mapped_files: MappedFiles::default(),
            process_group: 0,
            is_active: false,
            reaped_faults: 0,
            ended_changed: false,
            recheck_ended: false,
            age_samples: 0,
            facts_due_age: 0,
            idle_samples: 0,
            needs_details: false,
            needs_identity: false,
            is_identified: false,
        }
    }

    /// Whether it has done enough I/O since `before` to be examined further.
    pub(crate) fn has_transferred(
        &self,
        before: Availability<ProcessIo>,
        first_sample: bool,
    ) -> bool {
        let total = |io: ProcessIo| {
            io.rchar
                .wrapping_add(io.wchar)
                .wrapping_add(io.read_bytes)
                .wrapping_add(io.write_bytes)
        };
        match (before.value(), self.process.io.value()) {
            (Some(before), Some(now)) => total(now).wrapping_sub(total(before)) >= MIN_ACTIVE_BYTES,
            // At the first sample it is unknown which processes are active.
            (None, Some(now)) => {
                !first_sample && self.age_samples == 0 && total(now) >= MIN_NEW_PROCESS_BYTES
            }
            _ => false,
        }
    }

    /// Bytes that it has read from or written to devices since `before`.
    pub(crate) fn charged_bytes_since(&self, before: Availability<ProcessIo>) -> u64 {
        let total = |io: ProcessIo| io.read_bytes.saturating_add(io.write_bytes);
        let now = self.process.io.value().map_or(0, total);
        now.saturating_sub(before.value().map_or(0, total))
    }

    /// Examines its open files, if it is active or tracked.
    pub(crate) fn update_descriptors(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        moved: bool,
        roots: &SysPaths,
    ) {
        if moved {
            if self.descriptors.is_none() {
                self.descriptors = ProcessDescriptors::open(proc, pid);
            }
            if let Some(descriptors) = &mut self.descriptors {
                descriptors.examine_next(roots);
            }
        } else {
            let _ = self
                .descriptors
                .take_if(|descriptors| !descriptors.refresh_idle(roots));
        }
        let open = self
            .descriptors
            .as_ref()
            .map_or_else(Arc::<[OpenFile]>::default, ProcessDescriptors::open_files);
        self.process.files = self.mapped_files.added_to(open);
    }

    /// Looks for files that are read through memory mappings, if its counters show such reads.
    pub(crate) fn update_mappings(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        before: Availability<ProcessIo>,
    ) {
        if let (Some(before), Some(now)) = (before.value(), self.process.io.value()) {
            let by_calls = now.rchar.saturating_sub(before.rchar);
            let from_devices = now.read_bytes.saturating_sub(before.read_bytes);
            self.mapped_files
                .update(mappings::reads_mappings(by_calls, from_devices), proc, pid);
        }
    }

    /// Whether it transferred something in this sample and has a pipe open.
    pub(crate) fn is_active_in_pipeline(&self) -> bool {
        self.is_active
            && self
                .process
                .files
                .iter()
                .any(|file| file.kind == FileKind::Pipe)
    }

    pub(crate) fn close_descriptors(&mut self, budget: &mut DescriptorBudget) {
        self.io.give_up(budget);
        self.stat.give_up(budget);
    }

    /// Files that it has written and closed: all of them after its end.
    pub(crate) fn take_closed(&mut self, has_ended: bool) -> Vec<OpenFile> {
        if has_ended {
            let last = self.descriptors.take();
            return last.map_or_else(Vec::new, ProcessDescriptors::into_closed);
        }
        self.descriptors
            .as_mut()
            .map_or_else(Vec::new, ProcessDescriptors::take_closed)
    }
}
