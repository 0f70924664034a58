//! Threads of a process, as lines of their own.

use std::time::Duration;

use crate::model::interval::{Interval, Pair, difference};
use crate::model::live::ProcessView;
use crate::probe::sample::{Process, Task};
use crate::safe_text::SafeText;

use super::{is_active, set_rates};

/// The threads that did something, where threads were read; `whole` is their process.
pub(super) fn views(
    interval: &Interval<'_>,
    pair: &Pair<'_>,
    whole: &ProcessView,
) -> Vec<ProcessView> {
    let Some(tasks) = &pair.now.tasks else {
        return Vec::new();
    };
    let earlier = pair.earlier.zip(interval.seconds());
    let view = |task: &Task| {
        let mut view = ProcessView {
            pid: whole.pid,
            start_ticks: whole.start_ticks,
            tid: task.tid,
            user: whole.user.clone(),
            command: SafeText::of_bytes(&task.name),
            state: task.state,
            // The process is the parent of its threads.
            parent: whole.pid,
            devices: whole.devices.clone(),
            ..ProcessView::default()
        };
        if let Some((earlier, seconds)) = earlier
            && let Some(was) = find(earlier, task.tid)
        {
            set_moved(&mut view, was, task, Duration::from_secs_f64(seconds));
        }
        if let Some(io) = task.io.value() {
            view.read_total_bytes = Some(io.read);
            view.write_total_bytes = Some(io.written.saturating_sub(io.cancelled));
        }
        view
    };
    tasks.iter().map(view).filter(is_active).collect()
}

fn find(process: &Process, tid: u32) -> Option<&Task> {
    process.tasks.as_ref()?.iter().find(|task| task.tid == tid)
}

fn set_moved(view: &mut ProcessView, was: &Task, task: &Task, elapsed: Duration) {
    if let (Some(before), Some(after)) = (was.io.value(), task.io.value())
        && let Some(moved) = difference(&before, &after)
    {
        set_rates(view, &moved, elapsed);
    }
    if let (Some(before), Some(after)) = (was.waited, task.waited) {
        let share = after.saturating_sub(before).as_secs_f64() / elapsed.as_secs_f64();
        view.io_wait = Some(share.min(1.0));
    }
}
