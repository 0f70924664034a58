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
    /// Fraction of the time that it waited for block I/O; `None` without delay accounting.
    pub io_wait: Option<f64>,
    /// Fraction of the snapshots in which it was in uninterruptible sleep.
    pub blocked: f64,
    /// Its last wait channel.
    pub wait_channel: Option<SafeText>,
}

impl ProcessSummary {
    /// The process, for a measure against it.
    #[must_use]
    pub fn instance(&self) -> ProcessInstance {
        ProcessInstance {
            pid: self.pid,
            start_ticks: self.start_ticks,
        }
    }

    /// The process as who causes something, with its share.
    #[must_use]
    pub fn party(&self, share: Option<f64>) -> Party {
        Party {
            pid: self.pid,
            command: self.command.clone(),
            unit: self.unit.clone(),
            share,
        }
    }

    /// Bytes in both directions per second.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        self.read_bytes + self.write_bytes
    }
}

/// The processes that any of the snapshots lists.
pub(super) fn summarize(window: &EvidenceWindow, seconds: f64) -> Vec<ProcessSummary> {
    let mut found: BTreeMap<u32, ProcessSummary> = BTreeMap::new();
    let count = window.snapshots.len().max(1) as f64;
    for snapshot in &window.snapshots {
        let length = snapshot.interval.map_or(0.0, |it| it.as_secs_f64());
        let whole = snapshot
            .processes
            .iter()
            .filter(|view| view.tid == view.pid && !view.exited);
        for view in whole {
            let summary = found.entry(view.pid).or_insert_with(|| ProcessSummary {
                pid: view.pid,
                ..ProcessSummary::default()
            });
            add(summary, view, length / seconds, 1.0 / count);
        }
    }
    found.into_values().collect()
}

fn add(summary: &mut ProcessSummary, view: &ProcessView, weight: f64, share: f64) {
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
    if let Some(wait) = view.io_wait {
        *summary.io_wait.get_or_insert(0.0) += wait * weight;
    }
    if view.state == Some('D') {
        summary.blocked += share;
        summary.wait_channel = view.wait_channel.clone().or(summary.wait_channel.take());
    }
}
