//! Numbers and names of processes.

use std::fs::{self};
use std::io;
use std::path::Path;

use crate::files::printable::printable_bytes;
use crate::roots::SysPaths;

/// Numbers of all processes but this one, as far as they can be listed.
pub(super) fn process_numbers(roots: &SysPaths) -> Vec<u32> {
    list_processes(roots).unwrap_or_default()
}

/// Numbers of all processes but this one.
///
/// # Errors
/// When the list cannot be read to its end.
pub(super) fn list_processes(roots: &SysPaths) -> io::Result<Vec<u32>> {
    let own = std::process::id();
    let mut processes = Vec::new();
    for entry in fs::read_dir(&roots.proc)? {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        processes.extend(number.filter(|process: &u32| *process != own));
    }
    Ok(processes)
}

/// The name of a process.
pub(super) fn process_command(directory: &Path) -> String {
    let name = fs::read(directory.join("comm")).unwrap_or_default();
    match name.trim_ascii_end() {
        [] => "gone meanwhile".to_owned(),
        name => printable_bytes(name),
    }
}
