//! Resolves a path to a directory and a name, component by component, so that no symbolic link of
//! another user determines where an output is written.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;

use crate::named_file::directory::OpenDirectory;
use crate::named_file::error::OutputError;
use crate::named_file::found_file::FoundFile;
use crate::named_file::owner::FileOwner;
use crate::named_file::redirect::Redirect;
use crate::shared_directory::{can_be_rearranged, is_shared, is_writable_by_others};

/// Maximum number of symbolic links, as in the kernel (path_resolution(7)).
const MAX_LINKS: u32 = 40;
/// Result of resolving a path.
#[derive(Debug)]
pub(super) enum ResolvedPath {
    /// A name in a directory, and the file of that name, which is not a symbolic link.
    DirectoryEntry {
        directory: OpenDirectory,
        name: OsString,
        found: Option<FoundFile>,
    },
    /// A descriptor of this process, such as `/dev/stdout` or `/dev/fd/63`.
    Descriptor(i32),
    /// The target of a procfs link, opened with `O_PATH`.
    OpenedFile(FoundFile),
}

/// Resolves a path.
///
/// # Errors
/// When a directory of the path does not exist, when a symbolic link of the path is not trusted, or
/// when the path ends in a directory.
pub(super) fn resolve_path(path: &Path) -> Result<ResolvedPath, OutputError> {
    PathWalk::start(path)?.resolve()
}

/// Resolves the path of a directory for a new file.
///
/// # Errors
/// As for [`resolve_path`], and when it is not a directory.
pub(super) fn resolve_directory(path: &Path) -> Result<OpenDirectory, OutputError> {
    let mut walk = PathWalk::start(path)?;
    while let Some(name) = walk.pending_components.pop_front() {
        walk.enter_directory(&name)?;
    }
    walk.check_redirects(None)?;
    Ok(OpenDirectory::new(walk.directory))
}

fn open_directory(path: &Path, at: impl AsFd, name: &OsStr) -> Result<OwnedFd, OutputError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
        .map_err(|error| OutputError::io("open the directory of", path, error))
}

struct PathWalk<'a> {
    path: &'a Path,
    directory: OwnedFd,
    pending_components: VecDeque<OsString>,
    followed_links: u32,
    /// Users who control where the path leads.
    redirects: Vec<Redirect>,
    /// Users, other than root and the effective user, who can move entries of the directories of
    /// the path.
    movers: Vec<FileOwner>,
}

impl<'a> PathWalk<'a> {
    fn start(path: &'a Path) -> Result<Self, OutputError> {
        let start = if path.is_absolute() { "/" } else { "." };
        let mut walk = Self {
            path,
            directory: open_directory(path, CWD, OsStr::new(start))?,
            pending_components: VecDeque::new(),
            followed_links: 0,
            redirects: Vec::new(),
            movers: Vec::new(),
        };
        walk.push_components(path.as_os_str())?;
        Ok(walk)
    }

    /// Prepends the components of a path to those that remain to be resolved.
    fn push_components(&mut self, path: &OsStr) -> Result<(), OutputError> {
        let bytes = path.as_bytes();
        if bytes.is_empty() {
            return Err(OutputError::io("write", self.path, Errno::NOENT));
        }
        if bytes[0] == b'/' {
            self.directory = open_directory(self.path, CWD, OsStr::new("/"))?;
        }
        let mut components: Vec<OsString> = bytes
            .split(|byte| *byte == b'/')
            .filter(|component| !component.is_empty())
            .map(|component| OsStr::from_bytes(component).to_owned())
            .collect();
        if bytes.ends_with(b"/") {
            components.push(".".into());
        }
        for component in components.into_iter().rev() {
            self.pending_components.push_front(component);
        }
        Ok(())
    }

