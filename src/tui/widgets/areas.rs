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

/// The area without its first and last column.
#[must_use]
pub fn with_side_margins(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(2),
        ..area
    }
}
