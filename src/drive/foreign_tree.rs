//! Files and directories of others, looked at without an effect: nothing is mounted by it, and no
//! directory gets another time of access.
//!
//! An automount is triggered by every path that leads through it, and by statx(2) of it without
//! `AT_NO_AUTOMOUNT`. A path is therefore followed by its components, each opened with `O_PATH`, and
//! none is looked up in a directory of autofs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Statx, StatxAttributes, StatxFlags, fstatfs, openat,
    readlinkat, statx,
};
use rustix::io::{Errno, Result};

use crate::drive::mountinfo::{MountinfoLine, mountinfo_lines, unescape};

/// `f_type` of autofs and procfs (statfs(2)).
const AUTOFS_SUPER_MAGIC: u64 = 0x187;
const PROC_SUPER_MAGIC: u64 = 0x9fa0;
/// Symbolic links in one path, as for the kernel (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// Status of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileStatus(Statx);

impl FileStatus {
    fn read(at: impl AsFd, name: impl rustix::path::Arg) -> Result<Self> {
        let flags = AtFlags::NO_AUTOMOUNT | AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        statx(
            at,
            name,
            flags,
            StatxFlags::BASIC_STATS | StatxFlags::MNT_ID,
        )
        .map(Self)
    }

    /// Status of what a path names, without a link at its end: for a path that was found to lead
    /// through no automount.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn of_path(path: &Path) -> Result<Self> {
        Self::read(CWD, path)
    }

    /// Number of its file system.
    #[must_use]
    pub fn device(&self) -> (u32, u32) {
        (self.0.stx_dev_major, self.0.stx_dev_minor)
    }

    /// Its file system and inode.
    #[must_use]
    pub fn identity(&self) -> ((u32, u32), u64) {
        (self.device(), self.0.stx_ino)
    }

    /// Whether it is this file or directory, seen by the same mount. Before Linux 5.8 mounts are not distinguished.
    fn is_same_place(&self, other: &Self) -> bool {
        self.identity() == other.identity() && self.0.stx_mnt_id == other.0.stx_mnt_id
    }

    /// Its type.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(u32::from(self.0.stx_mode))
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.file_type() == FileType::Directory
    }

    /// Whether it is a regular file.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.file_type() == FileType::RegularFile
    }

    /// Number of the block device that it is; `None` for other files.
    #[must_use]
    pub fn block_device(&self) -> Option<(u32, u32)> {
        let is_block = self.file_type() == FileType::BlockDevice;
        is_block.then_some((self.0.stx_rdev_major, self.0.stx_rdev_minor))
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.0.stx_size
    }

    /// Bytes that its blocks take.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.0.stx_blocks.saturating_mul(512)
    }

    /// When it was changed last.
    #[must_use]
    pub fn changed(&self) -> SystemTime {
        system_time(self.0.stx_ctime.tv_sec, self.0.stx_ctime.tv_nsec)
    }

    /// Whether an entry of a directory on this file system is another mount, a subvolume with a
    /// number of its own, or something that is mounted when it is accessed. Before Linux 5.8 a bind
    /// mount of the same file system is not recognized.
    #[must_use]
    pub fn is_outside_of(&self, device: (u32, u32)) -> bool {
        let outside = StatxAttributes::MOUNT_ROOT | StatxAttributes::AUTOMOUNT;
        self.device() != device || self.0.stx_attributes.intersects(outside)
    }
}

fn system_time(seconds: i64, nanoseconds: u32) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

/// An entry of a directory, as the directory describes it.
#[derive(Debug, Clone)]
pub struct EntryName {
    /// Its name.
    pub name: OsString,
}

/// A file or directory that is held, but not opened (`O_PATH`).
#[derive(Debug)]
pub struct ForeignFile {
    handle: OwnedFd,
    status: FileStatus,
    /// Whether what is looked up in it may be mounted.
    is_on_autofs: bool,
}

