//! Whether a distribution has two hills.

/// Rows of the histogram per octave: finer ones are noise.
const PER_OCTAVE: f64 = 4.0;
/// Share of the observations that each hill needs.
const LEAST_SHARE: f64 = 0.1;
/// What lies between the hills is at most this share of the lower one's height.
const VALLEY: f64 = 0.2;
/// The hills' medians are at least this factor apart.
const APART: f64 = 2.5;
/// Fewer observations make hills by chance.
const LEAST: u64 = 200;

/// Two hills of one distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// Share of the observations in the lower hill, 0 to 1.
    pub fast_share: f64,
    /// Median of the lower hill.
    pub fast: f64,
    /// Median of the upper hill.
    pub slow: f64,
}

/// Finds two hills in a histogram `[low, high, count]`, ascending, on a logarithmic scale, on which
/// response times of one kind make one hill. `None` when there is one, or too little.
///
/// The valley is where the count falls deepest below the lower of the highest places on both
/// sides (the test for a dip, by Hartigan and Hartigan, Annals of Statistics 13 (1985), in its
/// simplest form: a histogram with fixed thresholds, chosen so that a dip is worth being told).
#[must_use]
pub fn two_modes(histogram: &[[u64; 3]]) -> Option<Modes> {
    let total: u64 = histogram.iter().map(|bin| bin[2]).sum();
    if total < LEAST {
        return None;
    }
    let rows = rows(histogram)?;
    let valley = valley(&rows, total)?;
    let split = |row: &&Row| row.index < valley;
    let (lower, upper): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(split);
    let (fast, slow) = (median(&lower)?, median(&upper)?);
    let below: u64 = lower.iter().map(|row| row.count).sum();
    (slow >= APART * fast).then(|| Modes {
        fast_share: below as f64 / total as f64,
        fast,
        slow,
    })
}

/// A row of the coarser histogram.
struct Row {
    index: usize,
    middle: f64,
    count: u64,
}

/// The histogram in quarters of octaves, empty rows included.
fn rows(histogram: &[[u64; 3]]) -> Option<Vec<Row>> {
    let place = |value: u64| ((value.max(1) as f64).log2() * PER_OCTAVE) as usize;
    let first = place(histogram.first()?[0]);
    let last = place(histogram.last()?[0]);
    let mut rows: Vec<Row> = (first..=last)
        .enumerate()
        .map(|(index, place)| Row {
            index,
            middle: ((place as f64 + 0.5) / PER_OCTAVE).exp2(),
            count: 0,
        })
        .collect();
    for [low, _, count] in histogram {
        rows[place(*low) - first].count += count;
    }
    Some(rows)
}

/// The row after the lowest place of the deepest valley between two hills that are large enough.
fn valley(rows: &[Row], total: u64) -> Option<usize> {
    let height = |part: &[Row]| part.iter().map(|row| row.count).max().unwrap_or(0);
    let enough = |part: &[Row]| {
        let count: u64 = part.iter().map(|row| row.count).sum();
        count as f64 >= LEAST_SHARE * total as f64
    };
    let depth = |at: usize| {
        let (left, right) = (&rows[..at], &rows[at + 1..]);
        let lower = height(left).min(height(right)).max(1);
        (enough(left) && enough(right)).then(|| rows[at].count as f64 / lower as f64)
    };
    (1..rows.len().saturating_sub(1))
        .filter_map(|at| Some((at, depth(at)?)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
        .filter(|(_, depth)| *depth <= VALLEY)
        .map(|(at, _)| at + 1)
}

fn median(rows: &[&Row]) -> Option<f64> {
    let total: u64 = rows.iter().map(|row| row.count).sum();
    let mut seen = 0;
    rows.iter()
        .find(|row| {
            seen += row.count;
            2 * seen >= total
        })
        .map(|row| row.middle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::latency::Latency;

    fn modes(values: impl IntoIterator<Item = u64>) -> Option<Modes> {
        let mut latency = Latency::default();
        values.into_iter().for_each(|value| latency.record(value));
        two_modes(&latency.bins(16))
    }

    /// Values from `low` up to twice that, evenly.
    fn hill(low: u64, count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |index| low + index * low / count)
    }

    #[test]
    fn fast_and_slow_requests_are_two_hills() {
        let found = modes(hill(80_000, 700).chain(hill(4_000_000, 300))).unwrap();
        assert!((found.fast_share - 0.7).abs() < 1e-9, "{found:?}");
        assert!((80_000.0..160_000.0).contains(&found.fast), "{found:?}");
        assert!((4e6..8e6).contains(&found.slow), "{found:?}");
    }

    #[test]
    fn one_hill_a_tail_or_too_little_is_not_two() {
        assert_eq!(modes(hill(80_000, 1000)), None);
        assert_eq!(
            modes(hill(80_000, 950).chain(hill(4_000_000, 50))),
            None,
            "5 % is a tail"
        );
        assert_eq!(
            modes(hill(80_000, 70).chain(hill(4_000_000, 30))),
            None,
            "too few"
        );
        assert_eq!(
            modes(hill(80_000, 500).chain(hill(120_000, 500))),
            None,
            "close together"
        );
        assert_eq!(modes([]), None);
    }

    #[test]
    fn laws_of_one_kind_have_one_hill() {
        let exponential = (1..5000).map(|index| (-(f64::from(index) / 5000.0).ln() * 1e6) as u64);
        assert_eq!(modes(exponential), None);
        let platter = (0..3000).map(|index| 3_000_000 + index * 8_333_333 / 3000);
        assert_eq!(modes(platter), None);
    }

    proptest! {
        #[test]
        fn hills_lie_within_what_was_observed(values in prop::collection::vec(1_u64..1 << 40, 0..500)) {
            if let Some(found) = modes(values.clone()) {
                let (least, most) = (values.iter().min().unwrap(), values.iter().max().unwrap());
                prop_assert!(found.fast < found.slow);
                prop_assert!(found.fast * 1.2 >= *least as f64 && found.slow <= *most as f64 * 1.2);
                prop_assert!((0.09..=0.91).contains(&found.fast_share));
            }
        }
    }
}
