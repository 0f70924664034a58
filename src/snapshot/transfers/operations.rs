//! Operations with an end that are no copies, as transfers.

use std::time::Duration;

use super::bottleneck::BUSY_UTILIZATION;
use super::context::TransferContext;
use super::estimate::{Eta, RateEstimator};
use super::kind::kind_of_operation;
use super::transfer::FINISHED_DISPLAY_TIME;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::operations::{OperationProgress, OperationSample, WorkUnit};
use crate::snapshot::view::{
    Bottleneck, BottleneckReason, DeviceView, Throttle, TransferOperation, TransferState,
    TransferView, WorkProgress,
};
use crate::stats::sorting::SortList as _;

/// A hundredth of a percent of a large pool takes a minute.
const COARSE_STALLED_AFTER: Duration = Duration::from_secs(120);
/// At this fraction of its limit, an operation is limited by it.
const NEAR_LIMIT: f64 = 0.9;

/// The operations of the last samples.
#[derive(Debug, Default)]
pub(super) struct FollowedOperations(Vec<FollowedOperation>);

#[derive(Debug)]
struct FollowedOperation {
    latest: OperationSample,
    command: Option<SafeText>,
    /// The first value of what counts up or down.
    first: u64,
    estimator: RateEstimator,
    end: Option<Duration>,
}

impl FollowedOperations {
    /// Processes a sample.
    pub(super) fn update(&mut self, now: &SystemSample) {
        for followed in &mut self.0 {
            let running = now.operations.iter().find(|it| followed.is_of(it));
            match running {
                Some(operation) if followed.end.is_none() => followed.observe(operation, now),
                _ => followed.end = followed.end.or(Some(now.boot_time)),
            }
        }
        self.0.retain(|followed| {
            let running = || now.operations.iter().any(|it| followed.is_of(it));
            // An operation that begins again replaces the one that has ended.
            followed.end.is_none_or(|end| {
                now.boot_time.saturating_sub(end) < FINISHED_DISPLAY_TIME && !running()
            })
        });
        for operation in &now.operations {
            if !self.0.iter().any(|followed| followed.is_of(operation)) {
                self.0.push(FollowedOperation::new(operation, now));
            }
        }
    }

    /// Whether a process performs one: its files are no transfer of their own.
    pub(super) fn is_performed_by(&self, pid: u32) -> bool {
        self.0.iter().any(|it| it.latest.pid == Some(pid))
    }

    /// The views, running ones first.
    pub(super) fn transfer_views(&self, context: &TransferContext<'_>) -> Vec<TransferView> {
        let mut views: Vec<TransferView> = self.0.iter().map(|it| it.view(context)).collect();
        views.sort_list_by_key(|view| view.state.is_over());
        views
    }
}

impl FollowedOperation {
    fn new(operation: &OperationSample, now: &SystemSample) -> Self {
        let process = operation.pid.and_then(|pid| now.process(pid));
        let mut followed = Self {
            latest: operation.clone(),
            command: process.map(|it| SafeText::from_bytes(&it.identity.name)),
            first: counter_of(operation.progress),
            estimator: RateEstimator::default(),
            end: None,
        };
        followed.observe(operation, now);
        followed
    }

    fn is_of(&self, operation: &OperationSample) -> bool {
        let latest = &self.latest;
        (latest.kind, &latest.subject, latest.pid)
            == (operation.kind, &operation.subject, operation.pid)
    }

    fn observe(&mut self, operation: &OperationSample, now: &SystemSample) {
        self.latest = operation.clone();
        if let OperationProgress::Remaining(left) = operation.progress {
            // More may be swapped out in the meantime.
            self.first = self.first.max(left);
        }
        if let Some(position) = self.position() {
            self.estimator.observe_position(now.boot_time, position);
        }
    }

    /// What is done, in its unit; `None` while it waits.
    fn position(&self) -> Option<u64> {
        match self.latest.progress {
            OperationProgress::Done { done, .. } => Some(done),
            OperationProgress::Remaining(left) => Some(self.first.saturating_sub(left)),
            OperationProgress::Counter { bytes, .. } => Some(bytes.saturating_sub(self.first)),
            OperationProgress::Waiting => None,
        }
    }

    fn total(&self) -> Option<u64> {
        match self.latest.progress {
            OperationProgress::Done { total, .. } => Some(total),
            OperationProgress::Remaining(_) => Some(self.first),
            OperationProgress::Counter { at_most, .. } => at_most,
            OperationProgress::Waiting => None,
        }
    }

    fn unit(&self) -> WorkUnit {
        match self.latest.progress {
            OperationProgress::Done { unit, .. } => unit,
            _ => WorkUnit::Bytes,
        }
    }

    /// Whether it has not moved for longer than a step of its unit takes.
    fn is_stalled(&self, at: Duration) -> bool {
        match self.unit() {
            WorkUnit::BasisPoints => {
                self.estimator.time_without_movement(at) >= COARSE_STALLED_AFTER
            }
            WorkUnit::Bytes | WorkUnit::Chunks => self.estimator.is_stalled(at),
        }
    }

