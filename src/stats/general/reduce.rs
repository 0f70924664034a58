//! Reduces long series to the width of a chart.

/// At most four points for each of `columns` columns between the bounds: the first, the lowest, the
/// highest and the last, so that a line through them looks like a line through all. The points are
/// in ascending order of x; points that are not finite are dropped.
pub fn reduce_by_column(points: &[[f64; 2]], bounds: [f64; 2], columns: usize) -> Vec<[f64; 2]> {
    let span = bounds[1] - bounds[0];
    let columns = columns.max(1);
    let mut sorted: Vec<_> = points
        .iter()
        .copied()
        .filter(|point| point.iter().all(|value| value.is_finite()))
        .collect();
    sorted.sort_by(|left, right| left[0].total_cmp(&right[0]));
    if sorted.len() <= columns * 2 || span <= 0.0 {
        return sorted;
    }
    let column = |x: f64| (((x - bounds[0]) / span * columns as f64) as usize).min(columns - 1);
    let mut kept = Vec::with_capacity(columns * 4);
    for chunk in sorted.chunk_by(|left, right| column(left[0]) == column(right[0])) {
        push_extremes(chunk, &mut kept);
    }
    kept
}

fn push_extremes(chunk: &[[f64; 2]], kept: &mut Vec<[f64; 2]>) {
    let by_height = |index: &usize, other: &usize| chunk[*index][1].total_cmp(&chunk[*other][1]);
    let lowest = (0..chunk.len()).min_by(by_height);
    let highest = (0..chunk.len()).max_by(by_height);
    let mut indices: Vec<_> = [Some(0), lowest, highest, chunk.len().checked_sub(1)]
        .into_iter()
        .flatten()
        .collect();
    indices.sort_unstable();
    indices.dedup();
    kept.extend(indices.into_iter().map(|index| chunk[index]));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reduction_keeps_single_spike() {
        let mut points: Vec<_> = (0..100_000).map(|x| [f64::from(x), 1.0]).collect();
        points[54_321][1] = 99.0;
        let reduced = reduce_by_column(&points, [0.0, 100_000.0], 200);
        assert!(reduced.len() <= 800);
        assert!(reduced.contains(&[54_321.0, 99.0]));
        assert_eq!(reduced.first(), points.first());
        assert_eq!(reduced.last(), points.last());
    }

    proptest! {
        #[test]
        fn reduction_keeps_extremes_and_order(
            heights in prop::collection::vec(-1e9..1e9_f64, 1..3000),
            columns in 1..200_usize,
        ) {
            let points: Vec<_> = heights.iter().enumerate().map(|(x, y)| [x as f64, *y]).collect();
            let reduced = reduce_by_column(&points, [0.0, points.len() as f64], columns);
            let range = |points: &[[f64; 2]]| points.iter().fold(
                (f64::MAX, f64::MIN), |(low, high), [_, y]| (low.min(*y), high.max(*y)));
            prop_assert_eq!(range(&reduced), range(&points));
            prop_assert!(reduced.windows(2).all(|pair| pair[0][0] < pair[1][0]));
            prop_assert!(reduced.len() <= points.len().min(columns * 4).max(columns * 2));
        }
    }
}
