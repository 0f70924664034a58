//! Operations with an end that are no copies, as transfers.

use std::time::Duration;

use super::context::{Participants, TransferContext, TransferDevice};
use super::estimate::STALLED_AFTER;
use super::progress::Progress;
use super::view::{Throttle, TransferKind, TransferState, TransferView, WorkProgress};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::operations::{OperationProgress, OperationSample, WorkUnit};

/// At this fraction of its limit, an operation is limited by it.
const NEAR_LIMIT: f64 = 0.9;

/// An operation of the last samples.
#[derive(Debug)]
pub(super) struct FollowedOperation {
    latest: OperationSample,
    /// The first value of a counter.
    first: u64,
    /// Its estimator follows the units that are done.
    progress: Progress,
}

/// Processes a sample.
pub(super) fn update(followed: &mut Vec<FollowedOperation>, now: &SystemSample) {
    let running = |followed: &FollowedOperation| {
        let mut operations = now.operations.iter();
        operations.find(|it| followed.is_of(it))
    };
    // An operation that begins again replaces the one that has ended.
    followed.retain(|it| {
        let begins_again = it.progress.ended_at.is_some() && running(it).is_some();
        !begins_again && !it.progress.is_gone(now.boot_time)
    });
    for it in followed.iter_mut() {
        match running(it) {
            Some(operation) => it.observe(operation, now.boot_time),
            None if it.progress.ended_at.is_none() => it.end(now.boot_time),
            None => {}
        }
    }
    for operation in &now.operations {
        if !followed.iter().any(|it| it.is_of(operation)) {
            followed.push(FollowedOperation::new(operation, now));
        }
    }
}

impl FollowedOperation {
    fn new(operation: &OperationSample, now: &SystemSample) -> Self {
        let process = operation.pid.and_then(|pid| now.process(pid));
        let command = process.map(|it| SafeText::from_bytes(&it.identity.name));
        let subject = SafeText::from_bytes(&operation.subject);
        let mut followed = Self {
            latest: operation.clone(),
            first: match operation.progress {
                OperationProgress::Counter { bytes, .. } => bytes,
                OperationProgress::Done { .. } | OperationProgress::Waiting => 0,
            },
            progress: Progress::default(),
        };
        followed.progress.shown = TransferView {
            pid: operation.pid,
            kind: TransferKind::Operation(operation.kind),
            // The kernel works on its own behalf: its device stands for a program.
            source: command.is_some().then(|| subject.clone()),
            command: command.unwrap_or(subject),
            ..TransferView::default()
        };
        followed.observe(operation, now.boot_time);
        followed
    }

    /// Whether a process performs it: its files are no transfer of their own.
    pub(super) fn is_performed_by(&self, pid: Option<u32>) -> bool {
        pid.is_some() && self.latest.pid == pid
    }

    fn is_of(&self, operation: &OperationSample) -> bool {
        let latest = &self.latest;
        (latest.kind, &latest.subject, latest.pid)
            == (operation.kind, &operation.subject, operation.pid)
    }

    /// Records what is done, and in total where that is known; nothing while it waits.
    fn observe(&mut self, operation: &OperationSample, at: Duration) {
        self.latest = operation.clone();
        let (done, total, unit) = match operation.progress {
            OperationProgress::Done { done, total, unit } => (Some(done), Some(total), unit),
            OperationProgress::Counter { bytes, at_most } => {
                let done = bytes.saturating_sub(self.first);
                (Some(done), at_most, WorkUnit::Bytes)
            }
            OperationProgress::Waiting => (None, None, WorkUnit::Bytes),
        };
        let progress = &mut self.progress;
        if let Some(done) = done {
            progress.estimator.observe(at, done);
        }
        progress.total = total;
        let is_bytes = unit == WorkUnit::Bytes;
        progress.shown.position_bytes = done.filter(|_| is_bytes);
        progress.shown.size_bytes = total.filter(|_| is_bytes);
        progress.shown.work = done
            .zip(total)
            .filter(|_| !is_bytes)
            .map(|(done, total)| WorkProgress { done, total, unit });
        progress.set_running_state(at, STALLED_AFTER);
        if done.is_none() {
            progress.shown.state = TransferState::Stalled;
        }
    }

