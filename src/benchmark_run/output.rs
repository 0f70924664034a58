//! Output files that the user names, checked against the kernel's uses of a file.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::drive::guard::{self, Subject};
use crate::named_file::{FileId, HeldSignals, OutputError, OutputFile};
use crate::roots::SysPaths;

/// Checks the destination of an output, as `OutputFile::prepare` does, and refuses a file whose
/// bytes are in use: the image of a loop device or of a mounted file system, or a swap file. A file
/// that is written in place and that another process has open may be an additional device of a file
/// system in a file (erofs with `device=`), which no table shows.
///
/// # Errors
///
/// When it must not or cannot be written there.
pub fn prepare_output(
    roots: &SysPaths,
    path: &Path,
    inputs: &[FileId],
) -> Result<OutputFile, OutputError> {
    let output = OutputFile::prepare(path, inputs)?;
    check_unused(roots, &output)?;
    Ok(output)
}

/// Writes an output completely, unless its file has come into use since it was prepared. An existing
/// file keeps the owner, mode, names and other attributes that it has now.
///
/// # Errors
///
/// When it cannot be written, or must no longer be written.
pub fn write_output(roots: &SysPaths, output: OutputFile, bytes: &[u8]) -> Result<(), OutputError> {
    // From the first call that may wait for the file system: whoever asks the program to end gets the result.
    let _held = output.is_file().then(HeldSignals::hold);
    let output = output.examine_again()?;
    check_unused(roots, &output)?;
    output.write(bytes)
}

/// Refuses an existing file that is written in place and whose bytes are in use, as above. `file` is
/// open for writing.
///
/// # Errors
///
/// When it is in use, or when that cannot be determined.
pub fn check_file_unused(roots: &SysPaths, path: &Path, file: &File) -> Result<(), OutputError> {
    let metadata = file
        .metadata()
        .map_err(|error: io::Error| in_use(path, error))?;
    check_unused_as(roots, path, FileId::of_metadata(&metadata))
}

fn check_unused(roots: &SysPaths, output: &OutputFile) -> Result<(), OutputError> {
    let Some(id) = output.existing_file() else {
        return Ok(());
    };
    check_unused_as(roots, output.path(), id)
}

fn check_unused_as(roots: &SysPaths, path: &Path, id: FileId) -> Result<(), OutputError> {
    let uses = guard::find_kernel_users(roots, Subject::File(id, &path.display().to_string()));
    if !uses.users.is_empty() {
        return Err(in_use(path, join_lines(&uses.users)));
    }
    Ok(())
}

fn in_use(path: &Path, reason: impl ToString) -> OutputError {
    OutputError::InUse {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn join_lines(items: &[impl ToString]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    words.join("; ")
}
