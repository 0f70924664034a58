//! Requests as pictures: how long they took, and where they went, over time. Bounded.

use std::collections::VecDeque;

use super::operation::Operation;
use super::request::Request;

/// Columns that are kept, the newest.
pub const COLUMNS: usize = 240;
/// Rows of the heat map for each power of ten.
const ROWS_PER_DECADE: usize = 4;
/// Lower end of the first row in nanoseconds.
const FIRST_ROW_NS: f64 = 1_000.0;
/// From 1 us to 100 s.
pub const ROWS: usize = 8 * ROWS_PER_DECADE;
/// Points kept of one column; when there are more, every other one goes.
const POINTS: usize = 64;

/// Columns of time, each as wide as the others; the oldest go when there are too many.
#[derive(Debug, Clone)]
struct Ring<C> {
    width_ns: u64,
    /// Number of the first column that is kept, counted from time 0.
    first: u64,
    columns: VecDeque<C>,
}

impl<C: Default> Ring<C> {
    fn new(width_ns: u64) -> Self {
        Self {
            width_ns: width_ns.max(1),
            first: 0,
            columns: VecDeque::new(),
        }
    }

    /// The column of a time; `None` where that has gone already.
    fn column(&mut self, at: u64) -> Option<&mut C> {
        let number = at / self.width_ns;
        if self.columns.is_empty() || number >= self.first + (2 * COLUMNS) as u64 {
            self.columns.clear();
            self.first = number;
        }
        let index = number.checked_sub(self.first)? as usize;
        while self.columns.len() <= index {
            self.columns.push_back(C::default());
        }
        let surplus = self.columns.len().saturating_sub(COLUMNS);
        self.columns.drain(..surplus);
        self.first += surplus as u64;
        self.columns.get_mut(index - surplus)
    }

    /// Columns with the time at which each begins.
    fn iter(&self) -> impl Iterator<Item = (u64, &C)> {
        (self.first..)
            .map(|number| number * self.width_ns)
            .zip(&self.columns)
    }
}

/// How many reads and how many others.
pub type Counts = [u32; 2];

fn side(operation: Operation) -> usize {
    usize::from(operation != Operation::Read)
}

/// How long requests took, against the time at which they were complete.
#[derive(Debug, Clone)]
pub struct Heat {
    ring: Ring<Box<Rows>>,
}

#[derive(Debug, Clone)]
struct Rows([Counts; ROWS]);

impl Default for Rows {
    fn default() -> Self {
        Self([[0; 2]; ROWS])
    }
}

impl Heat {
    /// Columns of this width in nanoseconds.
    #[must_use]
    pub fn new(width_ns: u64) -> Self {
        Self {
            ring: Ring::new(width_ns),
        }
    }

    /// Takes note of a request whose queueing was seen.
    pub fn record(&mut self, request: &Request) {
        let Some(taken) = request.times.stages().q2c else {
            return;
        };
        if let Some(column) = self.ring.column(request.times.completed) {
            let cell = &mut column.0[row(taken)][side(request.operation)];
            *cell = cell.saturating_add(1);
        }
    }

    /// Columns, the oldest first: the time at which it begins, and its counts by row.
    pub fn columns(&self) -> impl Iterator<Item = (u64, &[Counts; ROWS])> {
        self.ring.iter().map(|(at, rows)| (at, &rows.0))
    }

    /// Where a row begins, in nanoseconds.
    #[must_use]
    pub fn row_begins(row: usize) -> f64 {
        FIRST_ROW_NS * 10_f64.powf(row as f64 / ROWS_PER_DECADE as f64)
    }
}

fn row(nanoseconds: u64) -> usize {
    let decades = (nanoseconds as f64 / FIRST_ROW_NS).log10();
    // Negative for anything shorter than the first row, which takes it.
    ((decades * ROWS_PER_DECADE as f64).max(0.0) as usize).min(ROWS - 1)
}

