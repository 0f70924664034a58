//! Which processes there are.

use procfs::LoadAverage;
use procfs::prelude::FromRead as _;

use crate::probe::text::{parse_number, read_file};
use crate::roots::SysPaths;

/// The process ids in `/proc`; none where it cannot be listed.
pub(super) fn list_pids(roots: &SysPaths) -> Vec<u32> {
    let listing = std::fs::read_dir(&roots.proc);
    let names = listing.into_iter().flatten().flatten();
    names
        .filter_map(|entry| {
            let pid = parse_number(entry.file_name().as_encoded_bytes())?;
            u32::try_from(pid).ok()
        })
        .collect()
}

/// The process id that was assigned last, from `/proc/loadavg`: while it stays the same, no process
/// has begun.
pub(super) fn latest_pid(roots: &SysPaths) -> Option<u32> {
    let text = read_file(&roots.proc.join("loadavg"))?;
    LoadAverage::from_read(&text[..])
        .ok()
        .map(|load| load.latest_pid)
}
