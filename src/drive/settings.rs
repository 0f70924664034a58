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
use crate::roots::{self, Roots};

mod error;
mod guard;
mod kernel_file;
mod record;
mod setting;
mod store;

use error::io_error;
pub use error::{RecordError, SettingError};
pub use guard::Guard;
use kernel_file::KernelFile;
pub use record::{BootId, DeviceIdentity, Record};
pub use setting::{DeviceName, Setting};
use store::{RECORD, forget, lock_of, read_record, restore};

/// The directory of the records, below the base.
const OWN: &str = "diskscope/settings";
/// A temporary file that is older has been left by a process that was killed.
const TEMPORARY_AGE: Duration = Duration::from_secs(600);

/// How often a lock is asked for that another process has, and how long is waited between.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// How long the start of a command waits for the end of a process that keeps a setting.
const HOLDER_END: Duration = Duration::from_millis(200);

/// A directory for records: a base, and the components below it that are the program's own.
#[derive(Debug, Clone)]
struct RecordPlace {
    base: PathBuf,
    own: PathBuf,
}

/// Changes settings of the system, and puts them back.
#[derive(Debug, Clone)]
pub struct Settings {
    roots: Roots,
    /// Records are written to the first and looked for in all.
    places: Vec<RecordPlace>,
}

impl Default for Settings {
    /// The system's own settings. Root's records are below `/run`, whatever HOME is; those of
    /// others below `$XDG_RUNTIME_DIR`, else in their state directory.
    fn default() -> Self {
        let roots = Roots::default();
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
        let place = |base| RecordPlace {
            base,
            own: PathBuf::from(OWN),
        };
        Self {
            roots,
            places: bases.into_iter().map(place).collect(),
        }
    }
}

/// What became of a setting that a killed process left changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// It has its old value again.
    PutBack {
        /// The setting's file.
        path: PathBuf,
        /// The old value.
        value: String,
    },
    /// Another device has the name now: nothing was changed.
    OtherDevice {
        /// The setting.
        setting: Setting,
    },
}

impl Settings {
    /// Settings below other roots, with records in that directory.
    #[must_use]
    pub fn new(roots: Roots, records: &Path) -> Self {
        let place = RecordPlace {
            base: records.parent().unwrap_or(records).to_owned(),
            own: records.file_name().unwrap_or_default().into(),
        };
        Self {
            roots,
            places: vec![place],
        }
    }

    /// Whether this system has the setting.
    #[must_use]
    pub fn exists(&self, setting: &Setting) -> bool {
        let located = setting.locate(&self.roots);
        located.is_ok_and(|(tree, file)| tree.root(&self.roots).join(file).exists())
    }

    /// Prepares a setting to be changed: no other process can change it as long as the guard
    /// lives, and it is put back when the guard goes. What a killed process left is put back
    /// first, so that the guard's original is the value from before both.
    ///
    /// # Errors
    /// When another process changes it ([`SettingError::is_held`]), when it cannot be read, or its
    /// old value cannot be noted.
    pub fn guard(&self, setting: Setting) -> Result<Guard, SettingError> {
        // A start of the program that puts settings back has the lock for a moment only.
        for _ in 0..LOCK_TRIES {
            match self.try_guard(setting.clone()) {
                Err(error) if error.is_held() => std::thread::sleep(LOCK_PAUSE),
                taken => return taken,
            }
        }
        self.try_guard(setting)
    }

    fn try_guard(&self, setting: Setting) -> Result<Guard, SettingError> {
        let file = KernelFile::open(&self.roots, &setting)?;
        let directory = self.directory()?;
        let lock = lock_of(&directory, &setting)?;
        if !file.lock()? {
            return Err(SettingError::Held {
                setting,
                holder: None,
            });
        }
        if let Ok(Some(left)) = read_record(&directory, &setting) {
            self.settle(&directory, &left, &file)?;
        }
        let boot = BootId::read(&self.roots).ok_or_else(|| {
            let path = self.roots.proc.join("sys/kernel/random/boot_id");
            io_error("read", &path)(io::ErrorKind::InvalidData.into())
        })?;
        let device = self.identity(&setting)?;
        let record = Record::new(setting.clone(), boot, device, file.read()?).map_err(|_| {
            let value = file.read().unwrap_or_default();
            SettingError::Value { setting, value }
        })?;
        Ok(Guard {
            record,
            file,
            directory,
            _lock: lock,
        })
    }

