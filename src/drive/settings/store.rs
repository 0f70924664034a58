//! Records and locks of settings in the record directory.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::drive::settings::error::{RecordError, SettingError, io_error};
use crate::drive::settings::record::SettingRecord;
use crate::drive::settings::setting::SystemSetting;
use crate::drive::settings::setting_file::SettingFile;
use crate::drive::settings::{kernel_file, record};
use crate::files::state::PrivateDirectory;

/// Suffix of a record's file name.
pub(super) const RECORD_SUFFIX: &str = ".json";
/// Suffix of a lock's file name. Lock files are never removed: otherwise two processes could each
/// lock a file of the same name.
const LOCK_SUFFIX: &str = ".lock";

/// Result of restoring a setting that a killed process left changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftoverSetting {
    /// The old value is restored.
    Restored {
        /// Path of the setting's file.
        path: PathBuf,
        /// The old value.
        value: String,
    },
    /// Other settings of the disk, which the kernel had reset with this one, have their old values.
    Revalidated {
        /// The setting that was written.
        setting: SystemSetting,
    },
    /// The name now belongs to another device. Nothing was changed.
    OtherDevice {
        /// The setting.
        setting: SystemSetting,
    },
}

/// A setting that a running process has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSetting {
    /// Path of the setting's file.
    pub path: PathBuf,
    /// The value that the process has set.
    pub value: String,
    /// The value that it restores.
    pub original: String,
}

/// Takes the lock of a setting and writes the process ID of the holder to it.
pub(super) fn take_setting_lock(
    directory: &PrivateDirectory,
    setting: &SystemSetting,
) -> Result<File, SettingError> {
    let name = OsString::from(setting.name() + LOCK_SUFFIX);
    let file = directory.open_or_create(&name)?;
    let failed = || io_error("lock", &directory.path().join(&name));
    if kernel_file::try_lock_file(&file).map_err(failed())? {
        let holder = format!("{}\n", std::process::id());
        let noted = file
            .set_len(0)
            .and_then(|()| file.write_all_at(holder.as_bytes(), 0));
        noted.map_err(failed())?;
        return Ok(file);
    }
    Err(SettingError::LockedByProcess {
        setting: setting.clone(),
        holder: read_holder(&file),
    })
}

/// The process that took the lock of a setting last.
pub(super) fn last_lock_holder(
    directory: &PrivateDirectory,
    setting: &SystemSetting,
) -> Option<u32> {
    let name = OsString::from(setting.name() + LOCK_SUFFIX);
    let file = directory.open_file(&name).ok()?;
    read_holder(&file)
}

fn read_holder(lock: &File) -> Option<u32> {
    let mut text = [0; 16];
    let length = lock.read_at(&mut text, 0).ok()?;
    let holder = std::str::from_utf8(&text[..length]).ok()?;
    holder.trim_end().parse().ok()
}

pub(super) fn record_name(setting: &SystemSetting) -> OsString {
    OsString::from(setting.name() + RECORD_SUFFIX)
}

/// The record of a setting; `None` if there is none.
pub(super) fn read_record(
    directory: &PrivateDirectory,
    setting: &SystemSetting,
) -> Result<Option<SettingRecord>, SettingError> {
    let name = record_name(setting);
    let file = match directory.open_file(&name) {
        Err(error) if error.is_not_found() => return Ok(None),
        opened => opened?,
    };
    let path = directory.path().join(&name);
    let mut bytes = Vec::new();
    file.take(record::MAX_RECORD_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io_error("read", &path))?;
    let parsed = SettingRecord::parse(&bytes).and_then(|record| {
        if record.setting() == setting {
            return Ok(record);
        }
        let found = record.setting().clone();
        Err(RecordError::NameMismatch { found })
    });
    parsed
        .map(Some)
        .map_err(|reason| SettingError::InvalidRecord { path, reason })
}

/// Removes a record.
pub(super) fn remove_record(
    directory: &PrivateDirectory,
    setting: &SystemSetting,
) -> Result<(), SettingError> {
    match directory.unlink(&record_name(setting)) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes a record.
pub(super) fn write_record(
    directory: &PrivateDirectory,
    record: &SettingRecord,
) -> Result<(), SettingError> {
    let name = record_name(record.setting());
    let path = directory.path().join(&name);
    let text =
        serde_json::to_vec(record).map_err(|error| io_error("write", &path)(error.into()))?;
    directory.replace_file(&name, &text)?;
    Ok(())
}

/// Writes a setting, and writes back what the kernel resets as a result. The record has the values
/// of these settings, until they are written back.
pub(super) fn write_and_put_back(
    record: &mut SettingRecord,
    file: &SettingFile,
    value: &str,
) -> Result<(), SettingError> {
    let written = file.write(value);
    // Whatever the outcome: the kernel may have reset them before the write failed.
    let put_back = file.write_back_when_quiet(record.revalidated());
    if put_back.is_ok() {
        *record = record.clone().without_revalidated();
    }
    written.and(put_back.map(|_| ()))
}

/// Restores a setting, and those that the kernel has reset with it, and removes its record. `None`
/// if there was nothing to restore: the device is gone, or someone else has changed the setting
/// since.
pub(super) fn restore_from_record(
    directory: &PrivateDirectory,
    record: &SettingRecord,
    file: &SettingFile,
) -> Result<Option<LeftoverSetting>, SettingError> {
    let restored = match restore_values(directory, record, file) {
        Err(error) if error.is_not_found() => None,
        restored => restored?,
    };
    remove_record(directory, record.setting())?;
    Ok(restored)
}

fn restore_values(
    directory: &PrivateDirectory,
    record: &SettingRecord,
    file: &SettingFile,
) -> Result<Option<LeftoverSetting>, SettingError> {
    let now = file.read()?;
    if !record.was_set_by_us(&now) || now == record.original() {
        // The process may have been killed after its write and before it wrote these back.
        let setting = record.setting().clone();
        let written = file.write_back_when_quiet(record.revalidated())?;
        return Ok(written.then_some(LeftoverSetting::Revalidated { setting }));
    }
    // One that cannot be read does not keep the setting itself from being restored.
    let mut record = record.clone().with_revalidated(file.known_revalidated());
    if !record.revalidated().is_empty() {
        // Without it only a kill during the restoration is not repaired.
        let _ = write_record(directory, &record);
    }
    let value = record.original().to_owned();
    write_and_put_back(&mut record, file, &value)?;
    let path = file.path().to_owned();
    Ok(Some(LeftoverSetting::Restored { path, value }))
}
