//! The file: where it is, and whether it may be trusted.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::ConfigError;

/// Longest file that is read; a configuration has a few lines.
const MAX_BYTES: u64 = 64 << 10;
/// Permission of the group to write.
const WRITABLE_BY_GROUP: u32 = 0o020;
/// Permission of everybody else to write.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// Why a file is ignored. A file that another user can change would let that user decide what this
/// user's program does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnoredFile {
    /// It belongs to another user.
    #[error("{} is ignored: it belongs to user {owner}, not to this user or root", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others may write it.
    #[error("{} is ignored: other users may write it (mode {mode:04o})", path.display())]
    Writable {
        /// The file, or its directory.
        path: PathBuf,
        /// Its permissions. No command is offered that changes them: the path can lead to a directory
        /// that everybody has to be able to write.
        mode: u32,
    },
    /// This user may not read it: another user's environment, or rights that were given up.
    #[error("{} is ignored: this user may not read it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// It is not a regular file.
    #[error("{} is ignored: it is not a regular file", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
}

/// What was found.
pub(super) enum FileContent {
    /// There is no file.
    Missing,
    /// The file is not used.
    Ignored(IgnoredFile),
    /// Its text.
    Text(String),
}

/// `$XDG_CONFIG_HOME/diskscope/config.toml`, by default below `~/.config`. A relative path in the
/// variable is ignored, as the XDG specification requires.
#[must_use]
pub fn config_path() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("diskscope/config.toml"))
}

/// Reads the file if this user or root owns it and its directory, and nobody else may write them:
/// otherwise another user could replace the file, by a link to a file of root too. The checks apply
/// to the open directory and file, which cannot be exchanged afterwards.
pub(super) fn read_trusted(path: &Path) -> Result<FileContent, ConfigError> {
    let failed = |source: io::Error| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(FileContent::Missing);
    };
    let directory = match open_existing(CWD, parent.as_os_str(), OFlags::PATH | OFlags::DIRECTORY) {
        Ok(Some(directory)) => directory,
        Ok(None) => return Ok(FileContent::Missing),
        Err(error) => return ignored_by_error(path, error).ok_or_else(|| failed(error.into())),
    };
    if let Some(reason) = distrust(parent, &directory.metadata().map_err(failed)?) {
        return Ok(FileContent::Ignored(reason));
    }
    // Opening a pipe or a device must neither block nor have an effect.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match open_existing(directory.as_fd(), name, flags) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(FileContent::Missing),
        Err(error) => return ignored_by_error(path, error).ok_or_else(|| failed(error.into())),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let path = path.to_owned();
        return Ok(FileContent::Ignored(IgnoredFile::NotRegular { path }));
    }
    if let Some(reason) = distrust(path, &metadata) {
        return Ok(FileContent::Ignored(reason));
    }
    let mut text = String::new();
    let length = file
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if length as u64 > MAX_BYTES {
        return Err(failed(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "a configuration has at most 64 KiB",
        )));
    }
    Ok(FileContent::Text(text))
}

/// Opens it; `None` if it does not exist.
fn open_existing(
    at: BorrowedFd<'_>,
    path: &OsStr,
    flags: OFlags,
) -> rustix::io::Result<Option<File>> {
    match rustix::fs::openat(at, path, flags | OFlags::CLOEXEC, Mode::empty()) {
        Ok(descriptor) => Ok(Some(File::from(descriptor))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The reason to ignore a file that cannot be opened; `None` if the user should know the error.
fn ignored_by_error(path: &Path, error: Errno) -> Option<FileContent> {
    let path = path.to_owned();
    let reason = match error {
        Errno::ACCESS | Errno::PERM => IgnoredFile::Unreadable { path },
        // A socket, or a device without a driver.
        Errno::NXIO | Errno::NODEV => IgnoredFile::NotRegular { path },
        _ => return None,
    };
    Some(FileContent::Ignored(reason))
}

/// Why what this path names may not be trusted; `None` if it may.
fn distrust(path: &Path, metadata: &Metadata) -> Option<IgnoredFile> {
    let path = path.to_owned();
    let owner = metadata.uid();
    if owner != geteuid().as_raw() && owner != 0 {
        return Some(IgnoredFile::Owner { path, owner });
    }
    // A group with the number of the user is the user's own (user private groups).
    let writable_by_others = match metadata.gid() == owner {
        true => WRITABLE_BY_OTHERS,
        false => WRITABLE_BY_OTHERS | WRITABLE_BY_GROUP,
    };
    let mode = metadata.mode() & 0o7777;
    (mode & writable_by_others != 0).then_some(IgnoredFile::Writable { path, mode })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    /// What is read from a file of this mode in a directory of that one. Both belong to a group that
    /// is not the user's own, as far as this process may change it.
    fn content_with_modes(file_mode: u32, directory_mode: u32) -> FileContent {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.toml");
        std::fs::write(&file, "interval = 2\n").unwrap();
        if geteuid().is_root() {
            std::os::unix::fs::chown(&file, None, Some(12)).unwrap();
        }
        set_mode(&file, file_mode);
        set_mode(directory.path(), directory_mode);
        read_trusted(&file).unwrap()
    }

    #[test]
    fn file_that_others_may_write_is_ignored_with_a_sentence() {
        for (file, directory) in [(0o644, 0o755), (0o600, 0o700)] {
            assert!(matches!(
                content_with_modes(file, directory),
                FileContent::Text(_)
            ));
        }
        for (file, directory) in [(0o646, 0o755), (0o666, 0o755), (0o644, 0o757)] {
            let FileContent::Ignored(reason) = content_with_modes(file, directory) else {
                panic!("{file:o} {directory:o}");
            };
            let mode = if file & 0o022 == 0 { directory } else { file };
            let expected = format!("other users may write it (mode {mode:04o})");
            assert!(reason.to_string().ends_with(&expected), "{reason}");
        }
        if geteuid().is_root() {
            let foreign_group = content_with_modes(0o664, 0o755);
            assert!(matches!(foreign_group, FileContent::Ignored(_)));
        }
    }

    #[test]
    fn missing_file_pipe_socket_device_and_directory_have_no_content() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("diskscope");
        std::fs::create_dir(&directory).unwrap();
        let missing = read_trusted(&directory.join("none/config.toml"));
        assert!(matches!(missing, Ok(FileContent::Missing)));
        let pipe = directory.join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        let socket = directory.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [directory.as_path(), &pipe, &socket, Path::new("/dev/zero")] {
            let read = read_trusted(path);
            assert!(
                matches!(
                    &read,
                    Ok(FileContent::Ignored(IgnoredFile::NotRegular { .. }))
                ),
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn symbolic_link_is_followed_and_a_cycle_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("real"), directory.path().join("link"));
        std::fs::write(&file, "interval = 2\n").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(matches!(read_trusted(&link), Ok(FileContent::Text(_))));
        let cycle = directory.path().join("cycle");
        std::os::unix::fs::symlink(&cycle, &cycle).unwrap();
        assert!(read_trusted(&cycle).is_err());
    }

    #[test]
    fn long_file_and_file_that_is_not_text_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.toml");
        std::fs::write(&file, vec![b'#'; 64 << 10]).unwrap();
        assert!(matches!(read_trusted(&file), Ok(FileContent::Text(_))));
        for content in [vec![b'#'; (64 << 10) + 1], vec![0xff, 0xfe]] {
            std::fs::write(&file, content).unwrap();
            assert!(read_trusted(&file).is_err());
        }
    }
}