/// A request's place and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When it was first seen.
    pub at: u64,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Whether it only reads.
    pub is_read: bool,
}

/// Where requests went, against time: of each column of time an even selection of its requests.
#[derive(Debug, Clone)]
pub struct Scatter {
    ring: Ring<Selection>,
}

/// Every n-th of the points that came.
#[derive(Debug, Clone)]
struct Selection {
    points: Vec<Point>,
    every: u32,
    passed: u32,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            every: 1,
            passed: 0,
        }
    }
}

impl Selection {
    fn add(&mut self, point: Point) {
        self.passed += 1;
        if self.passed < self.every {
            return;
        }
        self.passed = 0;
        if self.points.len() == POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every = self.every.saturating_mul(2);
        }
        self.points.push(point);
    }
}

impl Scatter {
    /// Columns of this width in nanoseconds.
    #[must_use]
    pub fn new(width_ns: u64) -> Self {
        Self {
            ring: Ring::new(width_ns),
        }
    }

    /// Takes note of a request that has a place.
    pub fn record(&mut self, request: &Request) {
        if matches!(request.operation, Operation::Flush | Operation::Other) {
            return;
        }
        let point = Point {
            at: request.times.first(),
            sector: request.sector,
            is_read: request.operation == Operation::Read,
        };
        if let Some(column) = self.ring.column(point.at) {
            column.add(point);
        }
    }

    /// The points that are kept, by column of time.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.ring.iter().flat_map(|(_, column)| &column.points)
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Times;
    use super::*;
    use proptest::prelude::*;

    fn request(queued: u64, completed: u64, sector: u64) -> Request {
        Request {
            sector,
            times: Times {
                queued: Some(queued),
                completed,
                ..Times::default()
            },
            ..Request::plain()
        }
    }

    #[test]
    fn rows_are_powers_of_ten_in_quarters() {
        assert_eq!(row(0), 0);
        assert_eq!(row(999), 0);
        assert_eq!(row(10_001), 4);
        assert_eq!(row(1_000_001), 12);
        assert_eq!(row(u64::MAX), ROWS - 1);
        assert!((Heat::row_begins(4) - 10_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_newest_columns_are_kept() {
        let mut heat = Heat::new(10);
        for column in 0..300 {
            heat.record(&request(column * 10, column * 10 + 5, 0));
        }
        let columns: Vec<_> = heat.columns().collect();
        assert_eq!(columns.len(), COLUMNS);
        assert_eq!(columns[0].0, 600);
        assert_eq!(columns[COLUMNS - 1].1[0], [1, 0]);
        // Too late for a column that has gone.
        heat.record(&request(0, 5, 0));
        assert_eq!(heat.columns().count(), COLUMNS);
        // After a long pause it starts anew.
        heat.record(&request(0, 1 << 40, 0));
        assert_eq!(heat.columns().count(), 1);
    }

    #[test]
    fn many_requests_leave_an_even_selection() {
        let mut scatter = Scatter::new(1 << 40);
        for sector in 0..10_000 {
            scatter.record(&request(sector, sector + 1, sector));
        }
        let sectors: Vec<u64> = scatter.points().map(|point| point.sector).collect();
        assert!((POINTS / 2..=POINTS).contains(&sectors.len()));
        let steps: Vec<u64> = sectors.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
        assert!(most <= &(2 * least), "{steps:?}");
    }

    proptest! {
        #[test]
        fn any_order_of_times_is_bounded(times in proptest::collection::vec(any::<u64>(), 0..100)) {
            let (mut heat, mut scatter) = (Heat::new(1000), Scatter::new(1000));
            for at in times {
                heat.record(&request(at / 2, at, 0));
                scatter.record(&request(at, at, at));
            }
            prop_assert!(heat.columns().count() <= COLUMNS);
            prop_assert!(scatter.points().count() <= COLUMNS * POINTS);
        }
    }
}
