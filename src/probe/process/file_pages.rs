//! Pages of written files that are only in memory.
//!
//! A file is opened for each look and closed at once: an open descriptor keeps a file system
//! mounted. The kernel tells its pages in the page cache by cachestat(2) (mm/filemap.c; since 6.5).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, openat, statx};
use rustix::io::Errno;

use crate::probe::file_systems::MountedFileSystem;
use crate::probe::process::closed_files::find_closed;
use crate::probe::sample::{FilePages, FollowedFile, PagesUnknown, UnwrittenBytes};
use crate::probe::text::{nonempty_lines, read_file, split_fields};
use crate::roots::SysPaths;

/// Device number of a file system and inode number.
type FileId = ((u32, u32), u64);

/// Looks at one file take at most this fraction of the time: after a long look the result is kept for
/// this many times its duration.
const PAUSE_PER_LOOK: u32 = 50;

/// File systems on block devices that keep the data of a file in the pages of its inode. The pages
/// of an overlay are those of another file, ZFS has a cache of its own, and a FUSE file system
/// writes through the cache of its device: there cachestat(2) returns 0 for data that are in memory
/// only.
const PAGE_CACHE_FILE_SYSTEMS: [&str; 16] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "msdos", "exfat", "ntfs3", "bcachefs",
    "jfs", "nilfs2", "udf", "hfs", "hfsplus",
];

/// Looks at the pages of written files.
#[derive(Debug, Default)]
pub struct FilePageReader {
    /// Files to look at, with the last result and when it is due again.
    files: Vec<(FollowedFile, Option<(FilePages, Duration)>)>,
}

impl FilePageReader {
    /// Sets the files to look at.
    pub fn follow(&mut self, files: Vec<FollowedFile>) {
        let known = std::mem::take(&mut self.files);
        let with_look = |file: FollowedFile| {
            let same = known.iter().find(|(other, _)| other.id == file.id);
            let look = same.and_then(|(_, look)| *look);
            (file, look)
        };
        self.files = files.into_iter().map(with_look).collect();
    }

    /// The state of each file at a time. `file_systems` are those on block devices: others are not
    /// looked at, because a server that does not respond must not block the sampler.
    pub fn read(
        &mut self,
        roots: &SysPaths,
        file_systems: &[MountedFileSystem],
        at: Duration,
    ) -> Vec<FilePages> {
        let look = |(file, last): &mut (FollowedFile, Option<(FilePages, Duration)>)| {
            if let Some((pages, due)) = *last
                && at < due
            {
                return pages;
            }
            let begin = Instant::now();
            let unwritten = look_at(roots, file_systems, file);
            let id = file.id;
            let pages = FilePages { id, unwritten };
            *last = Some((pages, at + begin.elapsed() * PAUSE_PER_LOOK));
            pages
        };
        self.files.iter_mut().map(look).collect()
    }
}

fn look_at(
    roots: &SysPaths,
    file_systems: &[MountedFileSystem],
    file: &FollowedFile,
) -> Result<UnwrittenBytes, PagesUnknown> {
    let is_on_page_cache = |it: &MountedFileSystem| {
        it.device_id == file.id.0
            && PAGE_CACHE_FILE_SYSTEMS.contains(&it.kind.as_str())
            // With `dax`, files are mapped from persistent memory, without pages.
            && !it.has_option("dax")
            && !it.has_option("dax=always")
    };
    if !file_systems.iter().any(is_on_page_cache) {
        return Err(PagesUnknown::FileSystem);
    }
    let handle = find_file(roots, file)?;
    let opened = reopen(&handle).map_err(|error| reason(&error))?;
    unwritten_bytes(&opened).map_err(|error| reason(&error))
}

/// The file through its descriptor while it is open, otherwise at its path or its final path.
///
/// A descriptor without access (O_PATH) has no effect on a device or a pipe that has taken its place.
fn find_file(roots: &SysPaths, file: &FollowedFile) -> Result<OwnedFd, PagesUnknown> {
    if let Some((pid, descriptor)) = file.descriptor {
        let link = roots.proc.join(format!("{pid}/fd/{descriptor}"));
        if let Some(found) = open_link(&link, file.id) {
            let is_leased = has_write_lease(&link);
            return Some(found)
                .filter(|_| !is_leased)
                .ok_or(PagesUnknown::Failed);
        }
    }
    let found = find_closed(&file.path, file.id).filter(|found| found.status().is_regular());
    let found = found.ok_or(PagesUnknown::NotFound)?;
    Ok(found.into_handle())
}

/// What a link of procfs leads to.
fn open_link(link: &Path, id: FileId) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = openat(CWD, link, flags, Mode::empty()).ok()?;
    let at = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let found = statx(&handle, "", at, StatxFlags::INO | StatxFlags::TYPE).ok()?;
    let is_regular = FileType::from_raw_mode(u32::from(found.stx_mode)) == FileType::RegularFile;
    let same = ((found.stx_dev_major, found.stx_dev_minor), found.stx_ino) == id;
    (is_regular && same).then_some(handle)
}

