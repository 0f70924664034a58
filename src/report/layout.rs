//! Paragraphs and tables of text output.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use crate::text::wrap_words;

/// Width of text output in columns.
const TEXT_WIDTH: usize = 80;
/// Maximum width of a table cell in characters: every row of a column is as wide as its widest
/// cell.
const WIDEST_CELL: usize = 60;

/// Text as a table cell; text of more than 60 characters is truncated with `...`.
pub(super) fn cell(text: impl Into<String>) -> String {
    let text = text.into();
    match text.char_indices().nth(WIDEST_CELL) {
        None => text,
        Some(_) => {
            let kept: String = text.chars().take(WIDEST_CELL - 3).collect();
            kept + "..."
        }
    }
}

/// A table without borders.
pub(super) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table
}

pub(super) fn right_align(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The lines of the table, indented by two blanks and without trailing blanks.
pub(super) fn indent_table(table: &Table) -> String {
    if table.is_empty() {
        return String::new();
    }
    table
        .lines()
        .map(|line| format!(" {}\n", line.trim_end()))
        .collect()
}

/// Appends words in lines of at most 80 columns, each after the indent.
pub(super) fn append_wrapped(text: &mut String, indent: &str, words: &str) {
    let lines = wrap_words(words, TEXT_WIDTH - indent.len()).into_iter();
    for line in lines.filter(|line| !line.is_empty()) {
        text.push_str(indent);
        text.push_str(&line);
        text.push('\n');
    }
}
