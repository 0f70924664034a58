//! Uses of a regular file by the kernel.

use std::io;

use crate::drive::guard::conflicts;
use crate::drive::guard::conflicts::file_change::FileChange;
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

/// Uses of a regular file as a medium by the kernel. Empty for an ordinary file, and for an output
/// without /proc and /sys.
///
/// # Errors
/// When the kernel's tables cannot be read.
pub fn find_file_uses(
    roots: &SysPaths,
    id: FileId,
    name: &str,
    change: FileChange<'_>,
) -> Result<FileUses, Refusal> {
    let is_output = !matches!(change, FileChange::Emptied);
    match conflicts::find_file_usage(roots, id, name, change) {
        Err(Refusal::UseUnknown { source, .. })
            if is_output && source.kind() == io::ErrorKind::NotFound =>
        {
            Ok(FileUses::default())
        }
        found => found.map(|usage| FileUses {
            conflicts: usage.conflicts,
            unresolved: usage.unresolved,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emptied(roots: &SysPaths) -> Result<FileUses, Refusal> {
        let id = FileId::Inode(2049, 131);
        find_file_uses(roots, id, "/srv/a (deleted)", FileChange::Emptied)
    }

    #[test]
    fn loop_device_that_cannot_be_queried_may_use_a_deleted_file() {
        for (image, may_use) in [("/srv/a (deleted)", true), ("/srv/a", false)] {
            let image = format!("{image}\n");
            let (_root, roots) = SysPaths::with_files(&[
                ("proc/self/mountinfo", ""),
                ("proc/swaps", ""),
                ("sys/class/block/loop0/dev", "7:0\n"),
                ("sys/class/block/loop0/loop/backing_file", &image),
            ]);
            let uses = emptied(&roots).unwrap();
            assert_eq!(uses.conflicts, []);
            let loops = uses.unresolved.iter();
            let mut loops = loops.filter(|it| matches!(it, UnresolvedUse::LoopDevice { .. }));
            assert_eq!(loops.next().is_some(), may_use, "{image}");
            let id = FileId::Inode(2049, 131);
            let output = find_file_uses(&roots, id, "/srv/a", FileChange::Replaced).unwrap();
            assert_eq!(output.unresolved, []);
        }
    }

    #[test]
    fn uses_of_a_deleted_file_are_unknown_without_the_tables_of_the_kernel() {
        let (_root, roots) = SysPaths::with_files(&[]);
        assert!(emptied(&roots).is_err());
        let id = FileId::Inode(2049, 131);
        let output = find_file_uses(&roots, id, "/srv/a", FileChange::Replaced).unwrap();
        assert_eq!((output.conflicts, output.unresolved), (vec![], vec![]));
    }
}
