//! A terminal backend that describes changes in few bytes, for slow connections.
//!
//! It moves the cursor forwards by a few columns instead of to a position, names colours by their
//! short codes, changes styles in one sequence, and erases runs of blanks instead of writing them
//! (ECMA-48: CUF, CHA, SGR, ECH). Everything else is delegated to crossterm.

use std::fmt::Write as _;
use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

/// Number of blanks from which on erasing them and skipping them is shorter than writing them.
const MIN_ERASE_BLANKS: u16 = 12;
/// Modifiers with their codes; slow and rapid blinking are never used.
const MODIFIER_CODES: [(Modifier, u8); 6] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::REVERSED, 7),
    (Modifier::CROSSED_OUT, 9),
];

/// Draws on a terminal connected to `W`.
#[derive(Debug)]
pub struct CompactBackend<W: Write> {
    backend: CrosstermBackend<W>,
    frame_bytes: String,
    /// What the terminal was told last about its cursor; `None` before.
    is_cursor_visible: Option<bool>,
}

impl<W: Write> CompactBackend<W> {
    /// Creates a backend that writes to `writer`.
    pub fn new(writer: W) -> Self {
        Self {
            backend: CrosstermBackend::new(writer),
            frame_bytes: String::new(),
            is_cursor_visible: None,
        }
    }
}

/// Style of a cell, as far as it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct CellStyle {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl CellStyle {
    fn of_cell(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
        }
    }

    /// Whether a blank in this style shows only its background.
    fn blank_shows_background_only(self) -> bool {
        self.bg == Color::Reset
            && !self
                .modifier
                .intersects(Modifier::UNDERLINED | Modifier::REVERSED | Modifier::CROSSED_OUT)
    }
}

/// State of the terminal while a frame is written.
#[derive(Debug, Default)]
struct TerminalCursor {
    position: Option<(u16, u16)>,
    /// Columns of characters other than ASCII since the last absolute move: terminals differ in
    /// their width.
    uncertain_columns: u16,
    style: CellStyle,
}

/// Writes the changed cells.
fn write_cells<'a>(frame: &mut String, cells: impl Iterator<Item = (u16, u16, &'a Cell)>) {
    let mut cursor = TerminalCursor::default();
    let mut blanks: Option<(u16, u16, u16)> = None;
    for (x, y, cell) in cells {
        let blank = cell.symbol() == " " && CellStyle::of_cell(cell).blank_shows_background_only();
        match &mut blanks {
            Some((from, row, count)) if blank && (*from + *count, *row) == (x, y) => {
                *count += 1;
                continue;
            }
            _ => {}
        }
        if let Some(run) = blanks.take() {
            write_blanks(frame, run, &mut cursor);
        }
        if blank {
            blanks = Some((x, y, 1));
        } else {
            write_cell(frame, (x, y), cell, &mut cursor);
        }
    }
    if let Some(run) = blanks {
        write_blanks(frame, run, &mut cursor);
    }
    set_style(frame, CellStyle::default(), &mut cursor);
}

fn write_cell(
    frame: &mut String,
    cell_position: (u16, u16),
    cell: &Cell,
    cursor: &mut TerminalCursor,
) {
    move_cursor(frame, cell_position, cursor);
    set_style(frame, CellStyle::of_cell(cell), cursor);
    frame.push_str(cell.symbol());
    let width = u16::try_from(cell.symbol().width()).unwrap_or(1);
    if !cell.symbol().is_ascii() {
        cursor.uncertain_columns = cursor.uncertain_columns.saturating_add(width);
    }
    cursor.position = Some((cell_position.0.saturating_add(width), cell_position.1));
}

/// Writes or erases a run of blanks; erasing does not move the cursor.
fn write_blanks(frame: &mut String, (x, y, count): (u16, u16, u16), cursor: &mut TerminalCursor) {
    move_cursor(frame, (x, y), cursor);
    if !cursor.style.blank_shows_background_only() {
        set_style(frame, CellStyle::default(), cursor);
    }
    if count < MIN_ERASE_BLANKS {
        frame.extend(std::iter::repeat_n(' ', usize::from(count)));
        cursor.position = Some((x.saturating_add(count), y));
    } else {
        push_formatted(frame, format_args!("\x1b[{count}X"));
    }
}

