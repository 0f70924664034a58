//! A chart of a test's findings, as its description wants it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::bench::Chart;
use crate::session::document::{Findings, Series};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::plot::{Curve, Plot};

/// The looks of the second, third ... series of a chart.
const OTHERS: [Meaning; 3] = [Meaning::Waiting, Meaning::Good, Meaning::Plain];

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
    let (heading, body) = split(area);
    let mut line = Line::styled(chart.title, look.style(Meaning::Title));
    if series.len() > 1 {
        for (series, meaning) in &series {
            line.push_span("   ");
            line.push_span(Span::styled(series.name.clone(), look.style(*meaning)));
        }
    }
    line.render(heading, buf);
    let plot = Plot {
        curves: series
            .iter()
            .map(|(series, meaning)| Curve {
                points: &series.points,
                meaning: *meaning,
            })
            .collect(),
        shape: chart.shape,
        x: &leading.x,
        y: &leading.y,
        log_x: chart.log_x,
        from_zero: chart.from_zero,
        x_bounds,
        look,
    };
    (&plot).render(body, buf);
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

/// The heading's row, and the rest.
pub(super) fn split(area: Rect) -> (Rect, Rect) {
    let heading = Rect {
        height: area.height.min(1),
        ..area
    };
    let body = Rect {
        y: area.y + heading.height,
        height: area.height - heading.height,
        ..area
    };
    (heading, body)
}
