//! The kernel's own counters of the device under test and of the underlying devices, since the
//! start of a run.

use std::fs;
use std::time::{Duration, Instant};

use crate::probe::sample::{DiskCounters, RequestCounters};
use crate::probe::system::{diskstats, host};
use crate::roots::SysPaths;
use crate::session::document::{DeviceHistory, KernelCounts};

/// Bytes of a sector in /proc/diskstats, independent of the device's own sectors.
const SECTOR_BYTES: u64 = 512;

/// Reads the counters at the start of a run and computes differences to later readings.
pub struct KernelCounters {
    roots: SysPaths,
    devices: Vec<String>,
    /// When the devices' counters were read.
    start: Instant,
    disks_at_start: Vec<DiskCounters>,
    busy_at_start: Option<u64>,
}

impl KernelCounters {
    /// Reads the counters now, as the start. Without devices there is nothing to count.
    #[must_use]
    pub fn new(roots: &SysPaths, devices: Vec<String>) -> Self {
        let mut counters = Self {
            roots: roots.clone(),
            devices,
            start: Instant::now(),
            disks_at_start: Vec::new(),
            busy_at_start: None,
        };
        counters.disks_at_start = counters.read_disks();
        counters.busy_at_start = counters.busy_ticks();
        counters
    }

    fn read_disks(&self) -> Vec<DiskCounters> {
        if self.devices.is_empty() {
            return Vec::new();
        }
        let text = fs::read(self.roots.proc.join("diskstats")).unwrap_or_default();
        let mut disks = diskstats::parse(&text);
        disks.retain(|disk| self.devices.contains(&disk.name));
        disks
    }

    fn busy_ticks(&self) -> Option<u64> {
        let text = fs::read(self.roots.proc.join("stat")).ok()?;
        host::parse_cpu(&text).map(|ticks| ticks.busy)
    }

    /// Counters of each device since the start, in the order in which they were named; `None` where
    /// the kernel keeps no counters for it, or where they went backwards because the device was
    /// replaced.
    #[must_use]
    pub fn counts_since_start(&self) -> Vec<Option<KernelCounts>> {
        let now = self.read_disks();
        let elapsed = self.start.elapsed();
        let of = |disks: &[DiskCounters], name: &String| {
            disks.iter().position(|disk| disk.name == *name)
        };
        let since = |name: &String| {
            let before = &self.disks_at_start[of(&self.disks_at_start, name)?];
            counts_between(before, &now[of(&now, name)?], elapsed)
        };
        self.devices.iter().map(since).collect()
    }

    /// What the last of the devices did from the start of the machine to the start of the run.
    #[must_use]
    pub fn history_of_lowest(&self) -> Option<DeviceHistory> {
        let name = self.devices.last()?;
        let disk = self.disks_at_start.iter().find(|disk| disk.name == *name)?;
        let sum = |field: fn(&RequestCounters) -> u64| field(&disk.reads) + field(&disk.writes);
        Some(DeviceHistory {
            device: name.clone().into(),
            requests: sum(|it| it.completed),
            bytes: sum(|it| it.sectors).saturating_mul(SECTOR_BYTES),
            busy_ns: disk.busy_ms.saturating_mul(1_000_000),
        })
    }

    /// Time that all processors of the machine were busy since the start, in nanoseconds.
    #[must_use]
    pub fn machine_busy_since_start(&self) -> Option<u64> {
        let ticks = self.busy_ticks()?.checked_sub(self.busy_at_start?)?;
        Some(ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
    }
}

/// What was counted between two readings of a device; `None` where a counter went backwards.
fn counts_between(
    before: &DiskCounters,
    now: &DiskCounters,
    elapsed: Duration,
) -> Option<KernelCounts> {
    let nanoseconds =
        |before: u64, now: u64| Some(now.checked_sub(before)?.saturating_mul(1_000_000));
    let reads = requests_between(&before.reads, &now.reads)?;
    let writes = requests_between(&before.writes, &now.writes)?;
    let discards = before.discards.as_ref().zip(now.discards.as_ref());
    let flushes = before.flushes.as_ref().zip(now.flushes.as_ref());
    let completed = |before: u64, now: u64| now.checked_sub(before);
    Some(KernelCounts {
        device: now.name.clone().into(),
        reads: reads.completed,
        reads_merged: reads.merged,
        read_bytes: reads.sectors * SECTOR_BYTES,
        read_ns: reads.time_ms.saturating_mul(1_000_000),
        writes: writes.completed,
        writes_merged: writes.merged,
        written_bytes: writes.sectors * SECTOR_BYTES,
        write_ns: writes.time_ms.saturating_mul(1_000_000),
        discards: discards.and_then(|(before, now)| completed(before.completed, now.completed)),
        flushes: flushes.and_then(|(before, now)| completed(before.completed, now.completed)),
        busy_ns: nanoseconds(before.busy_ms, now.busy_ms)?,
        weighted_ns: nanoseconds(before.weighted_ms, now.weighted_ms)?,
        counted_ns: u64::try_from(elapsed.as_nanos()).ok(),
    })
}

fn requests_between(before: &RequestCounters, now: &RequestCounters) -> Option<RequestCounters> {
    Some(RequestCounters {
        completed: now.completed.checked_sub(before.completed)?,
        merged: now.merged.checked_sub(before.merged)?,
        sectors: now.sectors.checked_sub(before.sectors)?,
        time_ms: now.time_ms.checked_sub(before.time_ms)?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const BEFORE: &str = "8 0 sda 100 5 8000 40 200 6 16000 80 0 100 120 7 0 70 3 9 4\n";

    /// A kernel with one drive: its directory, its statistics file, and the counters from now on.
    fn sda() -> (tempfile::TempDir, PathBuf, KernelCounters) {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        fs::create_dir_all(&roots.proc).unwrap();
        let path = roots.proc.join("diskstats");
        fs::write(&path, BEFORE).unwrap();
        let counters = KernelCounters::new(&roots, vec!["sda".to_owned()]);
        (root, path, counters)
    }

    #[test]
    fn kernel_counters_are_relative_to_start() {
        let (_root, path, counters) = sda();
        fs::write(
            &path,
            "8 0 sda 110 5 8080 50 200 6 16000 80 2 130 150 7 0 70 3 10 4\n",
        )
        .unwrap();
        let counts = counters.counts_since_start()[0].clone().unwrap();
        assert_eq!(
            (counts.reads, counts.read_bytes, counts.read_ns),
            (10, 40_960, 10_000_000)
        );
        assert_eq!(
            (counts.writes, counts.discards, counts.flushes),
            (0, Some(0), Some(1))
        );
        assert_eq!(counts.busy_ns, 30_000_000);
    }

    #[test]
    fn device_history_sums_both_directions_before_the_run() {
        let (_root, _path, counters) = sda();
        let history = counters.history_of_lowest().unwrap();
        assert_eq!((history.requests, history.bytes), (300, 24_000 * 512));
        assert_eq!(history.busy_ns, 100_000_000);
    }

    #[test]
    fn kernel_counter_that_decreased_yields_none() {
        let (root, path, counters) = sda();
        fs::write(&path, BEFORE.replace(" 100 5", " 3 5")).unwrap();
        assert_eq!(counters.counts_since_start(), [None]);
        fs::write(&path, "").unwrap();
        assert_eq!(counters.counts_since_start(), [None]);
        assert_eq!(
            KernelCounters::new(&SysPaths::under_root(root.path()), Vec::new())
                .counts_since_start(),
            []
        );
        assert_eq!(counters.machine_busy_since_start(), None);
    }
}
