//! Columns that leave one after the other when there is no room for all.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Modifier};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::look::{Look, Meaning};

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its heading, with the unit.
    pub heading: &'static str,
    /// The heading where room is short.
    pub short: &'static str,
    /// Least width.
    pub width: u16,
    /// How much wider it may become where there is room.
    pub grow: u16,
    /// Whether it is aligned to the right, as numbers are.
    pub right: bool,
    /// The column of the highest rank leaves first; those of rank 0 stay.
    pub rank: u8,
}

impl Column {
    /// A column of numbers.
    #[must_use]
    pub const fn number(heading: &'static str, short: &'static str, width: u16, rank: u8) -> Self {
        Self {
            heading,
            short,
            width,
            grow: 0,
            right: true,
            rank,
        }
    }

    /// A column of words that takes up to `grow` columns more.
    #[must_use]
    pub const fn words(heading: &'static str, width: u16, grow: u16, rank: u8) -> Self {
        Self {
            heading,
            short: heading,
            width,
            grow,
            right: false,
            rank,
        }
    }

    fn long(&self) -> u16 {
        self.width
            .max(u16::try_from(self.heading.chars().count()).unwrap_or(u16::MAX))
    }
}

/// Columns with their places: which, from where, how wide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// Index of the column, left edge, width.
    places: Vec<(usize, u16, u16)>,
    short: bool,
}

/// Chooses the columns that fit into `width`, and how wide they are.
#[must_use]
pub fn fit(columns: &[Column], width: u16) -> Fitted {
    let all: Vec<usize> = (0..columns.len()).collect();
    let long = |index: usize| columns[index].long();
    if total(&all, long) <= u32::from(width) {
        return place(columns, &all, long, width, false);
    }
    let short = |index: usize| columns[index].width;
    let mut kept = all;
    while total(&kept, short) > u32::from(width) {
        let lowest = kept
            .iter()
            .copied()
            .max_by_key(|index| columns[*index].rank);
        match lowest {
            Some(index) if columns[index].rank > 0 => kept.retain(|known| *known != index),
            _ => break,
        }
    }
    place(columns, &kept, short, width, true)
}

fn total(kept: &[usize], width: impl Fn(usize) -> u16) -> u32 {
    let gaps = kept.len().saturating_sub(1);
    kept.iter()
        .map(|index| u32::from(width(*index)))
        .sum::<u32>()
        + gaps as u32
}

fn place(
    columns: &[Column],
    kept: &[usize],
    least: impl Fn(usize) -> u16,
    width: u16,
    short: bool,
) -> Fitted {
    let used = total(kept, &least);
    let mut spare = u16::try_from(u32::from(width).saturating_sub(used)).unwrap_or(0);
    // A second column between them reads better than wide words.
    let gaps = u16::try_from(kept.len().saturating_sub(1)).unwrap_or(0);
    let gap = if spare >= gaps * 2 { 2 } else { 1 };
    spare -= gaps * (gap - 1);
    let mut extra = vec![0; kept.len()];
    grow(columns, kept, &mut extra, spare);
    let mut left = 0;
    let mut places = Vec::with_capacity(kept.len());
    for (index, extra) in kept.iter().copied().zip(extra) {
        let wide = (least(index) + extra).min(width.saturating_sub(left));
        places.push((index, left, wide));
        left = (left + wide + gap).min(width);
    }
    Fitted { places, short }
}

/// Shares the spare width among the columns that can use it, one by one in turn.
fn grow(columns: &[Column], kept: &[usize], extra: &mut [u16], mut spare: u16) {
    while spare > 0 {
        let before = spare;
        for (index, extra) in kept.iter().zip(extra.iter_mut()) {
            if spare > 0 && *extra < columns[*index].grow {
                *extra += 1;
                spare -= 1;
            }
        }
        if spare == before {
            return;
        }
    }
}

