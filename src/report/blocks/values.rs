//! Metrics as cells of a table: throughputs of one table have one unit, so that they can be compared
//! at a glance.

use std::borrow::Borrow;

use super::{Align, Block, Cell, Table};
use crate::report::axis::{AxisUnit, axis_unit};
use crate::session::document::{Metric, MetricUnit};
use crate::units::format_three_digits;

/// The unit of all throughputs of a table.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct TableUnit(AxisUnit);

impl TableUnit {
    /// The unit in which the lowest throughput has one to three digits, or that of the highest where
    /// that would have more than five.
    pub(in crate::report) fn of(metrics: impl Iterator<Item = impl Borrow<Metric>>) -> Self {
        let rates = metrics.filter_map(|metric| {
            let metric = metric.borrow();
            (metric.unit == MetricUnit::BytesPerSecond).then_some(metric.value.abs())
        });
        let [low, high] = rates
            .filter(|rate| *rate > 0.0 && rate.is_finite())
            .fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], rate| {
                [low.min(rate), high.max(rate)]
            });
        let lowest = axis_unit(MetricUnit::BytesPerSecond, low);
        Self(if high < lowest.factor * 1e5 {
            lowest
        } else {
            axis_unit(MetricUnit::BytesPerSecond, high)
        })
    }

    /// The value for display; one that would be shown as zero in this unit has its own.
    pub(in crate::report) fn value(self, metric: &Metric) -> String {
        let is_shown = metric.value == 0.0 || metric.value.abs() >= self.0.factor / 100.0;
        match metric.unit {
            MetricUnit::BytesPerSecond if is_shown => {
                format!("{} {}", self.number(metric.value), self.0.name)
            }
            _ => metric.value_text(),
        }
    }

    /// The 95 % confidence interval for display; empty where there is none.
    pub(in crate::report) fn interval(self, metric: &Metric) -> String {
        match (metric.unit, metric.low, metric.high) {
            (MetricUnit::BytesPerSecond, Some(low), Some(high)) => format!(
                "{} to {} {}",
                self.number(low),
                self.number(high),
                self.0.name
            ),
            _ => metric.interval_text().unwrap_or_default(),
        }
    }

    fn number(self, rate: f64) -> String {
        let number = rate / self.0.factor;
        if number != 0.0 && number.abs() < 0.9995 {
            return format!("{number:.3}");
        }
        format_three_digits(number)
    }

    /// The value with its relative uncertainty.
    pub(in crate::report) fn value_with_margin(self, metric: &Metric) -> String {
        let value = self.value(metric);
        match metric.margin_text() {
            Some(margin) => format!("{value} {margin}"),
            None => value,
        }
    }
}

/// Metrics with their confidence intervals and observations.
pub(super) fn metrics_table(metrics: &[&Metric]) -> Vec<Block> {
    if metrics.is_empty() {
        return Vec::new();
    }
    let unit = TableUnit::of(metrics.iter().copied());
    let rows = metrics.iter().map(|metric| {
        let observations = metric.observations.map(|count| count.to_string());
        vec![
            metric.label().into(),
            unit.value(metric).into(),
            Cell::soft(unit.interval(metric)),
            Cell::soft(observations.unwrap_or_default()),
        ]
    });
    let columns = [
        ("", Align::Left),
        ("value", Align::Right),
        ("95 % CI", Align::Right),
        ("observations", Align::Right),
    ];
    vec![Block::Table(Table::new(columns, rows.collect()))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughputs_of_a_table_have_one_unit() {
        for (values, expected) in [
            (&[2.07e9, 120e6][..], &["2070 MB/s", "120 MB/s"][..]),
            (&[2.07e9, 0.0], &["2.07 GB/s", "0 GB/s"]),
            (&[2.38e8, 2.95e5], &["238 MB/s", "0.295 MB/s"]),
            (&[2.07e9, 4e3], &["2.07 GB/s", "4.00 kB/s"]),
        ] {
            let metric = |value: &f64| {
                let id = crate::session::document::MetricId::THROUGHPUT_MEAN;
                Metric::with_unit(id, *value, MetricUnit::BytesPerSecond)
            };
            let metrics: Vec<Metric> = values.iter().map(metric).collect();
            let unit = TableUnit::of(metrics.iter());
            let shown: Vec<String> = metrics.iter().map(|it| unit.value(it)).collect();
            assert_eq!(shown, expected);
        }
    }
}
