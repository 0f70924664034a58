//! Text fragments that describe a benchmark's target and plan, and the check of the queue depth.

use crate::drive::{Target, TargetKind};
use crate::engine::BlockSize;
use crate::session::checks::QUEUE_DEPTH_NOT_REACHED;
use crate::session::document::Verdict;
use crate::units;

/// The target as a phrase: `nvme0n1`, `a scratch file in /srv`.
#[must_use]
pub fn describe_target(target: &Target) -> String {
    match target.kind {
        TargetKind::ScratchFile => format!("a scratch file in {}", target.name),
        _ => target.name.clone(),
    }
}

/// Capacity of the underlying device in bytes; for a file, the drive that holds it, if known.
#[must_use]
pub fn underlying_capacity(target: &Target) -> u64 {
    match (target.kind, &target.drive) {
        (TargetKind::File | TargetKind::ScratchFile, Some(drive)) => drive.size_bytes,
        _ => target.size_bytes,
    }
}

/// Whether target addresses equal device addresses. A file can be anywhere on its device.
#[must_use]
pub fn addresses_are_physical(target: &Target) -> bool {
    matches!(target.kind, TargetKind::BlockDevice | TargetKind::Simulated)
}

/// Request sizes of a plan as a phrase: `4 KiB`, `4 KiB to 64 KiB`.
#[must_use]
pub fn describe_block_size(size: BlockSize) -> String {
    let word = |bytes: u32| units::format_block_size(f64::from(bytes));
    match size {
        BlockSize::Fixed(bytes) => word(bytes),
        BlockSize::Range(from, to) => format!("{} to {}", word(from), word(to)),
    }
}

/// Bytes to be written and their fraction of the target, which an administrator needs before the
/// start: `8.59 GB (0.9 % of the target)`, `8.59 GB (32 times the target)`.
#[must_use]
pub fn describe_written_bytes(bytes: u64, target: &Target) -> String {
    let share = bytes as f64 / target.size_bytes.max(1) as f64;
    let of_it = if share > 1.5 {
        format!("{} times the target", units::format_three_digits(share))
    } else {
        format!("{} of the target", units::format_percent(share))
    };
    format!("{} ({of_it})", units::format_size(bytes))
}

/// Fraction of the requested queue depth below which the drive was not kept busy. A tenth is more than
/// the time between a completion and the next submission takes on an idle machine.
const MIN_DEPTH_FRACTION: f64 = 0.9;

/// The verdict on a queue that stayed below its target depth, of which at most `bound` requests were
/// in flight on average. At depth 1 only the time between two requests is missing, which says nothing
/// about the queue. `remedy` is what the benchmark's options can do about it.
#[must_use]
pub fn below_target_depth(requested: f64, bound: f64, remedy: &str) -> Option<Verdict> {
    if requested <= 1.0 || bound >= MIN_DEPTH_FRACTION * requested {
        return None;
    }
    Some(QUEUE_DEPTH_NOT_REACHED.found(
        format!(
            "{} requests in flight were requested, {} were in flight on average (Little's law)",
            units::format_count(requested),
            units::format_three_digits(bound)
        ),
        format!("this program or the kernel was slower than the drive: {remedy}"),
        serde_json::json!({ "requested": requested, "reached": bound }),
    ))
}
