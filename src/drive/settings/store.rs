//! Records and locks of settings in the record directory.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use crate::drive::settings::error::{RecordError, SettingError, io_error};
use crate::drive::settings::kernel_file::SettingFile;
use crate::drive::settings::record::SettingRecord;
use crate::drive::settings::setting::SystemSetting;
use crate::drive::settings::{kernel_file, record};
use crate::private_directory::{PrivateDirectory, PrivateFileAccess};

/// Suffix of a record's file name.
pub(super) const RECORD_SUFFIX: &str = ".json";
/// Suffix of a lock's file name. Lock files are never removed: otherwise two processes could each
/// lock a file of the same name.
const LOCK_SUFFIX: &str = ".lock";

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
    let mut text = [0; 16];
    let length = file.read_at(&mut text, 0).unwrap_or(0);
    let holder = std::str::from_utf8(&text[..length]).ok();
    Err(SettingError::LockedByProcess {
        setting: setting.clone(),
        holder: holder.and_then(|text| text.trim_end().parse().ok()),
    })
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
    let file = match directory.open_file(&name, PrivateFileAccess::Read) {
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

/// Restores a setting and removes its record. `false` if there was nothing to restore: the device
/// is gone, or someone else has changed the setting since.
pub(super) fn restore_from_record(
    directory: &PrivateDirectory,
    record: &SettingRecord,
    file: &SettingFile,
) -> Result<bool, SettingError> {
    let put_back = file.read().and_then(|now| {
        let ours = record.was_set_by_us(&now) && now != record.original();
        if ours {
            file.write(record.original())?;
        }
        Ok(ours)
    });
    let ours = match put_back {
        Err(error) if error.is_not_found() => false,
        put_back => put_back?,
    };
    remove_record(directory, record.setting())?;
    Ok(ours)
}
