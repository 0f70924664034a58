//! The files of a setting: its own, and those of the settings that the kernel may reset when it is
//! written.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::drive::settings::error::{SettingError, io_error};
use crate::drive::settings::kernel_file::{KernelFile, KernelTree};
use crate::drive::settings::revalidated::{RevalidatedSetting, RevalidatedValues};
use crate::drive::settings::setting::{DeviceName, SystemSetting};
use crate::roots::SysPaths;

/// Vendor of the drives that libata passes on (drivers/ata/libata-scsi.c, `ata_scsiop_inq_std`).
const LIBATA_VENDOR: &str = "ATA";
/// How long the settings of such a drive must keep their values after a write of `cache_type`. The
/// command that the write sends makes libata revalidate the disk once more, later and by itself
/// (drivers/ata/libata-core.c, `ata_qc_complete`; libata-eh.c, `ata_eh_revalidate_and_attach`).
pub const QUIET_TIME: Duration = Duration::from_millis(500);
/// How long to wait for that at most.
const MAX_QUIET_WAIT: Duration = Duration::from_secs(5);
/// Interval between two looks at the values.
const QUIET_POLL_INTERVAL: Duration = Duration::from_millis(20);

impl SystemSetting {
    /// Its file: the tree, and the path relative to the root of that tree.
    pub(super) fn file_path(
        &self,
        roots: &SysPaths,
    ) -> Result<(KernelTree, PathBuf), SettingError> {
        match self {
            Self::ReadAhead(name) => Ok((
                KernelTree::Sysfs,
                device_directory(name).join("queue/read_ahead_kb"),
            )),
            Self::WriteCache(name) => {
                let file = scsi_disk_directory(roots, name)?.join("cache_type");
                Ok((KernelTree::Sysfs, file))
            }
            Self::DelayAccounting => Ok((
                KernelTree::Procfs,
                PathBuf::from("sys/kernel/task_delayacct"),
            )),
        }
    }
}

/// Directory of a block device, relative to the root of sysfs.
fn device_directory(name: &DeviceName) -> PathBuf {
    Path::new("class/block").join(name.as_str())
}

/// Directory of the SCSI disk of a block device, relative to the root of sysfs.
fn scsi_disk_directory(roots: &SysPaths, name: &DeviceName) -> Result<PathBuf, SettingError> {
    let disks = device_directory(name).join("device/scsi_disk");
    let address = scsi_address(&roots.sys.join(&disks))?;
    Ok(disks.join(address))
}

/// The only entry of `scsi_disk`: host, channel, target and LUN, as `2:0:0:0`.
fn scsi_address(disks: &Path) -> Result<String, SettingError> {
    let is_address = |name: &str| {
        let numbers: Vec<&str> = name.split(':').collect();
        let number = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        numbers.len() == 4 && numbers.iter().all(number)
    };
    std::fs::read_dir(disks)
        .map_err(io_error("list", disks))?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .find(|name| is_address(name))
        .ok_or_else(|| io_error("find a drive in", disks)(std::io::ErrorKind::NotFound.into()))
}

/// The open file of a setting.
#[derive(Debug)]
pub(super) struct SettingFile {
    file: KernelFile,
    /// Those that this kernel has.
    revalidated: BTreeMap<RevalidatedSetting, KernelFile>,
    /// How long these must keep their values after a write.
    quiet_time: Duration,
    /// What the kernel does as a result of a write, in tests, which use ordinary files.
    #[cfg(test)]
    pub(super) on_write: Option<fn(&Path)>,
}

