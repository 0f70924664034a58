//! Tables whose columns are dropped one after the other when space is short: of cells that a closure makes
//! ([`TableWidget`]), and over the columns of an entity ([`EntityTable`]).

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Modifier};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::columns::{Column, Entity, Value};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::{cut_end, cut_start, unknown_value};
use crate::units::Unit;

/// Rank of a column that is never drawn.
const LEFT_OUT: u8 = u8::MAX;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableColumn {
    /// Its heading, with the unit.
    pub heading: &'static str,
    /// The heading where space is short.
    pub short_heading: &'static str,
    /// The unit that follows the heading where there is room for it.
    pub unit: &'static str,
    /// Minimum width.
    pub min_width: u16,
    /// Additional width where there is room.
    pub extra_width: u16,
    /// Whether it is right-aligned, as numbers are.
    pub right_aligned: bool,
    /// The column with the highest rank is dropped first; columns with rank 0 stay.
    pub drop_rank: u8,
}

impl TableColumn {
    /// A column of numbers.
    #[must_use]
    pub const fn numeric(heading: &'static str, short: &'static str, width: u16, rank: u8) -> Self {
        Self {
            heading,
            short_heading: short,
            unit: "",
            min_width: width,
            extra_width: 0,
            right_aligned: true,
            drop_rank: rank,
        }
    }

    /// A column of text that takes up to `grow` additional columns.
    #[must_use]
    pub const fn text(heading: &'static str, width: u16, grow: u16, rank: u8) -> Self {
        Self {
            heading,
            short_heading: heading,
            unit: "",
            min_width: width,
            extra_width: grow,
            right_aligned: false,
            drop_rank: rank,
        }
    }

    /// The same column, never drawn.
    #[must_use]
    pub const fn left_out(self) -> Self {
        Self {
            drop_rank: LEFT_OUT,
            ..self
        }
    }

    /// The column of an entity, as wide as it is there; one that is otherwise in no table stays.
    fn of<E: Entity>(column: &Column<E>) -> Self {
        let is_named = column.name.contains(' ');
        let unit = match column.unit {
            Unit::Nanoseconds | Unit::RequestBytes if !is_named => column.unit.cell_unit(),
            _ => "",
        };
        Self {
            heading: column.name,
            short_heading: column.name,
            unit,
            min_width: column.width,
            extra_width: column.grow,
            right_aligned: column.is_right_aligned(),
            drop_rank: match column.is_in_tables() {
                true => column.rank,
                false => 0,
            },
        }
    }

    /// The long heading.
    fn long_heading(&self) -> Cow<'static, str> {
        match self.unit {
            "" => Cow::Borrowed(self.heading),
            unit => Cow::Owned(format!("{} {unit}", self.heading)),
        }
    }

    fn max_width(&self) -> u16 {
        let heading = self.long_heading().chars().count();
        self.min_width
            .max(u16::try_from(heading).unwrap_or(u16::MAX))
    }
}

/// Where a column is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ColumnPosition {
    /// Index of the column.
    index: usize,
    /// Its first terminal column, relative to the table.
    left: u16,
    width: u16,
}

/// Columns with their layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedColumns {
    positions: Vec<ColumnPosition>,
    uses_short_headings: bool,
}

impl FittedColumns {
    /// Indices of the columns that are drawn.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        self.positions.iter().map(|position| position.index)
    }

    /// Draws one row below or above a table with the same columns, such as its totals. A cell gets the
    /// index of its column; `None` leaves it blank.
    pub fn draw_row(
        &self,
        columns: &[TableColumn],
        cell: impl Fn(usize) -> Option<Line<'static>>,
        row: Rect,
        buf: &mut Buffer,
    ) {
        for ColumnPosition { index, left, width } in &self.positions {
            if let Some(line) = cell(*index) {
                let area = Rect::new(row.x + left, row.y, *width, 1);
                draw_cell(line, area, columns[*index].right_aligned, buf);
            }
        }
    }
}

/// Selects the columns that fit into `width`, and their widths.
#[must_use]
pub fn fit_columns(columns: &[TableColumn], width: u16) -> FittedColumns {
    let all: Vec<usize> = (0..columns.len())
        .filter(|index| columns[*index].drop_rank != LEFT_OUT)
        .collect();
    let long = |index: usize| columns[index].max_width();
    if total_width(&all, long) <= u32::from(width) {
        return position_columns(columns, &all, long, width, false);
    }
    let short = |index: usize| columns[index].min_width;
    let mut kept = all;
    while total_width(&kept, short) > u32::from(width) {
        let lowest = kept
            .iter()
            .copied()
            .max_by_key(|index| columns[*index].drop_rank);
        match lowest {
            Some(index) if columns[index].drop_rank > 0 => kept.retain(|known| *known != index),
            _ => break,
        }
    }
    position_columns(columns, &kept, short, width, true)
}

