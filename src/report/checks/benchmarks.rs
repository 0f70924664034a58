//! Checks of the benchmarks of caches and of concurrent loads.

use super::text::CheckText;
use crate::session::document::check::{
    ActiveScheduler, BlockSizes, DataRatios, ForegroundLoss, MissingBackgroundLoad, MissingLoad,
    ObstacleCause, RateRange, SettingFailure, SettingObstacle, StarvedWrites, ThroughputRange,
    TruncatedFiles, UnsupportedDirectIo, VariantRatio,
};
use crate::units;

pub(super) fn no_direct(target: &UnsupportedDirectIo) -> CheckText {
    CheckText::new(
        format!(
            "{} ({}) does not support O_DIRECT: the direct variants are skipped",
            target.target,
            target.file_system.as_deref().unwrap_or("its file system")
        ),
        "choose a directory on another file system to measure them",
    )
}

pub(super) fn file_truncated(files: &TruncatedFiles) -> CheckText {
    CheckText::new(
        format!(
            "a limit ended the file before it was written completely: {}; the times of truncated files \
             are not reported",
            files.variants.join("; ")
        ),
        "use a longer --duration, more --bytes, or fewer --file-bytes",
    )
}

pub(super) fn no_page_cache() -> CheckText {
    CheckText::new(
        "a simulated drive has no page cache: the buffered variants are skipped",
        "name a directory or a drive to measure them",
    )
}

pub(super) fn not_512e(sizes: &BlockSizes) -> CheckText {
    CheckText::new(
        format!(
            "logical blocks of {} and physical blocks of {}: no direct write can be smaller than a \
             physical block, the direct variants are skipped",
            units::format_block_size(f64::from(sizes.logical_bytes)),
            units::format_block_size(f64::from(sizes.physical_bytes)),
        ),
        "no action needed: only drives with 512-byte logical and 4096-byte physical blocks have that \
         penalty",
    )
}

pub(super) fn no_difference(ratio: &VariantRatio) -> CheckText {
    let [first, second] = &ratio.variants;
    CheckText::new(
        format!(
            "{first} and {second}: no significant difference, the 95 % CI of the ratio of their IOPS is \
             {} to {}",
            units::format_three_digits(ratio.low),
            units::format_three_digits(ratio.high),
        ),
        "use a longer --duration, and more requests or bytes where these are limited, for a narrower \
         interval",
    )
}

pub(super) fn setting_not_changeable(obstacle: &SettingObstacle) -> CheckText {
    let consequence = if obstacle.during_sweep {
        "the benchmark ended because the read-ahead could not be changed"
    } else {
        "the read-ahead could not be changed, only its current state was measured"
    };
    match &obstacle.cause {
        ObstacleCause::Error { message, advice } => {
            CheckText::new(format!("{consequence}: {message}"), String::from(advice))
        }
        ObstacleCause::NotSupported => CheckText::new(
            format!("{consequence}: no block device is known for this target"),
            "name a block device, or a directory on one",
        ),
    }
}

pub(super) fn setting_not_restored(failure: &SettingFailure) -> CheckText {
    CheckText::new(
        format!("the read-ahead could not be restored: {}", failure.error),
        "diskscope tries again at its next start; or set it by hand",
    )
}

/// Such as `zeros are written 3.00 times, ... as fast as random data`.
fn ratios_text(ratios: &DataRatios) -> String {
    format!(
        "zeros are written {} times and a repeated block {} times as fast as random data",
        units::format_three_digits(ratios.zero_ratio),
        units::format_three_digits(ratios.repeat_ratio)
    )
}

pub(super) fn drive_compresses(ratios: &DataRatios) -> CheckText {
    CheckText::new(
        ratios_text(ratios),
        "measure with random data only; results of programs that write zeros are not comparable",
    )
}

pub(super) fn no_compression(ratios: &DataRatios) -> CheckText {
    CheckText::new(
        ratios_text(ratios),
        "no action needed: any data pattern gives valid metrics on this drive",
    )
}

pub(super) fn data_generation_too_slow(writes: &StarvedWrites) -> CheckText {
    CheckText::new(
        format!(
            "{}, but with random data only {} of {} requests were in flight: this machine generates \
             random data more slowly than the drive accepts it",
            ratios_text(&writes.ratios),
            units::format_three_digits(writes.in_flight),
            writes.depth
        ),
        "whether the drive compresses is not determined: use a smaller --depth, and larger --bytes",
    )
}

pub(super) fn rate_changed(range: &ThroughputRange) -> CheckText {
    CheckText::new(
        format!(
            "the same random data was written at {} to {}",
            units::format_throughput(range.lowest),
            units::format_throughput(range.highest)
        ),
        "a cache was full, or the drive has other users: repeat the run with a longer --duration on an \
         idle drive",
    )
}

pub(super) fn no_reorder_gain() -> CheckText {
    CheckText::new(
        "no size of the reorder buffer is significantly faster than none",
        "a scheduler that sorts has no advantage on this drive: use the scheduler none",
    )
}

pub(super) fn unsorted_reads_changed(range: &RateRange) -> CheckText {
    CheckText::new(
        format!(
            "the unsorted reads had {} IOPS in one round and {} in another",
            units::format_count(range.lowest),
            units::format_count(range.highest)
        ),
        "a cache filled, or another user started or stopped: repeat the run; the intervals include \
         this change",
    )
}

pub(super) fn users_are_disturbed(load: &ForegroundLoss) -> CheckText {
    CheckText::new(
        format!(
            "the foreground load keeps {} of its IOPS ({} of {}) while the background load runs at {}",
            units::format_percent(load.disturbed_iops / load.alone_iops),
            units::format_count(load.disturbed_iops),
            units::format_count(load.alone_iops),
            units::format_throughput(load.background_throughput)
        ),
        "run such background loads at night, limit their rate (io.max of cgroup v2, rsync --bwlimit), \
         or use the scheduler bfq and the class idle",
    )
}

pub(super) fn background_load_not_started(load: &MissingBackgroundLoad) -> CheckText {
    match load.cause {
        MissingLoad::VirtualTime => CheckText::new(
            "the simulated drive has a virtual clock, on which two loads cannot run at once",
            "add clock=real to the parameters of the simulated drive",
        ),
        MissingLoad::ForegroundEnded => CheckText::new(
            "the foreground load ended before a third of the duration, when the background load starts",
            "use a longer --duration, and let the benchmark finish",
        ),
        MissingLoad::NoRequestCompleted => CheckText::new(
            "the background load started, but the drive completed none of its requests before the end",
            "use a longer --duration; the class idle gets no request through while other users keep the \
             drive busy: compare with --class best-effort",
        ),
    }
}

pub(super) fn scheduler_ignores_classes(active: &ActiveScheduler) -> CheckText {
    CheckText::new(
        format!(
            "the scheduler is {}, which ignores I/O priority classes",
            active.scheduler
        ),
        "use bfq, or mq-deadline since Linux 5.14 (echo bfq > /sys/block/NAME/queue/scheduler), for \
         --class to have an effect",
    )
}
