//! Tables of text over the columns of an entity.

use unicode_width::UnicodeWidthChar;

use crate::columns::{Column, Entity, TEXT_ONLY, Value};

/// What a column that takes the rest of the line has at least, where other columns can go.
const MIN_REST_WIDTH: usize = 37;

/// A heading and a line per row, each with its line end, in at most `width` terminal columns; without a
/// limit every column is there and nothing is cut. `last_heading` stands over the last column.
pub(in crate::report) fn table_text<E: Entity>(
    rows: &[&E],
    width: Option<usize>,
    last_heading: Option<&str>,
) -> String {
    let mut columns = fitting_columns::<E>(width);
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            columns
                .iter()
                .map(|it| (it.column.get)(row).cell(it.column.unit))
                .collect()
        })
        .collect();
    if width.is_none() {
        for (index, column) in columns.iter_mut().enumerate() {
            let widths = cells.iter().map(|cells| display_width(&cells[index]));
            column.width = widths.fold(column.width, usize::max);
        }
    }
    let last = columns.len().saturating_sub(1);
    let heading = columns
        .iter()
        .enumerate()
        .map(|(index, it)| match last_heading {
            Some(heading) if index == last => heading.to_owned(),
            _ => it.column.heading(),
        });
    let mut text = line(&columns, heading, width);
    for cells in cells {
        text += &line(&columns, cells.into_iter(), width);
    }
    text
}

/// A column with its width here.
struct Fitted<E: Entity> {
    column: &'static Column<E>,
    width: usize,
}

impl<E: Entity> Fitted<E> {
    fn takes_the_rest(&self) -> bool {
        self.column.grow == u16::MAX
    }
}

/// The columns that fit, those of the highest rank left out first.
fn fitting_columns<E: Entity>(width: Option<usize>) -> Vec<Fitted<E>> {
    let shown = E::COLUMNS.iter().filter(|column| column.is_in_tables());
    let mut columns: Vec<Fitted<E>> = shown
        .filter(|column| width.is_none() || column.rank < TEXT_ONLY)
        .map(|column| Fitted {
            column,
            width: usize::from(column.width).max(display_width(&column.heading())),
        })
        .collect();
    let Some(width) = width else {
        return columns;
    };
    let used = |columns: &[Fitted<E>]| {
        let least = |it: &Fitted<E>| match it.takes_the_rest() {
            true => it.width.max(MIN_REST_WIDTH),
            false => it.width,
        };
        columns
            .iter()
            .map(|it| least(it) + 1)
            .sum::<usize>()
            .saturating_sub(1)
    };
    while used(&columns) > width {
        let highest = columns.iter().map(|it| it.column.rank).max().unwrap_or(0);
        let Some(index) = columns.iter().rposition(|it| it.column.rank == highest) else {
            break;
        };
        if highest == 0 {
            break;
        }
        columns.remove(index);
    }
    let mut spare = width.saturating_sub(used(&columns));
    for column in columns.iter_mut().filter(|it| !it.takes_the_rest()) {
        let growth = spare.min(column.column.grow.into());
        column.width += growth;
        spare -= growth;
    }
    columns
}

fn line<E: Entity>(
    columns: &[Fitted<E>],
    cells: impl Iterator<Item = String>,
    width: Option<usize>,
) -> String {
    let mut line = String::new();
    for (index, (fitted, cell)) in columns.iter().zip(cells).enumerate() {
        if index > 0 {
            line.push(' ');
        }
        let room = match (width, fitted.takes_the_rest()) {
            (None, _) => None,
            (Some(width), true) => Some(width.saturating_sub(display_width(&line))),
            (Some(_), false) => Some(fitted.width),
        };
        let cell = match room {
            Some(room) if fitted.column.is_path() => keep_end(&cell, room),
            Some(room) if !fitted.column.is_number() => keep_start(&cell, room),
            _ => cell,
        };
        let blanks = " ".repeat(fitted.width.saturating_sub(display_width(&cell)));
        match fitted.column.is_right_aligned() {
            true => line.extend([blanks.as_str(), &cell]),
            false => line.extend([cell.as_str(), &blanks]),
        }
    }
    cut(line, width)
}

/// A line without trailing blanks, in at most that many columns, with its line end.
pub(super) fn cut(line: String, width: Option<usize>) -> String {
    let line = match width {
        Some(width) => keep_start(&line, width),
        None => line,
    };
    line.trim_end().to_owned() + "\n"
}

/// A value of a column as in its table.
pub(super) fn cell<E: Entity>(key: &str, row: &E) -> String {
    let column = crate::columns::column::<E>(key);
    column.map_or_else(
        || Value::Unknown.cell(crate::units::Unit::Text),
        |column| (column.get)(row).cell(column.unit),
    )
}

/// Number of terminal columns that a text occupies.
pub(super) fn display_width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// The beginning of a text in at most `width` columns.
pub(super) fn keep_start(text: &str, width: usize) -> String {
    let mut used = 0;
    text.chars()
        .take_while(|letter| {
            used += letter.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// The end of a text in at most `width` columns: the end of a path says more than its beginning.
pub(super) fn keep_end(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut used = 3;
    let kept: Vec<char> = text
        .chars()
        .rev()
        .take_while(|letter| {
            used += letter.width().unwrap_or(0);
            used <= width
        })
        .collect();
    keep_start("...", width) + &kept.into_iter().rev().collect::<String>()
}
