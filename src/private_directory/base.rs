//! Resolves a path from the root directory on, and accepts only components that root or one user
//! controls: the path to a private directory, or to a program.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, Stat, Uid, fstat, fstatfs, mkdirat, openat, readlinkat,
};
use rustix::io::Errno;

use crate::private_directory::error::PrivateDirectoryError;
use crate::shared_directory::{can_be_rearranged_by_others_than, is_shared};

/// Permission bits of the program's own directories.
pub(super) const DIRECTORY_MODE: Mode = Mode::RWXU;

/// Maximum number of symbolic links, as in the kernel (path_resolution(7)).
const MAX_LINKS: u32 = 40;
/// `f_type` of FUSE (statfs(2)): its server determines the owner of a file.
const FUSE_SUPER_MAGIC: rustix::fs::FsWord = 0x6573_5546;

/// Opens a directory by its path. `create` creates missing directories for the owner only.
///
/// # Errors
/// When a directory or symbolic link of the path belongs to a user other than root and the
/// effective user, when others could move entries of such a directory, or when the kernel refuses.
pub(super) fn open(base: &Path, create: bool) -> Result<OwnedFd, PrivateDirectoryError> {
    let mut walk = Walk::start(base, rustix::process::geteuid(), create)?;
    match walk.resolve()? {
        None => Ok(walk.reached.descriptor),
        Some(_) => Err(PrivateDirectoryError::NotDirectory {
            path: base.to_owned(),
        }),
    }
}

/// Whether the existing part of a path leads only through directories and links of root and the
/// effective user that no one else can move.
#[must_use]
pub fn is_trusted(path: &Path) -> bool {
    match open(path, false) {
        Ok(_) => true,
        Err(error) => error.is_not_found(),
    }
}

/// A trusted directory, or the file at the end of a path.
struct Reached {
    descriptor: OwnedFd,
    stat: Stat,
    /// Path for display.
    path: PathBuf,
}

impl Reached {
    fn open(path: &Path, user: Uid) -> Result<Self, PrivateDirectoryError> {
        let failed = || PrivateDirectoryError::errno("open", path);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = openat(CWD, path, flags, Mode::empty()).map_err(failed())?;
        let stat = fstat(&descriptor).map_err(failed())?;
        let reached = Self {
            descriptor,
            stat,
            path: path.to_owned(),
        };
        reached.check(user)?;
        Ok(reached)
    }

    fn check(&self, user: Uid) -> Result<(), PrivateDirectoryError> {
        check_owner(&self.stat, &self.path, user)?;
        if can_be_rearranged_by_others_than(user, &self.descriptor, &self.stat) {
            return Err(writable_error(&self.path, &self.stat));
        }
        Ok(())
    }
}

struct Walk {
    /// Trusted beside root.
    user: Uid,
    reached: Reached,
    pending: VecDeque<OsString>,
    links: u32,
    create: bool,
}

impl Walk {
    fn start(path: &Path, user: Uid, create: bool) -> Result<Self, PrivateDirectoryError> {
        let start = Path::new(if path.is_absolute() { "/" } else { "." });
        let mut walk = Self {
            user,
            reached: Reached::open(start, user)?,
            pending: VecDeque::new(),
            links: 0,
            create,
        };
        walk.push(path.as_os_str());
        Ok(walk)
    }

    /// Resolves all components; yields the file if the path ends in one.
    fn resolve(&mut self) -> Result<Option<Reached>, PrivateDirectoryError> {
        while let Some(name) = self.pending.pop_front() {
            let file = self.enter(&name)?;
            if file.is_some() {
                return Ok(file);
            }
        }
        Ok(None)
    }

    /// Prepends the components of a path to those that remain to be resolved.
    fn push(&mut self, path: &OsStr) {
        let components = path.as_bytes().split(|byte| *byte == b'/').rev();
        for component in components.filter(|component| !component.is_empty()) {
            self.pending.push_front(OsStr::from_bytes(component).into());
        }
    }

