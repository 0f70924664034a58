//! What a test says of itself: the target in a sentence, the nearest fio command.

use crate::drive::{Target, TargetKind};
use crate::engine::{BlockSize, CacheMode, Operation, Pattern, Plan, SyncMode};
use crate::session::document::{Severity, Verdict};
use crate::units;

/// `nvme0n1`, `a scratch file in /srv`: the target in a sentence.
#[must_use]
pub fn place(target: &Target) -> String {
    match target.kind {
        TargetKind::Scratch => format!("a scratch file in {}", target.name),
        _ => target.name.clone(),
    }
}

/// Bytes of what stands behind a target: of a file the drive that it lies on, where that is known.
#[must_use]
pub fn capacity(target: &Target) -> u64 {
    match (target.kind, &target.drive) {
        (TargetKind::File | TargetKind::Scratch, Some(drive)) => drive.size_bytes,
        _ => target.size,
    }
}

/// Whether the target's addresses are the medium's own: a file may lie anywhere.
#[must_use]
pub fn is_medium(target: &Target) -> bool {
    matches!(target.kind, TargetKind::BlockDevice | TargetKind::Simulated)
}

/// `4 KiB`, `4 KiB to 64 KiB`: the requests of a plan in a sentence.
#[must_use]
pub fn blocks(size: BlockSize) -> String {
    let word = |bytes: u32| units::block_size(f64::from(bytes));
    match size {
        BlockSize::Fixed(bytes) => word(bytes),
        BlockSize::Range(from, to) => format!("{} to {}", word(from), word(to)),
    }
}

/// `8.59 GB (0.9 % of it)`, `8.59 GB (32 times over it)`: bytes to be written and what they are of
/// the target, which an administrator wants to know beforehand.
#[must_use]
pub fn written_share(bytes: u64, target: &Target) -> String {
    let share = bytes as f64 / target.size.max(1) as f64;
    let of_it = if share > 1.5 {
        format!("{} times over it", units::three_digits(share))
    } else {
        format!("{} of it", units::percent(share))
    };
    format!("{} ({of_it})", units::capacity(bytes as f64))
}

/// fio's word for what a plan does.
fn fio_rw(plan: &Plan) -> &'static str {
    let sequential = matches!(plan.pattern, Pattern::Sequential | Pattern::Zones { .. });
    match (plan.operation, sequential) {
        (Operation::Read, true) => "read",
        (Operation::Read, false) => "randread",
        (Operation::Write, true) => "write",
        (Operation::Write, false) => "randwrite",
        (Operation::Mixed { .. }, true) => "rw",
        (Operation::Mixed { .. }, false) => "randrw",
    }
}

/// The nearest fio options for a plan, without the file's name.
#[must_use]
pub fn fio_command(plan: &Plan) -> String {
    let mut words = vec![
        format!(
            "fio --name=diskscope --rw={} --ioengine=io_uring",
            fio_rw(plan)
        ),
        match plan.block_size {
            BlockSize::Fixed(size) => format!("--bs={size}"),
            BlockSize::Range(from, to) => format!("--bsrange={from}-{to}"),
        },
        format!(
            "--iodepth={} --numjobs={} --thread --group_reporting",
            plan.depth, plan.workers
        ),
        format!(
            "--offset={} --size={}",
            plan.window.start,
            plan.window.end - plan.window.start
        ),
        format!("--direct={}", u8::from(plan.cache == CacheMode::Bypass)),
        format!("--randseed={} --norandommap --lat_percentiles=1", plan.seed),
    ];
    words.extend(fio_character(plan));
    words.extend(fio_limits(plan));
    words.join(" ")
}

/// fio's options for what is unusual about a plan.
fn fio_character(plan: &Plan) -> Vec<String> {
    let mut words = Vec::new();
    if let Operation::Mixed { reads } = plan.operation {
        words.push(format!("--rwmixread={:.0}", reads * 100.0));
    }
    if let Pattern::Zipf { theta } = plan.pattern {
        words.push(format!("--random_distribution=zipf:{theta}"));
    }
    if let Some(rate) = plan.rate {
        words.push(format!("--rate_iops={rate:.0} --rate_process=linear"));
    }
    match plan.sync {
        SyncMode::None => {}
        SyncMode::DataSync => words.push("--sync=dsync".to_owned()),
        SyncMode::Sync => words.push("--sync=sync".to_owned()),
    }
    if plan.operation.writes() {
        words.push("--refill_buffers".to_owned());
    }
    words
}

fn fio_limits(plan: &Plan) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(duration) = plan.limits.duration {
        let seconds = duration.as_secs_f64().ceil();
        words.push(format!("--time_based --runtime={seconds}"));
    }
    if !plan.ramp.is_zero() {
        words.push(format!("--ramp_time={}", plan.ramp.as_secs_f64().ceil()));
    }
    if let Some(bytes) = plan.limits.bytes {
        words.push(format!("--io_size={bytes}"));
    }
    if let Some(requests) = plan.limits.requests {
        words.push(format!("--number_ios={requests}"));
    }
    words
}

/// The verdict on a queue that was not as full as it should have been.
#[must_use]
pub fn depth_missed(asked: f64, reached: f64) -> Verdict {
    Verdict::new(
        "queue-depth-not-reached",
        Severity::Warning,
        format!(
            "{} requests should have been in flight, by Little's law {} were",
            units::count(asked),
            units::three_digits(reached)
        ),
        "this program, or the kernel on its way, was slower than the drive: more --workers may help",
    )
}
