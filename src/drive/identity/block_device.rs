//! Block devices: properties and users.

use serde::{Deserialize, Serialize};

use crate::drive::identity::details::DeviceDetails;
use crate::drive::identity::volume::VolumeName;

/// Kind of a block device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveKind {
    /// A drive, physical or virtual.
    #[default]
    Disk,
    /// A partition of another device.
    Partition,
    /// A loop device.
    Loop,
    /// Linux software RAID.
    Raid,
    /// Device mapper: a logical volume, encryption, multipath.
    #[serde(rename = "mapped")]
    DeviceMapper,
    /// A RAM disk: brd, zram.
    #[serde(rename = "memory")]
    RamDisk,
    /// An optical drive.
    Optical,
}

/// A user of a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "use")]
pub enum DeviceUse {
    /// A file system on it is mounted.
    Mounted {
        /// Mount point.
        at: String,
        /// File system type.
        file_system: String,
    },
    /// The kernel uses it as swap.
    Swap,
    /// Another block device is stacked on it.
    HeldBy {
        /// Name of that device.
        device: String,
    },
}

/// A block device, from `/sys/class/block/NAME` and the udev database, without root.
///
/// A property that the kernel does not report is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BlockDevice {
    /// Kernel name, such as `nvme0n1`.
    pub name: String,
    /// Device node, such as `/dev/nvme0n1`.
    pub path: String,
    /// Device number.
    pub number: (u32, u32),
    /// Kind of the device.
    pub kind: DriveKind,
    /// Size in bytes; 0: no medium (a loop device without a file, a reader without a card).
    pub size_bytes: u64,
    /// Logical block size: minimum request size in bytes.
    pub logical_block_bytes: Option<u32>,
    /// Physical block size: minimum request size in bytes without read-modify-write.
    pub physical_block_bytes: Option<u32>,
    /// The kernel's `rotational` flag.
    pub rotational: Option<bool>,
    /// Rotation rate that the drive reports, in revolutions per minute; `None` if not reported.
    pub rotation_rate: Option<u32>,
    /// Whether the medium is removable.
    pub removable: Option<bool>,
    /// Whether the device is read-only.
    pub read_only: Option<bool>,
    /// Name of a volume of LVM, cryptsetup, multipath or mdadm.
    pub volume: Option<VolumeName>,
    /// Name below `/dev/disk/by-id`: the one with model and serial number, or the volume's name.
    pub by_id: Option<String>,
    /// Vendor that the drive reports.
    pub vendor: Option<String>,
    /// Model that the drive reports.
    pub model: Option<String>,
    /// Serial number that the drive reports.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Transport: `nvme`, `sata`, `sas`, `usb`, `virtio`, `loop`, ...
    pub transport: Option<String>,
    /// The active I/O scheduler.
    pub scheduler: Option<String>,
    /// Maximum queue depth of the device, if reported.
    pub queue_depth: Option<u32>,
    /// Read-ahead in KiB.
    pub read_ahead_kib: Option<u32>,
    /// Maximum request size of the kernel, in KiB.
    pub max_request_kib: Option<u32>,
    /// Maximum number of separate pieces of memory in a request of the kernel.
    #[serde(skip)]
    pub max_segments: Option<u32>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// File system type or member signature, as udev detected it.
    pub signature: Option<String>,
    /// The device that contains this partition.
    pub parent: Option<String>,
    /// Lower devices, such as the members of a RAID.
    pub slaves: Vec<String>,
    /// Backing file of a loop device.
    pub backing_file: Option<String>,
    /// Whether a partition starts on a physical block boundary.
    pub aligned: Option<bool>,
    /// Its users.
    pub users: Vec<DeviceUse>,
    /// Capabilities of its queue and its hardware.
    #[serde(flatten)]
    pub details: DeviceDetails,
}

impl BlockDevice {
    /// Bytes above which the kernel splits requests from memory in pages of 4 KiB, and the attribute of
    /// the device's queue that says so.
    #[must_use]
    pub fn largest_request(&self) -> Option<(u64, &'static str)> {
        let by_size = self
            .max_request_kib
            .map(|kib| (u64::from(kib) << 10, "max_sectors_kb"));
        let by_pages = self
            .max_segments
            .map(|pages| (u64::from(pages) << 12, "max_segments"));
        by_size
            .into_iter()
            .chain(by_pages)
            .min_by_key(|(bytes, _)| *bytes)
    }

    /// A device of which only these are known; its node is `/dev/NAME`, its number 0:0.
    #[must_use]
    pub fn new(name: &str, kind: DriveKind, size_bytes: u64) -> Self {
        Self {
            name: name.to_owned(),
            path: format!("/dev/{name}"),
            kind,
            size_bytes,
            ..Self::default()
        }
    }

    /// Whether it is a partition of that device, or stacked on it.
    #[must_use]
    pub fn is_on(&self, lower: &Self) -> bool {
        self.parent.as_ref() == Some(&lower.name) || self.slaves.contains(&lower.name)
    }

    /// Name for display in a list: that of a volume, vendor and model, the backing file, or its
    /// kind.
    #[must_use]
    pub fn label(&self) -> String {
        if let Some(volume) = &self.volume {
            return volume.name.clone();
        }
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
