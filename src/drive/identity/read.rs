//! Reads a [`BlockDevice`] from sysfs (kernel Documentation/ABI/stable/sysfs-block), the udev
//! database and the tables of mounts and swap areas.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::drive::identity::block_device::{BlockDevice, DeviceUse, DriveKind};
use crate::drive::identity::details::DeviceDetails;
use crate::drive::identity::link::find_transport;
use crate::drive::identity::sysfs::{
    SysfsLocation, directory_entries, drive_text, read_drive_text, read_flag, read_line,
    read_number, sanitized,
};
use crate::drive::identity::udev::UdevProperties;
use crate::drive::identity::volume::{VolumeName, by_id_name};
use crate::drive::mounts;
use crate::drive::mounts::{MountEntry, SwapEntry};
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;

/// Unit of `size` and `start` in bytes, regardless of the drive's sector size.
const SECTOR_BYTES: u64 = 512;

/// All block devices, including partitions and empty slots, in the kernel's order.
#[must_use]
pub fn list_block_devices(roots: &SysPaths) -> Vec<BlockDevice> {
    let usage = DeviceUsage::read(roots);
    let mut names: Vec<String> = directory_entries(&roots.sys.join("class/block"));
    let order = kernel_order(roots);
    names.sort_list_by_key(|name| order.get(name).copied().unwrap_or(usize::MAX));
    names
        .iter()
        .filter_map(|name| read_with_usage(roots, name, &usage))
        .collect()
}

/// The block device with that kernel name, such as `sda1`; `None` if there is none.
#[must_use]
pub fn read_block_device(roots: &SysPaths, name: &str) -> Option<BlockDevice> {
    read_with_usage(roots, name, &DeviceUsage::read(roots))
}

/// The block device with that number; `None` if there is none.
#[must_use]
pub fn block_device_by_number(roots: &SysPaths, number: (u32, u32)) -> Option<BlockDevice> {
    let name = block_device_name(roots, number)?;
    read_block_device(roots, &name)
}

/// The kernel name of the block device with that number.
pub(crate) fn block_device_name(roots: &SysPaths, number: (u32, u32)) -> Option<String> {
    let wanted = format!("{}:{}", number.0, number.1);
    directory_entries(&roots.sys.join("class/block"))
        .into_iter()
        .find(|name| {
            let dev = roots.sys.join("class/block").join(name).join("dev");
            read_line(&dev).as_deref() == Some(wanted.as_str())
        })
}

/// Mounts and swap areas, read once for many devices.
struct DeviceUsage {
    mounts: Vec<MountEntry>,
    swaps: Vec<SwapEntry>,
}

impl DeviceUsage {
    fn read(roots: &SysPaths) -> Self {
        Self {
            mounts: mounts::mounts(roots).unwrap_or_default(),
            swaps: mounts::swaps(roots).unwrap_or_default(),
        }
    }

    /// Uses of the device with that number and directory: mounts, swap, then upper devices.
    fn uses_of_device(&self, number: (u32, u32), directory: &Path) -> Vec<DeviceUse> {
        let mounted = self.mounts.iter().filter(|mount| mount.is_on(number));
        let swapped = self.swaps.iter().any(|swap| swap.number == Some(number));
        let holders = directory_entries(&directory.join("holders")).into_iter();
        mounted
            .map(|mount| DeviceUse::Mounted {
                at: sanitized(&mount.mount_point),
                file_system: sanitized(&mount.file_system),
            })
            .chain(swapped.then_some(DeviceUse::Swap))
            .chain(holders.map(|device| DeviceUse::HeldBy { device }))
            .collect()
    }
}

