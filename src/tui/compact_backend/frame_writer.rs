//! The bytes that change one screen into another.

use ratatui::buffer::{Buffer, Cell};
use unicode_width::UnicodeWidthStr;

use super::cell_style::{CellStyle, is_blank, push_formatted};
use super::row_moves::RowMove;

/// Number of blanks from which on erasing them is shorter than writing them: before unchanged cells,
/// and before others, to which the cursor then moves.
const MIN_ERASE_BLANKS: (u16, u16) = (5, 10);
/// Number of blanks up to the end of the row from which on erasing the row is shorter.
const MIN_ERASE_ROW: u16 = 4;
/// Longest run of unchanged cells that may be shorter to write again than to pass over.
const MAX_REWRITTEN_CELLS: u16 = 8;
/// Rows down to which line feeds may be shorter than a position.
const MAX_LINE_FEEDS: u16 = 4;

/// State of the terminal while a frame is written.
#[derive(Debug, Clone, Copy, Default)]
struct TerminalCursor {
    /// Column and row; `None` where unknown.
    position: Option<(u16, u16)>,
    /// Columns of characters of uncertain width since the last absolute move: terminals differ in
    /// their width.
    uncertain_columns: u16,
    style: CellStyle,
}

/// Writes one frame.
struct FrameWriter<'a> {
    bytes: String,
    /// The screen after the frame.
    after: &'a Buffer,
    cursor: TerminalCursor,
}

/// The bytes that move the rows of the screen `before` and then change it into `after`, which has
/// the same area. The cursor may be anywhere; the terminal's style is the default, before and after.
pub(super) fn frame_bytes(moves: &[RowMove], before: &Buffer, after: &Buffer) -> String {
    let mut writer = FrameWriter {
        bytes: String::new(),
        after,
        cursor: TerminalCursor::default(),
    };
    for row_move in moves {
        writer.move_rows(row_move);
    }
    let changes = before.diff(after);
    let mut index = 0;
    while let Some((x, y, cell)) = changes.get(index).copied() {
        if is_blank(cell) {
            index += writer.write_blanks(&changes[index..]);
        } else {
            writer.reach((x, y), CellStyle::of_cell(cell));
            writer.put(cell);
            index += 1;
        }
    }
    writer.set_style(CellStyle::default());
    writer.bytes
}

