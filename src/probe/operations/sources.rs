//! What a sample has read before its operations.

use crate::probe::file_systems::MountedFileSystem;
use crate::probe::sample::{DiskCounters, ProcessSample};
use crate::probe::text::read_start;
use crate::roots::SysPaths;

/// Bytes of the arguments of a program that are read.
const MAX_ARGUMENT_BYTES: u64 = 64 << 10;

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
    pub(super) fn processes_named<'n>(
        &self,
        names: &'n [&'n [u8]],
    ) -> impl Iterator<Item = &ProcessSample> + use<'_, 'n> {
        self.processes
            .iter()
            .filter(move |process| names.contains(&process.identity.name.as_slice()))
    }

    /// The arguments of a process, without its name. They are read here because those of a process
    /// that has been idle so far are not known.
    pub(super) fn arguments(&self, process: &ProcessSample) -> Vec<Vec<u8>> {
        let path = format!("{}/cmdline", process.identity.pid);
        let path = self.roots.proc.join(path);
        let text = read_start(&path, MAX_ARGUMENT_BYTES).unwrap_or_default();
        let arguments = text.split(|byte| *byte == 0).skip(1);
        arguments
            .filter(|argument| !argument.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    }
}
