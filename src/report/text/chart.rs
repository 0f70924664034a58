//! Charts as rows of bars.

use std::fmt::Write as _;

use crate::report::blocks::values::TableUnit;
use crate::report::blocks::{Chart, Curve};
use crate::report::words::{append_wrapped, session_letter};
use crate::session::document::{LatencySummary, Metric, MetricId};
use crate::stats::sorting::SortList as _;
use crate::units;

/// Maximum width of a bar, in characters.
const MAX_BAR_WIDTH: usize = 40;
/// Maximum width of a bar behind the letter of its curve or a confidence interval.
const MAX_SHORT_BAR_WIDTH: usize = 20;
/// Columns for a point's confidence interval.
const INTERVAL_WIDTH: usize = 20;
/// Maximum number of rows of a chart or histogram; more are merged.
const MAX_CHART_ROWS: usize = 16;

/// Which points a row of a chart shows: from the first bound, up to the second.
type Row = [f64; 2];

/// A chart as rows of x, each with the mean of every curve's points in it and, where each point has its
/// own row, its 95 % confidence interval. Empty where no curve has three points: a line between two adds
/// nothing to the metrics.
pub(super) fn chart_text(chart: &Chart) -> String {
    let rows = chart_rows(chart);
    let means = chart.curves.iter().flat_map(|curve| {
        let means = rows.iter().filter_map(|row| row_of_curve(curve, row));
        means.map(|(mean, _)| mean)
    });
    let means: Vec<f64> = means.collect();
    let metric = |mean: f64| Metric::with_unit(MetricId::parse(""), mean, chart.y.unit);
    let unit = TableUnit::of(means.iter().map(|mean| metric(*mean)));
    let highest = means.into_iter().fold(0.0, f64::max);
    if highest <= 0.0 || chart.curves.iter().all(|curve| curve.points.len() < 3) {
        return String::new();
    }
    let mut text = format!("\n{}\n", chart.title.to_uppercase());
    let several = chart.curves.len() > 1;
    if several {
        let names = chart.curves.iter().enumerate();
        let names = names.map(|(index, curve)| format!("{} {}", session_letter(index), curve.name));
        append_wrapped(&mut text, "  ", &names.collect::<Vec<_>>().join(", "));
    }
    let bounded = chart.curves.iter().any(|curve| !curve.intervals.is_empty());
    let shows_limits = bounded && rows.iter().all(|[from, to]| from == to);
    let widest = if several || bounded {
        MAX_SHORT_BAR_WIDTH
    } else {
        MAX_BAR_WIDTH
    };
    for row in &rows {
        let mut x = chart.x.format(row[0]);
        for (index, curve) in chart.curves.iter().enumerate() {
            let Some((mean, interval)) = row_of_curve(curve, row) else {
                continue;
            };
            let mut line = format!("  {x:>10}");
            if several {
                let _ = write!(line, " {}", session_letter(index));
            }
            let mut metric = metric(mean);
            let _ = write!(line, " {:>12}  ", unit.value(&metric));
            if let Some([low, high]) = interval {
                metric = metric.with_interval(low, high);
            }
            if shows_limits {
                let _ = write!(line, "{:<INTERVAL_WIDTH$} ", unit.interval(&metric));
            }
            let length = (mean / highest * widest as f64).max(0.0).round() as usize;
            line.push_str(&"#".repeat(length));
            let _ = writeln!(text, "{}", line.trim_end());
            x.clear();
        }
    }
    text
}

