//! Converts samples to views.

use std::sync::Arc;

use super::dirty_memory::{self, DirtyMemory};
use super::faults::{self, BlockedTasks};
use super::flush_order::FlushOrder;
use super::processes::ProcessBaselines;
use super::processes::by_device;
use super::processes::ended::{EndedChildren, EndedInInterval};
use super::view::{DeviceView, HostView, Snapshot, TotalRates};
use super::{devices, growing, mounts, processes, units};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::interval::SampleInterval;
use crate::probe::sample::{CpuTicks, FollowedFile, HostSample, PressureLine, ReclaimCounters};
use crate::trace::requests::TracedIo;
use crate::transfers::TransferTracker;
use crate::transfers::context::{TransferContext, TransferDevice};
use crate::transfers::counting::JobCounts;
use crate::transfers::waits::DeviceLoad;

/// Settings of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewSettings {
    /// Whether processes without I/O are listed.
    pub all_processes: bool,
    /// Smallest file in bytes that counts as a transfer; files below 1 MiB never do.
    pub min_transfer_bytes: u64,
}

impl Default for ViewSettings {
    fn default() -> Self {
        Self {
            all_processes: false,
            min_transfer_bytes: 8 << 20,
        }
    }
}

/// Creates the view of each sample from it and the previous one. Pure: the time comes from the
/// samples.
#[derive(Debug)]
pub struct ViewBuilder {
    settings: ViewSettings,
    previous: Option<Arc<SystemSample>>,
    baselines: ProcessBaselines,
    ended_children: EndedChildren,
    blocked: BlockedTasks,
    dirty_memory: DirtyMemory,
    flush_order: FlushOrder,
    tracker: TransferTracker,
    job_counts: JobCounts,
}

impl Default for ViewBuilder {
    fn default() -> Self {
        Self::new(ViewSettings::default())
    }
}

impl ViewBuilder {
    /// Creates a builder without a sample.
    #[must_use]
    pub fn new(settings: ViewSettings) -> Self {
        Self {
            settings,
            previous: None,
            baselines: ProcessBaselines::default(),
            ended_children: EndedChildren::default(),
            blocked: BlockedTasks::default(),
            dirty_memory: DirtyMemory::default(),
            flush_order: FlushOrder::default(),
            tracker: TransferTracker::new(settings.min_transfer_bytes),
            job_counts: JobCounts::default(),
        }
    }

    /// Sets whether processes without I/O are listed, from the next sample on.
    pub fn show_all_processes(&mut self, all: bool) {
        self.settings.all_processes = all;
    }

    /// The written files whose pages in memory the next sample should contain.
    #[must_use]
    pub fn followed_files(&self) -> Vec<FollowedFile> {
        self.tracker.followed_files()
    }

    /// Sets what is counted of programs that work on several files, for the next sample.
    pub fn set_job_counts(&mut self, counts: JobCounts) {
        self.job_counts = counts;
    }

    /// The view of the next sample.
    pub fn update(&mut self, now: Arc<SystemSample>) -> Snapshot {
        self.update_traced(now, None)
    }

