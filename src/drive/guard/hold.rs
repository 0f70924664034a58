//! What keeps others off a medium while it is written.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Instant;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::conflicts::file_locks::{LOCK_RETRY_INTERVAL, LOCK_TIMEOUT};
use super::{Obstacle, Refusal, UseConflict};
use crate::drive::fcntl;
use crate::drive::medium::{OpenMedium, TargetKind};

/// Keeps others off a medium as long as it lives: a block device is open with `O_EXCL`, so that
/// nobody can mount or stack anything on it (open(2)); a file and a device are locked, for those who
/// ask (flock(2), and open file description locks in fcntl(2)).
#[derive(Debug)]
pub(super) struct ExclusiveHold {
    /// Open for writing, locked.
    medium: File,
    /// The usual node of the device, locked, where it was named by another one; other devices with
    /// the same bytes.
    _aliases: Vec<OwnedFd>,
}

impl ExclusiveHold {
    /// Takes a medium for ourselves. That fails for a block device when a file system, swap, a
    /// stacked device or another program has done so, also in a place that /proc does not show us.
    pub(super) fn acquire(medium: &OpenMedium) -> Result<Self, Refusal> {
        let file = match open_exclusively(medium, OFlags::RDWR) {
            // Who may not write is told so when the test opens it.
            Err(Refusal::UseUnknown { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                open_exclusively(medium, OFlags::RDONLY)?
            }
            file => file?,
        };
        lock_medium(&file, &medium.target.name)?;
        let node = usual_node(medium, &file);
        if let Some(node) = &node {
            lock_medium(node, &medium.target.name)?;
        }
        Ok(Self {
            medium: file,
            _aliases: node.map(OwnedFd::from).into_iter().collect(),
        })
    }

    /// Whether a medium could be taken. Nothing is opened for writing.
    pub(super) fn check_available(medium: &OpenMedium) -> Result<(), Refusal> {
        open_exclusively(medium, OFlags::RDONLY).map(drop)
    }

    /// The descriptor that keeps others off.
    pub(super) fn file(&self) -> &File {
        &self.medium
    }

    /// Keeps other devices too.
    pub(super) fn add_aliases(&mut self, others: Vec<OwnedFd>) {
        self._aliases.extend(others);
    }
}

fn open_exclusively(medium: &OpenMedium, access: OFlags) -> Result<File, Refusal> {
    let mut flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK;
    flags.set(OFlags::EXCL, medium.target.kind == TargetKind::BlockDevice);
    let path = format!("/proc/self/fd/{}", medium.anchor().as_fd().as_raw_fd());
    let name = || medium.target.name.clone();
    let began = Instant::now();
    // Somebody may have it for a moment only.
    let opened = loop {
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Err(Errno::BUSY) if began.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_RETRY_INTERVAL)
            }
            opened => break opened,
        }
    };
    opened.map(File::from).map_err(|error| {
        match (error, Obstacle::from_open_error(medium, error)) {
            (_, Some(obstacle)) => Refusal::NotWritable {
                name: name(),
                obstacle,
            },
            (Errno::BUSY, _) => Refusal::InUse {
                name: name(),
                conflicts: vec![UseConflict::OpenedExclusively],
            },
            _ => Refusal::UseUnknown {
                name: name(),
                tried: "open it for writing",
                source: error.into(),
            },
        }
    })
}

/// The node of a device that other programs know it by, where it was opened by another one: locks
/// belong to the node, not to the device.
fn usual_node(medium: &OpenMedium, opened: &File) -> Option<File> {
    use std::os::unix::fs::MetadataExt;
    medium.device_number()?;
    let name = medium.target.drive.as_ref()?.name.replace('!', "/");
    let path = medium.roots().dev.join(name);
    let own = opened.metadata().ok()?;
    // Looked at before it is opened: any other device may have that name.
    let is_it = |facts: &std::fs::Metadata| {
        facts.file_type().is_block_device() && facts.rdev() == own.rdev()
    };
    std::fs::metadata(&path).ok().filter(is_it)?;
    let flags = OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open = |access| rustix::fs::open(&path, flags | access, Mode::empty());
    let node = open(OFlags::RDWR).or_else(|_| open(OFlags::RDONLY)).ok()?;
    let node = File::from(node);
    let facts = node.metadata().ok().filter(is_it)?;
    ((facts.dev(), facts.ino()) != (own.dev(), own.ino())).then_some(node)
}

/// Locks it in both ways. A file system without locks has nobody who would ask for them.
fn lock_medium(file: &File, name: &str) -> Result<(), Refusal> {
    let began = Instant::now();
    loop {
        let whole = rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
        let is_busy = match whole {
            Err(error) => error == Errno::WOULDBLOCK,
            Ok(()) => fcntl::lock_whole_file(file).is_err_and(|error| {
                matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
            }),
        };
        if !is_busy {
            return Ok(());
        }
        if began.elapsed() > LOCK_TIMEOUT {
            return Err(Refusal::InUse {
                name: name.to_owned(),
                conflicts: vec![UseConflict::Locked {
                    device: name.to_owned(),
                    by: None,
                }],
            });
        }
        std::thread::sleep(LOCK_RETRY_INTERVAL);
    }
}
