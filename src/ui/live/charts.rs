//! Charts over the time until now.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::bench::Shape;
use crate::session::document::{Axis, Unit};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::plot::{Curve, Plot};

/// Curves over the last samples.
pub(super) struct History {
    /// What is drawn.
    pub(super) title: &'static str,
    /// Unit of the values.
    pub(super) unit: Unit,
    /// Values, the oldest first, and what they mean.
    pub(super) curves: Vec<(Vec<Option<f32>>, Meaning)>,
}

/// Draws curves over the time until now.
pub(super) fn chart(
    history: &History,
    interval: Duration,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    if area.height < 4 || area.width < 20 {
        return;
    }
    let heading = Rect { height: 1, ..area };
    Line::styled(history.title, look.style(Meaning::Title)).render(heading, buf);
    let body = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    let seconds = interval.as_secs_f64();
    let curves: Vec<(Vec<[f64; 2]>, Meaning)> = history
        .curves
        .iter()
        .map(|(values, meaning)| (placed(values, seconds), *meaning))
        .collect();
    let plot = Plot {
        curves: curves
            .iter()
            .map(|(points, meaning)| Curve {
                intervals: &[],
                points,
                meaning: *meaning,
                letter: None,
            })
            .collect(),
        shape: Shape::Line,
        x: &Axis::new("time", Unit::Nanoseconds),
        y: &Axis::new(history.title, history.unit),
        log_x: false,
        log_y: false,
        from_zero: true,
        x_bounds: None,
        marks: Vec::new(),
        look,
    };
    (&plot).render(body, buf);
}

/// Points over the time since the first, in nanoseconds; what is unknown is left out.
fn placed(values: &[Option<f32>], seconds: f64) -> Vec<[f64; 2]> {
    values
        .iter()
        .enumerate()
        .filter_map(|(place, value)| Some([place as f64 * seconds * 1e9, f64::from((*value)?)]))
        .collect()
}
