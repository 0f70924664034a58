//! What a job will do, shown before it starts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::launcher::LauncherState;
use crate::bench::Forecast;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::wrap_text;
use crate::units;

/// Draws what the job will do, or why it cannot be run, and the next step.
pub(super) fn draw(launcher: &LauncherState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let mut lines = Vec::new();
    let start_error = launcher.start_error.as_ref();
    let forecast = match start_error {
        Some(error) => Some(Err(error.to_string())),
        None => launcher
            .forecast
            .as_ref()
            .map(|forecast| forecast.as_ref().map_err(ToString::to_string)),
    };
    match &forecast {
        None => {}
        Some(Err(reason)) => {
            let reason = wrap_text(reason, area.width).into_iter();
            lines.extend(reason.map(|line| Line::styled(line, theme.role_style(StyleRole::Error))));
        }
        Some(Ok(forecast)) => {
            let sentence = wrap_text(&forecast.sentence, area.width)
                .into_iter()
                .take(2);
            lines.extend(sentence.map(Line::raw));
            let mut parts = cost_lines(forecast);
            if let Some(bytes) = launcher.scratch_bytes() {
                let size = units::format_size(bytes);
                parts.push(format!("fills a scratch file of {size} first"));
            }
            let users = launcher.selected_choice().map(|choice| &choice.used_by);
            if let Some(users) = users.filter(|users| !users.is_empty()) {
                parts.push(format!("in use: {users}"));
            }
            let faint = theme.role_style(StyleRole::Faint);
            lines.push(Line::styled(parts.join(", "), faint));
            let (next, role) = if launcher.overwrites() {
                let next = "overwrites existing data: Enter on a benchmark asks for confirmation";
                (next, StyleRole::Warning)
            } else {
                ("Enter on a benchmark starts it", StyleRole::Success)
            };
            lines.push(Line::styled(next, theme.role_style(role)));
        }
    }
    for (row, line) in area.rows().zip(lines) {
        line.render(row, buf);
    }
}

/// Duration and bytes transferred.
pub(super) fn cost_lines(forecast: &Forecast) -> Vec<String> {
    let mut parts = vec![format!("takes {}", forecast.run_time.describe())];
    if let Some(bytes) = forecast.max_read_bytes {
        parts.push(format!("reads {}", units::format_size(bytes)));
    }
    if let Some(bytes) = forecast.max_written_bytes {
        parts.push(format!("writes {}", units::format_size(bytes)));
    }
    parts
}
