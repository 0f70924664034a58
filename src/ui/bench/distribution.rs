//! Latency distribution: histogram with marks, and percentiles.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::session::document::LatencySummary;
use crate::stats::sorting::SortList as _;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::split_heading;
use crate::tui::widgets::histogram::HistogramWidget;
use crate::tui::widgets::text::grouped_thousands;
use crate::units;

/// Title; where space is short, only the number of requests is shown.
const TITLE: &str = "Latency";
/// Percentiles that are marked in the histogram.
const MARKED_PERCENTILES: [&str; 3] = ["50", "99", "99.9"];
/// Width of the list of percentiles.
const LIST_WIDTH: u16 = 18;

/// Draws the distribution of one direction.
pub(super) fn draw(
    latency: &LatencySummary,
    role: StyleRole,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let (heading, body) = split_heading(area);
    let word = if role == StyleRole::Write {
        "writes"
    } else {
        "reads"
    };
    let count = grouped_thousands(latency.count as f64);
    let counted = format!("{count} {word}");
    let count_span = Span::styled(format!("  {counted}"), theme.role_style(StyleRole::Faint));
    let mut line = Line::from(Span::styled(TITLE, theme.role_style(StyleRole::Title)));
    if TITLE.len() + count_span.width() <= usize::from(heading.width) {
        line.push_span(count_span);
    } else {
        line = Line::styled(counted, theme.role_style(StyleRole::Title));
    }
    line.render(heading, buf);
    let percentiles = percentiles(latency);
    let marked = |(name, value): &(String, u64)| {
        MARKED_PERCENTILES
            .contains(&name.as_str())
            .then(|| (format!("p{name}"), *value))
    };
    let marks: Vec<_> = percentiles.iter().filter_map(marked).collect();
    let list = LIST_WIDTH.min(body.width / 2);
    let plot = Rect {
        width: body.width - list - 2,
        ..body
    };
    let histogram = HistogramWidget {
        bins: &latency.histogram,
        marks: &marks,
        role,
        theme,
    };
    (&histogram).render(plot, buf);
    let list_area = Rect {
        x: plot.right() + 2,
        width: list,
        ..body
    };
    draw_list(latency, &percentiles, theme, list_area, buf);
}

/// The known percentiles in ascending order.
fn percentiles(latency: &LatencySummary) -> Vec<(String, u64)> {
    let mut known: Vec<_> = latency
        .percentiles
        .iter()
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    known.sort_list_by(|left, right| {
        let number = |name: &str| name.parse::<f64>().unwrap_or(f64::MAX);
        number(&left.0).total_cmp(&number(&right.0))
    });
    known
}

fn draw_list(
    latency: &LatencySummary,
    percentiles: &[(String, u64)],
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let mut rows = vec![("mean".to_owned(), latency.mean_ns)];
    let middle = percentiles
        .iter()
        .map(|(name, value)| (format!("p{name}"), *value as f64));
    rows.extend(middle);
    rows.push(("max".to_owned(), latency.max_ns as f64));
    // The tail matters more than the middle: p95 and p98 are dropped first.
    for name in ["p98", "p95", "p90", "p99.999", "p99.99"] {
        if rows.len() > usize::from(area.height) {
            rows.retain(|(known, _)| known != name);
        }
    }
    for (row, (name, value)) in area.rows().zip(rows) {
        Line::from(Span::styled(name, theme.role_style(StyleRole::Faint))).render(row, buf);
        Line::raw(units::format_latency(value))
            .right_aligned()
            .render(row, buf);
    }
}