impl ForeignFile {
    fn hold(at: impl AsFd, name: impl rustix::path::Arg, flags: OFlags) -> Result<Self> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        // Without O_DIRECTORY this mounts nothing.
        let handle = openat(at, name, flags, Mode::empty())?;
        let status = FileStatus::read(&handle, "")?;
        Ok(Self {
            handle,
            status,
            is_on_autofs: false,
        })
    }

    /// The entry of that name, also in a directory of autofs.
    fn held_entry(&self, name: &OsStr) -> Result<Self> {
        let entry = Self::hold(&self.handle, name, OFlags::NOFOLLOW)?;
        let is_here = entry.status.device() == self.status.device();
        let is_on_autofs = match is_here {
            true => self.is_on_autofs,
            false => is_on(&entry.handle, AUTOFS_SUPER_MAGIC),
        };
        Ok(Self {
            is_on_autofs,
            ..entry
        })
    }

    fn check_automount(&self) -> Result<()> {
        let automount = StatxAttributes::AUTOMOUNT;
        match self.is_on_autofs || self.status.0.stx_attributes.contains(automount) {
            true => Err(Errno::XDEV),
            false => Ok(()),
        }
    }

    /// Its status when it was found.
    #[must_use]
    pub fn status(&self) -> &FileStatus {
        &self.status
    }

    /// An entry of this directory; a link is not followed.
    ///
    /// # Errors
    /// The kernel's error; `EXDEV` where that could mount something.
    pub fn entry(&self, name: &OsStr) -> Result<Self> {
        self.check_automount()?;
        self.held_entry(name)
    }

    /// Status of an entry of this directory; a link is not followed.
    ///
    /// # Errors
    /// The kernel's error; `EXDEV` where that could mount something.
    pub fn status_of(&self, name: &OsStr) -> Result<FileStatus> {
        self.check_automount()?;
        FileStatus::read(&self.handle, name)
    }

    /// What is below this directory; no links are followed.
    ///
    /// # Errors
    /// The kernel's error; `EXDEV` where that could mount something.
    pub fn below(&self, path: &Path) -> Result<Self> {
        self.descend(path, |_| true)
    }

    /// The same, within the mount of this directory only.
    ///
    /// # Errors
    /// The kernel's error; `EXDEV` for what [`FileStatus::is_outside_of`] it.
    pub fn below_in_mount(&self, path: &Path) -> Result<Self> {
        let device = self.status.device();
        self.descend(path, |entry| !entry.status.is_outside_of(device))
    }

    fn descend(&self, path: &Path, may_enter: impl Fn(&Self) -> bool) -> Result<Self> {
        let mut place = self.held_entry(OsStr::new("."))?;
        for component in path.components() {
            if let Component::Normal(name) = component {
                let entry = place.entry(name)?;
                if !may_enter(&entry) {
                    return Err(Errno::XDEV);
                }
                place = entry;
            }
        }
        Ok(place)
    }

    /// Opens this file for reading, if it is a regular one. That breaks a write lease.
    ///
    /// # Errors
    /// The kernel's error; `EINVAL` for anything but a regular file.
    pub fn open_regular(&self) -> Result<File> {
        if !self.status.is_regular() {
            return Err(Errno::INVAL);
        }
        // The file that was examined: to open another one, such as a watchdog, may have an effect.
        let link = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        openat(CWD, link, flags, Mode::empty()).map(File::from)
    }

    /// Opens this directory, not to list it.
    ///
    /// # Errors
    /// The kernel's error; `EXDEV` for an automount.
    pub fn open_directory(&self) -> Result<OwnedFd> {
        self.open_with(OFlags::empty())
    }

    fn open_with(&self, flags: OFlags) -> Result<OwnedFd> {
        self.check_automount()?;
        let flags = flags | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.handle, ".", flags, Mode::empty())
    }

    /// The descriptor that holds it.
    #[must_use]
    pub fn into_handle(self) -> OwnedFd {
        self.handle
    }

    /// The entries of this directory, up to the first that cannot be read.
    ///
    /// # Errors
    /// The kernel's error; `EXDEV` for an automount, `EPERM` for a directory of another user, who
    /// would see another time of access: reading without that needs CAP_FOWNER.
    pub fn entries(&self) -> Result<impl Iterator<Item = EntryName> + use<>> {
        let listing = Dir::new(self.open_with(OFlags::NOATIME)?)?;
        Ok(listing.map_while(Result::ok).filter_map(|entry| {
            let name = entry.file_name().to_bytes();
            (name != b"." && name != b"..").then(|| EntryName {
                name: OsStr::from_bytes(name).to_owned(),
            })
        }))
    }
}

fn is_on(file: impl AsFd, magic: u64) -> bool {
    fstatfs(file).is_ok_and(|about| about.f_type as u64 == magic)
}

/// The tree of files that a process sees.
#[derive(Debug, Clone)]
pub struct ForeignTree {
    root: PathBuf,
    mount_table: PathBuf,
}

impl ForeignTree {
    /// The tree of this process.
    #[must_use]
    pub fn own() -> Self {
        Self::with_root("/", Path::new("/proc/thread-self"))
    }

    /// The tree with this root, and the mounts of a process, which is given by its directory below
    /// `/proc`.
    #[must_use]
    pub fn with_root(root: impl Into<PathBuf>, process: &Path) -> Self {
        Self {
            root: root.into(),
            mount_table: process.join("mountinfo"),
        }
    }

