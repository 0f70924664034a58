//! Threads of a process as separate lines.

use std::time::Duration;

use crate::files::safe_text::SafeText;
use crate::probe::interval::{ProcessPair, SampleInterval, io_difference};
use crate::probe::sample::{ProcessSample, ThreadSample};
use crate::snapshot::processes::{is_active, set_rates};
use crate::snapshot::view::{DeviceShare, ProcessView};

/// The active threads, where threads were read; `whole` is their process.
pub(super) fn thread_views(
    interval: &SampleInterval<'_>,
    pair: &ProcessPair<'_>,
    whole: &ProcessView,
) -> Vec<ProcessView> {
    let Some(tasks) = &pair.current.thread_samples else {
        return Vec::new();
    };
    let earlier = pair.previous.zip(interval.seconds());
    let view = |task: &ThreadSample| {
        let mut view = ProcessView {
            pid: whole.pid,
            start_ticks: whole.start_ticks,
            tid: task.tid,
            user: whole.user.clone(),
            command: SafeText::from_bytes(&task.name),
            state: task.state,
            // The process is the parent of its threads.
            parent_pid: whole.pid,
            devices: whole
                .devices
                .iter()
                .map(|share| DeviceShare::named(share.name.clone()))
                .collect(),
            devices_estimated: whole.devices_estimated,
            ..ProcessView::default()
        };
        if let Some((earlier, seconds)) = earlier
            && let Some(was) = find_thread(earlier, task.tid)
        {
            set_thread_rates(&mut view, was, task, Duration::from_secs_f64(seconds));
        }
        if let Some(io) = task.io.value() {
            view.read_total_bytes = Some(io.read_bytes);
            view.write_total_bytes = Some(io.write_bytes.saturating_sub(io.cancelled_write_bytes));
        }
        view
    };
    tasks.iter().map(view).filter(is_active).collect()
}

fn find_thread(process: &ProcessSample, tid: u32) -> Option<&ThreadSample> {
    process
        .thread_samples
        .as_ref()?
        .iter()
        .find(|task| task.tid == tid)
}

fn set_thread_rates(
    view: &mut ProcessView,
    was: &ThreadSample,
    task: &ThreadSample,
    elapsed: Duration,
) {
    if let (Some(before), Some(after)) = (was.io.value(), task.io.value())
        && let Some(io) = io_difference(&before, &after)
    {
        set_rates(view, &io, elapsed);
    }
    if let (Some(before), Some(after)) = (was.io_delay, task.io_delay) {
        let share = after.saturating_sub(before).as_secs_f64() / elapsed.as_secs_f64();
        view.io_wait = Some(share.min(1.0));
    }
}
