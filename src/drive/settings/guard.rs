//! A locked setting, restored when the guard is dropped.

use std::fs::File;
use std::io;

use crate::drive::settings::error::{SettingError, io_error};
use crate::drive::settings::kernel_file::SettingFile;
use crate::drive::settings::record::SettingRecord;
use crate::drive::settings::store::{record_name, restore_from_record};
use crate::private_directory::PrivateDirectory;

/// A setting that only this process may change, during the lifetime of this guard.
#[derive(Debug)]
pub struct SettingLock {
    pub(super) record: SettingRecord,
    pub(super) file: SettingFile,
    pub(super) directory: PrivateDirectory,
    // Dropped last: by then the setting is restored and the record is removed.
    pub(super) _lock: File,
}

impl SettingLock {
    /// The original value.
    #[must_use]
    pub fn original_value(&self) -> &str {
        self.record.original()
    }

    /// Changes the setting. The old value is written to disk first.
    ///
    /// # Errors
    /// When the old value cannot be recorded, or when the kernel rejects the new value or sets
    /// another one.
    pub fn set(&mut self, value: &str) -> Result<(), SettingError> {
        self.record_value(value)?;
        self.file.write(value)?;
        let now = self.file.read()?;
        if now != value {
            // The kernel set another value as a result of this write.
            self.record_value(&now)?;
            let refused = io::Error::other(format!("it did not accept {value:?}"));
            return Err(io_error("change", self.file.path())(refused));
        }
        Ok(())
    }

    /// Restores the setting and reports errors; drop does the same but ignores errors.
    ///
    /// # Errors
    /// When the kernel rejects the old value. The record remains for the next start.
    pub fn restore_original(self) -> Result<(), SettingError> {
        self.restore()
    }

    fn restore(&self) -> Result<(), SettingError> {
        restore_from_record(&self.directory, &self.record, &self.file).map(|_| ())
    }

    fn record_value(&mut self, value: &str) -> Result<(), SettingError> {
        let setting = self.record.setting().clone();
        self.record
            .add_value(value)
            .map_err(|_| SettingError::InvalidValue {
                setting,
                value: value.to_owned(),
            })?;
        let name = record_name(self.record.setting());
        let path = self.directory.path().join(&name);
        let text = serde_json::to_vec(&self.record)
            .map_err(|error| io_error("write", &path)(error.into()))?;
        Ok(self.directory.replace_file(&name, &text)?)
    }
}

impl Drop for SettingLock {
    fn drop(&mut self) {
        // On failure the record remains and the next start tries again.
        let _ = self.restore();
    }
}
