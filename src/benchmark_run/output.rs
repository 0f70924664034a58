//! Output files that the user names, checked against the kernel's uses of a file.

use std::path::Path;

use crate::drive::guard;
use crate::named_file::{FileId, OutputError, OutputFile};
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

/// Writes an output completely, unless its file has come into use since it was prepared.
///
/// # Errors
///
/// When it cannot be written, or must no longer be written.
pub fn write_output(roots: &SysPaths, output: OutputFile, bytes: &[u8]) -> Result<(), OutputError> {
    check_unused(roots, &output)?;
    output.write(bytes)
}

fn check_unused(roots: &SysPaths, output: &OutputFile) -> Result<(), OutputError> {
    let Some(id) = output.existing_file() else {
        return Ok(());
    };
    let path = output.path();
    let in_use = |reason| OutputError::InUse {
        path: path.to_owned(),
        reason,
    };
    let name = path.display().to_string();
    let uses = guard::find_file_uses(roots, id, &name, output.in_place_file())
        .map_err(|refusal| in_use(refusal.to_string()))?;
    if !uses.conflicts.is_empty() {
        return Err(in_use(join_lines(&uses.conflicts)));
    }
    if !uses.unresolved.is_empty() {
        let questions = join_lines(&uses.unresolved);
        return Err(in_use(format!(
            "it is open elsewhere, or may be, and diskscope cannot determine whether it is in use: {questions}"
        )));
    }
    Ok(())
}

fn join_lines(items: &[impl ToString]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    words.join("; ")
}
