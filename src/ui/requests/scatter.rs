//! Where requests went, over the last minute: a line is sequential, a cloud is random.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Points};

use crate::model::requests::{Point, RequestsView};
use crate::ui::look::{Look, Meaning};
use crate::units;

/// Columns of the axis.
const AXIS: u16 = 9;
/// What the picture spans.
const MINUTE_NS: f64 = 60e9;

/// Draws it.
pub(super) fn draw(view: &RequestsView, look: Look, area: Rect, buf: &mut Buffer) {
    let title = Rect { height: 1, ..area };
    Line::styled("WHERE, last minute", look.style(Meaning::Title)).render(title, buf);
    let plot = Rect::new(
        area.x + AXIS.min(area.width),
        area.y + 1,
        area.width.saturating_sub(AXIS),
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
        let label = units::capacity(sector as f64 * 512.0);
        Line::styled(format!("{label:>8} "), look.style(Meaning::Faint))
            .render(Rect::new(area.x, y, AXIS, 1), buf);
    }
    let place = |point: &Point| {
        let age = view.until.saturating_sub(point.at) as f64;
        (-age / MINUTE_NS, point.sector as f64)
    };
    let of = |reads: bool| -> Vec<(f64, f64)> {
        let wanted = view.scatter.iter().filter(|point| point.is_read == reads);
        wanted.map(place).collect()
    };
    let (reads, others) = (of(true), of(false));
    let span = (high - low).max(1) as f64;
    Canvas::default()
        .marker(look.marker())
        .x_bounds([-1.0, 0.0])
        .y_bounds([low as f64 - span * 0.01, high as f64 + span * 0.01])
        .paint(|context| {
            for (coords, meaning) in [(&reads, Meaning::Read), (&others, Meaning::Write)] {
                let color = look.colour_of(meaning);
                context.draw(&Points { coords, color });
            }
        })
        .render(plot, buf);
}