fn move_cursor(frame: &mut String, (x, y): (u16, u16), cursor: &mut TerminalCursor) {
    let in_row = cursor.position.filter(|(_, row)| *row == y);
    let in_row = in_row.map(|(column, _)| column);
    let is_certain = cursor.uncertain_columns == 0;
    let forwards = in_row.filter(|column| is_certain || *column == x);
    match forwards.and_then(|column| x.checked_sub(column)) {
        Some(0) => return,
        Some(1) => frame.push_str("\x1b[C"),
        Some(columns) => push_formatted(frame, format_args!("\x1b[{columns}C")),
        None => {
            // However wide the terminal has drawn the characters, it has not reached this column, and so
            // not the next row.
            let is_row_certain =
                in_row.is_some_and(|column| column.saturating_add(cursor.uncertain_columns) <= x);
            match is_row_certain {
                true => push_formatted(frame, format_args!("\x1b[{}G", x + 1)),
                false => push_formatted(frame, format_args!("\x1b[{};{}H", y + 1, x + 1)),
            }
            cursor.uncertain_columns = 0;
        }
    }
    cursor.position = Some((x, y));
}

/// Changes the style in one sequence. Bold and dim are reset together, because they cannot be reset
/// separately.
fn set_style(frame: &mut String, wanted: CellStyle, cursor: &mut TerminalCursor) {
    let mut known = cursor.style;
    if known == wanted {
        return;
    }
    if wanted == CellStyle::default() {
        frame.push_str("\x1b[m");
        cursor.style = wanted;
        return;
    }
    let mut codes = String::new();
    if !wanted.modifier.contains(known.modifier) {
        codes.push_str("0;");
        known = CellStyle::default();
    }
    for (modifier, code) in MODIFIER_CODES {
        if (wanted.modifier - known.modifier).contains(modifier) {
            push_formatted(&mut codes, format_args!("{code};"));
        }
    }
    if wanted.fg != known.fg {
        push_colour(&mut codes, wanted.fg, 30);
    }
    if wanted.bg != known.bg {
        push_colour(&mut codes, wanted.bg, 40);
    }
    codes.pop();
    push_formatted(frame, format_args!("\x1b[{codes}m"));
    cursor.style = wanted;
}

/// The code of a colour; `base` is 30 for the foreground and 40 for the background.
fn push_colour(codes: &mut String, colour: Color, base: u8) {
    let code = match colour {
        Color::Reset => base + 9,
        Color::Black => base,
        Color::Red => base + 1,
        Color::Green => base + 2,
        Color::Yellow => base + 3,
        Color::Blue => base + 4,
        Color::Magenta => base + 5,
        Color::Cyan => base + 6,
        Color::Gray => base + 7,
        Color::DarkGray => base + 60,
        Color::LightRed => base + 61,
        Color::LightGreen => base + 62,
        Color::LightYellow => base + 63,
        Color::LightBlue => base + 64,
        Color::LightMagenta => base + 65,
        Color::LightCyan => base + 66,
        Color::White => base + 67,
        Color::Indexed(index) => {
            return push_formatted(codes, format_args!("{};5;{index};", base + 8));
        }
        Color::Rgb(red, green, blue) => {
            return push_formatted(codes, format_args!("{};2;{red};{green};{blue};", base + 8));
        }
    };
    push_formatted(codes, format_args!("{code};"));
}

fn push_formatted(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(arguments);
}

