//! Who a drive is, as the kernel tells every user.

mod details;
mod link;
mod read;
#[cfg(test)]
mod tests;
mod text;
mod transport;
mod udev;

use serde::Serialize;

pub use self::details::{DeviceDetails, ThermalReading, read_temperature};
pub use self::link::HostLink;
pub use self::read::{block_device_by_number, list_block_devices, read_block_device};
pub(crate) use self::read::{block_device_name, directory_entries, list_directory};
pub use self::text::sanitized;

/// What stands behind a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveKind {
    /// A drive, or what the machine takes for one.
    Disk,
    /// A part of another device.
    Partition,
    /// A file behind a block device.
    Loop,
    /// Linux software RAID.
    Raid,
    /// Device mapper: a logical volume, encryption, multipath.
    DeviceMapper,
    /// Memory: brd, zram.
    RamDisk,
    /// An optical drive.
    Optical,
}

/// Who uses a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "use")]
pub enum DeviceUse {
    /// A file system on it is mounted.
    Mounted {
        /// Where.
        at: String,
        /// Type of the file system.
        file_system: String,
    },
    /// The kernel swaps to it.
    Swap,
    /// Another block device lies on it.
    HeldBy {
        /// Name of that device.
        device: String,
    },
}

/// One block device: what `/sys/class/block/NAME` and udev's database say without root.
///
/// What the kernel does not tell is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockDevice {
    /// Kernel's name, such as `nvme0n1`.
    pub name: String,
    /// Device node, such as `/dev/nvme0n1`.
    pub path: String,
    /// Device number.
    pub number: (u32, u32),
    /// What stands behind it.
    pub kind: DriveKind,
    /// Size in bytes; 0 is an empty slot (a loop device without a file, a reader without a card).
    pub size_bytes: u64,
    /// Smallest request in bytes.
    pub logical_block_bytes: Option<u32>,
    /// Smallest request without read-modify-write in bytes.
    pub physical_block_bytes: Option<u32>,
    /// What the kernel's `rotational` flag claims.
    pub rotational: Option<bool>,
    /// Revolutions per minute that the drive says it makes; `None` where it does not say.
    pub rotation_rate: Option<u32>,
    /// Whether it can be taken out.
    pub removable: Option<bool>,
    /// Whether writing is refused.
    pub read_only: Option<bool>,
    /// Vendor, as the drive says.
    pub vendor: Option<String>,
    /// Model, as the drive says.
    pub model: Option<String>,
    /// Serial number, as the drive says.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// How it is attached: `nvme`, `sata`, `sas`, `usb`, `virtio`, `loop`, ...
    pub transport: Option<String>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that the device takes at once, where it says so.
    pub queue_depth: Option<u32>,
    /// Read-ahead in KiB.
    pub read_ahead_kib: Option<u32>,
    /// Largest request that the kernel sends, in KiB.
    pub max_request_kib: Option<u32>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Type of the file system or member signature that udev saw on it.
    pub signature: Option<String>,
    /// The device that this partition is part of.
    pub parent: Option<String>,
    /// Devices that it lies on, such as the members of a RAID.
    pub slaves: Vec<String>,
    /// File behind a loop device.
    pub backing_file: Option<String>,
    /// Whether a partition begins on a boundary of the physical blocks.
    pub aligned: Option<bool>,
    /// Who uses it.
    pub users: Vec<DeviceUse>,
    /// What its queue and its hardware are capable of.
    #[serde(flatten)]
    pub details: DeviceDetails,
}

impl BlockDevice {
    /// What to call it in a list: vendor and model, the backing file, or what kind it is.
    #[must_use]
    pub fn label(&self) -> String {
        match (&self.vendor, &self.model, &self.backing_file) {
            (Some(vendor), Some(model), _) if !model.starts_with(vendor.as_str()) => {
                format!("{vendor} {model}")
            }
            (_, Some(model), _) => model.clone(),
            (_, _, Some(file)) => file.clone(),
            _ => match self.kind {
                DriveKind::Disk => "disk",
                DriveKind::Partition => "partition",
                DriveKind::Loop => "loop device",
                DriveKind::Raid => "software RAID",
                DriveKind::DeviceMapper => "device mapper",
                DriveKind::RamDisk => "memory",
                DriveKind::Optical => "optical drive",
            }
            .to_owned(),
        }
    }
}
