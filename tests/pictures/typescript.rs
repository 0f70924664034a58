//! What script(1) recorded of a terminal: its output, and the times of it.

use std::fs;
use std::io;
use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Rows and columns of the recorded terminal.
const SIZE: (u16, u16) = (40, 120);
/// Seconds between two states that are looked at.
const STEP_SECONDS: f64 = 0.25;

/// A state of the screen.
pub struct ScreenState {
    /// The text, one line per row.
    pub text: String,
    /// The cells.
    pub buffer: Buffer,
}

/// The states of the terminal, four per second. `directory/name.out` and `name.timing` are the files of
/// `script --log-out --log-timing` (classic format: delay and number of bytes in each line).
pub fn read_states(directory: &Path, name: &str) -> io::Result<Vec<ScreenState>> {
    let output = fs::read(directory.join(name).with_extension("out"))?;
    let timing = fs::read_to_string(directory.join(name).with_extension("timing"))?;
    // The first line is script's own.
    let start = output
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let mut rest = &output[start..];
    let mut terminal = vt100::Parser::new(SIZE.0, SIZE.1, 0);
    let (mut seconds, mut due) = (0.0, 0.0);
    let mut states = Vec::new();
    for line in timing.lines() {
        let mut fields = line.split_whitespace();
        let (Some(delay), Some(bytes)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (Ok(delay), Ok(bytes)) = (delay.parse::<f64>(), bytes.parse::<usize>()) else {
            return Err(io::Error::other(format!("{name}.timing: {line:?}")));
        };
        seconds += delay;
        // What was shown until this output arrived.
        if seconds >= due {
            states.push(state(terminal.screen()));
            due = seconds + STEP_SECONDS;
        }
        let (chunk, later) = rest.split_at(bytes.min(rest.len()));
        terminal.process(chunk);
        rest = later;
    }
    Ok(states)
}

fn state(screen: &vt100::Screen) -> ScreenState {
    let area = Rect::new(0, 0, SIZE.1, SIZE.0);
    let mut buffer = Buffer::empty(area);
    for position in area.positions() {
        let Some(cell) = screen.cell(position.y, position.x) else {
            continue;
        };
        if cell.has_contents() {
            buffer[position].set_symbol(cell.contents());
        }
        buffer[position].set_style(style(cell));
    }
    ScreenState {
        text: screen.rows(0, SIZE.1).collect::<Vec<_>>().join("\n"),
        buffer,
    }
}

fn style(cell: &vt100::Cell) -> Style {
    let modifiers = [
        (cell.bold(), Modifier::BOLD),
        (cell.dim(), Modifier::DIM),
        (cell.underline(), Modifier::UNDERLINED),
        (cell.inverse(), Modifier::REVERSED),
    ];
    let set = modifiers.into_iter().filter(|(is_set, _)| *is_set);
    let modifier = set.fold(Modifier::empty(), |all, (_, one)| all | one);
    Style::new()
        .fg(colour(cell.fgcolor()))
        .bg(colour(cell.bgcolor()))
        .add_modifier(modifier)
}

fn colour(colour: vt100::Color) -> Color {
    match colour {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(index) => match index {
            1 => Color::Red,
            2 => Color::Green,
            3 => Color::Yellow,
            4 => Color::Blue,
            5 => Color::Magenta,
            6 => Color::Cyan,
            index => Color::Indexed(index),
        },
        vt100::Color::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}
