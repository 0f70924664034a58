//! Offset of requests over the last minute: a line is sequential, a cloud is random.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Points};

use crate::model::requests::{RequestsView, ScatterPoint};
use crate::ui::theme::{StyleRole, Theme};
use crate::units;

/// Width of the axis in columns.
const AXIS_WIDTH: u16 = 9;
/// Time span of the chart.
const TIME_SPAN_NS: f64 = 60e9;

/// Draws the chart.
pub(super) fn draw(view: &RequestsView, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = Rect { height: 1, ..area };
    Line::styled("OFFSET, last 60 s", theme.role_style(StyleRole::Title)).render(title, buf);
    let plot = Rect::new(
        area.x + AXIS_WIDTH.min(area.width),
        area.y + 1,
        area.width.saturating_sub(AXIS_WIDTH),
        area.height.saturating_sub(1),
    );
    let sectors = || view.scatter.iter().map(|point| point.sector);
    let (Some(low), Some(high)) = (sectors().min(), sectors().max()) else {
        return;
    };
    if plot.is_empty() {
        return;
    }
    for (sector, y) in [(high, plot.y), (low, plot.bottom() - 1)] {
        let label = units::format_capacity(sector as f64 * 512.0);
        Line::styled(format!("{label:>8} "), theme.role_style(StyleRole::Faint))
            .render(Rect::new(area.x, y, AXIS_WIDTH, 1), buf);
    }
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
    Canvas::default()
        .marker(theme.chart_marker())
        .x_bounds([-1.0, 0.0])
        .y_bounds([low as f64 - span * 0.01, high as f64 + span * 0.01])
        .paint(|context| {
            for (coords, role) in [(&reads, StyleRole::Read), (&others, StyleRole::Write)] {
                let color = theme.role_colour(role);
                context.draw(&Points { coords, color });
            }
        })
        .render(plot, buf);
}
