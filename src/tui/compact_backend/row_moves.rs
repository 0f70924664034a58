//! Rows of the screen that have moved up or down, which a terminal can do itself: one row deleted and
//! one inserted instead of all rows in between written again.

use std::ops::RangeInclusive;

use ratatui::buffer::{Buffer, Cell};

use super::cell_style::is_blank;

/// Rows by which rows are looked for above and below their old place.
const MAX_DISTANCE: u16 = 6;
/// Largest number of moves of a frame.
const MAX_MOVES: usize = 3;
/// Changed cells from which on a row may have moved.
const MIN_CHANGED_CELLS: i32 = 16;
/// Cells that a move must save: two sequences with the moves of the cursor to them.
const MIN_SAVED_CELLS: i32 = 20;

/// Rows that move by the same distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowMove {
    /// The rows, where they are afterwards.
    rows: RangeInclusive<u16>,
    /// Down if positive.
    by: i16,
}

impl RowMove {
    /// How far the rows move.
    pub(super) fn distance(&self) -> u16 {
        self.by.unsigned_abs()
    }

    /// The first row that changes and the row behind the last one.
    fn region(&self) -> (u16, u16) {
        let (first, last) = (*self.rows.start(), *self.rows.end());
        match self.by > 0 {
            true => (first - self.distance(), last + 1),
            false => (first, last + 1 + self.distance()),
        }
    }

    /// The control functions and their rows: rows are deleted (DL), and as many inserted (IL), so that
    /// what is below the region stays where it is.
    pub(super) fn steps(&self) -> [(u16, char); 2] {
        let (first, end) = self.region();
        let last_ones = end - self.distance();
        match self.by > 0 {
            true => [(last_ones, 'M'), (first, 'L')],
            false => [(first, 'M'), (last_ones, 'L')],
        }
    }

    /// Does to a screen what the terminal does.
    fn apply(&self, screen: &mut Buffer) {
        let before = screen.clone();
        let (first, end) = self.region();
        for row in first..end {
            let source = self.rows.contains(&row).then(|| source_row(row, self.by));
            for column in 0..screen.area.width {
                screen[(column, row)] = match source.flatten() {
                    Some(source) => before[(column, source)].clone(),
                    None => Cell::EMPTY,
                };
            }
        }
    }
}

/// The row from which a row came.
fn source_row(row: u16, by: i16) -> Option<u16> {
    row.checked_add_signed(by.checked_neg()?)
}

/// Finds the rows that have moved from the screen `before` to `after`, and moves them in `before`.
pub(super) fn move_rows(before: &mut Buffer, after: &Buffer) -> Vec<RowMove> {
    let mut moves = Vec::new();
    while moves.len() < MAX_MOVES
        && let Some(found) = find_row_move(before, after)
    {
        found.apply(before);
        moves.push(found);
    }
    moves
}

/// The move that saves most cells.
fn find_row_move(before: &Buffer, after: &Buffer) -> Option<RowMove> {
    let height = after.area.height;
    let changed: Vec<i32> = (0..height)
        .map(|row| changed_cells(before, row, after, row))
        .collect();
    let much_changed = changed.iter().filter(|cells| **cells >= MIN_CHANGED_CELLS);
    if much_changed.count() < 2 {
        return None;
    }
    let farthest = i16::try_from(MAX_DISTANCE.min(height / 2)).ok()?;
    let (saved, best) = (-farthest..=farthest)
        .filter(|by| *by != 0)
        .filter_map(|by| best_move_by(by, &changed, before, after))
        .max_by_key(|(saved, _)| *saved)?;
    (saved >= MIN_SAVED_CELLS).then_some(best)
}

