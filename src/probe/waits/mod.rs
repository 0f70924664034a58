//! What the diagnosis asks the kernel about tasks that wait: since when they sleep, the limits of control
//! groups that they reach, the servers and the locks that they wait for.

pub mod groups;
pub mod locks;
pub mod servers;
pub mod sleeps;

use std::path::PathBuf;

use crate::probe::text::list_numbers_at;
use crate::roots::SysPaths;

/// The processes, each with its directory.
fn processes(roots: &SysPaths) -> impl Iterator<Item = (u32, PathBuf)> {
    let pids = list_numbers_at(&roots.proc).unwrap_or_default().into_iter();
    pids.map(|pid| (pid, roots.proc.join(pid.to_string())))
}
