//! The block layer's statistics of the same device.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::session::document::{KernelCounts, LatencyByDirection, StageBreakdown};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::areas::split_heading;
use crate::ui::widgets::text::{cut_end, grouped_thousands};
use crate::units;

/// Relative difference up to which the kernel's count of requests is considered equal to that of the issued ones.
const COUNT_TOLERANCE: f64 = 0.02;

/// Data of the panel.
#[derive(Clone, Copy)]
pub(super) struct KernelPanel<'a> {
    /// The kernel's counters.
    pub counts: Option<&'a KernelCounts>,
    /// Q2D and D2C times, where traced.
    pub stages: Option<&'a StageBreakdown>,
    /// Time that the counters cover.
    pub elapsed_ns: u64,
    /// Number of requests of the benchmark, where comparable.
    pub benchmark_requests: Option<u64>,
}

/// Draws the panel.
pub(super) fn draw(panel: KernelPanel<'_>, theme: Theme, area: Rect, buf: &mut Buffer) {
    let counts = panel.counts;
    let (heading, body) = split_heading(area);
    let device = counts.map_or_else(String::new, |counts| format!("  {}", counts.device));
    Line::from(vec![
        Span::styled("Block layer", theme.role_style(StyleRole::Title)),
        Span::styled(device, theme.role_style(StyleRole::Faint)),
    ])
    .render(heading, buf);
    let Some(counts) = counts else {
        let text = cut_end("n/a: no underlying block device", body.width, theme);
        Line::styled(text, theme.role_style(StyleRole::Faint)).render(body, buf);
        return;
    };
    for (row, (name, value)) in body.rows().zip(fact_rows(counts, panel)) {
        Line::styled(format!("{name:10}"), theme.role_style(StyleRole::Faint)).render(row, buf);
        let cell = Rect {
            x: row.x + 10.min(row.width),
            width: row.width.saturating_sub(10),
            ..row
        };
        Line::raw(value).render(cell, buf);
    }
}

fn fact_rows(counts: &KernelCounts, panel: KernelPanel<'_>) -> Vec<(&'static str, String)> {
    let KernelPanel {
        elapsed_ns,
        benchmark_requests: issued,
        ..
    } = panel;
    let requests = counts.reads.saturating_add(counts.writes);
    let mut facts = request_rows(requests, issued);
    let bytes = counts.read_bytes.saturating_add(counts.written_bytes);
    facts.push(("bytes", units::format_capacity(bytes as f64)));
    if let Some(mean) = ratio(bytes, requests) {
        facts.push((
            "areq-sz",
            units::format_block_size((mean / 512.0).round() * 512.0),
        ));
    }
    let merged = counts.reads_merged.saturating_add(counts.writes_merged);
    facts.push(("merged", grouped_thousands(merged as f64)));
    let waited = counts.read_ns.saturating_add(counts.write_ns);
    if let Some(mean) = ratio(waited, requests) {
        facts.push(("await", units::format_latency(mean)));
    }
    if let Some(stages) = panel.stages {
        let mean = |one| mean_latency(one).map(units::format_latency);
        facts.extend(mean(&stages.q2d).map(|text| ("Q2D", text)));
        facts.extend(mean(&stages.d2c).map(|text| ("D2C", text)));
    }
    if let Some(busy) = ratio(counts.busy_ns, elapsed_ns) {
        facts.push(("%util", format!("{:.0}", busy * 100.0)));
    }
    if let Some(queue) = ratio(counts.weighted_ns, elapsed_ns) {
        facts.push(("aqu-sz", units::format_three_digits(queue)));
    }
    facts
}

/// The number of requests, and in a row of its own the number that the benchmark issued, where they
/// differ.
fn request_rows(requests: u64, issued: Option<u64>) -> Vec<(&'static str, String)> {
    let count = grouped_thousands(requests as f64);
    match issued {
        Some(issued) if issued > 0 => {
            let deviation = (requests as f64 / issued as f64 - 1.0).abs();
            if deviation <= COUNT_TOLERANCE {
                vec![("requests", format!("{count}  (= issued)"))]
            } else {
                vec![
                    ("requests", count),
                    ("issued", grouped_thousands(issued as f64)),
                ]
            }
        }
        _ => vec![("requests", count)],
    }
}

/// The mean over reads and writes.
fn mean_latency(latency: &LatencyByDirection) -> Option<f64> {
    let all = || [&latency.read, &latency.write].into_iter().flatten();
    let count: f64 = all().map(|one| one.count as f64).sum();
    let total: f64 = all().map(|one| one.mean_ns * one.count as f64).sum();
    (count > 0.0).then(|| total / count)
}

fn ratio(amount: u64, by: u64) -> Option<f64> {
    (by > 0).then(|| amount as f64 / by as f64)
}
