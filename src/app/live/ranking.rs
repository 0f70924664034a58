//! An order of rows that changes only when there is a reason.
//!
//! Rates fluctuate: rows of equal load would change places with every sample. They are ranked by
//! smoothed values, and a row overtakes another only when it is larger by a margin.

use std::collections::HashMap;
use std::hash::Hash;

use crate::stats::sorting::SortList as _;

/// Weight of the latest value in the smoothed one.
const LATEST_WEIGHT: f64 = 0.3;
/// How many times as large a row has to be in order to overtake another.
const OVERTAKING_RATIO: f64 = 1.25;

/// The order of rows with the identities `K`.
#[derive(Debug, Clone)]
pub struct RowRanking<K> {
    smoothed: HashMap<K, f64>,
    order: Vec<K>,
    positions: HashMap<K, usize>,
}

impl<K> Default for RowRanking<K> {
    fn default() -> Self {
        Self {
            smoothed: HashMap::new(),
            order: Vec::new(),
            positions: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> RowRanking<K> {
    /// Forgets all rows, so that the next update sorts them by their values.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Ranks the rows by their latest values; unknown ones come last in either direction.
    /// Differences below `negligible` never change the order.
    pub fn update(&mut self, rows: &[(K, Option<f64>)], descending: bool, negligible: f64) {
        let mut smoothed = HashMap::with_capacity(rows.len());
        for (row, value) in rows {
            if let Some(latest) = value {
                let mean = self
                    .smoothed
                    .get(row)
                    .map_or(*latest, |before| before + (latest - before) * LATEST_WEIGHT);
                smoothed.insert(row.clone(), mean);
            }
        }
        self.smoothed = smoothed;
        let mut ranked: Vec<(K, f64)> = Vec::with_capacity(rows.len());
        for row in &self.order {
            if let Some(value) = self.smoothed.get(row) {
                ranked.push((row.clone(), *value));
            }
        }
        let mut fresh: Vec<(K, f64)> = rows
            .iter()
            .filter(|(row, _)| !self.positions.contains_key(row))
            .filter_map(|(row, _)| Some((row.clone(), *self.smoothed.get(row)?)))
            .collect();
        let sign = if descending { 1.0 } else { -1.0 };
        fresh.sort_list_by(|a, b| (b.1 * sign).total_cmp(&(a.1 * sign)));
        if ranked.is_empty() {
            ranked = fresh;
        } else {
            for (row, value) in fresh {
                let at = ranked.partition_point(|other| other.1 * sign >= value * sign);
                ranked.insert(at, (row, value));
            }
        }
        let overtakes = |below: f64, above: f64| {
            let (more, less) = if descending {
                (below, above)
            } else {
                (above, below)
            };
            more > less * OVERTAKING_RATIO && more - less > negligible
        };
        // An insertion sort: nearly sorted already, and stable where nothing overtakes.
        for index in 1..ranked.len() {
            let mut at = index;
            while at > 0 && overtakes(ranked[at].1, ranked[at - 1].1) {
                ranked.swap(at, at - 1);
                at -= 1;
            }
        }
        self.order = ranked.into_iter().map(|(row, _)| row).collect();
        self.positions = self.order.iter().cloned().zip(0..).collect();
    }

    /// The place of a row; the last of all where its value is unknown.
    #[must_use]
    pub fn position(&self, row: &K) -> usize {
        self.positions.get(row).copied().unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(ranking: &RowRanking<u32>) -> Vec<u32> {
        ranking.order.clone()
    }

    #[test]
    fn rows_of_equal_load_keep_their_places() {
        let mut ranking = RowRanking::default();
        let mut changes = 0;
        // Four equal copies whose rates fluctuate by a fifth.
        for second in 0..60_u32 {
            let rate = |row: u32| 100.0 + f64::from((second * 7 + row * 13) % 40) - 20.0;
            let rows: Vec<_> = (0..4).map(|row| (row, Some(rate(row)))).collect();
            let before = ranked(&ranking);
            ranking.update(&rows, true, 0.0);
            changes += usize::from(second > 0 && ranked(&ranking) != before);
        }
        assert!(changes <= 1, "{changes}");
    }

    #[test]
    fn much_larger_row_overtakes_within_seconds() {
        let mut ranking = RowRanking::default();
        ranking.update(&[(1, Some(100.0)), (2, Some(10.0)), (3, None)], true, 0.0);
        assert_eq!(ranked(&ranking), [1, 2]);
        for _ in 0..4 {
            ranking.update(&[(1, Some(100.0)), (2, Some(900.0)), (3, None)], true, 0.0);
        }
        assert_eq!(ranked(&ranking), [2, 1]);
        assert_eq!(ranking.position(&3), usize::MAX);
        ranking.update(
            &[(1, Some(100.0)), (2, Some(900.0)), (9, Some(300.0))],
            true,
            0.0,
        );
        assert_eq!(
            ranked(&ranking),
            [2, 9, 1],
            "a new row has the place of its value"
        );
    }

    #[test]
    fn ascending_order_is_the_reverse_and_negligible_differences_do_not_count() {
        let mut ranking = RowRanking::default();
        ranking.update(
            &[(1, Some(5.0)), (2, Some(1.0)), (3, Some(3.0))],
            false,
            0.0,
        );
        assert_eq!(ranked(&ranking), [2, 3, 1]);
        for _ in 0..9 {
            ranking.update(
                &[(1, Some(0.0)), (2, Some(1.0)), (3, Some(3.0))],
                false,
                10.0,
            );
        }
        assert_eq!(ranked(&ranking), [2, 3, 1]);
    }
}
