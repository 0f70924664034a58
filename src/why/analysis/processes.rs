//! Processes over a window.

use std::collections::BTreeMap;

use crate::files::safe_text::SafeText;
use crate::snapshot::view::ProcessView;
use crate::why::cause::Party;
use crate::why::window::EvidenceWindow;

/// A process, and no other one that gets its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessInstance {
    /// Process id.
    pub pid: u32,
    /// Time of its start in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

/// A process over the window. Rates are means over the whole window.
#[derive(Debug, Clone, Default)]
pub struct ProcessSummary {
    /// Process id.
    pub pid: u32,
    /// Time of its start in clock ticks since boot.
    pub start_ticks: u64,
    /// Command line.
    pub command: SafeText,
    /// Its service, container or session.
    pub unit: Option<SafeText>,
    /// Devices that it used, those whose file offsets moved first.
    pub devices: Vec<SafeText>,
    /// Bytes read from devices per second.
    pub read_bytes: f64,
    /// Bytes written to devices, or dirtied, per second.
    pub write_bytes: f64,
    /// Fraction of the time that it waited for swap-in; 0 without delay accounting.
    pub swap_wait: f64,
}

impl ProcessSummary {
    /// The process, for a measure against it.
    pub fn instance(&self) -> ProcessInstance {
        ProcessInstance {
            pid: self.pid,
            start_ticks: self.start_ticks,
        }
    }

    /// The process as who causes something, with its share.
    pub fn party(&self, share: Option<f64>) -> Party {
        Party {
            pid: self.pid,
            command: self.command.clone(),
            unit: self.unit.clone(),
            share,
        }
    }

    /// Bytes in both directions per second.
    pub fn throughput(&self) -> f64 {
        self.read_bytes + self.write_bytes
    }
}

/// The processes that any of the snapshots lists.
pub(super) fn summarize(window: &EvidenceWindow, seconds: f64) -> Vec<ProcessSummary> {
    let mut found: BTreeMap<u32, ProcessSummary> = BTreeMap::new();
    for snapshot in &window.snapshots {
        let length = snapshot.interval.map_or(0.0, |it| it.as_secs_f64());
        let whole = |view: &&ProcessView| view.tid == view.pid && !view.exited;
        for view in snapshot.processes.iter().filter(whole) {
            add(found.entry(view.pid).or_default(), view, length / seconds);
        }
    }
    found.into_values().collect()
}

fn add(summary: &mut ProcessSummary, view: &ProcessView, weight: f64) {
    summary.pid = view.pid;
    summary.start_ticks = view.start_ticks;
    summary.command = view.command.clone();
    summary.unit = view.unit.clone().or(summary.unit.take());
    for device in &view.devices {
        if !summary.devices.contains(&device.name) {
            summary.devices.push(device.name.clone());
        }
    }
    summary.read_bytes += view.read_bytes_per_s.unwrap_or(0.0) * weight;
    summary.write_bytes += view.write_bytes_per_s.unwrap_or(0.0) * weight;
    summary.swap_wait += view.swap_in.unwrap_or(0.0) * weight;
}