    /// The view of the next sample, with the requests that completed since the previous one.
    pub fn update_traced(&mut self, now: Arc<SystemSample>, traced: Option<&TracedIo>) -> Snapshot {
        let before = self.previous.take();
        let before = before.as_deref();
        let interval = SampleInterval::new(before, &now);
        let job_counts = std::mem::take(&mut self.job_counts);
        self.tracker.update(&interval, &job_counts);
        let mut devices = devices::device_views(before, &now);
        self.dirty_memory.update(before, &now, &devices);
        self.dirty_memory
            .set_flush_times(&now.host.memory, &mut devices);
        self.flush_order.update(before, &now);
        self.flush_order.set_states(&mut devices);
        self.baselines.record_first_sample(&now);
        let ended = self.ended_children.update(&interval);
        let mut live = Snapshot {
            time: now.time.clone().into(),
            interval: before.and_then(|before| now.boot_time.checked_sub(before.boot_time)),
            host: host_view(before, &now),
            devices,
            processes: processes::process_views(
                &interval,
                &self.baselines,
                &ended,
                (self.settings.all_processes, traced),
            ),
            process_count: now.processes.len(),
            total: TotalRates::default(),
            traced: None,
            transfers: Vec::new(),
            growing_files: growing::growing_files(&interval),
            units: None,
            mounts: None,
            blocked: self.blocked.update(&now),
            io_errors: faults::io_error_views(before, &now),
            notices: now.notices.iter().map(|it| it.message().into()).collect(),
            drives: Arc::clone(&now.drives),
            temperatures: Arc::clone(&now.temperatures),
            file_systems: Arc::clone(&now.file_systems),
        };
        live.mounts = mounts::mount_views(before, &now, &live.devices);
        live.total = total_rates(&interval, &ended, &live.devices);
        if let Some(traced) = traced {
            live.traced = by_device::apply_traced(&mut live.processes, traced, &interval);
            processes::sort_by_load(&mut live.processes);
        }
        live.units = units::unit_views(&interval, &live.devices);
        live.host.time_to_flush = self
            .dirty_memory
            .time_to_flush(&now.host.memory, &live.devices);
        live.host.time_to_throttle = self.dirty_memory.time_to_throttle(&now.host.memory);
        if before.is_some() {
            live.host.cache_hit_fraction = processes::cache_hit_fraction(&interval);
        }
        let devices = live.devices.iter();
        let devices: Vec<TransferDevice<'_>> = devices
            .map(|device| transfer_device(device, self.dirty_memory.write_speed(device)))
            .collect();
        live.transfers = self.tracker.transfer_views(&TransferContext {
            interval: &interval,
            devices: &devices,
            is_dirty_limit_reached: dirty_memory::is_throttled(&now.host.memory),
            unwritten_bytes: dirty_memory::unwritten_bytes(&now.host.memory),
            flush_time: &|bytes, speed| {
                let waits = bytes.writeback == 0;
                dirty_memory::flush_time(bytes.total, speed, waits, &now.host.memory)
            },
        });
        self.previous = Some(now);
        live
    }
}

/// What transfers need to know of a device.
fn transfer_device(device: &DeviceView, write_speed: Option<f64>) -> TransferDevice<'_> {
    let unwritten = device.dirty_bytes.zip(device.writeback_bytes);
    TransferDevice {
        name: &device.name,
        parent: device.parent.as_ref(),
        underlying: &device.underlying,
        load: DeviceLoad {
            busy: device.busy,
            read_bytes_per_s: device.read_bytes_per_s,
            write_bytes_per_s: device.write_bytes_per_s,
            read_await_ns: device.read_await_ns,
            write_await_ns: device.write_await_ns,
        },
        unwritten_bytes: unwritten.map(|(dirty, writeback)| dirty.saturating_add(writeback)),
        time_to_flush: device.time_to_flush,
        write_speed,
    }
}

/// All processes together, and all drives together.
fn total_rates(
    interval: &SampleInterval<'_>,
    ended: &EndedInInterval,
    devices: &[DeviceView],
) -> TotalRates {
    let processes = processes::total_rates(interval, ended);
    let sum = |rate: fn(&DeviceView) -> Option<f64>| {
        let media = devices.iter().filter(|device| device.is_medium());
        media.filter_map(rate).reduce(|sum, rate| sum + rate)
    };
    TotalRates {
        read_bytes_per_s: processes.map(|(read, _)| read),
        write_bytes_per_s: processes.map(|(_, written)| written),
        actual_read_bytes_per_s: sum(|device| device.read_bytes_per_s),
        actual_write_bytes_per_s: sum(|device| device.write_bytes_per_s),
    }
}

