//! Blocks as text for a terminal or a log: no colours, no control characters, 80 columns.

mod chart;

pub(super) use self::chart::histogram_text;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement};

use super::blocks::run::{RunBlocks, repeated_blocks, summary_of_repeats};
use super::blocks::{Align, Block, Table, compare};
use super::words::{append_wrapped, session_letter};
use crate::files::printable::printable_lines;
use crate::files::safe_text::SafeText;
use crate::session::compare::align::group_repeated_runs;
use crate::session::compare::{Comparison, FleetComparison};
use crate::session::document::{BenchmarkRun, Session};

/// Width of a table: 80 columns minus the blank before it.
const TABLE_WIDTH: u16 = 79;
/// Maximum width of a table cell in characters: every row of a column is as wide as its widest cell.
const WIDEST_CELL: usize = 60;

/// Renders a session.
#[must_use]
pub fn session_text(session: &Session) -> String {
    let host = &session.host;
    let host = [&host.name, &host.kernel, &host.virtualization];
    let host: Vec<&str> = host.into_iter().flatten().map(SafeText::as_str).collect();
    let mut text = format!("{}, {}\n", session.program, session.started);
    if !host.is_empty() {
        text += &format!("on {}\n", host.join(", "));
    }
    let mut text = printable_lines(&text).into_owned();
    text.push('\n');
    text.push_str(&runs_text(&session.runs));
    if session.runs.is_empty() {
        text.push_str("the session contains no run\n");
    }
    text
}

/// Renders runs, a page for each, and the spread of those that were repeated.
#[must_use]
pub fn runs_text(runs: &[BenchmarkRun]) -> String {
    let mut texts: Vec<String> = runs.iter().map(run_text).collect();
    let repeated = repeated_blocks(runs);
    if !repeated.is_empty() {
        texts.push(blocks_text(&repeated));
    }
    texts.join("\n")
}

/// Renders one run. A session may come from any source: control characters are escaped.
#[must_use]
pub fn run_text(run: &BenchmarkRun) -> String {
    let blocks = RunBlocks::of(run);
    let parts = [
        blocks.title,
        blocks.metrics,
        blocks.charts,
        blocks.system,
        blocks.checks,
        blocks.notes,
        blocks.goals,
        blocks.commands,
    ];
    blocks_text(&parts.concat())
}

/// Renders the runs of one command: repeated runs as one table of the spread of their metrics.
#[must_use]
pub fn repeats_text(runs: &[BenchmarkRun]) -> String {
    let groups = group_repeated_runs(runs, &[]);
    let texts = groups.iter().map(|group| match group.as_slice() {
        [one] => run_text(one),
        several => blocks_text(&summary_of_repeats(several)),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Renders a comparison of two or more sessions.
#[must_use]
pub fn comparison_text(comparison: &Comparison) -> String {
    blocks_text(&compare::comparison_blocks(comparison))
}

/// Renders a comparison of many drives by one metric.
#[must_use]
pub fn fleet_text(fleet: &FleetComparison) -> String {
    blocks_text(&compare::fleet_blocks(fleet))
}

fn blocks_text(blocks: &[Block]) -> String {
    let mut text = String::new();
    let mut follows_heading = true;
    for block in blocks {
        // Above a table without a heading of its own.
        if matches!(block, Block::Table(_)) && !follows_heading {
            text.push('\n');
        }
        text.push_str(&block_text(block));
        follows_heading = matches!(block, Block::Heading(_));
    }
    printable_lines(text.trim_start_matches('\n')).into_owned()
}

fn block_text(block: &Block) -> String {
    let mut text = String::new();
    match block {
        Block::Title {
            name,
            subject,
            status,
        } => {
            text.push('\n');
            let subject = if subject.is_empty() {
                name.to_uppercase()
            } else {
                format!("{name} of {subject}: {}", status.text)
            };
            append_wrapped(&mut text, "", &subject);
        }
        Block::Heading(words) => text = format!("\n{}\n", words.to_uppercase()),
        Block::Sentences(sentences) => {
            for sentence in sentences {
                append_wrapped(&mut text, "  ", &sentence.text);
            }
        }
        Block::Verdict {
            lead,
            sentence,
            advice,
            ..
        } => {
            append_wrapped(&mut text, "  ", &format!("{lead}: {sentence}"));
            append_wrapped(&mut text, "    ", advice);
        }
        Block::Facts(facts) => {
            for (name, value) in facts {
                append_wrapped(&mut text, "  ", &format!("{name}: {value}"));
            }
        }
        Block::Table(table) => text = table_text(table),
        Block::Cards(_) => {}
        Block::Sessions(sessions) => {
            for (index, session) in sessions.iter().enumerate() {
                let words = format!("{} {session}", session_letter(index));
                append_wrapped(&mut text, "  ", &words);
            }
        }
        Block::Chart(drawn) => text = chart::chart_text(drawn),
        Block::Latency { title, summary, .. } => {
            text = format!("\n{}\n", title.to_uppercase());
            text.push_str(&histogram_text(summary));
        }
        Block::Commands(lines) => {
            for line in lines {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    text
}

/// A table without borders, indented by two blanks and without trailing blanks.
fn table_text(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(NOTHING);
    if table.has_heading() {
        drawn.set_header(table.columns.iter().map(|(name, _)| cut_cell(name)));
    }
    for row in &table.rows {
        drawn.add_row(row.iter().map(|cell| cut_cell(&cell.text)));
    }
    for (index, (_, align)) in table.columns.iter().enumerate() {
        if let (Align::Right, Some(column)) = (align, drawn.column_mut(index)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    shrink_to_width(&mut drawn);
    let lines = drawn.lines();
    lines
        .map(|line| format!(" {}\n", line.trim_end()))
        .collect()
}

/// Text of more than 60 characters is truncated with `...`.
fn cut_cell(text: &str) -> String {
    if text.chars().count() <= WIDEST_CELL {
        return text.to_owned();
    }
    let kept: String = text.chars().take(WIDEST_CELL - 3).collect();
    kept + "..."
}

/// If the table exceeds 80 columns, columns are separated by one blank; if it still does, the last
/// column is wrapped.
fn shrink_to_width(table: &mut comfy_table::Table) {
    let widest = table.lines().map(|line| line.trim_end().chars().count());
    if widest.max().unwrap_or(0) <= usize::from(TABLE_WIDTH) {
        return;
    }
    table.set_width(TABLE_WIDTH);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(index == 0), 1));
        if index < last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}
