//! The file: where it is, and whether it may be trusted.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

use super::error::ConfigError;

/// Longest file that is read; a configuration has a few lines.
const MAX_BYTES: u64 = 64 << 10;
/// Permission of the group or of others to write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a file is ignored: with it somebody else would decide what this user's program does.
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
    #[error("{} is ignored: other users may write it (chmod go-w {})", path.display(), path.display())]
    Writable {
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

/// Reads the file if this user or root owns it and nobody else may write it. The checks apply to the
/// open file, which cannot be exchanged afterwards.
pub(super) fn read_trusted(path: &Path) -> Result<FileContent, ConfigError> {
    let failed = |source: io::Error| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    // Opening a pipe or a device must neither block nor have an effect.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
            return Ok(FileContent::Missing);
        }
        Err(error) => return Err(failed(error.into())),
    };
    let metadata = file.metadata().map_err(failed)?;
    let path = path.to_owned();
    if !metadata.is_file() {
        return Ok(FileContent::Ignored(IgnoredFile::NotRegular { path }));
    }
    let owner = metadata.uid();
    if owner != geteuid().as_raw() && owner != 0 {
        return Ok(FileContent::Ignored(IgnoredFile::Owner { path, owner }));
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Ok(FileContent::Ignored(IgnoredFile::Writable { path }));
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn content_with_mode(mode: u32) -> FileContent {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "interval = 2\n").unwrap();
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
        read_trusted(file.path()).unwrap()
    }

    #[test]
    fn file_that_others_may_write_is_ignored_with_a_sentence() {
        assert!(matches!(content_with_mode(0o644), FileContent::Text(_)));
        for mode in [0o664, 0o646, 0o666] {
            let FileContent::Ignored(reason) = content_with_mode(mode) else {
                panic!("{mode:o}");
            };
            assert!(reason.to_string().contains("chmod go-w"), "{reason}");
        }
    }

    #[test]
    fn missing_file_and_pipe_have_no_content() {
        let directory = tempfile::tempdir().unwrap();
        let missing = read_trusted(&directory.path().join("none/config.toml"));
        assert!(matches!(missing, Ok(FileContent::Missing)));
        let other = read_trusted(directory.path());
        let reason = IgnoredFile::NotRegular {
            path: directory.path().to_owned(),
        };
        assert!(matches!(other, Ok(FileContent::Ignored(found)) if found == reason));
    }
}