impl FrameWriter<'_> {
    /// Deletes and inserts rows.
    fn move_rows(&mut self, row_move: &RowMove) {
        let count = row_move.distance();
        for (row, command) in row_move.steps() {
            self.move_to((0, row));
            match count {
                1 => push_formatted(&mut self.bytes, format_args!("\x1b[{command}")),
                _ => push_formatted(&mut self.bytes, format_args!("\x1b[{count}{command}")),
            }
        }
    }

    /// Writes or erases the blanks at the beginning of these changes; returns how many changes that
    /// were.
    fn write_blanks(&mut self, changes: &[(u16, u16, &Cell)]) -> usize {
        let (x, y, _) = changes[0];
        let in_row = changes.iter().take_while(|(_, row, _)| *row == y).count();
        let last = changes[in_row - 1].0;
        if last - x + 1 >= MIN_ERASE_ROW && self.is_blank_from(x, y) {
            self.reach_blank((x, y));
            self.bytes.push_str("\x1b[K");
            return in_row;
        }
        let run = (x..)
            .zip(&changes[..in_row])
            .take_while(|(column, (x, _, cell))| column == x && is_blank(cell))
            .count();
        let count = run as u16;
        self.reach_blank((x, y));
        let (before_unchanged, before_changed) = MIN_ERASE_BLANKS;
        let is_followed = run < in_row;
        if count >= before_changed || (!is_followed && count >= before_unchanged) {
            // The cursor stays where it is.
            push_formatted(&mut self.bytes, format_args!("\x1b[{count}X"));
        } else {
            self.bytes.extend(std::iter::repeat_n(' ', run));
            self.cursor.position = Some((x.saturating_add(count), y));
        }
        run
    }

    /// Whether a row is blank from this column on.
    fn is_blank_from(&self, x: u16, y: u16) -> bool {
        (x..self.after.area.right()).all(|column| is_blank(&self.after[(column, y)]))
    }

    /// Moves to a blank that is written or erased next.
    fn reach_blank(&mut self, position: (u16, u16)) {
        let style = self.cursor.style;
        let fitting = match style.blank_shows_background_only() {
            true => style,
            false => CellStyle::default(),
        };
        self.reach(position, fitting);
    }

    /// Moves to a cell and changes the style to that of the cell: over the unchanged cells in between
    /// or by writing them again, whichever is shorter.
    fn reach(&mut self, position: (u16, u16), style: CellStyle) {
        let (start, cursor) = (self.bytes.len(), self.cursor);
        self.move_to(position);
        self.set_style(style);
        let Some(gap) = self.rewritable_gap(cursor, position) else {
            return;
        };
        let (end, moved) = (self.bytes.len(), self.cursor);
        self.cursor = cursor;
        for column in gap {
            self.put(&self.after[(column, position.1)]);
        }
        self.set_style(style);
        if self.bytes.len() - end <= end - start {
            self.bytes.drain(start..end);
        } else {
            self.bytes.truncate(end);
            self.cursor = moved;
        }
    }

    /// The columns between the cursor and a position in the same row, if they are few, and drawn
    /// equally wide by all terminals.
    fn rewritable_gap(
        &self,
        cursor: TerminalCursor,
        (x, y): (u16, u16),
    ) -> Option<std::ops::Range<u16>> {
        let (column, row) = cursor.position?;
        let is_near = row == y && column < x && x - column <= MAX_REWRITTEN_CELLS;
        let is_certain = |column| has_certain_width(self.after[(column, y)].symbol());
        (is_near && cursor.uncertain_columns == 0 && (column..x).all(is_certain))
            .then_some(column..x)
    }

    /// Writes a cell where the cursor is.
    fn put(&mut self, cell: &Cell) {
        if !(is_blank(cell) && self.cursor.style.blank_shows_background_only()) {
            self.set_style(CellStyle::of_cell(cell));
        }
        self.bytes.push_str(cell.symbol());
        let width = u16::try_from(cell.symbol().width()).unwrap_or(1);
        if !has_certain_width(cell.symbol()) {
            self.cursor.uncertain_columns = self.cursor.uncertain_columns.saturating_add(width);
        }
        if let Some((column, _)) = &mut self.cursor.position {
            *column = column.saturating_add(width);
        }
    }

    fn set_style(&mut self, wanted: CellStyle) {
        if self.cursor.style != wanted {
            self.cursor.style.push_change(wanted, &mut self.bytes);
            self.cursor.style = wanted;
        }
    }

    fn move_to(&mut self, (x, y): (u16, u16)) {
        if self.cursor.position == Some((x, y)) {
            return;
        }
        let absolute = match (x, y) {
            (0, 0) => "\x1b[H".to_owned(),
            (0, _) => format!("\x1b[{}H", y + 1),
            _ => format!("\x1b[{};{}H", y + 1, x + 1),
        };
        let relative = self.relative_moves((x, y)).into_iter().flatten();
        let shortest = relative
            .chain([absolute])
            .min_by_key(String::len)
            .unwrap_or_default();
        self.bytes.push_str(&shortest);
        let is_absolute = shortest.ends_with(['G', 'H']) || shortest.contains('\r');
        if is_absolute {
            self.cursor.uncertain_columns = 0;
        }
        self.cursor.position = Some((x, y));
    }

    /// The ways from the cursor to a position in its row or in one of the next rows.
    fn relative_moves(&self, (x, y): (u16, u16)) -> Option<[String; 3]> {
        let (column, row) = self.cursor.position?;
        let uncertain = self.cursor.uncertain_columns;
        // However wide the terminal has drawn the characters: it has not begun the next row.
        let is_row_certain = column.saturating_add(uncertain) < self.after.area.width;
        let rows = y.checked_sub(row).filter(|rows| *rows <= MAX_LINE_FEEDS)?;
        if !is_row_certain {
            return None;
        }
        // In raw mode a line feed keeps the column.
        let down = "\n".repeat(usize::from(rows));
        let to_column = format!("{down}\x1b[{}G", x + 1);
        let from_start = format!("{down}\r{}", horizontal_move(0, x));
        let from_column = match uncertain {
            0 => format!("{down}{}", horizontal_move(column, x)),
            _ => to_column.clone(),
        };
        Some([from_column, from_start, to_column])
    }
}

/// The move from one column to another.
fn horizontal_move(from: u16, to: u16) -> String {
    let (columns, direction) = match to >= from {
        true => (to - from, 'C'),
        false => (from - to, 'D'),
    };
    match columns {
        0 => String::new(),
        1 => format!("\x1b[{direction}"),
        _ => format!("\x1b[{columns}{direction}"),
    }
}

/// Whether all terminals draw a symbol in one column: ASCII, and Braille, which is neutral in East
/// Asian Width (UAX #11) where most other characters of charts are ambiguous.
fn has_certain_width(symbol: &str) -> bool {
    let mut letters = symbol.chars();
    let is_certain =
        |letter| matches!(letter, ' '..='~') || ('\u{2800}'..='\u{28ff}').contains(&letter);
    letters.next().is_some_and(is_certain) && letters.next().is_none()
}
