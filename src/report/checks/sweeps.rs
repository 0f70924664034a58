//! Checks of the basic benchmarks and the sweeps.

use super::text::CheckText;
use crate::session::document::check::{
    DepthShortfall, KneeDepths, OptimumDoubt, RateShortfall, RoundVariation, SplitLimit,
    UniformThroughput, UnmeasuredZones, UnsampledDepths, WrittenDrop, ZoneCountDoubt, ZoneRequests,
    ZoneThroughputs,
};
use crate::units;

pub(super) fn rate_not_reached(rate: &RateShortfall) -> CheckText {
    CheckText::new(
        format!(
            "{} requests per second arrived, {} completed",
            units::format_count(rate.arrived_per_s),
            units::format_count(rate.completed_per_s)
        ),
        "the drive is overloaded, and latency grows throughout the run: use a lower --rate, or a \
         larger --depth if the drive accepts more requests at once",
    )
}

pub(super) fn queue_depth_not_reached(depth: &DepthShortfall) -> CheckText {
    CheckText::new(
        format!(
            "{} requests in flight were requested, {} were in flight on average (Little's law)",
            units::format_count(depth.requested),
            units::format_three_digits(depth.reached)
        ),
        "this program or the kernel was slower than the drive: more --workers may help",
    )
}

pub(super) fn fast_start(zones: &ZoneThroughputs) -> CheckText {
    CheckText::new(
        format!(
            "the first tenth has {}, the last tenth {}",
            units::format_throughput(zones.first_tenth),
            units::format_throughput(zones.last_tenth)
        ),
        format!(
            "place a fast partition at the start, where the throughput is {} times that of the end",
            units::format_three_digits(zones.first_tenth / zones.last_tenth)
        ),
    )
}

pub(super) fn no_zones(zones: &UniformThroughput) -> CheckText {
    CheckText::new(
        format!(
            "the kernel lists the drive as rotational, but its throughput is {} at all addresses",
            units::format_throughput(zones.throughput)
        ),
        "possible causes are a virtual disk, a cache, or an interface slower than the outer tracks",
    )
}

pub(super) fn zone_too_short(zone: &ZoneRequests) -> CheckText {
    let plural = if zone.requests == 1 { "" } else { "s" };
    CheckText::new(
        format!(
            "a zone holds {} request{plural}, fewer than 10 x depth {}: the throughput of a single \
             zone depends on requests of the adjacent zones; the mean of all zones does not",
            zone.requests, zone.depth
        ),
        "use a smaller --block-size or --depth, or a larger --zone-bytes",
    )
}

pub(super) fn zones_not_measured(zones: &UnmeasuredZones) -> CheckText {
    CheckText::new(
        format!(
            "{} of {} zones have no throughput: a request takes longer than their share of the time",
            zones.missing, zones.zones
        ),
        "use a longer --duration, or a smaller --block-size or --depth",
    )
}

pub(super) fn zones_uncertain(doubt: &ZoneCountDoubt) -> CheckText {
    let reason = match doubt {
        ZoneCountDoubt::FewRequests {
            median_requests,
            needed_requests,
        } => format!(
            "half of the measured zones hold {median_requests} requests or fewer, and \
             {needed_requests} are needed: a single slow request may look like another zone"
        ),
        ZoneCountDoubt::ManyZones { found, measured } => format!(
            "{found} zones of the drive were found with {measured} measured ones: smaller zones may \
             have been missed"
        ),
    };
    CheckText::new(
        format!("the number of zones is uncertain: {reason}"),
        "use a longer --duration or a smaller --block-size; the benchmark geometry counts the zones of \
         a disk by its tracks",
    )
}

/// Why no best point is determined, with the values of the sweep formatted by `format`.
fn optimum_text(
    doubt: &OptimumDoubt,
    (optimum, points): (&str, &str),
    format: fn(f64) -> String,
    advice: &'static str,
) -> CheckText {
    let reason = match *doubt {
        OptimumDoubt::TooFewRounds => format!("not all {points} were measured twice"),
        OptimumDoubt::NoDifference { first, last } => format!(
            "no significant difference between the {points} from {} to {}",
            format(first),
            format(last)
        ),
        OptimumDoubt::NotSeparated { smaller, larger } => format!(
            "no significant difference between {} and {}, so that the larger may not be needed",
            format(smaller),
            format(larger)
        ),
    };
    CheckText::new(format!("{reason}: the {optimum} is not determined"), advice)
}

