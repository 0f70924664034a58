//! System settings that a benchmark changes and always restores.
//!
//! Before it changes a setting, the program takes the lock of the setting and writes a record of
//! the old value to disk. The guard restores the value and removes the record. After a kill the
//! record remains; the next start restores the value ([`SettingsManager::restore_leftovers`]), and
//! so does the next process that changes the setting.
//!
//! A write of one setting can make the kernel reset others ([`RevalidatedSetting`]). Their values
//! are in the record too, from before the write until they are written back.
//!
//! A record comes from a file and is not trusted. It names one of the settings of
//! [`SystemSetting`], never a path. Its values are validated. It is valid only in a directory that
//! no one else can write to (`PrivateDirectory`), for the same boot and the same device.

mod error;
mod guard;
mod kernel_file;
mod record;
mod revalidated;
mod setting;
mod setting_file;
mod store;
mod write_cache;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::drive::settings::error::io_error;
use crate::drive::settings::setting_file::SettingFile;
use crate::drive::settings::store::{
    RECORD_SUFFIX, last_lock_holder, read_record, remove_record, restore_from_record,
    take_setting_lock,
};
use crate::files::state::PrivateDirectory;
use crate::roots;
use crate::roots::SysPaths;

pub use self::error::{RecordError, SettingError};
pub use self::guard::SettingLock;
pub use self::record::{BootId, DeviceIdentity, SettingRecord};
pub use self::revalidated::{RevalidatedSetting, RevalidatedValues};
pub use self::setting::{DeviceName, InvalidDeviceName, SystemSetting};
pub use self::setting_file::QUIET_TIME;
pub use self::store::{ChangedSetting, LeftoverSetting};
pub use self::write_cache::{CacheObstacle, CacheStates};

/// Directory of the records, relative to the base directory.
const RECORD_SUBDIRECTORY: &str = "diskscope/settings";
/// A temporary file older than this was left by a process that was killed.
const STALE_TEMPORARY_AGE: Duration = Duration::from_secs(600);

/// How often the program tries to take a lock that another process holds, and the delay between
/// attempts.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// How long the start of a command waits for a process that holds a setting to exit.
const HOLDER_EXIT_TIMEOUT: Duration = Duration::from_millis(200);

/// A directory for records: a base directory and the program's own components below it.
#[derive(Debug, Clone)]
struct RecordDirectory {
    base: PathBuf,
    subdirectory: PathBuf,
}

/// Changes system settings and restores them.
#[derive(Debug, Clone)]
pub struct SettingsManager {
    sys_paths: SysPaths,
    /// Records are written to the first usable directory and searched in all.
    record_directories: Vec<RecordDirectory>,
}

impl Default for SettingsManager {
    /// The settings of the running system. Records of root are below `/run`, regardless of HOME;
    /// records of other users are below `$XDG_RUNTIME_DIR`, or in their state directory if it is
    /// not set.
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
        let location = |base| RecordDirectory {
            base,
            subdirectory: PathBuf::from(RECORD_SUBDIRECTORY),
        };
        Self {
            sys_paths: roots,
            record_directories: bases.into_iter().map(location).collect(),
        }
    }
}

impl SettingsManager {
    /// Settings below other roots, with records in that directory.
    #[must_use]
    pub fn new(roots: SysPaths, records: &Path) -> Self {
        let location = RecordDirectory {
            base: records.parent().unwrap_or(records).to_owned(),
            subdirectory: records.file_name().unwrap_or_default().into(),
        };
        Self {
            sys_paths: roots,
            record_directories: vec![location],
        }
    }

    /// Whether this system has the setting.
    #[must_use]
    pub fn exists(&self, setting: &SystemSetting) -> bool {
        let located = setting.file_path(&self.sys_paths);
        located.is_ok_and(|(tree, file)| tree.root(&self.sys_paths).join(file).exists())
    }

