//! Memory and pressure: dirty memory and its limits, I/O pressure, growing files.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::model::history::HostPoint;
use crate::model::snapshot::{GrowingFile, HostView};
use crate::session::document::MetricUnit;
use crate::ui::live::charts::{ChartHistory, draw_history};
use crate::ui::live::rows::fact_line;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::cut_start;
use crate::units;

/// Rows of the facts.
const FACT_ROWS: u16 = 9;
/// Maximum number of listed files.
const MAX_GROWING_FILES: usize = 6;

/// Draws the pane.
pub(super) fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
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
    for (row, line) in facts.rows().zip(memory_lines(&sample.host, theme)) {
        line.render(row, buf);
    }
    draw_charts(live, theme, charts, buf);
    let mut lines = vec![Line::styled(
        "GROWING FILES",
        theme.role_style(StyleRole::Title),
    )];
    lines.extend(
        sample
            .growing_files
            .iter()
            .map(|file| growing_file_line(file, files.width, theme)),
    );
    if sample.growing_files.is_empty() {
        lines.push(Line::styled("none", theme.role_style(StyleRole::Faint)));
    }
    scrolled::draw(lines, &live.viewport, theme, files, buf);
}

fn memory_lines(host: &HostView, theme: Theme) -> Vec<Line<'static>> {
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| units::format_capacity(bytes as f64));
    let throttle = match host.time_to_throttle {
        Some(left) if left.is_zero() => "writers are throttled now".to_owned(),
        Some(left) => format!("reached in {} at this rate", units::format_estimate(left)),
        None => "dirty memory does not grow".to_owned(),
    };
    let flush_time = host.time_to_flush.map(units::format_estimate);
    vec![
        Line::styled("MEMORY", theme.role_style(StyleRole::Title)),
        fact_line("total", bytes(host.memory_bytes), theme),
        fact_line("page cache", bytes(host.cached_bytes), theme),
        fact_line(
            "cache hits",
            host.cache_hit_fraction.map(units::format_percent),
            theme,
        ),
        fact_line("dirty", bytes(host.dirty_bytes), theme),
        fact_line("writeback", bytes(host.writeback_bytes), theme),
        fact_line("flushed in", flush_time, theme),
        fact_line(
            "background limit",
            bytes(host.background_threshold_bytes),
            theme,
        ),
        fact_line(
            "dirty limit",
            bytes(host.throttle_threshold_bytes).map(|limit| format!("{limit}; {throttle}")),
            theme,
        ),
    ]
}

fn draw_charts(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2])
        .spacing(2)
        .areas(area);
    let points = |of: fn(&HostPoint) -> Option<f32>| -> Vec<Option<f32>> {
        live.history.host().iter().map(of).collect()
    };
    let pressure = ChartHistory {
        title: "PSI io: some, full",
        unit: MetricUnit::Ratio,
        curves: vec![
            (points(|point| point.pressure_some), StyleRole::Warning),
            (points(|point| point.pressure_full), StyleRole::Error),
        ],
    };
    draw_history(&pressure, live.interval, theme, left, buf);
    let dirty = ChartHistory {
        title: "dirty + writeback",
        unit: MetricUnit::Bytes,
        curves: vec![(points(|point| point.unwritten_bytes), StyleRole::Write)],
    };
    draw_history(&dirty, live.interval, theme, right, buf);
    Line::default().render(area, buf);
}

fn growing_file_line(file: &GrowingFile, width: u16, theme: Theme) -> Line<'static> {
    let start = format!(
        "{:>10} {:>10}  {:<10} ",
        units::format_throughput(file.growth_bytes_per_s),
        units::format_capacity(file.size_bytes as f64),
        cut_start(&file.command, 10, theme),
    );
    let room = width.saturating_sub(start.chars().count() as u16);
    Line::raw(format!("{start}{}", cut_start(&file.path, room, theme)))
}
