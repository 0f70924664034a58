//! The selected page of a run: a chart, a table, the latency distribution; two pages where there is
//! room.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};

use crate::app::result::{ResultPage, run_pages};
use crate::app::viewport::Viewport;
use crate::bench;
use crate::session::document::BenchmarkRun;
use crate::ui::bench::table::PivotTable;
use crate::ui::bench::{chart, distribution, role_of};
use crate::ui::theme::{StyleRole, Theme};

/// Minimum width for two pages side by side.
const TWO_PAGES_MIN_WIDTH: u16 = 110;
/// Columns between them.
const PAGE_GAP: u16 = 4;
/// Narrower charts are unreadable.
const MIN_CHART_WIDTH: u16 = 40;

/// Draws the page with this index, and the next one beside it.
pub(super) fn draw(
    run: &BenchmarkRun,
    index: usize,
    viewport: &Viewport,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let pages = run_pages(run);
    let Some(first) = pages.get(index) else {
        return;
    };
    let mut draw = |page: &ResultPage<'_>, area| draw_page(page, run, viewport, theme, area, buf);
    let second = pages.get((index + 1) % pages.len());
    match second.and_then(|second| Some((second, side_by_side(run, [first, second], area)?))) {
        Some((second, [left, right])) if pages.len() > 1 => {
            draw(first, left);
            draw(second, right);
        }
        _ => draw(first, area),
    }
}

/// The areas of two pages side by side, as equal as possible; `None` where they do not fit.
fn side_by_side(run: &BenchmarkRun, pages: [&ResultPage<'_>; 2], area: Rect) -> Option<[Rect; 2]> {
    let [first, second] = pages.map(|page| match page {
        ResultPage::Table(table) => PivotTable::new(table, &run.findings).width(),
        ResultPage::Chart(_) | ResultPage::Latency => MIN_CHART_WIDTH,
    });
    let room = area.width.saturating_sub(PAGE_GAP);
    if area.width < TWO_PAGES_MIN_WIDTH || first.checked_add(second)? > room {
        return None;
    }
    let left = (room / 2).clamp(first, room - second);
    let [left, _, right] = Layout::horizontal([
        Constraint::Length(left),
        Constraint::Length(PAGE_GAP),
        Constraint::Min(0),
    ])
    .areas(area);
    Some([left, right])
}

fn draw_page(
    page: &ResultPage<'_>,
    run: &BenchmarkRun,
    viewport: &Viewport,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let role = bench::find_benchmark(&run.test).map_or(StyleRole::Plain, role_of);
    let findings = &run.findings;
    match page {
        ResultPage::Chart(known) => chart::draw(known, findings, role, None, theme, area, buf),
        ResultPage::Table(table) => {
            PivotTable::new(table, findings).draw(role, viewport, theme, area, buf);
        }
        ResultPage::Latency => draw_response_times(run, theme, area, buf),
    }
}

fn draw_response_times(run: &BenchmarkRun, theme: Theme, area: Rect, buf: &mut Buffer) {
    let latency = &run.findings.latency;
    match (&latency.read, &latency.write) {
        (Some(read), Some(write)) => {
            let [left, _, right] = Layout::horizontal([
                Constraint::Fill(1),
                Constraint::Length(3),
                Constraint::Fill(1),
            ])
            .areas(area);
            distribution::draw(read, StyleRole::Read, theme, left, buf);
            distribution::draw(write, StyleRole::Write, theme, right, buf);
        }
        (Some(read), None) => distribution::draw(read, StyleRole::Read, theme, area, buf),
        (None, Some(write)) => distribution::draw(write, StyleRole::Write, theme, area, buf),
        (None, None) => {}
    }
}
