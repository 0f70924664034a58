//! The columns of the process list, and its order.

use std::cmp::Ordering;

use crate::app::column_step::VisibleColumns;
use crate::columns::{self, Column};
use crate::snapshot::view::ProcessView;
use crate::units::Unit;

/// A column of the process list.
pub type ProcessColumn = &'static Column<ProcessView>;

/// Keys of the columns of bytes, and of those that have them as totals.
const BYTES: [(&str, &str); 2] = [
    ("read_bytes_per_s", "read_accumulated_bytes"),
    ("write_bytes_per_s", "write_accumulated_bytes"),
];

/// The columns, from left to right.
#[must_use]
pub fn process_columns() -> Vec<ProcessColumn> {
    columns::on_screen().collect()
}

/// The columns of bytes read and written, by which the list is sorted without a choice.
#[must_use]
pub fn byte_columns() -> Vec<ProcessColumn> {
    let keys = BYTES.iter();
    keys.filter_map(|(rate, _)| columns::column(rate)).collect()
}

/// What a column shows: with `totals`, bytes since the first sample instead of rates.
#[must_use]
pub fn shown_column(column: ProcessColumn, totals: bool) -> ProcessColumn {
    let total = BYTES.iter().find(|(rate, _)| totals && *rate == column.key);
    let total = total.and_then(|(_, total)| columns::column(total));
    total.unwrap_or(column)
}

/// The order of the process list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessOrder {
    /// The column; `None` sorts by reads and writes together, the busiest first.
    pub column: Option<ProcessColumn>,
    /// Largest or last first.
    pub descending: bool,
}

impl Default for ProcessOrder {
    fn default() -> Self {
        Self {
            column: None,
            descending: true,
        }
    }
}

impl ProcessOrder {
    /// Moves the sort to the next visible column to the right or left, and from the last one to the
    /// first.
    pub fn step_column(&mut self, forward: bool, is_visible: impl Fn(ProcessColumn) -> bool) {
        let visible = VisibleColumns::new(&process_columns(), self.column, is_visible);
        let columns = visible.columns;
        let count = columns.len();
        let place = |key| columns.iter().position(|it| it.key == key);
        let next = match (visible.current_index, forward) {
            // From the default order, which is by both together, to one of them.
            (None, true) => place(BYTES[0].0),
            (None, false) => place(BYTES[1].0),
            (Some(index), true) => Some((index + 1) % count),
            (Some(index), false) => Some((index + count - 1) % count),
        };
        self.column = next.map(|index| columns[index]);
        self.descending = self.column.is_none_or(Column::sorts_descending);
    }

    /// The number that it sorts by; `None` for columns of text and process ids.
    #[must_use]
    pub fn number(&self, process: &ProcessView, totals: bool) -> Option<Option<f64>> {
        match self.column {
            None => Some(total_bytes(process, totals)),
            Some(column) => column
                .sorts_descending()
                .then(|| shown_column(column, totals).number(process)),
        }
    }

    /// A difference that never changes the order: in bytes, or as a fraction.
    #[must_use]
    pub fn negligible_difference(&self) -> f64 {
        match self.column {
            Some(column) if column.unit == Unit::Ratio => 0.02,
            _ => 50e3,
        }
    }

    /// Compares two processes by their rates or, with `totals`, by their totals since the first
    /// sample. Unknown values sort last in both directions.
    #[must_use]
    pub fn compare(&self, left: &ProcessView, right: &ProcessView, totals: bool) -> Ordering {
        let by = match self.column {
            Some(column) => {
                let column = shown_column(column, totals);
                column.compare(left, right, self.descending)
            }
            None => match (total_bytes(left, totals), total_bytes(right, totals)) {
                (Some(left), Some(right)) if self.descending => right.total_cmp(&left),
                (Some(left), Some(right)) => left.total_cmp(&right),
                (left, right) => left.is_none().cmp(&right.is_none()),
            },
        };
        by.then((left.pid, left.tid).cmp(&(right.pid, right.tid)))
    }
}

/// Bytes read and written: per second, or since the first sample.
#[must_use]
pub fn transferred_bytes(process: &ProcessView, totals: bool) -> (Option<f64>, Option<f64>) {
    if totals {
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
        return (
            bytes(process.read_accumulated_bytes),
            bytes(process.write_accumulated_bytes),
        );
    }
    (process.read_bytes_per_s, process.write_bytes_per_s)
}

fn total_bytes(process: &ProcessView, totals: bool) -> Option<f64> {
    match transferred_bytes(process, totals) {
        (None, None) => None,
        (read, write) => Some(read.unwrap_or(0.0) + write.unwrap_or(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, read: Option<f64>) -> ProcessView {
        ProcessView {
            pid,
            tid: pid,
            read_bytes_per_s: read,
            ..ProcessView::default()
        }
    }

    #[test]
    fn processes_with_unknown_value_sort_last_in_both_orders() {
        let processes = [
            process(1, Some(5.0)),
            process(2, None),
            process(3, Some(9.0)),
        ];
        for (descending, expected) in [(true, [3, 1, 2]), (false, [1, 3, 2])] {
            let order = ProcessOrder {
                column: columns::column("read_bytes_per_s"),
                descending,
            };
            let mut sorted: Vec<_> = processes.iter().collect();
            sorted.sort_by(|left, right| order.compare(left, right, false));
            let pids: Vec<_> = sorted.iter().map(|process| process.pid).collect();
            assert_eq!(pids, expected);
        }
    }

    #[test]
    fn hidden_columns_are_not_sorted_by() {
        let mut order = ProcessOrder::default();
        let shown: [ProcessColumn; 3] =
            ["pid", "read_bytes_per_s", "command"].map(|key| columns::column(key).unwrap());
        for expected in [1, 2, 0, 1] {
            order.step_column(true, |column| shown.contains(&column));
            assert_eq!(order.column, Some(shown[expected]));
        }
    }

    #[test]
    fn sort_column_steps_reach_every_column_in_both_directions() {
        for forward in [true, false] {
            let mut order = ProcessOrder::default();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..process_columns().len() {
                order.step_column(forward, |_| true);
                seen.insert(order.column.map(|it| it.key));
            }
            assert_eq!(seen.len(), process_columns().len());
        }
    }
}