/// The rows whose move by this distance saves most cells (maximum subarray, Kadane), and how many.
fn best_move_by(
    by: i16,
    changed: &[i32],
    before: &Buffer,
    after: &Buffer,
) -> Option<(i32, RowMove)> {
    let mut best: Option<(i32, RangeInclusive<u16>)> = None;
    let (mut sum, mut first) = (0, 0);
    for (row, changed) in (0..).zip(changed) {
        let source = source_row(row, by).filter(|source| *source < after.area.height);
        let Some(source) = source else {
            sum = 0;
            continue;
        };
        if sum <= 0 {
            (sum, first) = (0, row);
        }
        sum += changed - changed_cells(before, source, after, row);
        if best.as_ref().is_none_or(|(most, _)| sum > *most) {
            best = Some((sum, first..=row));
        }
    }
    let (saved, rows) = best?;
    let row_move = RowMove { rows, by };
    // What is written into the rows that become empty.
    let (first, end) = row_move.region();
    let emptied = (first..end).filter(|row| !row_move.rows.contains(row));
    let cost: i32 = emptied
        .map(|row| written_cells(after, row) - changed[usize::from(row)])
        .sum();
    Some((saved - cost, row_move))
}

/// Number of cells in which a row of one screen differs from a row of another.
fn changed_cells(before: &Buffer, source: u16, after: &Buffer, row: u16) -> i32 {
    let columns = 0..after.area.width;
    let is_changed = |column: &u16| before[(*column, source)] != after[(*column, row)];
    columns.filter(is_changed).count() as i32
}

/// Number of cells of a row that are not blank.
fn written_cells(screen: &Buffer, row: u16) -> i32 {
    let columns = 0..screen.area.width;
    let is_written = |column: &u16| !is_blank(&screen[(*column, row)]);
    columns.filter(is_written).count() as i32
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;

    fn screen(rows: &[&str]) -> Buffer {
        let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        Buffer::with_lines(rows.iter().map(|row| format!("{row:width$}")))
    }

    const ROWS: [&str; 6] = [
        "first row of the list, aaaaaaaaaaa",
        "second of them, bbbbbbbbbbbbbbbbbb",
        "and the third, ccccccccccccccccccc",
        "ddddddddddddddddddddd, row four of",
        "then five, eeeeeeeeeeeeeeeeeeeeeee",
        "footer ffffffffffffffffffffffffff",
    ];

    #[test]
    fn row_that_moves_up_moves_the_rows_above_it_down() {
        let mut before = screen(&ROWS);
        let after = screen(&[ROWS[0], ROWS[4], ROWS[1], ROWS[2], ROWS[3], ROWS[5]]);
        let moves = move_rows(&mut before, &after);
        assert_eq!(moves, [RowMove { rows: 2..=4, by: 1 }]);
        assert_eq!(moves[0].steps(), [(4, 'M'), (1, 'L')]);
        assert_eq!(
            before,
            screen(&[ROWS[0], "", ROWS[1], ROWS[2], ROWS[3], ROWS[5]])
        );
    }

    #[test]
    fn row_that_is_gone_moves_the_rows_below_it_up() {
        let mut before = screen(&ROWS);
        let after = screen(&[ROWS[0], ROWS[2], ROWS[3], ROWS[4], "", ROWS[5]]);
        let moves = move_rows(&mut before, &after);
        assert_eq!(
            moves,
            [RowMove {
                rows: 1..=3,
                by: -1
            }]
        );
        assert_eq!(moves[0].steps(), [(1, 'M'), (4, 'L')]);
        assert_eq!(before, after);
    }

    #[test]
    fn rows_that_change_in_place_or_little_do_not_move() {
        let mut before = screen(&ROWS);
        let changed = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
        let after = screen(&[changed, ROWS[1], changed, ROWS[3], ROWS[4], ROWS[5]]);
        assert_eq!(move_rows(&mut before, &after), []);
        let after = screen(&["a", "b", "c", "d", "e", "f"]);
        let mut before = screen(&["b", "c", "d", "e", "f", ""]);
        assert_eq!(move_rows(&mut before, &after), []);
    }
}
