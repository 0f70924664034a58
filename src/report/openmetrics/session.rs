//! The metrics of a session.

use super::exposition::{Exposition, Family, FamilyKind};
use crate::session::document::{MetricUnit, Session, Severity};

/// Whether the results of a run are invalid.
const RUN_INVALID: Family<'_> = Family {
    name: "run_invalid",
    kind: FamilyKind::Gauge,
    unit: "",
    help: "1 when a check found that the results do not measure what the benchmark is for",
};

/// The metrics of all runs of a session.
#[must_use]
pub fn session_metrics(session: &Session) -> String {
    let mut exposition = Exposition::default();
    for (index, run) in session.runs.iter().enumerate() {
        let number = (index + 1).to_string();
        let labels = [
            ("benchmark", &*run.test),
            ("target", &*run.target.path),
            ("run", number.as_str()),
        ];
        let is_invalid = run
            .findings
            .verdicts
            .iter()
            .any(|it| it.severity == Severity::Invalid);
        exposition.add(&RUN_INVALID, &labels, Some(f64::from(u8::from(is_invalid))));
        for metric in &run.findings.metrics {
            let (factor, unit) = base_unit(metric.unit);
            let family = Family {
                name: &metric_name(&metric.id.to_string(), unit),
                kind: FamilyKind::Gauge,
                unit,
                help: "",
            };
            exposition.add(&family, &labels, Some(metric.value * factor));
        }
    }
    exposition.render()
}

/// Factor to the base unit, and the suffix that names it.
fn base_unit(unit: MetricUnit) -> (f64, &'static str) {
    match unit {
        MetricUnit::PerSecond => (1.0, "per_second"),
        MetricUnit::BytesPerSecond => (1.0, "bytes_per_second"),
        MetricUnit::Nanoseconds => (1e-9, "seconds"),
        MetricUnit::Bytes => (1.0, "bytes"),
        MetricUnit::RevolutionsPerMinute => (1.0 / 60.0, "hertz"),
        MetricUnit::Ratio => (1.0, "ratio"),
        MetricUnit::Revolution => (1.0, "revolutions"),
        MetricUnit::Sectors => (512.0, "bytes"),
        MetricUnit::Count => (1.0, ""),
    }
}

/// The name of a metric in the characters of OpenMetrics, with its unit last.
fn metric_name(id: &str, suffix: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    let name: String = id.chars().map(letter).collect();
    let with_unit = format!("_{suffix}");
    match suffix.is_empty() || name.ends_with(&with_unit) || name == suffix {
        true => name,
        false => name + &with_unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_names_end_in_their_unit() {
        for (id, unit, name) in [
            ("latency_p99.9", "seconds", "latency_p99_9_seconds"),
            (
                "random-read.iops",
                "per_second",
                "random_read_iops_per_second",
            ),
            ("cache_bytes", "bytes", "cache_bytes"),
            ("optimal_depth", "", "optimal_depth"),
        ] {
            assert_eq!(metric_name(id, unit), name);
        }
    }
}