/// A row for each x, or rows of equal width where there are more of them than rows; of equal ratios on a
/// logarithmic axis.
fn chart_rows(chart: &Chart) -> Vec<Row> {
    let all = || chart.curves.iter().flat_map(|curve| &curve.points);
    let mut distinct: Vec<f64> = Vec::new();
    for [x, _] in all().filter(|point| point[0].is_finite()) {
        if distinct.len() > MAX_CHART_ROWS {
            break;
        }
        if !distinct.contains(x) {
            distinct.push(*x);
        }
    }
    if distinct.len() <= MAX_CHART_ROWS {
        distinct.sort_list_by(f64::total_cmp);
        return distinct.into_iter().map(|x| [x, x]).collect();
    }
    let finite = all().map(|point| point[0]).filter(|x| x.is_finite());
    let [low, high] = finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| {
        [low.min(x), high.max(x)]
    });
    let start = |row: usize| {
        let share = row as f64 / MAX_CHART_ROWS as f64;
        if row == MAX_CHART_ROWS {
            f64::INFINITY
        } else if chart.log_x && low > 0.0 {
            low * (high / low).powf(share)
        } else {
            low + (high - low) * share
        }
    };
    (0..MAX_CHART_ROWS)
        .map(|row| [start(row), start(row + 1)])
        .collect()
}

/// The mean of a curve's points in a row, and the confidence interval where the row is one x.
fn row_of_curve(curve: &Curve, [from, to]: &Row) -> Option<(f64, Option<[f64; 2]>)> {
    let is_within = |x: f64| x == *from || (x > *from && x < *to);
    let points = curve.points.iter().enumerate();
    let within = points.filter(|(_, point)| is_within(point[0]) && point[1].is_finite());
    let (mut count, mut sum, mut interval) = (0_u32, 0.0, None);
    for (index, point) in within {
        count += 1;
        sum += point[1];
        interval = curve.intervals.get(index).copied().flatten();
    }
    let interval = interval.filter(|_| count == 1 && from == to);
    (count > 0).then(|| (sum / f64::from(count), interval))
}

/// A histogram of the latency, with percentiles below it.
pub(in crate::report) fn histogram_text(latency: &LatencySummary) -> String {
    let bins = merge_bins(&latency.histogram);
    let most = bins.iter().map(|bin| bin[2]).max().unwrap_or(1).max(1);
    let mut text = String::new();
    for [low, high, count] in bins {
        let length = (count as f64 / most as f64 * MAX_BAR_WIDTH as f64).ceil() as usize;
        let share = units::format_percent(count as f64 / latency.count.max(1) as f64);
        let [low, high] = [low, high].map(|edge| units::format_latency(edge as f64));
        let bar = "#".repeat(length);
        let _ = writeln!(text, "  {low:>8} to {high:>8} {share:>7}  {bar}");
    }
    let known = latency.percentiles.iter();
    let known = known.filter_map(|(name, value)| Some((name.parse().ok()?, *value)));
    let mut percentiles: Vec<(f64, u64)> = known.collect();
    percentiles.sort_list_by(|left, right| left.0.total_cmp(&right.0));
    let words = percentiles
        .into_iter()
        .map(|(percent, value)| (format!("p{percent}"), value))
        .chain([("max".to_owned(), latency.max_ns)])
        .map(|(name, value)| format!("{name} {}", units::format_latency(value as f64)));
    append_wrapped(&mut text, "  ", &words.collect::<Vec<_>>().join(", "));
    text
}

/// Merges adjacent bins until there are few enough to print.
fn merge_bins(bins: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return Vec::new();
    };
    let octaves = (last[1] as f64 / first[0].max(1) as f64).log2();
    let width = (octaves / MAX_CHART_ROWS as f64).max(0.25);
    let mut rows: Vec<[u64; 3]> = Vec::new();
    let mut row_of_last = None;
    for bin in bins {
        let row = ((bin[0].max(1) as f64 / first[0].max(1) as f64).log2() / width) as usize;
        match rows.last_mut().filter(|_| row_of_last == Some(row)) {
            Some(joined) => {
                joined[1] = bin[1];
                joined[2] = joined[2].saturating_add(bin[2]);
            }
            None => rows.push(*bin),
        }
        row_of_last = Some(row);
    }
    rows
}
