//! Errors of system settings, and advice for each.

use std::io;
use std::path::{Path, PathBuf};

use crate::drive::settings::setting::{InvalidDeviceName, SystemSetting};
use crate::private_directory::PrivateDirectoryError;
use crate::text;

/// Error of an operation on a setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// A file operation failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// The operation.
        tried: &'static str,
        /// The path it was applied to.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// There is no usable directory for the record, without which no setting is changed.
    #[error(
        "none of XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME is set: the old value cannot be saved"
    )]
    NoRecordDirectory,
    /// The record directory, or a record, cannot be trusted or used.
    #[error("the saved settings are ignored: {0}")]
    RecordDirectory(#[from] PrivateDirectoryError),
    /// A record that this program did not write.
    #[error("{} is ignored: {reason}", path.display())]
    InvalidRecord {
        /// Path of the record.
        path: PathBuf,
        /// Why it is invalid.
        reason: RecordError,
    },
    /// Not a name of a block device.
    #[error(transparent)]
    InvalidDeviceName(#[from] InvalidDeviceName),
    /// Not a valid value of the setting.
    #[error("{setting} cannot be {value:?}")]
    InvalidValue {
        /// The setting.
        setting: SystemSetting,
        /// The value.
        value: String,
    },
    /// Another process is changing the setting.
    #[error("another process{} is changing {setting}", .holder.map(|id| format!(" ({id})")).unwrap_or_default())]
    LockedByProcess {
        /// The setting.
        setting: SystemSetting,
        /// ID of that process, if known.
        holder: Option<u32>,
    },
    /// Another program has changed the setting while it was locked.
    #[error("another program has changed {setting} to {value:?}")]
    ChangedElsewhere {
        /// The setting.
        setting: SystemSetting,
        /// The value that it set.
        value: String,
    },
    /// The path does not lead to a file of the kernel.
    #[error("{} is not a kernel file", path.display())]
    NotKernelFile {
        /// The path.
        path: PathBuf,
    },
}

/// Why a record is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Malformed: not what this program writes.
    #[error("it is not a record of a setting ({0})")]
    Json(#[from] serde_json::Error),
    /// Not a valid value of the setting.
    #[error("{setting} cannot be {value:?}")]
    InvalidValue {
        /// The setting.
        setting: SystemSetting,
        /// The value.
        value: String,
    },
    /// The record's setting does not match its file name.
    #[error("it describes {found}, but is named after another setting")]
    NameMismatch {
        /// The setting in the record.
        found: SystemSetting,
    },
    /// A device identity for a system-wide setting, or none for a device setting.
    #[error("the device's identity does not match {0}")]
    UnexpectedIdentity(SystemSetting),
    /// Values of other settings, although a write of this setting resets none.
    #[error("a write of {0} resets no other setting")]
    UnexpectedRevalidated(SystemSetting),
    /// Not a valid value of another setting of the disk.
    #[error("a setting of the disk cannot be {0:?}")]
    InvalidRevalidated(String),
    /// Larger, or with more values, than any record that this program writes.
    #[error("it is too large")]
    TooLarge,
    /// Written by another version of this program.
    #[error("its version is {0}")]
    UnsupportedVersion(u32),
}

impl SettingError {
    /// Advice on how to resolve the error, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    return text::root_advice(
                        " (sudo)",
                        "a container or a security module forbids it: run it on the host",
                    );
                }
                io::ErrorKind::NotFound => "this kernel or driver has no such setting",
                _ => "the kernel or the drive does not allow the change",
            }
            .to_owned(),
            Self::NoRecordDirectory => "set HOME or XDG_STATE_HOME".to_owned(),
            Self::RecordDirectory(error) => error.advice(),
            Self::InvalidRecord { path, .. } => {
                format!(
                    "find out which program wrote {}, and remove it",
                    path.display()
                )
            }
            Self::InvalidDeviceName(_) => "`diskscope devices` lists the block devices".to_owned(),
            Self::InvalidValue { setting, .. } => format!("check the current value of {setting}"),
            Self::LockedByProcess { holder, .. } => match holder {
                Some(id) => format!("wait until process {id} has ended"),
                None => "wait until it has ended; lslocks lists the locks".to_owned(),
            },
            Self::ChangedElsewhere { setting, .. } => {
                format!("run the benchmark again when nothing else changes {setting}")
            }
            Self::NotKernelFile { .. } => "mount sysfs on /sys and procfs on /proc".to_owned(),
        }
    }

    /// Whether another process is changing the setting.
    #[must_use]
    pub fn is_locked_by_process(&self) -> bool {
        matches!(self, Self::LockedByProcess { .. })
    }

    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_device_gone(source))
    }
}

/// Whether an error means that the device is gone.
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
