//! What is looked at because of the load: the rules need it only where something is wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::probe::facts::FactsSample;
use crate::probe::file_systems::{FileSystemUsage, MountedFileSystem};
use crate::probe::process::dependents::may_be_stopped;
use crate::probe::process::open_files::deleted_files;
use crate::probe::waits::servers::fuse_servers;
use crate::probe::waits::sleeps::uring_waiters;
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;
use crate::snapshot::files::deleted_file_views;
use crate::stats::sorting::SortList as _;
use crate::why::window::LoadLooks;

/// Processes whose descriptors are looked at: those that move most.
const MAX_PROCESSES: usize = 16;
/// Fraction of the space in use from which deleted files are looked for, and how many are kept.
const NEARLY_FULL: f64 = 0.97;
const MAX_DELETED: usize = 16;
/// I/O pressure from which waiters of io_uring are looked for.
const HIGH_PRESSURE: f64 = 0.2;

/// Looks at what these snapshots give reason to; `is_blocked` is whether a task is blocked.
pub(super) fn look(
    roots: &SysPaths,
    snapshots: &[Arc<Snapshot>],
    facts: &FactsSample,
    is_blocked: bool,
) -> LoadLooks {
    let Some(last) = snapshots.last() else {
        return LoadLooks::default();
    };
    let mut looks = LoadLooks {
        stoppable: stoppable(roots, snapshots),
        ..LoadLooks::default()
    };
    // Without a mounted fusectl no connection is listed.
    let connections = facts.fuse.as_ref().filter(|listed| !listed.is_empty());
    let may_wait = connections.map_or(is_blocked, |all| all.iter().any(|it| it.waiting != Some(0)));
    let mut mounts = facts.mounts.iter();
    if may_wait && mounts.any(|it| it.file_system.starts_with("fuse")) {
        looks.fuse_servers = fuse_servers(roots);
    }
    let used = |it: &MountedFileSystem| it.usage.as_ref().and_then(FileSystemUsage::used_fraction);
    let mut systems = last.file_systems.iter();
    if systems.any(|it| used(it).is_some_and(|used| used >= NEARLY_FULL)) {
        let files = deleted_files(roots);
        looks.deleted_files = deleted_file_views(&files, &last.drives, &last.file_systems);
        looks
            .deleted_files
            .sort_list_by(|a, b| b.held_bytes.cmp(&a.held_bytes));
        looks.deleted_files.truncate(MAX_DELETED);
    }
    let pressure = last.host.pressure_some;
    if pressure.is_some_and(|pressure| pressure >= HIGH_PRESSURE) {
        looks.uring_waiters = uring_waiters(roots);
    }
    looks
}

/// The processes with the most I/O that can be stopped without that others hang with them.
fn stoppable(roots: &SysPaths, snapshots: &[Arc<Snapshot>]) -> Vec<u32> {
    let mut moved: BTreeMap<u32, f64> = BTreeMap::new();
    let all = snapshots.iter().flat_map(|snapshot| &snapshot.processes);
    for process in all.filter(|view| !view.exited) {
        let rates = [process.read_bytes_per_s, process.write_bytes_per_s];
        *moved.entry(process.pid).or_default() += rates.into_iter().flatten().sum::<f64>();
    }
    let mut moved: Vec<(u32, f64)> = moved.into_iter().collect();
    moved.sort_list_by(|a, b| b.1.total_cmp(&a.1));
    let busiest = moved.into_iter().map(|(pid, _)| pid).take(MAX_PROCESSES);
    busiest.filter(|pid| may_be_stopped(roots, *pid)).collect()
}
