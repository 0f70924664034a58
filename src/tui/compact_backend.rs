//! A terminal backend that describes changes in few bytes, for slow connections.
//!
//! It keeps a copy of the screen, so that it can choose the shorter of moving the cursor over unchanged
//! cells and writing them again. It moves rows that have changed place instead of writing them
//! (ECMA-48: DL, IL), erases runs of blanks (ECH, EL), and changes styles by their shortest
//! sequence (SGR). Everything else is delegated to crossterm.

mod cell_style;
mod frame_writer;
mod row_moves;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr;

/// A larger terminal is used up to here: its buffers would take gigabytes.
const MAX_COLUMNS: u16 = 2000;
const MAX_ROWS: u16 = 1000;

/// Draws on a terminal connected to `W`.
#[derive(Debug)]
pub struct CompactBackend<W: Write> {
    backend: CrosstermBackend<W>,
    screen: ScreenCopy,
    /// What the terminal was told last about its cursor; `None` before.
    is_cursor_visible: Option<bool>,
}

impl<W: Write> CompactBackend<W> {
    /// Creates a backend that writes to `writer`, on a terminal that shows nothing yet.
    pub fn new(writer: W) -> Self {
        Self {
            backend: CrosstermBackend::new(writer),
            screen: ScreenCopy::default(),
            is_cursor_visible: None,
        }
    }
}

/// What the terminal shows.
#[derive(Debug, Default)]
struct ScreenCopy {
    /// As large as what was drawn; the rest of the terminal is blank.
    cells: Buffer,
}

impl ScreenCopy {
    /// Changes cells, and returns the bytes that do the same to the terminal.
    fn draw<'a>(&mut self, changes: impl Iterator<Item = (u16, u16, &'a Cell)>) -> String {
        let mut changes = changes.peekable();
        if changes.peek().is_none() {
            return String::new();
        }
        let mut after = self.cells.clone();
        for (x, y, cell) in changes {
            let width = u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
            grow(&mut after, x.saturating_add(width), y.saturating_add(1));
            for column in x..x + width {
                uncover(&mut after, column, y);
            }
            // The colour of a blank is invisible.
            let is_blank = cell_style::is_blank(cell);
            after[(x, y)] = if is_blank { Cell::EMPTY } else { cell.clone() };
            // A wide character covers the next cell, which differs from a blank: once the character is
            // gone, the cell has to be drawn.
            for covered in 1..width {
                after[(x + covered, y)] = Cell::new("");
            }
        }
        grow(&mut self.cells, after.area.width, after.area.height);
        let written = frame_writer::frame_bytes(&[], &self.cells, &after);
        let moves = row_moves::move_rows(&mut self.cells, &after);
        let bytes = match moves.is_empty() {
            true => written,
            false => {
                let moved = frame_writer::frame_bytes(&moves, &self.cells, &after);
                if moved.len() < written.len() {
                    moved
                } else {
                    written
                }
            }
        };
        self.cells = after;
        bytes
    }
}

/// Makes the cells blank that a wide character covers, before any cell of it is replaced by another.
fn uncover(cells: &mut Buffer, x: u16, y: u16) {
    let width = cells[(x, y)].symbol().width() as u16;
    for covered in 1..width {
        cells[(x + covered, y)] = Cell::EMPTY;
    }
}

/// Makes a buffer at least as large as given; what it has stays where it is.
fn grow(cells: &mut Buffer, width: u16, height: u16) {
    if width <= cells.area.width && height <= cells.area.height {
        return;
    }
    let area = Rect::new(
        0,
        0,
        width.max(cells.area.width),
        height.max(cells.area.height),
    );
    let mut larger = Buffer::empty(area);
    for position in cells.area.positions() {
        std::mem::swap(&mut larger[position], &mut cells[position]);
    }
    *cells = larger;
}

impl<W: Write> Backend for CompactBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let bytes = self.screen.draw(content);
        self.backend.write_all(bytes.as_bytes())
    }

    /// Sends something only if the cursor is visible: every frame asks for this.
    fn hide_cursor(&mut self) -> io::Result<()> {
        match self.is_cursor_visible.replace(false) {
            Some(false) => Ok(()),
            _ => self.backend.hide_cursor(),
        }
    }

    /// Never fails: ratatui reports an error at its end to stderr, which panics where the terminal is
    /// gone. Whoever still draws gets the error of the next frame.
    fn show_cursor(&mut self) -> io::Result<()> {
        if self.is_cursor_visible.replace(true) != Some(true) {
            let _ = self.backend.show_cursor();
        }
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.backend.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.backend.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.screen = ScreenCopy::default();
        self.backend.clear()
    }

    /// Only [`ClearType::All`] is used: the copy of the screen is discarded whole.
    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.screen = ScreenCopy::default();
        self.backend.clear_region(clear_type)
    }

    /// Asked of the terminal itself: crossterm starts `tput` where there is none.
    fn size(&self) -> io::Result<Size> {
        let size = match tcgetwinsize(io::stdout()) {
            Ok(size) => size,
            Err(_) => tcgetwinsize(File::open("/dev/tty")?)?,
        };
        Ok(Size::new(
            size.ws_col.min(MAX_COLUMNS),
            size.ws_row.min(MAX_ROWS),
        ))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.backend.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.backend)
    }
}
