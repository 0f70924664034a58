//! Reads a [`Drive`] from sysfs (kernel Documentation/ABI/stable/sysfs-block), udev's database
//! and the tables of mounts and swaps.

use std::fs;
use std::path::{Path, PathBuf};

use super::text::harmless;
use super::udev::Udev;
use super::{Details, Drive, DriveKind, Use};
use crate::drive::mounts::{self, Mount, Swap};
use crate::roots::Roots;

/// Bytes of a sector in `size` and `start`, whatever the drive's own sectors are.
const SECTOR: u64 = 512;

/// All block devices, partitions and empty slots included, in the kernel's order.
#[must_use]
pub fn list(roots: &Roots) -> Vec<Drive> {
    let usage = Usage::read(roots);
    let mut names: Vec<String> = entries(&roots.sys.join("class/block"));
    let order = kernel_order(roots);
    names.sort_by_key(|name| {
        let place = order.iter().position(|known| known == name);
        place.unwrap_or(usize::MAX)
    });
    names
        .iter()
        .filter_map(|name| read_with(roots, name, &usage))
        .collect()
}

/// One block device by the kernel's name, such as `sda1`; `None` when there is none.
#[must_use]
pub fn read(roots: &Roots, name: &str) -> Option<Drive> {
    read_with(roots, name, &Usage::read(roots))
}

/// One block device by its number; `None` when there is none.
#[must_use]
pub fn by_number(roots: &Roots, number: (u32, u32)) -> Option<Drive> {
    let name = name_of(roots, number)?;
    read(roots, &name)
}

/// The kernel's name of the block device with that number.
pub(crate) fn name_of(roots: &Roots, number: (u32, u32)) -> Option<String> {
    let wanted = format!("{}:{}", number.0, number.1);
    entries(&roots.sys.join("class/block"))
        .into_iter()
        .find(|name| {
            let dev = roots.sys.join("class/block").join(name).join("dev");
            word(&dev).as_deref() == Some(wanted.as_str())
        })
}

/// Who mounts and swaps, read once for many devices.
struct Usage {
    mounts: Vec<Mount>,
    swaps: Vec<Swap>,
}

impl Usage {
    fn read(roots: &Roots) -> Self {
        Self {
            mounts: mounts::mounts(roots).unwrap_or_default(),
            swaps: mounts::swaps(roots).unwrap_or_default(),
        }
    }

    /// Uses of the device with that number, mounts first.
    fn of(&self, number: (u32, u32)) -> Vec<Use> {
        let mounted = self.mounts.iter().filter(|mount| mount.is_on(number));
        let swapped = self.swaps.iter().any(|swap| swap.number == Some(number));
        mounted
            .map(|mount| Use::Mounted {
                at: harmless(&mount.at),
                file_system: harmless(&mount.file_system),
            })
            .chain(swapped.then_some(Use::Swap))
            .collect()
    }
}

/// Names in the order of /proc/diskstats, in which the kernel lists its devices.
fn kernel_order(roots: &Roots) -> Vec<String> {
    fs::read_to_string(roots.proc.join("diskstats"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned))
        .collect()
}

/// Names in a directory, sorted; none when it cannot be read.
pub(crate) fn entries(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Content of a one-line file, made harmless; `None` when it is missing or empty.
pub(super) fn word(path: &Path) -> Option<String> {
    let text = harmless(&String::from_utf8_lossy(&fs::read(path).ok()?));
    (!text.is_empty()).then_some(text)
}

/// A number in a file.
pub(super) fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    word(path)?.parse().ok()
}

/// A flag, 0 or 1, in a file.
pub(super) fn flag(path: &Path) -> Option<bool> {
    number::<u32>(path).map(|value| value != 0)
}

/// Where one device's facts lie in sysfs: partitions share those of the whole.
pub(super) struct Place {
    /// Directory of the device itself.
    pub(super) own: PathBuf,
    /// Directory of the whole that it is part of, or the same.
    pub(super) whole: PathBuf,
    /// Name of that whole, where the device is a part.
    pub(super) parent: Option<String>,
}

impl Place {
    pub(super) fn find(roots: &Roots, name: &str) -> Option<Self> {
        let own = fs::canonicalize(roots.sys.join("class/block").join(name)).ok()?;
        let parent = own
            .join("partition")
            .exists()
            .then(|| own.parent().map(Path::to_path_buf))
            .flatten();
        Some(Self {
            parent: parent
                .as_deref()
                .and_then(|path| Some(path.file_name()?.to_str()?.to_owned())),
            whole: parent.unwrap_or_else(|| own.clone()),
            own,
        })
    }

    pub(super) fn queue(&self, name: &str) -> PathBuf {
        self.whole.join("queue").join(name)
    }

    fn device(&self, name: &str) -> PathBuf {
        self.whole.join("device").join(name)
    }
}

