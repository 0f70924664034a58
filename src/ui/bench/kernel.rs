//! The block layer's statistics of the same device.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::session::document::{BenchmarkRun, KernelCounts, LatencyByDirection, StageBreakdown};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::split_heading;
use crate::tui::widgets::text::{cut_end, grouped_thousands};
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
    /// Length of the run, for counters that do not tell over which time they were counted.
    pub elapsed_ns: u64,
    /// Number of requests of the benchmark, where comparable.
    pub benchmark_requests: Option<u64>,
}

impl<'a> KernelPanel<'a> {
    /// The panel of a run that ended.
    pub(super) fn of_run(run: &'a BenchmarkRun) -> Self {
        let latency = &run.findings.latency;
        let issued = [&latency.read, &latency.write]
            .into_iter()
            .flatten()
            .fold(0_u64, |sum, latency| sum.saturating_add(latency.count));
        Self {
            counts: run.kernel.as_ref(),
            stages: run.stages.as_ref(),
            elapsed_ns: run.elapsed_ns,
            benchmark_requests: Some(issued),
        }
    }
}

/// Width of a column of facts.
const FACT_COLUMN_WIDTH: u16 = 32;

/// Draws the panel: the facts in several columns where it is low and wide.
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
    let facts = fact_rows(counts, panel);
    let height = usize::from(body.height.max(1));
    for (column, facts) in facts.chunks(height).enumerate() {
        let left = FACT_COLUMN_WIDTH.saturating_mul(column as u16);
        if column > 0 && left + FACT_COLUMN_WIDTH > body.width {
            return;
        }
        let column = Rect {
            x: body.x + left,
            width: (body.width - left).min(FACT_COLUMN_WIDTH),
            ..body
        };
        for (row, (name, value)) in column.rows().zip(facts) {
            Line::styled(format!("{name:10}"), theme.role_style(StyleRole::Faint)).render(row, buf);
            let cell = Rect {
                x: row.x + 10.min(row.width),
                width: row.width.saturating_sub(10),
                ..row
            };
            Line::raw(value.as_str()).render(cell, buf);
        }
    }
}

/// The facts, the most important first: where space is short, the last ones are not shown.
fn fact_rows(counts: &KernelCounts, panel: KernelPanel<'_>) -> Vec<(&'static str, String)> {
    let KernelPanel {
        elapsed_ns,
        benchmark_requests: issued,
        ..
    } = panel;
    let requests = counts.reads.saturating_add(counts.writes);
    let mut facts = request_rows(requests, issued);
    if let Some(stages) = panel.stages {
        let mean = |one| mean_latency(one).map(units::format_latency);
        facts.extend(mean(&stages.q2d).map(|text| ("Q2D", text)));
        facts.extend(mean(&stages.d2c).map(|text| ("D2C", text)));
    }
    let counted_ns = counts.counted_ns.unwrap_or(elapsed_ns);
    let waited = counts.read_ns.saturating_add(counts.write_ns);
    if let Some(mean) = ratio(waited, requests) {
        facts.push(("await", units::format_latency(mean)));
    }
    if let Some(queue) = ratio(counts.weighted_ns, counted_ns) {
        facts.push(("aqu-sz", units::format_three_digits(queue)));
    }
    if let Some(busy) = ratio(counts.busy_ns, counted_ns) {
        facts.push(("%util", format!("{:.0}", busy * 100.0)));
    }
    let bytes = counts.read_bytes.saturating_add(counts.written_bytes);
    if let Some(mean) = ratio(bytes, requests) {
        facts.push((
            "areq-sz",
            units::format_block_size((mean / 512.0).round() * 512.0),
        ));
    }
    let merged = counts.reads_merged.saturating_add(counts.writes_merged);
    facts.push(("merged", grouped_thousands(merged as f64)));
    facts.push(("bytes", units::format_capacity(bytes as f64)));
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
