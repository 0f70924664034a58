//! I/O of processes by device: from traced requests, otherwise estimated from open files.

use std::collections::HashMap;

use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::interval::{ProcessPair, SampleInterval};
use crate::snapshot::view::{DeviceShare, ProcessView, TracedInterval};
use crate::stats::sorting::SortList as _;
use crate::trace::requests::{DeviceIoCounts, DeviceNumber, TracedIo, TracedProcess};

/// The devices of open files with the rates of the process, where it uses only one: a process does
/// not say how much it moved on which of several.
pub(super) fn estimated_shares(view: &ProcessView, names: Vec<SafeText>) -> Vec<DeviceShare> {
    let mut shares: Vec<DeviceShare> = names.into_iter().map(DeviceShare::named).collect();
    if let [only] = shares.as_mut_slice() {
        only.read_bytes_per_s = view.read_bytes_per_s;
        only.write_bytes_per_s = view.write_bytes_per_s;
    }
    shares
}

/// Replaces estimates by what was traced, and adds lines of processes that have ended: the kernel
/// writes back what they wrote.
pub fn apply_traced(
    views: &mut Vec<ProcessView>,
    traced: &TracedIo,
    interval: &SampleInterval<'_>,
) -> Option<TracedInterval> {
    let seconds = interval.seconds()?;
    let shares = ShareContext::new(interval.current, seconds);
    let mut ended: HashMap<u32, &TracedProcess> = traced
        .processes
        .iter()
        .map(|(pid, process)| (*pid, process))
        .collect();
    for view in views.iter_mut().filter(|view| view.pid == view.tid) {
        let process = ended.remove(&view.pid);
        shares.set(view, process);
    }
    // A process that is alive has a line of its own, so these have ended.
    let mut ended: Vec<(u32, &TracedProcess)> = ended.into_iter().collect();
    ended.sort_list_by_key(|(pid, _)| *pid);
    for (pid, process) in ended {
        let mut view = ProcessView {
            pid,
            tid: pid,
            exited: true,
            command: SafeText::from_bytes(process.name.as_bytes()),
            ..ProcessView::default()
        };
        shares.set(&mut view, Some(process));
        views.push(view);
    }
    Some(TracedInterval {
        unattributed: shares.of(&traced.unattributed),
        events_lost: traced.events_lost,
    })
}

/// Whether requests of a process that is alive were traced, so that it has a line.
pub(super) fn is_traced(traced: Option<&TracedIo>, pair: &ProcessPair<'_>) -> bool {
    let pid = pair.current.identity.pid;
    traced.is_some_and(|traced| traced.processes.contains_key(&pid))
}

struct ShareContext {
    names: HashMap<DeviceNumber, SafeText>,
    seconds: f64,
}

impl ShareContext {
    fn new(sample: &SystemSample, seconds: f64) -> Self {
        let name = |disk: &crate::probe::sample::DiskCounters| {
            let name = SafeText::from_bytes(disk.name.as_bytes());
            (disk.device_number, name)
        };
        Self {
            names: sample.disks.iter().map(name).collect(),
            seconds,
        }
    }

    fn set(&self, view: &mut ProcessView, process: Option<&TracedProcess>) {
        let own = process.map_or_else(DeviceIoCounts::default, |process| process.own);
        view.read_ios_per_s = Some(own.reads as f64 / self.seconds);
        view.write_ios_per_s = Some(own.writes as f64 / self.seconds);
        view.devices = process.map_or_else(Vec::new, |process| self.of(&process.devices));
        view.devices_estimated = false;
    }

    /// The busiest device first.
    fn of(&self, counts: &HashMap<DeviceNumber, DeviceIoCounts>) -> Vec<DeviceShare> {
        let mut shares: Vec<DeviceShare> = counts
            .iter()
            .map(|(device, counts)| self.share(*device, counts))
            .collect();
        shares.sort_list_by(|a, b| {
            let by_rate = b.total_bytes_per_s().total_cmp(&a.total_bytes_per_s());
            by_rate.then_with(|| a.name.cmp(&b.name))
        });
        shares
    }

    fn share(&self, device: DeviceNumber, counts: &DeviceIoCounts) -> DeviceShare {
        let rate = |count: u64| Some(count as f64 / self.seconds);
        let name = self.names.get(&device).cloned();
        DeviceShare {
            name: name.unwrap_or_else(|| format!("{}:{}", device.0, device.1).into()),
            read_bytes_per_s: rate(counts.read_bytes),
            write_bytes_per_s: rate(counts.written_bytes),
            read_ios_per_s: rate(counts.reads),
            write_ios_per_s: rate(counts.writes),
        }
    }
}
