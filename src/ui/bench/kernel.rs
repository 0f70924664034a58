//! What the kernel counted at the same device.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::session::document::{KernelCounts, LatencyByDirection, StageSplit};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::areas::under_heading;
use crate::ui::widgets::text::{cut_end, grouped};
use crate::units;

/// By how much the kernel's count of requests may differ from ours and still be called the same.
const SAME: f64 = 0.02;

/// What the kernel said.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    /// Its counts.
    pub counts: Option<&'a KernelCounts>,
    /// Where the requests' time went, where it could be asked.
    pub stages: Option<&'a StageSplit>,
    /// Time that the counts are over.
    pub elapsed_ns: u64,
    /// How many requests the test made, where that can be compared.
    pub ours: Option<u64>,
}

/// Draws it.
pub(super) fn draw(said: Said<'_>, look: Look, area: Rect, buf: &mut Buffer) {
    let counts = said.counts;
    let (heading, body) = under_heading(area);
    let device = counts.map_or_else(String::new, |counts| format!("  {}", counts.device));
    Line::from(vec![
        Span::styled("Kernel's own view", look.style(Meaning::Title)),
        Span::styled(device, look.style(Meaning::Faint)),
    ])
    .render(heading, buf);
    let Some(counts) = counts else {
        let text = cut_end("n/a: no block device below", body.width, look);
        Line::styled(text, look.style(Meaning::Faint)).render(body, buf);
        return;
    };
    for (row, (name, value)) in body.rows().zip(facts(counts, said)) {
        Line::styled(format!("{name:10}"), look.style(Meaning::Faint)).render(row, buf);
        let cell = Rect {
            x: row.x + 10.min(row.width),
            width: row.width.saturating_sub(10),
            ..row
        };
        Line::raw(value).render(cell, buf);
    }
}

fn facts(counts: &KernelCounts, said: Said<'_>) -> Vec<(&'static str, String)> {
    let Said {
        elapsed_ns, ours, ..
    } = said;
    let requests = counts.reads.saturating_add(counts.writes);
    let mut facts = vec![("requests", requests_text(requests, ours))];
    let bytes = counts.read_bytes.saturating_add(counts.written_bytes);
    facts.push(("moved", units::capacity(bytes as f64)));
    if let Some(mean) = quotient(bytes, requests) {
        facts.push(("size", units::block_size((mean / 512.0).round() * 512.0)));
    }
    let merged = counts.reads_merged.saturating_add(counts.writes_merged);
    facts.push(("merged", grouped(merged as f64)));
    let waited = counts.read_ns.saturating_add(counts.write_ns);
    if let Some(mean) = quotient(waited, requests) {
        facts.push(("await", units::latency(mean)));
    }
    if let Some(stages) = said.stages {
        let mean = |one| mean_of(one).map(units::latency);
        facts.extend(mean(&stages.queue).map(|text| ("in queue", text)));
        facts.extend(mean(&stages.drive).map(|text| ("in drive", text)));
    }
    if let Some(busy) = quotient(counts.busy_ns, elapsed_ns) {
        facts.push(("busy", format!("{:.0} %", busy * 100.0)));
    }
    if let Some(queue) = quotient(counts.weighted_ns, elapsed_ns) {
        facts.push(("queue", units::three_digits(queue)));
    }
    facts
}

fn requests_text(requests: u64, ours: Option<u64>) -> String {
    let count = grouped(requests as f64);
    match ours {
        Some(ours) if ours > 0 => {
            let off = (requests as f64 / ours as f64 - 1.0).abs();
            if off <= SAME {
                format!("{count}  = ours")
            } else {
                format!("{count}  ours {}", grouped(ours as f64))
            }
        }
        _ => count,
    }
}

/// The mean over reads and writes.
fn mean_of(latency: &LatencyByDirection) -> Option<f64> {
    let all = || [&latency.read, &latency.write].into_iter().flatten();
    let count: f64 = all().map(|one| one.count as f64).sum();
    let total: f64 = all().map(|one| one.mean_ns * one.count as f64).sum();
    (count > 0.0).then(|| total / count)
}

fn quotient(amount: u64, by: u64) -> Option<f64> {
    (by > 0).then(|| amount as f64 / by as f64)
}
