//! The last look at files that were written and closed; their temporary names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::drive::foreign_tree::{ForeignFile, ForeignTree};
use crate::probe::sample::{ClosedFile, OpenFile, ProcessIdentity};

/// The present state of files that were closed; those that are no longer found under their path or
/// their final name are left out.
///
/// Nothing is opened, because somebody may want to unmount the file system, and an automount that was
/// unmounted is not mounted again. Only file systems on
/// block devices are looked at, as `is_on_device` tells by their number: a server that does not
/// respond must not block the sampler.
pub fn last_look(
    closed: &[(Arc<ProcessIdentity>, OpenFile)],
    is_on_device: impl Fn((u32, u32)) -> bool,
) -> Vec<ClosedFile> {
    closed
        .iter()
        .filter(|(_, file)| is_on_device(file.inode.0))
        .filter_map(|(writer, file)| {
            let found = find_closed(&file.path, file.inode)?;
            let status = found.status();
            Some(ClosedFile {
                pid: writer.pid,
                start_ticks: writer.start_ticks,
                inode: file.inode,
                size: status.size(),
                allocated_bytes: status.allocated_bytes(),
                // Programs may set mtime to that of the source; ctime is always that of the last change.
                time_since_change: SystemTime::now().duration_since(status.changed()).ok(),
            })
        })
        .collect()
}

/// A file at its path or its final one.
pub(super) fn find_closed(path: &[u8], inode: ((u32, u32), u64)) -> Option<ForeignFile> {
    let tree = ForeignTree::own();
    [path, &final_path(path)].into_iter().find_map(|path| {
        let found = tree.find_entry(Path::new(OsStr::from_bytes(path))).ok()?;
        (found.status().identity() == inode).then_some(found)
    })
}

/// The final name of a file: rsync writes `.NAME.XXXXXX` (mkstemp(3)) and renames it when it is
/// complete.
#[must_use]
pub fn final_path(path: &[u8]) -> Vec<u8> {
    let name = base_name(path);
    match without_temporary_suffix(name) {
        Some(lasting) => [&path[..path.len() - name.len()], lasting].concat(),
        None => path.to_vec(),
    }
}

/// The final name that a temporary one stands for; `None` if it is not temporary.
#[must_use]
pub fn without_temporary_suffix(name: &[u8]) -> Option<&[u8]> {
    let inner = name.strip_prefix(b".")?;
    let (lasting, suffix) = inner.split_at_checked(inner.len().checked_sub(7)?)?;
    let random = suffix.strip_prefix(b".")?;
    (!lasting.is_empty() && random.iter().all(u8::is_ascii_alphanumeric)).then_some(lasting)
}

/// The last component of a path.
#[must_use]
pub fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
