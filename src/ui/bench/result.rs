//! The result of a run.
//!
//! ```text
//!  random-read   /srv   nvme0n1 Samsung PM9A3   finished after 10 s
//!  ▄▄▄▄ k IOPS      ▄▄▄ MB/s      ▄▄▄ us
//!  IOPS over the run                     Response times
//!  METRICS                               CHECKS
//!  saved in ...
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use super::table::PivotTable;
use super::{headline, kernel, pages, role_of, verdicts};
use crate::app::result;
use crate::app::result::{ResultPage, ResultState};
use crate::bench;
use crate::session::document::{BenchmarkRun, Metric, RunState};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::areas::split_heading;
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::{cut_end, cut_start, wrap_text};
use crate::units;

/// Minimum width for the block layer's statistics next to the checks.
const KERNEL_PANEL_MIN_WIDTH: u16 = 110;

/// Rows of the title, the gap above the metrics, and the last line.
const FIXED_ROWS: u16 = 3;
/// Minimum height for gaps.
const GAP_MIN_HEIGHT: u16 = 26;
/// Rows for metrics and checks where space is short.
const COMPACT_METRIC_ROWS: u16 = 6;
/// Minimum rows for metrics and checks.
const MIN_METRIC_ROWS: u16 = 4;

/// Draws the result.
pub(in crate::ui) fn draw(result: &ResultState, look: Theme, area: Rect, buf: &mut Buffer) {
    let area = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    let Some((run, page)) = result.front_page() else {
        Line::styled("this session has no run", look.role_style(StyleRole::Faint))
            .render(area, buf);
        return;
    };
    result.viewport.clear_extent();
    let notes = error_lines(run, look, area.width);
    let gap = u16::from(area.height >= GAP_MIN_HEIGHT);
    let lower = lower_rows(run, page, notes.len() as u16, area.height);
    let [title, _, numbers, _, middle, _, bottom, saved] = Layout::vertical([
        Constraint::Length(1 + notes.len() as u16),
        Constraint::Length(gap),
        Constraint::Length(headline::HEIGHT),
        Constraint::Length(gap),
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(lower),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(result, (run, page), look, title, buf);
    for (row, note) in title.rows().skip(1).zip(notes) {
        note.render(row, buf);
    }
    draw_headline(run, look, numbers, buf);
    pages::draw(run, page, &result.viewport, look, middle, buf);
    draw_lower(result, run, look, bottom, buf);
    draw_saved(result, look, saved, buf);
}

/// Rows for metrics and checks: a third of all, less where a table on the selected page needs them.
fn lower_rows(run: &BenchmarkRun, page: usize, notes: u16, height: u16) -> u16 {
    let usual = if height < GAP_MIN_HEIGHT {
        COMPACT_METRIC_ROWS
    } else {
        (height / 3).clamp(COMPACT_METRIC_ROWS, 12)
    };
    let Some(ResultPage::Table(table)) = result::run_pages(run).get(page).copied() else {
        return usual;
    };
    let gaps = if height < GAP_MIN_HEIGHT { 0 } else { 2 };
    let others = FIXED_ROWS + gaps + notes + headline::HEIGHT;
    let table = table.rows.len() as u16 + 1;
    height
        .saturating_sub(others + table)
        .clamp(MIN_METRIC_ROWS, usual)
}

fn draw_title(
    result: &ResultState,
    (run, page): (&BenchmarkRun, usize),
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let elapsed = units::format_wait(Duration::from_nanos(run.elapsed_ns));
    let (how, meaning) = match run.state {
        RunState::Finished => ("finished after", StyleRole::Success),
        RunState::Interrupted => ("stopped after", StyleRole::Warning),
        RunState::Failed => ("FAILED after", StyleRole::Error),
        RunState::Running => ("cut off after", StyleRole::Warning),
    };
    let target = &run.target;
    let mut about = vec![target.path.clone()];
    about.extend(
        target
            .device
            .clone()
            .filter(|name| !target.path.ends_with(name.as_str())),
    );
    about.extend(target.model.clone());
    about.push(run.engine.name.clone());
    let end = format!("{how} {elapsed}");
    let counts = page_counts(result, run, page);
    let taken = run.test.width() + end.width() + counts.width() + 6;
    let room = area.width.saturating_sub(taken as u16);
    let line = Line::from(vec![
        Span::styled(run.test.clone(), look.role_style(StyleRole::Title)),
        Span::raw("   "),
        Span::raw(cut_end(&about.join("  "), room, look)),
        Span::raw("   "),
        Span::styled(end, look.role_style(meaning)),
        Span::styled(counts, look.role_style(StyleRole::Faint)),
    ]);
    line.render(area, buf);
}

/// Number of runs, and index of the selected page of this one.
fn page_counts(result: &ResultState, run: &BenchmarkRun, page: usize) -> String {
    let mut text = String::new();
    if result.runs.len() > 1 {
        text.push_str(&format!("   {} runs", result.runs.len()));
    }
    let pages = result::run_pages(run).len();
    if pages > 1 {
        text.push_str(&format!("   {} of {pages}", page + 1));
    }
    text
}

/// Errors, below the title.
fn error_lines(run: &BenchmarkRun, look: Theme, width: u16) -> Vec<Line<'static>> {
    let Some(error) = &run.error else {
        return Vec::new();
    };
    let text = format!("{}. {}", error.message, error.advice);
    wrap_text(&text, width)
        .into_iter()
        .take(3)
        .map(|line| Line::styled(line, look.role_style(StyleRole::Error)))
        .collect()
}

fn draw_headline(run: &BenchmarkRun, look: Theme, area: Rect, buf: &mut Buffer) {
    let test = bench::find_benchmark(&run.test);
    let names = test.map_or(&[][..], |test| test.description().headline_metrics);
    let mut figures: Vec<_> = names
        .iter()
        .filter_map(|name| run.findings.metric(name))
        .collect();
    if figures.is_empty() {
        figures = run.findings.figures.iter().take(4).collect();
    }
    if figures.is_empty() {
        let text = "nothing was measured";
        Line::styled(text, look.role_style(StyleRole::Warning)).render(area, buf);
        return;
    }
    let meaning = test.map_or(StyleRole::Plain, role_of);
    headline::draw(&figures, meaning, look, area, buf);
}

fn draw_lower(result: &ResultState, run: &BenchmarkRun, look: Theme, area: Rect, buf: &mut Buffer) {
    let wide = area.width >= KERNEL_PANEL_MIN_WIDTH;
    let kernel = if wide { 32 } else { 0 };
    let figures = if wide { 44 } else { 36 };
    let summary = summary_table(run).map_or(0, |crossed| crossed.width());
    let figures = figures.max(summary.min(area.width * 3 / 5));
    let [left, _, right, _, third] = Layout::horizontal([
        Constraint::Length(figures),
        Constraint::Length(3),
        Constraint::Min(0),
        Constraint::Length(if wide { 3 } else { 0 }),
        Constraint::Length(kernel),
    ])
    .areas(area);
    draw_metrics(result, run, look, left, buf);
    draw_verdicts(result, run, look, right, buf);
    if wide {
        let latency = &run.findings.latency;
        let ours = [&latency.read, &latency.write]
            .into_iter()
            .flatten()
            .fold(0_u64, |sum, latency| sum.saturating_add(latency.count));
        let said = kernel::KernelPanel {
            counts: run.kernel.as_ref(),
            stages: run.stages.as_ref(),
            elapsed_ns: run.elapsed_ns,
            benchmark_requests: Some(ours),
        };
        kernel::draw(said, look, third, buf);
    }
}

/// The table that replaces the metrics where there are no others, as in a survey, where all metrics
/// belong to nested benchmarks.
fn summary_table(run: &BenchmarkRun) -> Option<PivotTable<'_>> {
    let table = run.findings.top_level_tables().next()?;
    let alone = run.findings.metrics_outside_tables().is_empty();
    alone.then(|| PivotTable::new(table, &run.findings))
}

