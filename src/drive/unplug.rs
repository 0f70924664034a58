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
        use FlushState::{Flushed, NotCounted, NotFlushed, NotObserved, SameInterval};
        let disk = device("sdb", DriveKind::Disk);
        let at = "/mnt".to_owned();
        let mounted = DeviceUse::Mounted {
            at: at.clone(),
            file_system: "ext4".to_owned(),
        };
        // The mount is two layers above.
        let volume = BlockDevice {
            slaves: vec!["sdb1".to_owned()],
            users: vec![mounted],
            ..device("dm-0", DriveKind::DeviceMapper)
        };
        let part = || partition(vec![]);
        let used = |device, usage| vec![UnplugObstacle::InUse(User::new(device, usage))];
        let bytes = 4096;
        let swap = partition(vec![DeviceUse::Swap]);
        let unknown = |state| vec![UnplugObstacle::FlushUnknown { state }];
        let dirty = vec![UnplugObstacle::Dirty { bytes }, UnplugObstacle::NotFlushed];
        #[rustfmt::skip]
        let cases = [
            (vec![part()], Some(0), Flushed, Some(true), vec![]),
            (vec![part(), volume], None, Flushed, Some(false), used("dm-0", Usage::Mounted { at })),
            (vec![swap], None, Flushed, Some(false), used("sdb1", Usage::Swap)),
            (vec![], Some(bytes), NotFlushed, Some(false), dirty),
            (vec![], None, NotObserved, None, unknown(NotObserved)),
            (vec![], None, NotCounted, None, unknown(NotCounted)),
            (vec![], None, SameInterval, None, unknown(SameInterval)),
        ];
        for (others, dirty, flush, safe, obstacles) in cases {
            let all = [vec![disk.clone()], others].concat();
            let answer = unplug_answer(&disk, &all, Some(&Uses::default()), dirty, flush);
            assert_eq!(answer, Some(UnplugAnswer { safe, obstacles }));
        }
    }

    #[test]
    fn drive_is_not_safe_where_others_use_it_or_may_use_it() {
        let disk = device("sdb", DriveKind::Disk);
        let all = [disk.clone(), partition(vec![])];
        let open = |device| User::new(device, Usage::Lock);
        let by = "dm-0".to_owned();
        let held = User::new("sdb", Usage::Stacked { by });
        let used = |device| UnplugObstacle::InUse(open(device));
        let hidden = || vec![UnknownUse::HiddenProcesses];
        let several = vec![open("sdb"), open("sdb1"), held, open("sdb")];
        #[rustfmt::skip]
        let cases = [
            (Some((vec![open("sdc")], vec![])), vec![]),
            (Some((several, vec![])), vec![used("sdb"), used("sdb1")]),
            (Some((vec![], hidden())), vec![UnplugObstacle::UsersNotExamined]),
            (None, vec![UnplugObstacle::UsersNotExamined]),
        ];
        for (uses, expected) in cases {
            let uses = uses.map(|(users, unknown)| Uses { users, unknown });
            let answer = unplug_answer(&disk, &all, uses.as_ref(), None, FlushState::Flushed);
            assert_eq!(answer.unwrap().obstacles, expected);
        }
    }

    #[test]
    fn drive_without_volatile_cache_needs_no_flush_and_a_partition_has_no_answer() {
        let disk = BlockDevice {
            write_cache: Some("write through".to_owned()),
            ..device("sdb", DriveKind::Disk)
        };
        let answer = |drive| {
            let uses = Uses::default();
            unplug_answer(drive, &[], Some(&uses), None, FlushState::NotCounted)
        };
        assert_eq!(answer(&disk).unwrap().safe, Some(true));
        assert_eq!(answer(&partition(vec![])), None);
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