fn total_width(kept: &[usize], width: impl Fn(usize) -> u16) -> u32 {
    let gaps = kept.len().saturating_sub(1);
    kept.iter()
        .map(|index| u32::from(width(*index)))
        .sum::<u32>()
        + gaps as u32
}

fn position_columns(
    columns: &[TableColumn],
    kept: &[usize],
    least: impl Fn(usize) -> u16,
    width: u16,
    short: bool,
) -> FittedColumns {
    let used = total_width(kept, &least);
    let mut spare = u16::try_from(u32::from(width).saturating_sub(used)).unwrap_or(0);
    // A second blank between columns is more readable than wide text.
    let gaps = u16::try_from(kept.len().saturating_sub(1)).unwrap_or(0);
    let gap = if spare >= gaps * 2 { 2 } else { 1 };
    spare -= gaps * (gap - 1);
    let mut extra = vec![0; kept.len()];
    distribute_spare_width(columns, kept, &mut extra, spare);
    let mut left = 0;
    let mut positions = Vec::with_capacity(kept.len());
    for (index, extra) in kept.iter().copied().zip(extra) {
        let own_width = (least(index) + extra).min(width.saturating_sub(left));
        positions.push(ColumnPosition {
            index,
            left,
            width: own_width,
        });
        left = (left + own_width + gap).min(width);
    }
    FittedColumns {
        positions,
        uses_short_headings: short,
    }
}

/// Distributes the spare width among the columns that can use it, round-robin.
fn distribute_spare_width(
    columns: &[TableColumn],
    kept: &[usize],
    extra: &mut [u16],
    mut spare: u16,
) {
    while spare > 0 {
        let before = spare;
        for (index, extra) in kept.iter().zip(extra.iter_mut()) {
            if spare > 0 && *extra < columns[*index].extra_width {
                *extra += 1;
                spare -= 1;
            }
        }
        if spare == before {
            return;
        }
    }
}

/// The order of a table's rows, marked at the heading of a column.
#[derive(Debug, Clone, Copy)]
pub struct SortMark {
    /// Index of the column.
    pub column: usize,
    /// Index of another column that is added to it.
    pub second_column: Option<usize>,
    /// Whether the largest value is first.
    pub descending: bool,
}

/// A table: a heading, and rows whose cells are created only when they are drawn.
pub struct TableWidget<'a> {
    /// Its columns.
    pub columns: &'a [TableColumn],
    /// Number of rows.
    pub row_count: usize,
    /// Creates a cell: row, column, width.
    pub cell: &'a dyn Fn(usize, usize, u16) -> Line<'static>,
    /// The row that is selected.
    pub selected_row: Option<usize>,
    /// What it is sorted by.
    pub sorted_by: Option<SortMark>,
    /// Theme of the table.
    pub theme: Theme,
}

impl TableWidget<'_> {
    /// The first visible row and the number of visible rows, chosen so that the selected one is
    /// visible. The last line of a list that is cut says how many rows follow.
    fn visible_rows(&self, height: usize) -> (usize, usize) {
        let selected = self.selected_row.unwrap_or(0);
        let first = |height: usize| selected.saturating_sub(height.saturating_sub(1));
        if height > 1 && self.row_count > first(height) + height {
            let first = first(height - 1);
            return (first, height - 1);
        }
        let first = first(height);
        (first, height.min(self.row_count.saturating_sub(first)))
    }

    fn heading(&self, index: usize, short: bool) -> Line<'static> {
        let column = &self.columns[index];
        let text = if short {
            Cow::Borrowed(column.short_heading)
        } else {
            column.long_heading()
        };
        let role = if index == 0 {
            StyleRole::Title
        } else {
            StyleRole::Faint
        };
        let role = if self.sort_arrow(index).is_some() {
            StyleRole::Title
        } else {
            role
        };
        Line::styled(text, self.theme.role_style(role))
    }

    /// The arrow of a column that the table is sorted by.
    fn sort_arrow(&self, index: usize) -> Option<char> {
        let sorted = self.sorted_by?;
        let glyphs = self.theme.glyphs();
        let arrow = if sorted.descending {
            glyphs.descending
        } else {
            glyphs.ascending
        };
        (sorted.column == index || sorted.second_column == Some(index)).then_some(arrow)
    }

    /// Draws the arrow next to a heading: in the blank before a column of numbers, which is always
    /// there, and after a heading that is left-aligned.
    fn draw_sort_arrow(
        &self,
        position: &ColumnPosition,
        heading: &Line<'_>,
        area: Rect,
        buf: &mut Buffer,
    ) {
        let Some(arrow) = self.sort_arrow(position.index) else {
            return;
        };
        let heading_width = (heading.width() as u16).min(position.width);
        let column = if self.columns[position.index].right_aligned {
            (position.left + position.width - heading_width).checked_sub(1)
        } else {
            Some(position.left + heading_width)
        };
        if let Some(column) = column.filter(|column| *column < area.width) {
            buf[(area.x + column, area.y)]
                .set_char(arrow)
                .set_style(self.theme.role_style(StyleRole::Title));
        }
    }
}

