//! What goes wrong with a setting, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use super::setting::SystemSetting;
use crate::private_directory::PrivateDirectoryError;
use crate::privilege;

/// What went wrong with a setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The file system said no.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is nowhere to keep the record without which nothing is changed.
    #[error(
        "none of XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME is set: there is no place to note the \
         old value"
    )]
    NoRecordDirectory,
    /// The place of the records, or a record, cannot be trusted or used.
    #[error("the noted settings are ignored: {0}")]
    RecordDirectory(#[from] PrivateDirectoryError),
    /// A record that this program has not written.
    #[error("{} is ignored: {reason}", path.display())]
    InvalidRecord {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        reason: RecordError,
    },
    /// No name of a block device.
    #[error("{name:?} is not the name of a block device")]
    InvalidDeviceName {
        /// The name.
        name: String,
    },
    /// Not a value that the setting can have.
    #[error("{setting} cannot be {value:?}")]
    InvalidValue {
        /// The setting.
        setting: SystemSetting,
        /// The value.
        value: String,
    },
    /// Another process changes the setting.
    #[error("another process{} is changing {setting}", .holder.map(|id| format!(" ({id})")).unwrap_or_default())]
    LockedByProcess {
        /// The setting.
        setting: SystemSetting,
        /// Which process, where it is known.
        holder: Option<u32>,
    },
    /// Where the kernel's file should be is another one.
    #[error("{} is not a file of the kernel's", path.display())]
    NotKernelFile {
        /// Where.
        path: PathBuf,
    },
}

/// Why bytes are no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// They are not what this program writes.
    #[error("it is no record of a setting ({0})")]
    Json(#[from] serde_json::Error),
    /// A value that the setting cannot have.
    #[error("{setting} cannot be {value:?}")]
    InvalidValue {
        /// The setting.
        setting: SystemSetting,
        /// The value.
        value: String,
    },
    /// The setting is another one than the name of the file says.
    #[error("it is about {found}, its name about something else")]
    NameMismatch {
        /// What it is about.
        found: SystemSetting,
    },
    /// A device's identity where there is no device, or none where there is one.
    #[error("the device's identity does not fit {0}")]
    UnexpectedIdentity(SystemSetting),
    /// Larger or with more values than any that this program writes.
    #[error("it is too large")]
    TooLarge,
    /// Of another version of this program.
    #[error("its version is {0}")]
    UnsupportedVersion(u32),
}

impl SettingError {
    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    return privilege::root_advice(
                        " (sudo)",
                        "a container or a security module forbids it: run it on the host",
                    );
                }
                io::ErrorKind::NotFound => "this kernel or driver has no such setting",
                _ => "the kernel or the drive does not let it be changed",
            }
            .to_owned(),
            Self::NoRecordDirectory => "set HOME or XDG_STATE_HOME".to_owned(),
            Self::RecordDirectory(error) => error.advice(),
            Self::InvalidRecord { path, .. } => {
                format!("find out who wrote {}, and remove it", path.display())
            }
            Self::InvalidDeviceName { .. } => {
                "`diskscope devices` lists the block devices".to_owned()
            }
            Self::InvalidValue { setting, .. } => format!("look at what {setting} is now"),
            Self::LockedByProcess { holder, .. } => match holder {
                Some(id) => format!("wait until process {id} has ended"),
                None => "wait until it has ended; lslocks lists who locks what".to_owned(),
            },
            Self::NotKernelFile { .. } => "mount sysfs on /sys and procfs on /proc".to_owned(),
        }
    }

    /// Whether another process changes the setting now.
    #[must_use]
    pub fn is_locked_by_process(&self) -> bool {
        matches!(self, Self::LockedByProcess { .. })
    }

    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_device_gone(source))
    }
}

/// Whether an error says that a device is not there (any more).
fn is_device_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENXIO))
}

pub(super) fn io_error(
    tried: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> SettingError + use<> {
    let path = path.to_owned();
    move |source| SettingError::Io {
        tried,
        path,
        source,
    }
}
