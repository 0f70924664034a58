//! A file in sysfs or procfs: opened once, then read, written and locked by descriptor.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::drive::settings::error::{SettingError, io_error};
use crate::roots::SysPaths;

/// The kernel file system that holds a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelTree {
    Sysfs,
    Procfs,
}

impl KernelTree {
    pub(super) fn root(self, roots: &SysPaths) -> &Path {
        match self {
            Self::Sysfs => &roots.sys,
            Self::Procfs => &roots.proc,
        }
    }

    /// `f_type` of its files (include/uapi/linux/magic.h).
    pub(super) fn file_system_magic(self) -> u64 {
        match self {
            Self::Sysfs => 0x6265_6572,
            Self::Procfs => 0x9fa0,
        }
    }
}

/// How long to retry opening a setting that concurrent renames interrupt.
const OPEN_TIMEOUT: Duration = Duration::from_secs(1);
const OPEN_RETRY_INTERVAL: Duration = Duration::from_micros(100);
/// Maximum number of symbolic links, as in the kernel (path_resolution(7)).
const MAX_LINKS: u32 = 40;
/// Maximum size of a value in bytes.
const MAX_VALUE_BYTES: usize = 4096;

/// An open file of the kernel. It belongs to the device that had the name at open time. Once that
/// device is gone, reads and writes fail with ENODEV.
#[derive(Debug)]
pub(super) struct KernelFile {
    file: File,
    path: PathBuf,
}

impl KernelFile {
    /// Opens a file for reading and writing. The path is relative to the root of the tree and
    /// anchored there: no link can leave the tree.
    pub(super) fn open(
        roots: &SysPaths,
        tree: KernelTree,
        relative: &Path,
    ) -> Result<Self, SettingError> {
        let root = tree.root(roots);
        let path = root.join(relative);
        let file =
            open_beneath(root, relative).map_err(|error| io_error("open", &path)(error.into()))?;
        // Tests use ordinary files in place of kernel files.
        if *roots == SysPaths::default() && !is_in_tree(&file, tree) {
            return Err(SettingError::NotKernelFile { path });
        }
        Ok(Self { file, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the file itself, which is the same for all users, whatever their record directories.
    /// `false` if another process holds the lock.
    pub(super) fn try_lock(&self) -> Result<bool, SettingError> {
        try_lock_file(&self.file).map_err(io_error("lock", &self.path))
    }

    /// Current value; for a choice such as `[none] mq-deadline` the word in brackets.
    pub(super) fn read(&self) -> Result<String, SettingError> {
        let mut buffer = [0; MAX_VALUE_BYTES];
        let length = self
            .file
            .read_at(&mut buffer, 0)
            .map_err(io_error("read", &self.path))?;
        let text = std::str::from_utf8(&buffer[..length])
            .map_err(|error| io_error("read", &self.path)(io::Error::other(error)))?;
        let chosen = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'))
            .map(|(word, _)| word);
        Ok(chosen.unwrap_or(text.trim()).to_owned())
    }

    /// Changes the value.
    pub(super) fn write(&self, value: &str) -> Result<(), SettingError> {
        // No effect on kernel files, where a write replaces the value anyway.
        let _ = self.file.set_len(0);
        self.file
            .write_all_at(value.as_bytes(), 0)
            .map_err(io_error("change", &self.path))
    }

    /// Changes the value unless it is the current one; whether it did.
    pub(super) fn write_if_different(&self, value: &str) -> Result<bool, SettingError> {
        let differs = self.read()? != value;
        if differs {
            self.write(value)?;
        }
        Ok(differs)
    }

    /// That the kernel has not accepted a value, unless it is the current one.
    pub(super) fn expect_value(&self, value: &str) -> Result<(), SettingError> {
        if self.read()? == value {
            return Ok(());
        }
        let refused = io::Error::other(format!("it did not accept {value:?}"));
        Err(io_error("change", &self.path)(refused))
    }
}

/// Tries to lock an open file. The kernel releases the lock with the last descriptor, however the
/// process ends.
pub(super) fn try_lock_file(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn open_beneath(root: &Path, relative: &Path) -> rustix::io::Result<File> {
    let relative = resolve_links(root, relative);
    let anchor = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, anchor, Mode::empty())?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let began = Instant::now();
    let opened = loop {
        match rustix::fs::openat2(&root, &relative, flags, Mode::empty(), beneath) {
            // A concurrent rename or mount interrupted the resolution of a `..` (openat2(2)).
            Err(Errno::AGAIN) if began.elapsed() < OPEN_TIMEOUT => {
                std::thread::sleep(OPEN_RETRY_INTERVAL)
            }
            // Kernel before 5.6, or a seccomp filter that does not know openat2. The path is built
            // by this program, so opening it without openat2 is safe.
            Err(Errno::NOSYS | Errno::PERM) => {
                break rustix::fs::openat(&root, &relative, flags, Mode::empty());
            }
            opened => break opened,
        }
    };
    opened.map(File::from)
}

/// Resolves the links of a path so that no `..` is left: any rename on the machine interrupts the
/// kernel at a `..`. A path that leads out of the tree stays unchanged; opening it then fails.
fn resolve_links(root: &Path, relative: &Path) -> PathBuf {
    let mut pending: Vec<OsString> = relative.iter().rev().map(OsString::from).collect();
    let mut resolved = PathBuf::new();
    let mut links = 0;
    while let Some(component) = pending.pop() {
        if component == ".." {
            // All components above are directories at this point.
            if !resolved.pop() {
                return relative.to_owned();
            }
            continue;
        }
        let next = resolved.join(&component);
        match std::fs::read_link(root.join(&next)) {
            Ok(target) if target.is_relative() && links < MAX_LINKS && !pending.is_empty() => {
                links += 1;
                pending.extend(target.iter().rev().map(OsString::from));
            }
            Ok(_) if !pending.is_empty() => return relative.to_owned(),
            _ => resolved = next,
        }
    }
    resolved
}

fn is_in_tree(file: &File, tree: KernelTree) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|about| about.f_type as u64 == tree.file_system_magic())
}
