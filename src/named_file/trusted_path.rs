//! Whether another user controls where a path leads that is about to be overwritten.

use std::path::Path;

use super::OutputError;
use super::owner::FileOwner;
use super::resolve;
use super::resolve::{FoundFile, ResolvedPath};

/// Any user may create files in such a directory.
const SHARED: u32 = 0o002;

/// Reason why a path is not trusted: a symbolic link of another user leads to a file that is not
/// that user's, or the path is a hard link to such a file in a directory where others can create
/// names. `None` if only root and the user of this process control where it leads, or if it leads
/// only to files of the user who controls it.
#[must_use]
pub fn distrust(path: &Path) -> Option<String> {
    match resolve::resolve_path(path) {
        Ok(ResolvedPath::DirectoryEntry {
            directory,
            found: Some(found),
            ..
        }) => {
            let around = match directory.stat() {
                Ok(around) => around,
                Err(error) => return Some(format!("its directory cannot be examined: {error}")),
            };
            let owner_around = FileOwner::of_file(directory.descriptor(), &around);
            second_name(&found, owner_around, around.st_mode & SHARED != 0)
        }
        // A missing file, or one opened by a process, is compared with the open file.
        Ok(_) => None,
        Err(OutputError::UntrustedPath { reason, .. }) => Some(reason),
        Err(error) => Some(error.to_string()),
    }
}

fn second_name(found: &FoundFile, owner_around: FileOwner, is_shared: bool) -> Option<String> {
    let owner = found.owner();
    let is_foreign = !owner_around.is_trusted() && owner != owner_around;
    ((is_shared || is_foreign) && found.stat.st_nlink > 1).then(|| {
        format!("it is another name of a file of {owner}, in a directory that others can write")
    })
}