/// Positions of device names in /proc/diskstats, which has the kernel's order.
fn kernel_order(roots: &SysPaths) -> HashMap<String, usize> {
    fs::read_to_string(roots.proc.join("diskstats"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .enumerate()
        .map(|(position, name)| (name.to_owned(), position))
        .collect()
}

fn read_with_usage(roots: &SysPaths, name: &str, usage: &DeviceUsage) -> Option<BlockDevice> {
    let location = SysfsLocation::find(roots, name)?;
    let device_number =
        mounts::parse_device_number(&read_line(&location.device_directory.join("dev"))?)?;
    let udev = UdevProperties::read(roots, device_number);
    let kind = device_kind(name, &location);
    let transport = if kind == DriveKind::Loop {
        Some("loop".to_owned())
    } else {
        find_transport(&location.disk_directory, udev.get("ID_BUS").as_deref())
    };
    let details = DeviceDetails::read(&location, transport.as_deref());
    Some(BlockDevice {
        name: sanitized(name),
        path: roots.dev.join(name).display().to_string(),
        number: device_number,
        kind,
        size_bytes: read_number::<u64>(&location.device_directory.join("size"))?
            .saturating_mul(SECTOR_BYTES),
        logical_block_bytes: read_number(&location.queue_attribute("logical_block_size")),
        physical_block_bytes: read_number(&location.queue_attribute("physical_block_size")),
        rotational: read_flag(&location.queue_attribute("rotational")),
        rotation_rate: vpd_rotation_rate(&location.hardware_attribute("vpd_pgb1")),
        removable: read_flag(&location.disk_directory.join("removable")),
        read_only: read_flag(&location.device_directory.join("ro")),
        volume: VolumeName::read(name, &location, &udev),
        by_id: by_id_name(&udev),
        transport,
        scheduler: read_line(&location.queue_attribute("scheduler"))
            .map(|text| active_scheduler(&text)),
        queue_depth: read_number(&location.hardware_attribute("queue_depth")),
        read_ahead_kib: read_number(&location.queue_attribute("read_ahead_kb")),
        max_request_kib: read_number(&location.queue_attribute("max_sectors_kb")),
        max_segments: read_number(&location.queue_attribute("max_segments")),
        write_cache: read_line(&location.queue_attribute("write_cache")),
        signature: udev
            .get("ID_FS_TYPE")
            .or_else(|| udev.get("ID_PART_TABLE_TYPE")),
        aligned: partition_alignment(&location),
        slaves: directory_entries(&location.device_directory.join("slaves")),
        backing_file: read_line(&location.device_directory.join("loop/backing_file")),
        users: usage.uses_of_device(device_number, &location.device_directory),
        parent: location.parent.clone(),
        details,
        ..reported_names(&location, &udev)
    })
}

/// The active scheduler is in brackets.
fn active_scheduler(text: &str) -> String {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(name, _)| name)
        .to_owned()
}

fn device_kind(name: &str, location: &SysfsLocation) -> DriveKind {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if location.parent.is_some() {
        DriveKind::Partition
    } else if location.device_directory.join("dm").exists() || starts(&["dm-"]) {
        DriveKind::DeviceMapper
    } else if location.device_directory.join("md").exists() {
        DriveKind::Raid
    } else if starts(&["loop"]) {
        DriveKind::Loop
    } else if starts(&["ram", "zram", "brd"]) {
        DriveKind::RamDisk
    } else if starts(&["sr", "scd"]) {
        DriveKind::Optical
    } else {
        DriveKind::Disk
    }
}

/// Whether a partition starts on a physical block (block/blk-settings.c: the drive's
/// `alignment_offset` is the start of its first whole physical block).
fn partition_alignment(location: &SysfsLocation) -> Option<bool> {
    location.parent.as_ref()?;
    let start: u64 = read_number(&location.device_directory.join("start"))?;
    let physical: u64 = read_number(&location.queue_attribute("physical_block_size"))?;
    let offset: u64 = read_number(&location.disk_directory.join("alignment_offset")).unwrap_or(0);
    let start = start.checked_mul(SECTOR_BYTES)?;
    (physical > 0).then(|| start % physical == offset % physical)
}

/// A device of which only vendor, model, serial number and firmware are known, as the drive reports them.
fn reported_names(location: &SysfsLocation, udev: &UdevProperties) -> BlockDevice {
    let hardware = |name: &str| read_drive_text(&location.hardware_attribute(name));
    // A SCSI model name ends after 16 characters: udev has the full name of an ATA drive.
    let is_ata = udev.get("ID_BUS").as_deref() == Some("ata");
    let full_name = udev.model().filter(|_| is_ata);
    BlockDevice {
        // The kernel sets "ATA", and a number comes from the bus; neither is a vendor.
        vendor: hardware("vendor")
            .filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"))
            .or_else(|| udev.get("ID_VENDOR").filter(|vendor| vendor != "ATA")),
        model: full_name
            .or_else(|| hardware("model"))
            .or_else(|| hardware("name"))
            .or_else(|| udev.model()),
        serial: hardware("serial")
            .or_else(|| read_drive_text(&location.disk_directory.join("serial")))
            .or_else(|| udev.get("ID_SCSI_SERIAL"))
            .or_else(|| udev.get("ID_SERIAL_SHORT"))
            .or_else(|| vpd_unit_serial(&location.hardware_attribute("vpd_pg80"))),
        firmware: hardware("firmware_rev")
            .or_else(|| udev.get("ID_REVISION"))
            .or_else(|| hardware("rev")),
        ..BlockDevice::default()
    }
}

/// Vital product data page 80h, Unit Serial Number (T10 SPC-4, 7.8.15): 4 bytes of header, then
/// the text.
fn vpd_unit_serial(path: &Path) -> Option<String> {
    let page = fs::read(path).ok()?;
    let text = drive_text(&String::from_utf8_lossy(page.get(4..)?));
    (!text.is_empty()).then_some(text)
}

/// Vital product data page B1h, Block Device Characteristics (T10 SBC-4, 6.6.3; for ATA drives the
/// kernel makes it from IDENTIFY DEVICE, word 217): the medium's rotation rate in bytes 4 and 5.
/// 0 is "not reported" and 1 "does not rotate"; rates begin at 0401h.
fn vpd_rotation_rate(path: &Path) -> Option<u32> {
    let page = fs::read(path).ok()?;
    let rate = u16::from_be_bytes([*page.get(4)?, *page.get(5)?]);
    (0x0401..0xffff).contains(&rate).then_some(u32::from(rate))
}
