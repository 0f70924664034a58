//! The steps after the last request: the flush and closing the descriptor.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::Arc;
use std::time::Instant;

use super::EngineError;
use super::io_target::PlanFile;
use super::outcome::{EndReason, ExecutionOutcome, FinishTimes};
use super::plan::{FlushMethod, Plan};

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
        FlushMethod::SyncFileRange => sync_file_range(file, window),
    }
}

/// Writes the dirty pages of a window to the drive without flushing the drive's own cache
/// (sync_file_range(2), which no library wraps).
fn sync_file_range(file: &PlanFile, window: &Range<u64>) -> io::Result<()> {
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let [offset, length] =
        [window.start, window.end - window.start].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
    // SAFETY: sync_file_range takes numbers and no pointer.
    let result = unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), offset, length, all) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A simulated drive is durable at completion: there is nothing to flush.
pub(super) fn simulated_finish_times(plan: &Plan) -> Option<FinishTimes> {
    plan.end_fsync.map(|_| FinishTimes::default())
}
