//! Whether somebody else decides what a path leads to that is about to be overwritten.

use std::path::Path;

use super::OutputError;
use super::owner::FileOwner;
use super::resolve;
use super::resolve::{FoundFile, ResolvedPath};

/// Anybody may make files in such a directory.
const SHARED: u32 = 0o002;

/// Why a path is not to be trusted: a symbolic link of another user leads to a file that is not that
/// user's, or it is another name of such a file, in a directory where others make names. `None` where
/// nobody but root and this process's user decides what it leads to, or to nothing that belongs to
/// anybody else.
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
        // What is missing, or was opened by a process, is compared with what was opened.
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