    fn end(&mut self, at: Duration) {
        let done = self.progress.estimator.last_value();
        let total = self.progress.total;
        let is_nearly_done = total.is_some_and(|total| done >= Some(total - total / 100));
        let state = if is_nearly_done {
            TransferState::Finished
        } else {
            TransferState::Closed
        };
        self.progress.end(at, state);
    }

    /// What is shown of it.
    pub(super) fn view(&mut self, context: &TransferContext<'_>) -> TransferView {
        // Of the devices, only the one that it mostly reads or writes is known.
        let busiest = self.busiest_device(context);
        let writes =
            |it: &&TransferDevice<'_>| it.load.write_bytes_per_s > it.load.read_bytes_per_s;
        let participants = Participants {
            source: busiest.filter(|it| !writes(it)),
            destination: busiest.filter(writes),
            ..Participants::default()
        };
        let mut view = self.progress.view(&participants, context);
        if let (Some(rate), Some(limit)) = (view.rate_bytes_per_s, self.latest.limit_bytes_per_s)
            && rate >= limit as f64 * NEAR_LIMIT
            && !view.state.is_over()
        {
            view.throttle = Some(Throttle::OwnLimit);
        }
        if view.work.is_some() {
            // Units per second are no bytes per second.
            view.rate_bytes_per_s = None;
            view.interval_rate_bytes_per_s = None;
        }
        view
    }

    /// The device itself, or one of those that it is on: an array has no utilization of its own for what
    /// the kernel does inside.
    fn busiest_device<'a>(&self, context: &TransferContext<'a>) -> Option<&'a TransferDevice<'a>> {
        let number = self.latest.device?;
        let mut disks = context.sample().disks.iter();
        let disk = disks.find(|disk| disk.device_number == number)?;
        let own = context.device_named(&disk.name)?;
        let busy = |device: &&TransferDevice<'_>| device.load.busy.unwrap_or(0.0);
        let layers = context.layers(own).into_iter();
        layers.max_by(|a, b| busy(a).total_cmp(&busy(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::interval::SampleInterval;
    use crate::probe::operations::OperationKind;
    use crate::probe::sample::DiskCounters;
    use crate::transfers::context::fixtures;
    use crate::transfers::view::{Bottleneck, BottleneckReason};
    use crate::transfers::waits::DeviceLoad;

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
        let mut followed = Vec::new();
        let mut views = Vec::new();
        let mut before: Option<SystemSample> = None;
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
            let names: [SafeText; 3] = ["sda".into(), "sdb".into(), "md0".into()];
            let device = |index: usize, busy, underlying| {
                let load = DeviceLoad {
                    busy: Some(busy),
                    read_bytes_per_s: Some(1e8),
                    read_await_ns: Some(9e6),
                    ..DeviceLoad::default()
                };
                fixtures::device(&names[index], underlying, load)
            };
            let devices = [
                device(0, 0.85, &[]),
                device(1, 0.99, &[]),
                device(2, 0.0, &names[..2]),
            ];
            update(&mut followed, &sample);
            let interval = SampleInterval::new(before.as_ref(), &sample);
            let context = fixtures::context(&interval, &devices);
            views = followed.iter_mut().map(|it| it.view(&context)).collect();
            before = Some(sample);
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
        assert_eq!(
            (view.kind, view.pid),
            (TransferKind::Operation(OperationKind::Check), None)
        );
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
    fn discarded_bytes_are_counted_from_the_first_sample() {
        let at = |bytes| {
            let at_most = Some(1000);
            let progress = OperationProgress::Counter { bytes, at_most };
            Some(operation(OperationKind::Discard, progress))
        };
        let views = views_after(&[at(5000), at(5500), at(5750)]);
        let position = (views[0].position_bytes, views[0].size_bytes);
        assert_eq!(position, (Some(750), Some(1000)));
        let over = views_after(&[at(5000), at(5995), None]);
        assert_eq!(over[0].state, TransferState::Finished);
        let early = views_after(&[at(5000), at(5500), None]);
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
