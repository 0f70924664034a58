//! Memory and pressure: dirty memory and its limits, I/O pressure, growing files.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::charts::{ChartHistory, draw_history};
use super::fact_line;
use crate::app::live::LiveState;
use crate::model::history::HostPoint;
use crate::model::snapshot::{GrowingFile, HostView};
use crate::session::document::MetricUnit;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::cut_start;
use crate::units;

/// Rows of the facts.
const FACT_ROWS: u16 = 9;
/// Maximum number of listed files.
const MAX_GROWING_FILES: usize = 6;

/// Draws the pane.
pub(super) fn draw(live: &LiveState, look: Theme, area: Rect, buf: &mut Buffer) {
    let Some(sample) = &live.snapshot else {
        return;
    };
    let listed = sample.growing_files.len().clamp(1, MAX_GROWING_FILES) as u16;
    let [facts, charts, files] = Layout::vertical([
        Constraint::Length(FACT_ROWS),
        Constraint::Min(0),
        Constraint::Length(listed + 1),
    ])
    .areas(area);
    for (row, line) in facts.rows().zip(memory_lines(&sample.host, look)) {
        line.render(row, buf);
    }
    draw_charts(live, look, charts, buf);
    let mut lines = vec![Line::styled(
        "FILES THAT GROW",
        look.role_style(StyleRole::Title),
    )];
    lines.extend(
        sample
            .growing_files
            .iter()
            .map(|file| growing_file_line(file, files.width, look)),
    );
    if sample.growing_files.is_empty() {
        lines.push(Line::styled("none", look.role_style(StyleRole::Faint)));
    }
    scrolled::draw(lines, &live.viewport, look, files, buf);
}

fn memory_lines(host: &HostView, look: Theme) -> Vec<Line<'static>> {
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| units::format_capacity(bytes as f64));
    let throttle = match host.time_to_throttle {
        Some(left) if left.is_zero() => "they wait now".to_owned(),
        Some(left) => format!("in {} if it goes on", units::format_wait(left)),
        None => "dirty memory does not grow".to_owned(),
    };
    let drain = host.time_to_flush.map(units::format_wait);
    let limit = |from: Option<u64>| bytes(from).map(|from| format!("from {from} on"));
    vec![
        Line::styled("MEMORY", look.role_style(StyleRole::Title)),
        fact_line("in all", bytes(host.memory_bytes), look),
        fact_line("page cache", bytes(host.cached_bytes), look),
        fact_line(
            "cache hits",
            host.cache_hit_fraction.map(units::format_percent),
            look,
        ),
        fact_line("dirty", bytes(host.dirty_bytes), look),
        fact_line("being written", bytes(host.writeback_bytes), look),
        fact_line("on disk in", drain, look),
        fact_line("written back", limit(host.background_threshold_bytes), look),
        fact_line(
            "writers wait",
            limit(host.throttle_threshold_bytes).map(|from| format!("{from}; {throttle}")),
            look,
        ),
    ]
}

fn draw_charts(live: &LiveState, look: Theme, area: Rect, buf: &mut Buffer) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2])
        .spacing(2)
        .areas(area);
    let points = |of: fn(&HostPoint) -> Option<f32>| -> Vec<Option<f32>> {
        live.history.host().iter().map(of).collect()
    };
    let pressure = ChartHistory {
        title: "I/O pressure: some, full",
        unit: MetricUnit::Ratio,
        curves: vec![
            (points(|point| point.pressure_some), StyleRole::Warning),
            (points(|point| point.pressure_full), StyleRole::Error),
        ],
    };
    draw_history(&pressure, live.interval, look, left, buf);
    let dirty = ChartHistory {
        title: "dirty and being written",
        unit: MetricUnit::Bytes,
        curves: vec![(points(|point| point.unwritten_bytes), StyleRole::Write)],
    };
    draw_history(&dirty, live.interval, look, right, buf);
    Line::default().render(area, buf);
}

fn growing_file_line(file: &GrowingFile, width: u16, look: Theme) -> Line<'static> {
    let start = format!(
        "{:>10} {:>10}  {:<10} ",
        units::format_throughput(file.growth_bytes_per_s),
        units::format_capacity(file.size_bytes as f64),
        cut_start(&file.command, 10, look),
    );
    let room = width.saturating_sub(start.chars().count() as u16);
    Line::raw(format!("{start}{}", cut_start(&file.path, room, look)))
}
