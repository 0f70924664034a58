//! Space that a write takes although the device above it has its full size: of a snapshot of
//! device-mapper, which gets a copy of what is overwritten on its origin, of a thin pool (kernel
//! Documentation/admin-guide/device-mapper/snapshot.rst, thin-provisioning.rst, vdo.rst), and of a pool
//! of ZFS. When a snapshot is full the kernel invalidates it, and all of its data is lost; when a pool is
//! full, the kernel drops data that it has accepted.

use super::store_space::StoreSpace;
use super::zfs_pool::{self, ZfsPool};
use crate::drive::guard::conflicts::device_mapper::{TableLine, read_status, read_table};
use crate::drive::identity::sysfs::{directory_entries, read_device_number, read_line};
use crate::drive::identity::{block_device_name, sanitized};
use crate::drive::mounts::parse_device_number;
use crate::roots::SysPaths;

/// Bytes of a sector in a table.
const SECTOR_BYTES: u64 = 512;
/// Bytes of a block in the status of VDO.
const VDO_BLOCK_BYTES: u64 = 4096;
/// A pool keeps this part of the blocks for its metadata free.
const METADATA_RESERVE_DIVISOR: u64 = 20;

/// A snapshot or a pool that a device needs space in.
#[derive(Debug)]
pub(super) struct SpaceStore {
    /// What it is, with its name, for display.
    pub description: String,
    source: SpaceSource,
}

/// What reports the space of a store.
#[derive(Debug)]
enum SpaceSource {
    /// The device-mapper device of that number.
    DeviceMapper((u32, u32)),
    /// A pool of ZFS.
    ZfsPool(ZfsPool),
}

impl SpaceStore {
    /// The store of that device-mapper device; `None` if it has none, or if its table cannot be read, as
    /// without root.
    pub(super) fn of_device(roots: &SysPaths, name: &str) -> Option<Self> {
        let number = device_number(roots, name)?;
        let table = read_table(roots, number).ok()?;
        let kind = table.iter().find_map(store_kind)?;
        Some(Self {
            description: format!("the {kind} {}", map_name(roots, name)),
            source: SpaceSource::DeviceMapper(number),
        })
    }

    /// The pools that the ZFS volumes among these devices take space of.
    pub(super) fn of_zfs_volumes(roots: &SysPaths, names: &[String]) -> impl Iterator<Item = Self> {
        let pools = zfs_pool::pools_of_devices(roots, names).into_iter();
        pools.map(|pool| Self {
            description: format!("the ZFS pool {}", sanitized(&pool.name)),
            source: SpaceSource::ZfsPool(pool),
        })
    }

    /// Its space by now; `None` if it no longer has any, such as a snapshot that is invalid already.
    pub(super) fn space(&self, roots: &SysPaths) -> Option<StoreSpace> {
        let number = match &self.source {
            SpaceSource::DeviceMapper(number) => *number,
            SpaceSource::ZfsPool(pool) => return pool.space(roots),
        };
        let table = read_table(roots, number).ok()?;
        let status = read_status(roots, number).ok()?;
        store_space(&table, &status)
    }
}

/// The snapshots that get a copy of what is overwritten on a device: it is a snapshot origin.
pub(super) fn snapshots_of_origin(roots: &SysPaths, name: &str) -> Vec<String> {
    let origins = device_number(roots, name)
        .and_then(|number| read_table(roots, number).ok())
        .unwrap_or_default()
        .iter()
        .filter(|line| {
            matches!(
                line.target_type.as_str(),
                "snapshot-origin" | "snapshot-merge"
            )
        })
        .filter_map(|line| parse_device_number(line.parameters.split_whitespace().next()?))
        .filter_map(|number| block_device_name(roots, number))
        .collect::<Vec<_>>();
    let class = roots.sys.join("class/block");
    let holders = origins
        .iter()
        .flat_map(|origin| directory_entries(&class.join(origin).join("holders")));
    let is_snapshot = |holder: &String| {
        let table = device_number(roots, holder).and_then(|it| read_table(roots, it).ok());
        let lines = table.unwrap_or_default();
        lines.iter().any(|line| line.target_type == "snapshot")
    };
    holders.filter(is_snapshot).collect()
}

/// What a line of a table is called, if it has a store.
fn store_kind(line: &TableLine) -> Option<&'static str> {
    match line.target_type.as_str() {
        "snapshot" => Some("snapshot"),
        "thin-pool" => Some("thin pool"),
        "vdo" => Some("VDO volume"),
        _ => None,
    }
}

/// The space of the store in these lines.
fn store_space(table: &[TableLine], status: &[TableLine]) -> Option<StoreSpace> {
    let lines = table.iter().zip(status);
    lines
        .filter(|(line, _)| store_kind(line).is_some())
        .find_map(|(line, status)| {
            let words: Vec<&str> = status.parameters.split_whitespace().collect();
            let own: Vec<&str> = line.parameters.split_whitespace().collect();
            match line.target_type.as_str() {
                // USED/TOTAL METADATA, in sectors; table: ORIGIN STORE P|N CHUNK ...
                "snapshot" => space(used_and_total(words.first()?)?, SECTOR_BYTES, own.get(3)?),
                "thin-pool" => pool_space(&words, &own),
                // DEVICE MODE RECOVERY INDEX COMPRESSION USED TOTAL
                "vdo" => {
                    let blocks = (words.get(5)?.parse().ok()?, words.get(6)?.parse().ok()?);
                    space(blocks, VDO_BLOCK_BYTES, "8")
                }
                _ => None,
            }
        })
}

