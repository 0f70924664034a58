//! A setting that is changed, and put back when the guard goes.

use std::fs::File;
use std::io;

use super::error::{SettingError, io_error};
use super::kernel_file::SettingFile;
use super::record::SettingRecord;
use super::store::{record_name, restore_from_record};
use crate::private_directory::PrivateDirectory;

/// A setting that may be changed as long as this lives, by nobody else.
#[derive(Debug)]
pub struct SettingLock {
    pub(super) record: SettingRecord,
    pub(super) file: SettingFile,
    pub(super) directory: PrivateDirectory,
    // Goes last: until then the setting is put back and the record is removed.
    pub(super) _lock: File,
}

impl SettingLock {
    /// What it was at the beginning.
    #[must_use]
    pub fn original_value(&self) -> &str {
        self.record.original()
    }

    /// Changes the setting; the old value is on disk before.
    ///
    /// # Errors
    /// When the old value cannot be noted, or the kernel does not take the new one (or takes
    /// another instead).
    pub fn set(&mut self, value: &str) -> Result<(), SettingError> {
        self.record_value(value)?;
        self.file.write(value)?;
        let now = self.file.read()?;
        if now != value {
            // Whatever it has become is our doing.
            self.record_value(&now)?;
            let refused = io::Error::other(format!("it did not take {value:?}"));
            return Err(io_error("change", self.file.path())(refused));
        }
        Ok(())
    }

    /// Puts the setting back and says whether that worked; dropping does the same in silence.
    ///
    /// # Errors
    /// When the kernel does not take the old value: the record stays for the next start.
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
        // A value that cannot be put back now is tried again at the next start: the record stays.
        let _ = self.restore();
    }
}
