//! Pools of ZFS that the volumes of a stack take space of. A volume whose reservation covers its size
//! (`refreservation`, the default of `zfs create -V`) needs none; any other one does with each write, also
//! of what it holds already. When the pool is full, all of them refuse what file systems on them write back.
//!
//! The kernel tells the space of a pool by statfs(2) of its mounted file systems, and properties only to
//! zfs(8). A volume counts as one without a reservation where zfs(8) does not answer.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::store_space::StoreSpace;
use crate::drive::file_systems::statvfs_usage;
use crate::drive::guard::siblings;
use crate::drive::identity::sysfs::read_number;
use crate::drive::ioctl;
use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::drive::zfs_command::{ZfsCommand, installed_program};
use crate::roots::SysPaths;

/// zfs(8) takes longer while a pool is busy, and does not answer while one is suspended.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The same where it has answered before: during a run.
const NEXT_ANSWER_LIMIT: Duration = Duration::from_millis(200);
/// zfs(8) is not called more often: it runs beside a benchmark.
const CALL_INTERVAL: Duration = Duration::from_secs(1);
/// Mounted file systems of a pool that are looked at: containers may have one for each image.
const MAX_MOUNTS: usize = 4;

/// The volume of a device.
#[derive(Debug)]
struct ZfsVolume {
    /// `POOL/...`.
    dataset: String,
    /// Bytes that one write takes at least (`volblocksize`).
    block_bytes: u64,
}

/// A pool that volumes take space of.
#[derive(Debug)]
pub(super) struct ZfsPool {
    /// Its name.
    pub name: String,
    /// Bytes that one write takes at least.
    unit_bytes: u64,
    /// Its size in bytes, if zfs(8) tells it.
    total_bytes: Option<u64>,
    /// The volume that has the fewest bytes left.
    tightest: String,
    /// Bytes of the mounted file systems that this volume does not have, such as by a quota above it.
    withheld_bytes: u64,
    /// What this volume has left.
    available: Mutex<AvailableSpace>,
}

/// What a volume has left, as zfs(8) tells it from time to time. Nothing waits for that during a run.
#[derive(Debug)]
struct AvailableSpace {
    /// Bytes as of the last answer.
    bytes: Option<u64>,
    /// When zfs(8) was last called.
    called: Instant,
    call: Option<ZfsCommand>,
}

/// The last answer about the properties of volumes, with the arguments of the call.
static LAST_ANSWER: Mutex<Option<(Vec<String>, String)>> = Mutex::new(None);

