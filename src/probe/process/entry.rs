//! State that is kept per process between samples.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::descriptors::ProcessDescriptors;
use super::identifier::ProcessIdentifier;
use super::own_io::OwnIo;
use super::reused_file::ReusedFile;
use super::stat::ProcessStat;
use crate::probe::sample::{
    Availability, FileKind, OpenFile, ProcessIdentity, ProcessIo, ProcessSample,
};
use crate::roots::SysPaths;

/// A process with fewer bytes since the last sample is not examined further.
const MIN_ACTIVE_BYTES: u64 = 4096;
/// A process that began between two samples and has fewer bytes is not examined either.
const MIN_NEW_PROCESS_BYTES: u64 = 64 * 1024;

/// State of one process.
#[derive(Debug, Default)]
pub(crate) struct ProcessEntry {
    pub(crate) process: ProcessSample,
    pub(super) io: ReusedFile,
    pub(super) stat: ReusedFile,
    /// Its own I/O; `None` where that cannot be told from the I/O of its ended children.
    pub(super) own_io: Option<OwnIo>,
    pub(super) descriptors: Option<ProcessDescriptors>,
    /// Its process group, as of the last time that its state was read.
    pub(super) process_group: u32,
    /// Whether it transferred something in this sample.
    pub(super) is_active: bool,
    /// Samples since it was found.
    pub(super) age_samples: u32,
    /// Age at which facts that rarely change are read again.
    pub(super) facts_due_age: u32,
    /// Samples since its last I/O.
    pub(super) idle_samples: u32,
    /// Whether it is examined further in this sample.
    pub(super) needs_details: bool,
    /// Whether its identity is needed: it did I/O, or is blocked.
    pub(super) needs_identity: bool,
    /// Whether arguments and owner were read.
    pub(super) is_identified: bool,
}

impl ProcessEntry {
    /// Whether it has done enough I/O since `before` to be examined further.
    pub(super) fn has_transferred(
        &self,
        before: Availability<ProcessIo>,
        first_sample: bool,
    ) -> bool {
        let total = |io: ProcessIo| {
            let counters = [io.rchar, io.wchar, io.read_bytes, io.write_bytes];
            counters.into_iter().fold(0, u64::wrapping_add)
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
    pub(super) fn charged_bytes_since(&self, before: Availability<ProcessIo>) -> u64 {
        let total = |io: ProcessIo| io.read_bytes.saturating_add(io.write_bytes);
        let now = self.process.io.value().map_or(0, total);
        now.saturating_sub(before.value().map_or(0, total))
    }

    /// Sets what its `stat` says of its state.
    pub(super) fn set_state(&mut self, stat: &ProcessStat<'_>, identifier: &ProcessIdentifier) {
        self.process_group = stat.process_group;
        self.process.state = Some(stat.state);
        self.process.cpu_time = Some(identifier.ticks_to_duration(stat.cpu_ticks));
        self.process.thread_count = stat.thread_count;
        self.process.reaped_faults = stat.reaped_faults;
    }

    /// Sets its identity, which stays the same allocation where it is the same.
    pub(super) fn set_identity(&mut self, identity: ProcessIdentity) {
        if *self.process.identity != identity {
            self.process.identity = Arc::new(identity);
        }
    }

    /// Reads its own I/O. `is_first_sample`: what it did before does not count.
    pub(super) fn update_own_io(&mut self, proc: BorrowedFd<'_>, is_first_sample: bool) {
        let process = &mut self.process;
        let (pid, threads) = (process.identity.pid, process.thread_count);
        let counters = self.own_io.take().zip(process.io.value());
        self.own_io = counters.and_then(|(mut own, io)| {
            // Its counters are those of its only thread: reading that of all processes would be most of
            // the cost of the first sample.
            if is_first_sample && threads == 1 && process.reaped_faults == 0 {
                own.count(pid, &io);
            } else {
                own.read(proc, pid, threads)?;
            }
            if is_first_sample {
                own.total = ProcessIo::default();
            }
            Some(own)
        });
        process.own_io = self.own_io.as_ref().map(|own| own.total);
    }

    /// Counts the end of one of its threads.
    pub(super) fn count_ended_thread(&mut self, tid: u32, io: &ProcessIo) {
        if let Some(own) = &mut self.own_io {
            own.count(tid, io);
            self.process.own_io = Some(own.total);
        }
    }

    /// Examines its open files, if it is active or tracked.
    pub(super) fn update_descriptors(
        &mut self,
        proc: BorrowedFd<'_>,
        moved: bool,
        roots: &SysPaths,
    ) {
        let known = self.descriptors.take();
        self.descriptors = if moved {
            let opened = || ProcessDescriptors::open(proc, self.process.identity.pid);
            let mut examined = known.or_else(opened);
            if let Some(descriptors) = &mut examined {
                descriptors.examine_next(roots);
            }
            examined
        } else {
            known.and_then(|descriptors| descriptors.refresh_idle(roots))
        };
        let files = self.descriptors.as_ref().map(|it| Arc::clone(&it.files));
        self.process.files = files.unwrap_or_default();
    }

    /// Whether it transferred something in this sample and has a pipe open.
    pub(super) fn is_active_in_pipeline(&self) -> bool {
        let mut files = self.process.files.iter();
        self.is_active && files.any(|file| file.kind == FileKind::Pipe)
    }

    /// Files that it has written and closed: all of them after its end.
    pub(super) fn take_closed(&mut self, has_ended: bool) -> Vec<OpenFile> {
        if has_ended {
            let last = self.descriptors.take();
            return last.map_or_else(Vec::new, ProcessDescriptors::into_closed);
        }
        let descriptors = self.descriptors.as_mut();
        descriptors.map_or_else(Vec::new, ProcessDescriptors::take_closed)
    }
}
