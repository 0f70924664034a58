//! Number of ticks of an axis.

/// Minimum number of rows between two ticks of the vertical axis; fewer in a low chart.
pub(super) const MIN_MARK_HEIGHT: u16 = 3;

/// A chart below this height is low.
pub(super) const LOW_CHART_HEIGHT: u16 = 12;

/// Maximum number of ticks of a vertical axis with this many rows.
pub(super) fn max_vertical_marks(height: u16) -> usize {
    let apart = if height < LOW_CHART_HEIGHT {
        2
    } else {
        MIN_MARK_HEIGHT
    };
    usize::from(height / apart + 1)
}

/// Minimum number of columns between two ticks of the horizontal axis.
const MIN_MARK_WIDTH: u16 = 10;

/// Maximum number of ticks of a horizontal axis with this many columns.
pub(super) fn max_horizontal_marks(width: u16) -> usize {
    usize::from((width / MIN_MARK_WIDTH).max(1))
}