    /// Where new records are written: the first place that can be used.
    fn directory(&self) -> Result<PrivateDirectory, SettingError> {
        let mut refused = None;
        for place in &self.places {
            match PrivateDirectory::create(&place.base, &place.own) {
                Ok(directory) => return Ok(directory),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.map_or(SettingError::NoPlace, SettingError::Directory))
    }

    /// Puts back what a killed process left changed. Settings of a process that is still there,
    /// and settings that somebody else has changed since, are left alone.
    #[must_use]
    pub fn restore_leftovers(&self) -> Vec<Result<Leftover, SettingError>> {
        let mut restored = Vec::new();
        for place in &self.places {
            match PrivateDirectory::open(&place.base, &place.own) {
                Ok(directory) => restored.extend(self.restore_in(&directory)),
                // Another user's directory that cannot be looked into has nothing for this one, and
                // where others decide what is there nothing was written.
                Err(error) if error.is_not_found() || error.is_denied() || error.is_untrusted() => {
                }
                Err(error) => restored.push(Err(error.into())),
            }
        }
        restored
    }

    fn restore_in(&self, directory: &PrivateDirectory) -> Vec<Result<Leftover, SettingError>> {
        directory.remove_old_temporaries(TEMPORARY_AGE);
        let names = match directory.names() {
            Ok(names) => names,
            Err(error) => return vec![Err(error.into())],
        };
        let settings = names
            .iter()
            .filter_map(|name| name.to_str()?.strip_suffix(RECORD)?.parse().ok());
        settings
            .filter_map(|setting| self.restore_soon(directory, &setting).transpose())
            .collect()
    }

    /// Puts one setting back, unless a running process keeps it. After kill -9 the kernel takes a
    /// few milliseconds to end the worker process and its locks.
    fn restore_soon(
        &self,
        directory: &PrivateDirectory,
        setting: &Setting,
    ) -> Result<Option<Leftover>, SettingError> {
        let began = Instant::now();
        loop {
            match self.restore_one(directory, setting) {
                Err(error) if error.is_held() => {
                    if began.elapsed() > HOLDER_END {
                        return Ok(None);
                    }
                    std::thread::sleep(HOLDER_END / 20);
                }
                restored => return restored,
            }
        }
    }

    fn restore_one(
        &self,
        directory: &PrivateDirectory,
        setting: &Setting,
    ) -> Result<Option<Leftover>, SettingError> {
        let _lock = lock_of(directory, setting)?;
        // Its process may have ended well meanwhile.
        let Some(record) = read_record(directory, setting)? else {
            return Ok(None);
        };
        let file = match KernelFile::open(&self.roots, setting) {
            Err(error) if error.is_not_found() => {
                forget(directory, setting)?;
                return Ok(None);
            }
            opened => opened?,
        };
        if !file.lock()? {
            return Ok(None);
        }
        self.settle(directory, &record, &file)
    }

    /// Puts a setting back as a record says, where the record is about this device and this run
    /// of the kernel, and removes the record. Both locks are held.
    fn settle(
        &self,
        directory: &PrivateDirectory,
        record: &Record,
        file: &KernelFile,
    ) -> Result<Option<Leftover>, SettingError> {
        let setting = record.setting();
        // After a reboot the setting is what the system makes it.
        if BootId::read(&self.roots).as_ref() != Some(record.boot()) {
            return forget(directory, setting).map(|()| None);
        }
        let now = self.identity(setting)?;
        let same = match (record.device(), &now) {
            (Some(then), Some(now)) => then.matches(now),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let setting = setting.clone();
            forget(directory, &setting)?;
            return Ok(Some(Leftover::OtherDevice { setting }));
        }
        let restored = restore(directory, record, file)?;
        Ok(restored.then(|| Leftover::PutBack {
            path: file.path().to_owned(),
            value: record.original().to_owned(),
        }))
    }

    /// Who the setting's device is; `None` for a setting of the whole system.
    fn identity(&self, setting: &Setting) -> Result<Option<DeviceIdentity>, SettingError> {
        let Some(name) = setting.device() else {
            return Ok(None);
        };
        let read = DeviceIdentity::read(&self.roots, name);
        read.map(Some).ok_or_else(|| {
            let path = self.roots.sys.join("class/block").join(name.as_str());
            io_error("identify", &path)(io::ErrorKind::NotFound.into())
        })
    }
}

#[cfg(test)]
mod tests;