/// TRANSACTION USED/TOTAL (blocks for metadata) USED/TOTAL (blocks for data) ...; table: METADATA DATA
/// BLOCK ...
fn pool_space(status: &[&str], table: &[&str]) -> Option<StoreSpace> {
    let metadata = used_and_total(status.get(1)?)?;
    let unit: u64 = table.get(2)?.parse().ok()?;
    let unit_bytes = unit.checked_mul(SECTOR_BYTES)?;
    let room = space(used_and_total(status.get(2)?)?, unit_bytes, table.get(2)?)?;
    let is_full = metadata.1.saturating_sub(metadata.0) <= metadata.1 / METADATA_RESERVE_DIVISOR;
    Some(StoreSpace {
        free_bytes: if is_full { 0 } else { room.free_bytes },
        ..room
    })
}

/// From the numbers of used and of all blocks.
fn space(blocks: (u64, u64), block_bytes: u64, unit_sectors: &str) -> Option<StoreSpace> {
    let unit: u64 = unit_sectors.parse().ok()?;
    let (used, total) = blocks;
    Some(StoreSpace {
        total_bytes: total.checked_mul(block_bytes)?,
        free_bytes: total.saturating_sub(used).checked_mul(block_bytes)?,
        unit_bytes: unit.checked_mul(SECTOR_BYTES)?,
    })
}

fn used_and_total(word: &str) -> Option<(u64, u64)> {
    let (used, total) = word.split_once('/')?;
    Some((used.parse().ok()?, total.parse().ok()?))
}

fn device_number(roots: &SysPaths, name: &str) -> Option<(u32, u32)> {
    if !name.starts_with("dm-") {
        return None;
    }
    read_device_number(&roots.sys.join("class/block").join(name))
}

/// The name that its owner gave a device-mapper device.
fn map_name(roots: &SysPaths, name: &str) -> String {
    let path = roots.sys.join("class/block").join(name).join("dm/name");
    read_line(&path).unwrap_or_else(|| sanitized(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(kind: &str, parameters: &str) -> TableLine {
        TableLine {
            sectors: 100,
            target_type: kind.to_owned(),
            parameters: parameters.to_owned(),
        }
    }

    fn of(kind: &str, table: &str, status: &str) -> Option<(u64, u64, u64)> {
        let space = store_space(&[line(kind, table)], &[line(kind, status)])?;
        Some((space.total_bytes, space.free_bytes, space.unit_bytes))
    }

    const KIB: u64 = 1024;

    #[test]
    fn space_of_a_snapshot_is_what_its_status_leaves() {
        let table = "253:0 253:1 P 8";
        let expected = Some((10_240 * KIB, 10_228 * KIB, 4 * KIB));
        assert_eq!(of("snapshot", table, "24/20480 16"), expected);
        for none in ["Invalid", "Overflow", "Merge failed", "Unknown", ""] {
            assert_eq!(of("snapshot", table, none), None, "{none}");
        }
        assert_eq!(of("linear", "8:0 0", ""), None);
    }

    #[test]
    fn space_of_a_pool_is_that_of_data_while_metadata_is_left() {
        let table = "7:0 7:1 128 0";
        let status = |metadata: &str| {
            format!("0 {metadata} 2000/2048 - rw discard_passdown queue_if_no_space - 1024")
        };
        let of = |metadata: &str| of("thin-pool", table, &status(metadata));
        let total = 2048 * 64 * KIB;
        assert_eq!(of("20/4096"), Some((total, 48 * 64 * KIB, 64 * KIB)));
        assert_eq!(of("4000/4096"), Some((total, 0, 64 * KIB)));
        for none in ["Fail", "Error"] {
            assert_eq!(super::tests::of("thin-pool", table, none), None);
        }
    }

    #[test]
    fn space_of_vdo_is_in_blocks() {
        let status = "/dev/loop0 normal - online online 1000 5000";
        let expected = Some((20_000 * KIB, 16_000 * KIB, 4 * KIB));
        assert_eq!(of("vdo", "V4 /dev/loop0 5000 4096 ...", status), expected);
    }

    proptest! {
        #[test]
        fn any_status_is_parsed(table in ".{0,60}", status in ".{0,60}") {
            for kind in ["snapshot", "thin-pool", "vdo"] {
                let _ = of(kind, &table, &status);
            }
        }

        #[test]
        fn any_numbers_are_parsed(a in any::<u64>(), b in any::<u64>(), c in any::<u64>()) {
            for kind in ["snapshot", "thin-pool", "vdo"] {
                let table = format!("{a} {b} {c} {a}");
                for status in [format!("{a}/{b} {b}/{c} {c}/{a}"), format!("1 2 3 4 5 {a} {b}")] {
                    if let Some((total, free, _)) = of(kind, &table, &status) {
                        prop_assert!(free <= total);
                    }
                }
            }
        }
    }
}
