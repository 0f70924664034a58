//! What a test yields.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LatencyByDirection, Metric, MetricTable, Series, SloResult, Verdict};
use crate::safe_text::SafeText;

/// Whether a name belongs to a part of a larger test, as [`Findings::absorb`] makes them.
#[must_use]
pub fn is_nested_name(name: &str) -> bool {
    name.contains('/')
}

/// The figures of a run by name: for more than a few look-ups, since a file from elsewhere may hold
/// 100,000 of them.
#[derive(Debug, Clone)]
pub struct FigureIndex<'a>(HashMap<&'a str, &'a Metric>);

impl<'a> FigureIndex<'a> {
    /// The figure of that name, if it was determined; of several the first.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a Metric> {
        self.0.get(name).copied()
    }
}

/// Figures, distributions, series and verdicts: what a test yields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Single results.
    pub figures: Vec<Metric>,
    /// Response times by direction.
    pub latency: LatencyByDirection,
    /// Figures that are best read side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<MetricTable>,
    /// Curves.
    pub series: Vec<Series>,
    /// What is to be thought of the figures.
    pub verdicts: Vec<Verdict>,
    /// Service goals that were asked for, and whether they were met.
    #[serde(default)]
    pub goals: Vec<SloResult>,
}

impl Findings {
    /// Whether nothing was found at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The figure of that name, if it was determined.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// The figures by name.
    #[must_use]
    pub fn index(&self) -> FigureIndex<'_> {
        let mut index = HashMap::with_capacity(self.figures.len());
        for figure in &self.figures {
            index.entry(figure.name.as_str()).or_insert(figure);
        }
        FigureIndex(index)
    }

    /// The tables of the test itself: the summary of a larger test speaks for those of its parts.
    pub fn top_level_tables(&self) -> impl Iterator<Item = &MetricTable> {
        self.tables
            .iter()
            .filter(|table| !is_nested_name(&table.name))
    }

    /// The figures of the test itself that no table shows already.
    #[must_use]
    pub fn metrics_outside_tables(&self) -> Vec<&Metric> {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let shown: HashSet<&SafeText> = rows.flat_map(|row| &row.cells).collect();
        let unseen =
            |figure: &&Metric| !is_nested_name(&figure.name) && !shown.contains(&figure.name);
        self.figures.iter().filter(unseen).collect()
    }

    /// Sets a figure, in place of an earlier one of that name.
    pub fn set_metric(&mut self, figure: Metric) {
        match self
            .figures
            .iter_mut()
            .find(|known| known.name == figure.name)
        {
            Some(known) => *known = figure,
            None => self.figures.push(figure),
        }
    }

    /// Sets a series, in place of an earlier one of that name.
    pub fn set_series(&mut self, series: Series) {
        match self
            .series
            .iter_mut()
            .find(|known| known.name == series.name)
        {
            Some(known) => *known = series,
            None => self.series.push(series),
        }
    }

    /// Sets a verdict, in place of an earlier one of that code.
    pub fn set_verdict(&mut self, verdict: Verdict) {
        match self
            .verdicts
            .iter_mut()
            .find(|known| known.code == verdict.code)
        {
            Some(known) => *known = verdict,
            None => self.verdicts.push(verdict),
        }
    }

    /// Sets a table, in place of an earlier one of that name.
    pub fn set_table(&mut self, table: MetricTable) {
        match self
            .tables
            .iter_mut()
            .find(|known| known.name == table.name)
        {
            Some(known) => *known = table,
            None => self.tables.push(table),
        }
    }

    /// Takes over what a part of a larger test found: every name gets `prefix/` in front. The
    /// part's distributions are taken where there are none yet.
    pub fn merge_nested(&mut self, prefix: &str, part: &Self) {
        let named = |name: &str| format!("{prefix}/{name}");
        for figure in &part.figures {
            self.set_metric(Metric {
                name: named(&figure.name).into(),
                ..figure.clone()
            });
        }
        for series in &part.series {
            self.set_series(Series {
                name: named(&series.name).into(),
                ..series.clone()
            });
        }
        for verdict in &part.verdicts {
            self.set_verdict(Verdict {
                code: named(&verdict.code).into(),
                ..verdict.clone()
            });
        }
        for table in &part.tables {
            self.set_table(table.with_prefix(prefix));
        }
        let latency = &part.latency;
        self.latency.read = self.latency.read.take().or_else(|| latency.read.clone());
        self.latency.write = self.latency.write.take().or_else(|| latency.write.clone());
    }

    /// The series of that name, if there is one.
    #[must_use]
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }
}
