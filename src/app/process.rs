//! The columns of the process list, and its order.

use std::cmp::Ordering;

use crate::model::live::ProcessView;

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
    /// Share of what was read that came from the cache.
    Cache,
    /// Share of time spent waiting for block I/O.
    IoWait,
    /// Share of time spent waiting for memory to be swapped in.
    SwapIn,
    /// I/O class and level.
    Class,
    /// Devices that it works on.
    Device,
    /// Kernel's state.
    State,
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
        Self::Cache,
        Self::IoWait,
        Self::SwapIn,
        Self::Class,
        Self::Device,
        Self::State,
        Self::Command,
    ];

    fn step(self, by: usize) -> Self {
        let place = Self::ALL.iter().position(|column| *column == self);
        Self::ALL[(place.unwrap_or(0) + by) % Self::ALL.len()]
    }

    /// Whether the largest come first when it is chosen.
    fn descends(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Write | Self::Cache | Self::IoWait | Self::SwapIn
        )
    }
}

/// The order of the process list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// By which column; `None`: by reads and writes together, the busiest first.
    pub column: Option<ProcessColumn>,
    /// Largest or last first.
    pub descending: bool,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            column: None,
            descending: true,
        }
    }
}

impl Order {
    /// By the next column to the right, or the left.
    pub fn step(&mut self, forward: bool) {
        let by = if forward {
            1
        } else {
            ProcessColumn::ALL.len() - 1
        };
        let column = match self.column {
            Some(column) => column.step(by),
            None if forward => ProcessColumn::Read,
            None => ProcessColumn::Write,
        };
        self.column = Some(column);
        self.descending = column.descends();
    }

    /// Compares two processes by their rates, or, with `totals`, by what they moved since they were
    /// seen first. What is unknown comes last in both directions.
    #[must_use]
    pub fn compare(&self, left: &ProcessView, right: &ProcessView, totals: bool) -> Ordering {
        let by_number = |of: &dyn Fn(&ProcessView) -> Option<f64>| match (of(left), of(right)) {
            (Some(left), Some(right)) => self.directed(left.total_cmp(&right)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        let by = match self.column {
            None => by_number(&|process| total(process, totals)),
            Some(ProcessColumn::Pid) => self.directed(left.pid.cmp(&right.pid)),
            Some(ProcessColumn::User) => self.directed(left.user.cmp(&right.user)),
            Some(ProcessColumn::Read) => by_number(&|process| moved(process, totals).0),
            Some(ProcessColumn::Write) => by_number(&|process| moved(process, totals).1),
            Some(ProcessColumn::Cache) => by_number(&|process| process.cached),
            Some(ProcessColumn::IoWait) => by_number(&|process| process.io_wait),
            Some(ProcessColumn::SwapIn) => by_number(&|process| process.swap_in),
            Some(ProcessColumn::Class) => self.directed(left.priority.cmp(&right.priority)),
            Some(ProcessColumn::Device) => self.directed(left.devices.cmp(&right.devices)),
            Some(ProcessColumn::State) => self.directed(left.state.cmp(&right.state)),
            Some(ProcessColumn::Command) => self.directed(left.command.cmp(&right.command)),
        };
        by.then((left.pid, left.tid).cmp(&(right.pid, right.tid)))
    }

    fn directed(&self, ordering: Ordering) -> Ordering {
        if self.descending {
            ordering.reverse()
        } else {
            ordering
        }
    }
}

/// Bytes read and written: per second, or since it was seen first.
#[must_use]
pub fn moved(process: &ProcessView, totals: bool) -> (Option<f64>, Option<f64>) {
    if totals {
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
        return (
            bytes(process.read_accumulated_bytes),
            bytes(process.write_accumulated_bytes),
        );
    }
    (process.read_bytes_per_s, process.write_bytes_per_s)
}

fn total(process: &ProcessView, totals: bool) -> Option<f64> {
    match moved(process, totals) {
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
    fn the_unknown_comes_last_in_both_directions() {
        let processes = [
            process(1, Some(5.0)),
            process(2, None),
            process(3, Some(9.0)),
        ];
        for (descending, expected) in [(true, [3, 1, 2]), (false, [1, 3, 2])] {
            let order = Order {
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
    fn every_column_is_reached_in_both_directions() {
        for forward in [true, false] {
            let mut order = Order::default();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..ProcessColumn::ALL.len() {
                order.step(forward);
                seen.insert(order.column);
            }
            assert_eq!(seen.len(), ProcessColumn::ALL.len());
        }
    }
}
