//! Settings of the system that a test changes, and that are put back whatever happens.
//!
//! Before a setting is changed, a record of its old value is on disk. The guard puts the value back
//! and removes the record; after a kill the record is still there, and the next start puts the value
//! back ([`Settings::restore_leftovers`]).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::roots::{self, Roots};

/// Ending of a record's name.
const RECORD: &str = "setting.json";
/// Ending of the name of one that is being written.
const PARTIAL: &str = "partial";

/// What went wrong with a setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The file system said no.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is nowhere to keep the record without which nothing is changed.
    #[error("neither XDG_STATE_HOME nor HOME is set: there is no place to note the old value")]
    NoPlace,
}

impl SettingError {
    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => "run it as root",
                io::ErrorKind::NotFound => "this kernel or driver has no such setting",
                _ => "the kernel or the drive does not let it be changed",
            },
            Self::NoPlace => "set HOME or XDG_STATE_HOME",
        }
    }
}

fn io_error(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SettingError {
    let path = path.to_owned();
    move |source| SettingError::Io {
        tried,
        path,
        source,
    }
}

/// The old value of one setting, as long as it is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The setting's file.
    path: PathBuf,
    /// What it was.
    original: String,
    /// What it was changed to, one after the other: anything else was set by somebody else, who
    /// shall keep it.
    ours: Vec<String>,
    /// Who changed it.
    process: u32,
    /// When that process began, in the kernel's ticks since boot: the number alone is given anew.
    process_start: Option<u64>,
}

/// Changes settings of the system, and puts them back.
#[derive(Debug, Clone)]
pub struct Settings {
    roots: Roots,
    records: Option<PathBuf>,
}

impl Default for Settings {
    /// The system's own settings, with records in `settings` of the program's state directory.
    fn default() -> Self {
        Self {
            roots: Roots::default(),
            records: roots::state_directory().map(|state| state.join("settings")),
        }
    }
}

impl Settings {
    /// Settings below other roots, with records in that directory.
    #[must_use]
    pub fn new(roots: Roots, records: PathBuf) -> Self {
        Self {
            roots,
            records: Some(records),
        }
    }

    /// The read-ahead of a block device in KiB (kernel Documentation/ABI/stable/sysfs-block); a
    /// partition has its parent's.
    #[must_use]
    pub fn read_ahead(&self, device: &str) -> PathBuf {
        self.block(device).join("queue/read_ahead_kb")
    }

    /// Whether waiting for I/O is counted, 0 or 1 (kernel Documentation/accounting/
    /// delay-accounting.rst).
    #[must_use]
    pub fn delay_accounting(&self) -> PathBuf {
        self.roots.proc.join("sys/kernel/task_delayacct")
    }

    /// The write cache of a SCSI or SATA drive, `write back` or `write through` (drivers/scsi/sd.c,
    /// `cache_type`); `None` where the device is none.
    #[must_use]
    pub fn write_cache(&self, device: &str) -> Option<PathBuf> {
        let disks = self.block(device).join("device/scsi_disk");
        let disk = fs::read_dir(disks).ok()?.next()?.ok()?;
        Some(disk.path().join("cache_type"))
    }

    fn block(&self, device: &str) -> PathBuf {
        self.roots.sys.join("class/block").join(device)
    }

