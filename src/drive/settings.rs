//! Settings of the system that a benchmark changes, and that are put back whatever happens.
//!
//! Before a setting is changed, its lock is taken and a record of its old value is on disk. The
//! guard puts the value back and removes the record; after a kill the record is still there, and
//! the next start puts the value back ([`Settings::restore_leftovers`]), as does the next process
//! that wants to change the setting.
//!
//! A record is data from a file, so it is believed only as far as it goes: it names one of the
//! settings of [`Setting`] and never a path, its values are checked, and it counts only in a
//! directory that nobody else can write to ([`PrivateDirectory`]), for the same run of the kernel
//! and the same device.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::private_directory::PrivateDirectory;
use crate::roots;
use crate::roots::SysPaths;

mod error;
mod guard;
mod kernel_file;
mod record;
mod setting;
mod store;

use self::error::io_error;
pub use self::error::{RecordError, SettingError};
pub use self::guard::SettingLock;
use self::kernel_file::SettingFile;
pub use self::record::{BootId, DeviceIdentity, SettingRecord};
pub use self::setting::{DeviceName, SystemSetting};
use self::store::{
    RECORD_SUFFIX, read_record, remove_record, restore_from_record, take_setting_lock,
};

/// The directory of the records, below the base.
const RECORD_SUBDIRECTORY: &str = "diskscope/settings";
/// A temporary file that is older has been left by a process that was killed.
const STALE_TEMPORARY_AGE: Duration = Duration::from_secs(600);

/// How often a lock is asked for that another process has, and how long is waited between.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// How long the start of a command waits for the end of a process that keeps a setting.
const HOLDER_EXIT_TIMEOUT: Duration = Duration::from_millis(200);

/// A directory for records: a base, and the components below it that are the program's own.
#[derive(Debug, Clone)]
struct RecordDirectory {
    base: PathBuf,
    subdirectory: PathBuf,
}

/// Changes settings of the system, and puts them back.
#[derive(Debug, Clone)]
pub struct SettingsManager {
    sys_paths: SysPaths,
    /// Records are written to the first and looked for in all.
    record_directories: Vec<RecordDirectory>,
}

impl Default for SettingsManager {
    /// The system's own settings. Root's records are below `/run`, whatever HOME is; those of
    /// others below `$XDG_RUNTIME_DIR`, else in their state directory.
    fn default() -> Self {
        let roots = SysPaths::default();
        let bases = if rustix::process::geteuid().is_root() {
            vec![roots.run.clone()]
        } else {
            let state = roots::state_directory();
            let state = state.and_then(|state| state.parent().map(Path::to_owned));
            roots::runtime_directory()
                .into_iter()
                .chain(state)
                .collect()
        };
        let place = |base| RecordDirectory {
            base,
            subdirectory: PathBuf::from(RECORD_SUBDIRECTORY),
        };
        Self {
            sys_paths: roots,
            record_directories: bases.into_iter().map(place).collect(),
        }
    }
}

/// What became of a setting that a killed process left changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftoverSetting {
    /// It has its old value again.
    Restored {
        /// The setting's file.
        path: PathBuf,
        /// The old value.
        value: String,
    },
    /// Another device has the name now: nothing was changed.
    OtherDevice {
        /// The setting.
        setting: SystemSetting,
    },
}

impl SettingsManager {
    /// Settings below other roots, with records in that directory.
    #[must_use]
    pub fn new(roots: SysPaths, records: &Path) -> Self {
        let place = RecordDirectory {
            base: records.parent().unwrap_or(records).to_owned(),
            subdirectory: records.file_name().unwrap_or_default().into(),
        };
        Self {
            sys_paths: roots,
            record_directories: vec![place],
        }
    }

    /// Whether this system has the setting.
    #[must_use]
    pub fn exists(&self, setting: &SystemSetting) -> bool {
        let located = setting.file_path(&self.sys_paths);
        located.is_ok_and(|(tree, file)| tree.root(&self.sys_paths).join(file).exists())
    }

    /// Prepares a setting to be changed: no other process can change it as long as the guard
    /// lives, and it is put back when the guard goes. What a killed process left is put back
    /// first, so that the guard's original is the value from before both.
    ///
    /// # Errors
    /// When another process changes it ([`SettingError::is_held`]), when it cannot be read, or its
    /// old value cannot be noted.
    pub fn lock_setting(&self, setting: SystemSetting) -> Result<SettingLock, SettingError> {
        // A start of the program that puts settings back has the lock for a moment only.
        for _ in 0..LOCK_ATTEMPTS {
            match self.try_lock_setting(setting.clone()) {
                Err(error) if error.is_locked_by_process() => {
                    std::thread::sleep(LOCK_RETRY_INTERVAL)
                }
                taken => return taken,
            }
        }
        self.try_lock_setting(setting)
    }

    fn try_lock_setting(&self, setting: SystemSetting) -> Result<SettingLock, SettingError> {
        let file = SettingFile::open(&self.sys_paths, &setting)?;
        let directory = self.record_directory()?;
        let lock = take_setting_lock(&directory, &setting)?;
        if !file.try_lock()? {
            return Err(SettingError::LockedByProcess {
                setting,
                holder: None,
            });
        }
        if let Ok(Some(left)) = read_record(&directory, &setting) {
            self.restore_or_discard(&directory, &left, &file)?;
        }
        let boot = BootId::read(&self.sys_paths).ok_or_else(|| {
            let path = self.sys_paths.proc.join("sys/kernel/random/boot_id");
            io_error("read", &path)(io::ErrorKind::InvalidData.into())
        })?;
        let device = self.device_identity(&setting)?;
        let record =
            SettingRecord::new(setting.clone(), boot, device, file.read()?).map_err(|_| {
                let value = file.read().unwrap_or_default();
                SettingError::InvalidValue { setting, value }
            })?;
        Ok(SettingLock {
            record,
            file,
            directory,
            _lock: lock,
        })
    }

