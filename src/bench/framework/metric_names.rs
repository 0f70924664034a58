//! Names of the metrics that a benchmark can yield and for which goals can be set.
//!
//! In a pattern, `*` stands for any characters except a slash, such as the depths of a sweep. A
//! trailing `NAME/` stands for every metric of the nested benchmark NAME.

use crate::bench::find_benchmark;
use crate::nearest;

/// Latency metrics of all requests: `latency_mean`, percentiles, `latency_max`.
macro_rules! latency_metrics {
    ($($more:literal),* $(,)?) => {
        &[
            $($more,)*
            "latency_mean", "latency_p50", "latency_p90", "latency_p95", "latency_p98",
            "latency_p99", "latency_p99.9", "latency_p99.99", "latency_p99.999", "latency_max",
        ]
    };
}
pub(crate) use latency_metrics;

/// Whether any of these patterns matches the name.
#[must_use]
pub fn matches_any(patterns: &[&str], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match split_nested_pattern(pattern) {
            Some((prefix, metrics)) => {
                let rest = name.strip_prefix(prefix);
                rest.is_some_and(|rest| matches_any(metrics, rest))
            }
            None => matches_pattern(pattern, name),
        })
}

/// Splits a pattern `NAME/` into the nested benchmark and its metrics.
fn split_nested_pattern(pattern: &str) -> Option<(&str, &'static [&'static str])> {
    let test = find_benchmark(pattern.strip_suffix('/')?)?;
    Some((pattern, test.description().metrics))
}

/// Whether a pattern with any number of `*` matches a name.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, end)) => name.strip_prefix(begin).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .take_while(|at| !rest[..*at].contains('/'))
                .any(|at| matches_pattern(end, &rest[at..]))
        }),
    }
}

/// All patterns as text for the user.
#[must_use]
pub fn describe_patterns(patterns: &[&str]) -> String {
    let words = patterns
        .iter()
        .map(|pattern| match pattern.strip_suffix('/') {
            Some(test) => format!("those of {test} as {test}/..."),
            None => (*pattern).to_owned(),
        });
    words.collect::<Vec<_>>().join(", ")
}

/// `, did you mean NAME?` if a similar name exists.
#[must_use]
pub fn suggest_metric(patterns: &[&str], name: &str) -> String {
    let parts = patterns
        .iter()
        .filter_map(|pattern| split_nested_pattern(pattern));
    let of_parts = parts.flat_map(|(prefix, metrics)| {
        let single = metrics.iter().filter(|metric| !metric.contains('*'));
        single.map(move |metric| format!("{prefix}{metric}"))
    });
    let own = patterns
        .iter()
        .filter(|metric| !metric.contains(['*', '/']));
    let known: Vec<String> = own.map(|name| (*name).to_owned()).chain(of_parts).collect();
    nearest::suggestion(name, known.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_pattern_star_matches_any_letters_except_slash() {
        let patterns = ["iops", "buffered_*_iops", "depth_*_*", "random-read/"];
        for (name, expected) in [
            ("iops", true),
            ("iops2", false),
            ("buffered_4096_iops", true),
            ("buffered_4096_throughput", false),
            ("depth_8_p90", true),
            ("random-read/iops", true),
            ("random-read/foo", false),
            ("mixed/iops", false),
        ] {
            assert_eq!(matches_any(&patterns, name), expected, "{name}");
        }
        assert_eq!(suggest_metric(&patterns, "iosp"), ", did you mean iops?");
        assert!(suggest_metric(&patterns, "random-read/iop").contains("random-read/iops"));
    }
}
