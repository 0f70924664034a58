//! Splitting of areas.

use ratatui::layout::Rect;

/// The heading's row, and the rest.
#[must_use]
pub fn split_heading(area: Rect) -> (Rect, Rect) {
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
