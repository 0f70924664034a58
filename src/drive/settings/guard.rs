//! A locked setting, restored when the guard is dropped.

use std::fs::File;

use crate::drive::settings::error::{RecordError, SettingError};
use crate::drive::settings::record::SettingRecord;
use crate::drive::settings::setting_file::SettingFile;
use crate::drive::settings::store::{restore_from_record, write_and_put_back, write_record};
use crate::files::state::PrivateDirectory;

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
    /// When the old value cannot be recorded, when the kernel rejects the new value or sets another
    /// one, or when a setting that the kernel resets as a result cannot be written back.
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
        let record = self.valid(value, self.record.clone().before_write(before, value))?;
        self.record = record.with_revalidated(self.file.read_revalidated()?);
        self.write_record()?;
        let resets_others = !self.record.revalidated().is_empty();
        write_and_put_back(&mut self.record, &self.file, value)?;
        let now = self.file.read()?;
        self.record = self.valid(&now, self.record.clone().after_write(now.clone()))?;
        // The kernel may have set another value as a result of this write. What others set from now
        // on is not replaced after a kill.
        if resets_others || now != value {
            self.write_record()?;
        }
        self.file.expect_value(value)
    }

    /// Restores the setting until it is set again; it stays locked. A value that another program has set stays.
    ///
    /// # Errors
    /// When the kernel rejects the old value. The record remains, and the next restoration tries again.
    pub fn restore_until_set(&mut self) -> Result<(), SettingError> {
        self.restore()?;
        self.record = self.record.clone().after_restoration();
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
        write_record(&self.directory, &self.record)
    }
}

impl Drop for SettingLock {
    fn drop(&mut self) {
        // On failure the record remains and the next start tries again.
        let _ = self.restore();
    }
}
