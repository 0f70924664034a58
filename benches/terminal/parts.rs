//! Where the bytes of a screen go: by part of the screen, and by what they do.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::bytes::{COLUMNS, ROWS};

/// What a byte does.
const KINDS: [&str; 4] = ["text", "cursor", "style", "rows, blanks"];

/// Headings, at the beginning of a row, and the parts that are below them.
const PARTS: [(&str, &str); 4] = [
    ("DEVICES", "devices"),
    ("TRANSFERS", "transfers"),
    ("PROCESSES", "processes"),
    ("DEVICE ", "charts"),
];

/// Bytes by part of the screen and by kind.
pub struct PartBytes {
    bytes: BTreeMap<String, [usize; KINDS.len()]>,
    duration: Duration,
}

impl PartBytes {
    /// Of the bytes from `first` on, written in that time.
    pub fn of(output: &[u8], first: usize, duration: Duration) -> Self {
        let mut terminal = vt100::Parser::new(ROWS, COLUMNS, 0);
        terminal.process(&output[..first]);
        let mut bytes: BTreeMap<String, [usize; KINDS.len()]> = BTreeMap::new();
        let mut part = part_of_row(terminal.screen());
        for token in tokens(&output[first..]) {
            terminal.process(token);
            if matches!(token, [0x1b | b'\r' | b'\n', ..]) {
                part = part_of_row(terminal.screen());
            }
            bytes.entry(part.clone()).or_default()[kind(token)] += token.len();
        }
        Self { bytes, duration }
    }
}

impl fmt::Display for PartBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| part | {} |", KINDS.join(" | "))?;
        writeln!(formatter, "|---|{}", "---|".repeat(KINDS.len()))?;
        for (part, kinds) in &self.bytes {
            let rates = kinds.map(|bytes| {
                let rate = bytes as f64 / self.duration.as_secs_f64();
                format!("{rate:.0}")
            });
            writeln!(formatter, "| {part} | {} |", rates.join(" | "))?;
        }
        Ok(())
    }
}

/// Cells in which each screen differs from the one before, summed; the screens are those after that
/// many bytes, the first one after `first`.
pub fn changed_cells(
    output: &[u8],
    first: usize,
    screen_ends: impl Iterator<Item = usize>,
) -> usize {
    let mut terminal = vt100::Parser::new(ROWS, COLUMNS, 0);
    terminal.process(&output[..first]);
    let (mut processed, mut changed) = (first, 0);
    for end in screen_ends {
        let before = terminal.screen().clone();
        terminal.process(&output[processed..end]);
        processed = end;
        let cells = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)));
        changed += cells
            .filter(|(row, column)| {
                before.cell(*row, *column) != terminal.screen().cell(*row, *column)
            })
            .count();
    }
    changed
}

/// The part of the screen in which the cursor is.
fn part_of_row(screen: &vt100::Screen) -> String {
    let (row, _) = screen.cursor_position();
    let rows: Vec<String> = screen.rows(0, COLUMNS).take(usize::from(row) + 1).collect();
    let heading = rows.iter().rev().find_map(|text| {
        let heading = PARTS
            .iter()
            .find(|(heading, _)| text.trim_start().starts_with(heading));
        heading.map(|(_, part)| (*part).to_owned())
    });
    heading.unwrap_or_else(|| "header".to_owned())
}

/// Control sequences, control characters, and characters.
fn tokens(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = output;
    std::iter::from_fn(move || {
        let length = token_length(rest)?;
        let (token, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        Some(token)
    })
}

fn token_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [] => None,
        [0x1b, b'[', parameters @ ..] => {
            let end = parameters
                .iter()
                .position(|byte| (0x40..0x7f).contains(byte));
            Some(end.map_or(bytes.len(), |end| end + 3))
        }
        [0x1b, _, ..] => Some(2),
        [_, rest @ ..] => {
            let continued = rest.iter().take_while(|byte| **byte & 0xc0 == 0x80);
            Some(1 + continued.count())
        }
    }
}

/// Index in [`KINDS`].
fn kind(token: &[u8]) -> usize {
    match token {
        [0x1b, b'[', .., b'm'] => 2,
        [0x1b, b'[', .., b'X' | b'K' | b'L' | b'M'] => 3,
        [0x1b | b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}
