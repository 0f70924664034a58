//! Threads of a process, as lines of their own.

use crate::model::live::ProcessView;
use crate::printable::printable;
use crate::probe::Sample;
use crate::probe::sample::{Process, Task};

use super::{difference, is_active, same, set_rates};

/// The threads that did something, where threads were read; `whole` is their process.
pub(super) fn views(
    before: Option<&Sample>,
    now: &Sample,
    process: &Process,
    whole: &ProcessView,
) -> Vec<ProcessView> {
    let Some(tasks) = &process.tasks else {
        return Vec::new();
    };
    let earlier = before.and_then(|before| Some((same(before, process)?, before)));
    let view = |task: &Task| {
        let mut view = ProcessView {
            pid: whole.pid,
            tid: task.tid,
            user: whole.user.clone(),
            command: printable(&task.name),
            state: task.state,
            // The process is the parent of its threads.
            parent: whole.pid,
            devices: whole.devices.clone(),
            ..ProcessView::default()
        };
        if let Some((earlier, before)) = earlier
            && let Some(was) = find(earlier, task.tid)
        {
            set_moved(&mut view, was, task, (before, now));
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

fn set_moved(view: &mut ProcessView, was: &Task, task: &Task, samples: (&Sample, &Sample)) {
    let Some(elapsed) = samples
        .1
        .at
        .checked_sub(samples.0.at)
        .filter(|elapsed| !elapsed.is_zero())
    else {
        return;
    };
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