/// A table: a heading, and rows whose cells are made only when they are drawn.
pub struct Table<'a> {
    /// Its columns.
    pub columns: &'a [Column],
    /// Number of rows.
    pub rows: usize,
    /// Makes a cell: row, column, width.
    pub cell: &'a dyn Fn(usize, usize, u16) -> Line<'static>,
    /// The row that is selected.
    pub selected: Option<usize>,
    /// The column that it is sorted by, and whether descending.
    pub sorted: Option<(usize, bool)>,
    /// How it looks.
    pub look: Look,
}

impl Table<'_> {
    /// The first row to show, so that the selected one is in view.
    fn offset(&self, height: usize) -> usize {
        let selected = self.selected.unwrap_or(0);
        selected.saturating_sub(height.saturating_sub(1))
    }

    fn heading(&self, index: usize, short: bool) -> Line<'static> {
        let column = &self.columns[index];
        let text = if short { column.short } else { column.heading };
        let meaning = if index == 0 {
            Meaning::Title
        } else {
            Meaning::Faint
        };
        let glyphs = self.look.glyphs();
        let mut line = Line::styled(text, self.look.style(meaning));
        if let Some((sorted, descending)) = self.sorted
            && sorted == index
        {
            let arrow = if descending { glyphs.down } else { glyphs.up };
            let style = self.look.style(Meaning::Title);
            line = Line::styled(format!("{arrow}{text}"), style);
        }
        line
    }
}

impl Widget for &Table<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(*buf.area());
        if area.is_empty() {
            return;
        }
        let fitted = fit(self.columns, area.width);
        let rows = usize::from(area.height - 1);
        let offset = self.offset(rows);
        let shown = rows.min(self.rows.saturating_sub(offset));
        for (index, left, width) in &fitted.places {
            let align = |line: Line<'_>, top: u16, buf: &mut Buffer| {
                let cell = Rect::new(area.x + left, top, *width, 1);
                draw_cell(line, cell, self.columns[*index].right, buf);
            };
            align(self.heading(*index, fitted.short), area.y, buf);
            for row in 0..shown {
                let line = (self.cell)(offset + row, *index, *width);
                align(line, area.y + 1 + row as u16, buf);
            }
        }
        if let Some(selected) = self.selected
            && (offset..offset + shown).contains(&selected)
        {
            let top = area.y + 1 + (selected - offset) as u16;
            let row = Rect::new(area.x, top, area.width, 1);
            // One style for the whole row: colours would become backgrounds.
            let style = self.look.style(Meaning::Selected);
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

/// A cell with a number in the style of its meaning, faint where it is 0, `n/a` where unknown.
#[must_use]
pub fn number_cell(
    value: Option<f64>,
    format: impl Fn(f64) -> String,
    meaning: Meaning,
    look: Look,
) -> Line<'static> {
    match value {
        None => Line::from(super::text::unknown(look)),
        Some(0.0) => Line::styled(format(0.0), look.style(Meaning::Faint)),
        Some(value) => Line::from(Span::styled(format(value), look.style(meaning))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [Column; 4] = [
        Column::words("NAME", 6, 10, 0),
        Column::number("read MB/s", "r", 5, 1),
        Column::number("write MB/s", "w", 5, 2),
        Column::words("label", 8, 20, 3),
    ];

    fn kept(width: u16) -> Vec<usize> {
        let fitted = fit(&COLUMNS, width);
        fitted.places.iter().map(|(index, ..)| *index).collect()
    }

    #[test]
    fn lesser_columns_leave_first() {
        assert_eq!(kept(80), [0, 1, 2, 3]);
        assert_eq!(kept(27), [0, 1, 2, 3]);
        assert_eq!(kept(26), [0, 1, 2]);
        assert_eq!(kept(12), [0, 1]);
        assert_eq!(kept(2), [0]);
        assert!(fit(&COLUMNS, 27).short && !fit(&COLUMNS, 80).short);
    }

    proptest! {
        #[test]
        fn columns_never_overlap_nor_leave_the_area(width in 1..300_u16) {
            let places = fit(&COLUMNS, width).places;
            let mut right = 0;
            for (_, left, wide) in places {
                prop_assert!(left >= right || wide == 0);
                right = left + wide;
                prop_assert!(right <= width);
            }
        }
    }
}
