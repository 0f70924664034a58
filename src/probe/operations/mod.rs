//! Operations with an end that are no copies: resync of an array, scrub, balance, swapoff, fsck.
//!
//! Nothing is asked where nothing can run: each reader looks first at what a sample has read anyway,
//! the devices and the names of the processes.

mod btrfs;
pub mod device_mapper;
pub mod fsck;
pub mod md;
pub mod operation;
mod programs;
mod sources;
pub mod swap;
pub mod zfs;

use std::time::Duration;

pub use self::operation::{OperationKind, OperationProgress, OperationSample, WorkUnit};
pub(super) use self::sources::OperationSources;

/// Reads the operations of each sample.
#[derive(Debug, Default)]
pub(super) struct OperationReader {
    device_mapper: device_mapper::StatusReader,
    zfs: zfs::ScanReader,
}

impl OperationReader {
    /// The operations at a time.
    pub(super) fn read(
        &mut self,
        sources: &OperationSources<'_>,
        at: Duration,
    ) -> Vec<OperationSample> {
        let mut found = md::operations(sources.roots, sources.disks);
        found.extend(self.device_mapper.operations(sources, at));
        found.extend(btrfs::operations(sources));
        found.extend(self.zfs.operations(sources, at));
        found.extend(programs::operations(sources));
        found
    }
}
