//! The record of a setting's old value, and its file, whose lock keeps other processes away from the setting.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::drive::settings::error::{SettingError, io_error};
use crate::drive::settings::setting::SystemSetting;
use crate::files::state::PrivateDirectory;
use crate::roots::SysPaths;

/// Suffix of a record's file name.
pub(super) const RECORD_SUFFIX: &str = ".json";
/// Size of a record's file in bytes. A record is shorter, and filled up with spaces: one write replaces it.
const RECORD_BYTES: usize = 512;
/// How long to wait for a process that holds a record. Another instance that restores settings at its start
/// holds it briefly, and after kill -9 the kernel takes a few milliseconds to release the lock.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The old value of a setting while it is changed. What this program would not write is not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingRecord {
    /// Boot ID of the kernel at the time of the change: settings do not survive a reboot.
    pub boot: String,
    /// Disk sequence number of the device (Linux 5.15 and later), because its name may later belong to another
    /// device. `None` for a setting of the whole system.
    pub diskseq: Option<u64>,
    /// The process that changes the setting.
    pub process: u32,
    /// The value to restore.
    pub original: u32,
    /// The value that the process has set; `None` while the setting has its original value. Any other value
    /// was set by someone else and is kept.
    pub set_to: Option<u32>,
}

/// An open file that is read and written by its descriptor: a record, or a setting in sysfs or procfs. The latter
/// belongs to the device that had the name when it was opened: once that is gone, reads and writes fail with ENODEV.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl OpenFile {
    /// The file of a setting.
    pub(super) fn setting(
        sys_paths: &SysPaths,
        setting: &SystemSetting,
    ) -> Result<Self, SettingError> {
        let path = setting.path(sys_paths);
        let opened = File::options().read(true).write(true).open(&path);
        let file = opened.map_err(io_error("open", &path))?;
        Ok(Self { file, path })
    }

    /// The value of a setting.
    pub(super) fn read_value(&self) -> Result<u32, SettingError> {
        let invalid = |error| io_error("read", &self.path)(io::Error::other(error));
        self.read()?.parse().map_err(invalid)
    }

    pub(super) fn write_value(&self, value: u32) -> Result<(), SettingError> {
        // No effect on kernel files, where a write replaces the value anyway.
        let _ = self.file.set_len(0);
        self.write(&value.to_string())
    }

    /// Its text, without white space around it.
    fn read(&self) -> Result<String, SettingError> {
        let mut bytes = [0; RECORD_BYTES];
        let length = self.file.read_at(&mut bytes, 0);
        let length = length.map_err(io_error("read", &self.path))?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        Ok(text.trim().to_owned())
    }

    /// Writes at its begin. A kernel file takes it as the new value.
    fn write(&self, text: &str) -> Result<(), SettingError> {
        let written = self.file.write_all_at(text.as_bytes(), 0);
        written.map_err(io_error("change", &self.path))
    }

    /// The record in it; `None` if none has been written yet.
    pub(super) fn read_record(&self) -> Result<Option<SettingRecord>, SettingError> {
        let text = self.read()?;
        if text.is_empty() {
            return Ok(None);
        }
        let invalid = |error: serde_json::Error| {
            let error = format!("it is not a record of a setting ({error})");
            io_error("use", &self.path)(io::Error::new(io::ErrorKind::InvalidData, error))
        };
        serde_json::from_str(&text).map(Some).map_err(invalid)
    }

    pub(super) fn write_record(&self, record: &SettingRecord) -> Result<(), SettingError> {
        let text = serde_json::to_string(record);
        let text = text.map_err(|error| io_error("write", &self.path)(error.into()))?;
        self.write(&format!("{text:RECORD_BYTES$}"))
    }
}

/// Opens and locks the record of a setting; makes the file where there is none. The kernel releases the lock
/// however the process ends.
pub(super) fn lock_record(
    directory: &PrivateDirectory,
    setting: &SystemSetting,
) -> Result<OpenFile, SettingError> {
    let name = setting.name() + RECORD_SUFFIX;
    let path = directory.path().join(&name);
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        let file = directory.open_or_create(OsStr::new(&name))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let about = file.metadata().map_err(io_error("examine", &path))?;
                // Otherwise the process that held the lock has removed it since it was opened.
                if about.nlink() > 0 {
                    return Ok(OpenFile { file, path });
                }
            }
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            }
            Err(Errno::WOULDBLOCK) => {
                let record = OpenFile { file, path }.read_record().ok().flatten();
                return Err(SettingError::LockedByProcess {
                    setting: setting.clone(),
                    holder: record.map(|record| record.process),
                });
            }
            Err(error) => return Err(io_error("lock", &path)(error.into())),
        }
    }
}

/// Removes the record of a setting, which is locked.
pub(super) fn remove_record(
    directory: &PrivateDirectory,
    setting: &SystemSetting,
) -> Result<(), SettingError> {
    Ok(directory.unlink(OsStr::new(&(setting.name() + RECORD_SUFFIX)))?)
}