fn read_with(roots: &Roots, name: &str, usage: &Usage) -> Option<Drive> {
    let place = Place::find(roots, name)?;
    let device_number = mounts::parse_number(&word(&place.own.join("dev"))?)?;
    let udev = Udev::read(roots, device_number);
    let names = Names::read(&place, &udev);
    let kind = kind_of(name, &place);
    let transport = super::transport::of(kind, &place.whole, udev.get("ID_BUS").as_deref());
    let details = Details::read(&place, kind, transport.as_deref());
    Some(Drive {
        name: harmless(name),
        path: roots.dev.join(name).display().to_string(),
        number: device_number,
        kind,
        size_bytes: number::<u64>(&place.own.join("size"))?.saturating_mul(SECTOR),
        logical_block_bytes: number(&place.queue("logical_block_size")),
        physical_block_bytes: number(&place.queue("physical_block_size")),
        rotational: flag(&place.queue("rotational")),
        rotation_rate: rotation_rate(&place.device("vpd_pgb1")),
        removable: flag(&place.whole.join("removable")),
        read_only: flag(&place.own.join("ro")),
        vendor: names.vendor,
        model: names.model,
        serial: names.serial,
        firmware: names.firmware,
        transport,
        scheduler: word(&place.queue("scheduler")).map(|text| chosen(&text)),
        queue_depth: number(&place.device("queue_depth")),
        read_ahead_kib: number(&place.queue("read_ahead_kb")),
        max_request_kib: number(&place.queue("max_sectors_kb")),
        write_cache: word(&place.queue("write_cache")),
        signature: udev
            .get("ID_FS_TYPE")
            .or_else(|| udev.get("ID_PART_TABLE_TYPE")),
        aligned: alignment(&place),
        slaves: entries(&place.own.join("slaves")),
        backing_file: word(&place.own.join("loop/backing_file")),
        users: users(&place, usage.of(device_number)),
        parent: place.parent,
        details,
    })
}

/// Uses by file systems and swap, then by devices on top.
fn users(place: &Place, mut users: Vec<Use>) -> Vec<Use> {
    let holders = entries(&place.own.join("holders"));
    users.extend(holders.into_iter().map(|device| Use::HeldBy { device }));
    users
}

/// The scheduler in use stands in brackets.
fn chosen(text: &str) -> String {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(name, _)| name)
        .to_owned()
}

fn kind_of(name: &str, place: &Place) -> DriveKind {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if place.parent.is_some() {
        DriveKind::Partition
    } else if place.own.join("dm").exists() || starts(&["dm-"]) {
        DriveKind::Mapped
    } else if place.own.join("md").exists() {
        DriveKind::Raid
    } else if starts(&["loop"]) {
        DriveKind::Loop
    } else if starts(&["ram", "zram", "brd"]) {
        DriveKind::Memory
    } else if starts(&["sr", "scd"]) {
        DriveKind::Optical
    } else {
        DriveKind::Disk
    }
}

/// Whether a partition begins on a physical block (block/blk-settings.c: the drive's
/// `alignment_offset` is where its first whole physical block begins).
fn alignment(place: &Place) -> Option<bool> {
    place.parent.as_ref()?;
    let start: u64 = number(&place.own.join("start"))?;
    let physical: u64 = number(&place.queue("physical_block_size"))?;
    let offset: u64 = number(&place.whole.join("alignment_offset")).unwrap_or(0);
    let start = start.checked_mul(SECTOR)?;
    (physical > 0).then(|| start % physical == offset % physical)
}

/// What the drive calls itself.
struct Names {
    vendor: Option<String>,
    model: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
}

impl Names {
    fn read(place: &Place, udev: &Udev) -> Self {
        let kernels = word(&place.device("model")).or_else(|| word(&place.device("name")));
        // A SCSI name ends after 16 letters: udev asked an ATA drive for the whole of it.
        let whole = udev
            .model()
            .filter(|_| udev.get("ID_BUS").as_deref() == Some("ata"));
        Self {
            vendor: word(&place.device("vendor"))
                // "ATA" is the kernel's, a number is the bus's, neither is a maker.
                .filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"))
                .or_else(|| udev.get("ID_VENDOR").filter(|vendor| vendor != "ATA")),
            model: whole.or(kernels).or_else(|| udev.model()),
            serial: word(&place.device("serial"))
                .or_else(|| word(&place.whole.join("serial")))
                .or_else(|| udev.get("ID_SCSI_SERIAL"))
                .or_else(|| udev.get("ID_SERIAL_SHORT"))
                .or_else(|| unit_serial(&place.device("vpd_pg80"))),
            firmware: word(&place.device("firmware_rev"))
                .or_else(|| udev.get("ID_REVISION"))
                .or_else(|| word(&place.device("rev"))),
        }
    }
}

/// Vital product data page 80h, Unit Serial Number (T10 SPC-4, 7.8.15): 4 bytes of header, then
/// the text.
fn unit_serial(path: &Path) -> Option<String> {
    let page = fs::read(path).ok()?;
    let text = harmless(&String::from_utf8_lossy(page.get(4..)?));
    (!text.is_empty()).then_some(text)
}

/// Vital product data page B1h, Block Device Characteristics (T10 SBC-4, 6.6.3; for ATA drives the
/// kernel makes it from IDENTIFY DEVICE, word 217): the medium's rotation rate in bytes 4 and 5.
/// 0 is "not reported" and 1 "does not rotate"; rates begin at 0401h.
fn rotation_rate(path: &Path) -> Option<u32> {
    let page = fs::read(path).ok()?;
    let rate = u16::from_be_bytes([*page.get(4)?, *page.get(5)?]);
    (0x0401..0xffff).contains(&rate).then_some(u32::from(rate))
}
