//! What follows from the metrics of a drive.

use std::time::Duration;

use serde_json::{Value, json};

use crate::session::document::check::Check;
use crate::session::document::{Findings, MetricId, MetricKind, MetricUnit, Verdict};
use crate::units;

// Names of benchmarks of the survey, in the ids of its metrics.
pub(super) const SEQUENTIAL_READ: &str = "sequential-read";
pub(super) const CONCURRENCY_READ: &str = "concurrency-read";
pub(super) const BLOCK_SIZE_READ: &str = "block-size-read";

pub(super) const THROUGHPUT_ABOVE_MEDIUM: Check = Check::warning(
    "throughput-above-medium",
    "A throughput exceeds that of the medium at its fastest address.",
);
pub(super) const ADVICE_QUEUE_DEPTH: Check = Check::note(
    "advice-queue-depth",
    "The queue depth with low latency, and the one with the most IOPS.",
);
pub(super) const ADVICE_BLOCK_SIZE: Check = Check::note(
    "advice-block-size",
    "The block size at which access and transfer take equal time.",
);
pub(super) const ADVICE_FULL_COPY: Check = Check::note(
    "advice-full-copy",
    "The duration of a copy of the whole drive.",
);

/// The value of a metric of a nested benchmark.
pub(super) fn metric_value(
    findings: &Findings,
    benchmark: &'static str,
    metric: MetricKind,
) -> Option<f64> {
    let metric = findings.metric(&MetricId::of_nested(benchmark, metric))?;
    Some(metric.value)
}

/// A depth of concurrency-read, as text such as `200 IOPS at depth 4 (p90 12.0 ms)` and as facts;
/// `kinds` are the depth, its IOPS and its p90.
fn depth_point(findings: &Findings, kinds: [MetricKind; 3]) -> Option<(f64, String, Value)> {
    let [depth, iops, p90_ns] = kinds.map(|kind| metric_value(findings, CONCURRENCY_READ, kind));
    let (depth, iops) = (depth?, iops?);
    let p90 = p90_ns.map(|p90| format!(" (p90 {})", units::format_latency(p90)));
    let text = format!(
        "{} IOPS at depth {depth}{}",
        units::format_count(iops),
        p90.unwrap_or_default()
    );
    let facts = json!({ "depth": depth, "iops": iops, "p90_ns": p90_ns });
    Some((depth, text, facts))
}

/// Maximum ratio of the highest IOPS to those of the optimal depth that is no gain.
const MAX_RATIO_WITHOUT_GAIN: f64 = 1.05;

/// Advice from IOPS over depth: the depth of lowest latency and that of highest IOPS. Whether there is
/// a gain is said where the intervals say so.
pub(super) fn queue_advice(findings: &Findings) -> Option<Verdict> {
    let optimal = [
        MetricKind::OptimalDepth,
        MetricKind::OptimalDepthIops,
        MetricKind::OptimalDepthP90,
    ];
    let most = [
        MetricKind::IopsMaxDepth,
        MetricKind::IopsMax,
        MetricKind::IopsMaxP90,
    ];
    let (depth, text, facts) = depth_point(findings, optimal)?;
    let metric = |kind| findings.metric(&MetricId::of_nested(CONCURRENCY_READ, kind));
    let (iops, highest) = (metric(optimal[1])?, metric(most[1]));
    let is_more = highest
        .and_then(|highest| highest.low.zip(iops.high))
        .is_some_and(|(low, high)| low > high);
    let is_best = metric(most[0]).is_some_and(|most| most.value <= depth);
    let is_no_more = is_best
        || highest
            .and_then(|highest| highest.high)
            .is_some_and(|high| high <= MAX_RATIO_WITHOUT_GAIN * iops.value);
    let more = depth_point(findings, most).filter(|_| is_more);
    let keep = format!("keep about {depth} requests in flight");
    let (gain, advice, max_facts) = match (more, highest) {
        (Some((most, more, facts)), _) => (
            format!(", {more}"),
            format!("{keep} for low latency, and up to {most} for throughput"),
            Some(facts),
        ),
        (None, _) if is_no_more && depth <= 1.0 => (
            "; no depth has significantly more".to_owned(),
            "use depth 1: more requests in flight only increase the latency".to_owned(),
            None,
        ),
        (None, _) if is_no_more => ("; no depth has significantly more".to_owned(), keep, None),
        (None, Some(highest)) => {
            let iops = units::format_count(highest.value);
            let gain = match is_more {
                true => format!("; deeper queues have up to {iops}"),
                false => format!("; the most are {iops}, whether that is a gain is not determined"),
            };
            let advice = "for low latency; a longer --duration shows which depth throughput needs";
            (gain, format!("{keep} {advice}"), None)
        }
        (None, None) => (String::new(), keep, None),
    };
    Some(ADVICE_QUEUE_DEPTH.found(
        text + &gain,
        advice,
        json!({ "optimal": facts, "max_iops": max_facts }),
    ))
}

