//! A chart of a benchmark's findings, as its description declares it.

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::bench::ChartSpec;
use crate::session::document::{Findings, Series, SeriesId, SeriesKind};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::split_heading;
use crate::tui::widgets::plot::{AxisMark, PlotCurve, PlotWidget, curve_symbol};
use crate::tui::widgets::text::cut_end;

/// Roles of the second, third ... series of a chart.
const FURTHER_SERIES_ROLES: [StyleRole; 3] =
    [StyleRole::Warning, StyleRole::Success, StyleRole::Plain];

/// Minimum height of a chart with a row for its legend.
const LEGEND_MIN_HEIGHT: u16 = 8;

/// Draws the chart; `first` is the role of its first series, `x_bounds` the minimum range of the
/// horizontal axis.
pub(super) fn draw(
    chart: &ChartSpec,
    findings: &Findings,
    first: StyleRole,
    x_bounds: Option<[f64; 2]>,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let series: Vec<(&Series, StyleRole)> = chart
        .series
        .iter()
        .enumerate()
        .filter_map(|(index, id)| Some((findings.series(id)?, series_role(index, id, first))))
        .collect();
    let Some((leading, _)) = series.first() else {
        return;
    };
    let legend = legend(chart, &curve_names(&series), &series, theme);
    let body = draw_heading(chart.title, legend, theme, area, buf);
    let plot = PlotWidget {
        curves: series
            .iter()
            .map(|(series, role)| PlotCurve {
                confidence_intervals: &series.intervals,
                points: &series.points,
                role: *role,
                marker_letter: None,
            })
            .collect(),
        shape: chart.shape,
        x_axis: &leading.x,
        y_axis: &leading.y,
        log_x: chart.log_x,
        log_y: chart.log_y,
        from_zero: chart.from_zero,
        x_bounds,
        marks: metric_marks(chart, findings, leading),
        theme,
    };
    (&plot).render(body, buf);
}

/// Draws the title with the legend after it, or below it where there is room; the rest is for the
/// curves.
fn draw_heading(
    title: &str,
    legend: Line<'static>,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) -> Rect {
    let (heading, body) = split_heading(area);
    let mut room = area.width;
    let below = title.width() + legend.width() > usize::from(area.width);
    let apart = below && body.height >= LEGEND_MIN_HEIGHT;
    if below && !apart {
        room = room.saturating_sub(legend.width() as u16);
    }
    let title = cut_end(title, room, theme);
    let mut line = Line::from(Span::styled(title, theme.role_style(StyleRole::Title)));
    if apart {
        let (row, rest) = split_heading(body);
        line.render(heading, buf);
        // Without the gap that separates it from a title.
        Line::from(legend.spans[1..].to_vec()).render(row, buf);
        return rest;
    }
    line.extend(legend);
    line.render(heading, buf);
    body
}

/// Labels of the curves: their quantities where these differ, otherwise the part of their names
/// that differs.
fn curve_names(series: &[(&Series, StyleRole)]) -> Vec<String> {
    let of = |name: fn(&Series) -> String| series.iter().map(move |(one, _)| name(one));
    let quantities: Vec<String> = of(|one| one.y.name.clone().into()).collect();
    let distinct: HashSet<&String> = quantities.iter().collect();
    if distinct.len() == quantities.len() {
        return quantities;
    }
    let full: Vec<Vec<String>> = of(|one| one.id.to_string())
        .map(|name| {
            // The quantity on the x axis is named at the axis.
            let quantity = name.split("-against-").next().unwrap_or_default();
            quantity.split('-').map(str::to_owned).collect()
        })
        .collect();
    let shortest = full.iter().map(Vec::len).min().unwrap_or(1) - 1;
    let alike = |index: &usize| full.iter().all(|parts| parts[*index] == full[0][*index]);
    let shared = (0..shortest).take_while(alike).count();
    full.iter().map(|parts| parts[shared..].join(" ")).collect()
}

/// Each name in the colour of its curve and with its symbol, after a gap; nothing for a single
/// curve.
fn legend(
    chart: &ChartSpec,
    names: &[String],
    series: &[(&Series, StyleRole)],
    theme: Theme,
) -> Line<'static> {
    let mut line = Line::default();
    if series.len() > 1 {
        for (number, (name, (_, role))) in names.iter().zip(series).enumerate() {
            line.push_span("   ");
            let symbol = curve_symbol(number, None, chart.shape, theme)
                .unwrap_or(theme.glyphs().first_series);
            let text = format!("{symbol} {name}");
            line.push_span(Span::styled(text, theme.role_style(*role)));
        }
    }
    line
}

/// The metrics that the chart marks on its horizontal axis.
fn metric_marks(chart: &ChartSpec, findings: &Findings, leading: &Series) -> Vec<AxisMark> {
    let known = chart
        .marked_metrics
        .iter()
        .filter_map(|id| findings.metric(id));
    known
        .filter(|metric| metric.unit == leading.x.unit)
        .map(|metric| {
            // The nested benchmark of a metric is known from the chart.
            let label = metric.id.within_benchmark().label();
            AxisMark {
                label: format!("{label} {}", metric.value_text()),
                x: metric.value,
            }
        })
        .collect()
}

fn series_role(index: usize, id: &SeriesId, first: StyleRole) -> StyleRole {
    match (id.kind(), index) {
        (Some(SeriesKind::LatencyWrite | SeriesKind::WriteTimeAgainstRecordSize), _) => {
            StyleRole::Write
        }
        (Some(SeriesKind::LatencyRead), _) => StyleRole::Read,
        (_, 0) => first,
        _ => FURTHER_SERIES_ROLES[(index - 1) % FURTHER_SERIES_ROLES.len()],
    }
}
