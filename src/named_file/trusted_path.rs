//! What a path leads to that is about to be overwritten, and whether somebody else decides that.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

use crate::named_file::directory::OpenDirectory;
use crate::named_file::error::OutputError;
use crate::named_file::file_id::FileId;
use crate::named_file::found_file::FoundFile;
use crate::named_file::owner::FileOwner;
use crate::named_file::resolve;
use crate::named_file::resolve::ResolvedPath;

/// Longer than one step of the clock from which the kernel takes inode timestamps.
const CLOCK_STEP: Duration = Duration::from_millis(30);
/// Maximum number of attempts for a file that was changed a moment ago.
const RETRIES: usize = 5;
/// Any user may create files in such a directory.
const SHARED: u32 = 0o002;

/// The file at the end of a path that only root and the user of this process control, or that
/// belongs to the user who controls the path.
///
/// The file stays open. A caller that opened the same path before must compare its file with this
/// one, because the path may lead to another file at each resolution.
#[derive(Debug)]
pub struct TrustedFile {
    id: FileId,
    /// Keeps its inode number from being given to another file.
    _found: Option<FoundFile>,
}

impl TrustedFile {
    /// Identity of the file.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }
}

/// Reason why a path is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustError {
    /// The file does not exist.
    Missing,
    /// A symbolic link of another user leads to a file that is not that user's, or the path is a hard
    /// link to such a file in a directory where others can create names, or it cannot be examined.
    Untrusted(String),
}

/// Follows a path once, judges every step, and gives what it ends in.
///
/// # Errors
/// When there is nothing, or somebody else decides what it leads to.
pub fn resolve_trusted(path: &Path) -> Result<TrustedFile, TrustError> {
    match resolve::resolve_path(path) {
        Ok(ResolvedPath::DirectoryEntry {
            directory,
            name,
            found: Some(found),
        }) => {
            let look = |error: std::io::Error| {
                TrustError::Untrusted(format!("its directory cannot be examined: {error}"))
            };
            let around = directory.stat().map_err(look)?;
            let owner_around = FileOwner::of_file(directory.descriptor(), &around);
            if may_be_second_name(&found, owner_around, &around)
                && has_second_name(&directory, &name, &found).map_err(look)?
            {
                let owner = found.owner();
                return Err(TrustError::Untrusted(format!(
                    "it is another name of a file of {owner}, in a directory that others can write"
                )));
            }
            Ok(TrustedFile {
                id: FileId::of_stat(&found.stat),
                _found: Some(found),
            })
        }
        Ok(ResolvedPath::OpenedFile(found)) => Ok(TrustedFile {
            id: FileId::of_stat(&found.stat),
            _found: Some(found),
        }),
        // This process's own table: nobody else changes what the number stands for.
        Ok(ResolvedPath::Descriptor(number)) => {
            let path = format!("/proc/self/fd/{number}");
            let stat = rustix::fs::stat(path).map_err(|error| {
                TrustError::Untrusted(format!("descriptor {number} cannot be examined: {error}"))
            })?;
            Ok(TrustedFile {
                id: FileId::of_stat(&stat),
                _found: None,
            })
        }
        Ok(ResolvedPath::DirectoryEntry { found: None, .. }) => Err(TrustError::Missing),
        Err(OutputError::UntrustedPath { reason, .. }) => Err(TrustError::Untrusted(reason)),
        Err(error) => Err(TrustError::Untrusted(error.to_string())),
    }
}

/// Whether others make names in that directory, and the file is not its owner's.
fn may_be_second_name(found: &FoundFile, owner_around: FileOwner, around: &Stat) -> bool {
    around.st_mode & SHARED != 0 || (!owner_around.is_trusted() && found.owner() != owner_around)
}

/// Whether a file has more than one name, or may have lost one since it was found: making and
/// removing a name changes the time of the inode (`st_ctime`), and the name must be there still.
fn has_second_name(
    directory: &OpenDirectory,
    name: &std::ffi::OsStr,
    found: &FoundFile,
) -> std::io::Result<bool> {
    let key = |stat: &Stat| {
        let changed = (stat.st_ctime, stat.st_ctime_nsec);
        (FileId::of_stat(stat), stat.st_nlink, changed)
    };
    for _ in 0..RETRIES {
        // A change within one step of the kernel's clock would not show.
        let before = rustix::fs::fstat(&found.descriptor)?;
        let changed = Duration::new(before.st_ctime.max(0) as u64, before.st_ctime_nsec as u32);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        if now.unwrap_or_default().abs_diff(changed) < CLOCK_STEP {
            std::thread::sleep(CLOCK_STEP);
            continue;
        }
        let now = directory.stat_entry(name)?;
        return Ok(before.st_nlink != 1 || now.as_ref().map(key) != Some(key(&before)));
    }
    Ok(true)
}
