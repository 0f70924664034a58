//! A dialog over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

use crate::app::Dialog;
use crate::ui::theme::{StyleRole, Theme};

/// Draws the dialog.
pub(super) fn draw(dialog: Dialog, theme: Theme, area: Rect, buf: &mut Buffer) {
    let lines = dialog_lines(dialog);
    let height = lines.len() as u16 + 2;
    let top = area.y + area.height.saturating_sub(height) / 2;
    let strip = Rect::new(area.x, top, area.width, height).intersection(area);
    Clear.render(strip, buf);
    super::apply_style(theme.role_style(StyleRole::Selected), strip, buf);
    for (row, text) in strip.rows().skip(1).zip(lines) {
        Line::raw(text)
            .alignment(Alignment::Center)
            .render(row, buf);
    }
}

fn dialog_lines(dialog: Dialog) -> Vec<String> {
    let owned = |lines: [&str; 3]| lines.map(str::to_owned).to_vec();
    match dialog {
        // The help has a screen of its own.
        Dialog::Help => Vec::new(),
        Dialog::ConfirmQuit => owned([
            "A benchmark is running.",
            "Stop it and quit? The results so far are saved.",
            "y quit    n cancel",
        ]),
        Dialog::ConfirmAccounting => owned([
            "Turn on delay accounting (for IO% and SWAPIN%)? It is reset on exit.",
            "sysctl kernel.task_delayacct=1",
            "y confirm    n cancel",
        ]),
        Dialog::ConfirmProcessAction(process, action) => vec![
            format!("Process {}: {}", process.pid, action.label()),
            "y confirm    n cancel".to_owned(),
        ],
        Dialog::ChooseProcessAction(process, actions) => {
            // Padded to equal length, so that the labels are aligned.
            let names = || actions.iter().map(|action| action.label());
            let longest = names().map(|name| name.chars().count()).max().unwrap_or(0);
            let choices = names().enumerate();
            let choices = choices.map(|(index, name)| format!("{}  {name:<longest$}", index + 1));
            std::iter::once(format!("Process {}", process.pid))
                .chain(choices)
                .collect()
        }
    }
}
