//! Exclusive access to a medium while it is written.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use rustix::fs::{FlockOperation, Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::drive::fcntl;
use crate::drive::guard::busy_retry::retry_while_busy;
use crate::drive::guard::conflicts::alias::{Alias, AliasKind};
use crate::drive::guard::conflicts::file_locks::{LOCK_RETRY_INTERVAL, LOCK_TIMEOUT};
use crate::drive::guard::conflicts::medium_usage::ImageFile;
use crate::drive::guard::conflicts::same_file;
use crate::drive::guard::conflicts::use_conflict::UseConflict;
use crate::drive::guard::obstacles;
use crate::drive::guard::refusal::Refusal;
use crate::drive::ioctl;
use crate::drive::medium::TargetKind;
use crate::drive::medium::open_medium::OpenMedium;

/// Excludes other users from a medium during its lifetime. A block device is open with `O_EXCL`, so
/// that no file system can be mounted and no device stacked on it (open(2)). Files and devices are
/// also locked, which is effective against programs that check locks (flock(2), and open file
/// description locks in fcntl(2)).
///
/// It ends after what was written to a block device by way of its page cache is on the drive. A partition of the
/// device and other devices with its bytes have page caches of their own: what the kernel writes back
/// later would replace what others have written there meanwhile. The kernel itself writes it back when the last
/// process closes the device, which may be another one.
#[derive(Debug)]
pub(super) struct ExclusiveHold {
    /// Open for writing and locked.
    medium: File,
    /// What is in page caches when writing ends.
    caches: WrittenCaches,
    /// Whether descriptors of plans bypass the page cache, and whether there are any.
    sharing: Mutex<(bool, Weak<()>)>,
    /// The usual node of the device, locked, if the device was opened by another node; other
    /// devices with the same bytes; the images of loop devices below it, locked.
    aliases: Vec<OwnedFd>,
}

/// A descriptor of the open file that holds a block device exclusively. A request that the kernel has not completed
/// keeps that file open: others cannot use the device before, also when this process has ended.
#[derive(Debug)]
pub struct HeldDescriptor {
    /// The descriptor, open for reading and writing.
    pub file: OwnedFd,
    /// Alive while there is such a descriptor: the flags of the file belong to all.
    _sharing: Arc<()>,
}

/// Where the kernel may keep what was written to a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrittenCaches {
    /// In the page cache of a file, which everybody shares who uses the file.
    File,
    /// In the page cache of the device.
    Device,
    /// Also in those of devices that loop devices below it are attached to.
    LowerDevices,
}

