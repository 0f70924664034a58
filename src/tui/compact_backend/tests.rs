//! The bytes in an emulated terminal.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::*;
use crate::app::{self, AppEvent, AppState, Message};
use crate::snapshot::view::{DeviceView, ProcessView};
use crate::snapshot::{Snapshot, ViewBuilder};
use crate::ui::{self, Theme};

const WIDTH: u16 = 30;
const HEIGHT: u16 = 8;

/// A word at a position.
type Word = (u16, u16, String, Style);

/// Words of random styles at random positions.
fn any_screen() -> impl Strategy<Value = Vec<Word>> {
    let words = prop::sample::select(vec![
        "a",
        "12.5",
        "      ",
        "          ",
        "━━╸",
        "⣀⣤⣶",
        "a row that is long enough to move",
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

/// Rows that change place, and words that are written afterwards.
fn any_change() -> impl Strategy<Value = (usize, usize, usize, Vec<Word>)> {
    let rows = usize::from(HEIGHT);
    let words = any_screen().prop_map(|words| words.into_iter().take(4).collect());
    (0..rows, 0..rows, 0..rows, words)
}

/// The screen after a change.
fn changed_buffer(
    before: &Buffer,
    (first, last, by, words): &(usize, usize, usize, Vec<Word>),
) -> Buffer {
    let mut after = before.clone();
    let (first, end) = (*first.min(last), first.max(last) + 1);
    let row_cells = usize::from(WIDTH);
    let moved = &mut after.content[first * row_cells..end * row_cells];
    moved.rotate_right((by % (end - first)) * row_cells);
    write_words(&mut after, words);
    after
}

fn buffer(words: &[Word]) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, WIDTH, HEIGHT));
    write_words(&mut buffer, words);
    buffer
}

fn write_words(buffer: &mut Buffer, words: &[Word]) {
    for (x, y, word, style) in words {
        // A letter is bold or dim: terminals do not support both.
        buffer.set_string(*x, *y, word, Style::reset().patch(*style));
    }
    // A widget does not leave half of a wide character, not even below a blank with a style: ratatui's
    // differences assume that the covered cell is as `set_string` leaves it.
    for position in buffer.area.positions() {
        let next = buffer.cell((position.x + 1, position.y));
        let is_covered = next.is_none_or(|next| *next == Cell::EMPTY);
        if buffer[position].symbol().width() > 1 && !is_covered {
            buffer[position].set_symbol(" ");
        }
    }
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

/// A terminal that is gone.
struct GoneTerminal;

impl Write for GoneTerminal {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn cursor_of_a_terminal_that_is_gone_is_no_error_but_its_frame_is() {
    let mut backend = CompactBackend::new(GoneTerminal);
    assert!(backend.show_cursor().is_ok());
    let cell = Cell::new("a");
    assert!(backend.draw([(0, 0, &cell)].into_iter()).is_err());
}

/// A second of a busy machine: all numbers differ from those of the second before.
fn busy_snapshot(second: u32) -> Snapshot {
    let vary = |base: f64, step: f64| Some(base * (1.0 + 0.3 * (f64::from(second) * step).sin()));
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
    let mut buffer = Buffer::empty(area);
    ui::draw(&state, &Theme::FULL, area, &mut buffer);
    let changes = Buffer::empty(area);
    let changes = changes.diff(&buffer);
    let frame = ScreenCopy::default().draw(changes.into_iter());
    let share = mean as f64 / frame.len() as f64;
    assert!(share < 0.3, "{mean} of {} bytes", frame.len());
}

/// A terminal that is drawn on frame by frame.
struct DrawnTerminal {
    copy: ScreenCopy,
    emulator: vt100::Parser,
    shown: Buffer,
}

impl DrawnTerminal {
    fn new() -> Self {
        Self {
            copy: ScreenCopy::default(),
            emulator: vt100::Parser::new(HEIGHT, WIDTH, 0),
            shown: Buffer::empty(Rect::new(0, 0, WIDTH, HEIGHT)),
        }
    }

    /// Draws a frame; returns its bytes, and those that crossterm would have sent.
    fn draw(&mut self, after: &Buffer) -> [usize; 2] {
        let changes = self.shown.diff(after);
        let frame = self.copy.draw(changes.iter().copied());
        self.emulator.process(frame.as_bytes());
        let bytes = crossterm_bytes(&self.shown, after);
        self.shown = after.clone();
        [frame.len(), bytes.len()]
    }

    /// Compares the screen with that of a terminal on which crossterm has drawn the last frame only.
    fn assert_shows_last_frame(&self) -> Result<(), TestCaseError> {
        let mut expected = vt100::Parser::new(HEIGHT, WIDTH, 0);
        expected.process(&crossterm_bytes(
            &Buffer::empty(self.shown.area),
            &self.shown,
        ));
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let mut own = shown_cell(self.emulator.screen(), x, y);
                let mut other = shown_cell(expected.screen(), x, y);
                // The foreground of a blank is invisible, and so is whether it is bold or dim.
                for cell in [&mut own, &mut other].into_iter().filter(|it| it.0 == " ") {
                    cell.1 = cell.1.rsplit(' ').next().unwrap_or("").to_owned();
                    cell.2[..2].fill(false);
                }
                prop_assert_eq!(&own, &other, "{} {}", x, y);
            }
        }
        Ok(())
    }
}

/// What crossterm sends for a frame.
fn crossterm_bytes(before: &Buffer, after: &Buffer) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut backend = CrosstermBackend::new(&mut bytes);
    backend.draw(before.diff(after).into_iter()).unwrap();
    bytes
}

proptest! {
    #[test]
    fn compact_backend_draws_same_screen_as_crossterm(
        first in any_screen(),
        second in any_screen(),
        changes in prop::collection::vec(any_change(), 0..4),
    ) {
        let mut terminal = DrawnTerminal::new();
        let mut screens = vec![buffer(&first), buffer(&second)];
        for change in &changes {
            screens.push(changed_buffer(&screens[screens.len() - 1], change));
        }
        for screen in screens {
            let [ours, theirs] = terminal.draw(&screen);
            prop_assert!(ours <= theirs + 4, "{} bytes, crossterm {}", ours, theirs);
            terminal.assert_shows_last_frame()?;
        }
    }
}

/// A list in which a row is inserted at the top is not sent again.
#[test]
fn rows_that_move_are_not_sent_again() {
    let one_row = 24;
    let rows: Vec<Word> = (b'a'..)
        .zip(0..HEIGHT)
        .map(|(letter, row)| {
            (
                0,
                row,
                char::from(letter).to_string().repeat(one_row),
                Style::new(),
            )
        })
        .collect();
    let before = buffer(&rows);
    let mut after = before.clone();
    let row_cells = usize::from(WIDTH);
    after.content[row_cells..6 * row_cells].rotate_right(row_cells);
    let mut terminal = DrawnTerminal::new();
    terminal.draw(&before);
    let [sent, _] = terminal.draw(&after);
    terminal.assert_shows_last_frame().unwrap();
    assert!(sent < 2 * one_row, "{sent} bytes");
}
