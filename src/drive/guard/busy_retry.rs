//! Opening a device that another program holds exclusively for a moment.

use std::fs::File;
use std::io;
use std::time::Instant;

use crate::drive::guard::conflicts::file_locks::{LOCK_RETRY_INTERVAL, LOCK_TIMEOUT};

/// Repeats an exclusive open while the device is busy, up to [`LOCK_TIMEOUT`]. udev and blkid hold a
/// device for a moment. So does a process that another thread starts: between fork(2) and execve(2)
/// it has every descriptor of this process, also one that was closed here meanwhile.
pub(super) fn retry_while_busy(mut open: impl FnMut() -> io::Result<File>) -> io::Result<File> {
    let began = Instant::now();
    loop {
        match open() {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy
                    && began.elapsed() < LOCK_TIMEOUT =>
            {
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            }
            opened => return opened,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> io::Error {
        io::Error::from_raw_os_error(libc::EBUSY)
    }

    #[test]
    fn device_that_is_busy_for_a_moment_is_opened() {
        let mut attempts = 0;
        let opened = retry_while_busy(|| {
            attempts += 1;
            match attempts {
                1 | 2 => Err(busy()),
                _ => tempfile::tempfile(),
            }
        });
        assert!(opened.is_ok());
        assert_eq!(attempts, 3);
    }

    #[test]
    fn device_that_stays_busy_and_any_other_error_are_reported() {
        let stays = retry_while_busy(|| Err(busy())).unwrap_err();
        assert_eq!(stays.raw_os_error(), Some(libc::EBUSY));
        let mut attempts = 0;
        let gone = retry_while_busy(|| {
            attempts += 1;
            Err(io::Error::from_raw_os_error(libc::ENXIO))
        });
        assert_eq!(gone.unwrap_err().raw_os_error(), Some(libc::ENXIO));
        assert_eq!(attempts, 1);
    }
}
