//! Settings of a disk that the kernel may reset when its write cache is switched.
//!
//! A write of `cache_type` makes the kernel read the drive's properties again
//! (drivers/scsi/sd.c, `cache_type_store`, `sd_revalidate_disk`), which replaces what udev rules or
//! an administrator have set. Which of the settings it resets depends on the kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Values of settings that are to be written back, in the order of the writes.
pub type RevalidatedValues = BTreeMap<RevalidatedSetting, String>;

/// Valid values of `provisioning_mode` (drivers/scsi/sd.c, `lbp_mode`).
const PROVISIONING_MODES: [&str; 6] = [
    "full",
    "unmap",
    "writesame_16",
    "writesame_10",
    "writesame_zero",
    "disabled",
];
/// Valid values of `zeroing_mode` (drivers/scsi/sd.c, `zeroing_mode`).
const ZEROING_MODES: [&str; 4] = [
    "write",
    "writesame",
    "writesame_16_unmap",
    "writesame_10_unmap",
];

/// A setting that the kernel may reset when it revalidates a disk.
///
/// The order is that in which they are written back, because a write of one can change another:
/// `provisioning_mode` sets `discard_max_bytes`, `max_write_same_blocks` sets `zeroing_mode`, and
/// each write of a limit of the queue, to which those of the protection information belong, can raise
/// `read_ahead_kb` (block/blk-settings.c, `blk_apply_bdi_limits`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RevalidatedSetting {
    /// How the kernel discards blocks, or that it does not.
    ProvisioningMode,
    /// Maximum size of a WRITE SAME command in logical blocks.
    MaxWriteSameBlocks,
    /// How the kernel writes zeros.
    ZeroingMode,
    /// Type of the protection information, 0 to 3.
    ProtectionType,
    /// Whether the kernel verifies the protection information of what it reads.
    ReadVerify,
    /// Whether the kernel generates the protection information of what it writes.
    WriteGenerate,
    /// Maximum size of a discard in bytes; 0 if discards are switched off.
    DiscardMaxBytes,
    /// Maximum size of a request in KiB.
    MaxSectorsKb,
    /// Whether the disk is treated as a rotational one.
    Rotational,
    /// Whether the times of its requests add to the kernel's entropy.
    AddRandom,
    /// Read-ahead in KiB.
    ReadAheadKb,
}

impl RevalidatedSetting {
    /// All, in the order of the writes.
    pub(super) const ALL: [Self; 11] = [
        Self::ProvisioningMode,
        Self::MaxWriteSameBlocks,
        Self::ZeroingMode,
        Self::ProtectionType,
        Self::ReadVerify,
        Self::WriteGenerate,
        Self::DiscardMaxBytes,
        Self::MaxSectorsKb,
        Self::Rotational,
        Self::AddRandom,
        Self::ReadAheadKb,
    ];

    /// Its file. `device`: the directory of the block device; `scsi_disk`: that of its SCSI disk.
    pub(super) fn file_path(self, device: &Path, scsi_disk: &Path) -> PathBuf {
        let queue = |file: &str| device.join("queue").join(file);
        let integrity = |file: &str| device.join("integrity").join(file);
        match self {
            Self::ProvisioningMode => scsi_disk.join("provisioning_mode"),
            Self::MaxWriteSameBlocks => scsi_disk.join("max_write_same_blocks"),
            Self::ZeroingMode => scsi_disk.join("zeroing_mode"),
            Self::ProtectionType => scsi_disk.join("protection_type"),
            Self::ReadVerify => integrity("read_verify"),
            Self::WriteGenerate => integrity("write_generate"),
            Self::DiscardMaxBytes => queue("discard_max_bytes"),
            Self::MaxSectorsKb => queue("max_sectors_kb"),
            Self::Rotational => queue("rotational"),
            Self::AddRandom => queue("add_random"),
            Self::ReadAheadKb => queue("read_ahead_kb"),
        }
    }

    /// Whether the text is a valid value of the setting.
    #[must_use]
    pub fn accepts(self, value: &str) -> bool {
        match self {
            Self::ProvisioningMode => PROVISIONING_MODES.contains(&value),
            Self::ZeroingMode => ZEROING_MODES.contains(&value),
            Self::ReadVerify | Self::WriteGenerate | Self::Rotational | Self::AddRandom => {
                matches!(value, "0" | "1")
            }
            Self::ProtectionType => matches!(value, "0" | "1" | "2" | "3"),
            // In the kernel's format: no sign, no leading zero.
            Self::MaxWriteSameBlocks
            | Self::DiscardMaxBytes
            | Self::MaxSectorsKb
            | Self::ReadAheadKb => value
                .parse::<u64>()
                .is_ok_and(|number| number.to_string() == value),
        }
    }
}
