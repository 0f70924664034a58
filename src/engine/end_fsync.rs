//! The steps after the last request: the flush and closing the descriptor.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::EngineError;
use super::io_target::PlanFile;
use super::outcome::{EndReason, ExecutionOutcome, FinishTimes};
use super::plan::{FlushMethod, Plan};
use crate::drive::ioctl;

/// Flushes and closes as the plan requests, and records the durations in the outcome. Does nothing
/// for a plan that was cancelled or has failed.
pub(super) fn flush_and_close(
    plan: &Plan,
    file: Arc<PlanFile>,
    target: &str,
    outcome: &mut ExecutionOutcome,
) {
    let (Some(method), EndReason::Completed) = (plan.end_fsync, &outcome.end_reason) else {
        return;
    };
    let before = Instant::now();
    if let Err(source) = flush_file(method, &file, &plan.window) {
        outcome.end_reason = EndReason::Failed(EngineError::FlushFailed {
            method: flush_description(method),
            target: target.to_owned(),
            source,
        });
        return;
    }
    let sync = before.elapsed();
    let before = Instant::now();
    drop(file);
    outcome.finish_times = Some(FinishTimes {
        sync_time: sync,
        close_time: before.elapsed(),
    });
}

fn flush_description(method: FlushMethod) -> &'static str {
    match method {
        FlushMethod::CloseOnly => "nothing",
        FlushMethod::Fsync => "fsync",
        FlushMethod::Fdatasync => "fdatasync",
        FlushMethod::SyncFileRange => "sync_file_range",
    }
}

fn flush_file(method: FlushMethod, file: &PlanFile, window: &Range<u64>) -> io::Result<()> {
    match method {
        FlushMethod::CloseOnly => Ok(()),
        FlushMethod::Fsync => Ok(rustix::fs::fsync(file)?),
        FlushMethod::Fdatasync => Ok(rustix::fs::fdatasync(file)?),
        FlushMethod::SyncFileRange => {
            ioctl::sync_file_range(file, window.start, window.end - window.start)
        }
    }
}

/// A simulated drive is durable at completion: there is nothing to flush.
pub(super) fn simulated_finish_times(plan: &Plan) -> Option<FinishTimes> {
    plan.end_fsync.map(|_| FinishTimes::default())
}
