//! Operations with an end that are no copies: resync of an array, scrub, balance, pvmove, discard.
//!
//! Nothing is asked where nothing can run: each reader looks first at what a sample has read anyway,
//! the devices and the names of the processes.

mod btrfs;
mod discard;
pub mod md;
pub mod operation;
pub mod pvmove;
mod sources;

pub use self::operation::{OperationKind, OperationProgress, OperationSample, WorkUnit};
pub(super) use self::sources::OperationSources;

/// The operations that run.
pub(super) fn operations(sources: &OperationSources<'_>) -> Vec<OperationSample> {
    let mut found = md::operations(sources.roots, sources.disks);
    found.extend(pvmove::operations(sources));
    found.extend(btrfs::operations(sources));
    found.extend(discard::operations(sources));
    found
}
