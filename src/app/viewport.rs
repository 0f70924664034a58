//! Which lines of a page are in view, and which line of a list is selected.

use std::cell::Cell;

use super::keymap::Command;

/// Lines that a page key moves where the height of the page is not known.
const PAGE: usize = 10;

/// The part of a page that is in view.
///
/// How far it can be scrolled depends on how the lines were wrapped and on the terminal: whoever
/// draws the page measures it, as part of drawing, and [`Viewport::scroll`] stays within what was
/// measured last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Viewport {
    first: usize,
    extent: Cell<Option<Extent>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    /// The largest first line: the one with which the last line is in view.
    last_first: usize,
    /// Lines that fit.
    height: usize,
}

impl Viewport {
    /// The first line in view, before it is limited by the lines that there are.
    #[must_use]
    pub fn first(&self) -> usize {
        self.limited(self.first)
    }

    /// Back to the first line.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Takes note that a page with so many lines is drawn in so many rows. Of several areas that
    /// are scrolled together, the one with the longest way counts.
    pub fn measure(&self, lines: usize, height: usize) {
        let last_first = lines.saturating_sub(height);
        let known = self.extent.get();
        if known.is_none_or(|known| last_first > known.last_first) {
            self.extent.set(Some(Extent { last_first, height }));
        }
    }

    /// Forgets what was measured: the page is about to be drawn again.
    pub fn begin(&self) {
        self.extent.set(None);
    }

    /// Scrolls.
    pub fn scroll(&mut self, movement: Command) {
        let first = self.first();
        let page = self.extent.get().map_or(PAGE, |extent| {
            // One line stays in view; another one says how many are left.
            extent.height.saturating_sub(2).max(1)
        });
        let first = match movement {
            Command::Up => first.saturating_sub(1),
            Command::Down => first.saturating_add(1),
            Command::PageUp => first.saturating_sub(page),
            Command::PageDown => first.saturating_add(page),
            Command::First => 0,
            Command::Last => usize::MAX,
            _ => first,
        };
        self.first = self.limited(first);
    }

    fn limited(&self, first: usize) -> usize {
        let extent = self.extent.get();
        extent.map_or(first, |extent| first.min(extent.last_first))
    }
}

/// Moves a cursor in a list of `count` lines.
#[must_use]
pub fn step(cursor: usize, count: usize, movement: Command) -> usize {
    let last = count.saturating_sub(1);
    match movement {
        Command::Up => cursor.saturating_sub(1),
        Command::Down => cursor.saturating_add(1),
        Command::PageUp => cursor.saturating_sub(PAGE),
        Command::PageDown => cursor.saturating_add(PAGE),
        Command::First => 0,
        Command::Last => last,
        _ => cursor,
    }
    .min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrolling_stays_within_what_was_drawn() {
        let mut view = Viewport::default();
        view.measure(20, 5);
        view.measure(8, 5);
        view.scroll(Command::Last);
        assert_eq!(view.first(), 15);
        view.scroll(Command::Down);
        view.scroll(Command::Up);
        assert_eq!(view.first(), 14);
        view.scroll(Command::PageUp);
        assert_eq!(view.first(), 11);
        view.scroll(Command::First);
        view.scroll(Command::PageDown);
        assert_eq!(view.first(), 3);
    }

    #[test]
    fn a_page_that_became_shorter_limits_the_view() {
        let mut view = Viewport::default();
        view.measure(20, 5);
        view.scroll(Command::Last);
        view.begin();
        view.measure(10, 5);
        assert_eq!(view.first(), 5);
        view.scroll(Command::Up);
        assert_eq!(view.first(), 4);
    }

    #[test]
    fn every_movement_stays_in_the_list() {
        let movements = [
            Command::Up,
            Command::Down,
            Command::PageUp,
            Command::PageDown,
            Command::First,
            Command::Last,
        ];
        for count in [0, 1, 9, 25_usize] {
            for movement in movements {
                for cursor in [0, count / 2, count.saturating_sub(1)] {
                    assert!(step(cursor, count, movement) <= count.saturating_sub(1));
                }
            }
        }
        assert_eq!(step(3, 25, Command::PageDown), 13);
        assert_eq!(step(13, 25, Command::PageUp), 3);
        assert_eq!(step(3, 25, Command::Last), 24);
    }
}
