//! The result of a run: problems first, then the headline metrics.
//!
//! ```text
//!  random-read   /srv   nvme0n1 Samsung PM9A3  finished after 10 s
//!  ! generator-busy: the worker thread used 93 % of a CPU
//!  ▄▄▄▄ k IOPS      ▄▄▄ us p99      ▄▄▄ MB/s
//!  [IOPS over the run]  [Latency]   Block layer              Left/Right
//!  ...
//!  Metrics                               Checks
//!  saved in ...
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::result::ResultState;
use crate::session::document::{BenchmarkRun, Metric, RunState};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::{split_heading, with_side_margins};
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::{cut_end, cut_start, wrap_text};
use crate::ui::bench::kernel::KernelPanel;
use crate::ui::bench::table::PivotTable;
use crate::ui::bench::{checks, headline, kernel, pages, role_of};
use crate::{bench, units};

/// Minimum width for the block layer's statistics next to the checks.
const KERNEL_PANEL_MIN_WIDTH: u16 = 110;

/// Minimum height for gaps.
const GAP_MIN_HEIGHT: u16 = 26;
/// Maximum number of rows of problems where space is short; otherwise a quarter of all.
const COMPACT_PROBLEM_ROWS: u16 = 6;
/// Lower pages are not drawn: their rows are for the metrics and checks.
const MIN_PAGE_ROWS: u16 = 6;
/// Rows of metrics and checks that a chart leaves, where there are so many.
const MIN_METRIC_ROWS: u16 = 5;