/// Opens the file behind an O_PATH descriptor. Does not wait for the holder of a lease.
fn reopen(handle: &OwnedFd) -> io::Result<File> {
    let link = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = openat(CWD, link, flags, Mode::empty())?;
    Ok(File::from(opened))
}

fn reason(error: &io::Error) -> PagesUnknown {
    match Errno::from_io_error(error) {
        Some(Errno::NOSYS) => PagesUnknown::OldKernel,
        Some(Errno::PERM | Errno::ACCESS) => PagesUnknown::NotPermitted,
        Some(Errno::OPNOTSUPP) => PagesUnknown::FileSystem,
        _ => PagesUnknown::Failed,
    }
}

/// Whether a process holds a write lease on what it has open: opening that breaks the lease, and waits
/// until the process has given it up. `descriptor` is a link below `/proc/PID/fd`.
fn has_write_lease(descriptor: &Path) -> bool {
    let information = || {
        let (directory, number) = (descriptor.parent()?, descriptor.file_name()?);
        read_file(&directory.with_file_name("fdinfo").join(number))
    };
    let is_write_lease = |line: &[u8]| {
        let mut words = split_fields(line);
        words.next() == Some(b"lock:")
            && words.any(|word| word == b"LEASE")
            && words.any(|word| word == b"WRITE")
    };
    information().is_some_and(|text| nonempty_lines(&text).any(is_write_lease))
}

/// Number of the system call: the same on all architectures except alpha
/// (include/uapi/asm-generic/unistd.h).
const SYS_CACHESTAT: libc::c_long = 451;

/// Bytes of a file that are in memory only, in whole pages. A large folio counts with all its pages, as the
/// kernel writes it back as a whole.
///
/// # Errors
///
/// `ENOSYS` before kernel 6.5, `EPERM` for a file of another user that this process may not write.
pub fn unwritten_bytes(file: &File) -> io::Result<UnwrittenBytes> {
    // `struct cachestat_range` (include/uapi/linux/mman.h): from 0 until the end.
    let range = [0_u64; 2];
    // `struct cachestat`: cached, dirty, under writeback, evicted, recently evicted.
    let mut pages = [0_u64; 5];
    // SAFETY: the call reads one range, two 64-bit numbers, and writes five; both arrays outlive it.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            pages.as_mut_ptr(),
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let page_size = rustix::param::page_size() as u64;
    let [cached, dirty, writeback, ..] = pages.map(|count| count.saturating_mul(page_size));
    // A page can be dirty again while it is written back.
    Ok(UnwrittenBytes {
        total: dirty.saturating_add(writeback).min(cached),
        writeback,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::mounts::split_device_number;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;

    fn followed(path: &Path, descriptor: Option<(u32, u32)>) -> FollowedFile {
        let metadata = std::fs::metadata(path).unwrap();
        FollowedFile {
            id: (split_device_number(metadata.dev()), metadata.ino()),
            path: path.as_os_str().as_bytes().into(),
            descriptor,
        }
    }

    fn file_system(device_id: (u32, u32), kind: &str, option: &str) -> MountedFileSystem {
        MountedFileSystem {
            device_id,
            block_device: device_id,
            mount_point: "/".to_owned(),
            path: Some("/".into()),
            kind: kind.to_owned(),
            options: vec![option.to_owned()],
            usage: None,
        }
    }

    #[test]
    fn file_systems_with_other_caches_are_unknown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let wanted = followed(file.path(), None);
        let look = |systems: &[MountedFileSystem]| {
            look_at(&SysPaths::default(), systems, &wanted).unwrap_err()
        };
        let device = wanted.id.0;
        for (kind, option) in [
            ("overlay", "rw"),
            ("zfs", "rw"),
            ("fuseblk", "rw"),
            ("ext4", "dax"),
        ] {
            let system = file_system(device, kind, option);
            assert_eq!(look(&[system]), PagesUnknown::FileSystem, "{kind}");
        }
        assert_eq!(look(&[]), PagesUnknown::FileSystem, "not on a block device");
    }

    #[test]
    fn file_with_a_write_lease_is_not_opened() {
        let process = tempfile::tempdir().unwrap();
        for directory in ["fd", "fdinfo"] {
            std::fs::create_dir(process.path().join(directory)).unwrap();
        }
        let file = process.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let descriptor = process.path().join("fd/3");
        std::os::unix::fs::symlink(&file, &descriptor).unwrap();
        let is_leased_with = |lock: &str| {
            let text = format!("pos:\t0\nflags:\t0100002\nmnt_id:\t29\nino:\t7\n{lock}");
            std::fs::write(process.path().join("fdinfo/3"), text).unwrap();
            has_write_lease(&descriptor)
        };
        assert!(!is_leased_with(""));
        for lock in [
            "lock:\t1: LEASE  ACTIVE    READ 709 fe:00:7 0 EOF\n",
            "lock:\t1: POSIX  ADVISORY  WRITE 709 fe:00:7 0 EOF\n",
        ] {
            assert!(!is_leased_with(lock), "{lock}");
        }
        let lease = "lock:\t1: LEASE  ACTIVE    WRITE 709 fe:00:7 0 EOF\n";
        assert!(is_leased_with(lease));
    }
}