    /// Where new records are written: the first place that can be used.
    fn record_directory(&self) -> Result<PrivateDirectory, SettingError> {
        let mut refused = None;
        for place in &self.record_directories {
            match PrivateDirectory::create(&place.base, &place.subdirectory) {
                Ok(directory) => return Ok(directory),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.map_or(
            SettingError::NoRecordDirectory,
            SettingError::RecordDirectory,
        ))
    }

    /// Puts back what a killed process left changed. Settings of a process that is still there,
    /// and settings that somebody else has changed since, are left alone.
    #[must_use]
    pub fn restore_leftovers(&self) -> Vec<Result<LeftoverSetting, SettingError>> {
        let mut restored = Vec::new();
        for place in &self.record_directories {
            match PrivateDirectory::open(&place.base, &place.subdirectory) {
                Ok(directory) => restored.extend(self.restore_in_directory(&directory)),
                // Another user's directory that cannot be looked into has nothing for this one, and
                // where others decide what is there nothing was written.
                Err(error)
                    if error.is_not_found()
                        || error.is_permission_denied()
                        || error.is_untrusted() => {}
                Err(error) => restored.push(Err(error.into())),
            }
        }
        restored
    }

    fn restore_in_directory(
        &self,
        directory: &PrivateDirectory,
    ) -> Vec<Result<LeftoverSetting, SettingError>> {
        directory.remove_old_temporaries(STALE_TEMPORARY_AGE);
        let names = match directory.entry_names() {
            Ok(names) => names,
            Err(error) => return vec![Err(error.into())],
        };
        let settings = names
            .iter()
            .filter_map(|name| name.to_str()?.strip_suffix(RECORD_SUFFIX)?.parse().ok());
        settings
            .filter_map(|setting| self.restore_with_timeout(directory, &setting).transpose())
            .collect()
    }

    /// Puts one setting back, unless a running process keeps it. After kill -9 the kernel takes a
    /// few milliseconds to end the worker process and its locks.
    fn restore_with_timeout(
        &self,
        directory: &PrivateDirectory,
        setting: &SystemSetting,
    ) -> Result<Option<LeftoverSetting>, SettingError> {
        let began = Instant::now();
        loop {
            match self.restore_setting(directory, setting) {
                Err(error) if error.is_locked_by_process() => {
                    if began.elapsed() > HOLDER_EXIT_TIMEOUT {
                        return Ok(None);
                    }
                    std::thread::sleep(HOLDER_EXIT_TIMEOUT / 20);
                }
                restored => return restored,
            }
        }
    }

    fn restore_setting(
        &self,
        directory: &PrivateDirectory,
        setting: &SystemSetting,
    ) -> Result<Option<LeftoverSetting>, SettingError> {
        let _lock = take_setting_lock(directory, setting)?;
        // Its process may have ended well meanwhile.
        let Some(record) = read_record(directory, setting)? else {
            return Ok(None);
        };
        let file = match SettingFile::open(&self.sys_paths, setting) {
            Err(error) if error.is_not_found() => {
                remove_record(directory, setting)?;
                return Ok(None);
            }
            opened => opened?,
        };
        if !file.try_lock()? {
            return Ok(None);
        }
        self.restore_or_discard(directory, &record, &file)
    }

    /// Puts a setting back as a record says, where the record is about this device and this run
    /// of the kernel, and removes the record. Both locks are held.
    fn restore_or_discard(
        &self,
        directory: &PrivateDirectory,
        record: &SettingRecord,
        file: &SettingFile,
    ) -> Result<Option<LeftoverSetting>, SettingError> {
        let setting = record.setting();
        // After a reboot the setting is what the system makes it.
        if BootId::read(&self.sys_paths).as_ref() != Some(record.boot()) {
            return remove_record(directory, setting).map(|()| None);
        }
        let now = self.device_identity(setting)?;
        let same = match (record.device(), &now) {
            (Some(then), Some(now)) => then.matches(now),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let setting = setting.clone();
            remove_record(directory, &setting)?;
            return Ok(Some(LeftoverSetting::OtherDevice { setting }));
        }
        let restored = restore_from_record(directory, record, file)?;
        Ok(restored.then(|| LeftoverSetting::Restored {
            path: file.path().to_owned(),
            value: record.original().to_owned(),
        }))
    }

    /// Who the setting's device is; `None` for a setting of the whole system.
    fn device_identity(
        &self,
        setting: &SystemSetting,
    ) -> Result<Option<DeviceIdentity>, SettingError> {
        let Some(name) = setting.device() else {
            return Ok(None);
        };
        let read = DeviceIdentity::read(&self.sys_paths, name);
        read.map(Some).ok_or_else(|| {
            let path = self.sys_paths.sys.join("class/block").join(name.as_str());
            io_error("identify", &path)(io::ErrorKind::NotFound.into())
        })
    }
}

#[cfg(test)]
mod tests;
