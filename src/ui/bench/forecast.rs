//! What a job will do, said before it starts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::launcher::LauncherState;
use crate::bench::Forecast;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::text::wrapped;
use crate::units;

/// Draws what the job will do, or why it cannot be done, and what comes next.
pub(super) fn draw(launcher: &LauncherState, look: Look, area: Rect, buf: &mut Buffer) {
    let mut lines = Vec::new();
    let failed = launcher.failed.as_ref().map(|reason| Err(reason.clone()));
    match failed.as_ref().or(launcher.forecast.as_ref()) {
        None => {}
        Some(Err(reason)) => {
            let reason = wrapped(reason, area.width).into_iter();
            lines.extend(reason.map(|line| Line::styled(line, look.style(Meaning::Trouble))));
        }
        Some(Ok(forecast)) => {
            let sentence = wrapped(&forecast.sentence, area.width).into_iter().take(2);
            lines.extend(sentence.map(Line::raw));
            let mut parts = cost(forecast);
            if let Some(bytes) = launcher.scratch_bytes() {
                let size = units::size(bytes);
                parts.push(format!("fills a scratch file of {size} first"));
            }
            let users = launcher.selected_choice().map(|choice| &choice.users);
            if let Some(users) = users.filter(|users| !users.is_empty()) {
                parts.push(format!("in use: {users}"));
            }
            let faint = look.style(Meaning::Faint);
            lines.push(Line::styled(parts.join(", "), faint));
            let (next, meaning) = if launcher.overwrites() {
                let next = "it overwrites what is there: Enter on a test shows what, and asks";
                (next, Meaning::Waiting)
            } else {
                ("Enter on a test starts it", Meaning::Good)
            };
            lines.push(Line::styled(next, look.style(meaning)));
        }
    }
    for (row, line) in area.rows().zip(lines) {
        line.render(row, buf);
    }
}

/// How long it takes and how many bytes it moves.
pub(super) fn cost(forecast: &Forecast) -> Vec<String> {
    let mut parts = vec![format!("takes {}", forecast.time.describe())];
    if let Some(bytes) = forecast.reads {
        parts.push(format!("reads {}", units::size(bytes)));
    }
    if let Some(bytes) = forecast.writes {
        parts.push(format!("writes {}", units::size(bytes)));
    }
    parts
}
