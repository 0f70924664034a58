//! Turns samples into views.

use std::sync::Arc;

use crate::probe::Sample;
use crate::probe::sample::{CpuTicks, Host, Notice};

use super::interval::Interval;
use super::live::{HostView, Live};
use super::processes::Baseline;
use super::transfers::Tracker;
use super::transfers::ends::Scene;
use super::{devices, growing, memory, processes};
use crate::safe_text::SafeText;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Whether processes are listed that moved nothing.
    pub all_processes: bool,
    /// Smallest file in bytes that counts as a transfer; nothing below 1 MiB is ever seen.
    pub smallest_transfer: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            all_processes: false,
            smallest_transfer: 8 << 20,
        }
    }
}

/// Makes a view of each sample, from it and the one before. Pure: the time is the samples'.
#[derive(Debug)]
pub struct Modeler {
    settings: Settings,
    before: Option<Arc<Sample>>,
    first: Baseline,
    tracker: Tracker,
}

impl Default for Modeler {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Modeler {
    /// Knows no sample yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            before: None,
            first: Baseline::default(),
            tracker: Tracker::new(settings.smallest_transfer),
        }
    }

    /// Whether processes that moved nothing are listed, from the next sample on.
    pub fn show_all_processes(&mut self, all: bool) {
        self.settings.all_processes = all;
    }

    /// The view of the next sample.
    pub fn update(&mut self, now: Arc<Sample>) -> Live {
        let before = self.before.take();
        let before = before.as_deref();
        let interval = Interval::new(before, &now);
        self.tracker.update(&interval);
        let devices = devices::views(before, &now);
        let written = devices::written_to_media(&devices, &now.drives);
        self.first.learn(&now);
        let mut live = Live {
            time: now.time.clone().into(),
            interval: before.and_then(|before| now.at.checked_sub(before.at)),
            host: host(before.map(|before| &before.host), &now.host, written),
            devices,
            processes: processes::views(&interval, &self.first, self.settings.all_processes),
            process_count: now.processes.len(),
            transfers: Vec::new(),
            growing: growing::files(&interval),
            notices: sentences(&now.notices),
            drives: Arc::clone(&now.drives),
            file_systems: Arc::clone(&now.file_systems),
        };
        if let Some(before) = before {
            live.host.throttle = memory::throttle(before, &now);
            live.host.cache_hits = processes::cache_hits(&interval);
        }
        live.transfers = self.tracker.views(&Scene {
            now: &now,
            devices: &live.devices,
            processes: &live.processes,
        });
        self.before = Some(now);
        live
    }
}

fn sentences(notices: &[Notice]) -> Vec<SafeText> {
    notices
        .iter()
        .map(|notice| notice.sentence().into())
        .collect()
}

/// The heading; `written` is what reaches media, in bytes per second.
fn host(before: Option<&Host>, now: &Host, written: Option<f64>) -> HostView {
    let word = |word: &Option<Arc<str>>| word.as_ref().map(SafeText::from);
    let share = |stall: f64| stall / 100.0;
    let cpu = before.and_then(|before| cpu_shares(before.cpu?, now.cpu?));
    HostView {
        name: word(&now.name),
        kernel: word(&now.kernel),
        uptime: now.uptime,
        load: now.load,
        cpu_busy: cpu.map(|(busy, _)| busy),
        cpu_wait: cpu.map(|(_, waiting)| waiting),
        pressure_some: now
            .pressure
            .map(|pressure| share(pressure.some.average_10_s)),
        pressure_full: now
            .pressure
            .map(|pressure| share(pressure.full.average_10_s)),
        memory_bytes: now.memory.total,
        cached_bytes: match (now.memory.cached, now.memory.buffers) {
            (Some(cached), Some(buffers)) => cached.checked_add(buffers),
            (cached, None) => cached,
            (None, buffers) => buffers,
        },
        dirty_bytes: now.memory.dirty,
        writeback_bytes: now.memory.writeback,
        drain: memory::drain(&now.memory, written),
        background_from_bytes: now.memory.background_from,
        throttled_from_bytes: memory::throttled_from(&now.memory),
        throttle: None,
        cache_hits: None,
    }
}

/// Shares of processor time that were busy, and idle with I/O outstanding.
fn cpu_shares(before: CpuTicks, now: CpuTicks) -> Option<(f64, f64)> {
    let total = now
        .total
        .checked_sub(before.total)
        .filter(|total| *total > 0)? as f64;
    // The count of I/O wait may go backwards (proc(5)).
    let busy = now.busy.checked_sub(before.busy)? as f64 / total;
    let waiting = now.waiting.saturating_sub(before.waiting) as f64 / total;
    Some((busy.min(1.0), waiting.min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_processor_time() {
        let at = |busy, waiting, total| CpuTicks {
            busy,
            waiting,
            total,
        };
        let (busy, waiting) = cpu_shares(at(10, 5, 100), at(60, 30, 200)).unwrap();
        assert!((busy - 0.5).abs() < 1e-12 && (waiting - 0.25).abs() < 1e-12);
        assert_eq!(cpu_shares(at(1, 1, 5), at(1, 1, 5)), None);
        assert_eq!(cpu_shares(at(9, 1, 10), at(1, 1, 20)), None);
    }

    #[test]
    fn the_first_view_has_no_rates() {
        let mut modeler = Modeler::default();
        let live = modeler.update(Arc::new(Sample::default()));
        assert_eq!(live.interval, None);
        let json = serde_json::to_value(&live).unwrap();
        assert!(json["interval_ns"].is_null());
    }
}