    fn state(&self, at: Duration) -> TransferState {
        let reads_only = matches!(
            self.latest.progress,
            OperationProgress::Counter { at_most: None, .. }
        );
        if self.end.is_some() {
            let nearly = |(done, total): (u64, u64)| done >= total - total / 100;
            let done = self.position().zip(self.total()).is_some_and(nearly);
            return if done && !reads_only {
                TransferState::Finished
            } else {
                TransferState::Closed
            };
        }
        match self.latest.progress {
            OperationProgress::Waiting => TransferState::Stalled,
            _ if self.is_stalled(at) => TransferState::Stalled,
            _ if reads_only => TransferState::UnknownPosition,
            _ => TransferState::Moving,
        }
    }

    fn view(&self, context: &TransferContext<'_>) -> TransferView {
        let state = self.state(context.sample.boot_time);
        let is_bytes = self.unit() == WorkUnit::Bytes;
        let eta = match (state, self.total()) {
            (TransferState::Moving, Some(total)) => {
                self.estimator.eta(context.sample.boot_time, total)
            }
            _ => Eta::default(),
        };
        let subject = SafeText::from_bytes(&self.latest.subject);
        let mut view = TransferView {
            pid: self.latest.pid,
            kind: kind_of_operation(self.latest.kind),
            // The kernel works on its own behalf: its device stands for a program.
            source: self.command.is_some().then(|| subject.clone()),
            command: self.command.clone().unwrap_or(subject),
            position_bytes: self
                .position()
                .filter(|_| is_bytes && state != TransferState::UnknownPosition),
            size_bytes: self.total().filter(|_| is_bytes),
            work: (!is_bytes).then(|| self.work()).flatten(),
            rate_bytes_per_s: self.estimator.displayed_rate(state).filter(|_| is_bytes),
            interval_rate_bytes_per_s: self
                .estimator
                .interval_rate()
                .filter(|_| is_bytes && !state.is_over()),
            eta: eta.likely,
            eta_low: eta.low,
            eta_high: eta.high,
            state,
            ..TransferView::default()
        };
        if !state.is_over() {
            self.add_bottleneck(&mut view, context);
        }
        view
    }

    fn work(&self) -> Option<WorkProgress> {
        Some(WorkProgress {
            done: self.position()?,
            total: self.total()?,
            unit: self.unit(),
        })
    }

    /// Its own limit, otherwise the busiest of the devices below, if it is busy.
    fn add_bottleneck(&self, view: &mut TransferView, context: &TransferContext<'_>) {
        let limit = self.latest.limit_bytes_per_s;
        if let (Some(rate), Some(limit)) = (view.rate_bytes_per_s, limit)
            && rate >= limit as f64 * NEAR_LIMIT
        {
            view.throttle = Some(Throttle::OwnLimit);
        }
        let Some(device) = self.busiest_device(context) else {
            return;
        };
        let bytes = |rate: Option<f64>| rate.unwrap_or(0.0);
        let writes = bytes(device.write_bytes_per_s) > bytes(device.read_bytes_per_s);
        let (bottleneck, operation, await_ns) = if writes {
            (
                Bottleneck::Destination,
                TransferOperation::Write,
                device.write_await_ns,
            )
        } else {
            (
                Bottleneck::Source,
                TransferOperation::Read,
                device.read_await_ns,
            )
        };
        view.bottleneck = Some(bottleneck);
        view.bottleneck_reason = Some(BottleneckReason::Device {
            device: device.name.clone(),
            operation,
            await_ns,
            busy: device.busy,
        });
    }

    /// The device itself, or one of those that it is on.
    fn busiest_device<'a>(&self, context: &TransferContext<'a>) -> Option<&'a DeviceView> {
        let number = self.latest.device?;
        let disk = context
            .sample
            .disks
            .iter()
            .find(|disk| disk.device_number == number)?;
        let own = context.devices.iter().find(|it| *it.name == *disk.name)?;
        let busy = |device: &&DeviceView| {
            device
                .busy
                .filter(|busy| *busy >= BUSY_UTILIZATION)
                .is_some()
        };
        let below = context
            .devices
            .iter()
            .filter(|device| own.underlying.contains(&device.name));
        // An array has no utilization of its own for what the kernel does inside.
        below.chain([own]).filter(busy).max_by(|a, b| {
            a.busy
                .partial_cmp(&b.busy)
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    }
}

