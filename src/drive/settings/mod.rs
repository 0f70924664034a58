//! System settings that the program changes and always restores: the read-ahead of a block device, and delay
//! accounting.
//!
//! Before it changes a setting, the program locks and writes a record of the old value. [`SettingLock`] restores
//! the value and removes the record. After a kill the record remains; the next start restores the value
//! ([`SettingsManager::restore_leftovers`]), and so does the next process that changes the setting.
//!
//! A record comes from a file and is not trusted: its directory and file must belong to this user alone
//! ([`PrivateDirectory`]), its name is that of a [`SystemSetting`], never a path, and its values are numbers.

mod error;
mod record;
mod setting;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::drive::settings::error::io_error;
use crate::drive::settings::record::{
    OpenFile, RECORD_SUFFIX, SettingRecord, lock_record, remove_record,
};
use crate::files::state::PrivateDirectory;
use crate::roots::SysPaths;

pub use self::error::SettingError;
pub use self::setting::SystemSetting;

/// Directory of the records, relative to the base directory.
const RECORD_SUBDIRECTORY: &str = "diskscope/settings";

/// A setting that a killed process had changed, and that has its old value again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredSetting {
    /// Path of the setting's file.
    pub path: PathBuf,
    /// The old value.
    pub value: u32,
}

/// Changes system settings and restores them.
#[derive(Debug, Clone)]
pub struct SettingsManager {
    sys_paths: SysPaths,
    /// The directory that contains the one for records.
    base: PathBuf,
}

impl Default for SettingsManager {
    /// The settings of the running system, with records below `/run`, regardless of HOME: only root may change them.
    fn default() -> Self {
        let sys_paths = SysPaths::default();
        let base = sys_paths.run.clone();
        Self { sys_paths, base }
    }
}

impl SettingsManager {
    /// Settings below other roots, with records below that directory.
    #[must_use]
    pub fn new(sys_paths: SysPaths, base: PathBuf) -> Self {
        Self { sys_paths, base }
    }

    /// Prepares a setting to be changed. No other process can change it during the lifetime of the lock, which
    /// restores it on drop. A value left by a killed process is restored first.
    ///
    /// # Errors
    /// When another process is changing it ([`SettingError::is_locked_by_process`]), when it cannot be read, or
    /// when its old value cannot be recorded.
    pub fn lock_setting(&self, setting: SystemSetting) -> Result<SettingLock, SettingError> {
        let file = OpenFile::setting(&self.sys_paths, &setting)?;
        let directory = PrivateDirectory::create(&self.base, Path::new(RECORD_SUBDIRECTORY))?;
        let record_file = lock_record(&directory, &setting)?;
        if let Ok(Some(left)) = record_file.read_record() {
            self.restore_if_same(&setting, &left, &file)?;
        }
        let record = SettingRecord {
            boot: self.boot_id()?,
            diskseq: setting.diskseq(&self.sys_paths),
            process: std::process::id(),
            original: file.read_value()?,
            set_to: None,
        };
        record_file.write_record(&record)?;
        Ok(SettingLock {
            setting,
            record,
            file,
            directory,
            record_file,
        })
    }

    fn boot_id(&self) -> Result<String, SettingError> {
        let path = self.sys_paths.proc.join("sys/kernel/random/boot_id");
        let text = fs::read_to_string(&path).map_err(io_error("read", &path))?;
        Ok(text.trim().to_owned())
    }

    /// Restores settings that a killed process left changed. Does not touch settings of a process that still
    /// runs, nor settings that someone else has changed since.
    #[must_use]
    pub fn restore_leftovers(&self) -> Vec<Result<RestoredSetting, SettingError>> {
        let opened = PrivateDirectory::open(&self.base, Path::new(RECORD_SUBDIRECTORY));
        let listed = opened.and_then(|directory| Ok((directory.entry_names()?, directory)));
        let (names, directory) = match listed {
            Ok(listed) => listed,
            // A directory that this user may not search was never used.
            Err(error) if error.is_not_found() || error.is_permission_denied() => {
                return Vec::new();
            }
            Err(error) => return vec![Err(error.into())],
        };
        let names = names.iter().filter_map(|name| name.to_str());
        let names = names.filter_map(|name| name.strip_suffix(RECORD_SUFFIX));
        names
            .filter_map(SystemSetting::from_name)
            .filter_map(|setting| self.restore_leftover(&directory, &setting).transpose())
            .filter(|restored| !matches!(restored, Err(error) if error.is_locked_by_process()))
            .collect()
    }

