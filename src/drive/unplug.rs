//! Whether a drive can be unplugged without losing data: nothing on it is in use, and what was written
//! has left its volatile cache.

use serde::{Deserialize, Serialize};

use super::{BlockDevice, DeviceUse, DriveKind};

/// Deeper stacks of devices are cycles.
const MAX_LAYERS: usize = 16;

/// What is known about a drive's volatile cache, from the counters of its writes and flushes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlushState {
    /// Nothing has been written since the drive was attached.
    NothingWritten,
    /// A flush was answered after the last write.
    Flushed,
    /// No flush has been answered since the last write.
    NotFlushed,
    /// Writes and a flush were counted in the same interval, or requests were in flight at an end of
    /// the interval of the flush: their order is unknown.
    SameInterval,
    /// The last write was before the observation began.
    #[default]
    NotObserved,
    /// The kernel does not count flushes (before 5.5).
    NotCounted,
}

impl FlushState {
    /// What counters since the attachment say without a second reading.
    #[must_use]
    pub fn of_counters(written_sectors: u64, flushes: Option<u64>) -> Self {
        match (written_sectors, flushes) {
            (0, _) => Self::NothingWritten,
            (_, None) => Self::NotCounted,
            (_, Some(0)) => Self::NotFlushed,
            (_, Some(_)) => Self::NotObserved,
        }
    }

    /// The state after an interval with so many written sectors and flushes, where both are counted.
    /// `is_idle_at_ends`: no request was in flight when it began and when it ended. A flush that began
    /// before it may have been submitted before a write that was counted before.
    #[must_use]
    pub fn after(self, written_sectors: u64, flushes: u64, is_idle_at_ends: bool) -> Self {
        match (written_sectors, flushes) {
            (0, 0) => self,
            (0, _) if is_idle_at_ends || matches!(self, Self::Flushed | Self::NothingWritten) => {
                Self::Flushed
            }
            (_, 0) => Self::NotFlushed,
            _ => Self::SameInterval,
        }
    }
}

/// Why a drive should not be unplugged, or why it is unknown whether it may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum UnplugObstacle {
    /// A file system on it, or on a device that is on it, is mounted.
    Mounted {
        /// The device of the file system.
        device: String,
        /// Mount point.
        at: String,
    },
    /// It, or a device that is on it, is used as swap.
    Swap {
        /// The device.
        device: String,
    },
    /// Bytes that were written to it are only in memory.
    Dirty {
        /// Their number.
        bytes: u64,
    },
    /// No flush was answered since the last write.
    NotFlushed,
    /// Whether one was answered is unknown.
    FlushUnknown {
        /// What is known.
        state: FlushState,
    },
}

impl UnplugObstacle {
    /// Whether it makes the answer unknown instead of "no".
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::FlushUnknown { .. })
    }
}

/// Whether a drive can be unplugged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnplugAnswer {
    /// Whether it can be unplugged; `None` where that is unknown.
    pub safe: Option<bool>,
    /// What prevents it, or what is unknown; empty where it is safe.
    pub obstacles: Vec<UnplugObstacle>,
}

/// Whether `drive` can be unplugged; `None` for what is no drive. `dirty_bytes`: dirty and under
/// writeback to it, where known.
#[must_use]
pub fn unplug_answer(
    drive: &BlockDevice,
    drives: &[BlockDevice],
    dirty_bytes: Option<u64>,
    flush: FlushState,
) -> Option<UnplugAnswer> {
    let is_drive = matches!(drive.kind, DriveKind::Disk | DriveKind::Loop);
    if !is_drive || drive.size_bytes == 0 {
        return None;
    }
    let mut obstacles = Vec::new();
    add_uses(&mut obstacles, drive, drives, 0);
    if let Some(bytes) = dirty_bytes.filter(|bytes| *bytes > 0) {
        obstacles.push(UnplugObstacle::Dirty { bytes });
    }
    let is_write_through = drive.write_cache.as_deref() == Some("write through");
    match flush {
        FlushState::NothingWritten | FlushState::Flushed => {}
        // There is no volatile cache: what was completed is on the medium.
        _ if is_write_through => {}
        FlushState::NotFlushed => obstacles.push(UnplugObstacle::NotFlushed),
        state => obstacles.push(UnplugObstacle::FlushUnknown { state }),
    }
    let safe = match obstacles.iter().all(UnplugObstacle::is_unknown) {
        true if obstacles.is_empty() => Some(true),
        true => None,
        false => Some(false),
    };
    Some(UnplugAnswer { safe, obstacles })
}

