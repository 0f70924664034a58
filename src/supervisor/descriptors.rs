//! Checks whether this process may open the descriptors that waiting for signals and terminals
//! requires: the library that waits for them panics otherwise.

use std::io::{self, PipeReader, PipeWriter};

use rustix::process::{Resource, getrlimit};

/// Number of pipes, of two descriptors each: an event loop opens fewer.
const REQUIRED_PIPES: usize = 12;

/// Opens and closes as many descriptors as an event loop needs.
///
/// # Errors
///
/// When there are too few, with advice.
pub fn check_descriptor_limit() -> io::Result<()> {
    let opened: io::Result<Vec<(PipeReader, PipeWriter)>> =
        (0..REQUIRED_PIPES).map(|_| io::pipe()).collect();
    let Err(error) = opened else {
        return Ok(());
    };
    Err(match error.raw_os_error() {
        Some(libc::EMFILE) => {
            let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
            io::Error::other(format!(
                "the limit of open files ({limit}) is too low: raise it with ulimit -n 256"
            ))
        }
        Some(libc::ENFILE) => {
            io::Error::other("the system has no open files left: see /proc/sys/fs/file-nr")
        }
        _ => error,
    })
}