    /// Restores one setting, and removes its record.
    fn restore_leftover(
        &self,
        directory: &PrivateDirectory,
        setting: &SystemSetting,
    ) -> Result<Option<RestoredSetting>, SettingError> {
        let record_file = lock_record(directory, setting)?;
        let record = record_file.read_record()?;
        let restored = match (record, OpenFile::setting(&self.sys_paths, setting)) {
            (Some(record), Ok(file)) => self.restore_if_same(setting, &record, &file)?,
            (Some(_), Err(error)) if !error.is_not_found() => return Err(error),
            _ => None,
        };
        remove_record(directory, setting)?;
        Ok(restored)
    }

    /// Restores a setting from the record of a process that has ended, if it is one of this boot and of the
    /// device that has the name now.
    fn restore_if_same(
        &self,
        setting: &SystemSetting,
        record: &SettingRecord,
        file: &OpenFile,
    ) -> Result<Option<RestoredSetting>, SettingError> {
        let is_same =
            record.boot == self.boot_id()? && record.diskseq == setting.diskseq(&self.sys_paths);
        let is_restored = is_same && restore_value(record, file)?;
        Ok(is_restored.then(|| RestoredSetting {
            path: file.path.clone(),
            value: record.original,
        }))
    }
}

/// Restores a setting, unless someone else has changed it since; whether it did.
fn restore_value(record: &SettingRecord, file: &OpenFile) -> Result<bool, SettingError> {
    let now = file.read_value()?;
    let is_changed = record.set_to == Some(now) && record.original != now;
    if is_changed {
        file.write_value(record.original)?;
    }
    Ok(is_changed)
}

/// A setting that only this process may change, during the lifetime of this lock.
#[derive(Debug)]
pub struct SettingLock {
    setting: SystemSetting,
    record: SettingRecord,
    file: OpenFile,
    directory: PrivateDirectory,
    // Dropped last: by then the setting is restored and the record is removed.
    record_file: OpenFile,
}

impl SettingLock {
    /// The value that is restored.
    #[must_use]
    pub fn original_value(&self) -> u32 {
        self.record.original
    }

    /// Changes the setting. The old value is written to the record first; the one that another program may have
    /// set since is the one to restore.
    ///
    /// # Errors
    /// When the old value cannot be recorded, or when the kernel rejects the new value or sets another one.
    pub fn set(&mut self, value: u32) -> Result<(), SettingError> {
        self.restore()?;
        self.record.original = self.file.read_value()?;
        self.record_change(Some(value))?;
        self.file.write_value(value)?;
        let now = self.file.read_value()?;
        if now == value {
            return Ok(());
        }
        // The kernel rounds the read-ahead down to pages.
        self.record_change(Some(now))?;
        let refused = io::Error::other(format!("it did not accept {value}"));
        Err(io_error("change", &self.file.path)(refused))
    }

    /// Restores the setting; it stays locked, and can be set again. A value that another program has set stays.
    /// Drop does the same, but ignores errors.
    ///
    /// # Errors
    /// When the kernel rejects the old value. The record remains for the next start.
    pub fn restore(&mut self) -> Result<(), SettingError> {
        if self.record.set_to.is_some() {
            restore_value(&self.record, &self.file)?;
            self.record_change(None)?;
        }
        Ok(())
    }

    fn record_change(&mut self, value: Option<u32>) -> Result<(), SettingError> {
        self.record.set_to = value;
        self.record_file.write_record(&self.record)
    }
}

impl Drop for SettingLock {
    fn drop(&mut self) {
        // On failure the record remains and the next start tries again.
        if self.restore().is_ok() {
            let _ = remove_record(&self.directory, &self.setting);
        }
    }
}