fn host_view(before: Option<&SystemSample>, sample: &SystemSample) -> HostView {
    let now = &sample.host;
    let elapsed = before
        .and_then(|before| sample.boot_time.checked_sub(before.boot_time))
        .map(|elapsed| elapsed.as_secs_f64())
        .filter(|seconds| *seconds > 0.0);
    let before = before.map(|before| &before.host);
    let reclaim_rate = |count: fn(&ReclaimCounters) -> u64| {
        let (before, now) = (before?.reclaim?, now.reclaim?);
        Some(count(&now).checked_sub(count(&before))? as f64 / elapsed?)
    };
    let word = |word: &Option<Arc<str>>| word.as_ref().map(SafeText::from);
    let stalled = |line: fn(&HostSample) -> Option<PressureLine>| {
        Some(line(now)?.fraction_since(before.and_then(line), elapsed))
    };
    let cpu = before.and_then(|before| cpu_fractions(before.cpu?, now.cpu?));
    HostView {
        name: word(&now.name),
        kernel: word(&now.kernel),
        uptime: now.uptime,
        load_averages: now.load_averages,
        cpu_busy: cpu.map(|(busy, _)| busy),
        cpu_iowait: cpu.map(|(_, waiting)| waiting),
        pressure_some: stalled(|host| Some(host.pressure?.some)),
        pressure_full: stalled(|host| Some(host.pressure?.full)),
        memory_pressure_some: stalled(|host| Some(host.memory_pressure?.some)),
        memory_pressure_full: stalled(|host| Some(host.memory_pressure?.full)),
        cpu_pressure_some: stalled(|host| host.cpu_pressure),
        swap_in_bytes_per_s: reclaim_rate(|it| it.swapped_in_bytes),
        swap_out_bytes_per_s: reclaim_rate(|it| it.swapped_out_bytes),
        refault_bytes_per_s: reclaim_rate(|it| it.refaulted_bytes),
        direct_reclaims_per_s: reclaim_rate(|it| it.direct_reclaims),
        memory_bytes: now.memory.total,
        cached_bytes: match (now.memory.cached, now.memory.buffers) {
            (Some(cached), Some(buffers)) => cached.checked_add(buffers),
            (cached, None) => cached,
            (None, buffers) => buffers,
        },
        dirty_bytes: now.memory.dirty,
        writeback_bytes: now.memory.writeback,
        time_to_flush: None,
        background_threshold_bytes: now.memory.background_threshold,
        throttle_threshold_bytes: dirty_memory::throttle_threshold(&now.memory),
        time_to_throttle: None,
        cache_hit_fraction: None,
    }
}

/// Fractions of processor time that were busy, and idle with I/O outstanding.
fn cpu_fractions(before: CpuTicks, now: CpuTicks) -> Option<(f64, f64)> {
    let total = now
        .total
        .checked_sub(before.total)
        .filter(|total| *total > 0)? as f64;
    // The I/O wait counter may go backwards (proc(5)).
    let busy = now.busy.checked_sub(before.busy)? as f64 / total;
    let waiting = now.iowait.saturating_sub(before.iowait) as f64 / total;
    Some((busy.min(1.0), waiting.min(1.0)))
}

#[cfg(test)]
mod tests {
    use crate::probe::sample::ProbeNotice;
    use std::time::Duration;

    use super::*;

    #[test]
    fn totals_are_of_processes_and_of_drives_and_unknown_where_counters_are_refused() {
        use crate::probe::sample::{
            Availability, DiskCounters, ProcessIdentity, ProcessIo, ProcessSample, RequestCounters,
        };
        let sample = |second: u64, bytes: u64, notices: &[ProbeNotice]| {
            let identity = ProcessIdentity {
                pid: 7,
                ..ProcessIdentity::default()
            };
            let io = ProcessIo {
                read_bytes: bytes,
                ..ProcessIo::default()
            };
            let process = ProcessSample {
                identity: Arc::new(identity),
                io: Availability::Available(io),
                read_at: Duration::from_secs(second),
                ..ProcessSample::default()
            };
            let disk = DiskCounters {
                name: "sda".to_owned(),
                reads: RequestCounters {
                    completed: second,
                    sectors: bytes / 256,
                    ..RequestCounters::default()
                },
                ..DiskCounters::default()
            };
            Arc::new(SystemSample {
                boot_time: Duration::from_secs(second),
                disks: vec![disk],
                processes: vec![process],
                notices: notices.to_vec(),
                ..SystemSample::default()
            })
        };
        let mut builder = ViewBuilder::default();
        builder.update(sample(10, 0, &[]));
        let total = builder.update(sample(12, 8192, &[])).total;
        assert_eq!(total.read_bytes_per_s, Some(4096.0));
        assert_eq!(total.write_bytes_per_s, Some(0.0));
        assert_eq!(total.actual_read_bytes_per_s, Some(8192.0));
        let refused = [ProbeNotice::OthersIoNotPermitted];
        let total = builder.update(sample(14, 8192, &refused)).total;
        assert_eq!(
            (total.read_bytes_per_s, total.write_bytes_per_s),
            (None, None)
        );
        assert_eq!(total.actual_read_bytes_per_s, Some(0.0));
    }
}
