//! The columns of the process list, and its order.

use std::cmp::Ordering;

use crate::app::column_step::VisibleColumns;
use crate::snapshot::view::ProcessView;

/// A column of the process list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessColumn {
    /// Process id.
    Pid,
    /// Owner.
    User,
    /// Bytes read from devices per second.
    Read,
    /// Bytes written to devices per second.
    Write,
    /// Fraction of the bytes read that came from the page cache.
    CacheFraction,
    /// Fraction of time spent waiting for block I/O.
    IoWait,
    /// Fraction of time spent waiting for swap-in.
    SwapIn,
    /// I/O class and level.
    IoClass,
    /// Devices that it uses.
    Device,
    /// State, as the kernel reports it.
    KernelState,
    /// Command line.
    Command,
}

impl ProcessColumn {
    /// Every column, from left to right.
    pub const ALL: [Self; 11] = [
        Self::Pid,
        Self::User,
        Self::Read,
        Self::Write,
        Self::CacheFraction,
        Self::IoWait,
        Self::SwapIn,
        Self::IoClass,
        Self::Device,
        Self::KernelState,
        Self::Command,
    ];

    /// Its name in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pid => "pid",
            Self::User => "user",
            Self::Read => "read",
            Self::Write => "write",
            Self::CacheFraction => "cache",
            Self::IoWait => "io-wait",
            Self::SwapIn => "swap-in",
            Self::IoClass => "class",
            Self::Device => "device",
            Self::KernelState => "state",
            Self::Command => "command",
        }
    }

    /// Its index in [`Self::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        let mut all = Self::ALL.iter();
        all.position(|column| *column == self).unwrap_or(0)
    }

    /// Whether the column initially sorts in descending order.
    pub(super) fn sorts_descending(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Write | Self::CacheFraction | Self::IoWait | Self::SwapIn
        )
    }
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
        let visible = VisibleColumns::new(&ProcessColumn::ALL, self.column, is_visible);
        let columns = visible.columns;
        let count = columns.len();
        let next = match (visible.current_index, forward) {
            // From the default order, which is by both together, to one of them.
            (None, true) => columns.iter().position(|it| *it == ProcessColumn::Read),
            (None, false) => columns.iter().position(|it| *it == ProcessColumn::Write),
            (Some(index), true) => Some((index + 1) % count),
            (Some(index), false) => Some((index + count - 1) % count),
        };
        self.column = next.map(|index| columns[index]);
        self.descending = self.column.is_none_or(ProcessColumn::sorts_descending);
    }

    /// The number that it sorts by; `None` for columns of text.
    #[must_use]
    pub fn number(&self, process: &ProcessView, totals: bool) -> Option<Option<f64>> {
        Some(match self.column {
            None => total_bytes(process, totals),
            Some(ProcessColumn::Read) => transferred_bytes(process, totals).0,
            Some(ProcessColumn::Write) => transferred_bytes(process, totals).1,
            Some(ProcessColumn::CacheFraction) => process.cache_fraction,
            Some(ProcessColumn::IoWait) => process.io_wait,
            Some(ProcessColumn::SwapIn) => process.swap_in,
            Some(_) => return None,
        })
    }

    /// A difference that never changes the order: in bytes, or as a fraction.
    #[must_use]
    pub fn negligible_difference(&self) -> f64 {
        match self.column {
            Some(ProcessColumn::CacheFraction | ProcessColumn::IoWait | ProcessColumn::SwapIn) => {
                0.02
            }
            _ => 50e3,
        }
    }

    /// Compares two processes by their rates or, with `totals`, by their totals since the first
    /// sample. Unknown values sort last in both directions.
    #[must_use]
    pub fn compare(&self, left: &ProcessView, right: &ProcessView, totals: bool) -> Ordering {
        let by = match self.column {
            Some(ProcessColumn::Pid) => self.with_direction(left.pid.cmp(&right.pid)),
            Some(ProcessColumn::User) => self.with_direction(left.user.cmp(&right.user)),
            Some(ProcessColumn::IoClass) => self.with_direction(left.priority.cmp(&right.priority)),
            Some(ProcessColumn::Device) => {
                self.with_direction(left.device_names().cmp(right.device_names()))
            }
            Some(ProcessColumn::KernelState) => self.with_direction(left.state.cmp(&right.state)),
            Some(ProcessColumn::Command) => self.with_direction(left.command.cmp(&right.command)),
            _ => {
                let of = |process| self.number(process, totals).flatten();
                match (of(left), of(right)) {
                    (Some(left), Some(right)) => self.with_direction(left.total_cmp(&right)),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => Ordering::Equal,
                }
            }
        };
        by.then((left.pid, left.tid).cmp(&(right.pid, right.tid)))
    }

    fn with_direction(&self, ordering: Ordering) -> Ordering {
        if self.descending {
            ordering.reverse()
        } else {
            ordering
        }
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
                column: Some(ProcessColumn::Read),
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
        let shown = [
            ProcessColumn::Pid,
            ProcessColumn::Read,
            ProcessColumn::Command,
        ];
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
            for _ in 0..ProcessColumn::ALL.len() {
                order.step_column(forward, |_| true);
                seen.insert(order.column);
            }
            assert_eq!(seen.len(), ProcessColumn::ALL.len());
        }
    }
}