impl<W: Write> Backend for CompactBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.frame_bytes.clear();
        write_cells(&mut self.frame_bytes, content);
        self.backend.write_all(self.frame_bytes.as_bytes())
    }

    /// Sends something only if the cursor is visible: every frame asks for this.
    fn hide_cursor(&mut self) -> io::Result<()> {
        match self.is_cursor_visible.replace(false) {
            Some(false) => Ok(()),
            _ => self.backend.hide_cursor(),
        }
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        match self.is_cursor_visible.replace(true) {
            Some(true) => Ok(()),
            _ => self.backend.show_cursor(),
        }
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

    fn size(&self) -> io::Result<Size> {
        self.backend.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.backend.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.backend)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;
    use crate::app::{self, AppEvent, AppState, Message};
    use crate::model::snapshot::{DeviceView, ProcessView};
    use crate::model::{Snapshot, ViewBuilder};
    use crate::ui::{self, Theme};

    const WIDTH: u16 = 30;
    const HEIGHT: u16 = 5;

    /// Words of random styles at random positions.
    fn any_screen() -> impl Strategy<Value = Vec<(u16, u16, String, Style)>> {
        let words = prop::sample::select(vec![
            "a",
            "12.5",
            "      ",
            "          ",
            "━━╸",
            "日本",
            "x y",
        ]);
        let styles = prop::sample::select(vec![
            Style::new(),
            Style::new().fg(Color::Cyan),
            Style::new().add_modifier(Modifier::DIM),
            Style::new()
                .fg(Color::Red)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Style::new().add_modifier(Modifier::REVERSED),
            Style::new().bg(Color::Indexed(17)),
        ]);
        let word = (0..WIDTH, 0..HEIGHT, words, styles);
        let word = word.prop_map(|(x, y, word, style)| (x, y, word.to_owned(), style));
        prop::collection::vec(word, 0..20)
    }

    fn buffer(words: &[(u16, u16, String, Style)]) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, WIDTH, HEIGHT));
        for (x, y, word, style) in words {
            // A letter is bold or dim: terminals do not support both.
            buffer.set_string(*x, *y, word, Style::reset().patch(*style));
        }
        buffer
    }

    /// The visible state of a cell: letter, colours, bold, dim, underlined, reversed.
    fn shown_cell(screen: &vt100::Screen, x: u16, y: u16) -> (String, String, [bool; 4]) {
        let cell = screen.cell(y, x).unwrap();
        let letter = match cell.contents() {
            "" => " ".to_owned(),
            letter => letter.to_owned(),
        };
        let colours = format!("{:?} {:?}", cell.fgcolor(), cell.bgcolor());
        let marks = [cell.bold(), cell.dim(), cell.underline(), cell.inverse()];
        (letter, colours, marks)
    }

    /// What was written, for the test and for the backend.
    #[derive(Clone, Default)]
    struct WrittenBytes(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

    impl Write for WrittenBytes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn frame_without_changes_sends_nothing() {
        let written = WrittenBytes::default();
        let mut terminal = ratatui::Terminal::with_options(
            CompactBackend::new(written.clone()),
            ratatui::TerminalOptions {
                viewport: ratatui::Viewport::Fixed(Rect::new(0, 0, WIDTH, HEIGHT)),
            },
        )
        .unwrap();
        let mut sent = |text: &str| {
            let draw = |frame: &mut ratatui::Frame<'_>| {
                frame.buffer_mut().set_string(0, 0, text, Style::new());
            };
            terminal.draw(draw).unwrap();
            std::mem::take(&mut *written.0.borrow_mut()).len()
        };
        assert!(sent("12.5") > 0);
        assert_eq!(sent("12.5"), 0);
        // A move, one letter, and the style.
        assert!((1..=12).contains(&sent("12.6")));
    }

    /// A second of a busy machine: all numbers differ from those of the second before.
    fn busy_snapshot(second: u32) -> Snapshot {
        let vary =
            |base: f64, step: f64| Some(base * (1.0 + 0.3 * (f64::from(second) * step).sin()));
        let device = DeviceView {
            name: "vda".into(),
            label: "disk".into(),
            size_bytes: Some(1 << 38),
            read_ios_per_s: vary(1200.0, 0.7),
            write_ios_per_s: vary(310.0, 1.1),
            read_bytes_per_s: vary(180e6, 0.7),
            write_bytes_per_s: vary(90e6, 1.1),
            read_await_ns: vary(2e6, 0.5),
            write_await_ns: vary(9e6, 0.9),
            queue_size: vary(3.1, 0.6),
            request_bytes: vary(256e3, 0.3),
            busy: vary(0.7, 0.4),
            in_flight: Some(3),
            ..DeviceView::default()
        };
        let process = |pid: u32| ProcessView {
            pid,
            tid: pid,
            user: Some("root".into()),
            command: format!("worker --number {pid}").into(),
            read_bytes_per_s: vary(1e9 / f64::from(pid * pid), 0.2 * f64::from(pid)),
            write_bytes_per_s: vary(1e8 / f64::from(pid * pid), 0.3 * f64::from(pid)),
            state: Some('D'),
            ..ProcessView::default()
        };
        Snapshot {
            interval: Some(Duration::from_secs(1)),
            devices: vec![device],
            processes: (1..=8).map(process).collect(),
            process_count: 300,
            ..ViewBuilder::default().update(Arc::default())
        }
    }

    #[test]
    fn busy_second_sends_a_fraction_of_a_full_repaint_and_an_equal_one_nothing() {
        let area = Rect::new(0, 0, 120, 40);
        let written = WrittenBytes::default();
        let options = ratatui::TerminalOptions {
            viewport: ratatui::Viewport::Fixed(area),
        };
        let backend = CompactBackend::new(written.clone());
        let mut terminal = ratatui::Terminal::with_options(backend, options).unwrap();
        let mut state = AppState::new(Duration::from_secs(1));
        let mut draw = |state: &AppState| {
            let frame = |frame: &mut ratatui::Frame<'_>| {
                ui::draw(state, &Theme::FULL, area, frame.buffer_mut());
            };
            terminal.draw(frame).unwrap();
            std::mem::take(&mut *written.0.borrow_mut()).len()
        };
        let mut sent = Vec::new();
        for second in 0..120 {
            let message = Message::Snapshot(Arc::new(busy_snapshot(second)));
            app::update(&mut state, AppEvent::Message(message));
            sent.push(draw(&state));
            assert_eq!(draw(&state), 0, "nothing has changed");
        }
        // The charts are full after a minute.
        let mean = sent[60..].iter().sum::<usize>() / 60;
        let mut frame = String::new();
        let mut buffer = Buffer::empty(area);
        ui::draw(&state, &Theme::FULL, area, &mut buffer);
        let changes = Buffer::empty(area).diff(&buffer);
        write_cells(
            &mut frame,
            changes.iter().map(|(x, y, cell)| (*x, *y, *cell)),
        );
        let share = mean as f64 / frame.len() as f64;
        assert!(share < 0.3, "{mean} of {} bytes", frame.len());
    }

    proptest! {
        #[test]
        fn compact_backend_draws_same_screen_as_crossterm(first in any_screen(), second in any_screen()) {
            let (first, second) = (buffer(&first), buffer(&second));
            let empty = Buffer::empty(first.area);
            let mut ours = vt100::Parser::new(HEIGHT, WIDTH, 0);
            let mut theirs = vt100::Parser::new(HEIGHT, WIDTH, 0);
            for (before, after) in [(&empty, &first), (&first, &second)] {
                let changes = before.diff(after);
                let mut frame = String::new();
                write_cells(&mut frame, changes.iter().map(|(x, y, cell)| (*x, *y, *cell)));
                ours.process(frame.as_bytes());
                let mut bytes = Vec::new();
                let mut backend = CrosstermBackend::new(&mut bytes);
                backend.draw(changes.into_iter()).unwrap();
                theirs.process(&bytes);
                prop_assert!(frame.len() <= bytes.len());
            }
            for y in 0..HEIGHT {
                for x in 0..WIDTH {
                    let mut own = shown_cell(ours.screen(), x, y);
                    let other = shown_cell(theirs.screen(), x, y);
                    // The foreground of a blank is invisible, and so is whether it is bold or dim.
                    if own.0 == " " && other.0 == " " {
                        let background = |it: &str| it.rsplit(' ').next().unwrap_or("").to_owned();
                        prop_assert_eq!(background(&own.1), background(&other.1));
                        own.1.clone_from(&other.1);
                        own.2[0] = other.2[0];
                        own.2[1] = other.2[1];
                    }
                    prop_assert_eq!(&own, &other, "{} {}", x, y);
                }
            }
        }
    }
}
