//! The metrics of two sessions and their ratio.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::report::words::session_letter;
use crate::session::compare::{ComparedBenchmark, ComparedMetric, MetricSample, RatioJudgement};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::cut_end;

/// Columns between two columns of the table, where there is room.
const COLUMN_GAP: usize = 2;
/// The column that is dropped first: the 95 % confidence interval of the ratio.
const CI_COLUMN: usize = 4;
/// Minimum width of labels.
const MIN_LABEL_WIDTH: usize = 10;
/// Maximum width of labels.
const MAX_LABEL_WIDTH: usize = 26;

/// Roles of the sessions' curves; further sessions repeat them.
const SESSION_ROLES: [StyleRole; 5] = [
    StyleRole::Plain,
    StyleRole::Read,
    StyleRole::Write,
    StyleRole::Warning,
    StyleRole::Success,
];

/// The role of the session with this index.
pub(super) fn session_role(session: usize) -> StyleRole {
    SESSION_ROLES[session % SESSION_ROLES.len()]
}

/// Indices of the two sessions of the table.
#[derive(Clone, Copy)]
struct SessionPair {
    baseline: usize,
    other: usize,
}

/// One line of the table: label, both values, ratio, its confidence interval, result.
struct MetricRow {
    cells: [String; 6],
    judgement: StyleRole,
}

/// The table of a pair of sessions, with headings.
pub(super) fn lines(
    benchmark: &ComparedBenchmark,
    pair: Option<(usize, usize)>,
    theme: Theme,
    width: u16,
) -> Vec<Line<'static>> {
    let Some((baseline, other)) = pair else {
        let text = "no metric is in two sessions: nothing to compare";
        return vec![Line::styled(text, theme.role_style(StyleRole::Faint))];
    };
    let pair = SessionPair { baseline, other };
    let mut rows: Vec<MetricRow> = benchmark
        .metrics
        .iter()
        .filter_map(|metric| metric_row(metric, pair, theme))
        .collect();
    let (baseline, other) = (session_letter(baseline), session_letter(other));
    let ratio = format!("{other}/{baseline}");
    let heading = ["Metrics", &baseline, &other, &ratio, "95 % CI", ""];
    rows.insert(
        0,
        MetricRow {
            cells: heading.map(str::to_owned),
            judgement: StyleRole::Faint,
        },
    );
    let layout = column_layout(&rows, usize::from(width));
    let drawn = rows.iter().enumerate();
    drawn
        .map(|(index, row)| row_line(row, index == 0, pair, &layout, theme))
        .collect()
}

fn metric_row(metric: &ComparedMetric, pair: SessionPair, theme: Theme) -> Option<MetricRow> {
    if metric.baseline != pair.baseline {
        return None;
    }
    let of = |side: usize| metric.samples.get(side)?.as_ref();
    let (first, sample) = (of(pair.baseline)?, of(pair.other)?);
    let value = |sample: &MetricSample| metric.metric_of(sample).value_beside_label();
    let against = sample.against_baseline.as_ref();
    let [ratio, interval, parts] = against.map(|it| it.ratio_columns()).unwrap_or_default();
    let letter = session_letter(pair.other);
    let parts = match against.and_then(|against| against.judgement) {
        Some(RatioJudgement::Faster | RatioJudgement::Slower) => format!("{letter} {parts}"),
        _ => parts,
    };
    let judgement = match against.and_then(|against| against.judgement) {
        Some(RatioJudgement::Faster) => StyleRole::Success,
        Some(RatioJudgement::Slower) => StyleRole::Warning,
        Some(RatioJudgement::NoSignificantDifference | RatioJudgement::NotDetermined) | None => {
            StyleRole::Faint
        }
    };
    Some(MetricRow {
        cells: [
            cut_end(&metric.label(), MAX_LABEL_WIDTH as u16, theme),
            value(first),
            value(sample),
            ratio,
            interval,
            parts,
        ],
        judgement,
    })
}

/// Layout of the columns.
struct ColumnLayout {
    /// Width of each column; 0 where it is dropped.
    widths: [usize; 6],
    /// Columns between two of them.
    gap: usize,
}

/// Where space is short the gaps shrink first, then the interval is dropped.
fn column_layout(rows: &[MetricRow], room: usize) -> ColumnLayout {
    let mut widths = [0; 6];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.width());
        }
    }
    let gaps = widths.len() - 1;
    let fits = |widths: &[usize], gap: usize| widths.iter().sum::<usize>() + gap * gaps <= room;
    let gap = if fits(&widths, COLUMN_GAP) {
        COLUMN_GAP
    } else {
        1
    };
    if !fits(&widths, gap) {
        widths[CI_COLUMN] = 0;
    }
    let gap = if fits(&widths, COLUMN_GAP) {
        COLUMN_GAP
    } else {
        1
    };
    // The result is never cut off: the names are shorter instead.
    let used = widths.iter().sum::<usize>() + gap * (gaps - 1);
    let excess = used.saturating_sub(room);
    widths[0] = widths[0]
        .saturating_sub(excess)
        .max(MIN_LABEL_WIDTH.min(widths[0]));
    ColumnLayout { widths, gap }
}

fn row_line(
    row: &MetricRow,
    heading: bool,
    pair: SessionPair,
    layout: &ColumnLayout,
    theme: Theme,
) -> Line<'static> {
    let mut line = Line::default();
    let gap = layout.gap;
    for (column, (cell, width)) in row.cells.iter().zip(&layout.widths).enumerate() {
        if *width == 0 {
            continue;
        }
        let role = match (column, heading) {
            (0, true) => StyleRole::Title,
            (1, true) => session_role(pair.baseline),
            (2, true) => session_role(pair.other),
            (_, true) | (0 | CI_COLUMN, false) => StyleRole::Faint,
            (5, false) => row.judgement,
            _ => StyleRole::Plain,
        };
        let text = match column {
            0 => format!("{:width$}", cut_end(cell, *width as u16, theme)),
            5 => format!("{:gap$}{cell}", ""),
            _ => format!("{:gap$}{cell:>width$}", ""),
        };
        line.push_span(Span::styled(text, theme.role_style(role)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::{sample_run, sample_session};
    use crate::session::compare::{ComparisonInput, compare_sessions};

    fn table(width: u16) -> Vec<String> {
        let sessions = [("iops", 100.0), ("iops", 150.0)]
            .map(|(name, value)| sample_session("web-07", vec![sample_run(name, value, 1.0)]));
        let [first, other] = sessions.each_ref().map(|session| ComparisonInput {
            name: "one",
            session,
        });
        let comparison = compare_sessions(&[first, other], &[]);
        let lines = lines(&comparison.benchmarks[0], Some((0, 1)), Theme::FULL, width);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn comparison_rows_have_value_ratio_and_judgement_columns() {
        assert_eq!(
            table(80),
            [
                "Metrics    A    B    B/A      95 % CI  ",
                "IOPS     100  150  1.500  1.482-1.518  B better",
            ]
        );
    }

    #[test]
    fn narrow_comparison_shrinks_gaps_then_drops_the_interval() {
        let row = |width| table(width)[1].clone();
        assert_eq!(row(47), "IOPS     100  150  1.500  1.482-1.518  B better");
        assert_eq!(row(46), "IOPS    100 150 1.500 1.482-1.518 B better");
        assert_eq!(row(40), "IOPS     100  150  1.500  B better");
    }
}
