//! The selected page of a run: a chart, a table, the latency distribution; two pages where there is
//! room. A line above names all pages of the run.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::result::{ResultPage, run_pages};
use crate::app::viewport::Viewport;
use crate::bench;
use crate::bench::ChartShape;
use crate::session::document::BenchmarkRun;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::split_heading;
use crate::tui::widgets::text::right_aligned;
use crate::ui::bench::kernel::KernelPanel;
use crate::ui::bench::table::PivotTable;
use crate::ui::bench::{chart, distribution, kernel, role_of};

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
    let (names, area) = split_heading(area);
    let Some(first) = pages.get(index) else {
        return;
    };
    let mut draw = |page: &ResultPage<'_>, area| draw_page(page, run, viewport, theme, area, buf);
    let next = (index + 1) % pages.len();
    let beside = pages
        .get(next)
        .filter(|_| pages.len() > 1)
        .and_then(|second| Some((second, side_by_side(run, [first, second], area)?)));
    match &beside {
        Some((second, [left, right])) => {
            draw(first, *left);
            draw(second, *right);
        }
        None => draw(first, area),
    }
    let shown = if beside.is_some() {
        vec![index, next]
    } else {
        vec![index]
    };
    draw_page_names(&pages, &shown, theme, names, buf);
}

/// The names of all pages, those that are shown in brackets, and the keys that switch between them.
fn draw_page_names(
    pages: &[ResultPage<'_>],
    shown: &[usize],
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    const KEYS: &str = "Left/Right";
    let faint = theme.role_style(StyleRole::Faint);
    let room = area.width.saturating_sub(KEYS.len() as u16 + 2);
    let name = |(index, page): (usize, &ResultPage<'_>)| {
        if shown.contains(&index) {
            let text = format!("[{}]", page.title());
            Span::styled(text, theme.role_style(StyleRole::Title))
        } else {
            Span::styled(format!(" {} ", page.title()), faint)
        }
    };
    // The selected page is always named: names before it are dropped where space is short.
    let selected = shown.first().copied().unwrap_or(0);
    let mut names: Vec<Span<'static>> = pages.iter().enumerate().map(name).collect();
    let width = |names: &[Span<'static>]| names.iter().map(|name| name.width() + 1).sum::<usize>();
    let mut dropped = 0;
    while dropped < selected && width(&names) > usize::from(room) {
        names.remove(0);
        dropped += 1;
    }
    let mut line = Line::default();
    let total = names.len();
    for (index, name) in names.into_iter().enumerate() {
        if line.width() + name.width() > usize::from(room).saturating_sub(9) && index > 0 {
            line.push_span(Span::styled(format!("+{} more", total - index), faint));
            break;
        }
        line.push_span(name);
        line.push_span(" ");
    }
    line.render(area, buf);
    if pages.len() > 1 {
        right_aligned(KEYS, faint).render(area, buf);
    }
}

/// Rows that the pages need with their names; more would show nothing more.
pub(super) fn useful_rows(run: &BenchmarkRun, index: usize) -> u16 {
    let pages = run_pages(run);
    let beside = pages.get((index + 1) % pages.len().max(1));
    let of = |page: &ResultPage<'_>| match page {
        ResultPage::Chart(chart) if chart.shape == ChartShape::Polar => 24,
        ResultPage::Chart(_) | ResultPage::Latency => 14,
        ResultPage::Table(table) => u16::try_from(table.rows.len()).unwrap_or(u16::MAX - 2) + 1,
        ResultPage::BlockLayer => 12,
    };
    let rows = pages.get(index).into_iter().chain(beside).map(of).max();
    rows.unwrap_or(0).saturating_add(1)
}

/// The areas of two pages side by side, as equal as possible; `None` where they do not fit.
fn side_by_side(run: &BenchmarkRun, pages: [&ResultPage<'_>; 2], area: Rect) -> Option<[Rect; 2]> {
    let [first, second] = pages.map(|page| match page {
        ResultPage::Table(table) => PivotTable::new(table, &run.findings).width(),
        ResultPage::Chart(_) | ResultPage::Latency | ResultPage::BlockLayer => MIN_CHART_WIDTH,
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
        ResultPage::BlockLayer => kernel::draw(KernelPanel::of_run(run), theme, area, buf),
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
