//! The limit of open files of this process.

use std::io::{self, PipeReader, PipeWriter};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of pipes, of two descriptors each: an event loop opens fewer.
const REQUIRED_PIPES: usize = 12;

/// Raises the soft limit to the hard one (getrlimit(2)). Returns the limit, which is as before where it
/// could not be raised.
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    current.unwrap_or(u64::MAX)
}

/// Opens and closes as many descriptors as an event loop needs: the library that waits for signals and
/// terminals panics where it cannot open them.
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
