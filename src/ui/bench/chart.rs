//! A chart of a test's findings, as its description wants it.

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::bench::Chart;
use crate::session::document::{Findings, Series};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::areas::under_heading;
use crate::ui::widgets::plot::{Curve, Mark, Plot};
use crate::ui::widgets::text::cut_end;

/// The looks of the second, third ... series of a chart.
const OTHERS: [Meaning; 3] = [Meaning::Waiting, Meaning::Good, Meaning::Plain];

/// A chart of this height can spare a row for its legend.
const LEGEND_FROM: u16 = 8;

/// Draws the chart; `first` is what its first series means. `x_bounds` is how far the horizontal
/// axis reaches at least.
pub(super) fn draw(
    chart: &Chart,
    findings: &Findings,
    first: Meaning,
    x_bounds: Option<[f64; 2]>,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let series: Vec<(&Series, Meaning)> = chart
        .series
        .iter()
        .enumerate()
        .filter_map(|(place, name)| Some((findings.series(name)?, meaning(place, name, first))))
        .collect();
    let Some((leading, _)) = series.first() else {
        return;
    };
    let legend = legend(&names(&series), &series, look);
    let body = draw_heading(chart.title, legend, look, area, buf);
    let plot = Plot {
        curves: series
            .iter()
            .map(|(series, meaning)| Curve {
                intervals: &series.intervals,
                points: &series.points,
                meaning: *meaning,
                letter: None,
            })
            .collect(),
        shape: chart.shape,
        x: &leading.x,
        y: &leading.y,
        log_x: chart.log_x,
        log_y: chart.log_y,
        from_zero: chart.from_zero,
        x_bounds,
        marks: marks(chart, findings, leading),
        look,
    };
    (&plot).render(body, buf);
}

/// Draws the title with the legend behind it, or below it where there is room for that; the rest
/// is for the curves.
fn draw_heading(
    title: &str,
    legend: Line<'static>,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) -> Rect {
    let (heading, body) = under_heading(area);
    let mut room = area.width;
    let below = title.width() + legend.width() > usize::from(area.width);
    let apart = below && body.height >= LEGEND_FROM;
    if below && !apart {
        room = room.saturating_sub(legend.width() as u16);
    }
    let title = cut_end(title, room, look);
    let mut line = Line::from(Span::styled(title, look.style(Meaning::Title)));
    if apart {
        let (row, rest) = under_heading(body);
        line.render(heading, buf);
        // Without the gap that sets it off from a title.
        Line::from(legend.spans[1..].to_vec()).render(row, buf);
        return rest;
    }
    line.extend(legend);
    line.render(heading, buf);
    body
}

/// What the curves are called: by their quantities where these differ, otherwise by what their
/// names do not share.
fn names(series: &[(&Series, Meaning)]) -> Vec<String> {
    let of = |name: fn(&Series) -> String| series.iter().map(move |(one, _)| name(one));
    let quantities: Vec<String> = of(|one| one.y.name.clone().into()).collect();
    let distinct: HashSet<&String> = quantities.iter().collect();
    if distinct.len() == quantities.len() {
        return quantities;
    }
    let full: Vec<Vec<String>> = of(|one| one.name.clone().into())
        .map(|name| {
            // What it is drawn against is on the axis.
            let quantity = name.split("-against-").next().unwrap_or_default();
            quantity.split('-').map(str::to_owned).collect()
        })
        .collect();
    let shortest = full.iter().map(Vec::len).min().unwrap_or(1) - 1;
    let alike = |place: &usize| full.iter().all(|words| words[*place] == full[0][*place]);
    let shared = (0..shortest).take_while(alike).count();
    full.iter().map(|words| words[shared..].join(" ")).collect()
}

/// Each name in the colour of its curve, behind a gap; nothing for a single curve.
fn legend(names: &[String], series: &[(&Series, Meaning)], look: Look) -> Line<'static> {
    let mut line = Line::default();
    if series.len() > 1 {
        for (name, (_, meaning)) in names.iter().zip(series) {
            line.push_span("   ");
            line.push_span(Span::styled(name.clone(), look.style(*meaning)));
        }
    }
    line
}

/// The figures that the chart marks on its horizontal axis.
fn marks(chart: &Chart, findings: &Findings, leading: &Series) -> Vec<Mark> {
    let known = chart.marks.iter().filter_map(|name| findings.figure(name));
    known
        .filter(|figure| figure.unit == leading.x.unit)
        .map(|figure| {
            // Of a part's figure the part is known from the chart.
            let label = figure.label();
            let label = label.rsplit('/').next().unwrap_or_default();
            Mark {
                label: format!("{label} {}", figure.text()),
                x: figure.value,
            }
        })
        .collect()
}

fn meaning(place: usize, name: &str, first: Meaning) -> Meaning {
    if name.contains("write") {
        Meaning::Write
    } else if name.contains("read") {
        Meaning::Read
    } else if place == 0 {
        first
    } else {
        OTHERS[(place - 1) % OTHERS.len()]
    }
}