impl Widget for &TableWidget<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(*buf.area());
        if area.is_empty() {
            return;
        }
        let fitted = fit_columns(self.columns, area.width);
        let rows = usize::from(area.height - 1);
        let (offset, shown) = self.visible_rows(rows);
        for ColumnPosition { index, left, width } in &fitted.positions {
            let align = |line: Line<'_>, top: u16, buf: &mut Buffer| {
                let cell = Rect::new(area.x + left, top, *width, 1);
                draw_cell(line, cell, self.columns[*index].right_aligned, buf);
            };
            align(
                self.heading(*index, fitted.uses_short_headings),
                area.y,
                buf,
            );
            let position = ColumnPosition {
                index: *index,
                left: *left,
                width: *width,
            };
            let heading = self.heading(*index, fitted.uses_short_headings);
            self.draw_sort_arrow(&position, &heading, area, buf);
            for row in 0..shown {
                let line = (self.cell)(offset + row, *index, *width);
                align(line, area.y + 1 + row as u16, buf);
            }
        }
        let hidden = self.row_count.saturating_sub(offset + shown);
        if hidden > 0 && shown < rows {
            let row = Rect::new(area.x, area.y + 1 + shown as u16, area.width, 1);
            let style = self.theme.role_style(StyleRole::Faint);
            Line::styled(format!("+{hidden} more"), style).render(row, buf);
        }
        if let Some(selected) = self.selected_row
            && (offset..offset + shown).contains(&selected)
        {
            let top = area.y + 1 + (selected - offset) as u16;
            let row = Rect::new(area.x, top, area.width, 1);
            // One style for the whole row: reversed colours would become backgrounds.
            let style = self.theme.role_style(StyleRole::Selected);
            let style = style.fg(Color::Reset).remove_modifier(Modifier::DIM);
            buf.set_style(row, style);
        }
    }
}

fn draw_cell(line: Line<'_>, cell: Rect, right: bool, buf: &mut Buffer) {
    let alignment = if right {
        Alignment::Right
    } else {
        Alignment::Left
    };
    line.alignment(alignment).render(cell, buf);
}

/// A cell with a number in the style of its role, faint where it is 0, `n/a` where unknown.
#[must_use]
pub fn number_cell(
    value: Option<f64>,
    format: impl Fn(f64) -> String,
    role: StyleRole,
    theme: Theme,
) -> Line<'static> {
    match value {
        None => Line::from(unknown_value(theme)),
        Some(0.0) => Line::styled(format(0.0), theme.role_style(StyleRole::Faint)),
        Some(value) => Line::from(Span::styled(format(value), theme.role_style(role))),
    }
}

/// A cell that is drawn otherwise than its value: row, column, width; `None` draws the value.
pub type CellOverride<'a, E> = &'a dyn Fn(usize, &'static Column<E>, u16) -> Option<Line<'static>>;

/// A table over columns of an entity.
pub struct EntityTable<'a, E: Entity> {
    /// Heading of the first column.
    pub title: &'static str,
    /// The columns, from left to right: those of the entity that are not hidden, and own ones of the
    /// screen.
    pub columns: &'a [&'static Column<E>],
    /// The rows, in order.
    pub rows: &'a [&'a E],
    /// Cells that are not drawn as values.
    pub cell: CellOverride<'a, E>,
    /// The row that is selected.
    pub selected_row: Option<usize>,
    /// Columns that it is sorted by; empty where the order has no mark.
    pub sorted_by: &'a [&'static Column<E>],
    /// Whether the largest value, or the last text, is first.
    pub descending: bool,
    /// Theme of the table.
    pub theme: Theme,
}

