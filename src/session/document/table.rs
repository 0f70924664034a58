//! Figures side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures arranged in rows and columns. It holds their names alone, so that table and list cannot
/// disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Name, which is its heading too.
    pub name: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// One row of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableRow {
    /// Heading of the row.
    pub name: String,
    /// For each column the name of the figure that belongs there; a figure that the run lacks is
    /// unknown.
    pub cells: Vec<String>,
}

impl Table {
    /// A table whose cells are the figures `ROW_COLUMN`: columns as `(heading, ending)`, rows as
    /// `(heading, beginning)` of the names.
    #[must_use]
    pub fn crossed(name: &str, columns: &[(&str, &str)], rows: &[(&str, &str)]) -> Self {
        let row = |(heading, beginning): &(&str, &str)| TableRow {
            name: (*heading).to_owned(),
            cells: columns
                .iter()
                .map(|(_, ending)| format!("{beginning}_{ending}"))
                .collect(),
        };
        Self {
            name: name.to_owned(),
            columns: columns
                .iter()
                .map(|(heading, _)| (*heading).to_owned())
                .collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    /// The same table of a part's figures.
    pub(super) fn prefixed(&self, prefix: &str) -> Self {
        let mut table = self.clone();
        table.name = format!("{prefix}/{}", self.name);
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
            *cell = format!("{prefix}/{cell}");
        }
        table
    }
}
