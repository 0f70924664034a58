//! Latency and offset of requests over time, for the Requests screen. Bounded.

use std::collections::VecDeque;

use crate::trace::requests::{RequestOperation, TracedRequest};

/// Number of columns kept, the newest.
pub const MAX_COLUMNS: usize = 240;
/// Width of a column in nanoseconds: all columns together show a minute.
const COLUMN_NS: u64 = 250_000_000;
/// Rows of the heat map for each power of ten.
const ROWS_PER_DECADE: usize = 4;
/// Lower end of the first row in nanoseconds.
const FIRST_ROW_NS: f64 = 1_000.0;
/// From 1 us to 100 s.
pub const HEATMAP_ROWS: usize = 8 * ROWS_PER_DECADE;
/// Points kept per column, the first ones.
const MAX_POINTS_PER_COLUMN: usize = 64;

/// Number of reads, and of other requests.
pub type ReadOtherCounts = [u32; 2];
/// The counts of a column of the heat map, by row.
pub type HeatmapColumn = [ReadOtherCounts; HEATMAP_ROWS];

/// Lower end of a row of the heat map in nanoseconds.
#[must_use]
pub fn row_start_ns(row: usize) -> f64 {
    FIRST_ROW_NS * 10_f64.powf(row as f64 / ROWS_PER_DECADE as f64)
}

fn row_of(nanoseconds: u64) -> usize {
    let decades = (nanoseconds as f64 / FIRST_ROW_NS).log10();
    // Negative below the first row, which takes all shorter times.
    ((decades * ROWS_PER_DECADE as f64).max(0.0) as usize).min(HEATMAP_ROWS - 1)
}

/// Offset and time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScatterPoint {
    /// Time of its first event.
    pub queued_at: u64,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Whether it only reads.
    pub is_read: bool,
}

/// Time columns of equal width; the oldest are dropped when there are too many.
#[derive(Debug, Clone, Default)]
struct ColumnRing<C> {
    /// Number of the first column that is kept, counted from time 0.
    first: u64,
    columns: VecDeque<C>,
}

impl<C: Default> ColumnRing<C> {
    /// The column of a time; `None` if it has already been dropped.
    fn column_at(&mut self, at: u64) -> Option<&mut C> {
        let number = at / COLUMN_NS;
        if self.columns.is_empty() || number >= self.first + (2 * MAX_COLUMNS) as u64 {
            self.columns.clear();
            self.first = number;
        }
        let index = number.checked_sub(self.first)? as usize;
        while self.columns.len() <= index {
            self.columns.push_back(C::default());
        }
        let surplus = self.columns.len().saturating_sub(MAX_COLUMNS);
        self.columns.drain(..surplus);
        self.first += surplus as u64;
        self.columns.get_mut(index - surplus)
    }
}

/// Latency against the time of completion, and offset against the time of queueing.
#[derive(Debug, Clone, Default)]
pub struct RequestCharts {
    latencies: ColumnRing<Box<HeatmapColumn>>,
    offsets: ColumnRing<Vec<ScatterPoint>>,
}

impl RequestCharts {
    /// Records a request: its latency if its queueing was traced, its offset if it has one.
    pub fn record(&mut self, request: &TracedRequest) {
        let is_read = request.operation == RequestOperation::Read;
        let column = self.latencies.column_at(request.timestamps.completed);
        if let (Some(column), Some(taken)) = (column, request.timestamps.stages().q2c) {
            let cell = &mut column[row_of(taken)][usize::from(!is_read)];
            *cell = cell.saturating_add(1);
        }
        if matches!(
            request.operation,
            RequestOperation::Flush | RequestOperation::Other
        ) {
            return;
        }
        let queued_at = request.timestamps.first_timestamp();
        if let Some(column) = self.offsets.column_at(queued_at)
            && column.len() < MAX_POINTS_PER_COLUMN
        {
            column.push(ScatterPoint {
                queued_at,
                sector: request.sector,
                is_read,
            });
        }
    }

    /// Columns of the heat map, the oldest first: start time, and counts by row.
    pub fn heatmap(&self) -> impl Iterator<Item = (u64, HeatmapColumn)> {
        let numbers = self.latencies.first..;
        let columns = numbers.zip(&self.latencies.columns);
        columns.map(|(number, column)| (number * COLUMN_NS, **column))
    }

    /// The points that were kept.
    pub fn points(&self) -> impl Iterator<Item = ScatterPoint> {
        let columns = self.offsets.columns.iter();
        columns.flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(charts: &mut RequestCharts, queued: u64, completed: u64, sector: u64) {
        let mut request = TracedRequest {
            sector,
            ..TracedRequest::block_read()
        };
        request.timestamps.queued = Some(queued);
        request.timestamps.completed = completed;
        charts.record(&request);
    }

    #[test]
    fn heatmap_rows_are_quarter_decades() {
        let rows = [0, 999, 10_001, 1_000_001, u64::MAX].map(row_of);
        assert_eq!(rows, [0, 0, 4, 12, HEATMAP_ROWS - 1]);
        assert!((row_start_ns(4) - 10_000.0).abs() < 1e-6);
    }

    #[test]
    fn heatmap_keeps_the_newest_columns() {
        let mut charts = RequestCharts::default();
        for column in 0..300 {
            record(&mut charts, column * COLUMN_NS, column * COLUMN_NS + 5, 0);
        }
        let columns: Vec<_> = charts.heatmap().collect();
        assert_eq!((columns.len(), columns[0].0), (MAX_COLUMNS, 60 * COLUMN_NS));
        assert_eq!(columns[MAX_COLUMNS - 1].1[0], [1, 0]);
        // Too late for a column that has been dropped.
        record(&mut charts, 0, 5, 0);
        assert_eq!(charts.heatmap().count(), MAX_COLUMNS);
        // After a long pause it starts again.
        record(&mut charts, 0, 1 << 50, 0);
        assert_eq!(charts.heatmap().count(), 1);
    }

    proptest! {
        #[test]
        fn charts_are_bounded_for_any_time_order(times in proptest::collection::vec(any::<u64>(), 0..100)) {
            let mut charts = RequestCharts::default();
            for at in times {
                record(&mut charts, at / 2, at, at);
            }
            prop_assert!(charts.heatmap().count() <= MAX_COLUMNS);
            prop_assert!(charts.points().count() <= MAX_COLUMNS * MAX_POINTS_PER_COLUMN);
        }
    }
}
