//! Details of the selected process, beside the list on wide terminals.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::app::viewport::Viewport;
use crate::model::snapshot::ProcessView;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::wrap_text;
use crate::units;

/// Draws the details.
pub(super) fn draw(
    live: &LiveState,
    viewport: &Viewport,
    look: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let Some(process) = live.selected_process() else {
        Line::styled(
            "the selected process is gone",
            look.role_style(StyleRole::Faint),
        )
        .render(area, buf);
        return;
    };
    let throughput = |rate: Option<f64>| rate.map(units::format_throughput);
    let percent = |share: Option<f64>| share.map(units::format_percent);
    let capacity = |bytes: u64| units::format_capacity(bytes as f64);
    let facts = [
        ("parent", Some(process.parent_pid.to_string())),
        ("user", process.user.clone().map(String::from)),
        ("from devices", throughput(process.read_bytes_per_s)),
        ("to devices", throughput(process.write_bytes_per_s)),
        ("asked to read", throughput(process.rchar_bytes_per_s)),
        ("asked to write", throughput(process.wchar_bytes_per_s)),
        ("read in all", process.read_total_bytes.map(capacity)),
        ("written in all", process.write_total_bytes.map(capacity)),
        ("from the cache", percent(process.cache_fraction)),
        ("waits for I/O", percent(process.io_wait)),
        ("waits for swap", percent(process.swap_in)),
        ("I/O class", process.priority.clone().map(String::from)),
        ("threads", process.threads.map(|count| count.to_string())),
        ("blocked in", process.wait_channel.clone().map(String::from)),
        ("works on", device_names(process)),
    ];
    let mut lines = vec![Line::styled(
        format!("PROCESS {}", process.pid),
        look.role_style(StyleRole::Title),
    )];
    for (name, value) in facts {
        lines.push(super::fact_line(name, value, look));
    }
    lines.push(Line::default());
    lines.extend(
        wrap_text(&process.command, area.width)
            .into_iter()
            .map(Line::raw),
    );
    scrolled::draw(lines, viewport, look, area, buf);
}

fn device_names(process: &ProcessView) -> Option<String> {
    (!process.devices.is_empty()).then(|| process.devices.join(", "))
}
