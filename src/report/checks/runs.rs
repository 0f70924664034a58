//! Checks of any run: stability over time, latency distribution, goals, repeated runs.

use super::text::CheckText;
use crate::session::document::check::{
    Bimodality, Direction, DiskLikeLatency, EndedEarly, FastSync, HighTemperature, PrefixAmbiguity,
    RepeatedExtremes, RotationalLatency, SampleCount, Stall, Throttling, ThroughputChange,
    TimedDrop,
};
use crate::session::document::{Metric, PauseEvidence};
use crate::units;

pub(super) fn throughput_cliff(drop: &TimedDrop) -> CheckText {
    CheckText::new(
        format!(
            "after {} and {} the throughput fell from {} to {}",
            units::format_latency(drop.after_ns),
            units::format_capacity(drop.after_bytes),
            units::format_throughput(drop.before),
            units::format_throughput(drop.after)
        ),
        "measure longer and use the lower throughput; --ramp excludes the beginning",
    )
}

/// Such as `the throughput fell from 500 MB/s to 400 MB/s`.
fn change_text(change: &ThroughputChange) -> String {
    format!(
        "the throughput {} from {} to {}",
        if change.end > change.begin {
            "rose"
        } else {
            "fell"
        },
        units::format_throughput(change.begin),
        units::format_throughput(change.end)
    )
}

pub(super) fn throughput_drifted(change: &ThroughputChange) -> CheckText {
    CheckText::new(
        format!("{} over the run", change_text(change)),
        "measure until the throughput is constant, or use the benchmark steady-state",
    )
}

fn temperature_text(temperature: &HighTemperature) -> String {
    format!(
        "{:.0} C at the start, {:.0} C at most; the drive's limit is {:.0} C",
        temperature.initial_celsius, temperature.max_celsius, temperature.throttle_celsius
    )
}

pub(super) fn temperature_throttled(throttling: &Throttling) -> CheckText {
    CheckText::new(
        format!(
            "{}; {}",
            temperature_text(&throttling.temperature),
            change_text(&throttling.throughput)
        ),
        "cool the drive, and repeat the run from a low temperature",
    )
}

pub(super) fn temperature_high(temperature: &HighTemperature) -> CheckText {
    CheckText::new(
        temperature_text(temperature),
        "cool the drive: it may throttle when it is used longer or in a warmer room",
    )
}

pub(super) fn stalled(stall: &Stall) -> CheckText {
    let others = match stall.count {
        0 | 1 => String::new(),
        count => format!(
            " ({count} times, {} together)",
            units::format_latency(stall.total_ns)
        ),
    };
    CheckText::new(
        format!(
            "no request completed for {}, from {} after the start on{others}",
            units::format_latency(stall.longest_ns),
            units::format_latency(stall.longest_start_ns)
        ),
        "look in the kernel log (`dmesg`) for resets and timeouts of the drive at that time; other causes \
         are a server that does not answer, a limit of the cgroup, and garbage collection of an SSD",
    )
}

pub(super) fn paused(pauses: &PauseEvidence) -> CheckText {
    let count = match pauses.count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let suspended = match pauses.suspended_ns {
        0 => String::new(),
        time => format!(
            "; the machine was suspended for {}",
            units::format_latency(time as f64)
        ),
    };
    CheckText::new(
        format!(
            "the program did not run for {} ({count}, {} at most){suspended}",
            units::format_latency(pauses.total_ns as f64),
            units::format_latency(pauses.longest_ns as f64)
        ),
        "repeat the run without stopping it",
    )
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
    }
}

pub(super) fn too_few_samples(samples: &SampleCount) -> CheckText {
    CheckText::new(
        format!(
            "{} {}: percentiles with fewer than 10 requests beyond them are not reported",
            samples.requests,
            direction_name(samples.direction)
        ),
        "use a longer --duration or more --requests",
    )
}

pub(super) fn bimodal_latency(modes: &Bimodality) -> CheckText {
    CheckText::new(
        format!(
            "{} of the {} take about {}, the others about {}",
            units::format_percent(modes.fast_fraction),
            direction_name(modes.direction),
            units::format_latency(modes.fast_ns),
            units::format_latency(modes.slow_ns)
        ),
        "see the histogram; causes are a cache, two storage tiers, or reads that wait for writes",
    )
}

pub(super) fn sync_too_fast(writes: &FastSync) -> CheckText {
    CheckText::new(
        format!(
            "half of the synchronous writes took less than {}; half a revolution takes {}",
            units::format_latency(writes.median_ns),
            units::format_latency(writes.half_revolution_ns)
        ),
        "check whether the write cache is battery-backed (`hdparm -W`, or the controller): one that \
         is not loses its data at a power cut",
    )
}

pub(super) fn rotational_flag_doubtful(reads: &RotationalLatency) -> CheckText {
    CheckText::new(
        format!(
            "the kernel's flag is rotational=1, but half of {} random reads took less than {}",
            reads.reads,
            units::format_latency(reads.median_ns)
        ),
        "verify with the benchmark rotation, and correct /sys/block/NAME/queue/rotational: schedulers \
         and file systems use it",
    )
}

pub(super) fn behaves_like_disk(reads: &DiskLikeLatency) -> CheckText {
    CheckText::new(
        format!(
            "the kernel's flag is rotational=0, but at depth 1 half of {} random reads took more than {}, \
             spread over {} to {} (p10 to p90): an SSD takes less than 1 ms",
            reads.reads,
            units::format_latency(reads.median_ns),
            units::format_latency(reads.p10_ns),
            units::format_latency(reads.p90_ns)
        ),
        "run the benchmark rotation, which tells a disk by its revolutions: USB bridges, RAID controllers \
         and virtual disks often hide the kind of drive",
    )
}

pub(super) fn units_confused(goal: &PrefixAmbiguity) -> CheckText {
    let (met, otherwise) = match goal.met {
        true => ("met", "missed"),
        false => ("missed", "met"),
    };
    CheckText::new(
        format!(
            "{}: measured {}, {met}; with {} instead of {} the limit is {}, and the goal is {otherwise}",
            goal.goal,
            goal.unit.format(goal.measured),
            goal.other_prefix,
            goal.prefix,
            goal.unit.format(goal.other_limit)
        ),
        "check the unit of the goal: MB is 1,000,000 bytes, MiB is 1,048,576",
    )
}

pub(super) fn unstable(repeated: &RepeatedExtremes) -> CheckText {
    let (low, high) = (&repeated.lowest, &repeated.highest);
    let value = |metric: &Metric| match metric.interval_text() {
        Some(interval) => format!("{} ({interval})", metric.value_text()),
        None => metric.value_text(),
    };
    let target = repeated
        .target
        .as_ref()
        .map_or_else(String::new, |target| format!("{target}: "));
    CheckText::new(
        format!(
            "{target}{} of {} runs of {} is between {} and {}: a difference of {}",
            low.label(),
            repeated.runs,
            repeated.benchmark,
            value(low),
            value(high),
            units::format_percent(high.value / low.value - 1.0)
        ),
        "measure longer and more often, check for other users of the drive and its temperature, and do \
         not rely on a single run",
    )
}

pub(super) fn ended_early(run: &EndedEarly) -> CheckText {
    let error = run.error.as_ref();
    CheckText::new(
        error.map_or_else(|| "the run did not finish".to_owned(), String::from),
        "repeat the run",
    )
}