    fn resolve(mut self) -> Result<ResolvedPath, OutputError> {
        while let Some(name) = self.pending_components.pop_front() {
            let is_dots = name == "." || name == "..";
            if is_dots || !self.pending_components.is_empty() {
                self.enter_directory(&name)?;
                continue;
            }
            let found = self.open_entry(&name)?;
            if let Some(link) = &found
                && link.file_type() == FileType::Symlink
            {
                if link.is_procfs() {
                    return self.resolve_procfs_link(&name, link);
                }
                self.follow_link(&name, link)?;
                continue;
            }
            self.check_redirects(found.as_ref())?;
            return Ok(ResolvedPath::DirectoryEntry {
                directory: OpenDirectory::new(self.directory),
                name,
                found,
            });
        }
        Err(OutputError::unsuitable(self.path, "a directory"))
    }

    /// Opens the file of that name. All queries use the descriptor, so that all results are about
    /// the same file.
    fn open_entry(&self, name: &OsStr) -> Result<Option<FoundFile>, OutputError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |error| OutputError::io("examine", self.path, error);
        let descriptor = match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let stat = fstat(&descriptor).map_err(failed)?;
        Ok(Some(FoundFile { descriptor, stat }))
    }

    /// Enters a directory that is not the last component.
    fn enter_directory(&mut self, name: &OsStr) -> Result<(), OutputError> {
        let failed = |path, error| OutputError::io("open the directory of", path, error);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // This triggers an automount (autofs); stat does not.
        match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(directory) => return self.descend(name, directory),
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => return Err(failed(self.path, error)),
        }
        let found = self
            .open_entry(name)?
            .ok_or_else(|| failed(self.path, Errno::NOENT))?;
        match found.file_type() {
            FileType::Symlink if found.is_procfs() => {
                self.check_procfs_link(&found)?;
                // Only the kernel creates names there.
                self.directory = open_directory(self.path, &self.directory, name)?;
                Ok(())
            }
            FileType::Symlink => self.follow_link(name, &found),
            FileType::Directory => self.descend(name, found.descriptor),
            _ => Err(failed(self.path, Errno::NOTDIR)),
        }
    }

    fn follow_link(&mut self, name: &OsStr, link: &FoundFile) -> Result<(), OutputError> {
        self.followed_links += 1;
        if self.followed_links > MAX_LINKS {
            return Err(OutputError::io("follow", self.path, Errno::LOOP));
        }
        let around = self.stat_directory()?;
        let (owner, owner_around) = (link.owner(), FileOwner::of_file(&self.directory, &around));
        // The same rule as fs.protected_symlinks, which may be off.
        if is_shared(&around) && !owner.is_effective_user() && !owner.is_same(owner_around) {
            return Err(self.untrusted_error(format!(
                "{} is a symbolic link that {owner} created in a directory that others can write",
                name.display(),
            )));
        }
        // If fs.protected_hardlinks is off, any user can create a hard link to a link of another
        // user.
        if is_shared(&around) && link.stat.st_nlink > 1 {
            return Err(self.untrusted_error(format!(
                "{} is another name of a symbolic link of {owner}, in a directory that others can \
                 write",
                name.display(),
            )));
        }
        self.note_movers(owner_around, &around);
        if !owner.is_trusted() {
            self.redirects.push(Redirect::Link(owner));
        }
        // A user who can move entries of a directory can move links of others in it and below it.
        let movers = self.movers.iter().copied();
        self.redirects.extend(movers.map(Redirect::Link));
        self.redirects.extend(Redirect::of_medium(link));
        let target = readlinkat(&link.descriptor, "", Vec::new())
            .map_err(|error| OutputError::io("follow", self.path, error))?;
        self.push_components(&OsString::from_vec(target.into_bytes()))
    }

    /// Enters a directory from the current one.
    fn descend(&mut self, name: &OsStr, directory: OwnedFd) -> Result<(), OutputError> {
        let around = self.stat_directory()?;
        let owner = FileOwner::of_file(&self.directory, &around);
        if name == ".." {
            self.check_parent((owner, &around), &directory)?;
        }
        self.note_movers(owner, &around);
        self.directory = directory;
        Ok(())
    }

    /// A user who can write to a directory and to both parents can move it to another parent, so
    /// that its `..` leads where that user wants (rename(2)).
    fn check_parent(
        &mut self,
        (owner, around): (FileOwner, &Stat),
        parent: &OwnedFd,
    ) -> Result<(), OutputError> {
        let about = fstat(parent).map_err(|error| OutputError::io("examine", self.path, error))?;
        let is_open = is_writable_by_others(parent, &about);
        if !is_open && FileOwner::of_file(parent, &about).is_trusted() {
            return Ok(());
        }
        if !owner.is_trusted() {
            self.redirects.push(Redirect::Parent(owner));
        }
        if is_writable_by_others(&self.directory, around) {
            self.redirects.push(Redirect::Parent(FileOwner::Anybody));
        }
        Ok(())
    }

    /// Records who can move entries of the current directory.
    fn note_movers(&mut self, owner: FileOwner, around: &Stat) {
        let mut note = |mover| {
            if !self.movers.contains(&mover) {
                self.movers.push(mover);
            }
        };
        if !owner.is_trusted() {
            note(owner);
        }
        if can_be_rearranged(&self.directory, around) {
            note(FileOwner::Anybody);
        }
    }

    /// Status of the current directory.
    fn stat_directory(&self) -> Result<Stat, OutputError> {
        fstat(&self.directory)
            .map_err(|error| OutputError::io("examine the directory of", self.path, error))
    }

    /// A redirect of another user may lead to files of that user only.
    fn check_redirects(&self, found: Option<&FoundFile>) -> Result<(), OutputError> {
        if self.redirects.is_empty() {
            return Ok(());
        }
        let (owner, device) = match found {
            Some(found) => (found.owner(), found.stat.st_dev),
            None => {
                let around = self.stat_directory()?;
                (FileOwner::of_file(&self.directory, &around), around.st_dev)
            }
        };
        let refused = |redirect: &&Redirect| !redirect.permits(owner, device);
        match self.redirects.iter().find(refused) {
            None => Ok(()),
            Some(Redirect::Medium(_)) => Err(self.untrusted_error(
                "a symbolic link on a medium leads off it, which may have been created elsewhere: it \
                 is mounted nosuid and nodev and not listed in /etc/fstab"
                    .to_owned(),
            )),
            Some(redirect) => {
                Err(self
                    .untrusted_error(format!("{redirect} leads there, and it belongs to {owner}")))
            }
        }
    }

    fn untrusted_error(&self, reason: String) -> OutputError {
        OutputError::UntrustedPath {
            path: self.path.to_owned(),
            reason,
        }
    }

    /// A procfs link leads to an open file of a process, regardless of the owner of the file. It is
    /// followed only if no other user chose it. An open file of another user's process counts as
    /// a link of that user.
    fn check_procfs_link(&mut self, link: &FoundFile) -> Result<(), OutputError> {
        if let Some(redirect) = self.redirects.first() {
            return Err(
                self.untrusted_error(format!("{redirect} leads to an open file of a process"))
            );
        }
        let owner = link.owner();
        if !owner.is_trusted() {
            self.redirects.push(Redirect::Link(owner));
        }
        Ok(())
    }

    /// The last component is a procfs link: a descriptor of this process, or an open file of
    /// another one.
    fn resolve_procfs_link(
        mut self,
        name: &OsStr,
        link: &FoundFile,
    ) -> Result<ResolvedPath, OutputError> {
        self.check_procfs_link(link)?;
        let number = name.to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number
            && self.is_own_descriptors()
        {
            return Ok(ResolvedPath::Descriptor(number));
        }
        let failed = |error| OutputError::io("open", self.path, error);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let descriptor = openat(&self.directory, name, flags, Mode::empty()).map_err(failed)?;
        let stat = fstat(&descriptor).map_err(failed)?;
        let found = FoundFile { descriptor, stat };
        self.check_redirects(Some(&found))?;
        Ok(ResolvedPath::OpenedFile(found))
    }

    fn is_own_descriptors(&self) -> bool {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let same = |path: &str| {
            // The inode number is valid while it is open.
            let own = openat(CWD, path, flags, Mode::empty()).ok()?;
            let (own, walked) = (fstat(&own).ok()?, fstat(&self.directory).ok()?);
            Some((own.st_dev, own.st_ino) == (walked.st_dev, walked.st_ino))
        };
        ["/proc/self/fd", "/proc/thread-self/fd"]
            .into_iter()
            .any(|path| same(path) == Some(true))
    }
}
