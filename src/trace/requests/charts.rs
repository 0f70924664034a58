//! Latency and offset of requests over time. Bounded.

use std::collections::VecDeque;

use super::operation::RequestOperation;
use super::request::TracedRequest;

/// Number of columns kept, the newest.
pub const MAX_COLUMNS: usize = 240;
/// Rows of the heat map for each power of ten.
const ROWS_PER_DECADE: usize = 4;
/// Lower end of the first row in nanoseconds.
const FIRST_ROW_NS: f64 = 1_000.0;
/// From 1 us to 100 s.
pub const HEATMAP_ROWS: usize = 8 * ROWS_PER_DECADE;
/// Points kept per column; when there are more, every other one is dropped.
const MAX_POINTS_PER_COLUMN: usize = 64;

/// Time columns of equal width; the oldest are dropped when there are too many.
#[derive(Debug, Clone)]
struct ColumnRing<C> {
    column_width_ns: u64,
    /// Number of the first column that is kept, counted from time 0.
    first_column: u64,
    columns: VecDeque<C>,
}

impl<C: Default> ColumnRing<C> {
    fn new(width_ns: u64) -> Self {
        Self {
            column_width_ns: width_ns.max(1),
            first_column: 0,
            columns: VecDeque::new(),
        }
    }

    /// The column of a time; `None` if it has already been dropped.
    fn column_at(&mut self, at: u64) -> Option<&mut C> {
        let number = at / self.column_width_ns;
        if self.columns.is_empty() || number >= self.first_column + (2 * MAX_COLUMNS) as u64 {
            self.columns.clear();
            self.first_column = number;
        }
        let index = number.checked_sub(self.first_column)? as usize;
        while self.columns.len() <= index {
            self.columns.push_back(C::default());
        }
        let surplus = self.columns.len().saturating_sub(MAX_COLUMNS);
        self.columns.drain(..surplus);
        self.first_column += surplus as u64;
        self.columns.get_mut(index - surplus)
    }

    /// Columns with their start times.
    fn iter(&self) -> impl Iterator<Item = (u64, &C)> {
        (self.first_column..)
            .map(|number| number * self.column_width_ns)
            .zip(&self.columns)
    }
}

/// Number of reads, and of other requests.
pub type ReadOtherCounts = [u32; 2];

fn read_other_index(operation: RequestOperation) -> usize {
    usize::from(operation != RequestOperation::Read)
}

/// Latency of requests against completion time.
#[derive(Debug, Clone)]
pub struct LatencyHeatmap {
    column_ring: ColumnRing<Box<HeatmapColumn>>,
}

#[derive(Debug, Clone)]
struct HeatmapColumn([ReadOtherCounts; HEATMAP_ROWS]);

impl Default for HeatmapColumn {
    fn default() -> Self {
        Self([[0; 2]; HEATMAP_ROWS])
    }
}

impl LatencyHeatmap {
    /// Creates columns of this width in nanoseconds.
    #[must_use]
    pub fn new(width_ns: u64) -> Self {
        Self {
            column_ring: ColumnRing::new(width_ns),
        }
    }

    /// Records a request whose queueing was traced.
    pub fn record(&mut self, request: &TracedRequest) {
        let Some(taken) = request.timestamps.stages().q2c else {
            return;
        };
        if let Some(column) = self.column_ring.column_at(request.timestamps.completed) {
            let cell = &mut column.0[row_of(taken)][read_other_index(request.operation)];
            *cell = cell.saturating_add(1);
        }
    }

    /// Columns, the oldest first: start time, and counts by row.
    pub fn columns(&self) -> impl Iterator<Item = (u64, &[ReadOtherCounts; HEATMAP_ROWS])> {
        self.column_ring.iter().map(|(at, rows)| (at, &rows.0))
    }

    /// Lower end of a row in nanoseconds.
    #[must_use]
    pub fn row_start_ns(row: usize) -> f64 {
        FIRST_ROW_NS * 10_f64.powf(row as f64 / ROWS_PER_DECADE as f64)
    }
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

/// Offset of requests against time: an even sample of the requests of each column.
#[derive(Debug, Clone)]
pub struct RequestScatter {
    column_ring: ColumnRing<PointSelection>,
}

/// Every n-th of the recorded points.
#[derive(Debug, Clone)]
struct PointSelection {
    points: Vec<ScatterPoint>,
    keep_every: u32,
    skipped_points: u32,
}

impl Default for PointSelection {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            keep_every: 1,
            skipped_points: 0,
        }
    }
}