const DEPTH_ADVICE: &str =
    "use a longer --duration for narrower intervals; if all depths are equal, use depth 1";

pub(super) fn no_optimal_depth(doubt: &OptimumDoubt) -> CheckText {
    let names = ("optimal depth", "depths");
    optimum_text(doubt, names, |depth| depth.to_string(), DEPTH_ADVICE)
}

pub(super) fn no_best_iops_depth(doubt: &OptimumDoubt) -> CheckText {
    let names = ("depth with the most IOPS", "depths");
    optimum_text(doubt, names, |depth| depth.to_string(), DEPTH_ADVICE)
}

pub(super) fn no_best_batch(doubt: &OptimumDoubt) -> CheckText {
    optimum_text(
        doubt,
        ("best reorder buffer", "reorder buffers"),
        |batch| batch.to_string(),
        "use more --reads-each and a longer --duration for narrower intervals",
    )
}

pub(super) fn no_best_read_ahead(doubt: &OptimumDoubt) -> CheckText {
    optimum_text(
        doubt,
        ("best read-ahead", "settings"),
        units::format_block_size,
        "use a larger --step-bytes and a longer --duration for narrower intervals; if all settings are \
         equal, keep the current one",
    )
}

pub(super) fn knee_differs(knee: &KneeDepths) -> CheckText {
    let depth = |depth: &Option<u32>| depth.map_or("none".to_owned(), |depth| depth.to_string());
    let depths: Vec<String> = knee.depths.iter().map(depth).collect();
    CheckText::new(
        format!(
            "the knee of the IOPS curve differs from round to round ({}): it is not determined",
            depths.join(", ")
        ),
        "use a longer --duration for a more stable curve",
    )
}

pub(super) fn too_few_samples_at_depth(unsampled: &UnsampledDepths) -> CheckText {
    let depths: Vec<String> = unsampled.depths.iter().map(u32::to_string).collect();
    CheckText::new(
        format!(
            "p90 is not determined at depth {}: fewer than 10 requests are beyond it",
            depths.join(", ")
        ),
        "use a longer --duration",
    )
}

pub(super) fn no_response_model() -> CheckText {
    CheckText::new(
        "the latency does not grow with the block size as access time plus transfer time",
        "a cache answers, or the drive has other users: use --cache bypass, a larger window and an \
         idle drive",
    )
}

pub(super) fn kernel_splits(limit: &SplitLimit) -> CheckText {
    CheckText::new(
        format!(
            "the kernel splits requests above {} (max_sectors_kb)",
            units::format_block_size(limit.limit_bytes)
        ),
        "larger blocks only save system calls on this drive",
    )
}

pub(super) fn not_steady(rounds: &RoundVariation) -> CheckText {
    let needed = rounds.window_rounds;
    let evidence = match (rounds.relative_range, rounds.relative_slope) {
        (Some(range), Some(slope)) => format!(
            "after {} rounds the range of the last {needed} is {} of their mean, and their slope {}",
            rounds.rounds,
            units::format_percent(range),
            units::format_percent(slope)
        ),
        _ => format!(
            "{} rounds were measured, the steady-state criterion needs {needed}",
            rounds.rounds
        ),
    };
    CheckText::new(
        evidence,
        "use more --rounds, or a longer --round-time, --duration or --bytes",
    )
}

pub(super) fn write_cliff(drop: &WrittenDrop) -> CheckText {
    CheckText::new(
        format!(
            "after {} the throughput fell from {} to {}: a cache of about that size was full",
            units::format_capacity(drop.written_bytes),
            units::format_throughput(drop.before),
            units::format_throughput(drop.after)
        ),
        "expect the lower throughput for anything larger than the cache",
    )
}
