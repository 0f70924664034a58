//! Uses of a regular file by the kernel.

use std::fs::File;
use std::io;

use crate::drive::guard::conflicts;
use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};
use crate::drive::guard::refusal::Refusal;
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

/// Uses of a regular file as a medium by the kernel.
#[derive(Debug, Default)]
pub struct FileUses {
    /// Uses as the backing file of a loop device, a mounted file system, swap or an export.
    pub conflicts: Vec<UseConflict>,
    /// Uses that cannot be determined.
    pub unresolved: Vec<UnresolvedUse>,
}

/// Uses of a regular file as a medium by the kernel. Empty for an ordinary file, and without /proc
/// and /sys. `written`: the file, open for writing, if it will be written in place.
///
/// # Errors
/// When the kernel's tables cannot be read.
pub fn find_file_uses(
    roots: &SysPaths,
    id: FileId,
    name: &str,
    written: Option<&File>,
) -> Result<FileUses, Refusal> {
    match conflicts::find_file_usage(roots, id, name, written) {
        Err(Refusal::UseUnknown { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(FileUses::default())
        }
        found => found.map(|usage| FileUses {
            conflicts: usage.conflicts,
            unresolved: usage.unresolved,
        }),
    }
}
