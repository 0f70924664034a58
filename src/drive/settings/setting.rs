//! The complete set of settings that the program may change, and their valid values.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::{SettingError, io_error};
use crate::roots::SysPaths;

/// Maximum length of a device name. Names in the kernel are shorter (DISK_NAME_LEN, 32, and a
/// partition's number).
const MAX_DEVICE_NAME_BYTES: usize = 64;
/// Valid values of `cache_type` (drivers/scsi/sd.c, `sd_cache_types`).
const CACHE_TYPES: [&str; 4] = [
    "write through",
    "none",
    "write back",
    "write back, no read (daft)",
];

const READ_AHEAD: &str = "read-ahead";
const WRITE_CACHE: &str = "write-cache";
const DELAY_ACCOUNTING: &str = "delay-accounting";

/// A name below `/sys/class/block`: one component of letters, digits and `!._:-` that does not
/// start with a dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceName(String);

impl DeviceName {
    /// Validates a name.
    ///
    /// # Errors
    /// When it is not a valid name of a block device.
    pub fn new(name: &str) -> Result<Self, SettingError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!._:-".contains(&byte);
        if !name.is_empty()
            && name.len() <= MAX_DEVICE_NAME_BYTES
            && !name.starts_with('.')
            && name.bytes().all(allowed)
        {
            Ok(Self(name.to_owned()))
        } else {
            Err(SettingError::InvalidDeviceName {
                name: name.to_owned(),
            })
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A system setting that the program may change. A record names one of these; its path is built
/// here, never read from the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum SystemSetting {
    /// Read-ahead of a whole block device in KiB (kernel Documentation/ABI/stable/sysfs-block).
    ReadAhead(DeviceName),
    /// Write cache of a SCSI or SATA drive (drivers/scsi/sd.c, `cache_type`).
    WriteCache(DeviceName),
    /// Delay accounting, 0 or 1 (kernel Documentation/accounting/delay-accounting.rst).
    DelayAccounting,
}

/// The kernel file system that holds a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelTree {
    Sysfs,
    Procfs,
}

impl KernelTree {
    pub(super) fn root(self, roots: &SysPaths) -> &Path {
        match self {
            Self::Sysfs => &roots.sys,
            Self::Procfs => &roots.proc,
        }
    }

    /// `f_type` of its files (include/uapi/linux/magic.h).
    pub(super) fn file_system_magic(self) -> u64 {
        match self {
            Self::Sysfs => 0x6265_6572,
            Self::Procfs => 0x9fa0,
        }
    }
}

impl SystemSetting {
    /// The read-ahead of a whole device.
    ///
    /// # Errors
    /// When it is not a valid name of a block device.
    pub fn read_ahead(device: &str) -> Result<Self, SettingError> {
        DeviceName::new(device).map(Self::ReadAhead)
    }

    /// The write cache of a drive.
    ///
    /// # Errors
    /// When it is not a valid name of a block device.
    pub fn write_cache(device: &str) -> Result<Self, SettingError> {
        DeviceName::new(device).map(Self::WriteCache)
    }

    /// The device that the setting belongs to.
    #[must_use]
    pub fn device(&self) -> Option<&DeviceName> {
        match self {
            Self::ReadAhead(device) | Self::WriteCache(device) => Some(device),
            Self::DelayAccounting => None,
        }
    }

    /// Whether the text is a valid value of the setting.
    #[must_use]
    pub fn accepts(&self, value: &str) -> bool {
        match self {
            // In the kernel's format: no sign, no leading zero.
            Self::ReadAhead(_) => value
                .parse::<u32>()
                .is_ok_and(|number| number.to_string() == value),
            Self::WriteCache(_) => CACHE_TYPES.contains(&value),
            Self::DelayAccounting => matches!(value, "0" | "1"),
        }
    }

    /// Values that the kernel may report after this value is written: it rounds read-ahead to
    /// pages.
    pub(super) fn possible_readback_values(&self, value: &str) -> Vec<String> {
        let mut readings = vec![value.to_owned()];
        if let (Self::ReadAhead(_), Ok(kib)) = (self, value.parse::<u64>()) {
            let page = rustix::param::page_size() as u64 / 1024;
            let rounded = (kib - kib % page.max(1)).to_string();
            if rounded != value {
                readings.push(rounded);
            }
        }
        readings
    }

    /// Its file: the tree, and the path relative to the root of that tree.
    pub(super) fn file_path(
        &self,
        roots: &SysPaths,
    ) -> Result<(KernelTree, PathBuf), SettingError> {
        let device = |device: &DeviceName| Path::new("class/block").join(device.as_str());
        match self {
            Self::ReadAhead(name) => {
                Ok((KernelTree::Sysfs, device(name).join("queue/read_ahead_kb")))
            }
            Self::WriteCache(name) => {
                let disks = device(name).join("device/scsi_disk");
                let address = scsi_address(&roots.sys.join(&disks))?;
                let file = disks.join(address).join("cache_type");
                Ok((KernelTree::Sysfs, file))
            }
            Self::DelayAccounting => Ok((
                KernelTree::Procfs,
                PathBuf::from("sys/kernel/task_delayacct"),
            )),
        }
    }

    /// Its name: `read-ahead@sda`, `delay-accounting`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::ReadAhead(device) => format!("{READ_AHEAD}@{}", device.as_str()),
            Self::WriteCache(device) => format!("{WRITE_CACHE}@{}", device.as_str()),
            Self::DelayAccounting => DELAY_ACCOUNTING.to_owned(),
        }
    }
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

impl FromStr for SystemSetting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        match text.split_once('@') {
            Some((READ_AHEAD, device)) => Self::read_ahead(device),
            Some((WRITE_CACHE, device)) => Self::write_cache(device),
            None if text == DELAY_ACCOUNTING => Ok(Self::DelayAccounting),
            _ => Err(SettingError::InvalidDeviceName {
                name: text.to_owned(),
            }),
        }
    }
}

/// The error for a record that names no setting.
#[derive(Debug, thiserror::Error)]
#[error("there is no setting {name:?}")]
pub struct UnknownSetting {
    name: String,
}

impl TryFrom<String> for SystemSetting {
    type Error = UnknownSetting;

    fn try_from(name: String) -> Result<Self, UnknownSetting> {
        name.parse().map_err(|_| UnknownSetting { name })
    }
}

impl From<SystemSetting> for String {
    fn from(setting: SystemSetting) -> Self {
        setting.name()
    }
}

impl Display for SystemSetting {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadAhead(device) => write!(out, "the read-ahead of {}", device.as_str()),
            Self::WriteCache(device) => write!(out, "the write cache of {}", device.as_str()),
            Self::DelayAccounting => out.write_str("delay accounting"),
        }
    }
}