impl PointSelection {
    fn add(&mut self, point: ScatterPoint) {
        self.skipped_points += 1;
        if self.skipped_points < self.keep_every {
            return;
        }
        self.skipped_points = 0;
        if self.points.len() == MAX_POINTS_PER_COLUMN {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.keep_every = self.keep_every.saturating_mul(2);
        }
        self.points.push(point);
    }
}

impl RequestScatter {
    /// Creates columns of this width in nanoseconds.
    #[must_use]
    pub fn new(width_ns: u64) -> Self {
        Self {
            column_ring: ColumnRing::new(width_ns),
        }
    }

    /// Records a request that has an offset.
    pub fn record(&mut self, request: &TracedRequest) {
        if matches!(
            request.operation,
            RequestOperation::Flush | RequestOperation::Other
        ) {
            return;
        }
        let point = ScatterPoint {
            queued_at: request.timestamps.first_timestamp(),
            sector: request.sector,
            is_read: request.operation == RequestOperation::Read,
        };
        if let Some(column) = self.column_ring.column_at(point.queued_at) {
            column.add(point);
        }
    }

    /// The points kept, by column.
    pub fn points(&self) -> impl Iterator<Item = &ScatterPoint> {
        self.column_ring
            .iter()
            .flat_map(|(_, column)| &column.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::requests::request::RequestTimestamps;
    use proptest::prelude::*;

    fn request(queued: u64, completed: u64, sector: u64) -> TracedRequest {
        TracedRequest {
            sector,
            timestamps: RequestTimestamps {
                queued: Some(queued),
                completed,
                ..RequestTimestamps::default()
            },
            ..TracedRequest::block_read()
        }
    }

    #[test]
    fn heatmap_rows_are_quarter_decades() {
        assert_eq!(row_of(0), 0);
        assert_eq!(row_of(999), 0);
        assert_eq!(row_of(10_001), 4);
        assert_eq!(row_of(1_000_001), 12);
        assert_eq!(row_of(u64::MAX), HEATMAP_ROWS - 1);
        assert!((LatencyHeatmap::row_start_ns(4) - 10_000.0).abs() < 1e-6);
    }

    #[test]
    fn heatmap_keeps_the_newest_columns() {
        let mut heat = LatencyHeatmap::new(10);
        for column in 0..300 {
            heat.record(&request(column * 10, column * 10 + 5, 0));
        }
        let columns: Vec<_> = heat.columns().collect();
        assert_eq!(columns.len(), MAX_COLUMNS);
        assert_eq!(columns[0].0, 600);
        assert_eq!(columns[MAX_COLUMNS - 1].1[0], [1, 0]);
        // Too late for a column that has been dropped.
        heat.record(&request(0, 5, 0));
        assert_eq!(heat.columns().count(), MAX_COLUMNS);
        // After a long pause it starts again.
        heat.record(&request(0, 1 << 40, 0));
        assert_eq!(heat.columns().count(), 1);
    }

    #[test]
    fn scatter_keeps_evenly_spaced_points() {
        let mut scatter = RequestScatter::new(1 << 40);
        for sector in 0..10_000 {
            scatter.record(&request(sector, sector + 1, sector));
        }
        let sectors: Vec<u64> = scatter.points().map(|point| point.sector).collect();
        assert!((MAX_POINTS_PER_COLUMN / 2..=MAX_POINTS_PER_COLUMN).contains(&sectors.len()));
        let steps: Vec<u64> = sectors.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
        assert!(most <= &(2 * least), "{steps:?}");
    }

    proptest! {
        #[test]
        fn heatmap_and_scatter_are_bounded_for_any_time_order(times in proptest::collection::vec(any::<u64>(), 0..100)) {
            let (mut heat, mut scatter) = (LatencyHeatmap::new(1000), RequestScatter::new(1000));
            for at in times {
                heat.record(&request(at / 2, at, 0));
                scatter.record(&request(at, at, at));
            }
            prop_assert!(heat.columns().count() <= MAX_COLUMNS);
            prop_assert!(scatter.points().count() <= MAX_COLUMNS * MAX_POINTS_PER_COLUMN);
        }
    }
}
