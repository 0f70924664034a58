//! Whether a drive can be unplugged without losing data: nothing on it is in use, as far as was looked
//! at, and what was written has left its volatile cache.

use serde::{Deserialize, Serialize};

use super::guard::{Usage, User, Uses, open_exclusively};
use super::{BlockDevice, DeviceUse, DriveKind};
use crate::roots::SysPaths;

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
}

/// Why a drive should not be unplugged, or why it is unknown whether it may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum UnplugObstacle {
    /// Who uses it was not, or not completely, examined.
    UsersNotExamined,
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
    /// Somebody uses it, or a device that is on it.
    #[serde(untagged)]
    InUse(User),
}

/// Whether a drive can be unplugged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnplugAnswer {
    /// Whether it can be unplugged; `None` where that is unknown.
    pub safe: Option<bool>,
    /// What prevents it, or what is unknown; empty where it is safe.
    pub obstacles: Vec<UnplugObstacle>,
}

impl UnplugAnswer {
    fn of_obstacles(obstacles: Vec<UnplugObstacle>) -> Self {
        use UnplugObstacle::{FlushUnknown, UsersNotExamined};
        let is_known = |it: &UnplugObstacle| !matches!(it, FlushUnknown { .. } | UsersNotExamined);
        let safe = if obstacles.iter().any(is_known) {
            Some(false)
        } else {
            obstacles.is_empty().then_some(true)
        };
        Self { safe, obstacles }
    }
}

/// Whether it is a drive with a medium, and so has an answer.
#[must_use]
pub fn can_be_unplugged(drive: &BlockDevice) -> bool {
    matches!(drive.kind, DriveKind::Disk | DriveKind::Loop) && drive.size_bytes > 0
}

/// Whether `drive` can be unplugged; `None` for what is no drive. `uses`: the result of a search that included it, if
/// there was one. `dirty_bytes`: dirty and under writeback to it, where known.
#[must_use]
pub fn unplug_answer(
    drive: &BlockDevice,
    drives: &[BlockDevice],
    uses: Option<&Uses>,
    dirty_bytes: Option<u64>,
    flush: FlushState,
) -> Option<UnplugAnswer> {
    if !can_be_unplugged(drive) {
        return None;
    }
    let devices = with_devices_above(drive, drives);
    let mut obstacles: Vec<UnplugObstacle> = Vec::new();
    let mut add = |user: &User| {
        let obstacle = UnplugObstacle::InUse(user.clone());
        if !obstacles.contains(&obstacle) {
            obstacles.push(obstacle);
        }
    };
    devices
        .iter()
        .copied()
        .flat_map(listed_users)
        .for_each(|user| add(&user));
    for user in uses.iter().flat_map(|uses| &uses.users) {
        // What is stacked on a device is one of the devices.
        let is_stacked = matches!(user.usage, Usage::Stacked { .. });
        if !is_stacked && devices.iter().any(|device| device.name == user.device) {
            add(user);
        }
    }
    // What an imported pool of ZFS holds is listed nowhere.
    let is_of_pool = |device: &&BlockDevice| device.signature.as_deref() == Some("zfs_member");
    let is_examined = uses.is_some_and(|uses| uses.unknown.is_empty());
    if obstacles.is_empty() && (!is_examined || devices.iter().any(is_of_pool)) {
        obstacles.push(UnplugObstacle::UsersNotExamined);
    }
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
    Some(UnplugAnswer::of_obstacles(obstacles))
}

/// The answer after an attempt to open what is on the drive exclusively, unless it was "no": a file system holds its
/// device also where no mount table lists it, as after `umount -l` or in another mount namespace. The devices with
/// others on them are held by these, which says nothing.
#[must_use]
pub fn with_exclusive_use(
    roots: &SysPaths,
    drive: &BlockDevice,
    drives: &[BlockDevice],
    answer: UnplugAnswer,
) -> UnplugAnswer {
    if answer.safe == Some(false) {
        return answer;
    }
    let devices = with_devices_above(drive, drives);
    let has_others_on_it = |device: &BlockDevice| devices.iter().any(|other| other.is_on(device));
    let mut obstacles = answer.obstacles;
    for device in devices.iter().filter(|device| !has_others_on_it(device)) {
        let opened = open_exclusively(roots, &device.name);
        let obstacle = match opened.map_err(|error| error.raw_os_error()) {
            Ok(()) | Err(Some(libc::ENOMEDIUM)) => continue,
            Err(Some(libc::EBUSY)) => {
                UnplugObstacle::InUse(User::new(&device.name, Usage::Exclusive))
            }
            Err(_) => UnplugObstacle::UsersNotExamined,
        };
        if !obstacles.contains(&obstacle) {
            obstacles.push(obstacle);
        }
    }
    UnplugAnswer::of_obstacles(obstacles)
}

