//! The settings that the program may change.

use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use crate::drive::identity::sysfs::read_number;
use crate::roots::SysPaths;

const READ_AHEAD: &str = "read-ahead@";
const DELAY_ACCOUNTING: &str = "delay-accounting";

/// A setting that the program may change. Its values are numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemSetting {
    /// Read-ahead of a whole block device in KiB (kernel Documentation/ABI/stable/sysfs-block): its name below
    /// `/sys/class/block`, as [`SystemSetting::read_ahead`] has checked it.
    ReadAhead(String),
    /// Delay accounting, 0 or 1 (kernel Documentation/accounting/delay-accounting.rst).
    DelayAccounting,
}

impl SystemSetting {
    /// The read-ahead of a whole device; `None` if this cannot be the name of an entry of a directory.
    #[must_use]
    pub fn read_ahead(device: &str) -> Option<Self> {
        let is_name = Path::new(device).file_name() == Some(OsStr::new(device));
        is_name.then(|| Self::ReadAhead(device.to_owned()))
    }

    /// Its name: `read-ahead@sda`, `delay-accounting`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::ReadAhead(device) => format!("{READ_AHEAD}{device}"),
            Self::DelayAccounting => DELAY_ACCOUNTING.to_owned(),
        }
    }

    /// The setting of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix(READ_AHEAD) {
            Some(device) => Self::read_ahead(device),
            None => (name == DELAY_ACCOUNTING).then_some(Self::DelayAccounting),
        }
    }

    /// Its file in sysfs or procfs.
    pub(super) fn path(&self, sys_paths: &SysPaths) -> PathBuf {
        match self {
            Self::ReadAhead(device) => {
                device_directory(sys_paths, device).join("queue/read_ahead_kb")
            }
            Self::DelayAccounting => sys_paths.proc.join("sys/kernel/task_delayacct"),
        }
    }

    /// The disk sequence number of its device, if the kernel has one.
    pub(super) fn diskseq(&self, sys_paths: &SysPaths) -> Option<u64> {
        let Self::ReadAhead(device) = self else {
            return None;
        };
        read_number(&device_directory(sys_paths, device).join("diskseq"))
    }
}

fn device_directory(sys_paths: &SysPaths, device: &str) -> PathBuf {
    sys_paths.sys.join("class/block").join(device)
}

impl Display for SystemSetting {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadAhead(device) => write!(out, "the read-ahead of {device}"),
            Self::DelayAccounting => out.write_str("delay accounting"),
        }
    }
}
