//! Sums of the records of ended threads.

use std::collections::HashMap;

use crate::probe::SystemSample;
use crate::probe::sample::{ExitRecord, ProcessIo};

/// The ended threads of processes that have not ended yet, and of those that have.
#[derive(Debug, Default)]
pub(super) struct ExitSums {
    by_process: HashMap<u32, ExitRecord>,
}

impl ExitSums {
    /// Adds the records of a sample and takes the processes that are not in it: they have ended.
    pub(super) fn take_ended(&mut self, sample: &SystemSample) -> HashMap<u32, ExitRecord> {
        for record in &sample.exit_records {
            match self.by_process.get_mut(&record.pid) {
                Some(sum) => {
                    sum.io = sum.io.saturating_add(&record.io);
                    sum.parent_pid = record.parent_pid;
                }
                None => {
                    self.by_process.insert(record.pid, record.clone());
                }
            }
        }
        self.by_process
            .extract_if(|pid, _| sample.process(*pid).is_none())
            .collect()
    }
}

/// Children of one process that ended in an interval, from their records.
#[derive(Debug, Default)]
pub(super) struct RecordedChildren {
    /// What they did since they were last sampled.
    pub(super) io: ProcessIo,
    /// The number and the bytes of those of each name.
    programs: HashMap<Vec<u8>, (u64, u64)>,
}

impl RecordedChildren {
    /// Adds a child.
    pub(super) fn add(&mut self, name: &[u8], io: &ProcessIo) {
        self.io = self.io.saturating_add(io);
        let (count, bytes) = self.programs.entry(name.to_vec()).or_default();
        *count += 1;
        let moved = io.rchar.saturating_add(io.wchar);
        *bytes = bytes.saturating_add(moved.max(io.read_bytes));
    }

    /// Their names with their number, most bytes first.
    pub(super) fn programs_by_bytes(self) -> Vec<(Vec<u8>, u64)> {
        let mut programs: Vec<_> = self.programs.into_iter().collect();
        programs.sort_by(|(name, (_, bytes)), (other, (_, more))| {
            more.cmp(bytes).then_with(|| name.cmp(other))
        });
        let counted = programs.into_iter().map(|(name, (count, _))| (name, count));
        counted.collect()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }
}