/// Draws the result.
pub fn draw(result: &ResultState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = with_side_margins(area);
    let Some((run, page)) = result.front_page() else {
        Line::styled(
            "this session has no runs",
            theme.role_style(StyleRole::Faint),
        )
        .render(area, buf);
        return;
    };
    result.viewport.clear_extent();
    let mut notes = error_lines(run, theme, area.width);
    let is_low = area.height < GAP_MIN_HEIGHT;
    let budget = if is_low {
        COMPACT_PROBLEM_ROWS
    } else {
        area.height / 4
    };
    let problems = checks::problem_lines(&run.findings, theme, area.width, budget);
    notes.extend(problems);
    let gap = u16::from(!is_low);
    let top = 1 + notes.len() as u16 + gap * 3 + headline::height(theme);
    let pages = page_rows(run, page, area.height.saturating_sub(top + 2));
    let [title, _, numbers, _, middle, _, bottom, saved] = Layout::vertical([
        Constraint::Length(1 + notes.len() as u16),
        Constraint::Length(gap),
        Constraint::Length(headline::height(theme)),
        Constraint::Length(gap),
        Constraint::Length(pages),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(result, run, theme, title, buf);
    for (row, note) in title.rows().skip(1).zip(notes) {
        note.render(row, buf);
    }
    draw_headline(run, theme, numbers, buf);
    pages::draw(run, page, &result.viewport, theme, middle, buf);
    draw_lower(result, run, theme, bottom, buf);
    draw_saved(result, theme, saved, buf);
}

/// Rows of the selected page: as many as it can use, and at most what the metrics leave.
fn page_rows(run: &BenchmarkRun, page: usize, room: u16) -> u16 {
    let most = room.saturating_sub(MIN_METRIC_ROWS).max(room / 2);
    let useful = pages::useful_rows(run, page);
    if most < useful.min(MIN_PAGE_ROWS) {
        // Only the names.
        return 1;
    }
    useful.min(most)
}

fn draw_title(
    result: &ResultState,
    run: &BenchmarkRun,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let elapsed = units::format_wait(Duration::from_nanos(run.elapsed_ns));
    let (how, role) = match run.state {
        RunState::Finished => ("finished after", StyleRole::Success),
        RunState::Interrupted => ("stopped after", StyleRole::Warning),
        RunState::Failed => ("failed after", StyleRole::Error),
        RunState::Running => ("running for", StyleRole::Warning),
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
    let counts = run_counts(result);
    let taken = run.test.width() + end.width() + counts.width() + 6;
    let room = area.width.saturating_sub(taken as u16);
    let line = Line::from(vec![
        Span::styled(run.test.clone(), theme.role_style(StyleRole::Title)),
        Span::raw("   "),
        Span::raw(cut_end(&about.join("  "), room, theme)),
        Span::raw("   "),
        Span::styled(end, theme.role_style(role)),
        Span::styled(counts, theme.role_style(StyleRole::Faint)),
    ]);
    line.render(area, buf);
}

/// Number of the selected run, where there are several.
fn run_counts(result: &ResultState) -> String {
    if result.runs.len() < 2 {
        return String::new();
    }
    format!("   run {} of {}", result.run_number(), result.runs.len())
}

/// Errors, below the title.
fn error_lines(run: &BenchmarkRun, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let Some(error) = &run.error else {
        return Vec::new();
    };
    let text = format!("{}. {}", error.message, error.advice);
    wrap_text(&text, width)
        .into_iter()
        .take(3)
        .map(|line| Line::styled(line, theme.role_style(StyleRole::Error)))
        .collect()
}

fn draw_headline(run: &BenchmarkRun, theme: Theme, area: Rect, buf: &mut Buffer) {
    let benchmark = bench::find_benchmark(&run.test);
    let names = benchmark.map_or(&[][..], |benchmark| {
        benchmark.description().headline_metrics
    });
    let mut metrics: Vec<_> = names
        .iter()
        .filter_map(|name| run.findings.metric(name))
        .collect();
    if metrics.is_empty() {
        metrics = run.findings.metrics.iter().take(4).collect();
    }
    if metrics.is_empty() {
        let text = "no metric was measured";
        Line::styled(text, theme.role_style(StyleRole::Warning)).render(area, buf);
        return;
    }
    let role = benchmark.map_or(StyleRole::Plain, role_of);
    let metrics = headline::by_importance(metrics, &run.findings);
    headline::draw(&metrics, role, theme, area, buf);
}

fn draw_lower(
    result: &ResultState,
    run: &BenchmarkRun,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let wide = area.width >= KERNEL_PANEL_MIN_WIDTH;
    let kernel = if wide { 32 } else { 0 };
    let metric_width = if wide { 44 } else { 36 };
    let summary = summary_table(run).map_or(0, |pivot| pivot.width());
    let metric_width = metric_width.max(summary.min(area.width * 3 / 5));
    let [left, _, right, _, third] = Layout::horizontal([
        Constraint::Length(metric_width),
        Constraint::Length(3),
        Constraint::Min(0),
        Constraint::Length(if wide { 3 } else { 0 }),
        Constraint::Length(kernel),
    ])
    .areas(area);
    draw_metrics(result, run, theme, left, buf);
    draw_checks(result, run, theme, right, buf);
    if wide {
        kernel::draw(KernelPanel::of_run(run), theme, third, buf);
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
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    if let Some(pivot) = summary_table(run) {
        return pivot.draw(StyleRole::Plain, &result.viewport, theme, area, buf);
    }
    let mut metrics = run.findings.metrics_outside_tables();
    if metrics.is_empty() {
        metrics = run.findings.metrics.iter().collect();
    }
    let (heading, body) = split_heading(area);
    Line::styled("Metrics", theme.role_style(StyleRole::Title)).render(heading, buf);
    let line = |metric: &Metric| {
        let value = metric.value_beside_label();
        let room = body.width.saturating_sub(value.width() as u16 + 2);
        let label = cut_end(&metric.label(), room, theme);
        let gap = usize::from(body.width).saturating_sub(label.width());
        Line::from(vec![
            Span::styled(label, theme.role_style(StyleRole::Faint)),
            Span::raw(format!("{value:>gap$}")),
        ])
    };
    let lines = metrics.into_iter().map(line).collect();
    scrolled::draw(lines, &result.viewport, theme, body, buf);
}

fn draw_checks(
    result: &ResultState,
    run: &BenchmarkRun,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let (heading, body) = split_heading(area);
    Line::styled("Checks", theme.role_style(StyleRole::Title)).render(heading, buf);
    let mut lines = checks::lines(&run.findings, theme, body.width);
    if lines.is_empty() {
        lines = checks::no_problems_lines(theme, body.width);
    }
    scrolled::draw(lines, &result.viewport, theme, body, buf);
}

fn draw_saved(result: &ResultState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let (word, path) = match (&result.exported_path, &result.path) {
        (Some(path), _) => ("exported to ", path),
        (None, Some(path)) => ("JSON saved in ", path),
        (None, None) => {
            let text = "not saved: no writable state directory";
            Line::styled(text, theme.role_style(StyleRole::Error)).render(area, buf);
            return;
        }
    };
    let room = area.width.saturating_sub(word.len() as u16);
    let path = cut_start(&path.to_string_lossy(), room, theme);
    Line::from(vec![
        Span::styled(word, theme.role_style(StyleRole::Faint)),
        Span::raw(path),
    ])
    .render(area, buf);
}
