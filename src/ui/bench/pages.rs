//! What of a run is in front: a chart, a table, the response times; two of them where there is
//! room.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};

use super::table::Crossed;
use super::{chart, distribution, meaning_of};
use crate::app::result::{Page, pages};
use crate::app::viewport::Viewport;
use crate::bench;
use crate::session::document::Run;
use crate::ui::look::{Look, Meaning};

/// From this width on two stand side by side.
const TWO_FROM: u16 = 110;
/// Columns between them.
const GAP: u16 = 4;
/// Narrower charts cannot be read.
const LEAST: u16 = 40;

/// Draws the page at that place, and the next beside it.
pub(super) fn draw(
    run: &Run,
    place: usize,
    viewport: &Viewport,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let pages = pages(run);
    let Some(first) = pages.get(place) else {
        return;
    };
    let mut draw = |page: &Page<'_>, area| draw_page(page, run, viewport, look, area, buf);
    let second = pages.get((place + 1) % pages.len());
    match second.and_then(|second| Some((second, beside(run, [first, second], area)?))) {
        Some((second, [left, right])) if pages.len() > 1 => {
            draw(first, left);
            draw(second, right);
        }
        _ => draw(first, area),
    }
}

/// The areas of two pages side by side, as even as they can be; `None` where there is no room.
fn beside(run: &Run, pages: [&Page<'_>; 2], area: Rect) -> Option<[Rect; 2]> {
    let [first, second] = pages.map(|page| match page {
        Page::Table(table) => Crossed::new(table, &run.findings).width(),
        Page::Chart(_) | Page::ResponseTimes => LEAST,
    });
    let room = area.width.saturating_sub(GAP);
    if area.width < TWO_FROM || first.checked_add(second)? > room {
        return None;
    }
    let left = (room / 2).clamp(first, room - second);
    let [left, _, right] = Layout::horizontal([
        Constraint::Length(left),
        Constraint::Length(GAP),
        Constraint::Min(0),
    ])
    .areas(area);
    Some([left, right])
}

fn draw_page(
    page: &Page<'_>,
    run: &Run,
    viewport: &Viewport,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let meaning = bench::find(&run.test).map_or(Meaning::Plain, meaning_of);
    let findings = &run.findings;
    match page {
        Page::Chart(known) => chart::draw(known, findings, meaning, None, look, area, buf),
        Page::Table(table) => {
            Crossed::new(table, findings).draw(meaning, viewport, look, area, buf);
        }
        Page::ResponseTimes => draw_times(run, look, area, buf),
    }
}

fn draw_times(run: &Run, look: Look, area: Rect, buf: &mut Buffer) {
    let latency = &run.findings.latency;
    match (&latency.read, &latency.write) {
        (Some(read), Some(write)) => {
            let [left, _, right] = Layout::horizontal([
                Constraint::Fill(1),
                Constraint::Length(3),
                Constraint::Fill(1),
            ])
            .areas(area);
            distribution::draw(read, Meaning::Read, look, left, buf);
            distribution::draw(write, Meaning::Write, look, right, buf);
        }
        (Some(read), None) => distribution::draw(read, Meaning::Read, look, area, buf),
        (None, Some(write)) => distribution::draw(write, Meaning::Write, look, area, buf),
        (None, None) => {}
    }
}