impl ExclusiveHold {
    /// Acquires exclusive access. For a block device this fails if a file system, swap, a stacked
    /// device or another program has it open exclusively, also if /proc does not show that use.
    pub(super) fn acquire(medium: &OpenMedium) -> Result<Self, Refusal> {
        let file = match open_exclusively(medium, OFlags::RDWR) {
            // If the user may not write, the error is reported when the benchmark opens it.
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
            caches: match medium.target.kind {
                TargetKind::BlockDevice => WrittenCaches::Device,
                _ => WrittenCaches::File,
            },
            sharing: Mutex::default(),
            aliases: node.map(OwnedFd::from).into_iter().collect(),
        })
    }

    /// Whether exclusive access is available. Opens nothing for writing.
    pub(super) fn check_available(medium: &OpenMedium) -> Result<(), Refusal> {
        open_exclusively(medium, OFlags::RDONLY).map(drop)
    }

    /// The descriptor that holds the medium exclusively.
    pub(super) fn file(&self) -> &File {
        &self.medium
    }

    /// All descriptors that exclude others from the medium.
    pub(super) fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let aliases = self.aliases.iter().map(AsFd::as_fd);
        std::iter::once(self.medium.as_fd()).chain(aliases)
    }

    /// Locks the images of loop devices below the medium: programs that lock what they open, as the
    /// monitors of virtual machines do, may open these. One that can no longer be opened is left out.
    pub(super) fn lock_images(&mut self, images: &[ImageFile]) -> Result<(), Refusal> {
        let mut locked = HashSet::new();
        for image in images {
            let Ok(file) = same_file::reopen_for_locking(&image.file) else {
                continue;
            };
            // A second descriptor of the same file would not get the lock.
            if file
                .metadata()
                .is_ok_and(|facts| locked.insert((facts.dev(), facts.ino())))
            {
                lock_medium(&file, &image.name)?;
                self.aliases.push(file.into());
            }
        }
        Ok(())
    }

    /// Holds other devices as well: those in `aliases`.
    pub(super) fn add_aliases(&mut self, aliases: &[Alias], others: Vec<OwnedFd>) {
        let is_below = |alias: &Alias| matches!(alias.kind, AliasKind::BackingDevice { .. });
        if self.caches == WrittenCaches::Device && aliases.iter().any(is_below) {
            self.caches = WrittenCaches::LowerDevices;
        }
        self.aliases.extend(others);
    }

    /// Another descriptor of the open file that holds a block device, with or without `O_DIRECT`. `None` for a
    /// regular file, where the device may not be written, and while there are descriptors with the other flag.
    pub(super) fn descriptor(&self, direct: bool) -> Option<HeldDescriptor> {
        let is_writable = fcntl_getfl(&self.medium).is_ok_and(|flags| flags.contains(OFlags::RDWR));
        if self.caches == WrittenCaches::File || !is_writable {
            return None;
        }
        let mut sharing = self.sharing.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = match sharing.1.upgrade() {
            Some(shared) if sharing.0 == direct => shared,
            Some(_) => return None,
            None => Arc::default(),
        };
        // Also without `O_NONBLOCK`, which it was opened with.
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, direct);
        fcntl_setfl(&self.medium, flags).ok()?;
        let file = self.medium.try_clone().ok()?.into();
        *sharing = (direct, Arc::downgrade(&shared));
        Some(HeldDescriptor {
            file,
            _sharing: shared,
        })
    }

    /// Writes back what was written to a block device, and waits for it.
    pub(super) fn write_back(&self) {
        // An error is one of the drive: what it did not store is lost, and not dirty any more.
        let _ = match self.caches {
            WrittenCaches::File => Ok(()),
            WrittenCaches::Device => ioctl::sync_file_data(&self.medium),
            // A flush has a loop device write back what it is attached to.
            WrittenCaches::LowerDevices => {
                rustix::fs::fdatasync(&self.medium).map_err(io::Error::from)
            }
        };
    }
}

impl Drop for ExclusiveHold {
    fn drop(&mut self) {
        self.write_back();
    }
}

fn open_exclusively(medium: &OpenMedium, access: OFlags) -> Result<File, Refusal> {
    let mut flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK;
    flags.set(OFlags::EXCL, medium.target.kind == TargetKind::BlockDevice);
    let path = format!("/proc/self/fd/{}", medium.anchor().as_fd().as_raw_fd());
    let name = || medium.target.name.clone();
    let opened = retry_while_busy(|| Ok(rustix::fs::open(&path, flags, Mode::empty())?.into()));
    opened.map_err(|source| {
        let error = Errno::from_io_error(&source).unwrap_or(Errno::IO);
        match (error, obstacles::obstacle_of_open_error(medium, error)) {
            (_, Some(obstacle)) => Refusal::NotWritable {
                name: name(),
                obstacle,
            },
            (Errno::BUSY, _) => Refusal::InUse {
                name: name(),
                conflicts: vec![UseConflict::OpenedExclusively],
            },
            (Errno::AGAIN, _) => Refusal::InUse {
                name: name(),
                conflicts: vec![UseConflict::Leased { device: name() }],
            },
            _ => Refusal::UseUnknown {
                name: name(),
                tried: "open it for writing",
                source,
            },
        }
    })
}

/// The usual node of a device, if it was opened by another node. Locks belong to the node, not to
/// the device.
fn usual_node(medium: &OpenMedium, opened: &File) -> Option<File> {
    medium.device_number()?;
    let name = medium.target.drive.as_ref()?.name.replace('!', "/");
    let path = medium.roots().dev.join(name);
    let own = opened.metadata().ok()?;
    // Examine the node before opening it: the name may belong to another device.
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

/// Takes both kinds of lock. On a file system without locks no other program can check them.
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