/// The check for reads faster than the medium at its fastest location.
pub(super) fn faster_than_medium(findings: &Findings) -> Option<Verdict> {
    const MAX_MEDIUM_RATIO: f64 = 1.15;
    let medium = metric_value(findings, SEQUENTIAL_READ, MetricKind::ThroughputMax)?;
    let (metric, throughput) = findings
        .metrics
        .iter()
        .filter(|run_metric| run_metric.unit == MetricUnit::BytesPerSecond)
        .filter(|metric| metric.id.benchmark() != Some(SEQUENTIAL_READ))
        .map(|metric| (&metric.id, metric.value))
        .max_by(|left, right| left.1.total_cmp(&right.1))?;
    if throughput <= MAX_MEDIUM_RATIO * medium {
        return None;
    }
    Some(THROUGHPUT_ABOVE_MEDIUM.found(
        format!(
            "{metric} is {}, but the medium has at most {}",
            units::format_throughput(throughput),
            units::format_throughput(medium)
        ),
        "a cache answered: use a larger window, or read more than the cache holds",
        json!({ "metric": metric.to_string(), "throughput": throughput, "medium": medium }),
    ))
}

pub(super) fn block_advice(findings: &Findings) -> Option<Verdict> {
    let value = |metric| metric_value(findings, BLOCK_SIZE_READ, metric);
    let access_ns = value(MetricKind::AccessTime)?;
    let balanced_bytes = value(MetricKind::BalancedBlockSize)?;
    let btree_node_bytes = value(MetricKind::BtreeNodeSize)?;
    Some(ADVICE_BLOCK_SIZE.found(
        format!(
            "an access takes {} before the first byte",
            units::format_latency(access_ns)
        ),
        format!(
            "scan with blocks much larger than {}; nodes of a B-tree (a database index) are best near {}",
            units::format_block_size(balanced_bytes.round()),
            units::format_block_size(btree_node_bytes.round())
        ),
        json!({
            "access_ns": access_ns,
            "balanced_bytes": balanced_bytes,
            "btree_node_bytes": btree_node_bytes,
        }),
    ))
}

pub(super) fn copy_advice(findings: &Findings) -> Option<Verdict> {
    let value = |metric| metric_value(findings, SEQUENTIAL_READ, metric);
    let throughput = value(MetricKind::ThroughputMean)?;
    let copy_ns = value(MetricKind::FullCopyTime)?;
    Some(ADVICE_FULL_COPY.found(
        format!(
            "the mean read throughput over the whole drive is {}",
            units::format_throughput(throughput)
        ),
        format!(
            "allow {} for a full backup or rebuild, and twice that if source and destination share the \
             drive",
            units::format_wait(Duration::from_nanos(copy_ns as u64))
        ),
        json!({ "throughput": throughput, "copy_ns": copy_ns }),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::document::Metric;

    #[test]
    fn queue_advice_names_significantly_different_depths() {
        let mut findings = Findings::default();
        assert_eq!(queue_advice(&findings), None);
        let mut put = |metric, value: f64| {
            let metric = Metric::new(MetricId::of_nested(CONCURRENCY_READ, metric), value);
            findings.set_metric(metric.with_interval(value * 0.95, value * 1.05));
        };
        put(MetricKind::OptimalDepth, 4.0);
        put(MetricKind::OptimalDepthIops, 200.0);
        put(MetricKind::IopsMaxDepth, 64.0);
        put(MetricKind::IopsMax, 400.0);
        // A disk achieves far more IOPS with many queued requests.
        let said = |findings: &Findings, evidence: &str, advice: &str| {
            let found = queue_advice(findings).unwrap();
            assert!(found.evidence.contains(evidence), "{found:?}");
            assert!(found.advice.contains(advice), "{found:?}");
        };
        said(&findings, "400 IOPS at depth 64", "up to 64 for throughput");
        // Which depth has them is not determined.
        findings
            .metrics
            .retain(|it| it.id.kind() != Some(MetricKind::IopsMaxDepth));
        said(
            &findings,
            "deeper queues have up to 400",
            "a longer --duration",
        );
        // "No gain" only where an interval says so.
        for (most, margin, evidence) in [
            (205.0, 20.0, "whether that is a gain is not determined"),
            (202.0, 4.0, "no depth has significantly more"),
        ] {
            let id = MetricId::of_nested(CONCURRENCY_READ, MetricKind::IopsMax);
            let most = Metric::new(id, most).with_interval(most - margin, most + margin);
            findings.set_metric(most);
            said(&findings, evidence, "keep about 4 requests in flight");
        }
    }

    #[test]
    fn throughput_above_media_rate_is_flagged() {
        let mut findings = Findings::default();
        let rate = |name, value| Metric::new(MetricId::parse(name), value);
        findings.set_metric(rate("sequential-read/throughput_max", 267e6));
        findings.set_metric(rate("block-size-read/throughput_max", 280e6));
        assert_eq!(faster_than_medium(&findings), None);
        findings.set_metric(rate("block-size-read/throughput_max", 348e6));
        let found = faster_than_medium(&findings).unwrap();
        assert_eq!(found.facts["metric"], "block-size-read/throughput_max");
        assert_eq!(
            (&found.facts["throughput"], &found.facts["medium"]),
            (&json!(348e6), &json!(267e6))
        );
    }
}
