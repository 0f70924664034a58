//! Memory and pressure: dirty memory and its limits, I/O pressure, growing files.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::session::document::MetricUnit;
use crate::snapshot::history::HostPoint;
use crate::snapshot::view::{DeviceView, GrowingFile, HostView};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::cut_start;
use crate::ui::live::charts::{ChartHistory, ChartTime, HistoryCurve, draw_history};
use crate::ui::live::device::dirty_text;
use crate::ui::live::rows::{beside, fact_line};
use crate::units;

/// Maximum number of listed devices with dirty memory.
const MAX_DIRTY_DEVICES: usize = 4;
/// Number of listed files for which the charts leave room.
const MAX_GROWING_FILES: usize = 6;
/// Height below which a chart shows nothing; the list of files scrolls instead.
const MIN_CHART_HEIGHT: u16 = 7;
/// Height above which a chart shows nothing more.
const MAX_CHART_HEIGHT: u16 = 16;
/// Minimum height for blank lines between the parts.
const GAP_MIN_HEIGHT: u16 = 28;

/// Draws the pane.
pub(super) fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(sample) = &live.snapshot else {
        return;
    };
    let mut lines = memory_lines(&sample.host, area.width, theme);
    lines.extend(device_lines(&sample.devices, theme));
    let facts_height = lines.len() as u16;
    let gap = u16::from(area.height >= GAP_MIN_HEIGHT);
    // The heading of the files has a row, too.
    let room = area.height.saturating_sub(facts_height + 1 + 2 * gap);
    let listed = sample.growing_files.len().clamp(1, MAX_GROWING_FILES) as u16;
    let listed = listed.min(room.saturating_sub(MIN_CHART_HEIGHT).max(2));
    let room = room.saturating_sub(listed);
    let [facts, _, charts, _, files] = Layout::vertical([
        Constraint::Length(facts_height),
        Constraint::Length(gap),
        Constraint::Length(room.min(MAX_CHART_HEIGHT)),
        Constraint::Length(gap),
        Constraint::Min(0),
    ])
    .areas(area);
    for (row, line) in facts.rows().zip(lines) {
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

fn memory_lines(host: &HostView, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| units::format_capacity(bytes as f64));
    let throttle = match host.time_to_throttle {
        Some(left) if left.is_zero() => "now".to_owned(),
        Some(left) => format!("in {}", units::format_estimate(left)),
        None => "not within 10 min".to_owned(),
    };
    let nothing_dirty = host.dirty_bytes == Some(0) && host.writeback_bytes == Some(0);
    let flush_time = match host.time_to_flush.map(units::format_estimate) {
        None if nothing_dirty => Some("nothing to flush".to_owned()),
        None => Some("- (no speed yet)".to_owned()),
        time => time,
    };
    let fact = |name, value| fact_line(name, value, theme);
    let usage = vec![
        fact("total", bytes(host.memory_bytes)),
        fact("page cache", bytes(host.cached_bytes)),
        fact(
            "cache hits",
            host.cache_hit_fraction.map(units::format_percent),
        ),
        fact("dirty", bytes(host.dirty_bytes)),
        fact("writeback", bytes(host.writeback_bytes)),
        fact(
            "swap in",
            host.swap_in_bytes_per_s.map(units::format_throughput),
        ),
        fact(
            "swap out",
            host.swap_out_bytes_per_s.map(units::format_throughput),
        ),
    ];
    let limits = vec![
        fact("flushed within", flush_time),
        fact("background limit", bytes(host.background_threshold_bytes)),
        fact("throttle limit", bytes(host.throttle_threshold_bytes)),
        fact("writers throttled", Some(throttle)),
    ];
    let mut lines = vec![Line::styled("MEMORY", theme.role_style(StyleRole::Title))];
    lines.extend(beside(usage, limits, width));
    lines
}

fn draw_charts(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2])
        .spacing(2)
        .areas(area);
    let points = |of: fn(&HostPoint) -> Option<f32>| -> Vec<Option<f32>> {
        live.history.host().iter().map(of).collect()
    };
    let pressure = ChartHistory {
        title: "PSI io",
        unit: MetricUnit::Ratio,
        curves: vec![
            HistoryCurve {
                name: "some",
                values: points(|point| point.pressure_some),
                role: StyleRole::Warning,
            },
            HistoryCurve {
                name: "full",
                values: points(|point| point.pressure_full),
                role: StyleRole::Error,
            },
        ],
    };
    draw_history(&pressure, ChartTime::of(live), theme, left, buf);
    let mut curves = vec![
        HistoryCurve {
            name: "dirty",
            values: points(|point| point.dirty_bytes),
            role: StyleRole::Write,
        },
        HistoryCurve {
            name: "writeback",
            values: points(|point| point.writeback_bytes),
            role: StyleRole::Read,
        },
    ];
    let host = live.snapshot.as_ref().map(|sample| &sample.host);
    let limits = [
        (
            "background",
            host.and_then(|it| it.background_threshold_bytes),
            StyleRole::Faint,
        ),
        (
            "throttle",
            host.and_then(|it| it.throttle_threshold_bytes),
            StyleRole::Error,
        ),
    ];
    for (name, limit, role) in limits {
        if let Some(bytes) = limit {
            let count = live.history.host().len();
            curves.push(HistoryCurve {
                name,
                values: vec![Some(bytes as f32); count],
                role,
            });
        }
    }
    let dirty = ChartHistory {
        title: "",
        unit: MetricUnit::Bytes,
        curves,
    };
    draw_history(&dirty, ChartTime::of(live), theme, right, buf);
}

/// The devices with dirty memory, where the kernel reports it.
fn device_lines(devices: &[DeviceView], theme: Theme) -> Vec<Line<'static>> {
    let dirty = devices.iter().filter_map(|device| {
        let (dirty, writeback) = device.dirty_bytes.zip(device.writeback_bytes)?;
        (dirty + writeback > 0).then(|| {
            let text = dirty_text(dirty, writeback, device.time_to_flush);
            fact_line(&format!("  {} dirty", device.name), Some(text), theme)
        })
    });
    dirty.take(MAX_DIRTY_DEVICES).collect()
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