    /// What a setting is now; of a choice such as `[none] mq-deadline` the word in brackets.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &Path) -> Result<String, SettingError> {
        read(path)
    }

    /// Prepares a setting to be changed. It is put back when the guard goes.
    ///
    /// # Errors
    /// When it cannot be read, or its old value cannot be noted.
    pub fn guard(&self, path: &Path) -> Result<Guard, SettingError> {
        let directory = self.records.as_ref().ok_or(SettingError::NoPlace)?;
        fs::create_dir_all(directory).map_err(io_error("make the directory", directory))?;
        let process = std::process::id();
        let record = Record {
            path: path.to_owned(),
            original: read(path)?,
            ours: Vec::new(),
            process,
            process_start: self.process_start(process),
        };
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = directory.join(format!("{process}-{number}.{RECORD}"));
        Ok(Guard { record, file })
    }

    /// Puts back what a killed process left changed. Settings of a process that is still there,
    /// and settings that somebody else has changed since, are left alone. Says of each setting
    /// which it is and what it was put back to.
    #[must_use]
    pub fn restore_leftovers(&self) -> Vec<Result<(PathBuf, String), SettingError>> {
        let Some(entries) = self
            .records
            .as_ref()
            .and_then(|path| fs::read_dir(path).ok())
        else {
            return Vec::new();
        };
        let files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        self.sweep(&files);
        files
            .iter()
            .filter(|path| path.to_string_lossy().ends_with(RECORD))
            .filter_map(|file| self.restore_leftover(file))
            .collect()
    }

    /// Clears away records whose writer was killed in the middle: nothing had been changed yet, or
    /// the record before is still there.
    fn sweep(&self, files: &[PathBuf]) {
        for file in files
            .iter()
            .filter(|path| path.extension() == Some(PARTIAL.as_ref()))
        {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let process = name.split_once('-').and_then(|(id, _)| id.parse().ok());
            if process.is_some_and(|id| self.process_start(id).is_none()) {
                // One that stays is untidy, not wrong.
                let _ = fs::remove_file(file);
            }
        }
    }

    fn restore_leftover(&self, file: &Path) -> Option<Result<(PathBuf, String), SettingError>> {
        let record = fs::read(file)
            .ok()
            .and_then(|text| serde_json::from_slice::<Record>(&text).ok());
        let Some(record) = record else {
            // Renaming is atomic, so this is no half-written record of ours.
            return None;
        };
        let alive = record.process_start.is_some()
            && self.process_start(record.process) == record.process_start;
        if alive {
            return None;
        }
        let restored = restore(&record, file).transpose()?;
        Some(restored.map(|()| (record.path, record.original)))
    }

    /// When a process that still runs began, in ticks since boot (proc_pid_stat(5), field 22). One
    /// that has ended and waits for its parent (state Z or X) puts nothing back any more.
    fn process_start(&self, process: u32) -> Option<u64> {
        let path = self.roots.proc.join(process.to_string()).join("stat");
        let text = fs::read_to_string(path).ok()?;
        // The command's name in parentheses may hold anything; field 3, the state, follows it.
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X" | "x");
        let start = fields.nth(18)?.parse().ok();
        start.filter(|_| !ended)
    }
}

fn read(path: &Path) -> Result<String, SettingError> {
    let text = fs::read_to_string(path).map_err(io_error("read", path))?;
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(word, _)| word);
    Ok(chosen.unwrap_or(text.trim()).to_owned())
}

fn write(path: &Path, value: &str) -> Result<(), SettingError> {
    fs::write(path, value).map_err(io_error("change", path))
}

/// Puts a setting back and removes its record. `None` where there was nothing to put back: the
/// device is gone, or somebody else has set it since.
fn restore(record: &Record, file: &Path) -> Result<Option<()>, SettingError> {
    let ours = match read(&record.path) {
        Ok(now) => record.ours.contains(&now) && now != record.original,
        Err(SettingError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if ours {
        write(&record.path, &record.original)?;
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error("remove", file)(error))
        }
        _ => Ok(ours.then_some(())),
    }
}

/// A setting that may be changed as long as this lives.
#[derive(Debug)]
pub struct Guard {
    record: Record,
    file: PathBuf,
}

impl Guard {
    /// What it was at the beginning.
    #[must_use]
    pub fn original(&self) -> &str {
        &self.record.original
    }

    /// Changes the setting; the old value is on disk before.
    ///
    /// # Errors
    /// When the old value cannot be noted, or the kernel does not take the new one (or takes
    /// another instead).
    pub fn set(&mut self, value: &str) -> Result<(), SettingError> {
        self.record.ours.push(value.to_owned());
        self.note()?;
        write(&self.record.path, value)?;
        let now = read(&self.record.path)?;
        if now != value {
            // Whatever it has become is our doing.
            self.record.ours.push(now);
            self.note()?;
            let refused = io::Error::other(format!("it did not take {value:?}"));
            return Err(io_error("change", &self.record.path)(refused));
        }
        Ok(())
    }

    /// Puts the setting back and says whether that worked; dropping does the same in silence.
    ///
    /// # Errors
    /// When the kernel does not take the old value: the record stays for the next start.
    pub fn put_back(self) -> Result<(), SettingError> {
        restore(&self.record, &self.file).map(|_| ())
    }

    fn note(&self) -> Result<(), SettingError> {
        let text = serde_json::to_vec(&self.record)
            .map_err(io::Error::from)
            .map_err(io_error("write", &self.file))?;
        let partial = self.file.with_extension(PARTIAL);
        let written = File::create(&partial)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_data()))
            .and_then(|()| fs::rename(&partial, &self.file));
        written.map_err(io_error("write", &self.file))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A value that cannot be put back now is tried again at the next start: the record stays.
        let _ = restore(&self.record, &self.file);
    }
}

#[cfg(test)]
mod tests;