impl SettingFile {
    /// Opens a setting for reading and writing, with all settings that the kernel may reset when it
    /// is written: it is not written where these cannot be.
    pub(super) fn open(roots: &SysPaths, setting: &SystemSetting) -> Result<Self, SettingError> {
        let (tree, relative) = setting.file_path(roots)?;
        Ok(Self {
            file: KernelFile::open(roots, tree, &relative)?,
            revalidated: match setting {
                SystemSetting::WriteCache(name) => open_revalidated(roots, name)?,
                SystemSetting::ReadAhead(_) | SystemSetting::DelayAccounting => BTreeMap::new(),
            },
            quiet_time: match setting {
                SystemSetting::WriteCache(name) if is_libata_drive(roots, name) => QUIET_TIME,
                _ => Duration::ZERO,
            },
            #[cfg(test)]
            on_write: None,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Locks the files themselves, which are the same for all users, whatever their record
    /// directories. `false` if another process holds one of the locks.
    pub(super) fn try_lock(&self) -> Result<bool, SettingError> {
        for file in std::iter::once(&self.file).chain(self.revalidated.values()) {
            if !file.try_lock()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Current value; for a choice such as `[none] mq-deadline` the word in brackets.
    pub(super) fn read(&self) -> Result<String, SettingError> {
        self.file.read()
    }

    /// Changes the setting.
    pub(super) fn write(&self, value: &str) -> Result<(), SettingError> {
        let written = self.file.write(value);
        #[cfg(test)]
        if let Some(on_write) = self.on_write {
            on_write(self.path());
        }
        written
    }

    /// That the kernel has not accepted a value, unless it is the current one.
    pub(super) fn expect_value(&self, value: &str) -> Result<(), SettingError> {
        self.file.expect_value(value)
    }

    /// The values of the settings that the kernel may reset when this one is written.
    ///
    /// # Errors
    /// When one of them cannot be read, or has a value that could not be written back.
    pub(super) fn read_revalidated(&self) -> Result<RevalidatedValues, SettingError> {
        self.each_revalidated().collect()
    }

    /// Those of these values that can be read and could be written back.
    pub(super) fn known_revalidated(&self) -> RevalidatedValues {
        self.each_revalidated().flatten().collect()
    }

    fn each_revalidated(
        &self,
    ) -> impl Iterator<Item = Result<(RevalidatedSetting, String), SettingError>> {
        self.revalidated.iter().map(|(setting, file)| {
            let value = file.read()?;
            match setting.accepts(&value) {
                true => Ok((*setting, value)),
                false => Err(unknown_value(file.path(), &value)),
            }
        })
    }

    /// The value of one of these settings; `None` if it cannot be read.
    pub(super) fn revalidated_value(&self, setting: RevalidatedSetting) -> Option<String> {
        self.revalidated.get(&setting)?.read().ok()
    }

    /// Writes back the values after a write, when the kernel resets none of them any more; whether
    /// there were any.
    ///
    /// # Errors
    /// As [`SettingFile::write_back`].
    pub(super) fn write_back_when_quiet(
        &self,
        values: &RevalidatedValues,
    ) -> Result<bool, SettingError> {
        if !values.is_empty() {
            self.wait_until_quiet();
        }
        self.write_back(values)
    }

    /// Waits until the settings have kept their values for the quiet time. They are only read: Linux
    /// 6.11 to 6.13 can deadlock when a limit of a queue is written while the disk is revalidated
    /// (`queue_attr_store` freezes the queue and waits for the lock that `sd_revalidate_disk` holds).
    fn wait_until_quiet(&self) {
        let began = Instant::now();
        let mut changed = began;
        let mut values = self.known_revalidated();
        while changed.elapsed() < self.quiet_time && began.elapsed() < MAX_QUIET_WAIT {
            std::thread::sleep(QUIET_POLL_INTERVAL);
            let now = self.known_revalidated();
            if now != values {
                changed = Instant::now();
                values = now;
            }
        }
    }

    /// Writes back the values that are not the current ones; whether there were any. All are tried,
    /// whatever becomes of the ones before.
    ///
    /// # Errors
    /// The first one, also where the kernel has set another value.
    pub(super) fn write_back(&self, values: &RevalidatedValues) -> Result<bool, SettingError> {
        let files = || {
            let file = |(setting, value)| Some((self.revalidated.get(setting)?, value));
            values.iter().filter_map(file)
        };
        let mut written = Ok(false);
        for (file, value) in files() {
            let result = file.write_if_different(value);
            written = written.and_then(|before| Ok(result? || before));
        }
        // At the end, because a write can change another value.
        for (file, value) in files() {
            let result = file.expect_value(value);
            written = written.and_then(|before| result.map(|()| before));
        }
        written
    }
}

/// Whether a drive may be one of libata. Also a SATA drive behind a SAS adapter has this vendor.
fn is_libata_drive(roots: &SysPaths, name: &DeviceName) -> bool {
    let vendor = roots.sys.join(device_directory(name)).join("device/vendor");
    std::fs::read_to_string(vendor).is_ok_and(|vendor| vendor.trim() == LIBATA_VENDOR)
}

/// The files of a disk's revalidated settings that this kernel has.
fn open_revalidated(
    roots: &SysPaths,
    name: &DeviceName,
) -> Result<BTreeMap<RevalidatedSetting, KernelFile>, SettingError> {
    let (device, scsi_disk) = (device_directory(name), scsi_disk_directory(roots, name)?);
    let mut files = BTreeMap::new();
    for setting in RevalidatedSetting::ALL {
        let path = setting.file_path(&device, &scsi_disk);
        match KernelFile::open(roots, KernelTree::Sysfs, &path) {
            Err(error) if error.is_not_found() => {}
            opened => {
                files.insert(setting, opened?);
            }
        }
    }
    Ok(files)
}

fn unknown_value(path: &Path, value: &str) -> SettingError {
    let unknown = format!("{value:?} is not a known value");
    io_error("save the value of", path)(io::Error::new(io::ErrorKind::InvalidData, unknown))
}
