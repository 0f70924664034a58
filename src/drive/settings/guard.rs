//! A locked setting, restored when the guard is dropped.

use std::fs::File;
use std::io;

use crate::drive::settings::error::{RecordError, SettingError, io_error};
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
    /// The value that is restored.
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
        let before = self.file.read()?;
        self.change(before, value)
    }

    /// Changes the setting, unless another program has changed it since it was locked.
    ///
    /// # Errors
    /// When another program has changed it, and as [`SettingLock::set`].
    pub fn set_unless_changed_elsewhere(&mut self, value: &str) -> Result<(), SettingError> {
        let before = self.file.read()?;
        if before != self.record.original() && !self.record.was_set_by_us(&before) {
            let setting = self.record.setting().clone();
            return Err(SettingError::ChangedElsewhere {
                setting,
                value: before,
            });
        }
        self.change(before, value)
    }

    fn change(&mut self, before: String, value: &str) -> Result<(), SettingError> {
        self.record = self.valid(value, self.record.clone().before_write(before, value))?;
        self.write_record()?;
        self.file.write(value)?;
        let now = self.file.read()?;
        self.record = self.valid(&now, self.record.clone().after_write(now.clone()))?;
        if now != value {
            // The kernel set another value as a result of this write.
            self.write_record()?;
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

    /// The new record, or that the setting cannot have the value.
    fn valid(
        &self,
        value: &str,
        record: Result<SettingRecord, RecordError>,
    ) -> Result<SettingRecord, SettingError> {
        record.map_err(|_| SettingError::InvalidValue {
            setting: self.record.setting().clone(),
            value: value.to_owned(),
        })
    }

    fn write_record(&self) -> Result<(), SettingError> {
        let name = record_name(self.record.setting());
        let path = self.directory.path().join(&name);
        let text = serde_json::to_vec(&self.record)
            .map_err(|error| io_error("write", &path)(error.into()))?;
        self.directory.replace_file(&name, &text)?;
        Ok(())
    }
}

impl Drop for SettingLock {
    fn drop(&mut self) {
        // On failure the record remains and the next start tries again.
        let _ = self.restore();
    }
}