impl<E: Entity> EntityTable<'_, E> {
    /// Draws the table; returns the columns that had room.
    pub fn draw(&self, area: Rect, buf: &mut Buffer) -> Vec<&'static Column<E>> {
        let columns = self.table_columns();
        let place = |wanted: &&'static Column<E>| self.columns.iter().position(|it| it == wanted);
        let mut marks = self.sorted_by.iter().filter_map(place);
        let sorted_by = marks.next().map(|column| SortMark {
            column,
            second_column: marks.next(),
            descending: self.descending,
        });
        let cell = |row: usize, column: usize, width: u16| self.cell(row, column, width);
        let table = TableWidget {
            columns: &columns,
            row_count: self.rows.len(),
            cell: &cell,
            selected_row: self.selected_row,
            sorted_by,
            theme: self.theme,
        };
        (&table).render(area, buf);
        let drawn = fit_columns(&columns, area.width);
        drawn.indices().map(|index| self.columns[index]).collect()
    }

    /// Draws one row below or above the table in its columns, such as totals: the values of `row` that
    /// are known, after a word in the first column.
    pub fn draw_row(&self, word: &'static str, row: &E, area: Rect, buf: &mut Buffer) {
        let columns = self.table_columns();
        let cell = |index: usize| {
            let column = self.columns[index];
            match (index, (column.get)(row)) {
                (0, _) => Some(Line::styled(word, self.theme.role_style(StyleRole::Faint))),
                (_, Value::Number(number)) => {
                    Some(value_cell(column, &Value::Number(number), 0, self.theme))
                }
                _ => None,
            }
        };
        fit_columns(&columns, area.width).draw_row(&columns, cell, area, buf);
    }

    fn table_columns(&self) -> Vec<TableColumn> {
        let columns = self.columns.iter().map(|column| TableColumn::of(column));
        let mut columns: Vec<TableColumn> = columns.collect();
        if let Some(first) = columns.first_mut() {
            (first.heading, first.short_heading) = (self.title, self.title);
        }
        columns
    }

    fn cell(&self, row: usize, index: usize, width: u16) -> Line<'static> {
        let column = self.columns[index];
        (self.cell)(row, column, width)
            .unwrap_or_else(|| value_cell(column, &(column.get)(self.rows[row]), width, self.theme))
    }
}

/// The value of a column: numbers in the colour of their direction, faint where they are 0, `n/a` where
/// they are unknown, and `-` where there are none.
#[must_use]
pub fn value_cell<E: Entity>(
    column: &Column<E>,
    value: &Value,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let role = match column.key {
        key if key.starts_with("read") => StyleRole::Read,
        key if key.starts_with("writ") => StyleRole::Write,
        _ => StyleRole::Plain,
    };
    match value {
        Value::Unknown => Line::from(unknown_value(theme)),
        Value::Absent => Line::styled("-", theme.role_style(StyleRole::Faint)),
        Value::Number(number) => number_cell(
            Some(*number),
            |number| column.unit.cell(number),
            role,
            theme,
        ),
        Value::Text(text) if column.is_path() => Line::raw(cut_start(text, width, theme)),
        Value::Text(text) => Line::raw(cut_end(text, width, theme)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [TableColumn; 4] = [
        TableColumn::text("NAME", 6, 10, 0),
        TableColumn::numeric("read MB/s", "r", 5, 1),
        TableColumn::numeric("write MB/s", "w", 5, 2),
        TableColumn::text("label", 8, 20, 3),
    ];

    fn kept(width: u16) -> Vec<usize> {
        let fitted = fit_columns(&COLUMNS, width);
        fitted
            .positions
            .iter()
            .map(|position| position.index)
            .collect()
    }

    #[test]
    fn table_drops_highest_rank_columns_first() {
        assert_eq!(kept(80), [0, 1, 2, 3]);
        assert_eq!(kept(27), [0, 1, 2, 3]);
        assert_eq!(kept(26), [0, 1, 2]);
        assert_eq!(kept(12), [0, 1]);
        assert_eq!(kept(2), [0]);
        assert!(
            fit_columns(&COLUMNS, 27).uses_short_headings
                && !fit_columns(&COLUMNS, 80).uses_short_headings
        );
    }

    #[test]
    fn table_that_is_cut_counts_the_rows_below() {
        let drawn = |rows: usize, selected: usize| {
            let cell = |row: usize, _: usize, _: u16| Line::raw(format!("row {row}"));
            let table = TableWidget {
                columns: &COLUMNS[..1],
                row_count: rows,
                cell: &cell,
                selected_row: Some(selected),
                sorted_by: None,
                theme: Theme::FULL,
            };
            let area = Rect::new(0, 0, 10, 4);
            let mut buf = Buffer::empty(area);
            (&table).render(area, &mut buf);
            let line = |y| (0..10).map(|x| buf[(x, y)].symbol()).collect::<String>();
            [1, 2, 3].map(|y| line(y).trim_end().to_owned())
        };
        assert_eq!(drawn(3, 0), ["row 0", "row 1", "row 2"]);
        assert_eq!(drawn(5, 0), ["row 0", "row 1", "+3 more"]);
        assert_eq!(drawn(5, 2), ["row 1", "row 2", "+2 more"]);
        assert_eq!(drawn(5, 4), ["row 2", "row 3", "row 4"]);
    }

    proptest! {
        #[test]
        fn table_columns_stay_within_area_without_overlap(width in 1..300_u16) {
            let positions = fit_columns(&COLUMNS, width).positions;
            let mut right = 0;
            for position in positions {
                prop_assert!(position.left >= right || position.width == 0);
                right = position.left + position.width;
                prop_assert!(right <= width);
            }
        }
    }
}
