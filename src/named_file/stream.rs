//! Outputs that are written directly: pipes, terminals, `/dev/null`, and inherited descriptors.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{
    CWD, FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, major, minor, openat,
};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::named_file::error::OutputError;
use crate::named_file::file_type::file_type_name;
use crate::named_file::kernel_files;
use crate::named_file::replacement;

/// How long to wait for the reader of a named pipe to open it: it may have been started by the same
/// line of a script.
const READER_TIMEOUT: Duration = Duration::from_secs(5);
const READER_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Checks whether a stream of this type may be written.
pub(super) fn check_stream_type(path: &Path, stat: &Stat) -> Result<(), OutputError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Ok(()),
        FileType::CharacterDevice if is_safe_device(stat.st_rdev) => Ok(()),
        FileType::CharacterDevice => Err(OutputError::unsuitable(
            path,
            "a character device other than a terminal, null, zero and full",
        )),
        kind => Err(OutputError::unsuitable(path, file_type_name(kind))),
    }
}

/// Whether text may be written to a character device: not to memory, flash, or the command
/// interface of a SCSI or NVMe drive (kernel Documentation/admin-guide/devices.txt).
fn is_safe_device(device: u64) -> bool {
    match major(device) {
        // null, zero, full
        1 => matches!(minor(device), 3 | 5 | 7),
        // Terminals: consoles, serial lines, pseudo-terminals, USB, hypervisors.
        4 | 5 | 136..=143 | 166 | 188 | 204 | 229 => true,
        // i.MX serial lines (drivers/tty/serial/imx.c); lower numbers are the controls of Compaq's
        // health driver.
        207 => minor(device) >= 16,
        _ => false,
    }
}

/// Opens a pipe or a character device that was checked through an `O_PATH` descriptor.
pub(super) fn open_stream(path: &Path, looked_at: &OwnedFd) -> Result<File, OutputError> {
    let again = format!("/proc/self/fd/{}", looked_at.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let deadline = Instant::now() + READER_TIMEOUT;
    loop {
        match openat(CWD, &again, flags, Mode::empty()) {
            Ok(file) => {
                // `O_NONBLOCK` applies to the open only; writes may block.
                fcntl_getfl(&file)
                    .and_then(|flags| fcntl_setfl(&file, flags - OFlags::NONBLOCK))
                    .map_err(|error| OutputError::io("open", path, error))?;
                return Ok(file.into());
            }
            Err(Errno::NXIO) if Instant::now() < deadline => {
                std::thread::sleep(READER_POLL_INTERVAL)
            }
            Err(error) => return Err(OutputError::io("open", path, error)),
        }
    }
}

/// Duplicates the inherited descriptor `number`. The duplicate shares the file offset, so earlier
/// output in the file is not overwritten.
pub(super) fn duplicate_inherited(path: &Path, number: i32) -> Result<(File, Stat), OutputError> {
    let failed = |error: Errno| OutputError::io("write to", path, error);
    let flags = descriptor_flags(number).ok_or_else(|| failed(Errno::BADF))?;
    if flags.contains(OFlags::CLOEXEC) {
        // It was opened by this program.
        return Err(failed(Errno::BADF));
    }
    if !flags.intersects(OFlags::WRONLY | OFlags::RDWR) || flags.contains(OFlags::PATH) {
        return Err(OutputError::unsuitable(path, "open for reading only"));
    }
    let file = File::from(duplicate_descriptor(number).map_err(failed)?);
    let stat = fstat(&file).map_err(failed)?;
    kernel_files::refuse_kernel_file_system(path, &file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => replacement::refuse_file_capabilities(path, &file)?,
        FileType::Socket => {}
        _ => check_stream_type(path, &stat)?,
    }
    Ok((file, stat))
}

/// The flags of a descriptor of this process (proc_pid_fdinfo(5)), with `O_CLOEXEC`.
fn descriptor_flags(number: i32) -> Option<OFlags> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(flags.trim(), 8)
        .ok()
        .map(OFlags::from_bits_retain)
}

fn duplicate_descriptor(number: i32) -> rustix::io::Result<OwnedFd> {
    let of = |descriptor: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(descriptor, 3);
    match number {
        1 => of(io::stdout().as_fd()),
        2 => of(io::stderr().as_fd()),
        _ => pidfd_getfd(
            pidfd_open(getpid(), PidfdFlags::empty())?,
            number,
            PidfdGetfdFlags::empty(),
        ),
    }
}

/// Writes everything, also to a shared descriptor that is non-blocking.
pub(super) fn write_stream(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut waiting = [PollFd::new(file, PollFlags::OUT)];
                poll(&mut waiting, None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::fs::makedev;

    use super::*;

    #[test]
    fn character_device_other_than_a_terminal_is_no_output() {
        for (major, minor) in [(1, 3), (1, 7), (4, 64), (5, 0), (136, 2), (207, 16)] {
            assert!(is_safe_device(makedev(major, minor)), "{major}:{minor}");
        }
        // /dev/mem, /dev/cpqhealth/cpqw and cpqphp, a tape, /dev/sg0.
        for (major, minor) in [(1, 1), (207, 0), (207, 12), (9, 0), (21, 0)] {
            assert!(!is_safe_device(makedev(major, minor)), "{major}:{minor}");
        }
    }
}
