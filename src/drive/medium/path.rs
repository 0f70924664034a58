//! Names of targets as the user writes them.

use std::ffi::OsStr;
use std::fs::{self};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Prefix of the name of every simulated drive.
pub const SIMULATED_PREFIX: &str = "sim:";

/// Whether this is the name of a simulated drive, and not the path of a file or device.
#[must_use]
pub fn is_simulated_name(name: &str) -> bool {
    name.starts_with(SIMULATED_PREFIX)
}

/// The path of a file or device without a trailing slash, which only a directory may have.
#[must_use]
pub fn strip_trailing_slash(path: &Path) -> PathBuf {
    let not_a_directory = rustix::io::Errno::NOTDIR.raw_os_error();
    let slash =
        fs::metadata(path).is_err_and(|error| error.raw_os_error() == Some(not_a_directory));
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/');
    match end {
        Some(end) if slash => PathBuf::from(OsStr::from_bytes(&bytes[..=end])),
        _ => path.to_owned(),
    }
}
