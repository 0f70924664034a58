//! Details of the selected process, beside the list on wide terminals.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::app::viewport::Viewport;
use crate::files::safe_text::SafeText;
use crate::snapshot::view::{ProcessView, is_delay_accounting_notice, is_other_users_notice};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::wrap_text;
use crate::ui::live::rows::{beside, fact_line};
use crate::units;

/// Part of the height that the command may take above the facts.
const COMMAND_SHARE: u16 = 4;

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
    let title = match (process.is_ended_children(), process.exited) {
        (true, _) => format!("ENDED CHILDREN OF PROCESS {}", process.pid),
        (false, true) => format!("PROCESS {}, ENDED", process.pid),
        (false, false) => format!("PROCESS {}", process.pid),
    };
    let mut lines = vec![Line::styled(title, theme.role_style(StyleRole::Title))];
    // What it is comes first: a person recognizes it by that.
    let command = wrap_text(&process.command, area.width);
    let shown = usize::from(area.height / COMMAND_SHARE).max(1);
    let is_long = command.len() > shown + 1;
    let first_rows = if is_long { shown } else { command.len() };
    lines.extend(command[..first_rows].iter().cloned().map(Line::raw));
    if is_long {
        let more = format!(
            "{} the rest of the command is below",
            theme.glyphs().ellipsis
        );
        lines.push(Line::styled(more, theme.role_style(StyleRole::Faint)));
    }
    lines.push(Line::default());
    lines.extend(fact_lines(process, area.width, theme));
    let notices = live.snapshot.as_ref().map_or(&[][..], |it| &it.notices);
    for remedy in remedies(process, notices, live.timeline.is_some()) {
        lines.push(Line::default());
        let wrapped = wrap_text(remedy, area.width).into_iter();
        lines.extend(wrapped.map(|text| Line::styled(text, theme.role_style(StyleRole::Warning))));
    }
    if is_long {
        lines.push(Line::default());
        lines.push(Line::styled("COMMAND", theme.role_style(StyleRole::Title)));
        lines.extend(command.into_iter().map(Line::raw));
    }
    scrolled::draw(lines, viewport, theme, area, buf);
}

/// The facts: what it is beside what it transfers where there is room, else one below the other.
fn fact_lines(process: &ProcessView, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let lines = |facts: Vec<ProcessFact>| -> Vec<Line<'static>> {
        let known = facts.into_iter().filter(|(_, value)| value.is_some());
        known
            .map(|(name, value)| fact_line(name, value, theme))
            .collect()
    };
    beside(
        lines(transfer_facts(process)),
        lines(identity_facts(process)),
        width,
    )
}

/// A name and its value, if there is one.
type ProcessFact = (&'static str, Option<String>);

fn transfer_facts(process: &ProcessView) -> Vec<ProcessFact> {
    let throughput = |rate: Option<f64>| rate.map(units::format_throughput);
    let percent = |share: Option<f64>| share.map(units::format_percent);
    let capacity = |bytes: u64| units::format_capacity(bytes as f64);
    let count = |rate: Option<f64>| rate.map(|rate| format!("{rate:.0} per s"));
    vec![
        ("disk read", throughput(process.read_bytes_per_s)),
        ("disk write", throughput(process.write_bytes_per_s)),
        ("read() bytes", throughput(process.rchar_bytes_per_s)),
        ("write() bytes", throughput(process.wchar_bytes_per_s)),
        ("read() calls", count(process.read_syscalls_per_s)),
        ("write() calls", count(process.write_syscalls_per_s)),
        ("r/s", count(process.read_ios_per_s)),
        ("w/s", count(process.write_ios_per_s)),
        ("total read", process.read_total_bytes.map(capacity)),
        ("total written", process.write_total_bytes.map(capacity)),
        ("cache hits", percent(process.cache_fraction)),
        ("IO%", percent(process.io_wait)),
        ("SWAPIN%", percent(process.swap_in)),
    ]
}

fn identity_facts(process: &ProcessView) -> Vec<ProcessFact> {
    let mut facts = vec![
        ("user", process.user.clone().map(String::from)),
        ("unit", process.unit.clone().map(String::from)),
        ("PPID", Some(process.parent_pid.to_string())),
        ("threads", process.threads.map(|count| count.to_string())),
        ("I/O class", process.priority.clone().map(String::from)),
        (
            "wait channel",
            process.wait_channel.clone().map(String::from),
        ),
    ];
    facts.extend(device_lines(process));
    facts
}

/// Why values are missing, and what to do: one line for all values with the same reason.
fn remedies(process: &ProcessView, notices: &[SafeText], is_recording: bool) -> Vec<&'static str> {
    let has = |is: fn(&str) -> bool| notices.iter().any(|notice| is(notice));
    let mut found = Vec::new();
    if process.read_bytes_per_s.is_none() && has(is_other_users_notice) {
        found.push(
            "I/O counters: not permitted. The kernel shows them to root and to the user of the process.",
        );
    }
    if process.io_wait.is_none() && !process.exited {
        found.push(match (has(is_delay_accounting_notice), is_recording) {
            (true, false) => {
                "IO%, SWAPIN%: delay accounting is off. w turns it on, for processes started afterwards."
            }
            (true, true) => "IO%, SWAPIN%: delay accounting was off.",
            (false, _) => "IO%, SWAPIN%: no wait counted since delay accounting was turned on.",
        });
    }
    found
}

/// A line for each device: its rates, where they are known.
fn device_lines(process: &ProcessView) -> Vec<(&'static str, Option<String>)> {
    let rate = |rate: Option<f64>| rate.map(units::format_throughput);
    let lines = process.devices.iter().enumerate();
    lines
        .map(|(index, share)| {
            let mut text = share.name.to_string();
            let bytes = rate(share.read_bytes_per_s).zip(rate(share.write_bytes_per_s));
            if let Some((read, written)) = bytes {
                text.push_str(&format!(": r {read}, w {written}"));
                if process.devices_estimated {
                    text.push_str(" (estimate)");
                }
            }
            (if index == 0 { "devices" } else { "" }, Some(text))
        })
        .collect()
}
