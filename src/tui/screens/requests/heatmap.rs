//! Latency over the last minute as a heat map: darker cells have more requests.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::tui::screens::requests::charts::{HEATMAP_ROWS, ReadOtherCounts, row_start_ns};
use crate::tui::screens::requests::time_axis;
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::theme::{StyleRole, Theme};
use crate::units;

/// Width of the axis in columns.
const AXIS_WIDTH: u16 = 9;
/// Rows of a power of ten.
const LABELLED_ROWS: usize = 4;

/// Draws the heat map.
pub(super) fn draw(view: &RequestsView, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = Rect { height: 1, ..area };
    heading(theme).render(title, buf);
    // A row each for the title and the time axis.
    let height = area.height.saturating_sub(2);
    let width = area.width.saturating_sub(AXIS_WIDTH);
    let Some((low, high)) = used_rows(view).filter(|_| height > 0 && width > 0) else {
        return;
    };
    let (low, rows) = rows_per_line(low, high, usize::from(height));
    let grid = rebin(view, low, rows, usize::from(width), usize::from(height));
    let max = grid.iter().map(|[reads, others]| reads + others).max();
    let bottom = area.y + height;
    for line in 0..height {
        let y = bottom - line;
        let row = low + usize::from(line) * rows;
        // The lines of a power of ten have a label: these are at equal distances.
        if row.is_multiple_of(LABELLED_ROWS) {
            let label = power_label(row_start_ns(row));
            Line::styled(format!("{label:>8} "), theme.role_style(StyleRole::Faint))
                .render(Rect::new(area.x, y, AXIS_WIDTH, 1), buf);
        }
        for column in 0..width {
            let cell = grid[usize::from(line) * usize::from(width) + usize::from(column)];
            if let Some((symbol, role)) = symbol_of(cell, max.unwrap_or(0), theme) {
                buf[(area.x + AXIS_WIDTH + column, y)]
                    .set_char(symbol)
                    .set_style(theme.role_style(role));
            }
        }
    }
    let axis = Rect::new(area.x + AXIS_WIDTH, bottom + 1, width, 1);
    time_axis::draw(theme, axis, buf);
}

/// A power of ten without digits that are always 0: `10 ms`.
fn power_label(nanoseconds: f64) -> String {
    let text = units::format_latency(nanoseconds);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// The title with the meaning of the marks.
fn heading(theme: Theme) -> Line<'static> {
    let ramp = |shades: [char; 4]| shades.iter().collect::<String>();
    let glyphs = theme.glyphs();
    Line::from(vec![
        Span::styled("LATENCY Q2C", theme.role_style(StyleRole::Title)),
        Span::styled(
            format!("  {} reads", ramp(glyphs.density_shades)),
            theme.role_style(StyleRole::Read),
        ),
        Span::styled(
            format!("  {} other", ramp(glyphs.second_density_shades)),
            theme.role_style(StyleRole::Write),
        ),
    ])
}

/// The mark of a cell: its density, in the marks of the operation that prevails.
fn symbol_of(
    [reads, others]: ReadOtherCounts,
    max: u32,
    theme: Theme,
) -> Option<(char, StyleRole)> {
    let shade = shade_level(reads + others, max)?;
    let glyphs = theme.glyphs();
    Some(if reads >= others {
        (glyphs.density_shades[shade], StyleRole::Read)
    } else {
        (glyphs.second_density_shades[shade], StyleRole::Write)
    })
}

/// The lowest drawn row, and the number of rows that each screen line covers: as many as needed for
/// all to fit, and so that the lines of the powers of ten are at equal distances.
fn rows_per_line(low: usize, high: usize, height: usize) -> (usize, usize) {
    let mut rows = 1;
    loop {
        let low = low - low % rows.max(LABELLED_ROWS);
        if (high - low + 1).div_ceil(rows) <= height || rows >= HEATMAP_ROWS {
            return (low, rows);
        }
        rows *= 2;
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
    let columns = crate::tui::screens::requests::charts::MAX_COLUMNS;
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
    fn heatmap_lines_of_powers_of_ten_are_at_equal_distances() {
        for (low, high, height) in [(7, 18, 5), (3, 3, 1), (0, 31, 4), (7, 18, 12), (5, 9, 2)] {
            let (first, rows) = rows_per_line(low, high, height);
            assert!(
                first <= low && first + rows * height > high,
                "{low} {high} {height}"
            );
            let labelled = |line: &usize| (first + line * rows).is_multiple_of(LABELLED_ROWS);
            let lines: Vec<usize> = (0..height).filter(labelled).collect();
            assert!(!lines.is_empty());
            let gaps: Vec<usize> = lines.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.windows(2).all(|pair| pair[0] == pair[1]), "{lines:?}");
        }
    }

    #[test]
    fn heatmap_shades_single_request_beside_a_million() {
        assert_eq!(shade_level(0, 1_000_000), None);
        assert_eq!(shade_level(1, 1_000_000), Some(0));
        assert_eq!(shade_level(1_000_000, 1_000_000), Some(3));
        assert_eq!(shade_level(1, 1), Some(3));
    }
}