/// The value from which a counter is measured.
fn counter_of(progress: OperationProgress) -> u64 {
    match progress {
        OperationProgress::Remaining(left) => left,
        OperationProgress::Counter { bytes, .. } => bytes,
        OperationProgress::Done { .. } | OperationProgress::Waiting => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::operations::OperationKind;
    use crate::probe::sample::DiskCounters;
    use crate::snapshot::dirty_memory::DirtyMemory;
    use crate::snapshot::view::TransferKind;

    fn operation(kind: OperationKind, progress: OperationProgress) -> OperationSample {
        OperationSample {
            kind,
            subject: b"md0".to_vec(),
            pid: None,
            device: Some((9, 0)),
            progress,
            limit_bytes_per_s: Some(200_000_000),
        }
    }

    fn disk(name: &str, device_number: (u32, u32)) -> DiskCounters {
        DiskCounters {
            name: name.to_owned(),
            device_number,
            ..DiskCounters::default()
        }
    }

    fn views_after(steps: &[Option<OperationSample>]) -> Vec<TransferView> {
        let mut followed = FollowedOperations::default();
        let mut views = Vec::new();
        for (second, step) in (0..).zip(steps) {
            let sample = SystemSample {
                boot_time: Duration::from_secs(second),
                disks: vec![
                    disk("sda", (8, 0)),
                    disk("sdb", (8, 16)),
                    disk("md0", (9, 0)),
                ],
                operations: step.iter().cloned().collect(),
                ..SystemSample::default()
            };
            let device = |name: &str, busy, underlying: &[&str]| DeviceView {
                name: name.into(),
                busy: Some(busy),
                read_bytes_per_s: Some(1e8),
                read_await_ns: Some(9e6),
                underlying: underlying.iter().map(|name| (*name).into()).collect(),
                ..DeviceView::default()
            };
            let devices = [
                device("sda", 0.85, &[]),
                device("sdb", 0.99, &[]),
                device("md0", 0.0, &["sda", "sdb"]),
            ];
            followed.update(&sample);
            views = followed.transfer_views(&TransferContext {
                sample: &sample,
                devices: &devices,
                dirty_memory: &DirtyMemory::default(),
            });
        }
        views
    }

    fn done(done: u64, total: u64, unit: WorkUnit) -> OperationProgress {
        OperationProgress::Done { done, total, unit }
    }

    #[test]
    fn check_of_an_array_has_rate_time_and_its_slowest_member() {
        let at = |megabytes: u64| {
            let progress = done(megabytes * 1_000_000, 1_000_000_000, WorkUnit::Bytes);
            Some(operation(OperationKind::Check, progress))
        };
        let views = views_after(&[at(100), at(200), at(300), at(400), at(500)]);
        let view = &views[0];
        assert_eq!((view.kind, view.pid), (TransferKind::Check, None));
        assert_eq!((&*view.command, view.source.is_none()), ("md0", true));
        assert_eq!(view.rate_bytes_per_s.unwrap().round(), 1e8);
        assert_eq!(view.eta.unwrap().as_secs(), 5);
        assert_eq!(view.bottleneck, Some(Bottleneck::Source));
        let Some(BottleneckReason::Device { device, .. }) = &view.bottleneck_reason else {
            panic!("{view:?}");
        };
        assert_eq!(&**device, "sdb");
        assert_eq!(view.throttle, None, "half of its limit");
    }

    #[test]
    fn chunks_are_no_bytes() {
        let at = |chunks| {
            let progress = done(chunks, 100, WorkUnit::Chunks);
            Some(operation(OperationKind::Balance, progress))
        };
        let views = views_after(&[at(10), at(20), at(30), at(40)]);
        let view = &views[0];
        assert_eq!((view.position_bytes, view.rate_bytes_per_s), (None, None));
        assert_eq!(view.progress_fraction(), Some(0.4));
        assert_eq!(view.eta.unwrap().as_secs(), 6);
    }

    #[test]
    fn remaining_swap_is_measured_from_its_maximum() {
        let left = |bytes| {
            let progress = OperationProgress::Remaining(bytes);
            Some(operation(OperationKind::Swapoff, progress))
        };
        let views = views_after(&[left(800), left(1000), left(500), left(250)]);
        let view = &views[0];
        assert_eq!(
            (view.position_bytes, view.size_bytes),
            (Some(750), Some(1000))
        );
        let over = views_after(&[left(1000), left(4), None]);
        assert_eq!(over[0].state, TransferState::Finished);
        let early = views_after(&[left(1000), left(500), None]);
        assert_eq!(early[0].state, TransferState::Closed);
    }

    #[test]
    fn operation_that_waits_has_no_position_and_its_end_is_shown_for_a_while() {
        let waiting = Some(operation(OperationKind::Resync, OperationProgress::Waiting));
        let views = views_after(&[waiting.clone(), waiting.clone()]);
        assert_eq!(views[0].state, TransferState::Stalled);
        assert_eq!((views[0].position_bytes, views[0].eta), (None, None));
        let mut steps = vec![waiting];
        steps.resize(9, None);
        assert_eq!(views_after(&steps).len(), 1);
        steps.resize(15, None);
        assert_eq!(views_after(&steps), []);
    }
}
