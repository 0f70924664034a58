//! Scrolling of pages, and selection in lists.

use std::cell::Cell;

use crate::tui::keys::KeyCommand;

/// Lines that a page key moves where the height of the page is unknown.
const DEFAULT_PAGE_LINES: usize = 10;

/// Scroll state of a page.
///
/// The scroll range depends on the wrapping of lines and on the size of the terminal. Drawing code
/// therefore records it with each frame, and [`Viewport::scroll`] stays within the last recorded
/// range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Viewport {
    first_line: usize,
    measured_extent: Cell<Option<ViewportExtent>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ViewportExtent {
    /// The largest first line: with it, the last line is visible.
    max_first_line: usize,
    /// Visible lines.
    height: usize,
}

impl Viewport {
    /// The first visible line, before it is limited by the number of lines.
    #[must_use]
    pub fn first(&self) -> usize {
        self.clamp_line(self.first_line)
    }

    /// Back to the first line.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Records that a page of `lines` lines is drawn in `height` rows. If several areas scroll
    /// together, the one with the longest scroll range counts.
    pub fn record_extent(&self, lines: usize, height: usize) {
        let last_first = lines.saturating_sub(height);
        let known = self.measured_extent.get();
        if known.is_none_or(|known| last_first > known.max_first_line) {
            self.measured_extent.set(Some(ViewportExtent {
                max_first_line: last_first,
                height,
            }));
        }
    }

    /// Clears the recorded extent before the page is drawn again.
    pub fn clear_extent(&self) {
        self.measured_extent.set(None);
    }

    /// Scrolls.
    pub fn scroll(&mut self, movement: KeyCommand) {
        let first = self.first();
        let page = self
            .measured_extent
            .get()
            .map_or(DEFAULT_PAGE_LINES, |extent| {
                // One line stays visible; another one shows how many are left.
                extent.height.saturating_sub(2).max(1)
            });
        let first = match movement {
            KeyCommand::Up => first.saturating_sub(1),
            KeyCommand::Down => first.saturating_add(1),
            KeyCommand::PageUp => first.saturating_sub(page),
            KeyCommand::PageDown => first.saturating_add(page),
            KeyCommand::GoToFirst => 0,
            KeyCommand::GoToLast => usize::MAX,
            _ => first,
        };
        self.first_line = self.clamp_line(first);
    }

    fn clamp_line(&self, first: usize) -> usize {
        let extent = self.measured_extent.get();
        extent.map_or(first, |extent| first.min(extent.max_first_line))
    }
}

/// The columns of a table that are drawn, by their indices.
///
/// Which ones fit depends on the size of the terminal. Drawing code records it with each frame, as
/// with the extent of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawnColumns(Cell<Option<u64>>);

impl DrawnColumns {
    /// Records the drawn columns.
    pub fn record(&self, indices: impl Iterator<Item = usize>) {
        let bits = indices.filter(|index| *index < 64);
        self.0
            .set(Some(bits.fold(0, |mask, index| mask | 1 << index)));
    }

    /// Whether a column is drawn; all are before the first frame.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.0
            .get()
            .is_none_or(|mask| index < 64 && mask & (1 << index) != 0)
    }
}

/// Moves a cursor in a list of `count` lines.
#[must_use]
pub fn step_cursor(cursor: usize, count: usize, movement: KeyCommand) -> usize {
    step_cursor_by_page(cursor, count, movement, None)
}

/// As [`step_cursor`], with the number of lines that a page key moves where it is known.
#[must_use]
pub fn step_cursor_by_page(
    cursor: usize,
    count: usize,
    movement: KeyCommand,
    page: Option<usize>,
) -> usize {
    let page = page.unwrap_or(DEFAULT_PAGE_LINES);
    let last = count.saturating_sub(1);
    match movement {
        KeyCommand::Up => cursor.saturating_sub(1),
        KeyCommand::Down => cursor.saturating_add(1),
        KeyCommand::PageUp => cursor.saturating_sub(page),
        KeyCommand::PageDown => cursor.saturating_add(page),
        KeyCommand::GoToFirst => 0,
        KeyCommand::GoToLast => last,
        _ => cursor,
    }
    .min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewport_scrolling_stays_within_measured_extent() {
        let mut view = Viewport::default();
        view.record_extent(20, 5);
        view.record_extent(8, 5);
        view.scroll(KeyCommand::GoToLast);
        assert_eq!(view.first(), 15);
        view.scroll(KeyCommand::Down);
        view.scroll(KeyCommand::Up);
        assert_eq!(view.first(), 14);
        view.scroll(KeyCommand::PageUp);
        assert_eq!(view.first(), 11);
        view.scroll(KeyCommand::GoToFirst);
        view.scroll(KeyCommand::PageDown);
        assert_eq!(view.first(), 3);
    }

    #[test]
    fn viewport_is_clamped_when_the_page_becomes_shorter() {
        let mut view = Viewport::default();
        view.record_extent(20, 5);
        view.scroll(KeyCommand::GoToLast);
        view.clear_extent();
        view.record_extent(10, 5);
        assert_eq!(view.first(), 5);
        view.scroll(KeyCommand::Up);
        assert_eq!(view.first(), 4);
    }

    #[test]
    fn cursor_movements_stay_within_the_list() {
        let movements = [
            KeyCommand::Up,
            KeyCommand::Down,
            KeyCommand::PageUp,
            KeyCommand::PageDown,
            KeyCommand::GoToFirst,
            KeyCommand::GoToLast,
        ];
        for count in [0, 1, 9, 25_usize] {
            for movement in movements {
                for cursor in [0, count / 2, count.saturating_sub(1)] {
                    assert!(step_cursor(cursor, count, movement) <= count.saturating_sub(1));
                }
            }
        }
        assert_eq!(step_cursor(3, 25, KeyCommand::PageDown), 13);
        assert_eq!(step_cursor(13, 25, KeyCommand::PageUp), 3);
        assert_eq!(step_cursor(3, 25, KeyCommand::GoToLast), 24);
    }
}
