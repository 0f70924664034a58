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
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let Some(process) = live.selected_process() else {
        Line::styled(
            "the selected process has exited",
            theme.role_style(StyleRole::Faint),
        )
        .render(area, buf);
        return;
    };
    let throughput = |rate: Option<f64>| rate.map(units::format_throughput);
    let percent = |share: Option<f64>| share.map(units::format_percent);
    let capacity = |bytes: u64| units::format_capacity(bytes as f64);
    let facts = [
        ("PPID", Some(process.parent_pid.to_string())),
        ("user", process.user.clone().map(String::from)),
        ("disk read", throughput(process.read_bytes_per_s)),
        ("disk write", throughput(process.write_bytes_per_s)),
        ("read() bytes", throughput(process.rchar_bytes_per_s)),
        ("write() bytes", throughput(process.wchar_bytes_per_s)),
        ("total read", process.read_total_bytes.map(capacity)),
        ("total written", process.write_total_bytes.map(capacity)),
        ("cache hits", percent(process.cache_fraction)),
        ("IO%", percent(process.io_wait)),
        ("SWAPIN%", percent(process.swap_in)),
        ("I/O class", process.priority.clone().map(String::from)),
        ("threads", process.threads.map(|count| count.to_string())),
        (
            "wait channel",
            process.wait_channel.clone().map(String::from),
        ),
        ("devices", device_names(process)),
    ];
    let mut lines = vec![Line::styled(
        format!("PROCESS {}", process.pid),
        theme.role_style(StyleRole::Title),
    )];
    for (name, value) in facts {
        lines.push(super::rows::fact_line(name, value, theme));
    }
    lines.push(Line::default());
    lines.extend(
        wrap_text(&process.command, area.width)
            .into_iter()
            .map(Line::raw),
    );
    scrolled::draw(lines, viewport, theme, area, buf);
}

fn device_names(process: &ProcessView) -> Option<String> {
    (!process.devices.is_empty()).then(|| process.devices.join(", "))
}
