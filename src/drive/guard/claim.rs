//! The exclusive claim on a block device (`O_EXCL`, open(2)): while it is held, the kernel lets nobody mount a file
//! system on the device, swap to it or stack a device on it, and the same holds for its partitions and its whole
//! disk.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::drive::fcntl;
use crate::drive::guard::refusal::Reason;
use crate::drive::guard::uses::Usage;
use crate::drive::identity::sysfs::read_device_number;
use crate::drive::medium::OpenMedium;
use crate::drive::mounts::split_device_number;
use crate::roots::SysPaths;

/// How long to try while a device or file is busy: udev and blkid hold a device for a moment, and so does a child of
/// this process between fork(2) and execve(2).
const BUSY_TIMEOUT: Duration = Duration::from_millis(300);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Repeats what fails because something is busy, for a moment.
pub(super) fn retry_while_busy<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN))
                    && began.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(RETRY_INTERVAL);
            }
            done => return done,
        }
    }
}

/// Claims the block device of a medium for writing, and locks it for programs that look at locks (udev, QEMU).
///
/// The device is opened by its usual node, where it has one: locks belong to the node.
///
/// # Errors
/// [`Reason::InUse`] when it is claimed or locked by others.
pub(super) fn claim_device(medium: &OpenMedium) -> Result<File, Reason> {
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = usual_node(medium)
        .unwrap_or_else(|| format!("/proc/self/fd/{}", medium.file().as_raw_fd()).into());
    let opened = retry_while_busy(|| Ok(rustix::fs::open(&path, flags, Mode::empty())?));
    let file = File::from(opened.map_err(|error| refusal_of_open_error(medium, error))?);
    if let Some(change) = medium.difference_to(&file) {
        return Err(Reason::Changed(change));
    }
    lock(&file, &medium.target.name)?;
    Ok(file)
}

/// Claims other devices with bytes of the target, which are not written under these names.
///
/// # Errors
/// [`Reason::InUse`], with that usage, when one of them cannot be claimed.
pub(super) fn claim_others(
    roots: &SysPaths,
    names: Vec<String>,
    usage: &Usage,
) -> Result<Vec<(String, File)>, Reason> {
    let claim = |device: String| match retry_while_busy(|| open(roots, &device, OFlags::EXCL)) {
        Ok(file) => Ok((device, file)),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            Err(Reason::in_use(&device, usage.clone()))
        }
        Err(source) => Err(Reason::Failed {
            tried: "claimed",
            source,
        }),
    };
    names.into_iter().map(claim).collect()
}

/// Whether a device can be claimed at the moment. It is opened for reading, and closed at once.
///
/// # Errors
/// `EBUSY` when something holds it, or a partition of it, exclusively; `NotFound` without its usual node.
pub fn open_exclusively(roots: &SysPaths, name: &str) -> io::Result<()> {
    retry_while_busy(|| open(roots, name, OFlags::EXCL)).map(drop)
}

/// Opens the usual node of a device of that kernel name for reading.
///
/// # Errors
/// `NotFound` when the node is missing or belongs to another device.
pub fn open_node(roots: &SysPaths, name: &str) -> io::Result<File> {
    open(roots, name, OFlags::empty())
}

fn open(roots: &SysPaths, name: &str, flags: OFlags) -> io::Result<File> {
    let number = read_device_number(&roots.sys.join("class/block").join(name));
    let path = roots.dev.join(name.replace('!', "/"));
    let is_it = |facts: &Metadata| number.is_some() && device_number(facts) == number;
    let not_it = || io::Error::from(io::ErrorKind::NotFound);
    // Before it is opened: the name may belong to something else.
    if !is_it(&std::fs::metadata(&path)?) {
        return Err(not_it());
    }
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    if is_it(&file.metadata()?) {
        Ok(file)
    } else {
        Err(not_it())
    }
}

fn device_number(facts: &Metadata) -> Option<(u32, u32)> {
    let is_device = facts.file_type().is_block_device();
    is_device.then(|| split_device_number(facts.rdev()))
}

/// The usual node of the device.
fn usual_node(medium: &OpenMedium) -> Option<PathBuf> {
    let name = medium.target.drive.as_ref()?.name.replace('!', "/");
    let path = medium.roots().dev.join(name);
    let facts = std::fs::metadata(&path).ok()?;
    (device_number(&facts) == medium.device_number()).then_some(path)
}

fn refusal_of_open_error(medium: &OpenMedium, source: io::Error) -> Reason {
    match Errno::from_io_error(&source) {
        Some(Errno::BUSY) => Reason::in_use(&medium.target.name, Usage::Exclusive),
        Some(Errno::ROFS) => Reason::ReadOnly,
        Some(Errno::PERM | Errno::ACCESS) => Reason::Denied,
        _ => Reason::Failed {
            tried: "opened for writing",
            source,
        },
    }
}

/// Takes both kinds of lock. Where a file system has no locks, no other program can look at them.
pub(super) fn lock(file: &File, name: &str) -> Result<(), Reason> {
    let attempt = || {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(Errno::AGAIN.into()),
            _ => fcntl::lock_whole_file(file),
        }
        .or_else(|error| match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Err(Errno::AGAIN.into()),
            _ => Ok(()),
        })
    };
    retry_while_busy(attempt).map_err(|_: io::Error| Reason::in_use(name, Usage::Lock))
}

/// Writes what is in the page cache of a device to the drive, and waits for it.
pub(super) fn write_back(file: impl AsFd) {
    // An error is one of the drive: what it did not store is lost, and not dirty any more.
    let _ = rustix::fs::fdatasync(file);
}
