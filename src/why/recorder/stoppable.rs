//! The processes that may be stopped, of those that a diagnosis may name as culprits.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::probe::process::dependents::may_be_stopped;
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;

/// Processes whose descriptors are looked at: those that move most.
const MAX_PROCESSES: usize = 16;

/// The processes with the most I/O of these snapshots that can be stopped without that others hang with them.
pub(super) fn stoppable_processes(roots: &SysPaths, snapshots: &[Arc<Snapshot>]) -> Vec<u32> {
    let mut moved: BTreeMap<u32, f64> = BTreeMap::new();
    let all = snapshots.iter().flat_map(|snapshot| &snapshot.processes);
    for process in all.filter(|view| !view.exited) {
        let rates = [process.read_bytes_per_s, process.write_bytes_per_s];
        *moved.entry(process.pid).or_default() += rates.into_iter().flatten().sum::<f64>();
    }
    let mut moved: Vec<(u32, f64)> = moved.into_iter().collect();
    moved.sort_by(|a, b| b.1.total_cmp(&a.1));
    let busiest = moved.into_iter().map(|(pid, _)| pid).take(MAX_PROCESSES);
    busiest.filter(|pid| may_be_stopped(roots, *pid)).collect()
}