    /// Prepares a setting to be changed. No other process can change it during the lifetime of the
    /// guard, and the guard restores it on drop. A value left by a killed process is restored
    /// first, so the guard's original is the value before both.
    ///
    /// # Errors
    /// When another process is changing it ([`SettingError::is_locked_by_process`]), when it cannot be read, or
    /// when its old value cannot be recorded.
    pub fn lock_setting(&self, setting: SystemSetting) -> Result<SettingLock, SettingError> {
        // Another instance that restores settings at its start holds the lock only briefly.
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

    /// The directory for new records: the first usable one.
    fn record_directory(&self) -> Result<PrivateDirectory, SettingError> {
        let mut refused = None;
        for location in &self.record_directories {
            match PrivateDirectory::create(&location.base, &location.subdirectory) {
                Ok(directory) => return Ok(directory),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.map_or(
            SettingError::NoRecordDirectory,
            SettingError::RecordDirectory,
        ))
    }

    /// Restores settings that a killed process left changed. Does not touch settings of a process
    /// that still runs, nor settings that someone else has changed since.
    #[must_use]
    pub fn restore_leftovers(&self) -> Vec<Result<LeftoverSetting, SettingError>> {
        let mut restored = Vec::new();
        for location in &self.record_directories {
            match PrivateDirectory::open(&location.base, &location.subdirectory) {
                Ok(directory) => restored.extend(self.restore_in_directory(&directory)),
                // An unreadable directory of another user has no records for this user. A directory
                // that others can write to was never used for records.
                Err(error)
                    if error.is_not_found()
                        || error.is_permission_denied()
                        || error.is_untrusted() => {}
                Err(error) => restored.push(Err(error.into())),
            }
        }
        restored
    }

    /// The settings that a running process has changed at the moment, as far as that can be determined.
    #[must_use]
    pub fn settings_changed_by(&self, process: u32) -> Vec<ChangedSetting> {
        let locations = self.record_directories.iter();
        let directories = locations.filter_map(|location| {
            PrivateDirectory::open(&location.base, &location.subdirectory).ok()
        });
        directories
            .flat_map(|directory| {
                let settings = recorded_settings(&directory).unwrap_or_default();
                let changed = settings
                    .into_iter()
                    .filter(|setting| last_lock_holder(&directory, setting) == Some(process))
                    .filter_map(|setting| self.changed_setting(&directory, &setting));
                changed.collect::<Vec<_>>()
            })
            .collect()
    }

    /// The setting, if it has a value that its record says was set.
    fn changed_setting(
        &self,
        directory: &PrivateDirectory,
        setting: &SystemSetting,
    ) -> Option<ChangedSetting> {
        let record = read_record(directory, setting).ok().flatten()?;
        let file = SettingFile::open(&self.sys_paths, setting).ok()?;
        let value = file.read().ok()?;
        let is_changed = value != record.original() && record.was_set_by_us(&value);
        is_changed.then(|| ChangedSetting {
            path: file.path().to_owned(),
            value,
            original: record.original().to_owned(),
        })
    }

    fn restore_in_directory(
        &self,
        directory: &PrivateDirectory,
    ) -> Vec<Result<LeftoverSetting, SettingError>> {
        directory.remove_old_temporaries(STALE_TEMPORARY_AGE);
        let settings = match recorded_settings(directory) {
            Ok(settings) => settings,
            Err(error) => return vec![Err(error)],
        };
        settings
            .into_iter()
            .filter_map(|setting| self.restore_with_timeout(directory, &setting).transpose())
            .collect()
    }

    /// Restores one setting, unless a running process holds it. After kill -9 the kernel takes a
    /// few milliseconds to end the worker process and release its locks.
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
        // The process may have exited normally in the meantime.
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

    /// Restores a setting from its record if the record belongs to this device and this boot, and
    /// removes the record. The caller holds both locks.
    fn restore_or_discard(
        &self,
        directory: &PrivateDirectory,
        record: &SettingRecord,
        file: &SettingFile,
    ) -> Result<Option<LeftoverSetting>, SettingError> {
        let setting = record.setting();
        // A reboot resets the settings of the kernel. The write cache of a drive may stay off, which
        // loses no data.
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
        restore_from_record(directory, record, file)
    }

    /// Identity of the setting's device; `None` for a system-wide setting.
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

/// The settings of which a directory has records.
fn recorded_settings(directory: &PrivateDirectory) -> Result<Vec<SystemSetting>, SettingError> {
    let names = directory.entry_names()?;
    let settings = names
        .iter()
        .filter_map(|name| name.to_str()?.strip_suffix(RECORD_SUFFIX)?.parse().ok());
    Ok(settings.collect())
}

#[cfg(test)]
mod tests;