    /// What an absolute path leads to.
    ///
    /// # Errors
    /// The kernel's error; `EXDEV` where following it could mount something, `ELOOP` also where it leads
    /// through a link of procfs, as with `RESOLVE_NO_MAGICLINKS` of openat2(2).
    pub fn find(&self, path: &Path) -> Result<ForeignFile> {
        self.find_if(path, |_, _| true)
    }

    /// The same as long as `may_look_up`: it is asked for each path, without links, before that is looked up in
    /// the directory that it is in.
    ///
    /// # Errors
    /// As [`Self::find`]; `EXDEV` also for a path that may not be looked up.
    pub fn find_if(
        &self,
        path: &Path,
        may_look_up: impl Fn(&Path, &ForeignFile) -> bool,
    ) -> Result<ForeignFile> {
        let found = self.follow(path, true, &may_look_up);
        found.map(|(_, found)| found)
    }

    /// The same without following a link at the end of the path.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_entry(&self, path: &Path) -> Result<ForeignFile> {
        self.follow(path, false, &|_, _| true)
            .map(|(_, found)| found)
    }

    /// The path without links of what a path leads to, if neither the way there nor what is below it
    /// contains an automount; `None` also where the mount table cannot be read.
    #[must_use]
    pub fn path_without_automounts(&self, path: &Path) -> Option<PathBuf> {
        let (path, found) = self.follow(path, true, &|_, _| true).ok()?;
        found.check_automount().ok()?;
        let is_below = |mount: &MountinfoLine<'_>| {
            mount.file_system == b"autofs" && mount_point(mount).starts_with(&path)
        };
        let table = fs::read(&self.mount_table).ok()?;
        let has_automounts = mountinfo_lines(&table).any(|mount| is_below(&mount));
        (!has_automounts).then_some(path)
    }

    fn follow(
        &self,
        path: &Path,
        follows_last: bool,
        may_look_up: &dyn Fn(&Path, &ForeignFile) -> bool,
    ) -> Result<(PathBuf, ForeignFile)> {
        let root = ForeignFile::hold(CWD, &self.root, OFlags::empty())?;
        let mut place = root.held_entry(OsStr::new("."))?;
        let mut place_path = PathBuf::from("/");
        let mut remaining = Vec::new();
        push_components(&mut remaining, path);
        let mut links = 0;
        while let Some(name) = remaining.pop() {
            if name == ".." {
                if !place.status.is_same_place(&root.status) {
                    place = place.held_entry(&name)?;
                    place_path.pop();
                }
                continue;
            }
            let entry_path = place_path.join(&name);
            // What is mounted already is not mounted again.
            if let Err(error) = place.check_automount()
                && !self.is_mounted(&entry_path)
            {
                return Err(error);
            }
            if !may_look_up(&entry_path, &place) {
                return Err(Errno::XDEV);
            }
            let entry = place.held_entry(&name)?;
            let is_link = entry.status.file_type() == FileType::Symlink;
            if !is_link || remaining.is_empty() && !follows_last {
                (place, place_path) = (entry, entry_path);
                continue;
            }
            links += 1;
            // The links of procfs depend on who follows them.
            if links > MAX_LINKS || is_on(&entry.handle, PROC_SUPER_MAGIC) {
                return Err(Errno::LOOP);
            }
            let target = readlinkat(&entry.handle, "", Vec::new())?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                place = root.held_entry(OsStr::new("."))?;
                place_path = PathBuf::from("/");
            }
            push_components(&mut remaining, &target);
        }
        Ok((place_path, place))
    }

    fn is_mounted(&self, path: &Path) -> bool {
        let table = fs::read(&self.mount_table).unwrap_or_default();
        mountinfo_lines(&table)
            .any(|mount| mount.file_system != b"autofs" && mount_point(&mount) == path)
    }
}

fn mount_point(mount: &MountinfoLine<'_>) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(mount.mount_point)))
}

