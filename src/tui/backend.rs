//! crossterm's backend, with what a program over SSH needs of it.

use std::fs::File;
use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use rustix::termios::tcgetwinsize;

/// A larger terminal is used up to here: its buffers would take gigabytes.
const MAX_COLUMNS: u16 = 2000;
const MAX_ROWS: u16 = 1000;

/// Draws on the terminal of this process through `W`. A frame without changes sends nothing.
#[derive(Debug)]
pub struct ScreenBackend<W: Write> {
    backend: CrosstermBackend<W>,
    /// What the terminal was told last about its cursor; `None` before.
    is_cursor_visible: Option<bool>,
}

impl<W: Write> ScreenBackend<W> {
    /// Creates a backend that writes to `writer`.
    pub fn new(writer: W) -> Self {
        Self {
            backend: CrosstermBackend::new(writer),
            is_cursor_visible: None,
        }
    }
}

impl<W: Write> Backend for ScreenBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        self.backend.draw(content)
    }

    /// Sends something only if the cursor is visible: every frame asks for this.
    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.is_cursor_visible.replace(false) == Some(false) {
            return Ok(());
        }
        self.backend.hide_cursor()
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
        self.backend.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
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
