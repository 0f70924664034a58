//! Operations with an end that are no copies: resync of an array, scrub, balance, pvmove, discard.
//!
//! Nothing is asked where nothing can run: each reader looks first at what a sample has read anyway,
//! the devices and the names of the processes.

mod btrfs;
mod discard;
pub mod md;
pub mod operation;
pub mod pvmove;

pub use self::operation::{OperationKind, OperationProgress, OperationSample, WorkUnit};

use crate::probe::file_systems::MountedFileSystem;
use crate::probe::sample::{DiskCounters, ProcessSample};
use crate::roots::SysPaths;

/// What a sample has read before its operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct OperationSources<'a> {
    pub(super) roots: &'a SysPaths,
    pub(super) disks: &'a [DiskCounters],
    pub(super) file_systems: &'a [MountedFileSystem],
    pub(super) processes: &'a [ProcessSample],
}

impl OperationSources<'_> {
    /// The processes with one of these names.
    fn processes_named(&self, names: [&str; 2]) -> impl Iterator<Item = &ProcessSample> {
        let is_named =
            move |it: &&ProcessSample| names.map(str::as_bytes).contains(&&it.identity.name[..]);
        self.processes.iter().filter(is_named)
    }

    /// The operations that run.
    pub(super) fn operations(&self) -> Vec<OperationSample> {
        let mut found = md::operations(self.roots, self.disks);
        found.extend(pvmove::operations(self));
        found.extend(btrfs::operations(self));
        found.extend(discard::operations(self));
        found
    }
}