    /// Enters a directory or follows a link; yields the file that is the last component.
    fn enter(&mut self, name: &OsStr) -> Result<Option<Reached>, PrivateDirectoryError> {
        let path = self.reached.path.join(name);
        let failed = |tried| PrivateDirectoryError::errno(tried, &path);
        let descriptor = self.look_up(name, &path)?;
        let stat = fstat(&descriptor).map_err(failed("examine"))?;
        check_owner(&stat, &path, self.user)?;
        let is_fuse = || fstatfs(&descriptor).is_ok_and(|facts| facts.f_type == FUSE_SUPER_MAGIC);
        if is_shared(&self.reached.stat) && is_fuse() {
            // Any user may have mounted it on a directory there.
            return Err(untrusted(&path, "it is a FUSE file system".to_owned()));
        }
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Symlink {
            self.follow(&descriptor, &stat, &path)?;
            return Ok(None);
        }
        let reached = Reached {
            descriptor,
            stat,
            path,
        };
        if kind == FileType::Directory {
            reached.check(self.user)?;
            self.reached = reached;
            return Ok(None);
        }
        if !self.pending.is_empty() {
            return Err(PrivateDirectoryError::NotDirectory { path: reached.path });
        }
        // If fs.protected_hardlinks is off, any user can create a hard link to a file of root.
        if is_shared(&self.reached.stat) && reached.stat.st_nlink > 1 {
            let reason = "it is another name of a file, in a directory that others can write";
            return Err(untrusted(&reached.path, reason.to_owned()));
        }
        Ok(Some(reached))
    }

    fn look_up(&self, name: &OsStr, path: &Path) -> Result<OwnedFd, PrivateDirectoryError> {
        let here = &self.reached.descriptor;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // This triggers an automount (autofs).
        let mounted = openat(here, name, flags | OFlags::DIRECTORY, Mode::empty());
        let found = match mounted {
            Err(Errno::NOTDIR | Errno::LOOP) => openat(here, name, flags, Mode::empty()),
            found => found,
        };
        let found = match found {
            Err(Errno::NOENT) if self.create => {
                match mkdirat(here, name, DIRECTORY_MODE) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => {
                        return Err(PrivateDirectoryError::errno("make the directory", path)(
                            error,
                        ));
                    }
                }
                openat(here, name, flags, Mode::empty())
            }
            found => found,
        };
        found.map_err(PrivateDirectoryError::errno("open", path))
    }

    fn follow(
        &mut self,
        link: &OwnedFd,
        stat: &Stat,
        path: &Path,
    ) -> Result<(), PrivateDirectoryError> {
        // If fs.protected_hardlinks is off, any user can create a hard link to a link of root.
        if is_shared(&self.reached.stat) && stat.st_nlink > 1 {
            let reason = "it is another name of a symbolic link".to_owned();
            return Err(untrusted(path, reason));
        }
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(PrivateDirectoryError::errno("follow", path)(Errno::LOOP));
        }
        let target = readlinkat(link, "", Vec::new())
            .map_err(PrivateDirectoryError::errno("follow", path))?;
        let target = OsString::from_vec(target.into_bytes());
        if target.as_bytes().starts_with(b"/") {
            self.reached = Reached::open(Path::new("/"), self.user)?;
        }
        self.push(&target);
        Ok(())
    }
}

fn check_owner(stat: &Stat, path: &Path, user: Uid) -> Result<(), PrivateDirectoryError> {
    match stat.st_uid {
        0 => Ok(()),
        owner if owner == user.as_raw() || is_outside(owner) => Ok(()),
        owner => Err(untrusted(path, format!("it belongs to user {owner}"))),
    }
}

/// Whether an owner has no mapping in this user namespace (user_namespaces(7)), like root of the
/// host in an unprivileged one: all unmapped owners have the same number.
fn is_outside(owner: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let overflow = read("/proc/sys/kernel/overflowuid").trim().parse();
    overflow == Ok(owner) && !is_mapped(&read("/proc/self/uid_map"), owner)
}

/// Whether a user exists in a namespace; `true` if unknown.
fn is_mapped(map: &str, user: u32) -> bool {
    let ranges = map.lines().map(|line| {
        let mut fields = line.split_ascii_whitespace().map(str::parse::<u64>);
        let first = fields.next()?.ok()?;
        let length = fields.nth(1)?.ok()?;
        Some(first..first + length)
    });
    let ranges: Option<Vec<_>> = ranges.collect();
    ranges.is_none_or(|ranges| {
        ranges.is_empty() || ranges.iter().any(|range| range.contains(&user.into()))
    })
}

fn writable_error(path: &Path, stat: &Stat) -> PrivateDirectoryError {
    let mode = stat.st_mode & 0o7777;
    let reason = format!("other users can write to it (mode {mode:04o})");
    untrusted(path, reason)
}

fn untrusted(path: &Path, reason: String) -> PrivateDirectoryError {
    PrivateDirectoryError::Untrusted {
        path: path.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::is_mapped;

    #[test]
    fn owner_outside_of_a_user_namespace_is_known_by_its_map() {
        assert!(is_mapped("         0          0 4294967295\n", 65534));
        assert!(is_mapped("0 1000 1\n1 100000 65536\n", 65534));
        assert!(!is_mapped("1000 1000 1\n", 65534));
        assert!(!is_mapped("0 1000 1\n", 65534));
        assert!(is_mapped("", 65534));
        assert!(is_mapped("broken\n", 65534));
    }
}
