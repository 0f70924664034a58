//! Errors of system settings, and advice for each.

use std::io;
use std::path::{Path, PathBuf};

use crate::drive::settings::setting::SystemSetting;
use crate::files::state::PrivateDirectoryError;
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
    /// The record directory, or a record, cannot be trusted or used.
    #[error("the saved settings are ignored: {0}")]
    RecordDirectory(#[from] PrivateDirectoryError),
    /// Another process is changing the setting.
    #[error("another process{} is changing {setting}", .holder.map(|id| format!(" ({id})")).unwrap_or_default())]
    LockedByProcess {
        /// The setting.
        setting: SystemSetting,
        /// ID of that process, if known.
        holder: Option<u32>,
    },
}

impl SettingError {
    /// Advice on how to resolve the error, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => text::root_advice(
                    " (sudo)",
                    "a container or a security module forbids it: run it on the host",
                ),
                io::ErrorKind::InvalidData => {
                    "find out which program wrote it, and remove it".to_owned()
                }
                _ => "the kernel or the drive has no such setting, or does not allow the change"
                    .to_owned(),
            },
            Self::RecordDirectory(error) => error.advice(),
            Self::LockedByProcess { holder, .. } => match holder {
                Some(id) => format!("wait until process {id} has ended"),
                None => "wait until it has ended; lslocks lists the locks".to_owned(),
            },
        }
    }

    /// Whether another process is changing the setting.
    #[must_use]
    pub fn is_locked_by_process(&self) -> bool {
        matches!(self, Self::LockedByProcess { .. })
    }

    /// Whether there is no such setting, as when its device is gone.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
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
