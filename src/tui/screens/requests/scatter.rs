//! Offset of requests over the last minute: a line is sequential, a cloud is random.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Points};

use crate::tui::screens::requests::charts::ScatterPoint;
use crate::tui::screens::requests::time_axis;
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::theme::{StyleRole, Theme};
use crate::units;

/// Width of the axis in columns.
const AXIS_WIDTH: u16 = 9;
/// Time span of the chart.
const TIME_SPAN_NS: f64 = 60e9;

/// Draws the chart.
pub(super) fn draw(view: &RequestsView, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = Rect { height: 1, ..area };
    heading(theme).render(title, buf);
    let plot = Rect::new(
        area.x + AXIS_WIDTH.min(area.width),
        area.y + 1,
        area.width.saturating_sub(AXIS_WIDTH),
        area.height.saturating_sub(2),
    );
    let sectors = || view.scatter.iter().map(|point| point.sector);
    let (Some(low), Some(high)) = (sectors().min(), sectors().max()) else {
        return;
    };
    if plot.is_empty() {
        return;
    }
    draw_offset_axis([low, high], plot, theme, area.x, buf);
    time_axis::draw(theme, Rect::new(plot.x, plot.bottom(), plot.width, 1), buf);
    let place = |point: &ScatterPoint| {
        let age = view.complete_until.saturating_sub(point.queued_at) as f64;
        (-age / TIME_SPAN_NS, point.sector as f64)
    };
    let of = |reads: bool| -> Vec<(f64, f64)> {
        let wanted = view.scatter.iter().filter(|point| point.is_read == reads);
        wanted.map(place).collect()
    };
    let (reads, others) = (of(true), of(false));
    let span = (high - low).max(1) as f64;
    for (coords, role, marker) in [
        (&reads, StyleRole::Read, theme.chart_marker()),
        (
            &others,
            StyleRole::Write,
            Marker::Custom(other_symbol(theme)),
        ),
    ] {
        let color = theme.role_colour(role);
        Canvas::default()
            .marker(marker)
            .x_bounds([-1.0, 0.0])
            .y_bounds([low as f64 - span * 0.01, high as f64 + span * 0.01])
            .paint(|context| context.draw(&Points { coords, color }))
            .render(plot, buf);
    }
}

/// The mark of requests that are no reads.
fn other_symbol(theme: Theme) -> char {
    theme.glyphs().line_series[0]
}

/// The title with the meaning of the marks.
fn heading(theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled("OFFSET", theme.role_style(StyleRole::Title)),
        Span::styled(
            format!("  {} reads", theme.glyphs().first_series),
            theme.role_style(StyleRole::Read),
        ),
        Span::styled(
            format!("  {} other", other_symbol(theme)),
            theme.role_style(StyleRole::Write),
        ),
    ])
}

/// Labels of the lowest and the highest sector, and of the middle where it is a row.
fn draw_offset_axis([low, high]: [u64; 2], plot: Rect, theme: Theme, left: u16, buf: &mut Buffer) {
    let mut sectors = vec![(low, plot.bottom() - 1), (high, plot.y)];
    if plot.height >= 5 && !plot.height.is_multiple_of(2) {
        sectors.push((low.midpoint(high), plot.y + plot.height / 2));
    }
    let text = |sector: u64| units::format_capacity(sector as f64 * 512.0);
    let texts: Vec<String> = sectors.iter().map(|(sector, _)| text(*sector)).collect();
    // Offsets that differ by less than is shown: the distance from the lowest instead.
    let is_ambiguous = (1..texts.len()).any(|index| texts[..index].contains(&texts[index]));
    for ((sector, y), label) in sectors.into_iter().zip(texts) {
        let label = match sector - low {
            0 => label,
            distance if is_ambiguous => format!("+{}", text(distance)),
            _ => label,
        };
        Line::styled(format!("{label:>8} "), theme.role_style(StyleRole::Faint))
            .render(Rect::new(left, y, AXIS_WIDTH, 1), buf);
    }
}
