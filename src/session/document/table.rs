//! Tables of metrics.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::metric_kind::{MetricId, MetricKind};
use super::result_id::VariantKey;
use crate::files::safe_text::{Name, SafeText};

/// Metrics arranged in rows and columns. The table holds only names, so that it cannot disagree
/// with the list of metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MetricTable {
    /// Name, which is also the heading.
    #[serde(deserialize_with = "crate::files::safe_text::name")]
    pub name: SafeText,
    /// Headings of the columns.
    #[serde(deserialize_with = "column_names")]
    pub columns: Vec<SafeText>,
    /// The rows.
    pub rows: Vec<MetricTableRow>,
}

/// One row of a [`MetricTable`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MetricTableRow {
    /// Heading of the row.
    #[serde(deserialize_with = "crate::files::safe_text::name")]
    pub name: SafeText,
    /// Name of the metric in each column; a metric that the run lacks is unknown.
    pub cells: Vec<MetricId>,
}

fn column_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SafeText>, D::Error> {
    let names: Vec<Name> = Vec::deserialize(deserializer)?;
    Ok(names.into_iter().map(|name| name.0).collect())
}

impl MetricTable {
    /// Number of cells when drawn, headings included; short rows are padded.
    #[must_use]
    pub fn cells(&self) -> usize {
        let longest = self.rows.iter().map(|row| row.cells.len()).max();
        let columns = self.columns.len().max(longest.unwrap_or(0));
        (self.rows.len() + 1) * (columns + 1)
    }

    /// Creates a table with the metrics `ROW_COLUMN` as cells: columns are `(heading, suffix)`,
    /// rows are `(heading, prefix)` of the names.
    #[must_use]
    pub fn cross_product(
        name: &str,
        columns: &[(&str, MetricKind)],
        rows: &[(&str, VariantKey)],
    ) -> Self {
        let row = |(heading, variant): &(&str, VariantKey)| MetricTableRow {
            name: (*heading).into(),
            cells: columns
                .iter()
                .map(|(_, kind)| MetricId::of_variant(variant.clone(), *kind))
                .collect(),
        };
        Self {
            name: name.into(),
            columns: columns
                .iter()
                .map(|(heading, _)| (*heading).into())
                .collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    /// The table with `prefix/` in front of every metric name, for a nested benchmark.
    pub(super) fn with_prefix(&self, prefix: &str) -> Self {
        let mut table = self.clone();
        table.name = format!("{prefix}/{}", self.name).into();
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
            *cell = cell.nested_in(prefix);
        }
        table
    }
}