fn draw_metrics(
    result: &ResultState,
    run: &BenchmarkRun,
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    if let Some(crossed) = summary_table(run) {
        return crossed.draw(StyleRole::Plain, &result.viewport, look, area, buf);
    }
    let mut figures = run.findings.metrics_outside_tables();
    if figures.is_empty() {
        figures = run.findings.figures.iter().collect();
    }
    let (heading, body) = split_heading(area);
    Line::styled("Figures", look.role_style(StyleRole::Title)).render(heading, buf);
    let line = |figure: &Metric| {
        let value = figure.value_text();
        let room = body.width.saturating_sub(value.width() as u16 + 2);
        let label = cut_end(&figure.label(), room, look);
        let gap = usize::from(body.width).saturating_sub(label.width());
        Line::from(vec![
            Span::styled(label, look.role_style(StyleRole::Faint)),
            Span::raw(format!("{value:>gap$}")),
        ])
    };
    let lines = figures.into_iter().map(line).collect();
    scrolled::draw(lines, &result.viewport, look, body, buf);
}

fn draw_verdicts(
    result: &ResultState,
    run: &BenchmarkRun,
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let (heading, body) = split_heading(area);
    Line::styled("Checks", look.role_style(StyleRole::Title)).render(heading, buf);
    let mut lines = verdicts::lines(&run.findings, look, body.width);
    if lines.is_empty() {
        lines = verdicts::no_problems_lines(look, body.width);
    }
    scrolled::draw(lines, &result.viewport, look, body, buf);
}

fn draw_saved(result: &ResultState, look: Theme, area: Rect, buf: &mut Buffer) {
    let (word, path) = match (&result.exported_path, &result.path) {
        (Some(path), _) => ("exported to ", path),
        (None, Some(path)) => ("JSON saved in ", path),
        (None, None) => {
            let text = "not saved: no state directory can be written";
            Line::styled(text, look.role_style(StyleRole::Error)).render(area, buf);
            return;
        }
    };
    let room = area.width.saturating_sub(word.len() as u16);
    let path = cut_start(&path.to_string_lossy(), room, look);
    Line::from(vec![
        Span::styled(word, look.role_style(StyleRole::Faint)),
        Span::raw(path),
    ])
    .render(area, buf);
}
