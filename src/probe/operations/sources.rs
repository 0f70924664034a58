//! What a sample has read before its operations.

use crate::probe::file_systems::MountedFileSystem;
use crate::probe::sample::{DiskCounters, ProcessSample};
use crate::roots::SysPaths;

/// What a sample has read before its operations.
#[derive(Debug, Clone, Copy)]
pub(in crate::probe) struct OperationSources<'a> {
    pub(in crate::probe) roots: &'a SysPaths,
    pub(in crate::probe) disks: &'a [DiskCounters],
    pub(in crate::probe) file_systems: &'a [MountedFileSystem],
    pub(in crate::probe) processes: &'a [ProcessSample],
}

impl OperationSources<'_> {
    /// The processes with one of these names.
    pub(super) fn processes_named(&self, names: [&str; 2]) -> impl Iterator<Item = &ProcessSample> {
        let is_named =
            move |it: &&ProcessSample| names.map(str::as_bytes).contains(&&it.identity.name[..]);
        self.processes.iter().filter(is_named)
    }
}
