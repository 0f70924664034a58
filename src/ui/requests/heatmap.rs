//! Latency over the last minute as a heat map: darker cells have more requests.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::model::requests::{HEATMAP_ROWS, LatencyHeatmap, ReadOtherCounts, RequestsView};
use crate::ui::theme::{StyleRole, Theme};
use crate::units;

/// Width of the axis in columns.
const AXIS_WIDTH: u16 = 9;

/// Draws the heat map.
pub(super) fn draw(view: &RequestsView, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = Rect { height: 1, ..area };
    Line::styled(
        "LATENCY (Q2C), last 60 s",
        theme.role_style(StyleRole::Title),
    )
    .render(title, buf);
    let height = area.height.saturating_sub(1);
    let width = area.width.saturating_sub(AXIS_WIDTH);
    let Some((low, high)) = used_rows(view).filter(|_| height > 0 && width > 0) else {
        return;
    };
    // Each screen line covers as many rows as needed for all to fit.
    let rows = (high - low + 1).div_ceil(usize::from(height));
    let grid = rebin(view, low, rows, usize::from(width), usize::from(height));
    let max = grid.iter().map(|[reads, others]| reads + others).max();
    let shades = theme.glyphs().density_shades;
    for line in 0..height {
        let y = area.bottom() - 1 - line;
        let label =
            units::format_latency(LatencyHeatmap::row_start_ns(low + usize::from(line) * rows));
        Line::styled(format!("{label:>8} "), theme.role_style(StyleRole::Faint))
            .render(Rect::new(area.x, y, AXIS_WIDTH, 1), buf);
        for column in 0..width {
            let [reads, others] =
                grid[usize::from(line) * usize::from(width) + usize::from(column)];
            if let Some(shade) = shade_level(reads + others, max.unwrap_or(0)) {
                let role = if reads >= others {
                    StyleRole::Read
                } else {
                    StyleRole::Write
                };
                buf[(area.x + AXIS_WIDTH + column, y)]
                    .set_char(shades[shade])
                    .set_style(theme.role_style(role));
            }
        }
    }
}

/// The lowest and the highest non-empty row.
fn used_rows(view: &RequestsView) -> Option<(usize, usize)> {
    let used = |row: &usize| view.heatmap.iter().any(|(_, rows)| rows[*row] != [0, 0]);
    Some((
        (0..HEATMAP_ROWS).find(used)?,
        (0..HEATMAP_ROWS).rev().find(used)?,
    ))
}

/// Counts by screen line, from below, and column, the newest at the right.
fn rebin(
    view: &RequestsView,
    low: usize,
    rows: usize,
    width: usize,
    height: usize,
) -> Vec<ReadOtherCounts> {
    let mut grid = vec![[0, 0]; width * height];
    let columns = crate::model::requests::MAX_COLUMNS;
    for (index, (_, counts)) in view.heatmap.iter().rev().enumerate() {
        let column = width - 1 - (index * width / columns).min(width - 1);
        for (row, [reads, others]) in counts.iter().enumerate().skip(low) {
            let line = (row - low) / rows;
            if line < height {
                let cell: &mut ReadOtherCounts = &mut grid[line * width + column];
                cell[0] = cell[0].saturating_add(*reads);
                cell[1] = cell[1].saturating_add(*others);
            }
        }
    }
    grid
}

/// Few, some, many, most: steps of a constant factor, because a few slow requests matter beside
/// many fast ones.
fn shade_level(count: u32, max: u32) -> Option<usize> {
    if count == 0 {
        return None;
    }
    let share = f64::from(count).ln_1p() / f64::from(max.max(1)).ln_1p();
    Some(((share * 4.0).ceil() as usize).clamp(1, 4) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heatmap_shades_single_request_beside_a_million() {
        assert_eq!(shade_level(0, 1_000_000), None);
        assert_eq!(shade_level(1, 1_000_000), Some(0));
        assert_eq!(shade_level(1_000_000, 1_000_000), Some(3));
        assert_eq!(shade_level(1, 1), Some(3));
    }
}