/// Puts the components of a path on a stack, the first on top.
fn push_components(stack: &mut Vec<OsString>, path: &Path) {
    let names = path.components().rev().filter_map(|component| {
        let is_name = matches!(component, Component::Normal(_) | Component::ParentDir);
        is_name.then(|| component.as_os_str().to_owned())
    });
    stack.extend(names);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::process::{Command, Stdio};

    fn tree_below(root: &Path) -> ForeignTree {
        ForeignTree::with_root(root, &root.join("proc/7"))
    }

    fn found_inode(tree: &ForeignTree, path: &str) -> Option<u64> {
        Some(tree.find(Path::new(path)).ok()?.status().identity().1)
    }

    #[test]
    fn links_are_followed_within_the_root_of_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("srv/data")).unwrap();
        fs::write(root.join("srv/data/file"), "x").unwrap();
        symlink("/srv/data", root.join("absolute")).unwrap();
        symlink("../srv/../../srv/data", root.join("srv/relative")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let tree = tree_below(root);
        let inode = fs::metadata(root.join("srv/data/file")).unwrap().ino();
        for path in [
            "/srv/data/file",
            "/absolute/file",
            "/srv/relative/file",
            "/../srv/./data//file",
        ] {
            assert_eq!(found_inode(&tree, path), Some(inode), "{path}");
        }
        for path in ["/circle", "/srv/data/file/x", "/none"] {
            assert_eq!(found_inode(&tree, path), None, "{path}");
        }
        let link = tree.find_entry(Path::new("/absolute")).unwrap();
        assert_eq!(link.status().file_type(), FileType::Symlink);
    }

    #[test]
    fn path_is_looked_up_only_where_it_may_be() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("dev/disk")).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        fs::write(root.join("dev/sda"), "x").unwrap();
        fs::write(root.join("home/file"), "x").unwrap();
        symlink("../sda", root.join("dev/disk/name")).unwrap();
        symlink("/home/file", root.join("dev/disk/foreign")).unwrap();
        let tree = tree_below(root);
        let find = |path: &str| {
            let is_node = |path: &Path, _: &ForeignFile| path.starts_with("/dev");
            tree.find_if(Path::new(path), is_node).map(drop)
        };
        assert_eq!(find("/dev/disk/name"), Ok(()));
        for path in ["/dev/disk/foreign", "/dev/../home/file", "/home/file"] {
            assert_eq!(find(path), Err(Errno::XDEV), "{path}");
            assert!(tree.find(Path::new(path)).is_ok(), "{path}");
        }
    }

    #[test]
    fn links_of_procfs_are_not_followed() {
        let tree = ForeignTree::own();
        assert!(tree.find(Path::new("/proc/self/status")).is_err());
        assert!(tree.find(Path::new("/proc/version")).is_ok());
    }

    #[test]
    fn parent_of_a_bind_mount_of_the_root_is_the_directory_that_it_is_mounted_in() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("in/point")).unwrap();
        fs::write(root.join("in/file"), "x").unwrap();
        fs::write(root.join("file"), "x").unwrap();
        let script = "mount --bind . in/point && echo mounted && read line";
        let mut other = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let answer = BufReader::new(other.stdout.take().unwrap()).read_line(&mut line);
        answer.unwrap();
        if line.is_empty() {
            other.wait().unwrap();
            return skip(Requirement::Namespaces, "unshare --mount fails");
        }
        let process = PathBuf::from(format!("/proc/{}", other.id()));
        let inside = process.join("root").join(root.strip_prefix("/").unwrap());
        let tree = ForeignTree::with_root(inside, &process);
        let inode = |path: &str| fs::metadata(root.join(path)).unwrap().ino();
        let found = ["/in/point/../file", "/in/point/../../file", "/../file"]
            .map(|path| found_inode(&tree, path));
        drop(other.stdin.take());
        other.wait().unwrap();
        let expected = ["in/file", "file", "file"].map(|path| Some(inode(path)));
        assert_eq!(found, expected);
    }

    #[test]
    fn entries_are_listed_without_those_of_the_directory_itself() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "abc").unwrap();
        symlink("file", directory.path().join("link")).unwrap();
        let tree = tree_below(directory.path());
        let place = tree.find(Path::new("/")).unwrap();
        let mut names: Vec<_> = place.entries().unwrap().map(|entry| entry.name).collect();
        names.sort();
        assert_eq!(names, ["file", "link"]);
        let status = place.status_of(OsStr::new("file")).unwrap();
        assert!(status.is_regular() && status.size() == 3);
        let link = place.status_of(OsStr::new("link")).unwrap();
        assert_eq!(link.file_type(), FileType::Symlink);
        assert!(place.below(Path::new("link")).is_ok());
    }

    #[test]
    fn path_with_an_automount_below_it_is_not_offered_for_lookups() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("proc/7")).unwrap();
        fs::create_dir_all(root.join("srv/media")).unwrap();
        let table = "30 1 0:30 / /srv/media rw - autofs systemd-1 rw,direct\n";
        fs::write(root.join("proc/7/mountinfo"), table).unwrap();
        let tree = tree_below(root);
        let path = |path: &str| tree.path_without_automounts(Path::new(path));
        assert_eq!(path("/srv"), None);
        assert_eq!(path("/proc/../proc/7"), Some(PathBuf::from("/proc/7")));
        fs::remove_file(root.join("proc/7/mountinfo")).unwrap();
        assert_eq!(path("/proc/7"), None, "the table is not known");
    }
}
