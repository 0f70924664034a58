//! The selected process, described beside the list on wide terminals.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::app::viewport::Viewport;
use crate::model::live::ProcessView;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::wrapped;
use crate::units;

/// Draws it.
pub(super) fn draw(
    live: &LiveState,
    viewport: &Viewport,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let Some(process) = live.process() else {
        Line::styled("the selected process is gone", look.style(Meaning::Faint)).render(area, buf);
        return;
    };
    let throughput = |rate: Option<f64>| rate.map(units::throughput);
    let percent = |share: Option<f64>| share.map(units::percent);
    let capacity = |bytes: u64| units::capacity(bytes as f64);
    let facts = [
        ("parent", Some(process.parent.to_string())),
        ("user", process.user.clone().map(String::from)),
        ("from devices", throughput(process.read_bytes_per_s)),
        ("to devices", throughput(process.write_bytes_per_s)),
        ("asked to read", throughput(process.asked_read_bytes_per_s)),
        (
            "asked to write",
            throughput(process.asked_write_bytes_per_s),
        ),
        ("read in all", process.read_total_bytes.map(capacity)),
        ("written in all", process.write_total_bytes.map(capacity)),
        ("from the cache", percent(process.cached)),
        ("waits for I/O", percent(process.io_wait)),
        ("waits for swap", percent(process.swap_in)),
        ("I/O class", process.priority.clone().map(String::from)),
        ("threads", process.threads.map(|count| count.to_string())),
        ("blocked in", process.blocked_in.clone().map(String::from)),
        ("works on", works_on(process)),
    ];
    let mut lines = vec![Line::styled(
        format!("PROCESS {}", process.pid),
        look.style(Meaning::Title),
    )];
    for (name, value) in facts {
        lines.push(super::fact(name, value, look));
    }
    lines.push(Line::default());
    lines.extend(
        wrapped(&process.command, area.width)
            .into_iter()
            .map(Line::raw),
    );
    scrolled::draw(lines, viewport, look, area, buf);
}

fn works_on(process: &ProcessView) -> Option<String> {
    (!process.devices.is_empty()).then(|| process.devices.join(", "))
}
