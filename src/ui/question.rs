//! A dialog over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

use super::theme::{StyleRole, Theme};
use crate::app::Dialog;

/// Draws the dialog.
pub(super) fn draw(overlay: Dialog, look: Theme, area: Rect, buf: &mut Buffer) {
    let lines = question_lines(overlay);
    let height = lines.len() as u16 + 2;
    let top = area.y + area.height.saturating_sub(height) / 2;
    let strip = Rect::new(area.x, top, area.width, height).intersection(area);
    Clear.render(strip, buf);
    super::apply_style(look.role_style(StyleRole::Selected), strip, buf);
    for (row, text) in strip.rows().skip(1).zip(lines) {
        Line::raw(text)
            .alignment(Alignment::Center)
            .render(row, buf);
    }
}

fn question_lines(overlay: Dialog) -> Vec<String> {
    let owned = |lines: [&str; 3]| lines.map(str::to_owned).to_vec();
    match overlay {
        // The help has a screen of its own.
        Dialog::Help => Vec::new(),
        Dialog::ConfirmQuit => owned([
            "A benchmark is running.",
            "Stop it and quit? What was measured until now is saved.",
            "y quit    n go on",
        ]),
        Dialog::ConfirmAccounting => owned([
            "Count how long processes wait for I/O? It is set back when diskscope ends.",
            "sysctl kernel.task_delayacct=1",
            "y switch it on    n leave it",
        ]),
        Dialog::ConfirmProcessAction(victim, deed) => vec![
            format!("Process {}: {}", victim.pid, deed.label()),
            "y do it    n leave it".to_owned(),
        ],
        Dialog::ChooseProcessAction(victim, deeds) => {
            // Padded to equal length, so that the labels are aligned.
            let names = || deeds.iter().map(|deed| deed.label());
            let longest = names().map(|name| name.chars().count()).max().unwrap_or(0);
            let choices = names().enumerate();
            let choices = choices.map(|(place, name)| format!("{}  {name:<longest$}", place + 1));
            std::iter::once(format!("Process {}", victim.pid))
                .chain(choices)
                .collect()
        }
    }
}