/// Whether a device is a volume by its name (`zd16`; not a partition of one).
pub(super) fn is_zfs_volume(name: &str) -> bool {
    let number = name.strip_prefix("zd").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The pools that the volumes among these devices take space of.
pub(super) fn pools_of_devices(roots: &SysPaths, names: &[String]) -> Vec<ZfsPool> {
    let names = names.iter().filter(|name| is_zfs_volume(name));
    let volumes: Vec<ZfsVolume> = names.filter_map(|name| volume(roots, name)).collect();
    if volumes.is_empty() {
        return Vec::new();
    }
    let properties = "volsize,refreservation,available,used";
    let mut arguments = vec!["name,property,value", "--", properties];
    for volume in &volumes {
        arguments.extend([pool_name(&volume.dataset), &volume.dataset]);
    }
    pools(roots, &volumes, &get(&arguments))
}

/// The volume of that device; `None` for a snapshot, and for a device that may not be opened.
fn volume(roots: &SysPaths, name: &str) -> Option<ZfsVolume> {
    let device = siblings::open_device_by_name(roots, name)?;
    let dataset = String::from_utf8(ioctl::zfs_volume_name(&device).ok()?).ok()?;
    let queue = roots.sys.join("class/block").join(name).join("queue");
    (!dataset.contains('@')).then_some(ZfsVolume {
        dataset,
        block_bytes: read_number(&queue.join("physical_block_size"))?,
    })
}

fn pool_name(dataset: &str) -> &str {
    dataset.split_once('/').map_or(dataset, |(pool, _)| pool)
}

/// Starts `zfs get` with these arguments, where zfs(8) is installed.
fn start(arguments: &[&str]) -> Option<ZfsCommand> {
    let arguments = [&["get", "-Hp", "-o"], arguments].concat();
    ZfsCommand::start(&installed_program("zfs")?, &arguments).ok()
}

/// What `zfs get` with these arguments prints; where it does not answer in time, what it printed last for them;
/// nothing without either.
fn get(arguments: &[&str]) -> String {
    let mut last = LAST_ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last.take().filter(|(known, _)| known == arguments);
    let limit = match known {
        Some(_) => NEXT_ANSWER_LIMIT,
        None => ANSWER_LIMIT,
    };
    let answer = start(arguments).map(|call| call.answer_within(limit));
    let answer = String::from_utf8(answer.unwrap_or_default()).unwrap_or_default();
    let answer = match (known, answer.is_empty()) {
        (Some((_, known)), true) => known,
        _ => answer,
    };
    if !answer.is_empty() {
        let arguments = arguments.iter().map(|word| (*word).to_owned());
        *last = Some((arguments.collect(), answer.clone()));
    }
    answer
}

/// A number in the answer of [`get`], of which each line is `DATASET PROPERTY VALUE` with tabs between.
fn property(answer: &str, dataset: &str, name: &str) -> Option<u64> {
    let mut lines = answer.lines();
    let value = lines.find_map(|line| {
        let own = line.strip_prefix(dataset)?.strip_prefix('\t')?;
        own.strip_prefix(name)?.strip_prefix('\t')
    });
    value?.parse().ok()
}

/// Whether the pool keeps the space of a whole volume.
fn is_reserved(answer: &str, volume: &ZfsVolume) -> bool {
    let value = |name| property(answer, &volume.dataset, name);
    let (size, reserved) = (value("volsize"), value("refreservation"));
    size.is_some_and(|size| reserved.is_some_and(|reserved| reserved >= size))
}

/// The pools of the volumes without a reservation, each once.
fn pools(roots: &SysPaths, volumes: &[ZfsVolume], answer: &str) -> Vec<ZfsPool> {
    let mut found: Vec<ZfsPool> = Vec::new();
    let available = |volume: &&ZfsVolume| property(answer, &volume.dataset, "available");
    let mut thin: Vec<&ZfsVolume> = volumes.iter().collect();
    thin.retain(|volume| !is_reserved(answer, volume));
    thin.sort_by_key(|volume| available(volume).unwrap_or(u64::MAX));
    for volume in thin {
        let name = pool_name(&volume.dataset);
        if let Some(known) = found.iter_mut().find(|pool| pool.name == name) {
            known.unit_bytes = known.unit_bytes.max(volume.block_bytes);
            continue;
        }
        let mounted = mounted_space(roots, name).map(|(_, free)| free);
        let own = available(&volume);
        let withheld = mounted.and_then(|mounted| mounted.checked_sub(own?));
        let (free, used) = (
            property(answer, name, "available"),
            property(answer, name, "used"),
        );
        found.push(ZfsPool {
            name: name.to_owned(),
            unit_bytes: volume.block_bytes,
            total_bytes: free.and_then(|free| free.checked_add(used?)),
            tightest: volume.dataset.clone(),
            withheld_bytes: withheld.unwrap_or(0),
            available: Mutex::new(AvailableSpace {
                bytes: own,
                called: Instant::now(),
                call: None,
            }),
        });
    }
    found
}

/// Total and free bytes of the file system with the most free ones, of those of a pool that are mounted.
fn mounted_space(roots: &SysPaths, pool: &str) -> Option<(u64, u64)> {
    let mounts = mounts::mounts(roots).ok()?;
    let is_of_pool = |mount: &&MountEntry| {
        let is_snapshot = mount.source.contains('@');
        mount.file_system == "zfs" && pool_name(&mount.source) == pool && !is_snapshot
    };
    let mut found: Vec<&MountEntry> = mounts.iter().filter(is_of_pool).collect();
    // The nearest to the root of the pool: a quota limits those below it.
    found.sort_by_key(|mount| mount.source.len());
    let reachable = found
        .into_iter()
        .filter(|mount| mounts::is_reachable(&mounts, mount));
    let spaces = reachable.take(MAX_MOUNTS).filter_map(|mount| {
        let usage = statvfs_usage(roots, mount)?;
        Some((usage.size_bytes, usage.available_bytes))
    });
    spaces.max_by_key(|(_, free)| *free)
}

impl ZfsPool {
    /// Its space by now; `None` where none of its file systems is mounted and zfs(8) does not answer.
    pub(super) fn space(&self, roots: &SysPaths) -> Option<StoreSpace> {
        let mounted = mounted_space(roots, &self.name);
        let free = match mounted {
            Some((_, free)) => free.saturating_sub(self.withheld_bytes),
            None => self.available_bytes()?,
        };
        Some(StoreSpace {
            total_bytes: self.total_bytes.or(mounted.map(|(total, _)| total))?,
            free_bytes: free,
            unit_bytes: self.unit_bytes,
        })
    }

    /// What zfs(8) told last.
    fn available_bytes(&self) -> Option<u64> {
        let mut known = self
            .available
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.call.as_mut().and_then(ZfsCommand::answer) {
            let answer = String::from_utf8(answer).unwrap_or_default();
            known.bytes = answer.trim().parse().ok().or(known.bytes);
            known.call = None;
        }
        if known.call.is_none() && known.called.elapsed() >= CALL_INTERVAL {
            known.called = Instant::now();
            known.call = start(&["value", "--", "available", &self.tightest]);
        }
        known.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn volume_of(dataset: &str) -> ZfsVolume {
        ZfsVolume {
            dataset: dataset.to_owned(),
            block_bytes: 16_384,
        }
    }

    /// As `zfs get -Hp -o name,property,value` prints it.
    fn facts(dataset: &str, size: &str, reserved: u64, available: u64) -> String {
        format!(
            "{dataset}\tvolsize\t{size}\n{dataset}\trefreservation\t{reserved}\n\
             {dataset}\tavailable\t{available}\n{dataset}\tused\t{GIB}\n"
        )
    }

    fn pools_without_mounts(volumes: &[&str], answer: &str) -> Vec<ZfsPool> {
        let (_root, roots) = SysPaths::with_files(&[("proc/self/mountinfo", "")]);
        let volumes: Vec<ZfsVolume> = volumes.iter().map(|name| volume_of(name)).collect();
        pools(&roots, &volumes, answer)
    }

    #[test]
    fn volumes_are_known_by_their_names() {
        assert!(is_zfs_volume("zd0") && is_zfs_volume("zd256"));
        for name in ["zd0p1", "zd", "sda", "zdx"] {
            assert!(!is_zfs_volume(name), "{name}");
        }
    }

    #[test]
    fn volume_with_a_reservation_of_its_size_takes_no_space_of_its_pool() {
        let size = (2 * GIB).to_string();
        let answer = facts("tank", "-", 0, 0)
            + &facts("tank/thick", &size, 2 * GIB + 4096, GIB)
            + &facts("tank/part", &size, GIB, GIB)
            + &facts("tank/vm 1", &size, 0, 7);
        assert!(pools_without_mounts(&["tank/thick"], &answer).is_empty());
        let found = pools_without_mounts(&["tank/thick", "tank/part", "tank/vm 1"], &answer);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (&*found[0].name, &*found[0].tightest),
            ("tank", "tank/vm 1")
        );
        assert_eq!(found[0].available_bytes(), Some(7));
        // Without an answer, all of them may need space.
        let found = pools_without_mounts(&["tank/thick", "vault/thick"], "");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn space_without_mounted_file_systems_is_what_the_volume_has_left() {
        let (_root, roots) = SysPaths::with_files(&[("proc/self/mountinfo", "")]);
        let answer = facts("tank", "-", 0, 3 * GIB) + &facts("tank/vm", "1", 0, 2 * GIB);
        let pool = pools(&roots, &[volume_of("tank/vm")], &answer).remove(0);
        let expected = StoreSpace {
            total_bytes: 4 * GIB,
            free_bytes: 2 * GIB,
            unit_bytes: 16_384,
        };
        assert_eq!(pool.space(&roots), Some(expected));
        let unknown = pools(&roots, &[volume_of("tank/vm")], "").remove(0);
        assert_eq!(unknown.space(&roots), None);
    }

    #[test]
    fn space_is_that_of_mounted_file_systems_without_what_the_volume_may_not_use() {
        let table = "21 1 0:30 / /tank rw - zfs tank rw\n\
                     22 1 0:31 / /other rw - zfs tank2/data rw\n\
                     23 1 0:32 / /gone rw - zfs tank/.zfs@one rw\n";
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/self/mountinfo", table),
            ("proc/self/root/tank/file", ""),
        ]);
        let (total, free) = mounted_space(&roots, "tank").unwrap();
        assert!(free > GIB / 4 && mounted_space(&roots, "vault").is_none());
        let space = |answer: &str| {
            let pool = pools(&roots, &[volume_of("tank/vms/one")], answer).remove(0);
            pool.space(&roots).unwrap()
        };
        // Other tests use the disk as well.
        let is_near = |bytes: u64, expected: u64| bytes.abs_diff(expected) < GIB / 8;
        let unknown = space("");
        assert!(is_near(unknown.free_bytes, free));
        assert_eq!(unknown.total_bytes, total);
        // A quota of tank/vms.
        let limited = space(&facts("tank/vms/one", "1", 0, GIB / 4));
        assert!(is_near(limited.free_bytes, GIB / 4), "{limited:?}");
        let unlimited = space(&facts("tank/vms/one", "1", 0, u64::MAX));
        assert!(is_near(unlimited.free_bytes, free), "{unlimited:?}");
    }
}