/// Adds who uses a device, its partitions and what is stacked on them; each once.
fn add_uses(
    obstacles: &mut Vec<UnplugObstacle>,
    device: &BlockDevice,
    drives: &[BlockDevice],
    depth: usize,
) {
    for user in &device.users {
        let name = device.name.clone();
        let obstacle = match user {
            DeviceUse::Mounted { at, .. } => UnplugObstacle::Mounted {
                device: name,
                at: at.clone(),
            },
            DeviceUse::Swap => UnplugObstacle::Swap { device: name },
            // What holds it is looked at itself.
            DeviceUse::HeldBy { .. } => continue,
        };
        if !obstacles.contains(&obstacle) {
            obstacles.push(obstacle);
        }
    }
    if depth == MAX_LAYERS {
        return;
    }
    let is_above = |other: &&BlockDevice| {
        other.parent.as_ref() == Some(&device.name) || other.slaves.contains(&device.name)
    };
    for other in drives.iter().filter(is_above) {
        add_uses(obstacles, other, drives, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::identity::DeviceDetails;

    fn device(name: &str, kind: DriveKind) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            path: format!("/dev/{name}"),
            number: (8, 16),
            kind,
            size_bytes: 1 << 30,
            logical_block_bytes: Some(512),
            physical_block_bytes: Some(512),
            rotational: Some(false),
            rotation_rate: None,
            removable: Some(true),
            read_only: Some(false),
            volume: None,
            by_id: None,
            vendor: None,
            model: None,
            serial: None,
            firmware: None,
            transport: None,
            scheduler: None,
            queue_depth: None,
            read_ahead_kib: None,
            max_request_kib: None,
            write_cache: Some("write back".to_owned()),
            signature: None,
            parent: None,
            slaves: Vec::new(),
            backing_file: None,
            aligned: None,
            users: Vec::new(),
            details: DeviceDetails::default(),
        }
    }

    fn partition(users: Vec<DeviceUse>) -> BlockDevice {
        BlockDevice {
            parent: Some("sdb".to_owned()),
            users,
            ..device("sdb1", DriveKind::Partition)
        }
    }

    #[test]
    fn drive_is_safe_only_when_unused_and_flushed() {
        let disk = device("sdb", DriveKind::Disk);
        let volume = BlockDevice {
            slaves: vec!["sdb1".to_owned()],
            users: vec![DeviceUse::Mounted {
                at: "/mnt".to_owned(),
                file_system: "ext4".to_owned(),
            }],
            ..device("dm-0", DriveKind::DeviceMapper)
        };
        let answer = |others: Vec<BlockDevice>, dirty, flush| {
            let all = [vec![disk.clone()], others].concat();
            unplug_answer(&disk, &all, dirty, flush).unwrap()
        };
        let free = answer(vec![partition(vec![])], Some(0), FlushState::Flushed);
        assert_eq!((free.safe, free.obstacles.len()), (Some(true), 0));
        // The mount is two layers above.
        let used = answer(vec![partition(vec![]), volume], None, FlushState::Flushed);
        let at = "/mnt".to_owned();
        let device = "dm-0".to_owned();
        assert_eq!(used.safe, Some(false));
        assert_eq!(used.obstacles, [UnplugObstacle::Mounted { device, at }]);
        let swap = answer(
            vec![partition(vec![DeviceUse::Swap])],
            None,
            FlushState::Flushed,
        );
        assert_eq!(swap.safe, Some(false));
        let dirty = answer(vec![], Some(4096), FlushState::NotFlushed);
        let expected = [
            UnplugObstacle::Dirty { bytes: 4096 },
            UnplugObstacle::NotFlushed,
        ];
        assert_eq!(
            (dirty.safe, &dirty.obstacles[..]),
            (Some(false), &expected[..])
        );
        for unknown in [
            FlushState::NotObserved,
            FlushState::NotCounted,
            FlushState::SameInterval,
        ] {
            assert_eq!(answer(vec![], None, unknown).safe, None);
        }
    }

    #[test]
    fn drive_without_volatile_cache_needs_no_flush() {
        let disk = BlockDevice {
            write_cache: Some("write through".to_owned()),
            ..device("sdb", DriveKind::Disk)
        };
        let answer = unplug_answer(&disk, &[], None, FlushState::NotCounted).unwrap();
        assert_eq!(answer.safe, Some(true));
        let partition = partition(vec![]);
        assert_eq!(
            unplug_answer(&partition, &[], None, FlushState::Flushed),
            None
        );
    }

    #[test]
    fn order_of_writes_and_flushes_is_known_from_separate_intervals_only() {
        let start = FlushState::of_counters(10, Some(3));
        assert_eq!(start, FlushState::NotObserved);
        let written = start.after(5, 0, true);
        assert_eq!(written, FlushState::NotFlushed);
        assert_eq!(written.after(0, 0, false), FlushState::NotFlushed);
        assert_eq!(written.after(0, 1, true), FlushState::Flushed);
        assert_eq!(written.after(0, 1, false), FlushState::SameInterval);
        assert_eq!(written.after(2, 1, true), FlushState::SameInterval);
        assert_eq!(FlushState::of_counters(0, None), FlushState::NothingWritten);
        assert_eq!(FlushState::of_counters(9, None), FlushState::NotCounted);
        assert_eq!(FlushState::of_counters(9, Some(0)), FlushState::NotFlushed);
    }
}
