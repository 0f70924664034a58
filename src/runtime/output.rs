//! Outputs that the user names, where the kernel's uses of a file are known.

use std::path::Path;

use crate::drive::guard;
use crate::named_file::{FileId, Output, OutputError};
use crate::roots::Roots;

/// Looks at where an output would go, as [`Output::prepare`] does, and refuses a file whose bytes
/// are in use: the image of a loop device or of a mounted file system, or a swap file. A file that is
/// written in place and that somebody else has open may be one more file of a file system in a file
/// (erofs with `device=`), which no table shows.
///
/// # Errors
/// When it must not or cannot be written there.
pub fn prepare(roots: &Roots, path: &Path, inputs: &[FileId]) -> Result<Output, OutputError> {
    let output = Output::prepare(path, inputs)?;
    check_unused(roots, &output)?;
    Ok(output)
}

/// Writes an output whole, unless its file has come into use since it was prepared.
///
/// # Errors
/// When it cannot be written, or must not be any more.
pub fn write(roots: &Roots, output: Output, bytes: &[u8]) -> Result<(), OutputError> {
    check_unused(roots, &output)?;
    output.write(bytes)
}

fn check_unused(roots: &Roots, output: &Output) -> Result<(), OutputError> {
    let Some(id) = output.existing_file() else {
        return Ok(());
    };
    let path = output.path();
    let in_use = |reason| OutputError::InUse {
        path: path.to_owned(),
        reason,
    };
    let name = path.display().to_string();
    let uses = guard::uses_of_file(roots, id, &name, output.written_in_place())
        .map_err(|refusal| in_use(refusal.to_string()))?;
    if !uses.conflicts.is_empty() {
        return Err(in_use(joined(&uses.conflicts)));
    }
    if !uses.unresolved.is_empty() {
        let questions = joined(&uses.unresolved);
        return Err(in_use(format!(
            "it is open elsewhere, or may be, and cannot find out whether it is in use: {questions}"
        )));
    }
    Ok(())
}

fn joined(items: &[impl ToString]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    words.join("; ")
}
