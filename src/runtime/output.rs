//! Outputs that the user names, where the kernel's uses of a file are known.

use std::path::Path;

use crate::drive::guard;
use crate::named_file::{FileId, Output, OutputError};
use crate::roots::Roots;

/// Looks at where an output would go, as [`Output::prepare`] does, and refuses a file whose bytes
/// are in use: the image of a loop device or of a mounted file system, or a swap file.
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
    let uses = guard::uses_of_file(roots, id, &path.display().to_string())
        .map_err(|refusal| in_use(refusal.to_string()))?;
    if uses.is_empty() {
        return Ok(());
    }
    let words: Vec<String> = uses.iter().map(ToString::to_string).collect();
    Err(in_use(words.join("; ")))
}