/// A drive, its partitions, and what is stacked on them.
fn with_devices_above<'d>(
    drive: &'d BlockDevice,
    drives: &'d [BlockDevice],
) -> Vec<&'d BlockDevice> {
    let mut devices = vec![drive];
    let mut next = 0;
    while let Some(device) = devices.get(next).copied() {
        for other in drives {
            if other.is_on(device) && !devices.iter().any(|known| known.name == other.name) {
                devices.push(other);
            }
        }
        next += 1;
    }
    devices
}

/// Mounts of this namespace and swap areas, as the device lists them.
fn listed_users(device: &BlockDevice) -> impl Iterator<Item = User> {
    device.users.iter().filter_map(|user| match user {
        DeviceUse::Mounted { at, .. } => {
            let at = at.clone();
            Some(User::new(&device.name, Usage::Mounted { at }))
        }
        DeviceUse::Swap => Some(User::new(&device.name, Usage::Swap)),
        DeviceUse::HeldBy { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::guard::UnknownUse;

    fn device(name: &str, kind: DriveKind) -> BlockDevice {
        BlockDevice {
            number: (8, 16),
            removable: Some(true),
            write_cache: Some("write back".to_owned()),
            ..BlockDevice::new(name, kind, 1 << 30)
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
            unplug_answer(&disk, &all, Some(&Uses::default()), dirty, flush).unwrap()
        };
        let free = answer(vec![partition(vec![])], Some(0), FlushState::Flushed);
        assert_eq!((free.safe, free.obstacles.len()), (Some(true), 0));
        // The mount is two layers above.
        let used = answer(vec![partition(vec![]), volume], None, FlushState::Flushed);
        let at = "/mnt".to_owned();
        assert_eq!(used.safe, Some(false));
        assert_eq!(
            used.obstacles,
            [UnplugObstacle::InUse(User::new(
                "dm-0",
                Usage::Mounted { at }
            ))]
        );
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
    fn drive_that_others_use_is_not_safe() {
        let disk = device("sdb", DriveKind::Disk);
        let all = [disk.clone(), partition(vec![])];
        let answer = |users: Option<&Uses>| {
            unplug_answer(&disk, &all, users, None, FlushState::Flushed).unwrap()
        };
        let open = |device: &str| {
            let command = "qemu".to_owned();
            User::new(device, Usage::Process { pid: 12, command })
        };
        let of = |users: Vec<User>| Uses {
            users,
            unknown: Vec::new(),
        };
        assert_eq!(answer(Some(&of(vec![open("sdc")]))).safe, Some(true));
        let by = "nvmet subsystem one".to_owned();
        let export = User::new("sdb1", Usage::Export { by });
        let by = "dm-0".to_owned();
        let held = User::new("sdb", Usage::Stacked { by });
        let used = answer(Some(&of(vec![
            open("sdb"),
            export.clone(),
            held,
            open("sdb"),
        ])));
        let expected = [
            UnplugObstacle::InUse(open("sdb")),
            UnplugObstacle::InUse(export.clone()),
        ];
        assert_eq!(
            (used.safe, &used.obstacles[..]),
            (Some(false), &expected[..])
        );
    }

    #[test]
    fn drive_of_which_not_all_users_are_known_is_not_called_safe() {
        let disk = device("sdb", DriveKind::Disk);
        let incomplete = Uses {
            users: Vec::new(),
            unknown: vec![UnknownUse::HiddenProcesses],
        };
        for users in [None, Some(&incomplete)] {
            let answer = unplug_answer(&disk, &[], users, None, FlushState::Flushed).unwrap();
            assert_eq!(answer.safe, None);
            assert_eq!(answer.obstacles, [UnplugObstacle::UsersNotExamined]);
        }
    }

    #[test]
    fn drive_without_volatile_cache_needs_no_flush() {
        let disk = BlockDevice {
            write_cache: Some("write through".to_owned()),
            ..device("sdb", DriveKind::Disk)
        };
        let users = Uses::default();
        let answer = unplug_answer(&disk, &[], Some(&users), None, FlushState::NotCounted).unwrap();
        assert_eq!(answer.safe, Some(true));
        let partition = partition(vec![]);
        assert_eq!(
            unplug_answer(&partition, &[], Some(&users), None, FlushState::Flushed),
            None
        );
    }

    #[test]
    fn counters_since_the_attachment_tell_a_state() {
        for (written, flushes, expected) in [
            (0, None, FlushState::NothingWritten),
            (9, None, FlushState::NotCounted),
            (9, Some(0), FlushState::NotFlushed),
            (10, Some(3), FlushState::NotObserved),
        ] {
            assert_eq!(FlushState::of_counters(written, flushes), expected);
        }
    }
}
