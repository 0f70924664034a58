//! The results of a benchmark.

use std::collections::{HashMap, HashSet};

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{Check, Verdict};
use super::latency::LatencyByDirection;
use super::metric::Metric;
use super::metric_kind::MetricId;
use super::series::Series;
use super::series_kind::SeriesId;
use super::severity::Severity;
use super::slo_result::SloResult;
use super::table::MetricTable;
use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;

/// Whether a table belongs to a nested benchmark, named as by [`Findings::merge_nested`].
#[must_use]
pub fn is_nested_name(name: &str) -> bool {
    name.contains('/')
}

/// Metrics of a run, indexed by their identity. Use it for more than a few look-ups: a file from another
/// source may hold 100,000 metrics.
#[derive(Debug, Clone)]
pub struct MetricIndex<'a>(HashMap<&'a MetricId, &'a Metric>);

impl<'a> MetricIndex<'a> {
    /// The metric with that identity; the first if there are several.
    #[must_use]
    pub fn get(&self, id: &MetricId) -> Option<&'a Metric> {
        self.0.get(id).copied()
    }
}

/// Results of a benchmark: metrics, latency distributions, series and verdicts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Findings {
    /// Metrics.
    #[serde(rename = "figures")]
    pub metrics: Vec<Metric>,
    /// Latency distributions by direction.
    pub latency: LatencyByDirection,
    /// Tables that arrange metrics side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<MetricTable>,
    /// Series for charts.
    pub series: Vec<Series>,
    /// Results of the validity checks that did not pass.
    pub verdicts: Vec<Verdict>,
    /// Service level goals of the run, and whether they were met.
    #[serde(default)]
    pub goals: Vec<SloResult>,
}

impl Findings {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The metric, if it was determined.
    #[must_use]
    pub fn metric(&self, id: &MetricId) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.id == *id)
    }

    /// An index of the metrics.
    #[must_use]
    pub fn index(&self) -> MetricIndex<'_> {
        let mut index = HashMap::with_capacity(self.metrics.len());
        for metric in &self.metrics {
            index.entry(&metric.id).or_insert(metric);
        }
        MetricIndex(index)
    }

    /// Tables of the benchmark itself: the summary of `survey` covers the tables of its parts.
    pub fn top_level_tables(&self) -> impl Iterator<Item = &MetricTable> {
        self.tables
            .iter()
            .filter(|table| !is_nested_name(&table.name))
    }

    /// Metrics of the benchmark itself that no table shows.
    #[must_use]
    pub fn metrics_outside_tables(&self) -> Vec<&Metric> {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let shown: HashSet<&MetricId> = rows.flat_map(|row| &row.cells).collect();
        let unseen = |metric: &&Metric| !metric.id.is_nested() && !shown.contains(&metric.id);
        self.metrics.iter().filter(unseen).collect()
    }

    /// Adds a metric, or replaces the one with the same identity.
    pub fn set_metric(&mut self, metric: Metric) {
        put(&mut self.metrics, metric, |known, new| known.id == new.id);
    }

    /// Adds a series, or replaces the one with the same identity.
    pub fn set_series(&mut self, series: Series) {
        put(&mut self.series, series, |known, new| known.id == new.id);
    }

    /// Adds the verdict of a check, or replaces the one with the same code.
    pub fn set_check(&mut self, verdict: Verdict) {
        put(&mut self.verdicts, verdict, |known, new| {
            known.code == new.code
        });
    }

    /// Removes the verdict of this check of the run itself, if there is one.
    pub fn remove_check(&mut self, check: Check) {
        self.verdicts.retain(|verdict| *verdict.code != *check.code);
    }

    /// Whether the run itself did not pass this check.
    #[must_use]
    pub fn has_check(&self, check: Check) -> bool {
        self.verdicts.iter().any(|it| *it.code == *check.code)
    }

    /// The verdicts by severity, the most severe first; the order is kept within one severity.
    #[must_use]
    pub fn verdicts_by_severity(&self) -> Vec<&Verdict> {
        let mut verdicts: Vec<_> = self.verdicts.iter().collect();
        verdicts.sort_list_by_key(|verdict| std::cmp::Reverse(verdict.severity));
        verdicts
    }

    /// The first check that makes the metrics of the run itself invalid. A nested benchmark that is
    /// invalid does not invalidate the others.
    #[must_use]
    pub fn invalid_check(&self) -> Option<&SafeText> {
        let is_invalid = |it: &&Verdict| it.severity == Severity::Invalid && !it.is_nested();
        Some(&self.verdicts.iter().find(is_invalid)?.code)
    }

    /// Adds a table, or replaces the one with the same name.
    pub fn set_table(&mut self, table: MetricTable) {
        put(&mut self.tables, table, |known, new| known.name == new.name);
    }

    /// Adds the findings of a nested benchmark with `prefix/` in front of every name. Its latency
    /// distributions are used only for directions that have none yet.
    pub fn merge_nested(&mut self, prefix: &str, part: &Self) {
        for metric in &part.metrics {
            self.set_metric(Metric {
                id: metric.id.nested_in(prefix),
                ..metric.clone()
            });
        }
        for series in &part.series {
            self.set_series(Series {
                id: series.id.nested_in(prefix),
                ..series.clone()
            });
        }
        for verdict in &part.verdicts {
            self.set_check(verdict.clone().nested_in(prefix));
        }
        for table in &part.tables {
            self.set_table(table.with_prefix(prefix));
        }
        let latency = &part.latency;
        self.latency.read = self.latency.read.take().or_else(|| latency.read.clone());
        self.latency.write = self.latency.write.take().or_else(|| latency.write.clone());
    }

    /// The series with that identity, if there is one.
    #[must_use]
    pub fn series(&self, id: &SeriesId) -> Option<&Series> {
        self.series.iter().find(|series| series.id == *id)
    }
}

/// Adds an element, or replaces the same one.
fn put<T>(list: &mut Vec<T>, new: T, is_same: impl Fn(&T, &T) -> bool) {
    match list.iter_mut().find(|known| is_same(known, &new)) {
        Some(known) => *known = new,
        None => list.push(new),
    }
}
