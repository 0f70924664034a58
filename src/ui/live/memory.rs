//! Memory and pressure: what is dirty against its limits, how often tasks wait, what grows.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::charts::{History, chart};
use super::fact;
use crate::app::live::LiveState;
use crate::model::history::HostPoint;
use crate::model::live::{GrowingFile, HostView};
use crate::session::document::Unit;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::cut_start;
use crate::units;

/// Rows of the facts.
const FACTS: u16 = 9;
/// Files that are listed at most.
const FILES: usize = 6;

/// Draws it.
pub(super) fn draw(live: &LiveState, look: Look, area: Rect, buf: &mut Buffer) {
    let Some(sample) = &live.sample else {
        return;
    };
    let listed = sample.growing.len().clamp(1, FILES) as u16;
    let [facts, charts, files] = Layout::vertical([
        Constraint::Length(FACTS),
        Constraint::Min(0),
        Constraint::Length(listed + 1),
    ])
    .areas(area);
    for (row, line) in facts.rows().zip(memory(&sample.host, look)) {
        line.render(row, buf);
    }
    draw_charts(live, look, charts, buf);
    let mut lines = vec![Line::styled("FILES THAT GROW", look.style(Meaning::Title))];
    lines.extend(
        sample
            .growing
            .iter()
            .map(|file| growing(file, files.width, look)),
    );
    if sample.growing.is_empty() {
        lines.push(Line::styled("none", look.style(Meaning::Faint)));
    }
    scrolled::draw(lines, &live.viewport, look, files, buf);
}

fn memory(host: &HostView, look: Look) -> Vec<Line<'static>> {
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| units::capacity(bytes as f64));
    let throttle = match host.throttle {
        Some(left) if left.is_zero() => "they wait now".to_owned(),
        Some(left) => format!("in {} if it goes on", units::waiting(left)),
        None => "dirty memory does not grow".to_owned(),
    };
    let drain = host.drain.map(units::waiting);
    let limit = |from: Option<u64>| bytes(from).map(|from| format!("from {from} on"));
    vec![
        Line::styled("MEMORY", look.style(Meaning::Title)),
        fact("in all", bytes(host.memory_bytes), look),
        fact("page cache", bytes(host.cached_bytes), look),
        fact("cache hits", host.cache_hits.map(units::percent), look),
        fact("dirty", bytes(host.dirty_bytes), look),
        fact("being written", bytes(host.writeback_bytes), look),
        fact("on disk in", drain, look),
        fact("written back", limit(host.background_from_bytes), look),
        fact(
            "writers wait",
            limit(host.throttled_from_bytes).map(|from| format!("{from}; {throttle}")),
            look,
        ),
    ]
}

fn draw_charts(live: &LiveState, look: Look, area: Rect, buf: &mut Buffer) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2])
        .spacing(2)
        .areas(area);
    let points = |of: fn(&HostPoint) -> Option<f32>| -> Vec<Option<f32>> {
        live.history.host().iter().map(of).collect()
    };
    let pressure = History {
        title: "I/O pressure: some, full",
        unit: Unit::Ratio,
        curves: vec![
            (points(|point| point.pressure_some), Meaning::Waiting),
            (points(|point| point.pressure_full), Meaning::Trouble),
        ],
    };
    chart(&pressure, live.interval, look, left, buf);
    let dirty = History {
        title: "dirty and being written",
        unit: Unit::Bytes,
        curves: vec![(points(|point| point.unwritten_bytes), Meaning::Write)],
    };
    chart(&dirty, live.interval, look, right, buf);
    Line::default().render(area, buf);
}

fn growing(file: &GrowingFile, width: u16, look: Look) -> Line<'static> {
    let start = format!(
        "{:>10} {:>10}  {:<10} ",
        units::throughput(file.growth_bytes_per_s),
        units::capacity(file.size_bytes as f64),
        cut_start(&file.command, 10, look),
    );
    let room = width.saturating_sub(start.chars().count() as u16);
    Line::raw(format!("{start}{}", cut_start(&file.path, room, look)))
}
